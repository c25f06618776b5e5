"""Multi-head attention: several attentions side by side, each in its own columns.

One softmax gives each query one set of weights; a token that must look at its verb and
at its adjective needs two. So queries, keys and values are projected, cut into
num_heads blocks of columns, and each block, a head, attends by itself. What the heads
read is put side by side again and mixed by one more matrix:

    q = x_q w_q        k = x_kv w_k        v = x_kv w_v
    head_h = softmax(q_h k_hᵀ / sqrt(d_k)) v_h    d_k: the columns of ONE head's keys
    result = [head_0, head_1, …] w_o              heads side by side, [B, Tq, H * d_v]

    x_q   [B, Tq, d_model]         who asks                 w_q, w_k  [d_model, H * d_k]
    x_kv  [B, Tk, d_model]         who is read              w_v       [d_model, H * d_v]
                                                            w_o       [H * d_v, d_model]

Head h owns the h-th block of d_k neighbouring columns of q and k, and the h-th block of
d_v of v. d_v may differ from d_k, and neither needs to be d_model / H. In
self-attention x_q and x_kv are the same array, in cross-attention they are not.

The mask is as in scaled dot-product attention: True where the query MAY attend to the
key, broadcastable to [B, H, Tq, Tk]; a query that may attend to nothing in a head reads
0 there, never NaN.

Example: one query, two tokens to read, two heads of one column each; w_q, w_k, w_v are
the identity.

    x_q  = [[[2, 0]]]      head 0: q = 2, k = [1, 0], weights [0.881, 0.119], v = [1, 0]
    x_kv = [[[1, 0],       head 1: q = 0, k = [0, 1], weights [0.5, 0.5],     v = [0, 1]
             [0, 1]]]      head 0 reads 0.881, head 1 reads 0.5
                           w_o = [[1, 0], [0, 2]]:  result [[[0.881, 1.0]]]

One head of two columns would give the weights [0.804, 0.196] and the result
[[[0.804, 0.391]]].

What goes wrong: a reshape straight to [B, H, T, d_k], which gives the heads tokens
rather than columns; a scale of sqrt(d_model); a mask that is right for one head or one
sequence only; self-attention by accident, which shows as soon as x_kv is another array
than x_q.

Edge cases with their own checks: arrays that are not contiguous, float64 input computed
in float64, extreme scores, queries that see nothing, widths other than d_model, a mask
for each head.

Source: Vaswani et al. 2017, "Attention Is All You Need", section 3.2.2.
"""

import numpy as np


def multi_head_attention(
    x_q: np.ndarray,
    x_kv: np.ndarray,
    w_q: np.ndarray,
    w_k: np.ndarray,
    w_v: np.ndarray,
    w_o: np.ndarray,
    num_heads: int,
    mask: np.ndarray | None = None,
) -> np.ndarray:
    """Let every head attend by itself, and mix what the heads have read.

    x_q, x_kv: [B, Tq, d_model] and [B, Tk, d_model].
    w_q, w_k:  [d_model, H * d_k].
    w_v:       [d_model, H * d_v].
    w_o:       [H * d_v, d_model].
    num_heads: H, which divides the widths.
    mask:      bool, broadcastable to [B, H, Tq, Tk], so it may have fewer axes; True
               where the query may attend to the key. None hides nothing.
    returns:   [B, Tq, d_model], in the dtype of the inputs. Large scores give no NaN.

    No argument is changed.
    """
    raise NotImplementedError
