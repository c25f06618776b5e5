"""The translation loop: one token at a time, until the end.

A trained decoder answers one question: given the source and the tokens so far, how
likely is each token to come next? A sentence takes many such answers. The loop begins
with a start token, asks, appends the most likely token ("greedy"), and asks again with
the longer list. It ends when the model says so, by generating the end token, or when
the patience of its caller does:

    ids = [start_id]
    each step      logits = next_logits(ids)      [V], one number a token, of any size
                   append the id of the largest
    until          the id just appended is end_id, which stays in the list,
                   or max_steps ids were appended

Only a generated id ends the loop. Many models use the same token for start and end, and
then the list begins with end_id without being finished. The model is the expensive
part, so it is asked once a step, and not again once the loop has ended. `next_logits`
neither keeps nor changes the list that it is given.

Example: "Today is sunday", into Portuguese. The ids are 0 Hoje, 1 é, 2 domingo, 3
sábado, 4 EOS, 5 START.

    translate(next_logits, start_id=5, end_id=4)
        next_logits([5])           [ 2.0, -1.0,  0.5,  0.0, -1.0, -9.0]  0  Hoje
        next_logits([5, 0])        [-0.5,  3.0,  0.0,  0.0,  0.5, -9.0]  1  é
        next_logits([5, 0, 1])     [ 0.0, -2.0,  1.5,  1.0,  0.0, -9.0]  2  domingo
        next_logits([5, 0, 1, 2])  [-3.0, -3.0, -2.0, -2.5, -0.5, -9.0]  4  EOS, the end
    result  [5, 0, 1, 2, 4]

With max_steps=2 the result is [5, 0, 1], with max_steps=0 it is [5], and the model is
never asked.

What goes wrong: the model sees the last token alone and stammers; the loop runs on past
the end, or never starts because it took the start token for the end; the limit counts
the start token as a step.

Edge cases with their own checks: extreme logits, an end_id or a limit of 0, a start_id
that equals end_id.

Source: Sutskever, Vinyals and Le 2014, "Sequence to Sequence Learning with Neural
Networks", section 2; Vaswani et al. 2017, "Attention Is All You Need", section 3
(auto-regressive generation).
"""

from collections.abc import Callable

import numpy as np


def translate(
    next_logits: Callable[[list[int]], np.ndarray],
    start_id: int,
    end_id: int,
    max_steps: int = 10,
) -> list[int]:
    """Generate ids greedily until `end_id` or the limit.

    next_logits: takes the list of all ids so far, `[start_id]` at first; returns
                 logits, a float array [V]. It is called once a step.
    start_id:    the first id of the list; it may equal `end_id`.
    end_id:      the id that ends the loop once it has been generated; it is kept.
    max_steps:   how many ids may be generated at most; 0 is legal.
    returns:     the list of ids, `start_id` first.
    """
    raise NotImplementedError
