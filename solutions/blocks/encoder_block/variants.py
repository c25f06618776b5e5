"""Right answers in other styles."""

import math

import numpy as np


def loops_over_heads(x, params, num_heads, mask=None):
    """One sequence and one head at a time, cut out of the columns; each query reads its visible keys."""
    p, (batch, tokens, _) = params, x.shape
    visible = np.broadcast_to(True if mask is None else mask, (batch, num_heads, tokens, tokens))

    def norm(row, gamma, beta):
        centred = row - row.mean()
        return gamma * centred / np.sqrt(centred.dot(centred) / row.dtype.type(row.size) + 1e-5) + beta

    result = np.empty_like(x)
    for b, sequence in enumerate(x):
        parts = [np.split(sequence @ p[name], num_heads, axis=1) for name in ("w_q", "w_k", "w_v")]
        for t, row in enumerate(sequence):
            heads = []
            for h, (q, k, v) in enumerate(zip(*parts, strict=True)):
                seen = visible[b, h, t]
                scores = k[seen] @ q[t] / math.sqrt(q.shape[1])
                exps = np.exp(scores - scores.max(initial=-1e30))
                heads.append(exps @ v[seen] / max(exps.sum(), x.dtype.type(1e-30)))
            state = norm(row + np.concatenate(heads) @ p["w_o"], p["norm1_gamma"], p["norm1_beta"])
            state = state + np.maximum(state @ p["w1"] + p["b1"], 0) @ p["w2"] + p["b2"]
            result[b, t] = norm(state, p["norm2_gamma"], p["norm2_beta"])
    return result


def contracts_with_einsum(x, params, num_heads, mask=None):
    """Another way: name the axes and let einsum do every product, those of the heads as well.

    Everything contracted by einsum; -inf where hidden, NaN of empty rows turned into 0.
    """

    def heads(name):
        return np.einsum("btd,dhe->bthe", x, params[name].reshape(x.shape[2], num_heads, -1))

    def norm(rows, name):
        rows = rows - rows.mean(-1, keepdims=True)
        scale = (np.einsum("btd,btd->bt", rows, rows) / x.shape[2] + 1e-5)[..., None] ** -0.5
        return rows * scale * params[name + "_gamma"] + params[name + "_beta"]

    q, k, v = heads("w_q"), heads("w_k"), heads("w_v")
    scores = np.einsum("bqhe,bkhe->bhqk", q, k) * q.shape[-1] ** -0.5
    if mask is not None:
        scores = np.where(mask, scores, -np.inf)
    with np.errstate(invalid="ignore"):
        weights = np.exp(scores - scores.max(-1, keepdims=True))
        weights = np.nan_to_num(weights / weights.sum(-1, keepdims=True))
    w_o = params["w_o"].reshape(num_heads, -1, x.shape[2])
    x = norm(x + np.einsum("bhqk,bkhe,hed->bqd", weights, v, w_o), "norm1")
    hidden = np.maximum(0, np.einsum("btd,df->btf", x, params["w1"]) + params["b1"])
    return norm(x + np.einsum("btf,fd->btd", hidden, params["w2"]) + params["b2"], "norm2")


def fills_with_a_large_negative(x, params, num_heads, mask=None):
    """-1e9 where hidden, and the weights multiplied by the mask afterwards; q, k and v in one product."""
    p = params
    fused = x @ np.concatenate([p["w_q"], p["w_k"], p["w_v"]], axis=1)
    width = p["w_q"].shape[1]
    q, k, v = (
        part.reshape(*x.shape[:2], num_heads, -1).transpose(0, 2, 1, 3)
        for part in (fused[..., :width], fused[..., width : 2 * width], fused[..., 2 * width :])
    )
    scores = q @ k.transpose(0, 1, 3, 2) / math.sqrt(width // num_heads)
    if mask is not None:
        scores = np.where(mask, scores, -1e9).astype(x.dtype)
    weights = np.exp(scores - scores.max(axis=-1, keepdims=True))
    weights /= weights.sum(axis=-1, keepdims=True)
    if mask is not None:
        weights = weights * mask
    mixed = (weights @ v).transpose(0, 2, 1, 3).reshape(*x.shape[:2], -1)

    def norm(rows, gamma, beta):
        mean, variance = np.mean(rows, -1, keepdims=True), np.var(rows, -1, keepdims=True)
        return (rows - mean) / np.sqrt(variance + 1e-5) * gamma + beta

    h = norm(x + mixed @ p["w_o"], p["norm1_gamma"], p["norm1_beta"])
    h = h + np.where(h @ p["w1"] + p["b1"] > 0, h @ p["w1"] + p["b1"], 0).astype(x.dtype) @ p["w2"] + p["b2"]
    return norm(h, p["norm2_gamma"], p["norm2_beta"])


def computes_in_float64(x, params, num_heads, mask=None):
    """Widened at the door, cast back at the end; heads as a list, an additive mask, one state in place."""
    p = {name: array.astype(np.float64) for name, array in params.items()}
    state = x.astype(np.float64)
    visible = np.ones((1, 1, 1, 1), dtype=bool) if mask is None else mask
    visible = np.broadcast_to(visible, (len(x), num_heads, x.shape[1], x.shape[1]))
    outputs = []
    for h in range(num_heads):
        q, k, v = (np.split(state @ p[name], num_heads, axis=-1)[h] for name in ("w_q", "w_k", "w_v"))
        scores = q @ np.swapaxes(k, 1, 2) / np.sqrt(q.shape[-1])
        scores += np.where(visible[:, h], 0.0, np.finfo(np.float64).min / 4)
        exps = np.exp(scores - scores.max(axis=-1, keepdims=True)) * visible[:, h]
        outputs.append(exps @ v / np.maximum(exps.sum(axis=-1, keepdims=True), 1e-300))
    state += np.concatenate(outputs, axis=-1) @ p["w_o"]
    for name in ("norm1", "norm2"):
        if name == "norm2":
            state += np.clip(state @ p["w1"] + p["b1"], 0, None) @ p["w2"] + p["b2"]
        state -= state.mean(axis=-1, keepdims=True)
        state /= np.hypot(state.std(axis=-1, keepdims=True), 1e-5**0.5)
        state *= p[f"{name}_gamma"]
        state += p[f"{name}_beta"]
    return state.astype(x.dtype)
