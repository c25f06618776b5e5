"""Multi-token prediction: a loss that looks several tokens ahead.

A language model is trained to predict the next token. With further heads it predicts
the token after that as well, and the one after that: each position teaches more, and a
model that has to see ahead plans ahead. At generation the further heads are left out,
or guess tokens for speculative decoding. Their loss is a row of cross-entropies, and
what is new is where their targets stand.

`targets` holds what the first head must predict: targets[b, t] is the token that
follows position t. Head h (from 0) looks h tokens further:

    multi_token_targets[h, b, t]  =  targets[b, t + h]  where t + h < T
                                  =  ignore_index       elsewhere            [n, B, T]

    loss_h  =  the mean of -log softmax(logits[h, b, t])[its target] over all
               positions, of the whole batch, whose target is not ignore_index;
               0 where head h has none
    result  =  loss_0 + weight * (loss_1 + ... + loss_(n-1)) / (n - 1)

With one head, the result is loss_0. Each head's mean is over its own targets, which are
fewer for a later head: the last h positions of a row have none. Only a position's own
target decides whether it counts, and not the targets between. `targets` may hold
ignore_index anywhere, as at padding; it may also be the id of a token, and then
positions with this target do not count.

Example: two heads, one row of three tokens, V = 2, weight 0.3.

    targets     [0, 1, 1]
    head 0      [0, 1, 1]        logits all 0: each costs ln 2 = 0.6931
    head 1      [1, 1, -100]     logits [0, 2], [2, 0] and [9, -9]: the first costs
                                 0.1269, the second 2.1269, the third does not count
    loss_0 = 0.6931, loss_1 = (0.1269 + 2.1269) / 2 = 1.1269
    result = 0.6931 + 0.3 * 1.1269 = 1.0312

Elsewhere: Gloeckle et al. add up the losses of all heads, which here is weight = n - 1.
DeepSeek-V3 has the weight of this kata, but divides each sum by the length of the whole
sequence; its further predictions come from modules in a row, and the loss is the same
for both kinds.

What goes wrong: the shifted row is rolled, so that its end gets targets from its
beginning; sums are divided by all positions; the first head counts among those that the
weight is for; -100 picks a logit from the end of the vocabulary.

Edge cases with their own checks: arrays that are not contiguous, float64 input computed
in float64, extreme logits, another ignore_index, more heads than tokens.

Source: Gloeckle et al. 2024, "Better & Faster Large Language Models via Multi-token
Prediction"; DeepSeek-AI 2024, "DeepSeek-V3 Technical Report" (multi-token prediction).
"""

import numpy as np


def multi_token_targets(
    targets: np.ndarray,
    num_heads: int,
    ignore_index: int = -100,
) -> np.ndarray:
    """Return what each head must predict at each position.

    targets:      [B, T], of any integer dtype.
    num_heads:    n, 1 or more; may be larger than T.
    ignore_index: what stands where a head has no target; any integer.
    returns:      int64 [n, B, T].
    """
    raise NotImplementedError


def multi_token_loss(
    logits: np.ndarray,
    targets: np.ndarray,
    weight: float = 0.3,
    ignore_index: int = -100,
) -> float:
    """Return the loss of all heads.

    logits:       [n, B, T, V], float32 or float64, finite, of any size.
    targets:      [B, T], of any integer dtype; each is a token in [0, V) or equals
                  `ignore_index`. At least one of them counts.
    weight:       what the mean loss of the further heads is multiplied by.
    ignore_index: any integer, a token's id too.
    returns:      one number, a Python or NumPy float.

    No argument is changed.
    """
    raise NotImplementedError
