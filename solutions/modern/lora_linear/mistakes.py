"""What goes wrong in lora_linear: one class a mistake, its docstring what the student is told."""

import copy
import math

import torch
from torch import nn

from grader.mistakes import crude, subtle


class _LoRA(nn.Module):
    """The right layer; mistakes override a part of it."""

    def __init__(self, base, rank, alpha):
        super().__init__()
        self.check(rank, base)
        self.base = self.take(base)
        self.scale = self.scale_of(alpha, rank)
        self.lora_a, self.lora_b = (nn.Parameter(factor) for factor in self.factors(base.weight, rank))
        self.merged = False

    def check(self, rank, base):  # noqa: ARG002 - for mistakes
        if rank < 1:
            raise ValueError("rank")

    def take(self, base):
        return base.requires_grad_(False)

    def scale_of(self, alpha, rank):
        return alpha / rank

    def factors(self, weight, rank):
        return torch.randn_like(weight[:1].expand(rank, -1)), weight.new_zeros(len(weight), rank)

    def update(self, x):
        return self.scale * (x @ self.lora_a.T) @ self.lora_b.T

    def forward(self, x):
        return self.base(x) if self.merged else self.base(x) + self.update(x)

    def product(self):
        return self.scale * (self.lora_b @ self.lora_a)

    @torch.no_grad()
    def add(self, sign):
        self.base.weight += sign * self.product()

    def merge(self):
        if not self.merged:
            self.add(1)
        self.merged = True

    def unmerge(self):
        if self.merged:
            self.add(-1)
        self.merged = False


@crude
class forgets_the_base(_LoRA):
    """A new layer gives zeros: the result of the base is missing. The update is added to it."""

    def forward(self, x):
        return self.base(x) if self.merged else self.update(x)


@crude
class forgets_the_update(_LoRA):
    """The factors have no effect before merge(): the layer gives what its base gives, whatever they hold."""

    def forward(self, x):
        return self.base(x)


@crude
class multiplies_base_and_update(_LoRA):
    """A new layer gives zeros: the update is multiplied with the base's result and not added to it."""

    def forward(self, x):
        return self.base(x) if self.merged else self.base(x) * self.update(x)


@crude
class turns_the_factors_round(_LoRA):
    """The weights cannot be loaded: lora_a is [d_in, rank], or lora_b is [rank, d_out]. They have the
    orientation of an nn.Linear's weight, with what comes out first.
    """

    def factors(self, weight, rank):
        return [factor.T.contiguous() for factor in super().factors(weight, rank)]

    def update(self, x):
        return self.scale * x @ self.lora_a @ self.lora_b

    def product(self):
        return self.scale * (self.lora_a @ self.lora_b).T


@crude
class names_the_factors_otherwise(nn.Module):
    """The weights cannot be loaded: the factors have other names than `lora_a` and `lora_b`, such as PEFT's
    lora_A.weight and lora_B.weight.
    """

    def __init__(self, base, rank, alpha):
        super().__init__()
        if rank < 1:
            raise ValueError("rank")
        self.base, self.scale = base.requires_grad_(False), alpha / rank
        self.lora_A = nn.Linear(base.in_features, rank, bias=False, dtype=base.weight.dtype)
        self.lora_B = nn.Linear(rank, base.out_features, bias=False, dtype=base.weight.dtype)
        nn.init.zeros_(self.lora_B.weight)

    def forward(self, x):
        return self.base(x) + self.scale * self.lora_B(self.lora_A(x))


@crude
class leaves_the_factors_frozen(_LoRA):
    """Nothing learns: the factors do not require gradients. They are frozen together with the base, or are
    tensors and no trainable Parameters.
    """

    def __init__(self, base, rank, alpha):
        super().__init__(base, rank, alpha)
        self.requires_grad_(False)


class puts_a_relu_in_between(_LoRA):
    """Right where x lora_a^T is positive: there is a nonlinearity between the factors. Without it the update
    is one matrix, and only then can it be merged.
    """

    def update(self, x):
        return self.scale * (x @ self.lora_a.T).relu() @ self.lora_b.T


class scales_by_alpha_alone(_LoRA):
    """The update is too large by the factor `rank`: the scale is alpha and not alpha / rank. Right for
    rank 1.
    """

    def scale_of(self, alpha, rank):  # noqa: ARG002 - the mistake
        return alpha


class forgets_the_scale(_LoRA):
    """The update does not depend on alpha: the factor alpha / rank is missing. Right where alpha equals
    the rank.
    """

    def scale_of(self, alpha, rank):  # noqa: ARG002 - the mistake
        return 1.0


class divides_by_the_root_of_the_rank(_LoRA):
    """The update is too large by the root of the rank: alpha is divided by sqrt(rank), as in rsLoRA. Here it
    is divided by the rank. Right for rank 1.
    """

    def scale_of(self, alpha, rank):
        return alpha / math.sqrt(rank)


class rounds_the_scale_down(_LoRA):
    """The update is too small, or missing where alpha is smaller than the rank: // rounds down to a whole
    number.
    """

    def scale_of(self, alpha, rank):
        return alpha // rank


class drops_the_bias(_LoRA):
    """The base's bias is missing in the result: the base's weight is multiplied by hand. Call the base."""

    def forward(self, x):
        plain = x @ self.base.weight.T
        return plain if self.merged else plain + self.update(x)


class adds_the_bias_twice(_LoRA):
    """The base's bias is in the result twice: base(x) has added it already."""

    def forward(self, x):
        result = super().forward(x)
        return result if self.base.bias is None else result + self.base.bias


class leaves_the_base_trainable(_LoRA):
    """Gradients reach the base's weight: it is not frozen, so all of it is trained and the optimizer keeps
    state for it. Check requires_grad of its parameters.
    """

    def take(self, base):
        return base


class freezes_the_weight_alone(_LoRA):
    """The base's bias keeps learning: only the weight is frozen. A base without a bias is right."""

    def take(self, base):
        base.weight.requires_grad_(False)
        return base


class stops_gradients_by_no_grad(_LoRA):
    """No gradient reaches x through the base: the base runs under no_grad, or its result is detached.
    Freezing concerns parameters; earlier layers still learn through the frozen one.
    """

    def forward(self, x):
        with torch.no_grad():
            plain = self.base(x)
        return plain if self.merged else plain + self.update(x)


class detaches_the_input_of_the_update(_LoRA):
    """x gets a gradient from the base alone: the update is computed from a detached x."""

    def update(self, x):
        return super().update(x.detach())


@subtle
class follows_the_base_in_what_is_trained(_LoRA):
    """Where the base came frozen, the factors do not learn either: their requires_grad is taken from the
    base's weight. The factors are always trainable.
    """

    def __init__(self, base, rank, alpha):
        trainable = base.weight.requires_grad
        super().__init__(base, rank, alpha)
        self.lora_a.requires_grad_(trainable)
        self.lora_b.requires_grad_(trainable)


@subtle
class copies_the_base(_LoRA):
    """`base` is a copy of the layer that was given: merge leaves the original as it was, and there are two
    weights in memory. Keep the object itself.
    """

    def take(self, base):
        return copy.deepcopy(base).requires_grad_(False)


@subtle
class starts_both_factors_at_random(_LoRA):
    """A new layer does not give what its base gives, or lora_a is the factor that is zero: lora_b begins with
    random numbers. It is the one that begins as zeros.
    """

    def factors(self, weight, rank):
        a, b = super().factors(weight, rank)
        return a, b + 0.1


@subtle
class starts_both_factors_at_zero(_LoRA):
    """Nothing ever learns: where both factors are zero, both have the gradient zero. Only lora_b begins as
    zeros.
    """

    def factors(self, weight, rank):
        return [0 * factor for factor in super().factors(weight, rank)]


@subtle
class makes_the_factors_in_float32(_LoRA):
    """A base in float16 gets float32 factors, and a call raises: they are made without the base's dtype and
    device.
    """

    def factors(self, weight, rank):
        return torch.randn(rank, weight.shape[1]), torch.zeros(len(weight), rank)


@subtle
class adds_the_update_to_merged_weights(_LoRA):
    """After merge() the update counts twice: it is in the weight, and forward adds it once more."""

    def forward(self, x):
        return self.base(x) + self.update(x)


@subtle
class leaves_out_that_it_is_merged_already(_LoRA):
    """A second merge() adds the update again. A merged layer stays as it is."""

    def merge(self):
        self.add(1)
        self.merged = True


@subtle
class subtracts_without_a_merge(_LoRA):
    """unmerge() without a merge() changes the weight: the update is taken out although it is not in there."""

    def unmerge(self):
        self.add(-1)
        self.merged = False


@subtle
class unmerges_by_the_flag_alone(_LoRA):
    """After unmerge() the update counts twice: the layer says that it is not merged, and the weight still
    holds the update.
    """

    def unmerge(self):
        self.merged = False


@subtle
class stays_merged_after_unmerge(_LoRA):
    """After unmerge() the update is missing: it is taken out of the weight, and forward still leaves it
    out.
    """

    def unmerge(self):
        if self.merged:
            self.add(-1)
            self.scale = 0.0 * self.scale


@subtle
class adds_when_it_should_subtract(_LoRA):
    """After unmerge() the weight holds the update twice: it is added again where it must be subtracted."""

    def unmerge(self):
        if self.merged:
            self.add(1)
        self.merged = False


@subtle
class merges_without_the_scale(_LoRA):
    """Merged results differ by the factor alpha / rank in the update: the scale is applied in forward and
    not in merge.
    """

    def product(self):
        return self.lora_b @ self.lora_a


@subtle
class puts_a_new_parameter(_LoRA):
    """After merge() base.weight is another Parameter, and whoever holds the old one, such as an optimizer or
    a tied layer, no longer has the layer's weight. Change it in place.
    """

    @torch.no_grad()
    def add(self, sign):
        self.base.weight = nn.Parameter(self.base.weight + sign * self.product(), requires_grad=False)


@subtle
class merges_with_gradients(_LoRA):
    """After merge() the base's weight requires gradients and drags the graph of the factors along: the sum
    is recorded by autograd. The base stays frozen.
    """

    def add(self, sign):
        self.base.weight += sign * self.product()


@subtle
class forgets_what_was_merged(_LoRA):
    """After unmerge() the weight is not what it was: it is set to zeros, or to a new initialisation, and the
    old numbers are gone.
    """

    def unmerge(self):
        if self.merged:
            with torch.no_grad():
                self.base.weight.copy_(self.product())
        self.merged = False


@subtle
class takes_the_first_update_again(_LoRA):
    """The first merge() is right, and a later one, after the factors have changed, adds the old update: the
    product is computed once and kept.
    """

    def product(self):
        if not hasattr(self, "kept"):
            self.kept = super().product().detach()
        return self.kept


@subtle
class merges_into_the_rows(_LoRA):
    """merge() raises where d_in and d_out differ, and else adds the transpose: the product is
    lora_a^T lora_b^T. base.weight is [d_out, d_in].
    """

    def product(self):
        return super().product().T


@subtle
class multiplies_the_factors_first(_LoRA):
    """The result is right, and a call costs more than the base: lora_b lora_a, a matrix of the base's size,
    is made at every call. Multiply x by one factor after the other.
    """

    def update(self, x):
        return x @ self.product().T


@subtle
class computes_the_update_when_merged(_LoRA):
    """The merged layer is right and saves nothing: the update is computed and then not used. Leave it out
    where it is in the weight already.
    """

    def forward(self, x):
        return self.base(x) + (0.0 if self.merged else 1.0) * self.update(x)


@subtle
class accepts_any_rank(_LoRA):
    """rank=0 raises no ValueError, or raises only a ZeroDivisionError: the rank is not checked."""

    def check(self, rank, base):
        pass

    def __init__(self, base, rank, alpha):
        super().__init__(base, max(rank, 1), alpha)


class refuses_a_rank_above_the_widths(_LoRA):
    """A rank above d_in or d_out raises. It is a waste and allowed."""

    def check(self, rank, base):
        if not 1 <= rank <= min(base.weight.shape):
            raise ValueError("rank")


@subtle
class changes_x_in_place(_LoRA):
    """The caller's x is multiplied by the scale: the scaling is done in place. Make a new tensor."""

    def update(self, x):
        x *= self.scale
        return x @ self.lora_a.T @ self.lora_b.T
