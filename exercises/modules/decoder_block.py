"""The decoder block of a GPT: attention, then a feed-forward network, each added.

A decoder-only model is a stack of equal blocks. In each, tokens first exchange what
they know, by causal self-attention; then each token is worked on by itself, by a
feed-forward network. Both sublayers *add* to their input, so there is a path from the
block's input to its output with two additions on it and nothing else, and both read a
layer-normalised copy of it (pre-norm):

    x = x + attention(norm1(x))                            [B, T, d_model]
    x = x + ffn(norm2(x))                                  [B, T, d_model]

    attention : qkv(h) in three blocks of d_model columns: queries, keys, values; in
                each, head h owns the h-th block of d_head = d_model / num_heads
                neighbouring columns; softmax(q kᵀ / sqrt(d_head)) over the keys up to
                the query's own position; times v; heads side by side; `out`
    ffn       : linear d_model -> d_ff, the exact GELU (x Φ(x), as nn.GELU() gives it),
                linear d_ff -> d_model
    norm      : layer norm with weight and bias over the features, biased variance,
                eps 1e-5

No dropout. Weights are loaded by name, so the names are part of the contract. An
nn.Sequential names its members 0, 1, 2; a GELU has no parameters, and so the second
linear layer is ffn.2:

    norm1.weight, norm1.bias, norm2.weight, norm2.bias                 each [d_model]
    attention.qkv.weight [3*d_model, d_model]   attention.out.weight [d_model, d_model]
    ffn.0.weight [d_ff, d_model]   ffn.0.bias [d_ff]
    ffn.2.weight [d_model, d_ff]   ffn.2.bias [d_model]    attention has no bias

Example: one token x = [[[3, 1]]], d_model = d_ff = 2, one head. norm1 and norm2 have
weight 1 and bias 0, every matrix is the identity (qkv three of them, one below the
other), the biases of ffn are 0. With one token to read, its attention weight is 1.

    norm1([3, 1]) = [1, -1]    x = [3, 1] + [1, -1]         = [4, 0]
    norm2([4, 0]) = [1, -1]    GELU of it = [0.841, -0.159]
                               x = [4, 0] + [0.841, -0.159] = [4.841, -0.159]

Edge cases with their own checks: tensors that are not contiguous, float64 input
computed in float64, large scores, calls after other calls, another device than the CPU.
For float64 input the module is cast to float64, for another device it is moved there.

What goes wrong: deep stacks do not train (the residual starts from the normalised copy,
or a norm stands on the path); a block that forgets an addition still trains, and worse;
checkpoints give slightly other numbers (GELU's tanh approximation, another eps); the
loss falls to zero (the mask).

Where a ValueError is expected, a failing `assert` is accepted too.

Source: Radford et al. 2019, "Language Models are Unsupervised Multitask Learners",
section 2.3; Xiong et al. 2020, "On Layer Normalization in the Transformer
Architecture", section 3; Hendrycks and Gimpel 2016, "Gaussian Error Linear Units",
section 2.
"""

import torch
from torch import nn


class DecoderBlock(nn.Module):
    """One pre-norm block: `norm1`, `attention`, `norm2`, `ffn`.

    Raises ValueError where num_heads does not divide d_model.
    """

    def __init__(self, d_model: int, num_heads: int, d_ff: int) -> None:
        raise NotImplementedError

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """`x [B, T, d_model]` to `[B, T, d_model]`."""
        raise NotImplementedError
