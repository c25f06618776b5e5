"""DeepSeek-AI 2024, section 2.1.2: the up-projections absorbed into queries and outputs."""

import math

import torch


def latent_attention(x, w_q, w_dkv, w_uk, w_uv, w_o, num_heads, cache):
    """Causal attention over a cache of latents."""
    past, new = len(cache), x.shape[1]
    latents = cache.append(x @ w_dkv)  # [B, T, d_latent]
    q = (x @ w_q).unflatten(-1, (num_heads, -1)).transpose(1, 2)  # [B, H, T_new, d_head]
    w_uk = w_uk.unflatten(-1, (num_heads, -1)).permute(1, 2, 0)  # [H, d_head, d_latent]
    w_uv = w_uv.unflatten(-1, (num_heads, -1)).transpose(0, 1)  # [H, d_latent, d_v]
    absorbed = q / math.sqrt(q.shape[-1]) @ w_uk  # [B, H, T_new, d_latent]
    scores = absorbed @ latents[:, None].mT  # [B, H, T_new, T]
    at = torch.arange(past + new, device=x.device)  # [T]
    weights = scores.masked_fill(at > at[past:, None], -torch.inf).softmax(-1)  # [B, H, T_new, T]
    mixed = weights @ latents[:, None] @ w_uv  # [B, H, T_new, d_v]
    return mixed.transpose(1, 2).flatten(2) @ w_o  # [B, T_new, d_model]
