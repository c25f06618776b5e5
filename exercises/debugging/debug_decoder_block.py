"""Find the faults: a decoder block that loses its residual stream.

The code below runs, its result has the right shape, its gradients flow, and a small
model built of it learns something. A deep one does not. It is to be a pre-norm decoder
block: two sublayers, each of which reads a layer-normalised copy of the stream and adds
what it finds to the stream itself:

    x = x + attention(norm1(x))                            [B, T, d_model]
    x = x + ffn(norm2(x))                                  [B, T, d_model]

The attention is causal and has several heads, the feed-forward network has the exact
GELU, and names and shapes of all parameters are right: attention and feed-forward
network are given as they should be, and the faults are elsewhere.

What must hold, whatever the weights are:

- The stream passes. If both sublayers end in zeros (`attention.out.weight`,
  `ffn.2.weight` and `ffn.2.bias`), the block returns x.
- Only copies are normalised. A constant added to all features of a token is invisible
  to the sublayers, and stands in the result as it stood in x.
- The sublayers' contributions add up: what the attention adds is in the result, also
  when the feed-forward network has nothing to add; and the other way round.

Example: one token x = [[[3, 1]]], d_model = d_ff = 2, one head, norms with weight 1 and
bias 0. Every matrix is the identity but attention.out.weight, which is -2 times the
identity; the biases of ffn are 0. With one token to read, its attention weight is 1.

    norm1([3, 1]) = [1, -1]    x = [3, 1] + [-2, 2]         = [1, 3]
    norm2([1, 3]) = [-1, 1]    GELU of it = [-0.159, 0.841]
                               x = [1, 3] + [-0.159, 0.841] = [0.841, 3.841]

The code below gives [-0.159, 0.841]. There may be more than one fault, and mending one
does not make the numbers right by itself: follow the example line by line.

Edge cases with their own checks: tensors that are not contiguous, float64 input
computed in float64, scores in the hundreds, calls after other calls, another device
than the CPU. For float64 input the module is cast to float64.

Source: Xiong et al. 2020, "On Layer Normalization in the Transformer Architecture",
section 3; He et al. 2016, "Identity Mappings in Deep Residual Networks", section 2 (why
the path must be free).
"""

import math

import torch
from torch import nn


class CausalSelfAttention(nn.Module):
    """Causal attention with several heads, `[B, T, d_model]` to the same."""

    def __init__(self, d_model: int, num_heads: int) -> None:
        super().__init__()
        if d_model % num_heads:
            raise ValueError(f"num_heads={num_heads} does not divide d_model={d_model}")
        self.num_heads = num_heads
        self.qkv = nn.Linear(d_model, 3 * d_model, bias=False)
        self.out = nn.Linear(d_model, d_model, bias=False)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        parts = self.qkv(x).unflatten(-1, (3, self.num_heads, -1))
        q, k, v = parts.permute(2, 0, 3, 1, 4)
        scores = q @ k.transpose(-2, -1) / math.sqrt(q.shape[-1])
        later = torch.ones_like(scores, dtype=torch.bool).triu(1)
        weights = scores.masked_fill(later, float("-inf")).softmax(dim=-1)
        return self.out((weights @ v).transpose(1, 2).flatten(2))


class DecoderBlock(nn.Module):
    """One pre-norm block. This code is wrong; mend it."""

    def __init__(self, d_model: int, num_heads: int, d_ff: int) -> None:
        super().__init__()
        self.norm1 = nn.LayerNorm(d_model)
        self.attention = CausalSelfAttention(d_model, num_heads)
        self.norm2 = nn.LayerNorm(d_model)
        wide, narrow = nn.Linear(d_model, d_ff), nn.Linear(d_ff, d_model)
        self.ffn = nn.Sequential(wide, nn.GELU(), narrow)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """`x [B, T, d_model]` to `[B, T, d_model]`."""
        x = self.norm1(x)
        x = x + self.attention(x)
        return self.ffn(self.norm2(x))
