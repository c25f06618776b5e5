"""A key-value cache, and the attention that reads the past from it."""

import math

import torch


class KVCache:
    """The keys and values of every token so far, joined along the tokens."""

    def __init__(self):
        self.keys = None
        self.values = None

    def __len__(self):
        return 0 if self.keys is None else self.keys.shape[-2]

    def append(self, k, v):
        """Take in the new tokens; return everything held."""
        if self.keys is not None:
            k = torch.cat([self.keys, k], dim=-2)  # [B, H, T_past + T_new, d_head]
            v = torch.cat([self.values, v], dim=-2)  # [B, H, T_past + T_new, d_head]
        self.keys, self.values = k, v
        return k, v


def cached_attention(x, w_qkv, w_out, num_heads, cache):
    """Causal multi-head attention of the new tokens over all tokens so far."""
    batch, new, d_model = x.shape
    past, d_head = len(cache), d_model // num_heads
    parts = (x @ w_qkv).view(batch, new, 3, num_heads, d_head)  # [B, T_new, 3, H, d_head]
    q, k, v = parts.permute(2, 0, 3, 1, 4)  # each [B, H, T_new, d_head]
    all_k, all_v = cache.append(k, v)  # [B, H, T, d_head], T = past + T_new
    scores = q @ all_k.transpose(-2, -1) / math.sqrt(d_head)  # [B, H, T_new, T]
    query_at = torch.arange(past, past + new, device=x.device)[:, None]  # [T_new, 1]
    key_at = torch.arange(all_k.shape[-2], device=x.device)  # [T]
    scores = scores.masked_fill(key_at > query_at, float("-inf"))  # [B, H, T_new, T]
    mixed = scores.softmax(dim=-1) @ all_v  # [B, H, T_new, d_head]
    return mixed.transpose(1, 2).reshape(batch, new, d_model) @ w_out  # [B, T_new, d_model]
