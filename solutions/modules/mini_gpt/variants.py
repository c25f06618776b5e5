"""Right answers to mini_gpt in other styles."""

import torch
import torch.nn.functional as F
from torch import nn


class library_attention(nn.Module):
    """scaled_dot_product_attention with is_causal, nothing but nn.Modules held together in forward."""

    def __init__(self, vocab_size, d_model, num_heads, d_ff, num_layers, max_len):
        super().__init__()
        assert d_model % num_heads == 0, "heads must divide the width"
        self.heads, self.max_len = num_heads, max_len
        self.embed = nn.ModuleDict(
            {"token_embed": nn.Embedding(vocab_size, d_model), "pos_embed": nn.Embedding(max_len, d_model)}
        )
        self.blocks = nn.ModuleList()
        for _ in range(num_layers):
            attn = {"qkv": nn.Linear(d_model, 3 * d_model), "out_proj": nn.Linear(d_model, d_model)}
            mlp = {"0": nn.Linear(d_model, d_ff), "2": nn.Linear(d_ff, d_model)}
            norms = {"ln1": nn.LayerNorm(d_model), "ln2": nn.LayerNorm(d_model)}
            parts = {"attn": nn.ModuleDict(attn), "mlp": nn.ModuleDict(mlp), **norms}
            self.blocks.append(nn.ModuleDict(parts))
        self.ln_f = nn.LayerNorm(d_model)
        self.head = nn.Linear(d_model, vocab_size)

    def forward(self, ids):
        batch, tokens = ids.shape
        assert tokens <= self.max_len, f"{tokens} > {self.max_len}"
        x = self.embed["token_embed"](ids) + self.embed["pos_embed"].weight[:tokens]
        for block in self.blocks:
            qkv = block["attn"]["qkv"](block["ln1"](x))
            q, k, v = qkv.view(batch, tokens, 3, self.heads, -1).permute(2, 0, 3, 1, 4)
            mixed = F.scaled_dot_product_attention(q, k, v, is_causal=True)
            x = x + block["attn"]["out_proj"](mixed.transpose(1, 2).reshape(x.shape))
            x = x + block["mlp"]["2"](F.relu(block["mlp"]["0"](block["ln2"](x))))
        return self.head(self.ln_f(x))


class _Attention(nn.Module):
    """One head after the other; a mask of -1e9 that is a buffer of max_len rows."""

    def __init__(self, d_model, num_heads, max_len):
        super().__init__()
        self.size = d_model // num_heads
        self.qkv = nn.Linear(d_model, 3 * d_model)
        self.out_proj = nn.Linear(d_model, d_model)
        self.register_buffer("mask", torch.tril(torch.ones(max_len, max_len)))

    def forward(self, x):
        tokens = x.size(1)
        queries, keys, values = self.qkv(x).split(x.size(2), dim=2)
        heads = []
        for start in range(0, x.size(2), self.size):
            q, k, v = (part[..., start : start + self.size] for part in (queries, keys, values))
            scores = torch.bmm(q, k.mT) * self.size**-0.5
            scores = scores.masked_fill(self.mask[:tokens, :tokens] == 0, -1e9)
            heads.append(torch.softmax(scores, -1) @ v)
        return self.out_proj(torch.cat(heads, dim=-1))


class _Block(nn.Module):
    def __init__(self, d_model, num_heads, d_ff, max_len):
        super().__init__()
        self.attn = _Attention(d_model, num_heads, max_len)
        self.mlp = nn.Sequential(nn.Linear(d_model, d_ff), nn.ReLU(inplace=True), nn.Linear(d_ff, d_model))
        self.ln1, self.ln2 = nn.LayerNorm(d_model), nn.LayerNorm(d_model)

    def forward(self, x):
        x = x + self.attn(self.ln1(x))
        return x + self.mlp(self.ln2(x))


class _Embedding(nn.Module):
    def __init__(self, vocab_size, d_model, max_len):
        super().__init__()
        self.token_embed = nn.Embedding(vocab_size, d_model)
        self.pos_embed = nn.Embedding(max_len, d_model)
        self.register_buffer("positions", torch.arange(max_len), persistent=False)

    def forward(self, ids):
        if ids.size(1) > len(self.positions):
            raise ValueError("the text is too long")
        return self.pos_embed(self.positions[: ids.size(1)])[None] + self.token_embed(ids)


class head_by_head(nn.Module):
    """A loop over heads, buffers for mask and positions, blocks in a Sequential, dropout of zero."""

    def __init__(self, vocab_size, d_model, num_heads, d_ff, num_layers, max_len):
        super().__init__()
        if d_model % num_heads != 0:
            raise ValueError("d_model must be divisible by num_heads")
        self.embed = _Embedding(vocab_size, d_model, max_len)
        self.dropout = nn.Dropout(0.0)
        self.blocks = nn.Sequential(*[_Block(d_model, num_heads, d_ff, max_len) for _ in range(num_layers)])
        self.ln_f = nn.LayerNorm(d_model)
        self.head = nn.Linear(d_model, vocab_size)

    def forward(self, ids):
        x = self.blocks(self.dropout(self.embed(ids)))
        return self.head(self.ln_f(x))


class _Norm(nn.Module):
    """A layer norm written out."""

    def __init__(self, d_model):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(d_model))
        self.bias = nn.Parameter(torch.zeros(d_model))

    def forward(self, x):
        centred = x - x.mean(-1, keepdim=True)
        variance = centred.pow(2).mean(-1, keepdim=True)
        return centred * torch.rsqrt(variance + 1e-5) * self.weight + self.bias


class _Bare(nn.Module):
    """A place for submodules."""


class einsum_and_additive_mask(nn.Module):
    """Einsums with named axes, norms by hand, an additive mask of -inf above the diagonal."""

    def __init__(self, vocab_size, d_model, num_heads, d_ff, num_layers, max_len):
        super().__init__()
        d_head, rest = divmod(d_model, num_heads)
        if rest:
            raise ValueError("d_model % num_heads != 0")
        self.shape = (3, num_heads, d_head)
        self.embed = _Bare()
        self.embed.token_embed = nn.Embedding(vocab_size, d_model)
        self.embed.pos_embed = nn.Embedding(max_len, d_model)
        self.blocks = nn.ModuleList([_Bare() for _ in range(num_layers)])
        for block in self.blocks:
            block.ln1, block.ln2, block.attn = _Norm(d_model), _Norm(d_model), _Bare()
            block.attn.qkv = nn.Linear(d_model, 3 * d_model)
            block.attn.out_proj = nn.Linear(d_model, d_model)
            block.mlp = nn.ModuleList([nn.Linear(d_model, d_ff), nn.Identity(), nn.Linear(d_ff, d_model)])
        self.ln_f, self.head = _Norm(d_model), nn.Linear(d_model, vocab_size)

    def forward(self, ids):
        length = ids.shape[-1]
        if length > self.embed.pos_embed.weight.shape[0]:
            raise ValueError("longer than max_len")
        positions = torch.arange(length, device=ids.device).expand_as(ids)
        x = self.embed.token_embed(ids) + self.embed.pos_embed(positions)
        mask = torch.full((length, length), float("-inf"), dtype=x.dtype, device=x.device).triu(1)
        for block in self.blocks:
            q, k, v = block.attn.qkv(block.ln1(x)).unflatten(-1, self.shape).unbind(dim=2)
            scores = torch.einsum("bqhe,bkhe->bhqk", q, k) / self.shape[-1] ** 0.5
            weights = torch.softmax(scores + mask, dim=-1)
            mixed = torch.einsum("bhqk,bkhe->bqhe", weights, v)
            x = x + block.attn.out_proj(mixed.reshape(x.shape))
            x = x + block.mlp[2](block.mlp[0](block.ln2(x)).clamp(min=0))
        return torch.einsum("btd,vd->btv", self.ln_f(x), self.head.weight) + self.head.bias
