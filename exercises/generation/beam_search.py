"""Beam search: keep several sequences in play, and return the most likely one found.

The probability of a sequence is the product of its tokens' probabilities, so its
logarithm is a sum. Greedy decoding takes the best token at each step, and cannot take
it back where that leads to nothing good. To try all sequences is hopeless: after T
tokens there are V^T. Beam search lies between. It keeps the `beam_size` best sequences
so far, the beams; grows each by every token of the vocabulary; and keeps the
`beam_size` best of all these candidates, whichever beam they come from.

    beams        the prompt alone, with the log-probability 0
    candidates   of N beams: total + log_probs, [N, 1] + [N, V] -> [N, V],
                 and every ended beam as it is
    beams        the `beam_size` candidates with the largest totals, or all
                 where there are fewer
    ... and so on, for `max_new_tokens` steps or until no beam is left to grow

A beam has ended when its last generated token is `eos_id`. It is not grown any more,
but stays among the candidates with its total unchanged, takes one of the `beam_size`
places, and is pushed out like any other where enough candidates are better. Totals are
plain sums: nothing is divided by the length. No two totals are equal where it matters.

Example: vocabulary 0, 1, 2; eos_id = 2; prompt [0]; beam_size 2. The model's
probabilities are

    after [0]       0.5   0.4   0.1
    after [0, 0]    0.4   0.3   0.3         after [0, 1]    0.05  0.05  0.9

    step 1    [0, 0]  0.5       [0, 1]  0.4            [0, 2]  0.1 is dropped
    step 2    [0, 1, 2]  0.4 * 0.9 = 0.36, ended       [0, 0, 0]  0.5 * 0.4 = 0.2
    step 3    [0, 1, 2] stays; what [0, 0, 0] grows into has less than 0.2

The result is ([0, 1, 2], log 0.36 = -1.022). Greedy decoding begins with [0, 0] and
ends below 0.2. (A report shows a model as a `tree` of such probabilities: a row after
the prompt, then V rows after one more token, V * V after two, and so on.)

What goes wrong: each beam keeps its own best child, so that the beams never compete;
the totals of the parents are forgotten, and only the last token counts; ended beams go
on growing, are lost, or are safe for ever; `beam_size` above V raises, though a first
step has V candidates only.

Edge cases with their own checks: tensors that are not contiguous, float64 input
computed in float64, more beams than tokens, an eos_id of 0, a vocabulary of 50,257
tokens.

Source: Sutskever, Vinyals and Le 2014, "Sequence to Sequence Learning with Neural
Networks", section 3.2.
"""

from collections.abc import Callable

import torch


def beam_search(
    next_log_probs: Callable[[torch.Tensor], torch.Tensor],
    prompt: list[int],
    beam_size: int,
    max_new_tokens: int,
    eos_id: int | None = None,
) -> tuple[list[int], float]:
    """Search for the most likely continuation of the prompt.

    next_log_probs: the model. It takes ids [N, T], an int64 tensor with any number N of
                    sequences, and returns [N, V]: for each the log-probabilities of its
                    next token. They may carry a graph, as those of any nn.Module.
    prompt:         at least one id; none of them is `eos_id`.
    beam_size:      how many beams are kept, at least 1; may be larger than V.
    max_new_tokens: the number of steps, at least 1.
    eos_id:         the id that ends a beam; where it is None, none ends early.
    returns:        the ids of the best beam, prompt and eos included, and the sum of
                    the log-probabilities of its new tokens, a float.

    `prompt` itself stays as it is.
    """
    raise NotImplementedError
