"""Jiang et al. 2023, section 2: a cache of the last `window` tokens."""

import math

import torch


class RollingKVCache:
    """The keys and values of the last `window` tokens."""

    def __init__(self, window):
        if window < 1:
            raise ValueError(f"window={window} is less than 1.")
        self.window = window
        self.length = 0
        self.keys = self.values = None  # [B, H, up to window, d_head], [B, H, up to window, d_v]

    def __len__(self):
        return self.length

    def append(self, k, v):
        held = self.keys is not None
        keys = torch.cat([self.keys, k], dim=2) if held else k  # [B, H, n, d_head]
        values = torch.cat([self.values, v], dim=2) if held else v  # [B, H, n, d_v]
        self.length += k.shape[2]
        self.keys, self.values = keys[:, :, -self.window :].clone(), values[:, :, -self.window :].clone()
        return keys, values, torch.arange(self.length - keys.shape[2], self.length, device=k.device)  # [n]


def rolling_attention(q, k, v, cache):
    """Attention of each query to the last `window` tokens up to its own."""
    own = torch.arange(len(cache), len(cache) + q.shape[2], device=q.device)[:, None]  # [T_new, 1]
    keys, values, at = cache.append(k, v)  # [B, H, n, d_head], [B, H, n, d_v], [n]
    seen = (at <= own) & (at > own - cache.window)  # [T_new, n]
    scores = q @ keys.mT / math.sqrt(q.shape[-1])  # [B, H, T_new, n]
    return scores.masked_fill(~seen, -torch.inf).softmax(-1) @ values  # [B, H, T_new, d_v]
