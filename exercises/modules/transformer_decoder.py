"""The decoder of an encoder-decoder model: embedding, layers, final norm, logits.

Half of a translator: it reads what has been written so far (`ids`) and what the encoder
made of the source (`memory`), and gives at every position the logits of the next target
token.

    x      = tok_emb(ids) * sqrt(d_model) + positions  [B, T_tgt, d_model], then dropout
    x      = layer(x, memory)                          for each layer
    logits = out_proj(norm(x))                         [B, T_tgt, V]

`positions` is the sinusoidal table (no parameters): column 2i is sin(pos /
10000^(2i/d_model)), column 2i+1 the cosine of the same angle; an odd d_model ends on a
sine. Each layer is that of `transformer_decoder_layer`, pre-norm:

    x = x + dropout(self_attn(norm1(x)))           masked by tgt_mask
    x = x + dropout(cross_attn(norm2(x), memory))  masked by memory_mask
    x = x + dropout(ffn(norm3(x)))                 Linear, ReLU, Linear

    attention: q of the one, k and v of the other, each in heads (head h owns the h-th
               block of d_head neighbouring columns); softmax(q kᵀ / sqrt(d_head)) v;
               the heads side by side through o. The memory is used as it is.

Masks are bool, True = may attend: `tgt_mask [T_tgt, T_tgt]`, where None means causal
and a mask that is given is used as it is; `memory_mask [B, T_src]`, where None means
everything, and every row has a True. Dropout acts in training only, and never on
attention weights.

Names, for weights are loaded by name (all linear layers have biases, but for out_proj):

    tok_emb  nn.Embedding(vocab_size, d_model)  out_proj  d_model -> vocab_size, no bias
    layers.N.self_attn.{q,k,v,o}                layers.N.norm1  .norm2  .norm3
    layers.N.cross_attn.{q,k,v,o}               norm            nn.LayerNorm(d_model)
    layers.N.ffn.0  layers.N.ffn.2

Weight tying: a token's vector and the direction in which the logits look for it are one
matrix, [V, d_model]. With tie_weights=True `out_proj.weight` and `tok_emb.weight` are
the very same Parameter: one gradient, to which both uses add. A copy starts equal and
parts at the first update. With False they are two.

Example: d_model 4, ids [[2]] and tok_emb row 2 = [1, 0, 0.5, 0]. The first layer is
given 2 * [1, 0, 0.5, 0] + [0, 1, 0, 1] = [2, 1, 1, 1]. If the layers added nothing to
it, out_proj would be given its norm, [1.732, -0.577, -0.577, -0.577].

Edge cases with their own checks: tensors that are not contiguous, float64 input
computed in float64, odd widths, large numbers, calls after other calls, another device
than the CPU. For float64 input the module is cast to float64, for another device it is
moved there; the table of positions may keep the digits of float32.

What goes wrong: the positions drown the tokens (no sqrt(d_model)); two parameters where
one is due, so the file on disk is larger and the loss falls more slowly (a copy, not a
tie); padding of the source is read (memory_mask unused); the same input gives two
outputs after model.eval() (dropout called without the mode).

Where a ValueError is expected, a failing `assert` is accepted too.

Source: Vaswani et al. 2017, "Attention Is All You Need", sections 3.1, 3.4 (tying,
sqrt(d_model)), 3.5 and 5.4 (dropout on sublayers and on embeddings); Press and Wolf
2017, "Using the Output Embedding to Improve Language Models", section 3; pre-norm:
Xiong et al. 2020, section 3.
"""

import torch
from torch import nn


class TransformerDecoder(nn.Module):
    """ids [B, T_tgt] and memory [B, T_src, d_model] -> logits [B, T_tgt, vocab_size].

    Raises ValueError where num_heads does not divide d_model.
    """

    def __init__(
        self,
        num_layers: int,
        d_model: int,
        num_heads: int,
        d_ff: int,
        vocab_size: int,
        max_len: int = 5000,
        dropout: float = 0.1,
        tie_weights: bool = True,
    ) -> None:
        raise NotImplementedError

    def forward(
        self,
        ids: torch.Tensor,
        memory: torch.Tensor,
        tgt_mask: torch.Tensor | None = None,
        memory_mask: torch.Tensor | None = None,
    ) -> torch.Tensor:
        """Logits [B, T_tgt, vocab_size]; T_tgt <= max_len.

        tgt_mask:    bool [T_tgt, T_tgt]; None: causal.
        memory_mask: bool [B, T_src]; None: all of the memory.
        """
        raise NotImplementedError
