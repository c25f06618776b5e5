"""As LLaMA has it: keys and values repeated for their group, scores in float32. Fails:
float64_keeps_its_digits."""

import numpy as np


def repeat_kv(x, n_rep):
    return x if n_rep == 1 else np.repeat(x, n_rep, axis=1)


def grouped_query_attention(q, k, v):
    if q.shape[1] % k.shape[1]:
        raise ValueError("the groups must divide the heads")
    n_rep = q.shape[1] // k.shape[1]
    keys, values = repeat_kv(k, n_rep), repeat_kv(v, n_rep)
    new, total = q.shape[2], k.shape[2]
    scores = (q @ keys.swapaxes(2, 3)).astype(np.float32) / np.sqrt(np.float32(q.shape[-1]))
    mask = np.triu(np.full((new, total), -np.inf, dtype=np.float32), k=total - new + 1)
    scores = scores + mask
    scores = np.exp(scores - scores.max(-1, keepdims=True))
    scores = (scores / scores.sum(-1, keepdims=True)).astype(q.dtype)
    return scores @ values
