"""The Transformer of 2017: encoder and decoder, whole.

A model that translates: the encoder reads the source once, the decoder writes the
target token by token and looks back at what the encoder made of the source. Everything
is as in the paper, so *post-norm*: the sum of a sublayer's input and output is
normalised, and no norm follows the stacks.

    embedding  emb(ids) * sqrt(d_model) + sinusoidal positions, then dropout
               column 2i: sin(pos / 10000^(2i/d_model)); column 2i+1: the cosine of the
               same angle; an odd d_model ends on a sine

    encoder    x = norm1(x + dropout(self_attn(x)))           keys: real source tokens
    layer      x = norm2(x + dropout(ffn(x)))

    decoder    x = norm1(x + dropout(self_attn(x)))           keys: real target tokens,
    layer                                                     none later
               x = norm2(x + dropout(cross_attn(x, memory)))  keys: real source tokens
               x = norm3(x + dropout(ffn(x)))

    logits     out_proj(x)                                    [B, T_tgt, tgt_vocab]

    attention  q of the one, k and v of the other, each in heads (head h owns the h-th
               block of d_head neighbouring columns); softmax(q kᵀ / sqrt(d_head)) v;
               the heads side by side through o
    norms      norm1 … norm3 are layer norms over the features, with weight, bias and
               eps 1e-5
    ffn        Linear, ReLU, Linear

`memory` is what the last encoder layer returns; every decoder layer reads it. The masks
are made from the ids: a token that equals `pad_id` is padding, wherever it stands, in
source and target alike, and nobody attends to it. So no real position depends on
padding. Every source and every target has a real token. What comes out at padded
positions is of no account, but it must not be NaN where others read it: 0 * NaN is NaN.
Dropout acts in training only, never on attention weights.

Names, for weights are loaded by name; all linear layers have biases:

    src_emb  tgt_emb  out_proj       three matrices of their own (nothing is tied)
    encoder.N.self_attn.{q,k,v,o}    encoder.N.norm1    encoder.N.ffn.0  .ffn.2
    encoder.N.norm2
    decoder.N.self_attn.{q,k,v,o}    decoder.N.norm1    decoder.N.ffn.0  .ffn.2
    decoder.N.cross_attn.{q,k,v,o}   decoder.N.norm2    decoder.N.norm3

Example of the masks, pad_id=0, src [[5, 7, 0]], tgt [[1, 0, 4]] (rows ask, columns are
seen, 1 = may attend; rows of padded queries are left open):

    encoder   1 1 0         decoder   1 . .        cross-attention   1 1 0
              1 1 0                   . . .                          . . .
              . . .                   1 0 1                          1 1 0

Edge cases with their own checks: tensors that are not contiguous, float64 input
computed in float64, odd widths, large numbers, calls after other calls, another device
than the CPU. For float64 input the module is cast to float64, for another device it is
moved there; the table of positions may keep the digits of float32.

What goes wrong: a translation changes with the longest sentence of its batch (padding
is read); NaN after the first update (a row that may attend to nothing); one sentence is
right and a batch is not (a mask that lacks the head axis); the loss falls too fast (the
decoder sees what it has to say).

Where a ValueError is expected, a failing `assert` is accepted too.

Source: Vaswani et al. 2017, "Attention Is All You Need", sections 3.1 to 3.5, figure 1;
dropout: section 5.4.
"""

import torch
from torch import nn


class Transformer(nn.Module):
    """Encoder and decoder of `num_layers` layers each.

    Raises ValueError where num_heads does not divide d_model.
    """

    def __init__(
        self,
        src_vocab: int,
        tgt_vocab: int,
        d_model: int,
        num_heads: int,
        d_ff: int,
        num_layers: int,
        max_len: int = 512,
        dropout: float = 0.1,
        pad_id: int = 0,
    ) -> None:
        raise NotImplementedError

    def encode(self, src: torch.Tensor) -> torch.Tensor:
        """Source ids, int64 [B, T_src] -> memory [B, T_src, d_model]."""
        raise NotImplementedError

    def decode(
        self,
        tgt: torch.Tensor,
        memory: torch.Tensor,
        src: torch.Tensor,
    ) -> torch.Tensor:
        """Target ids [B, T_tgt], memory of `src`, `src` -> [B, T_tgt, tgt_vocab]."""
        raise NotImplementedError

    def forward(self, src: torch.Tensor, tgt: torch.Tensor) -> torch.Tensor:
        """Source and target ids, [B, T_src] and [B, T_tgt] -> [B, T_tgt, tgt_vocab]."""
        raise NotImplementedError
