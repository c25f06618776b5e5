"""Constrained decoding: only what the grammar can finish.

A program that reads a model's text needs a certain form: JSON, a date, one of three
words. Asking for it in the prompt helps often and not always. Constrained decoding
makes it certain: at every step the tokens with which the text can no longer take that
form get the logit -inf, and the most likely of the others is chosen.

The form is given by an automaton. It is in one state at a time, and every token leads
from a state to a next one, or is not possible there:

    automaton = {"start": 0, "accepting": [0],
                 "transitions": {0: {0: 1, 1: 2}, 1: {1: 0, 2: 1}, 2: {}}}

    state 0    token 0 leads to state 1, token 1 to state 2
    state 1    token 1 leads to state 0, token 2 back to state 1
    state 2    no token leads on, and it is not accepting: a dead end

A text is accepted if its tokens lead from the start to an accepting state and `eos_id`
follows there. Every state is a key of `transitions`, states are any ints, and `eos_id`
is a token of no transition.

It is not enough to forbid what the state does not allow. Token 1 is possible in state
0, and then nothing more is. And the number of tokens is limited: with two steps left in
state 1, token 2 is possible, and then there is room for token 1 and not for the eos. So
the mask looks ahead:

    a token is kept  if, after it, an accepted text can still be finished, its eos
                     included, within the `steps_left` tokens that begin with this one
    eos_id is kept   in an accepting state, if a step is left
    all others       get -inf; a ValueError where none is kept

constrain_generate raises it where no text so short is accepted; the model may have been
asked before.

Example, with the automaton above and eos_id = 3:

    logits = [1, 3, 2, 0], state 0, 4 steps left  [1, -inf, -inf, 0]     1: a dead end
    logits = [1, 3, 2, 0], state 1, 2 steps left  [-inf, 3, -inf, -inf]  2: no room

    constrain_generate, for a model that always answers [1, 3, 2, 0], with the prompt
    [9] and 6 new tokens, gives [9, 0, 1, 0, 1, 3].

Public code differs: `prefix_allowed_tokens_fn` of Hugging Face and Outlines mask by
what the next state allows, and run out of tokens at a dead end or at the limit. Here a
result is always complete.

What goes wrong: a text that runs into a dead end or is cut off at the limit; the eos in
the middle of a word; the steps counted without the eos; a mask that the prompt has
moved on.

The prompt does not move the automaton, which is in its start state at the first new
token; an `eos_id` in the prompt ends nothing. No two logits tie. (A report shows the
logits as a `table`: row 0 is what constrain_logits gets, and all ids so far decide
which row the model answers with.)

Edge cases with their own checks: float64 input computed in float64, an eos_id of 0, an
eos_id in the prompt.

Where a ValueError is expected, a failing `assert` is accepted too.

Source: Willard and Louf 2023, "Efficient Guided Generation for Large Language Models",
section 3.
"""

from collections.abc import Callable

import torch


def constrain_logits(
    logits: torch.Tensor, automaton: dict, state: int, steps_left: int, eos_id: int
) -> torch.Tensor:
    """Keep the tokens with which an accepted text can be finished; set others to -inf.

    logits:     [V], finite.
    automaton:  "start", "accepting" and "transitions", as above.
    state:      where the automaton is.
    steps_left: how many tokens may follow at most, the eos among them; 0 or more.
    eos_id:     the token that ends a text, in [0, V).
    returns:    [V], in the dtype of `logits`; kept logits are unchanged to the bit.

    ValueError where no token is kept. `logits` and `automaton` themselves stay as they
    are.
    """
    raise NotImplementedError


def constrain_generate(
    next_logits: Callable[[list[int]], torch.Tensor],
    prompt: list[int],
    automaton: dict,
    max_new_tokens: int,
    eos_id: int,
) -> list[int]:
    """Write the most likely accepted text, token by token.

    next_logits:    takes the list of the prompt and all tokens so far; returns logits
                    [V]. It is called once for each new token, and never after the end.
    prompt:         at least one id; it stays as it is.
    max_new_tokens: the most tokens that may be generated, the eos among them; 0 or
                    more.
    returns:        a list of ints: the prompt, the new tokens and the eos.

    ValueError where no text so short is accepted.
    """
    raise NotImplementedError
