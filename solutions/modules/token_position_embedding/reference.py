"""Learned token and position embeddings, added."""

import torch
from torch import nn


class TokenPositionEmbedding(nn.Module):
    """`token_embed` and `pos_embed`, both nn.Embedding, added."""

    def __init__(self, vocab_size, d_model, max_len):
        super().__init__()
        self.token_embed = nn.Embedding(vocab_size, d_model)
        self.pos_embed = nn.Embedding(max_len, d_model)

    def forward(self, ids):
        tokens, max_len = ids.shape[1], self.pos_embed.num_embeddings
        if tokens > max_len:
            raise ValueError(f"{tokens} tokens are more than max_len={max_len}")
        positions = torch.arange(tokens, device=ids.device)  # [T]
        return self.token_embed(ids) + self.pos_embed(positions)  # [B, T, d_model] + [T, d_model]
