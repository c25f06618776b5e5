"""Right answers to qk_norm_softcap in other styles."""

import math

import numpy as np


def with_the_sink_as_one_more_key(q, k, v, gamma_q, gamma_k, softcap, sink):
    """Another way: append the sink to the scores as a last column, take the softmax, drop the column."""

    def normed(x, gamma):
        return x * gamma / np.sqrt(np.mean(np.square(x), axis=-1, keepdims=True) + 1e-6)

    scores = np.einsum("bhid,bhjd->bhij", normed(q, gamma_q), normed(k, gamma_k)) * q.shape[-1] ** -0.5
    scores = np.tanh(scores / softcap) * softcap
    hidden = np.triu(np.ones(scores.shape[-2:], dtype=bool), k=1 + k.shape[2] - q.shape[2])
    scores[..., hidden] = np.finfo(q.dtype).min
    column = np.broadcast_to(sink.reshape(1, -1, 1, 1), (*scores.shape[:3], 1))
    joined = np.concatenate([scores, column], axis=-1)
    powers = np.exp(joined - joined.max(axis=-1, keepdims=True))
    weights = powers / powers.sum(axis=-1, keepdims=True)
    return np.einsum("bhij,bhjd->bhid", weights[..., :-1], v)


def query_by_query(q, k, v, gamma_q, gamma_k, softcap, sink):
    """Loops over sequences, heads and queries; only the keys that are seen are touched."""

    def unit(x, gamma):
        root = np.linalg.norm(x, axis=-1, keepdims=True) / math.sqrt(x.shape[-1])
        return gamma * x / np.hypot(root, 1e-3)

    result = np.zeros((*q.shape[:3], v.shape[-1]), dtype=q.dtype)
    for b, h, i in np.ndindex(q.shape[:3]):
        seen = k.shape[2] - q.shape[2] + i + 1
        scores = unit(k[b, h, :seen], gamma_k) @ unit(q[b, h, i], gamma_q) / math.sqrt(q.shape[-1])
        capped = softcap * np.tanh(scores / softcap)
        largest = max(capped.max(), sink[h])
        powers = np.exp(capped - largest)
        result[b, h, i] = powers @ v[b, h, :seen] / (powers.sum() + np.exp(sink[h] - largest))
    return result


def as_a_share_of_plain_attention(q, k, v, gamma_q, gamma_k, softcap, sink):
    """The usual softmax, then each row times the share that the sink leaves; float64 inside."""
    dtype = q.dtype
    q, k, v, gamma_q, gamma_k, sink = (x.astype(np.float64) for x in (q, k, v, gamma_q, gamma_k, sink))
    q = q / np.sqrt((q * q).mean(-1, keepdims=True) + 1e-6) * gamma_q
    k = k / np.sqrt((k * k).mean(-1, keepdims=True) + 1e-6) * gamma_k
    scores = softcap * np.tanh(q @ k.transpose(0, 1, 3, 2) / (softcap * np.sqrt(q.shape[-1])))
    position = np.arange(k.shape[2])
    scores = np.where(position[None, :] <= position[-q.shape[2] :, None], scores, -1e9)
    log_sum = np.logaddexp.reduce(scores, axis=-1, keepdims=True)
    share = np.exp(log_sum - np.logaddexp(log_sum, sink[:, None, None]))
    return (share * (np.exp(scores - log_sum) @ v)).astype(dtype)


def in_one_product_of_gammas(q, k, v, gamma_q, gamma_k, softcap, sink):
    """Both gammas on the queries; the norms divide the scores."""
    small = q.dtype.type(1e-6)
    q_root = np.sqrt((q**2).sum(-1) / q.shape[-1] + small)
    k_root = np.sqrt((k**2).sum(-1) / k.shape[-1] + small)
    q, k = q / q_root[..., None], k / k_root[..., None]
    scores = (q * (gamma_q * gamma_k / math.sqrt(q.shape[-1]))) @ np.swapaxes(k, 2, 3)
    scores = np.tanh(scores / softcap) * softcap
    hidden = ~np.tri(q.shape[2], k.shape[2], k.shape[2] - q.shape[2], dtype=bool)
    scores[..., hidden] = -np.inf
    log_sum = np.logaddexp(np.logaddexp.reduce(scores, axis=-1), sink[:, None])
    return np.exp(scores - log_sum[..., None]) @ v
