"""Scaled dot-product attention: every query reads a mixture of the values.

A query asks, keys answer how well they fit, and the values of the fitting ones are
read. The score of a query and a key is their dot product over sqrt(d_k); softmax turns
the scores of one query into weights, and the weights mix the values:

    attention(q, k, v) = softmax(q kᵀ / sqrt(d_k)) v

    q  [..., Tq, d_k]    Tq queries             scores, weights  [..., Tq, Tk]
    k  [..., Tk, d_k]    Tk keys                output           [..., Tq, d_v]
    v  [..., Tk, d_v]    one value for each key

The leading axes `...` (batch, heads, both or none) are alike in q, k and v, and each of
their entries is an attention of its own. The root keeps the scores from growing with
d_k: the dot product of two vectors of d_k independent entries, of mean 0 and variance
1, has the variance d_k.

A boolean mask is True where the query MAY attend to the key. What is hidden gets weight
0, and the weights of a query are shared out among the keys that it sees, as if there
were no others. A query that may attend to nothing at all gets weights 0 and output 0.

Example: one query, three keys, d_k = 2.

    q = [[0.2, 1.2]]          k = [[1.0, 0.0],          v = [[1.0, 0.0],
                                   [0.4, 1.0],               [0.3, 1.0],
                                   [0.0, 0.8]]               [0.0, 0.6]]

    q kᵀ    = [[0.2,   1.28,  0.96 ]]        over sqrt(2):  [[0.141, 0.905, 0.679]]
    weights = [[0.206, 0.442, 0.352]]        output = [[0.338, 0.653]]
    mask [[True, True, False]]:  weights = [[0.318, 0.682, 0.0]]

What goes wrong: weights so sharp that nothing is learnt (no scale); NaN from large
scores (no maximum taken away) or from a row that is hidden altogether; weights that no
longer sum to one (the mask comes after the softmax); a hidden key that still counts,
since a score of 0 is a score like any other. A float32 input that comes back as float64
met a NumPy scalar: np.sqrt(2) is one, math.sqrt(2) is not.

Edge cases with their own checks: arrays that are not contiguous, float64 input computed
in float64, extreme scores, queries that see nothing, leading axes.

Source: Vaswani et al. 2017, "Attention Is All You Need", section 3.2.1.
"""

import numpy as np


def scaled_dot_product_attention(
    q: np.ndarray, k: np.ndarray, v: np.ndarray, mask: np.ndarray | None = None
) -> tuple[np.ndarray, np.ndarray]:
    """Let every query attend to the keys, and mix their values.

    q, k, v: [..., Tq, d_k], [..., Tk, d_k] and [..., Tk, d_v], all float32 or all
             float64. Scores may be large, up to 1e8 in size.
    mask:    bool, broadcastable to [..., Tq, Tk], so it may have fewer axes or axes of
             length 1; True where the query may attend to the key. None hides nothing.
    returns: (output [..., Tq, d_v], weights [..., Tq, Tk]), in the dtype of the inputs.

    No argument is changed.
    """
    raise NotImplementedError
