"""Right answers to backprop_through_block in other styles."""

import numpy as np


def by_loops_over_heads(dout, x, params, num_heads):
    """Another way: one sequence and one head at a time, so that every array is a matrix."""
    grads = {name: np.zeros_like(weight) for name, weight in params.items()}
    dx = np.empty_like(x)
    width = x.shape[2] // num_heads
    gamma1, gamma2 = params["norm1_gamma"], params["norm2_gamma"]

    def standardised(rows):
        spread = np.sqrt(rows.var(axis=1, keepdims=True) + 1e-5)
        return (rows - rows.mean(axis=1, keepdims=True)) / spread, spread

    def unstandardised(g, normal, spread):
        return (g - g.mean(1, keepdims=True) - normal * (g * normal).mean(1, keepdims=True)) / spread

    for b in range(len(x)):
        n1, s1 = standardised(x[b])
        a = n1 * gamma1 + params["norm1_beta"]
        kept, pieces = [], []
        for i in range(num_heads):
            columns = slice(i * width, (i + 1) * width)
            q, k, v = (a @ params[name][:, columns] for name in ("w_q", "w_k", "w_v"))
            p = np.zeros((len(a), len(a)), x.dtype)
            for t in range(len(a)):
                row = k[: t + 1] @ q[t] / width**0.5
                powers = np.exp(row - row.max())
                p[t, : t + 1] = powers / powers.sum()
            kept.append((columns, q, k, v, p))
            pieces.append(p @ v)
        o = np.hstack(pieces)
        h = x[b] + o @ params["w_o"]
        n2, s2 = standardised(h)
        c = n2 * gamma2 + params["norm2_beta"]
        z = c @ params["w1"] + params["b1"]

        grads["w2"] += np.maximum(z, 0).T @ dout[b]
        grads["b2"] += dout[b].sum(0)
        dz = dout[b] @ params["w2"].T
        dz[z <= 0] = 0
        grads["w1"] += c.T @ dz
        grads["b1"] += dz.sum(0)
        dc = dz @ params["w1"].T
        grads["norm2_gamma"] += (dc * n2).sum(0)
        grads["norm2_beta"] += dc.sum(0)
        dh = dout[b] + unstandardised(dc * gamma2, n2, s2)
        grads["w_o"] += o.T @ dh
        do, da = dh @ params["w_o"].T, np.zeros_like(a)
        for columns, q, k, v, p in kept:
            dp = do[:, columns] @ v.T
            ds = p * (dp - (p * dp).sum(1, keepdims=True)) / width**0.5
            for name, d in (("w_q", ds @ k), ("w_k", ds.T @ q), ("w_v", p.T @ do[:, columns])):
                grads[name][:, columns] += a.T @ d
                da += d @ params[name][:, columns].T
        grads["norm1_gamma"] += (da * n1).sum(0)
        grads["norm1_beta"] += da.sum(0)
        dx[b] = dh + unstandardised(da * gamma1, n1, s1)
    return dx, grads


def by_closures(dout, x, params, num_heads):
    """Another way: each step of the forward pass notes how to go back, and the notes run in reverse."""
    tape, grads = [], {name: np.zeros_like(weight) for name, weight in params.items()}
    slots = []  # what flows, by number; a gradient for each

    def new(value):
        slots.append([value, np.zeros_like(value)])
        return slots[-1]

    def linear(z, name):
        y = new(z[0] @ params[name])

        def back():
            grads[name] += np.tensordot(z[0], y[1], axes=([0, 1], [0, 1]))
            z[1] += y[1] @ np.transpose(params[name])

        tape.append(back)
        return y

    def shift(z, name):
        y = new(z[0] + params[name])

        def back():
            grads[name] += y[1].sum((0, 1))
            z[1] += y[1]

        tape.append(back)
        return y

    def cut(z):
        y = new(z[0] * (z[0] > 0))
        tape.append(lambda: np.add(z[1], y[1] * (z[0] > 0), out=z[1]))
        return y

    def add(one, other):
        y = new(one[0] + other[0])

        def back():
            one[1] += y[1]
            other[1] += y[1]

        tape.append(back)
        return y

    def norm(z, name):
        width = z[0].shape[-1]
        centred = z[0] - z[0].mean(-1, keepdims=True)
        root = np.sqrt((centred**2).mean(-1, keepdims=True) + 1e-5)
        scaled = new(centred / root * params[f"{name}_gamma"])

        def back():
            grads[f"{name}_gamma"] += (scaled[1] * centred / root).sum((0, 1))
            g = scaled[1] * params[f"{name}_gamma"]
            # through the centred row, with the root's share; then through the mean
            along = (g * centred).sum(-1, keepdims=True)
            back_centred = g / root - centred * along / (width * root**3)
            z[1] += back_centred - back_centred.mean(-1, keepdims=True)

        tape.append(back)
        return shift(scaled, f"{name}_beta")

    def attention(q, k, v):
        batch, tokens, d_model = x.shape
        shape = batch, tokens, num_heads, d_model // num_heads
        qs, ks, vs = (z[0].reshape(shape) for z in (q, k, v))
        scale = 1 / shape[-1] ** 0.5
        scores = np.einsum("bqhd,bkhd->bhqk", qs, ks) * scale
        scores = np.where(np.tri(tokens, dtype=bool), scores, np.finfo(x.dtype).min)
        p = np.exp(scores - scores.max(-1, keepdims=True))
        p = p / p.sum(-1, keepdims=True)
        y = new(np.einsum("bhqk,bkhd->bqhd", p, vs).reshape(x.shape))

        def back():
            dy = y[1].reshape(shape)
            v[1] += np.einsum("bhqk,bqhd->bkhd", p, dy).reshape(x.shape)
            dp = np.einsum("bqhd,bkhd->bhqk", dy, vs)
            ds = p * (dp - np.einsum("bhqk,bhqk->bhq", p, dp)[..., None]) * scale
            q[1] += np.einsum("bhqk,bkhd->bqhd", ds, ks).reshape(x.shape)
            k[1] += np.einsum("bhqk,bqhd->bkhd", ds, qs).reshape(x.shape)

        tape.append(back)
        return y

    start = new(x)
    a = norm(start, "norm1")
    heads = attention(linear(a, "w_q"), linear(a, "w_k"), linear(a, "w_v"))
    h = add(start, linear(heads, "w_o"))
    inner = cut(shift(linear(norm(h, "norm2"), "w1"), "b1"))
    out = add(h, shift(linear(inner, "w2"), "b2"))
    out[1] += dout
    for step in reversed(tape):
        step()
    return start[1], grads


def by_jacobians_of_rows(dout, x, params, num_heads):
    """Another way: the Jacobian of each norm and of each softmax as a matrix."""
    p = params
    _, tokens, d_model = x.shape
    one = np.eye(d_model, dtype=x.dtype)

    def norm_and_jacobian(z):
        centred = z - z.mean(-1, keepdims=True)
        s = (centred * centred).mean(-1, keepdims=True) + 1e-5
        n = centred / s**0.5
        jacobian = (one - 1 / d_model - n[..., :, None] * n[..., None, :] / d_model) / s[..., None] ** 0.5
        return n, jacobian.astype(z.dtype)  # [B, T, d_model, d_model]

    def in_heads(z):
        return np.stack(np.split(z, num_heads, axis=-1))  # [H, B, T, d_head]

    def joined(z):
        return np.concatenate(list(z), axis=-1)

    def outer(z, dy):
        return z.reshape(-1, z.shape[-1]).T @ dy.reshape(-1, dy.shape[-1])

    n1, j1 = norm_and_jacobian(x)
    a = p["norm1_gamma"] * n1 + p["norm1_beta"]
    q, k, v = (in_heads(a @ p[name]) for name in ("w_q", "w_k", "w_v"))
    root = q.shape[-1] ** 0.5
    scores = np.einsum("hbqd,hbkd->hbqk", q / root, k)
    scores[..., ~np.tri(tokens, dtype=bool)] = -np.inf
    w = np.exp(scores - scores.max(-1, keepdims=True))
    w /= w.sum(-1, keepdims=True)
    heads = joined(w @ v)
    h = x + heads @ p["w_o"]
    n2, j2 = norm_and_jacobian(h)
    c = p["norm2_gamma"] * n2 + p["norm2_beta"]
    inner = c @ p["w1"] + p["b1"]
    open_ = (inner > 0).astype(x.dtype)

    d_inner = (dout @ p["w2"].T) * open_
    d_c = d_inner @ p["w1"].T
    d_h = dout + np.einsum("btij,bti->btj", j2, d_c * p["norm2_gamma"])
    d_heads = in_heads(d_h @ p["w_o"].T)
    d_w = d_heads @ v.swapaxes(-1, -2)
    softmax_jacobian = w[..., None] * np.eye(tokens, dtype=x.dtype) - w[..., :, None] * w[..., None, :]
    d_s = np.einsum("hbqk,hbqkl->hbql", d_w, softmax_jacobian) / root
    d_q, d_k, d_v = joined(d_s @ k), joined(d_s.swapaxes(-1, -2) @ q), joined(w.swapaxes(-1, -2) @ d_heads)
    d_a = d_q @ p["w_q"].T + d_k @ p["w_k"].T + d_v @ p["w_v"].T
    d_x = d_h + np.einsum("btij,bti->btj", j1, d_a * p["norm1_gamma"])
    gradients = {
        "norm1_gamma": np.einsum("bti,bti->i", d_a, n1),
        "norm1_beta": np.einsum("bti->i", d_a),
        "norm2_gamma": np.einsum("bti,bti->i", d_c, n2),
        "norm2_beta": np.einsum("bti->i", d_c),
        "w_q": outer(a, d_q),
        "w_k": outer(a, d_k),
        "w_v": outer(a, d_v),
        "w_o": outer(heads, d_h),
        "w1": outer(c, d_inner),
        "b1": d_inner.reshape(-1, inner.shape[-1]).sum(0),
        "w2": outer(inner * open_, dout),
        "b2": dout.reshape(-1, d_model).sum(0),
    }
    return [d_x, gradients]
