"""Attention whose scores cannot run away: QK norm, soft cap and sink.

A score is a product of two learnt vectors, and in a long training it can grow without
end: the softmax then picks one key, gradients vanish or jump, and the run diverges.
Three remedies are in use. QK norm brings queries and keys to one length, a soft cap
bounds the scores smoothly, and a sink lets a head attend to nothing: a learnt logit
that takes part in the softmax and has no value. Here one function has all three:

    n(x, gamma)  = gamma * x / sqrt(mean of the squares of x + 1e-6)    [..., d_head]
    s_ij         = n(q_i, gamma_q) . n(k_j, gamma_k) / sqrt(d_head)     [B, H, Tq, Tk]
    c_ij         = softcap * tanh(s_ij / softcap)                       [B, H, Tq, Tk]
    total_i      = exp(sink_h) + sum of exp(c_il) over the keys l that i sees
    w_ij         = exp(c_ij) / total_i    at keys that i sees, elsewhere 0
    result_i     = sum over j of w_ij v_j                               [B, H, Tq, d_v]

The mean runs over the d_head numbers of one query or one key; each head of each token
is normalised by itself, and all heads share gamma_q and gamma_k. Each head h has a sink
of its own. The sink is neither scaled nor capped.

The attention is causal. The queries are the last Tq of the Tk positions, so query i
sees the keys 0 ... Tk - Tq + i. Hidden keys have the weight 0: they are hidden after
the cap, since tanh would turn a score of -inf into -softcap.

Example: one head with d_head = 2, gammas of 1, softcap 1; one query, two keys with the
values 10 and 20.

    q              [3, 3]               normalised  [1, 1]
    k              [0.1, -0.1], [5, 5]  normalised  [1, -1], [1, 1]
    scores         0, 1.4142            capped      0, tanh(1.4142) = 0.8884
    powers         1, 2.4312            of e
    sink 0         weights 1 / 4.4312 = 0.2257 and 0.5487, together 0.7743
                   result 13.2298
    sink -inf      weights 1 / 3.4312 = 0.2914 and 0.7086, together 1
                   result 17.0856

Elsewhere: Henry et al. divide by the vectors' Euclidean length and learn one factor for
all scores; Dehghani et al. use layer norm; Qwen3 and Gemma 3 use RMS norm, as here.
Gemma 2 caps attention scores at 50. In gpt-oss each head has a sink. Few models, if
any, have all three.

What goes wrong: later keys leak into the result (they were hidden before the cap); the
sink gets a value, or is taken for a number to add to each score, which changes no
softmax; float32 overflows at scores in the hundreds.

Edge cases with their own checks: arrays that are not contiguous, float64 input computed
in float64, scores in the hundreds, sinks far away or at -inf, vectors so small that the
1e-6 shows.

Source: Henry et al. 2020, "Query-Key Normalization for Transformers"; Dehghani et al.
2023, "Scaling Vision Transformers to 22 Billion Parameters"; Gemma Team 2024, "Gemma 2:
Improving Open Language Models at a Practical Size"; OpenAI 2025, "gpt-oss-120b &
gpt-oss-20b Model Card".
"""

import numpy as np


def qk_norm_softcap(
    q: np.ndarray,
    k: np.ndarray,
    v: np.ndarray,
    gamma_q: np.ndarray,
    gamma_k: np.ndarray,
    softcap: float,
    sink: np.ndarray,
) -> np.ndarray:
    """Causal attention with normalised queries and keys, capped scores and sinks.

    q:       [B, H, Tq, d_head].
    k:       [B, H, Tk, d_head], with Tk >= Tq.
    v:       [B, H, Tk, d_v]; d_v may differ from d_head.
    gamma_q: [d_head], the scale of each feature of a normalised query; gamma_k
             likewise.
    softcap: above 0 and finite.
    sink:    [H], one logit for each head; -inf is a head without a sink.
    returns: [B, H, Tq, d_v], in the dtype of the arguments.

    No argument is changed.
    """
    raise NotImplementedError
