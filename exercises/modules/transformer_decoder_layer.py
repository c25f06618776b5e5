"""The decoder layer of an encoder-decoder Transformer, with masks and dropout.

A decoder layer holds three sublayers: masked self-attention, by which each target token
reads itself and the tokens before it; cross-attention, by which it reads the encoder's
output, the `memory`; and a feed-forward network, which works on each token by itself.
Each reads a layer-normalised x (pre-norm), and its result, after dropout, is added to
x:

    h = norm1(x)  x = x + dropout(self_attn(h, h))        causal without tgt_mask
    h = norm2(x)  x = x + dropout(cross_attn(h, memory))  masked by memory_mask
    h = norm3(x)  x = x + dropout(ffn(h))                 linear, ReLU, linear

    x            [B, T_tgt, d_model]  the target so far
    memory       [B, T_src, d_model]  used as it is: whoever made it has normalised it
    tgt_mask     bool [T_tgt, T_tgt]  True where the query (row) may attend to the key
                                      (column); None means causal, and a mask that is
                                      given is used as it is
    memory_mask  bool [B, T_src]      True at the memory tokens that may be read; None
                                      means all
    result       [B, T_tgt, d_model]

Queries come from the first argument of an attention, keys and values from the second.
It has four linear layers with bias, q, k, v and o, each d_model -> d_model. Head h owns
the h-th block of d_head = d_model / num_heads neighbouring columns of q, k and v; its
weights are softmax(q kᵀ / sqrt(d_head)) over the keys that may be seen; the heads, side
by side again, go through o. Every query has a key that it may see. Layer norms have
weight, bias and eps 1e-5.

Dropout acts on each sublayer's output, before it is added, and nowhere else (not on
attention weights), and only in training mode. Weights are loaded by name, so the names
are part of the contract:

    self_attn.{q,k,v,o}   cross_attn.{q,k,v,o}
    ffn.0 [d_model -> d_ff]   ffn.2 [d_ff -> d_model]
    norm1   norm2   norm3

Example, evaluation mode: one target token [3, 1], one memory token [0, 2], one head,
d_ff 2, every matrix the identity, every bias 0, norms of weight 1. With one token to
read, each attention weight is 1.

    norm1([3, 1]) = [1, -1]                x = [3, 1] + [1, -1]  = [4, 0]
    memory        = [0, 2]                 x = [4, 0] + [0, 2]   = [4, 2]
    max(0, norm3([4, 2])) = [1, 0]         x = [4, 2] + [1, 0]   = [5, 2]

Edge cases with their own checks: tensors that are not contiguous, float64 input
computed in float64, large numbers, calls after other calls, another device than the
CPU. For float64 input the module is cast to float64, for another device it is moved
there.

What goes wrong: a mask of the other convention (True hides) turns everything round;
padding of the source is read, since memory_mask is per sequence and must find the axis
of the keys; results at evaluation vary from call to call (dropout that never sleeps);
checkpoints do not load (names).

Where a ValueError is expected, a failing `assert` is accepted too.

Source: Vaswani et al. 2017, "Attention Is All You Need", sections 3.1 to 3.3 and 5.4;
Xiong et al. 2020, "On Layer Normalization in the Transformer Architecture", section 3
(where the norm stands).
"""

import torch
from torch import nn


class TransformerDecoderLayer(nn.Module):
    """`self_attn`, `cross_attn`, `ffn`, and a norm in front of each.

    Raises ValueError where num_heads does not divide d_model.
    """

    def __init__(
        self,
        d_model: int,
        num_heads: int,
        d_ff: int,
        dropout: float = 0.1,
    ) -> None:
        raise NotImplementedError

    def forward(
        self,
        x: torch.Tensor,
        memory: torch.Tensor,
        tgt_mask: torch.Tensor | None = None,
        memory_mask: torch.Tensor | None = None,
    ) -> torch.Tensor:
        """`x [B, T_tgt, d_model]` and `memory [B, T_src, d_model]` to the shape of x.

        tgt_mask:    bool [T_tgt, T_tgt], True = may attend; None: causal.
        memory_mask: bool [B, T_src], True = may be read; None: all.
        """
        raise NotImplementedError
