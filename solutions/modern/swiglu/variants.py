"""Right answers to swiglu in other styles."""

import torch
import torch.nn.functional as F
from torch import nn


class activation_of_the_library(nn.Module):
    """One line, with an activation module, as Hugging Face's LLaMA has it."""

    def __init__(self, d_model, d_ff):
        super().__init__()
        self.hidden_size, self.intermediate_size = d_model, d_ff
        self.gate_proj = nn.Linear(d_model, d_ff, bias=False)
        self.up_proj = nn.Linear(d_model, d_ff, bias=False)
        self.down_proj = nn.Linear(d_ff, d_model, bias=False)
        self.act_fn = nn.SiLU()

    def forward(self, x):
        return self.down_proj(self.act_fn(self.gate_proj(x)) * self.up_proj(x))


class one_product_for_both(activation_of_the_library):
    """Both weights joined anew in each call; one product, cut in halves; functional."""

    def forward(self, x):
        joined = torch.cat((self.up_proj.weight, self.gate_proj.weight), dim=0)
        up, gate = F.linear(x, joined).tensor_split(2, dim=-1)
        return F.linear(up.mul(F.silu(gate)), self.down_proj.weight)


class _Weight(nn.Module):
    """A bare parameter under the name `weight`."""

    def __init__(self, rows, columns):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(rows, columns) * columns**-0.5)


class parameters_and_einsum(nn.Module):
    """Bare parameters, einsum, and the sigmoid from the exponential, of either sign without overflow."""

    def __init__(self, d_model: int, d_ff: int) -> None:
        super().__init__()
        self.down_proj = _Weight(d_model, d_ff)
        self.up_proj = _Weight(d_ff, d_model)
        self.gate_proj = _Weight(d_ff, d_model)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        gate = torch.einsum("...d,fd->...f", x, self.gate_proj.weight)
        up = torch.einsum("...d,fd->...f", x, self.up_proj.weight)
        return torch.einsum("...f,df->...d", up * gate / (1 + torch.exp(-gate)), self.down_proj.weight)


class rows_of_a_matrix(activation_of_the_library):
    """Leading axes joined and parted again; matrix products; the sigmoid by way of tanh."""

    def forward(self, x):
        rows = x.reshape(-1, x.shape[-1])
        gate = rows @ self.gate_proj.weight.T
        hidden = gate * (0.5 * (1 + torch.tanh(gate / 2))) * (rows @ self.up_proj.weight.T)
        return (hidden @ self.down_proj.weight.t()).view(x.shape)


class _Silu(torch.autograd.Function):
    @staticmethod
    def forward(ctx, z):
        sigmoid = z.sigmoid()
        ctx.save_for_backward(z, sigmoid)
        return z * sigmoid

    @staticmethod
    def backward(ctx, upstream):
        z, sigmoid = ctx.saved_tensors
        return upstream * sigmoid * (1 + z * (1 - sigmoid))


class derivative_by_hand(activation_of_the_library):
    """The activation's own derivative, and products in place on the network's own tensors."""

    def forward(self, x):
        hidden = _Silu.apply(self.gate_proj(x))
        return self.down_proj(self.up_proj(x).mul_(hidden))


class in_float64(activation_of_the_library):
    """Everything in float64, cast back at the end."""

    def forward(self, x):
        gate, up, down = (layer.weight.double() for layer in (self.gate_proj, self.up_proj, self.down_proj))
        wide = x.double()
        return ((F.silu(wide @ gate.mT) * (wide @ up.mT)) @ down.mT).to(x.dtype)
