"""As gpt-fast has it, but for a buffer that grows: written in place, read up to the current length."""

import math

import torch
from torch.nn import functional as F


class KVCache:
    def __init__(self):
        self.k_cache = self.v_cache = None
        self.length = 0

    def __len__(self):
        return self.length

    def append(self, k, v):
        end = self.length + k.shape[2]
        if self.k_cache is None or end > self.k_cache.shape[2]:
            room = 1 << max(3, math.ceil(math.log2(end)))
            self.k_cache, self.v_cache = (
                self.grown(old, new, room) for old, new in ((self.k_cache, k), (self.v_cache, v))
            )
        self.k_cache[:, :, self.length : end] = k
        self.v_cache[:, :, self.length : end] = v
        self.length = end
        return self.k_cache[:, :, :end], self.v_cache[:, :, :end]

    def grown(self, old, new, room):
        fresh = new.new_zeros(*new.shape[:2], room, new.shape[3])
        if old is not None:
            fresh[:, :, : self.length] = old[:, :, : self.length]
        return fresh


def cached_attention(x, w_qkv, w_out, num_heads, cache):
    B, T, C = x.shape
    q, k, v = (t.reshape(B, T, num_heads, -1).transpose(1, 2) for t in (x @ w_qkv).split(C, dim=-1))
    past = len(cache)
    k, v = cache.append(k, v)
    positions = torch.arange(past, past + T, device=x.device)
    mask = torch.arange(past + T, device=x.device) <= positions[:, None]
    y = F.scaled_dot_product_attention(q, k, v, attn_mask=mask)
    return y.transpose(1, 2).reshape(B, T, C) @ w_out
