"""Right answers to grouped_query_attention in other styles."""

import math

import numpy as np


def repeats_the_heads(q, k, v):
    """Each head of keys and values copied for its group; a mask of the lowest number; np.triu."""
    heads, groups = q.shape[1], k.shape[1]
    if heads % groups != 0:
        raise ValueError("H must be a multiple of G")
    k, v = np.repeat(k, heads // groups, axis=1), np.repeat(v, heads // groups, axis=1)
    scores = np.einsum("bhqd,bhkd->bhqk", q, k) / math.sqrt(q.shape[-1])
    hidden = np.triu(np.ones(scores.shape[-2:], dtype=bool), k=1 + k.shape[2] - q.shape[2])
    scores = np.where(hidden, np.finfo(q.dtype).min, scores)
    weights = np.exp(scores - scores.max(axis=-1, keepdims=True))
    return np.einsum("bhqk,bhkd->bhqd", weights / weights.sum(axis=-1, keepdims=True), v)


def loops_over_heads_and_queries(q, k, v):
    """Sequence by sequence, head by head, query by query; only the keys that are seen are touched."""
    batch, heads, queries, d_head = q.shape
    groups, keys = k.shape[1], k.shape[2]
    assert heads % groups == 0, "uneven groups"
    result = np.empty((batch, heads, queries, v.shape[-1]), dtype=q.dtype)
    for b in range(batch):
        for h in range(heads):
            group = h // (heads // groups)
            for i in range(queries):
                seen = keys - queries + i + 1
                scores = k[b, group, :seen] @ q[b, h, i] * d_head**-0.5
                powers = np.exp(scores - scores.max())
                result[b, h, i] = (powers / powers.sum()) @ v[b, group, :seen]
    return result


def joins_the_queries_of_a_group(q, k, v):
    """Another way: stack the queries of a group as more queries of one head.

    The members of a group stand below each other as more queries of one head; scaled before the
    product."""
    batch, heads, queries, d_head = q.shape
    groups, keys = k.shape[1], k.shape[2]
    if heads % groups:
        raise ValueError(f"{heads} heads, {groups} groups")
    rows = (q * (1 / math.sqrt(d_head))).reshape(batch, groups, -1, d_head)
    scores = rows @ k.transpose(0, 1, 3, 2)
    seen = np.tile(np.tri(queries, keys, keys - queries, dtype=bool), (heads // groups, 1))
    scores[..., ~seen] = -np.inf
    powers = np.exp(scores - np.amax(scores, axis=-1)[..., None])
    return ((powers @ v) / powers.sum(-1, keepdims=True)).reshape(batch, heads, queries, -1)


def picks_heads_by_index(q, k, v):
    """A list of which head each query head reads; float64 inside, cast back at the end."""
    heads, groups = q.shape[1], k.shape[1]
    if heads % groups:
        raise ValueError("groups")
    read = [h * groups // heads for h in range(heads)]
    wide, keys, values = q.astype(np.float64), k.astype(np.float64)[:, read], v.astype(np.float64)[:, read]
    scores = np.matmul(wide, np.swapaxes(keys, 2, 3)) / np.sqrt(q.shape[3])
    position = np.arange(k.shape[2])
    scores -= 1e9 * (position[None, :] > position[-q.shape[2] :, None])
    logs = scores - np.logaddexp.reduce(scores, axis=-1, keepdims=True)
    return (np.exp(logs) @ values).astype(q.dtype)


def one_group_at_a_time(q, k, v):
    """A list of results, one group after the other, concatenated along the heads."""
    members, rest = divmod(q.shape[1], k.shape[1])
    if rest:
        raise ValueError(f"{rest} heads are left over")
    later = np.arange(k.shape[2])[None] - (k.shape[2] - q.shape[2]) > np.arange(q.shape[2])[:, None]
    results = []
    for group in range(k.shape[1]):
        own = q[:, group * members : (group + 1) * members]
        scores = own @ k[:, group : group + 1].swapaxes(2, 3) / q.shape[-1] ** 0.5
        scores[..., later] = -1e9
        powers = np.exp(scores - scores.max(-1, keepdims=True))
        results.append(powers / powers.sum(-1, keepdims=True) @ v[:, group : group + 1])
    return np.concatenate(results, axis=1)
