"""The encoder block of 2017: attend, add, norm; think, add, norm.

An encoder reads the whole source at once. Each of its blocks lets every token gather
from all tokens, past and future alike (self-attention), and then lets each token work
on what it has gathered (feed-forward). Each of the two sublayers adds to its input, and
the sum is layer-normed (post-norm, as in the original Transformer; later models put the
norm in front):

    h      = layer_norm(x + attention(x))     norm1_gamma, norm1_beta  [B, T, d_model]
    result = layer_norm(h + feed_forward(h))  norm2_gamma, norm2_beta  [B, T, d_model]

The parts, all of them known:

    attention     q, k, v are x w_q, x w_k, x w_v, each cut into num_heads blocks of
                  neighbouring columns, d_k wide for q and k, d_v wide for v; each head
                  has the weights softmax(q kᵀ / sqrt(d_k)); the heads' outputs, side by
                  side again [B, T, H * d_v], go through w_o
    mask          True where the query (last axis but one) may attend to the key (last
                  axis); a query that may attend to nothing has all weights 0, so its
                  attention is 0
    feed_forward  max(0, h w1 + b1) w2 + b2
    layer_norm    gamma * (row - mean) / sqrt(variance + 1e-5) + beta, for each token,
                  with the biased variance

Example: B = 1, two tokens, one head, all six matrices the 2x2 identity, b1 and b2 zero,
norm1 and norm2 with gamma [1, 1] and beta [0, 0] but for norm2_beta = [0, 0.5]. The
mask is [[True, False], [False, True]], so each token reads itself alone, and
attention(x) = x.

    x                   = [[3, 1], [0, 2]]
    x + attention(x)    = [[6, 2], [0, 4]]        normed: h = [[1, -1], [-1, 1]]
    h + feed_forward(h) = [[2, -1], [-1, 2]]      normed: [[1, -1], [-1, 1]]
    result              = [[1, -0.5], [-1, 1.5]]

(1e-5 in the root moves these by less than 0.00001.)

What goes wrong: without its residual a sublayer replaces the token by its summary, and
deep stacks forget their input; the second sum starts from x and not from h; padding
leaks into real tokens (the mask is ignored, or applied to the wrong axis); one padded
row turns the whole batch into NaN.

Edge cases with their own checks: arrays that are not contiguous, float64 input computed
in float64, extreme scores, rows far from zero, tokens that may attend to nothing,
values wider or narrower than the keys.

Source: Vaswani et al. 2017, "Attention Is All You Need", sections 3.1 to 3.3.
"""

import numpy as np


def encoder_block(
    x: np.ndarray,
    params: dict[str, np.ndarray],
    num_heads: int,
    mask: np.ndarray | None = None,
) -> np.ndarray:
    """Run one post-norm encoder block.

    x:         [B, T, d_model].
    params:    w_q, w_k [d_model, H * d_k]    w_v [d_model, H * d_v]
               w_o [H * d_v, d_model]
               w1 [d_model, d_ff]    b1 [d_ff]    w2 [d_ff, d_model]    b2 [d_model]
               norm1_gamma, norm1_beta, norm2_gamma, norm2_beta [d_model]
    num_heads: H; it divides the widths of w_q, w_k and w_v. d_v may differ from d_k.
    mask:      bool, broadcastable to [B, H, T, T], so it may have fewer axes; True
               where the query may attend. None hides nothing.
    returns:   [B, T, d_model], in the dtype of `x`.

    Neither the arrays nor `params` itself are changed.
    """
    raise NotImplementedError
