"""MiniGPT: a whole decoder-only language model.

A GPT is a decoder without an encoder: ids go in, and at every position come out the
logits of the token that follows. Between embedding and head lies a stack of pre-norm
blocks. "Pre-norm" means that each sublayer reads a normalised copy, and its result is
added to the stream as it was; so the stream must be normalised once more before the
head.

    x      = token_embed(ids) + pos_embed(0 … T-1)                      [B, T, d_model]
    x      = x + attn(ln1(x))        causal self-attention  \\
    x      = x + mlp(ln2(x))         Linear, ReLU, Linear   /  once for each block
    logits = head(ln_f(x))                                              [B, T, V]

    attn:  qkv(x)                         [B, T, 3*d_model]   all queries, all keys,
                                          all values; in each, head h owns the h-th
                                          block of d_head = d_model / num_heads columns
           softmax(q kᵀ / sqrt(d_head))   [B, H, T, T]   token t may attend to 0 … t
           out_proj of the heads, side by side           [B, T, d_model]

The names are part of the contract, for weights are loaded by name:

    embed.token_embed   nn.Embedding(vocab_size, d_model)
    embed.pos_embed     nn.Embedding(max_len, d_model)
    blocks.N.ln1  blocks.N.ln2  ln_f                       nn.LayerNorm(d_model)
    blocks.N.attn.qkv   d_model -> 3*d_model  blocks.N.attn.out_proj  d_model -> d_model
    blocks.N.mlp.0      d_model -> d_ff       blocks.N.mlp.2          d_ff -> d_model
    head                d_model -> vocab_size, a matrix of its own (not tied)

All linear layers have biases. There is no dropout, and embeddings are not scaled.

Example: MiniGPT(vocab_size=5, d_model=4, num_heads=2, d_ff=8, num_layers=1, max_len=6)
has

    embed 20 + 24,  ln1 8,  qkv 60,  out_proj 20,  ln2 8,  mlp 40 + 36,  ln_f 8,
    head 25:  249 parameters

and ids [[0, 3, 3]] give logits [1, 3, 5]. Both 3s get different logits, since they
stand at different places.

Edge cases with their own checks: tensors that are not contiguous, float64 input
computed in float64, large numbers and texts of full length, calls after other calls,
another device than the CPU. For float64 input the module is cast to float64, for
another device it is moved there.

What goes wrong: the loss falls to zero within minutes (tokens see their future); the
loss stays at log V (a residual is missing, nothing arrives below); text turns to noise
when it is generated token by token and was fine in training (positions, or a mask that
depends on the length); loading fails for one key (a name).

Where a ValueError is expected, a failing `assert` is accepted too.

Source: Radford et al. 2019, "Language Models are Unsupervised Multitask Learners",
section 2.3 (pre-norm, a last norm after the stack); Vaswani et al. 2017, sections 3.2
and 3.3 (attention, ReLU feed-forward).
"""

import torch
from torch import nn


class MiniGPT(nn.Module):
    """Decoder-only Transformer: ids [B, T] -> logits [B, T, vocab_size].

    Raises ValueError where num_heads does not divide d_model.
    """

    def __init__(
        self,
        vocab_size: int,
        d_model: int,
        num_heads: int,
        d_ff: int,
        num_layers: int,
        max_len: int,
    ) -> None:
        raise NotImplementedError

    def forward(self, ids: torch.Tensor) -> torch.Tensor:
        """ids, int64 [B, T] -> logits [B, T, vocab_size]; ValueError if T > max_len."""
        raise NotImplementedError
