"""Grouped-query attention: several query heads share one head of keys and values.

A decoder keeps the keys and values of all earlier tokens, and at every step it reads
them all: that cache, and not the arithmetic, is what generation waits for. With H query
heads and only G heads of keys and values it is H / G times smaller. The query heads are
split into G groups of neighbours; all heads of a group read the same keys and values,
each with queries of its own:

    group(h)  = h // (H / G)                                              h = 0 ... H-1
    scores_h  = q_h k_group(h)^T / sqrt(d_head)                           [Tq, Tk]
    result_h  = softmax(scores_h, later keys hidden) v_group(h)           [Tq, d_v]

With G = H this is multi-head attention, with G = 1 multi-query attention. The attention
is causal, and a cache may hold more keys than there are queries: the queries are the
last Tq of the Tk positions, so query i sees the keys 0 ... Tk - Tq + i, its own among
them.

Example: four query heads, two heads of keys and values, one token. A token that sees
itself alone gets its own value back, so the result shows who reads what:

    v      = [[[1.0]], [[2.0]]]                       heads 0 and 1 of the values
    result = [[[1.0]], [[1.0]], [[2.0]], [[2.0]]]     groups (0, 1) and (2, 3), and
                                                      not (0, 2) and (1, 3)

What goes wrong: the heads are dealt in turn (h % G) where neighbours belong together,
which goes unnoticed with one group and with H groups; the scale is taken from d_model
or from d_v; the triangle of the mask sits in the wrong corner as soon as there is a
cache.

Edge cases with their own checks: arrays that are not contiguous, float64 input computed
in float64, extreme scores, values of another width.

Where a ValueError is expected, a failing `assert` is accepted too.

Source: Ainslie et al. 2023, "GQA: Training Generalized Multi-Query Transformer Models
from Multi-Head Checkpoints", section 2.2; Shazeer 2019, "Fast Transformer Decoding: One
Write-Head is All You Need".
"""

import numpy as np


def grouped_query_attention(q: np.ndarray, k: np.ndarray, v: np.ndarray) -> np.ndarray:
    """Causal attention in which the heads of a group share keys and values.

    q:       [B, H, Tq, d_head].
    k:       [B, G, Tk, d_head], with Tk >= Tq.
    v:       [B, G, Tk, d_v]; d_v may differ from d_head.
    returns: [B, H, Tq, d_v], in the dtype of the arguments. Right for large scores too.

    ValueError where G does not divide H. No argument is changed.
    """
    raise NotImplementedError
