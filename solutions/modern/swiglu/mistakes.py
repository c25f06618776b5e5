"""What goes wrong in swiglu: one class a mistake, its docstring what the student is told."""

import torch
import torch.nn.functional as F
from torch import nn

from grader.mistakes import crude, subtle


class _SwiGLU(nn.Module):
    """The right network; mistakes override a part of it."""

    bias = False

    def __init__(self, d_model, d_ff):
        super().__init__()
        self.gate_proj = nn.Linear(d_model, d_ff, bias=self.bias)
        self.up_proj = nn.Linear(d_model, d_ff, bias=self.bias)
        self.down_proj = nn.Linear(d_ff, d_model, bias=self.bias)

    def _hidden(self, gate, up):
        return self._activated(gate) * up

    def _activated(self, gate):
        return F.silu(gate)

    def forward(self, x):
        return self.down_proj(self._hidden(self.gate_proj(x), self.up_proj(x)))


class activates_the_other_product(_SwiGLU):
    """The activation is on up_proj's product, and gate_proj's scales it as it is. With fresh weights the two
    are alike, so it shows only with loaded ones. Which of the two names is the gate?
    """

    def _hidden(self, gate, up):
        return gate * F.silu(up)


class activates_both_products(_SwiGLU):
    """Both products pass through the activation. The gate alone does; what it scales stays linear, so that
    twice the weight of up_proj gives twice the result.
    """

    def _hidden(self, gate, up):
        return F.silu(gate) * F.silu(up)


class activates_the_product_of_both(_SwiGLU):
    """The two products are multiplied first, and the activation comes after. It belongs to the gate, before
    the multiplication; twice the weight of up_proj must give twice the result.
    """

    def _hidden(self, gate, up):
        return F.silu(gate * up)


class activates_the_result(_SwiGLU):
    """The activation is on the result of down_proj: large negative results are cut off near 0. It belongs to
    the gate, between the products.
    """

    def forward(self, x):
        return F.silu(self.down_proj(self.gate_proj(x) * self.up_proj(x)))


class activates_nothing(_SwiGLU):
    """The gate scales as it is, without an activation: x and -x give the same result. Check what happens to
    the gate before the multiplication.
    """

    def _activated(self, gate):
        return gate


class gates_with_the_sigmoid(_SwiGLU):
    """The gate is between 0 and 1, as in GLU: the sigmoid is taken, and its factor z is missing. silu(z) is z
    times the sigmoid of z.
    """

    def _activated(self, gate):
        return torch.sigmoid(gate)


class gates_with_gelu(_SwiGLU):
    """The activation is GELU, as in GEGLU. The two curves look alike: silu(1) is 0.731 and GELU(1) 0.841."""

    def _activated(self, gate):
        return F.gelu(gate)


class gates_with_relu(_SwiGLU):
    """Negative gates have no effect at all: the activation is ReLU, as in ReGLU. SiLU lets a little of them
    through.
    """

    def _activated(self, gate):
        return F.relu(gate)


class sharpens_the_sigmoid(_SwiGLU):
    """The sigmoid is taken of 1.702 times the gate, which approximates GELU (some models do so). Here the
    factor is 1; silu(1) is 0.731.
    """

    def _activated(self, gate):
        return gate * torch.sigmoid(1.702 * gate)


class takes_the_hard_swish(_SwiGLU):
    """Results are off by a few hundredths, and gates below -3 have no effect: the sigmoid is replaced by
    straight lines (hard swish). Check the activation with a gate of -4.
    """

    def _activated(self, gate):
        return F.hardswish(gate)


class takes_the_softmax_for_the_sigmoid(_SwiGLU):
    """The numbers of one gate depend on each other: the sigmoid is replaced by a softmax over d_ff. Each
    number of the gate is activated by itself.
    """

    def _activated(self, gate):
        return gate * gate.softmax(-1)


class turns_the_sigmoid_round(_SwiGLU):
    """Large positive gates have no effect and large negative ones pass: the sigmoid is of -z, from a sign
    lost in 1 / (1 + exp(-z)). Check the activation with a gate of 5; it is nearly 5.
    """

    def _activated(self, gate):
        return gate / (1 + torch.exp(gate))


class adds_one_to_what_is_gated(_SwiGLU):
    """A constant is added: the gate scales 1 + up, as in GPT-OSS. Here it scales up itself; twice the weight
    of up_proj must give twice the result.
    """

    def _hidden(self, gate, up):
        return F.silu(gate) * (up + 1)


@crude
class adds_the_gate(_SwiGLU):
    """The two products are added. A gate scales, so they are multiplied number by number."""

    def _hidden(self, gate, up):
        return F.silu(gate) + up


@crude
class leaves_up_proj_out(_SwiGLU):
    """up_proj has no effect: only the activated gate reaches down_proj, as in a network with two matrices.
    Check where up_proj is called.
    """

    def _hidden(self, gate, up):  # noqa: ARG002 - the mistake
        return F.silu(gate)


@crude
class leaves_the_gate_out(_SwiGLU):
    """gate_proj has no effect: up_proj's product is activated and passed on, as in a network with two
    matrices. Check where gate_proj is called.
    """

    def _hidden(self, gate, up):  # noqa: ARG002 - the mistake
        return F.silu(up)


class reads_the_gate_twice(_SwiGLU):
    """up_proj has no effect: the gate scales itself, since both factors come from gate_proj. Check both calls
    for their layer.
    """

    def _hidden(self, gate, up):  # noqa: ARG002 - the mistake
        return F.silu(gate) * gate


class adds_the_input(_SwiGLU):
    """The result is off by x: a residual connection is built in. That belongs to the block around the
    network.
    """

    def forward(self, x):
        return x + super().forward(x)


@crude
class forgets_down_proj(_SwiGLU):
    """The result has d_ff numbers a token: the gated product is returned. down_proj brings it back to
    d_model.
    """

    def forward(self, x):
        return self._hidden(self.gate_proj(x), self.up_proj(x))


class joins_the_leading_axes(_SwiGLU):
    """The numbers are right, the shape is [rows, d_model]: the axes in front were joined and never parted
    again. The result has the shape of x; a linear layer takes any number of axes.
    """

    def forward(self, x):
        return super().forward(x.reshape(-1, x.shape[-1]))


@crude
class reduces_d_ff_to_two_thirds(_SwiGLU):
    """The layers are too narrow: d_ff is multiplied by 2/3 in the constructor. Use d_ff as it is given; the
    caller has already reduced it.
    """

    def __init__(self, d_model, d_ff):
        super().__init__(d_model, max(1, int(2 * d_ff / 3)))


@crude
class gives_the_layers_biases(_SwiGLU):
    """The three layers have biases, which the statement does not name: a zero vector does not stay one. A
    linear layer has a bias unless it is told not to.
    """

    bias = True


@crude
class names_the_layers_as_llama_does(nn.Module):
    """The layers are called w1, w2 and w3, as in Meta's code: weights by the names of the statement cannot be
    loaded. Attributes of the module give its parameters their names.
    """

    def __init__(self, d_model, d_ff):
        super().__init__()
        self.w1 = nn.Linear(d_model, d_ff, bias=False)
        self.w2 = nn.Linear(d_ff, d_model, bias=False)
        self.w3 = nn.Linear(d_model, d_ff, bias=False)

    def forward(self, x):
        return self.w2(F.silu(self.w1(x)) * self.w3(x))


@crude
class joins_gate_and_up_in_one_matrix(nn.Module):
    """gate_proj and up_proj are one layer of twice the width, as in some libraries: weights by the names of
    the statement cannot be loaded. The statement has three layers.
    """

    def __init__(self, d_model, d_ff):
        super().__init__()
        self.gate_up_proj = nn.Linear(d_model, 2 * d_ff, bias=False)
        self.down_proj = nn.Linear(d_ff, d_model, bias=False)

    def forward(self, x):
        gate, up = self.gate_up_proj(x).chunk(2, dim=-1)
        return self.down_proj(F.silu(gate) * up)


@subtle
class bounds_the_gate(_SwiGLU):
    """Small gates are right, and gates above 7 all scale by 7: they are clipped, as in GPT-OSS. SiLU has no
    bound from above; check the gate before the activation.
    """

    def _activated(self, gate):
        return F.silu(gate.clamp(max=7))


@subtle
class bounds_what_is_gated(_SwiGLU):
    """Small numbers are right, and what up_proj gives is clipped to -7 … 7, as in GPT-OSS. It is linear here;
    check what lies between up_proj and the multiplication.
    """

    def _hidden(self, gate, up):
        return F.silu(gate) * up.clamp(-7, 7)


@subtle
class computes_silu_in_float32(_SwiGLU):
    """float64 arguments get results with half of their digits: the activation is computed in float32 and cast
    back. Work in the dtype of x, or in a wider one.
    """

    def _activated(self, gate):
        return F.silu(gate.float()).to(gate.dtype)


@subtle
class detaches_the_gate(_SwiGLU):
    """Every value is right, and gate_proj is never trained: the activated gate is detached, or copied by way
    of `.data` or `torch.tensor`. Gradients flow through both factors of the product.
    """

    def _activated(self, gate):
        return F.silu(gate).detach()


@subtle
class detaches_the_sigmoid(_SwiGLU):
    """Every value is right and gate_proj's gradients are not: the sigmoid is treated as a constant. It
    depends on the gate, so the derivative of z * sigmoid(z) has two terms.
    """

    def _activated(self, gate):
        return gate * torch.sigmoid(gate.detach())


@subtle
class detaches_up(_SwiGLU):
    """Every value is right, and up_proj is never trained: what the gate scales is detached, or copied by way
    of `.data` or `torch.tensor`. Gradients flow through both factors of the product.
    """

    def _hidden(self, gate, up):
        return F.silu(gate) * up.detach()


@subtle
class drops_hidden_numbers_in_training(_SwiGLU):
    """In evaluation mode all is right, in training mode every call gives another result: there is a dropout
    on the hidden numbers. The statement has none; both modes give the same.
    """

    def _hidden(self, gate, up):
        return F.dropout(super()._hidden(gate, up), 0.1, self.training)


@subtle
class expects_contiguous_tokens(_SwiGLU):
    """Raises an error where x is a transposed view: `view` joins axes only where memory allows it. A linear
    layer needs no joining, and `reshape` copies where it must.
    """

    def forward(self, x):
        return super().forward(x.view(-1, x.shape[-1])).view(x.shape)


@subtle
class keeps_the_joined_weights(_SwiGLU):
    """After an update or a load_state_dict the network answers as before: the weights of gate_proj and
    up_proj were joined in the first call, and the copy is kept. Join them anew in each call.
    """

    def forward(self, x):
        if "joined" not in vars(self) or self.joined.dtype != x.dtype:
            self.joined = torch.cat([self.gate_proj.weight, self.up_proj.weight])
        gate, up = F.linear(x, self.joined).chunk(2, dim=-1)
        return self.down_proj(self._hidden(gate, up))


@subtle
class makes_the_result_on_the_cpu(_SwiGLU):
    """Right on the CPU; on a GPU the call raises, or the result is left on the CPU: a tensor is made without
    a device. Make it on the device of x.
    """

    def _hidden(self, gate, up):
        return torch.zeros(gate.shape, dtype=gate.dtype) + super()._hidden(gate, up)


@subtle
class overwrites_x(_SwiGLU):
    """The caller's x is changed: an operation in place, such as `x *= …` or `copy_`, writes into it, and the
    residual connection still needs what was there. Make a new tensor.
    """

    def forward(self, x):
        result = super().forward(x)
        with torch.no_grad():
            x.mul_(2)
        return result
