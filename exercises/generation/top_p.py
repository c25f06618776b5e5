"""Top-p, or nucleus, filtering: keep the tokens that matter, however many they are.

Sampling from the whole vocabulary picks, now and then, one of the thousands of tokens
that are nearly impossible, and the text derails. A fixed number of candidates (top-k)
is too many where the model is sure and too few where it is not. The nucleus adapts: for
each row of logits it is the smallest set of most likely tokens whose probabilities add
up to at least p.

    probabilities  = softmax(logits), from the most likely down    [..., V]
    nucleus        = the first n of them, with the smallest n whose sum is at least p
    result         = the logit itself in the nucleus, -inf elsewhere    [..., V], every
                     token in its place

So the token that takes the sum past p still belongs to the nucleus, and there is always
at least one: the most likely token stays even where p is far below its probability.
Nothing is divided again here: kept logits are unchanged, and the softmax that follows
shares the mass among them.

Example, with four tokens:

    logits         = [1.0, 3.0, 0.0, 2.0]
    probabilities  = [0.087, 0.644, 0.032, 0.237]
    in order       =  0.644 (token 1), 0.237 (token 3), 0.087 (token 0), 0.032 (token 2)
    summed up      =  0.644, 0.881, 0.968, 1.000

    p = 0.5   ->  [-inf, 3.0, -inf, -inf]
    p = 0.8   ->  [-inf, 3.0, -inf, 2.0]      0.644 alone is not enough
    p = 0.9   ->  [1.0,  3.0, -inf, 2.0]
    p = 1.0   ->  [1.0,  3.0, 0.0,  2.0]

What goes wrong: the crossing token is dropped, and a row whose first token holds more
than p is left with none, so the next softmax is NaN; the verdicts are worked out on
sorted logits and never brought back to the tokens they belong to; with p = 1 the
rounded sum reaches 1.0 early, and the tail is cut off.

Edge cases with their own checks: tensors that are not contiguous, float64 input
computed in float64, any leading axes, logits of any size, a vocabulary of 50,257
tokens, another device than the CPU.

Where a ValueError is expected, a failing `assert` is accepted too.

Source: Holtzman et al. 2020, "The Curious Case of Neural Text Degeneration",
section 3.1.
"""

import torch


def top_p_filter(logits: torch.Tensor, p: float) -> torch.Tensor:
    """Keep the logits of each row's nucleus and set all others to -inf.

    logits:  [..., V], any leading axes or none; of any size. Entries may be -inf
             already (and stay so); every row has at least one that is not. Each row has
             a nucleus of its own.
    p:       the mass that the nucleus must reach, above 0. From 1 on, everything is
             kept.
    returns: [..., V], in the dtype of `logits`.

    ValueError where p <= 0. `logits` itself stays as it is. Where p is within rounding
    of a sum, or the nucleus would part equal logits, it is left open where it ends.
    """
    raise NotImplementedError
