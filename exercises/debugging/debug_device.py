"""Find the faults: an attention that works on the CPU and nowhere else.

The code below is single-head causal attention, as a PyTorch module. On a laptop it is
right, to the last digit. Sent to a GPU with `module.to("cuda")` and called with an x
that is there too, it raises "Expected all tensors to be on the same device". It is to
work wherever its owner sends it, in float32, float64 and bfloat16:

    q, k, v  = q(x), k(x), v(x)      three linear layers d_model -> d_model, with biases
    scores   = q kᵀ / sqrt(d_model)  [B, T, T]
    weights  = softmax(scores)       over the keys up to the query's own position
    output   = weights v             [B, T, d_model]

There are two ways in which a tensor gets left behind, and this code has one fault of
each kind:

- A module is moved by `.to(...)`, which moves what the module *knows* to be its own:
  parameters, buffers, and those of its submodules. Whatever else it holds stays where
  it was made.
- A tensor that is made in `forward` is made on the CPU, unless its maker says otherwise
  or is given a tensor to follow.

What must hold:

- Each tensor that the module keeps moves with the module; and only q, k and v are
  trained, so the mask is no parameter.
- With module and x on one device, every step is on that device, and so is the result.
  No step takes a detour by way of the CPU, and no device is called by its name.
- The numbers stay as they are. With d_model 2, q, k and v the identity, no biases and x
  = [[[1, 0], [0, 1]]], the first token reads only itself, [1, 0]; the second has the
  scores [0, 0.707], the weights [0.330, 0.670], and so the output [0.330, 0.670].

The grader has a pretended device, whose tensors are no match for a tensor on the CPU.
So you need no GPU to find both faults. Mending one does not silence the other.

Edge cases with their own checks: tensors that are not contiguous, float64 input
computed in float64, scores in the hundreds, calls after other calls. For float64 input
the module is cast to float64, for another device it is moved there.

Source: the PyTorch documentation of `torch.nn.Module.register_buffer`; the attention is
that of Vaswani et al. 2017, "Attention Is All You Need", sections 3.2.1 and 3.2.3.
"""

import math

import torch
from torch import nn


class CausalAttention(nn.Module):
    """Attention of each token to itself and its past. This code is wrong; mend it.

    `q`, `k` and `v` are linear layers d_model -> d_model; sequences have at most
    max_len tokens.
    """

    def __init__(self, d_model: int, max_len: int) -> None:
        super().__init__()
        self.q = nn.Linear(d_model, d_model)
        self.k = nn.Linear(d_model, d_model)
        self.v = nn.Linear(d_model, d_model)
        self.visible = torch.ones(max_len, max_len, dtype=torch.bool).tril()

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """`x [B, T, d_model]`, T at most max_len, to `[B, T, d_model]`."""
        tokens = x.shape[1]
        q, k, v = self.q(x), self.k(x), self.v(x)
        scores = q @ k.transpose(-2, -1) / math.sqrt(q.shape[-1])
        mask = torch.zeros(tokens, tokens)
        mask = mask.masked_fill(~self.visible[:tokens, :tokens], float("-inf"))
        return (scores + mask).softmax(dim=-1) @ v
