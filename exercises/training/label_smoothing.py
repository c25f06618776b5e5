"""Label smoothing: a target that is never quite sure.

Cross-entropy is never content: it pays nothing only where the target has probability 1,
so it drives logits apart without end. Label smoothing asks for less. It takes the share
`smoothing` away from the target and spreads it evenly over all V tokens of the
vocabulary, the target among them:

    q                     =  (1 - smoothing) * one_hot(target) + smoothing / V       [V]
    loss at a position    =  - sum_j q_j * log softmax(logits)_j
                          =  (1 - smoothing) * (loss of the target) + smoothing *
                             (average of the losses that each of the V tokens has)
    label_smoothing_loss  =  the average of that over all positions that count

So the target has 1 - smoothing + smoothing / V, every other token smoothing / V, and
together they have 1. Positions whose target is `ignore_index` do not count: they add
nothing, neither to the first part nor to the second, and the average is taken over the
others, all of the batch together. `ignore_index` may be the id of a token. Then
positions with this target do not count, and as a class of the other positions the token
has its share like any other.

Example: one sequence of two positions, V = 4, ignore_index = -100.

    logits       [[2, 0, 0, 0], [5, 5, 5, 5]]           targets  [0, -100]
    losses       0.341 for token 0, 2.341 for each of the others; position 1 is ignored
    smoothing 0      0.341
    smoothing 0.1    0.9 * 0.341 + 0.1 * (0.341 + 3 * 2.341) / 4 = 0.491

Elsewhere: PyTorch's `label_smoothing` and Hugging Face do the same. fairseq and OpenNMT
share among the V - 1 other tokens; the Annotated Transformer shares among V - 2,
without padding, and returns a divergence, which is smaller by the entropy of q.

What goes wrong: the second part is averaged over the ignored positions too; it is
summed over the vocabulary in place of averaged; NaN or infinity for large logits, as in
`cross_entropy`.

Edge cases with their own checks: arrays that are not contiguous, float64 input computed
in float64, extreme logits, another ignore_index, an ignore_index that is a token, a
smoothing of 1.

Where a ValueError is expected, a failing `assert` is accepted too.

Source: Vaswani et al. 2017, "Attention Is All You Need", section 5.4; Szegedy et al.
2016, "Rethinking the Inception Architecture for Computer Vision", section 7.
"""

import numpy as np


def label_smoothing_loss(
    logits: np.ndarray,
    targets: np.ndarray,
    smoothing: float = 0.1,
    ignore_index: int = -100,
) -> float:
    """Average the cross-entropy against smoothed targets, without the ignored ones.

    logits:       [B, T, V], float32 or float64, finite, of any size.
    targets:      [B, T], of any integer dtype; each is a token in [0, V) or equals
                  `ignore_index`. At least one of them counts.
    smoothing:    the share that all tokens divide among them, from 0 to 1, both
                  included.
    ignore_index: any integer, a token's id too.
    returns:      one number, a Python or NumPy float.

    Raises ValueError for a smoothing below 0 or above 1. Neither array is changed.
    """
    raise NotImplementedError
