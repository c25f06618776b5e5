"""Right answers to latent_attention in other styles."""

import math

import torch


def like_deepseek(x, w_q, w_dkv, w_uk, w_uv, w_o, num_heads, cache):
    """The `absorb` way of the code published with DeepSeek-V2 and V3: einsum by names of axes."""
    bsz, seqlen, _ = x.size()
    start_pos = len(cache)
    q = (x @ w_q).view(bsz, seqlen, num_heads, -1)
    softmax_scale = q.size(-1) ** -0.5
    wk = w_uk.T.reshape(num_heads, -1, w_dkv.size(1))
    wv = w_uv.T.reshape(num_heads, -1, w_dkv.size(1))
    kv_cache = cache.append(x @ w_dkv)
    q = torch.einsum("bshd,hdc->bshc", q, wk)
    scores = torch.einsum("bshc,btc->bsht", q, kv_cache) * softmax_scale
    if seqlen > 1:
        mask = torch.full((seqlen, start_pos + seqlen), float("-inf"), device=x.device, dtype=x.dtype)
        scores = scores + mask.triu_(start_pos + 1).unsqueeze(1)
    scores = scores.softmax(dim=-1)
    x = torch.einsum("bsht,btc->bshc", scores, kv_cache)
    x = torch.einsum("bshc,hdc->bshd", x, wv)
    return x.flatten(2) @ w_o


def one_head_at_a_time(x, w_q, w_dkv, w_uk, w_uv, w_o, num_heads, cache):
    """A loop over the heads; each adds its part of w_o to the output."""
    latents = cache.append(torch.matmul(x, w_dkv))
    total, new = latents.shape[1], x.shape[1]
    seen = torch.ones(total, total, dtype=torch.bool, device=x.device).tril()[-new:]
    d_head, d_v = w_uk.shape[1] // num_heads, w_uv.shape[1] // num_heads
    output = torch.zeros_like(x)
    for head in range(num_heads):
        keys, values = slice(head * d_head, (head + 1) * d_head), slice(head * d_v, (head + 1) * d_v)
        query = x @ w_q[:, keys] @ w_uk[:, keys].T / math.sqrt(d_head)
        scores = torch.bmm(query, latents.transpose(1, 2))
        scores = scores.where(seen, torch.finfo(x.dtype).min)
        weights = torch.nn.functional.softmax(scores, dim=2)
        output = output + torch.bmm(weights, latents) @ (w_uv[:, values] @ w_o[values])
    return output


def absorbed_into_one_matrix(x, w_q, w_dkv, w_uk, w_uv, w_o, num_heads, cache):
    """w_q w_uk^T and w_uv w_o are multiplied before the tokens come; -1e9 hides."""
    past = len(cache)
    d_model, d_latent = w_dkv.shape
    q_heads = w_q.reshape(d_model, num_heads, -1)
    k_heads = w_uk.reshape(d_latent, num_heads, -1)
    bridge = torch.einsum("mhd,lhd->hml", q_heads, k_heads) / q_heads.shape[-1] ** 0.5
    leave = w_uv.reshape(d_latent, num_heads, -1).transpose(0, 1) @ w_o.reshape(num_heads, -1, d_model)
    latents = cache.append(x @ w_dkv).unsqueeze(1)
    scores = x.unsqueeze(1) @ bridge @ latents.transpose(-1, -2)
    rows = torch.arange(past, past + x.shape[1], device=x.device).unsqueeze(-1)
    columns = torch.arange(latents.shape[2], device=x.device)
    scores = scores - 1e9 * (columns > rows).to(x.dtype)
    scores = scores - scores.amax(-1, keepdim=True)
    powers = scores.exp()
    weights = powers / powers.sum(-1, keepdim=True)
    return (weights @ latents @ leave).sum(1)


def by_the_librarys_attention(x, w_q, w_dkv, w_uk, w_uv, w_o, num_heads, cache):
    """PyTorch's attention with one shared head of latents as keys and as values."""
    batch, new, _ = x.shape
    latents = cache.append(x @ w_dkv)
    q = (x @ w_q).reshape(batch, new, num_heads, -1).permute(0, 2, 1, 3)
    absorbed = q @ w_uk.reshape(-1, num_heads, q.shape[-1]).permute(1, 2, 0)
    shared = latents.unsqueeze(1).expand(-1, num_heads, -1, -1)
    past = latents.shape[1] - new
    mask = torch.ones(new, past + new, dtype=torch.bool, device=x.device).tril(past)
    mixed = torch.nn.functional.scaled_dot_product_attention(
        absorbed, shared, shared, attn_mask=mask, scale=1 / math.sqrt(q.shape[-1])
    )
    values = mixed @ w_uv.reshape(latents.shape[2], num_heads, -1).permute(1, 0, 2)
    return values.permute(0, 2, 1, 3).reshape(batch, new, -1) @ w_o


def one_query_at_a_time(x, w_q, w_dkv, w_uk, w_uv, w_o, num_heads, cache):
    """Every new token alone, over the latents that it sees: no mask."""
    before = len(cache)
    latents = cache.append(x @ w_dkv)
    up_k = torch.stack(w_uk.chunk(num_heads, dim=1))
    up_v = torch.stack(w_uv.chunk(num_heads, dim=1))
    results = []
    for t in range(x.shape[1]):
        query = torch.stack((x[:, t] @ w_q).chunk(num_heads, dim=-1), dim=1)
        seen = latents[:, : before + t + 1]
        absorbed = torch.einsum("bhd,hld->bhl", query, up_k) * up_k.shape[-1] ** -0.5
        scores = torch.einsum("bhl,btl->bht", absorbed, seen)
        weights = torch.exp(scores - torch.logsumexp(scores, -1, keepdim=True))
        mixed = torch.einsum("bht,btl,hld->bhd", weights, seen, up_v)
        results.append(mixed.flatten(1) @ w_o)
    return torch.stack(results, dim=1)
