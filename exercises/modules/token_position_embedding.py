"""Token and position embedding as a PyTorch module: which word, and where.

A model computes with vectors, so each id is looked up in a table. Attention alone does
not know in which order its tokens stand; so a second table, looked up by position, is
added. GPT learns both tables:

    out[b, t] = token_embed(ids[b, t]) + pos_embed(t)          t = 0, 1, ..., T - 1

    ids          int64 [B, T]                 0 <= id < vocab_size
    token_embed  nn.Embedding, weight [vocab_size, d_model]
    pos_embed    nn.Embedding, weight [max_len, d_model]
    out          [B, T, d_model]

The names token_embed and pos_embed are part of the contract, since weights are loaded
by name; there are no other parameters. Nothing is scaled, and no id is special.
Positions count from 0 in every sequence; there are max_len of them, so T = max_len
still fits, and a longer sequence raises a ValueError that says so.

Example: two ids of width 2, three positions.

    token_embed.weight = [[1, 0],      pos_embed.weight = [[0.0, 0.0],
                          [0, 1]]                          [0.1, 0.2],
                                                           [0.3, 0.4]]

    ids = [[1, 1, 0]]    out = [[[0.0, 1.0], [0.1, 1.2], [1.3, 0.4]]]

The same id at two positions gives two vectors, and the id 1 gets the gradients of both.

What goes wrong: the model takes "dog bites man" for "man bites dog" (no positions, or
one for all); a batch raises or mixes (positions counted along the batch); id 0 is never
learnt (padding_idx); a long text raises an IndexError from deep inside; on a GPU the
positions are still on the CPU.

Edge cases with their own checks: tensors that are not contiguous, float64 input
computed in float64, texts of full length, more sequences than positions, calls after
other calls, another device than the CPU. For float64 input the module is cast to
float64, for another device it is moved there.

Where a ValueError is expected, a failing `assert` is accepted too.

Source: Radford et al. 2018, "Improving Language Understanding by Generative
Pre-Training", section 3.1.
"""

import torch
from torch import nn


class TokenPositionEmbedding(nn.Module):
    """`token_embed` and `pos_embed`, both nn.Embedding, added."""

    def __init__(self, vocab_size: int, d_model: int, max_len: int) -> None:
        raise NotImplementedError

    def forward(self, ids: torch.Tensor) -> torch.Tensor:
        """`ids`, int64 `[B, T]`, to `[B, T, d_model]`. ValueError where T > max_len."""
        raise NotImplementedError
