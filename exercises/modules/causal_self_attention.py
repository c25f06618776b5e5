"""Causal self-attention as a PyTorch module: named parameters, shapes with a batch.

Every token asks (query), is asked (key) and has something to tell (value). One linear
layer makes all three, for all heads at once; a causal mask hides the future; a second
linear layer mixes what the heads bring:

    q, k, v  = qkv(x) in three blocks of d_model columns          each [B, T, d_model]
    heads    : head h owns the h-th block of d_head columns       each [B, H, T, d_head]
    weights  = softmax(q kᵀ / sqrt(d_head)), later keys hidden    [B, H, T, T]
    output   = out(weights v, its heads side by side again)       [B, T, d_model]

with d_head = d_model / num_heads. The fused layer's columns are all queries, then all
keys, then all values; within each, the blocks of the heads in their order. Weights are
loaded by name, so the names are part of the contract: `qkv` is a linear layer d_model
-> 3*d_model, `out` one d_model -> d_model, both without bias, and there are no other
parameters. No dropout anywhere. Scores may be large, up to 1e8 in size; the results
stay finite.

Example: d_model 2, two heads (so d_head 1), qkv.weight = [I; I; I] and out.weight = I,
where I is the 2 x 2 identity. Then q = k = v = x. One sequence, x = [[1, 0], [0, 1]].

    token 0  reads only itself                                        output [1.0, 0.0]
    token 1  head 0: scores [0, 0], weights [0.5, 0.5],     value 0.5
             head 1: scores [0, 1], weights [0.269, 0.731], value 0.731
             output [0.5, 0.731]

Gradients are graded: they must reach x and both layers' weights, from the output and
from the weights that are returned with it. So is the device: a mask made in `forward`
is made where x is.

Edge cases with their own checks: tensors that are not contiguous, float64 input
computed in float64, large scores, calls after other calls, another device than the CPU.
For float64 input the module is cast to float64.

What goes wrong: the loss falls to zero and generated text is nonsense (a mask that
hides nothing, or too little, or comes after the softmax); everything has the right
shape and heads see columns that are not theirs (the reshape straight to
[B, H, T, d_head]); training stands still in one layer (a detached tensor); all is well
on the CPU and the first step on a GPU raises (the mask).

Where a ValueError is expected, a failing `assert` is accepted too.

Source: Vaswani et al. 2017, "Attention Is All You Need", sections 3.2.1 to 3.2.3.
"""

import torch
from torch import nn


class CausalSelfAttention(nn.Module):
    """Multi-head attention of a sequence to itself and its past.

    Parameters: `qkv.weight [3*d_model, d_model]`, `out.weight [d_model, d_model]`.
    Raises ValueError where num_heads does not divide d_model.
    """

    def __init__(self, d_model: int, num_heads: int) -> None:
        raise NotImplementedError

    def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """Attend.

        x:       [B, T, d_model].
        returns: the output [B, T, d_model] and the attention weights of every head
                 [B, H, T, T]; row i of the weights is the query at position i, sums to
                 1, and is 0 where the key comes later.
        """
        raise NotImplementedError
