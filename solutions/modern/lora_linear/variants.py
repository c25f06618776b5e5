"""Right answers to lora_linear in other styles."""

import math

import torch
from torch import nn
from torch.nn import functional as F


class LikePeft(nn.Module):
    """As in PEFT: Kaiming's initialisation, a delta weight, `weight.data` changed in place."""

    def __init__(self, base, rank, alpha):
        super().__init__()
        if rank <= 0:
            raise ValueError(f"`rank` should be a positive integer value but the value passed is {rank}")
        self.base = base
        for parameter in base.parameters():
            parameter.requires_grad = False
        self.lora_a = nn.Parameter(torch.empty(rank, base.in_features))
        self.lora_b = nn.Parameter(torch.empty(base.out_features, rank))
        self.scaling = alpha / rank
        self.merged = False
        nn.init.kaiming_uniform_(self.lora_a, a=math.sqrt(5))
        nn.init.zeros_(self.lora_b)
        self.to(device=base.weight.device, dtype=base.weight.dtype)

    def get_delta_weight(self):
        return self.lora_b @ self.lora_a * self.scaling

    def merge(self):
        if self.merged:
            return
        self.base.weight.data += self.get_delta_weight()
        self.merged = True

    def unmerge(self):
        if not self.merged:
            return
        self.base.weight.data -= self.get_delta_weight()
        self.merged = False

    def forward(self, x):
        result = self.base(x)
        if not self.merged:
            result = result + F.linear(F.linear(x, self.lora_a), self.lora_b) * self.scaling
        return result


class KeepsACopy(nn.Module):
    """unmerge copies back the weight that merge has kept; the factors are scaled once."""

    def __init__(self, base, rank, alpha):
        super().__init__()
        assert rank >= 1, "the rank is at least 1"
        self.rank, self.alpha, self.base = rank, alpha, base
        base.weight.requires_grad_(False)
        if base.bias is not None:
            base.bias.requires_grad_(False)
        like = {"dtype": base.weight.dtype, "device": base.weight.device}
        self.lora_a = nn.Parameter(torch.ones(rank, base.in_features, **like))
        self.lora_b = nn.Parameter(torch.zeros(base.out_features, rank, **like))
        self.before = None

    def forward(self, x):
        if self.before is not None:
            return F.linear(x, self.base.weight, self.base.bias)
        thin = torch.einsum("...i,ri->...r", x, self.lora_a) * (self.alpha / self.rank)
        return self.base(x) + torch.einsum("...r,or->...o", thin, self.lora_b)

    def merge(self):
        if self.before is None:
            self.before = self.base.weight.detach().clone()
            with torch.no_grad():
                self.base.weight.copy_(
                    self.before + self.alpha / self.rank * torch.mm(self.lora_b, self.lora_a)
                )
        return self

    def unmerge(self):
        if self.before is not None:
            with torch.no_grad():
                self.base.weight.copy_(self.before)
            self.before = None
        return self


class SubtractsWhatItAdded(nn.Module):
    """The update that was added is kept; the base's result comes last."""

    def __init__(self, base, rank, alpha):
        super().__init__()
        if not rank > 0:
            raise ValueError(rank)
        self.base = base
        self.base.requires_grad_(requires_grad=False)
        self.lora_a = nn.Parameter(base.weight.new_empty(rank, base.weight.size(1)).normal_(0, 0.02))
        self.lora_b = nn.Parameter(base.weight.new_empty(base.weight.size(0), rank).zero_())
        self.factor = float(alpha) / rank
        self.added = None

    @torch.no_grad()
    def merge(self):
        if self.added is None:
            self.added = self.factor * (self.lora_b @ self.lora_a)
            self.base.weight.add_(self.added)

    @torch.no_grad()
    def unmerge(self):
        if self.added is not None:
            self.base.weight.sub_(self.added)
            self.added = None

    def forward(self, x):
        update = 0 if self.added is not None else (x @ self.lora_a.mT) @ self.lora_b.mT * self.factor
        return self.base(x) if self.added is not None else update + self.base(x)


class ChangesItsForward(nn.Module):
    """merge and unmerge choose which function forward calls."""

    def __init__(self, base, rank, alpha):
        if rank < 1:
            raise ValueError("rank")
        super().__init__()
        self.base = base
        for p in base.parameters():
            p.requires_grad_(False)
        a = torch.randn(rank, base.in_features) / math.sqrt(rank)
        self.lora_a = nn.Parameter(a.to(base.weight))
        self.lora_b = nn.Parameter(torch.zeros(base.out_features, rank).to(base.weight))
        self.alpha_over_rank = alpha / rank
        self.run = self.with_update

    def with_update(self, x):
        hidden = nn.functional.linear(self.alpha_over_rank * x, self.lora_a)
        return self.base(x).add(nn.functional.linear(hidden, self.lora_b))

    def forward(self, x):
        return self.run(x)

    def shift(self, sign):
        with torch.no_grad():
            self.base.weight.addmm_(self.lora_b, self.lora_a, alpha=sign * self.alpha_over_rank)

    def merge(self):
        if self.run == self.with_update:
            self.shift(1)
            self.run = self.base.forward

    def unmerge(self):
        if self.run != self.with_update:
            self.shift(-1)
            self.run = self.with_update


class InOneProduct(nn.Module):
    """The bias and the base's product come into one `addmm` where the input has rows."""

    def __init__(self, base, rank, alpha):
        super().__init__()
        if rank < 1:
            raise ValueError("rank must be at least 1")
        self.base = base.requires_grad_(False)
        self.lora_a = nn.Parameter(torch.rand_like(base.weight[:1].repeat(rank, 1)) + 0.1)
        self.lora_b = nn.Parameter(torch.zeros_like(base.weight[:, :1].repeat(1, rank)))
        self.scale, self.state = alpha / rank, "apart"

    def forward(self, x):
        if self.state == "merged":
            return self.base(x)
        rows = x.reshape(-1, x.shape[-1])
        start = self.base(rows)
        result = torch.addmm(start, rows @ self.lora_a.t(), self.lora_b.t(), alpha=self.scale)
        return result.reshape(*x.shape[:-1], -1)

    def merge(self):
        if self.state == "apart":
            self.base.weight.data.copy_(self.base.weight + self.scale * self.lora_b.matmul(self.lora_a))
        self.state = "merged"

    def unmerge(self):
        if self.state == "merged":
            self.base.weight.data.copy_(self.base.weight - self.scale * self.lora_b.matmul(self.lora_a))
        self.state = "apart"
