"""Right answers in other hands."""

import math

import numpy as np


def loops_over_heads(x, memory, params, num_heads):
    """One head at a time, cut out of the columns, joined by concatenate; mask of -inf above the diagonal."""

    def attend(x_q, x_kv, w, mask):
        q, k, v = x_q @ w["q"], x_kv @ w["k"], x_kv @ w["v"]
        width = q.shape[1] // num_heads
        heads = []
        for start in range(0, q.shape[1], width):
            block = slice(start, start + width)
            scores = q[:, block] @ k[:, block].T / width**0.5
            scores[mask] = -np.inf
            exps = np.exp(scores - scores.max(axis=1, keepdims=True))
            heads.append(exps / exps.sum(axis=1, keepdims=True) @ v[:, block])
        return np.concatenate(heads, axis=1) @ w["o"]

    def norm(rows):
        return (rows - rows.mean(-1, keepdims=True)) / np.sqrt(rows.var(-1, keepdims=True) + 1e-5)

    future = np.triu(np.ones((len(x), len(x)), dtype=bool), k=1)
    nothing = np.zeros((len(x), len(memory)), dtype=bool)
    x = x + attend(norm(x), norm(x), params["self_attention"], future)
    x = x + attend(norm(x), norm(memory), params["cross_attention"], nothing)
    return x + np.maximum(0, norm(x) @ params["feed_forward"]["w1"]) @ params["feed_forward"]["w2"]


def contracts_with_einsum(x, memory, params, num_heads):
    """Everything contracted by einsum, o included; an additive mask near the dtype's lowest number."""

    def norm(rows):
        centred = rows - rows.mean(axis=1)[:, None]
        return centred * (np.einsum("td,td->t", centred, centred) / rows.shape[1] + 1e-5)[:, None] ** -0.5

    def attend(x_q, x_kv, w, mask):
        def columns(name):
            return w[name].reshape(len(w[name]), num_heads, -1)

        q = np.einsum("td,dhe->hte", x_q, columns("q"))
        k = np.einsum("sd,dhe->hse", x_kv, columns("k"))
        v = np.einsum("sd,dhe->hse", x_kv, columns("v"))
        scores = np.einsum("hte,hse->hts", q, k) / math.sqrt(q.shape[-1]) + mask
        weights = np.exp(scores - scores.max(-1, keepdims=True))
        weights /= weights.sum(-1, keepdims=True)
        o = w["o"].reshape(num_heads, -1, len(w["o"]))
        return np.einsum("hts,hse,hed->td", weights, v, o)

    future = np.triu(np.full((len(x), len(x)), np.finfo(x.dtype).min / 2, dtype=x.dtype), 1)
    normed = norm(x)
    x = x + attend(normed, normed, params["self_attention"], future)
    x = x + attend(norm(x), norm(memory), params["cross_attention"], x.dtype.type(0))
    hidden = np.einsum("td,df->tf", norm(x), params["feed_forward"]["w1"])
    return x + np.einsum("tf,fd->td", hidden * (hidden > 0), params["feed_forward"]["w2"])


def reads_prefixes(x, memory, params, num_heads):
    """Another way: let each token attend to the slice of tokens up to itself, without a mask.

    No mask: token t attends to the slice of tokens before it, one query and one head at a time.
    """

    def norm(row):
        centred = row - row.mean()
        return centred / (centred.dot(centred) / row.size + 1e-5) ** 0.5

    def attend(query, rows, w):
        q, k, v = query @ w["q"], rows @ w["k"], rows @ w["v"]
        out = np.empty_like(q)
        for part in np.split(np.arange(q.size), num_heads):
            scores = k[:, part] @ q[part] / math.sqrt(part.size)
            exps = np.exp(scores - scores.max())
            out[part] = exps @ v[:, part] / exps.sum()
        return out @ w["o"]

    normed = np.stack([norm(row) for row in x])
    source = np.stack([norm(row) for row in memory])
    result = np.empty_like(x)
    for t, row in enumerate(x):
        row = row + attend(normed[t], normed[: t + 1], params["self_attention"])
        row = row + attend(norm(row), source, params["cross_attention"])
        hidden = norm(row) @ params["feed_forward"]["w1"]
        result[t] = row + np.where(hidden > 0, hidden, 0) @ params["feed_forward"]["w2"]
    return result


def works_on_a_copy_in_place(x, memory, params, num_heads):
    """One copy of x, to which every sublayer is added in place; -1e9 where hidden; no maximum subtracted."""

    def norm(rows):
        rows = rows - np.mean(rows, axis=-1, keepdims=True)
        rows /= np.sqrt(np.mean(rows * rows, axis=-1, keepdims=True) + 1e-5)
        return rows

    def heads(rows):
        return np.moveaxis(np.reshape(rows, (rows.shape[0], num_heads, -1)), 1, 0)

    def attend(x_q, x_kv, w, hidden=None):
        scores = np.matmul(heads(x_q @ w["q"]), np.swapaxes(heads(x_kv @ w["k"]), -1, -2))
        scores *= (x.shape[1] / num_heads) ** -0.5
        if hidden is not None:
            scores[:, hidden] = -1e9
        weights = np.exp(scores)
        weights = weights / np.sum(weights, axis=-1, keepdims=True)
        return np.moveaxis(weights @ heads(x_kv @ w["v"]), 0, 1).reshape(x.shape) @ w["o"]

    state = x.copy()
    length = np.arange(len(x))
    state += attend(norm(x), norm(x), params["self_attention"], length[None, :] > length[:, None])
    state += attend(norm(state), norm(memory), params["cross_attention"])
    state += np.clip(norm(state) @ params["feed_forward"]["w1"], 0, None) @ params["feed_forward"]["w2"]
    return state


def adds_a_batch_axis(x, memory, params, num_heads):
    """Batched code for a batch of one; q, k and v in one product; variance as E[x²] - E[x]²."""

    def norm(rows):
        mean = rows.mean(-1, keepdims=True)
        variance = np.maximum((rows**2).mean(-1, keepdims=True) - mean**2, 0)
        return (rows - mean) / np.sqrt(variance + 1e-5)

    def split(rows):
        return rows.reshape(*rows.shape[:2], num_heads, -1).transpose(0, 2, 1, 3)

    def mix(q, k, v, w, mask):
        scores = split(q) @ split(k).transpose(0, 1, 3, 2) / math.sqrt(q.shape[-1] // num_heads)
        scores = scores + mask
        exps = np.exp(scores - scores.max(-1, keepdims=True))
        heads = exps / exps.sum(-1, keepdims=True) @ split(v)
        return heads.transpose(0, 2, 1, 3).reshape(q.shape) @ w["o"]

    x, memory = x[None], memory[None]
    hidden = (1 - np.tri(x.shape[1], dtype=x.dtype)) * -1e9
    w = params["self_attention"]
    fused = norm(x) @ np.concatenate([w["q"], w["k"], w["v"]], axis=1)
    x = x + mix(*np.split(fused, 3, axis=-1), w, hidden)
    w = params["cross_attention"]
    fused = norm(memory) @ np.hstack([w["k"], w["v"]])
    x = x + mix(norm(x) @ w["q"], *np.split(fused, 2, axis=-1), w, x.dtype.type(0))
    w = params["feed_forward"]
    return (x + np.maximum(norm(x) @ w["w1"], 0) @ w["w2"])[0]


def computes_in_float64(x, memory, params, num_heads):
    """Widened at the door, cast back at the end; the attentions called by one loop over both."""

    def norm(rows):
        return (rows - rows.mean(1, keepdims=True)) / np.hypot(rows.std(1, keepdims=True), 1e-5**0.5)

    state = x.astype(np.float64)
    for name, rows, last in (("self_attention", None, 0), ("cross_attention", memory, len(memory))):
        w = {key: matrix.astype(np.float64) for key, matrix in params[name].items()}
        queries = norm(state)
        read = queries if rows is None else norm(rows.astype(np.float64))
        q, k, v = (
            np.array(np.hsplit(product, num_heads))
            for product in (queries @ w["q"], read @ w["k"], read @ w["v"])
        )
        scores = q @ k.transpose(0, 2, 1) / np.sqrt(q.shape[-1])
        exps = np.exp(scores) * np.tri(len(x), len(read), last)
        state = state + np.hstack(list(exps / exps.sum(-1, keepdims=True) @ v)) @ w["o"]
    hidden = norm(state) @ params["feed_forward"]["w1"]
    return (state + np.maximum(hidden, 0) @ params["feed_forward"]["w2"]).astype(x.dtype)
