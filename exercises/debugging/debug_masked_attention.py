"""Find the faults: a single head of masked attention.

The code below runs, its result has the right shape, and it is wrong. It is to be
single-head causal attention over one sequence, as a decoder has it: every token mixes
the values of the tokens up to itself.

    q, k, v  = x w_q, x w_k, x w_v      [T, d_k], [T, d_k], [T, d_v]
    scores   = q k^T / sqrt(d_k)        [T, T], -inf where the key comes after the query
    weights  = softmax(scores)          [T, T], each row the weights of one query
    output   = weights v                [T, d_v]

What must hold, whatever x and the matrices are:

- The first token sees only itself: the first row of the output is its own value.
- The weights of each query sum to 1. So where all values are the same, every row of the
  output is too.
- No row of the output depends on a later token.
- Scores depend on x through q and k alone: x may have any width d_model, and so many
  features that are 0.

Example, with d_model 2, d_k 1 and d_v 2:

    x = w_v = [[1, 0], [0, 1]]     w_q = [[1], [2]]     w_k = [[0], [1]]

    q = [1, 2]     k = [0, 1]      scores of the second token: [0, 2]
    weights = [[1.000, 0.000], [0.119, 0.881]]
    output = weights, since v is the identity

What to do: ask of each line which of these claims it serves, check it with shapes that
are all different (T, d_model, d_k, d_v), and print sums. A line that is mended can hide
another fault, or show it.

Edge cases with their own checks: arrays that are not contiguous, float64 input computed
in float64, extreme scores, widths of one.

Source: Vaswani et al. 2017, "Attention Is All You Need", sections 3.2.1 and 3.2.3.
"""

import numpy as np


def masked_attention(
    x: np.ndarray,
    w_q: np.ndarray,
    w_k: np.ndarray,
    w_v: np.ndarray,
) -> np.ndarray:
    """Single-head causal self-attention over one sequence. This code is wrong; mend it.

    x:        [T, d_model], float32 or float64, like the matrices.
    w_q, w_k: [d_model, d_k].
    w_v:      [d_model, d_v].
    returns:  the output, [T, d_v], in the dtype of `x`.

    No argument is changed.
    """
    tokens, width = x.shape
    q, k, v = x @ w_q, x @ w_k, x @ w_v
    scores = q @ k.T / width**0.5
    future = np.triu(np.ones((tokens, tokens), dtype=bool), k=1)
    scores = np.where(future, -np.inf, scores)
    powers = np.exp(scores - scores.max())
    weights = powers / powers.sum()
    return weights @ v
