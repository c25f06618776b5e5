"""What is still wrong, or newly wrong, in debug_device: one class a mistake."""

import math

import torch
from torch import nn

#: How far from right each mistake is; the others are ordinary.
CRUDE = {"drops_the_mask"}
SUBTLE = {"answers_in_float32", "makes_the_triangle_a_parameter"}


class _Attention(nn.Module):
    """The right module; mistakes override a part of it."""

    def __init__(self, d_model, max_len):
        super().__init__()
        self.q, self.k, self.v = (nn.Linear(d_model, d_model) for _ in range(3))
        self._keep(torch.ones(max_len, max_len, dtype=torch.bool).tril())

    def _keep(self, visible):
        self.register_buffer("visible", visible)

    def forward(self, x):
        q, k, v = self.q(x), self.k(x), self.v(x)
        return self._weights(self._scores(q, k), self._mask(x, x.shape[1])) @ v

    def _scores(self, q, k):
        return q @ k.mT / math.sqrt(q.shape[-1])

    def _mask(self, x, tokens):
        zeros = torch.zeros(tokens, tokens, dtype=x.dtype, device=x.device)
        return zeros.masked_fill(~self.visible[:tokens, :tokens], float("-inf"))

    def _weights(self, scores, mask):
        return (scores + mask).softmax(-1)


class leaves_the_triangle_behind(_Attention):
    """The triangle that the constructor makes is a plain attribute, so `.to(...)` moves the layers and leaves
    it on the CPU. A tensor that belongs to the module and is not trained has to be registered as a buffer.
    """

    def _keep(self, visible):
        self.visible = visible


class makes_the_mask_on_the_cpu(_Attention):
    """The mask that `forward` makes is on the CPU, wherever x is: `torch.zeros`, `ones` and `arange` make
    their tensors there unless they are given a device. The module's own tensors are all registered.
    """

    def _mask(self, x, tokens):  # noqa: ARG002 - the mistake
        return torch.zeros(tokens, tokens).masked_fill(~self.visible[:tokens, :tokens], float("-inf"))


class makes_the_triangle_a_parameter(_Attention):
    """The triangle moves with the module, and it is a parameter now: it counts among the weights and is
    handed to the optimiser. What moves and is not trained is a buffer.
    """

    def _keep(self, visible):
        self.visible = nn.Parameter(visible.double(), requires_grad=False)

    def _mask(self, x, tokens):
        zeros = torch.zeros(tokens, tokens, dtype=x.dtype, device=x.device)
        return zeros.masked_fill(self.visible[:tokens, :tokens] == 0, float("-inf"))


class answers_on_the_cpu(_Attention):
    """Nothing raises any more, and the result is on the CPU: scores and values are fetched to the mask, where
    the mask should go to them. The next layer then meets a tensor on the wrong device.
    """

    def forward(self, x):
        q, k, v = self.q(x).cpu(), self.k(x).cpu(), self.v(x).cpu()
        visible = torch.ones(x.shape[1], x.shape[1], dtype=torch.bool).tril()
        return self._scores(q, k).masked_fill(~visible, float("-inf")).softmax(-1) @ v


class drops_the_mask(_Attention):
    """No tensor is left behind since there is no mask any more: every token reads the whole sequence. The
    numbers were right; only the place was wrong.
    """

    def _weights(self, scores, mask):  # noqa: ARG002 - the mistake
        return scores.softmax(-1)


class hides_the_token_itself(_Attention):
    """The first token's result is NaN and no token reads itself: the diagonal is hidden too. Each query sees
    the keys up to its own position, itself included.
    """

    def _keep(self, visible):
        self.register_buffer("visible", visible.tril(-1))


class leaks_one_token_ahead(_Attention):
    """Each token reads its successor: the triangle begins one diagonal too high. Print it for T = 3."""

    def _keep(self, visible):
        self.register_buffer("visible", torch.ones_like(visible).tril(1))


class reads_only_the_future(_Attention):
    """The mask is the wrong way round: what may be seen is hidden, and later tokens are read. Check which
    value of the triangle stands for hidden, and whether the `~` is still there.
    """

    def _keep(self, visible):
        self.register_buffer("visible", visible.mT.contiguous())


class adds_ones_and_zeros(_Attention):
    """Later keys keep most of their weight: the boolean triangle itself is added to the scores, so hidden
    keys get 0 and visible ones 1. A hidden score has to become -inf.
    """

    def _mask(self, x, tokens):
        return self.visible[:tokens, :tokens].to(x.dtype)


class masks_after_the_softmax(_Attention):
    """Rows of the weights sum to less than one: hidden keys are set to zero after the softmax, and have taken
    their share of it before. The mask belongs on the scores.
    """

    def _weights(self, scores, mask):
        return scores.softmax(-1).masked_fill(mask != 0, 0.0)


class adds_the_whole_triangle(_Attention):
    """Only a sequence of max_len tokens works: the buffer is used whole. Its upper left corner, T by T,
    belongs to a sequence of T tokens.
    """

    def _mask(self, x, tokens):  # noqa: ARG002 - the mistake
        return super()._mask(x, len(self.visible))


class forgets_to_scale(_Attention):
    """The weights are too sharp: the division by sqrt(d_model) got lost in the repair."""

    def _scores(self, q, k):
        return q @ k.mT


class answers_in_float32(_Attention):
    """A float64 module answers in float32: the result is cast where only the mask had to be moved. `.to` with
    another tensor, or with a dtype, casts as well as moves.
    """

    def forward(self, x):
        return super().forward(x).float()
