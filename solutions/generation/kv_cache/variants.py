"""Right answers to kv_cache in other styles."""

import math

import torch
import torch.nn.functional as F


class lists_and_einsum:
    """A list of pieces, joined on demand; einsum with named axes; a mask of -1e9."""

    class KVCache:
        def __init__(self):
            self.keys, self.values = [], []

        def __len__(self):
            return sum(piece.size(2) for piece in self.keys)

        def append(self, k, v):
            self.keys.append(k)
            self.values.append(v)
            return torch.cat(self.keys, dim=2), torch.cat(self.values, dim=2)

    @staticmethod
    def cached_attention(x, w_qkv, w_out, num_heads, cache):
        """Axes: b batch, t new tokens, s all tokens, h heads, e columns of a head."""
        batch, new, d_model = x.shape
        e = d_model // num_heads
        weights = w_qkv.reshape(d_model, 3, num_heads, e)
        q, k, v = torch.einsum("btd,dche->cbhte", x, weights)
        all_k, all_v = cache.append(k, v)
        scores = torch.einsum("bhte,bhse->bhts", q * e**-0.5, all_k)
        total = all_k.shape[2]
        allowed = torch.ones(new, total, device=x.device).tril(diagonal=total - new)
        weights = torch.softmax(scores.masked_fill(allowed == 0, -1e9), dim=-1)
        mixed = torch.einsum("bhts,bhse->bthe", weights, all_v)
        return torch.einsum("btd,de->bte", mixed.reshape(batch, new, d_model), w_out)


def library_attention(x, w_qkv, w_out, num_heads, cache):
    """scaled_dot_product_attention with a boolean mask, F.linear, chunk, no gradients."""
    with torch.no_grad():
        heads = [
            part.unflatten(-1, (num_heads, -1)).transpose(1, 2)
            for part in F.linear(x, w_qkv.t()).chunk(3, dim=-1)
        ]
        keys, values = cache.append(*heads[1:])
        new, total = x.size(1), keys.size(2)
        mask = torch.ones(new, total, dtype=torch.bool, device=x.device).tril(total - new)
        mixed = F.scaled_dot_product_attention(heads[0], keys, values, attn_mask=mask)
        return F.linear(mixed.transpose(1, 2).flatten(2), w_out.t())


def query_by_query(x, w_qkv, w_out, num_heads, cache):
    """Another way: take one query and one head at a time, over the keys up to its position.

    One query and one head at a time, over the keys up to its own position; no mask.
    """
    _, new, d_model = x.shape
    d_head, past = d_model // num_heads, len(cache)
    q, k, v = (
        torch.stack(part.split(d_head, dim=-1), dim=1)
        for part in torch.matmul(x, w_qkv).split(d_model, dim=2)
    )
    all_k, all_v = cache.append(k, v)
    output = torch.zeros_like(x)
    for i in range(new):
        for h in range(num_heads):
            keys, values = all_k[:, h, : past + i + 1], all_v[:, h, : past + i + 1]
            scores = (keys * q[:, h, i, None]).sum(-1) / math.sqrt(d_head)
            powers = torch.exp(scores - scores.max(dim=-1, keepdim=True).values)
            weights = powers / powers.sum(dim=-1, keepdim=True)
            output[:, i, h * d_head : (h + 1) * d_head] = (weights[..., None] * values).sum(dim=1)
    return output @ w_out


class KVCache:
    """Buffers that double when they are full; what is returned is a view of them."""

    def __init__(self):
        self.length = 0
        self.buffers = None

    def __len__(self):
        return self.length

    def append(self, k, v):
        stop = self.length + k.shape[2]
        if self.buffers is None or stop > self.buffers.shape[3]:
            batch, heads, _, d_head = k.shape
            grown = k.new_zeros(2, batch, heads, 2 * stop, d_head)
            if self.buffers is not None:
                grown[:, :, :, : self.length] = self.buffers[:, :, :, : self.length]
            self.buffers = grown
        self.buffers[0, :, :, self.length : stop] = k
        self.buffers[1, :, :, self.length : stop] = v
        self.length = stop
        return self.buffers[0, :, :, :stop], self.buffers[1, :, :, :stop]


def additive_mask(x, w_qkv, w_out, num_heads, cache):
    """An additive mask of the dtype's lowest value, T_new rows of it."""
    batch, new, d_model = x.shape
    past = len(cache)
    q, k, v = (
        (x @ w_qkv[:, i * d_model : (i + 1) * d_model])
        .reshape(batch, new, num_heads, d_model // num_heads)
        .permute(0, 2, 1, 3)
        for i in range(3)
    )
    k, v = cache.append(k, v)
    future = torch.triu(torch.ones(new, past + new, dtype=x.dtype, device=x.device), diagonal=past + 1)
    mask = future * torch.finfo(x.dtype).min
    scores = (q / math.sqrt(d_model // num_heads)) @ k.mT + mask
    return (torch.softmax(scores, -1) @ v).permute(0, 2, 1, 3).contiguous().view(batch, new, d_model) @ w_out


class padded_to_blocks:
    """Buffers in blocks of 16 tokens; attention over the whole buffer, its empty end hidden."""

    class KVCache:
        BLOCK = 16

        def __init__(self):
            self.count = 0
            self.keys = self.values = None

        def __len__(self):
            return self.count

        def append(self, k, v):
            start, self.count = self.count, self.count + k.shape[-2]
            self.keys, self.values = self._grown(self.keys, k), self._grown(self.values, v)
            self.keys[..., start : self.count, :] = k
            self.values[..., start : self.count, :] = v
            return self.keys[..., : self.count, :], self.values[..., : self.count, :]

        def _grown(self, held, like):
            held = like[..., :0, :] if held is None else held
            missing = -(-self.count // self.BLOCK) * self.BLOCK - held.shape[-2]
            return F.pad(held, (0, 0, 0, missing)) if missing else held

    @staticmethod
    def cached_attention(x, w_qkv, w_out, num_heads, cache):
        """A baddbmm over batch and heads together."""
        batch, new, d_model = x.shape
        past = len(cache)
        qkv = torch.addmm(x.new_zeros(1), x.reshape(-1, d_model), w_qkv)
        q, k, v = qkv.reshape(batch, new, 3 * num_heads, -1).transpose(1, 2).chunk(3, dim=1)
        cache.append(k, v)
        keys, values = cache.keys.flatten(0, 1), cache.values.flatten(0, 1)
        at = torch.arange(past, past + new, device=x.device)
        hidden = torch.arange(keys.shape[1], device=x.device)[None] > at[:, None]
        bias = torch.where(hidden, -torch.inf, 0.0).to(x.dtype).expand(len(keys), -1, -1)
        scores = torch.baddbmm(bias, q.flatten(0, 1), keys.mT, alpha=keys.shape[-1] ** -0.5)
        mixed = torch.bmm(scores.softmax(-1), values).unflatten(0, (batch, num_heads))
        return mixed.movedim(1, 2).reshape(batch, new, d_model) @ w_out
