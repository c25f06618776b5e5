"""Top-k filtering: only the k most likely tokens may be drawn.

A language model gives every token of the vocabulary some probability. Each of the
thousands of unfit tokens has very little, all of them together have enough to be drawn
now and then, and one such token derails the text. Top-k removes them before the draw:
in each row of logits the k largest stay as they are, and all others become -inf, since
exp(-inf) is 0.

    kept    the k tokens with the largest logits of the row
    result  [..., V], every token in its place: the logit itself where the token is
            kept, -inf elsewhere

The softmax that follows shares the whole mass among the kept tokens; their ratios do
not change. The order of the logits is the order of the probabilities, so no softmax is
needed to choose. The same k serves every row, whether the model is sure there or not.

Example, with four tokens:

    logits        = [1.0, 3.0, 0.0, 2.0]        softmax: [0.087, 0.644, 0.032, 0.237]

    k = 1          -> [-inf, 3.0, -inf, -inf]  softmax: [0.000, 1.000, 0.000, 0.000]
    k = 2          -> [-inf, 3.0, -inf, 2.0]   softmax: [0.000, 0.731, 0.000, 0.269]
    k = 3          -> [1.0,  3.0, -inf, 2.0]   softmax: [0.090, 0.665, 0.000, 0.245]
    k = 4 or more  -> [1.0,  3.0, 0.0,  2.0]

With k = 1 that is greedy decoding.

What goes wrong: the k-th token itself is dropped, because the comparison with it is
strict; dropped logits become 0, which is a logit like any other, and may even be the
largest; all rows are cut at the threshold of one of them; k larger than the vocabulary
raises an error.

Edge cases with their own checks: tensors that are not contiguous, float64 input
computed in float64, any leading axes, logits of any size and number, a vocabulary of
50,257 tokens, another device than the CPU.

Where a ValueError is expected, a failing `assert` is accepted too.

Source: Fan, Lewis and Dauphin 2018, "Hierarchical Neural Story Generation",
section 5.4.
"""

import torch


def top_k_filter(logits: torch.Tensor, k: int) -> torch.Tensor:
    """Keep the k largest logits of each row and set all others to -inf.

    logits:  [..., V], any leading axes or none; of any size. Entries may be -inf
             already (and stay so).
    k:       how many tokens each row keeps, at least 1. From V on, everything is kept.
    returns: [..., V], in the dtype of `logits`.

    ValueError where k < 1. `logits` itself stays as it is. Where logits are equal to
    the k-th largest, it is left open which of them stay, and whether all do.
    """
    raise NotImplementedError
