"""Cross-attention: the decoder reads the encoder.

In a translation the decoder writes the target and must look at the source while it
does. Cross-attention is the bridge: the QUERIES are made from the decoder's tokens, the
KEYS and VALUES from the encoder's output. Each target token thus gets weights over the
source tokens, and a mixture of their values:

    q = x_dec w_q              who asks: the target          [B, T_tgt, d_k]
    k = x_enc w_k              who answers: the source       [B, T_src, d_k]
    v = x_enc w_v              what is read: the source      [B, T_src, d_v]
    weights = softmax(q kᵀ / sqrt(d_k))                      [B, T_tgt, T_src]
    output  = weights v                                      [B, T_tgt, d_v]

T_tgt and T_src are unrelated, so the weights are a rectangle: a row for each target
token, a column for each source token. The source is known in full, so nothing is
masked: every target token may read all of it. Here there is one head, and no matrix
after it.

Example: two target tokens, three source tokens, d_model = d_k = 2, d_v = 1.

    x_dec = [[[1, 0],   x_enc = [[[1, 0],   w_q = [[2, 0],  w_k = [[1, 0],  w_v = [[3],
              [0, 1]]]            [0, 2],          [0, 1]]         [0, 1]]         [1]]
                                  [1, 1]]]

    q kᵀ    = [[[2, 0, 2],            weights = [[[0.446, 0.108, 0.446],     v = [[[3],
                [0, 2, 1]]]                       [0.14,  0.576, 0.284]]]          [2],
    output  = [[[3.337], [2.708]]]                                                 [4]]]

What goes wrong: self-attention by accident, which has the right shapes as long as both
sequences are equally long; a causal mask, copied from the decoder's own attention;
queries and keys exchanged, so that the source reads the target.

Edge cases with their own checks: arrays that are not contiguous, float64 input computed
in float64, extreme scores, values of another width than keys, source tokens of zeros.

Source: Vaswani et al. 2017, "Attention Is All You Need", section 3.2.3; the idea:
Bahdanau, Cho and Bengio 2015, "Neural Machine Translation by Jointly Learning to Align
and Translate", section 3.1.
"""

import numpy as np


def cross_attention(
    x_dec: np.ndarray,
    x_enc: np.ndarray,
    w_q: np.ndarray,
    w_k: np.ndarray,
    w_v: np.ndarray,
) -> tuple[np.ndarray, np.ndarray]:
    """Let every target token read the source, with one head and no mask.

    x_dec:    [B, T_tgt, d_model], the decoder's tokens.
    x_enc:    [B, T_src, d_model], the encoder's output, taken as it is.
    w_q, w_k: [d_model, d_k].
    w_v:      [d_model, d_v].
    returns:  (output [B, T_tgt, d_v], weights [B, T_tgt, T_src]), in the dtype of the
              inputs.

    No argument is changed.
    """
    raise NotImplementedError
