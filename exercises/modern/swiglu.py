"""SwiGLU: a feed-forward network with a gate.

The feed-forward network of 2017 widens each token's vector, applies an activation, and
narrows it again. LLaMA, Mistral, DeepSeek and most models since use three matrices
where that network had two: one product is passed through an activation and then scales
the other, number by number. So the network can multiply two features of a token. The
older network only adds activated features.

    gate    = x gate_projᵀ             [..., d_ff]
    up      = x up_projᵀ               [..., d_ff]
    hidden  = silu(gate) * up          [..., d_ff]      silu(z) = z * sigmoid(z)
    result  = hidden down_projᵀ        [..., d_model]

No layer has a bias. d_ff is used as it is given: the reduction by 2/3, which keeps the
number of parameters equal to that of a network with two matrices, is the caller's.
Weights are loaded by name, so the names are part of the contract. nn.Linear stores its
weight as [outputs, inputs]:

    gate_proj.weight [d_ff, d_model]  up_proj.weight [d_ff, d_model]
    down_proj.weight [d_model, d_ff]

Example: d_model = d_ff = 1, and the weights of gate_proj, up_proj and down_proj are 2,
3 and 1.

    x =  1     silu( 2) *  3 * 1 = 5.285
    x = -1     silu(-2) * -3 * 1 = 0.715

Public code differs in names: Meta's LLaMA and Mixtral call the three w1, w3 and w2;
Hugging Face uses the names above. Some libraries join gate_proj and up_proj in one
matrix, which would have another name.

What goes wrong: the activation is on the other product, or on both, and the loss hardly
shows it; the activation is that of a relative (GLU has the sigmoid alone, GEGLU has
GELU).

The numbers of x gate_projᵀ lie between -50 and 50. F.silu may be used. The same in
training and evaluation; weights may be loaded anew between calls. How the weights begin
is not graded.

Edge cases with their own checks: tensors that are not contiguous, float64 input
computed in float64, large gates, a single vector, calls after other calls, another
device than the CPU. For float64 input the module is cast to float64, for another device
it is moved there.

Source: Shazeer 2020, "GLU Variants Improve Transformer", section 2; Touvron et al.
2023, "LLaMA: Open and Efficient Foundation Language Models", section 2.2.
"""

import torch
from torch import nn


class SwiGLU(nn.Module):
    """A gated feed-forward network: `gate_proj`, `up_proj`, `down_proj`; no biases."""

    def __init__(self, d_model: int, d_ff: int) -> None:
        raise NotImplementedError

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """`x [..., d_model]`, any leading axes or none, to `[..., d_model]`."""
        raise NotImplementedError
