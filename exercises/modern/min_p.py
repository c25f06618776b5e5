"""Min-p filtering: a threshold that follows the most likely token.

How many candidates should a sampler choose from? Where the model is sure, one or two;
where it is not, many. Top-k takes a fixed number, top-p a fixed mass; min-p takes a
fixed share of the best. It looks at the most likely token of a row, and keeps every
token that is at least p times as likely:

    probabilities  = softmax(logits)                             [..., V]
    threshold      = p * the largest probability of the row      [..., 1]
    result         = the logit itself where probability >= threshold,
                     -inf elsewhere                              [..., V]

With p = 0.1 a model that is sure (0.9 for one token) keeps what has 0.09 or more; a
model that is not (0.02 for the best) keeps what has 0.002 or more. So the most likely
token is always kept, and whether another one is kept depends on the two of them alone.
Kept logits are unchanged; the softmax that follows shares the mass among them. p = 1
keeps the most likely token and those that tie with it, p = 0 keeps everything. Another
p is never so near a token's share of the largest that rounding would decide.

Example, with four tokens:

    logits         = [1.0, 3.0, 0.0, 2.0]
    probabilities  = [0.087, 0.644, 0.032, 0.237]
    shares         = [0.135, 1.000, 0.050, 0.368]       of the largest

    p = 0.1   ->  [1.0,  3.0, -inf, 2.0]      threshold 0.0644
    p = 0.3   ->  [-inf, 3.0, -inf, 2.0]      threshold 0.193
    p = 0.5   ->  [-inf, 3.0, -inf, -inf]

What goes wrong: the probabilities are compared with p itself, and a row that is not
sure keeps nothing, so the next softmax is NaN; the largest probability is taken of the
whole batch; logits are compared where probabilities should be, which depends on a
number added to all of them.

Edge cases with their own checks: tensors that are not contiguous, float64 input
computed in float64, any leading axes, logits of any size, p of 0 and of 1, a vocabulary
of 50,257 tokens, another device than the CPU.

Where a ValueError is expected, a failing `assert` is accepted too.

Source: Nguyen et al. 2024, "Turning Up the Heat: Min-p Sampling for Creative and
Coherent LLM Outputs", section 3.
"""

import torch


def min_p_filter(logits: torch.Tensor, p: float) -> torch.Tensor:
    """Keep what is at least p times as likely as the best of its row; the rest is -inf.

    logits:  [..., V], any leading axes or none; of any size. Entries may be -inf
             already (and stay so); every row has at least one that is not.
    p:       the share of the largest probability, from 0 to 1.
    returns: [..., V], in the dtype of `logits`.

    ValueError where p is below 0 or above 1. `logits` itself stays as it is.
    """
    raise NotImplementedError
