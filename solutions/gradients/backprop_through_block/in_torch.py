"""The chain rule through a pre-norm decoder block, in PyTorch."""

import torch


def block_backward(
    dout: torch.Tensor, x: torch.Tensor, params: dict[str, torch.Tensor], num_heads: int
) -> tuple[torch.Tensor, dict[str, torch.Tensor]]:
    def norm(z, name):
        variance, mean = torch.var_mean(z, dim=-1, correction=0, keepdim=True)  # [B, T, 1]
        rstd = (variance + 1e-5).rsqrt()  # [B, T, 1]
        normal = (z - mean) * rstd  # [B, T, d_model]
        return normal * params[f"{name}_gamma"] + params[f"{name}_beta"], normal, rstd

    def split(z):
        return z.unflatten(-1, (num_heads, -1)).transpose(1, 2)  # [B, H, T, d_head]

    def merge(z):
        return z.transpose(1, 2).flatten(2)  # [B, T, d_model]

    grads = {}

    def linear(dy, z, name):
        grads[name] = z.flatten(0, 1).mT @ dy.flatten(0, 1)  # [in, out]
        return dy @ params[name].mT  # [B, T, in]

    def norm_back(dy, normal, rstd, name):
        grads[f"{name}_gamma"] = (dy * normal).sum((0, 1))  # [d_model]
        grads[f"{name}_beta"] = dy.sum((0, 1))  # [d_model]
        g = dy * params[f"{name}_gamma"]  # [B, T, d_model]
        along = (g * normal).mean(-1, keepdim=True)  # [B, T, 1]
        return rstd * (g - g.mean(-1, keepdim=True) - normal * along)

    tokens, scale = x.shape[1], (x.shape[-1] // num_heads) ** -0.5
    a, normal1, rstd1 = norm(x, "norm1")  # [B, T, d_model]
    q, k, v = (split(a @ params[name]) for name in ("w_q", "w_k", "w_v"))  # [B, H, T, d_head]
    later = torch.ones(tokens, tokens, dtype=torch.bool, device=x.device).triu(1)  # [T, T]
    weights = (q @ k.mT * scale).masked_fill(later, -torch.inf).softmax(-1)  # [B, H, T, T]
    heads = merge(weights @ v)  # [B, T, d_model]
    h = x + heads @ params["w_o"]  # [B, T, d_model]
    c, normal2, rstd2 = norm(h, "norm2")  # [B, T, d_model]
    hidden = torch.relu(c @ params["w1"] + params["b1"])  # [B, T, d_ff]

    grads["b2"] = dout.sum((0, 1))  # [d_model]
    dinner = linear(dout, hidden, "w2") * (hidden > 0)  # [B, T, d_ff]
    grads["b1"] = dinner.sum((0, 1))  # [d_ff]
    dh = dout + norm_back(linear(dinner, c, "w1"), normal2, rstd2, "norm2")  # [B, T, d_model]
    dmixed = split(linear(dh, heads, "w_o"))  # [B, H, T, d_head]
    dweights = dmixed @ v.mT  # [B, H, T, T]
    dscores = weights * (dweights - (weights * dweights).sum(-1, keepdim=True)) * scale  # [B, H, T, T]
    da = linear(merge(dscores @ k), a, "w_q")  # [B, T, d_model]
    da = da + linear(merge(dscores.mT @ q), a, "w_k")  # [B, T, d_model]
    da = da + linear(merge(weights.mT @ dmixed), a, "w_v")  # [B, T, d_model]
    return dh + norm_back(da, normal1, rstd1, "norm1"), grads
