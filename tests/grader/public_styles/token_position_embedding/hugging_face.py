"""As in Hugging Face's models: position ids in a buffer, made once, cut to the length."""

import torch
from torch import nn


class TokenPositionEmbedding(nn.Module):
    def __init__(self, vocab_size, d_model, max_len):
        super().__init__()
        self.token_embed = nn.Embedding(vocab_size, d_model)
        self.pos_embed = nn.Embedding(max_len, d_model)
        self.register_buffer("position_ids", torch.arange(max_len).expand((1, -1)), persistent=False)

    def forward(self, ids):
        seq_length = ids.shape[1]
        if seq_length > self.position_ids.shape[1]:
            raise ValueError("the sequence is longer than the table of positions")
        return self.token_embed(ids) + self.pos_embed(self.position_ids[:, :seq_length])
