"""As in nanoGPT: positions by arange on the ids' device."""

import torch
from torch import nn


class TokenPositionEmbedding(nn.Module):
    def __init__(self, vocab_size, d_model, max_len):
        super().__init__()
        self.block_size = max_len
        self.token_embed = nn.Embedding(vocab_size, d_model)
        self.pos_embed = nn.Embedding(max_len, d_model)

    def forward(self, ids):
        _, t = ids.size()
        if t > self.block_size:
            raise ValueError(f"Cannot forward sequence of length {t}, block size is only {self.block_size}")
        pos = torch.arange(0, t, dtype=torch.long, device=ids.device)
        return self.token_embed(ids) + self.pos_embed(pos)
