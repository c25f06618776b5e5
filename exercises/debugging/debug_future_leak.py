"""Find the faults: attention weights that look into the future.

The code below runs, its result has the right shape, and it is wrong. It is to turn the
attention scores of a decoder into causal weights: for each query a softmax over the
keys up to itself, and nothing after.

    for j <= i    weights[i, j] = exp(scores[i, j]) / (the sum of exp(scores[i, m])
                                  over m = 0 ... i)
    for j > i     weights[i, j] = 0

In training the decoder sees the whole target sequence, and each position is to predict
the token that follows it. If a position attends to that very token, it copies it: the
loss falls beautifully, and the model is useless when it has to write, as there is no
next token to copy. Nothing raises. So leaks are found by what must hold, whatever the
scores are:

- The future has exactly no weight: all entries above the diagonal are 0.
- Each row sums to 1. The first token sees only itself, so the first row is
  [1, 0, 0, ...].
- A score of the future can change without any effect on the weights.

Example:

    scores                  softmax without a mask           causal weights
    [2.0, 5.0, 4.0]         [0.035, 0.705, 0.259]            [1.000, 0.000, 0.000]
    [1.0, 2.0, 6.0]         [0.007, 0.018, 0.976]            [0.269, 0.731, 0.000]
    [0.5, 1.0, 2.0]         [0.140, 0.231, 0.629]            [0.140, 0.231, 0.629]

Without a mask the entries above the diagonal hold 0.705 + 0.259 + 0.976 = 1.940 of the
three rows' mass. They must hold 0, and the mass belongs to the tokens that may be seen.

What to do: run the example, and compare it row by row with the claims. There may be
more than one fault, and mending one can make another easier to see.

Edge cases with their own checks: arrays that are not contiguous, float64 input computed
in float64, extreme scores, leading axes.

Source: Vaswani et al. 2017, "Attention Is All You Need", section 3.2.3.
"""

import numpy as np


def causal_attention_weights(scores: np.ndarray) -> np.ndarray:
    """Turn attention scores into causal weights. This code is wrong; mend it.

    scores:  [..., T, T], float32 or float64, any leading axes or none: a row a query, a
             column a key.
    returns: the weights, of the shape and dtype of `scores`; rows sum to 1, the future
             is exactly 0.

    `scores` itself stays as it is.
    """
    tokens = scores.shape[-1]
    visible = np.tril(np.ones((tokens, tokens), dtype=bool), k=1)
    powers = np.exp(scores - scores.max(axis=-1, keepdims=True))
    weights = powers / powers.sum(axis=-1, keepdims=True)
    return np.where(visible, weights, 0)
