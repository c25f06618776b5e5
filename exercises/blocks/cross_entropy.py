"""Cross-entropy: how surprised the model is by the right token.

At every position the model gives a logit for each token of the vocabulary. Softmax
makes probabilities of them, and the loss of a position is the negative natural
logarithm of what the target got:

    loss at a position  =  -log softmax(logits)[target]
                        =  log(sum_j exp(logits_j)) - logits[target]
    cross_entropy       =  the average of that over all positions that count

A sure and right model pays nearly 0; one that gives all V tokens the same probability
pays log V; one that is sure of something else pays about the gap between its
favourite's logit and the target's, however large. Some positions do not count, padding
for one: their target is `ignore_index`, which need not be a token at all (-100 by
custom). They add nothing, and the average is taken over the others alone, all of the
batch together.

Example: one sequence of three positions, V = 3, ignore_index = -100.

    logits         = [[2, 0, 0],                  [0, 1, 0],              [5, 5, 9]]
    targets        = [0,                          2,                      -100]
    probabilities  = [[0.787, 0.107, 0.107],      [0.212, 0.576, 0.212],  (ignored)]
    loss           = -log 0.787 = 0.240           -log 0.212 = 1.551
    cross_entropy  = (0.240 + 1.551) / 2 = 0.895

What goes wrong: NaN where logits are large (exp overflows) and infinity where the
target is unlikely (its probability is rounded to 0 before the logarithm sees it),
though the loss itself is an ordinary number; a loss that shrinks as padding grows,
because it was divided by all positions; an index error from a target of -100, or,
worse, a negative index that silently picks a token from the end.

Edge cases with their own checks: arrays that are not contiguous, float64 input computed
in float64, extreme logits, another ignore_index.

Source: Goodfellow, Bengio and Courville 2016, "Deep Learning", sections 3.13 and 4.1;
Vaswani et al. 2017, "Attention Is All You Need", section 5, trains with it.
"""

import numpy as np


def cross_entropy(
    logits: np.ndarray,
    targets: np.ndarray,
    ignore_index: int = -100,
) -> float:
    """Average the negative log-probability of the targets that are not ignored.

    logits:       [B, T, V], float32 or float64, finite, of any size.
    targets:      [B, T], of any integer dtype; each is a token in [0, V) or equals
                  `ignore_index`. At least one of them counts.
    ignore_index: any integer, a token's id too (then that token never counts).
    returns:      one number, a Python or NumPy float.

    Neither array is changed.
    """
    raise NotImplementedError
