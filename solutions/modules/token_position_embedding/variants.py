"""Right answers to token_position_embedding in other styles."""

import torch
import torch.nn.functional as F
from torch import nn


class _Tables(nn.Module):
    """The parameters; the styles differ in how they look up."""

    def __init__(self, vocab_size, d_model, max_len):
        super().__init__()
        self.max_len = max_len
        self.token_embed = nn.Embedding(vocab_size, d_model)
        self.pos_embed = nn.Embedding(max_len, d_model)


class slices_the_position_table(_Tables):
    """Another way: take the first T rows of the position table, without any position ids.

    The first T rows of the position table, with no positions at all; assert for the length.
    """

    def forward(self, ids):
        _, tokens = ids.shape
        assert tokens <= self.max_len, f"{tokens} > {self.max_len}"
        return self.token_embed(ids) + self.pos_embed.weight[:tokens]


class multiplies_one_hot_rows(_Tables):
    """Both look-ups as matrix products with one-hot rows."""

    def forward(self, ids):
        if ids.size(1) > self.max_len:
            raise ValueError("the sequence is too long")
        words, places = self.token_embed.weight, self.pos_embed.weight
        chosen = F.one_hot(ids, len(words)).to(words.dtype)
        at = torch.eye(ids.size(1), len(places), dtype=places.dtype, device=ids.device)
        return chosen @ words + at @ places


class keeps_positions_in_a_buffer(nn.Module):
    """Positions as a buffer, expanded to the batch; sinusoids nowhere."""

    def __init__(self, vocab_size: int, d_model: int, max_len: int):
        super().__init__()
        self.register_buffer("positions", torch.arange(max_len)[None])
        self.pos_embed = nn.Embedding(max_len, d_model)
        self.token_embed = nn.Embedding(vocab_size, d_model)

    def forward(self, ids):
        batch, tokens = ids.shape
        if tokens > self.positions.shape[1]:
            raise ValueError(f"T={tokens} exceeds max_len={self.positions.shape[1]}")
        positions = self.positions[:, :tokens].expand(batch, tokens)
        return torch.stack([self.token_embed(ids), self.pos_embed(positions)]).sum(0)


class token_by_token(_Tables):
    """A loop over the positions, rows by fancy indexing."""

    def forward(self, ids):
        if ids.shape[-1] > self.max_len:
            raise ValueError
        rows = [
            self.token_embed.weight[ids[:, t]] + self.pos_embed.weight[t][None] for t in range(ids.shape[1])
        ]
        return torch.stack(rows, dim=1)
