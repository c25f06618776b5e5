"""As Hugging Face's DynamicCache has it: concatenated each time; the mask is a part of a triangle."""

import math

import torch


class KVCache:
    def __init__(self):
        self.key_cache, self.value_cache = None, None

    def __len__(self):
        return 0 if self.key_cache is None else self.key_cache.shape[-2]

    def append(self, k, v):
        if self.key_cache is None:
            self.key_cache, self.value_cache = k, v
        else:
            self.key_cache = torch.cat([self.key_cache, k], dim=-2)
            self.value_cache = torch.cat([self.value_cache, v], dim=-2)
        return self.key_cache, self.value_cache


def cached_attention(x, w_qkv, w_out, num_heads, cache):
    bsz, q_len, hidden = x.size()
    query, key, value = torch.chunk(x @ w_qkv, 3, dim=-1)
    shape = (bsz, q_len, num_heads, hidden // num_heads)
    query, key, value = (t.view(shape).transpose(1, 2) for t in (query, key, value))
    key, value = cache.append(key, value)
    kv_len = key.shape[-2]
    scores = torch.matmul(query, key.transpose(2, 3)) / math.sqrt(hidden // num_heads)
    lower = torch.full((q_len, kv_len), torch.finfo(x.dtype).min, dtype=x.dtype, device=x.device)
    scores = scores + torch.triu(lower, diagonal=kv_len - q_len + 1)
    weights = torch.softmax(scores, dim=-1)
    return torch.matmul(weights, value).transpose(1, 2).contiguous().view(bsz, q_len, hidden) @ w_out
