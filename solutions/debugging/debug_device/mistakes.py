"""What is still wrong, or newly wrong, in debug_device: one class a mistake."""

import math

import torch
from torch import nn

from grader.mistakes import crude, subtle


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


@subtle
class keeps_the_triangle_in_a_dict(_Attention):
    """The triangle is in a dict, which `.to(...)` does not look into, so it stays on the CPU and every call
    brings it to x again. A tensor that belongs to the module and is not trained is registered as a buffer.
    """

    def _keep(self, visible):
        self.kept = {"visible": visible}

    def _mask(self, x, tokens):
        hidden = ~self.kept["visible"][:tokens, :tokens].to(x.device)
        return torch.zeros(tokens, tokens, dtype=x.dtype, device=x.device).masked_fill(hidden, float("-inf"))


@subtle
class takes_the_softmax_on_the_cpu(_Attention):
    """Nothing is left behind, and yet a step is not where x is: the scores are copied to the CPU, the softmax
    is taken there, and its weights are copied back. On a GPU each such copy waits for all work before it.
    """

    def _weights(self, scores, mask):
        return (scores + mask).cpu().softmax(-1).to(scores.device)


@subtle
class makes_the_mask_in_float32(_Attention):
    """The mask is where x is, and always float32: added to scores of bfloat16 it makes them float32, and the
    product with v fails. Whoever makes a tensor beside x tells it the device and the dtype.
    """

    def _mask(self, x, tokens):
        zeros = torch.zeros(tokens, tokens, device=x.device)
        return zeros.masked_fill(~self.visible[:tokens, :tokens], float("-inf"))


@subtle
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


@crude
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


@subtle
class answers_in_float32(_Attention):
    """A float64 module answers in float32: the result is cast where only the mask had to be moved. `.to` with
    another tensor, or with a dtype, casts as well as moves.
    """

    def forward(self, x):
        return super().forward(x).float()


@subtle
class clips_the_scores(_Attention):
    """Small scores come out right, and large ones all weigh the same: they are clipped, so that exp does not
    overflow. The softmax as it stood needs no bounds.
    """

    def _scores(self, q, k):
        return super()._scores(q, k).clamp(-50, 50)


@subtle
class masks_with_minus_ten_thousand(_Attention):
    """Small scores come out right, and where scores are large and negative, hidden keys win: the mask is a
    number that is not far enough below them. -inf is below everything, as it was.
    """

    def _weights(self, scores, mask):
        return scores.masked_fill(mask != 0, -1e4).softmax(-1)


@subtle
class overflows_on_large_scores(_Attention):
    """The result is NaN where scores are large: exp overflows from 89 on in float32. The softmax as it stood
    subtracts each row's maximum first.
    """

    def _weights(self, scores, mask):
        powers = scores.exp().masked_fill(mask != 0, 0.0)
        return powers / powers.sum(-1, keepdim=True)


@subtle
class subtracts_one_maximum_for_all(_Attention):
    """Small scores come out right, and where scores are far apart some rows are NaN or zero: one maximum is
    subtracted from all of them, and exp of the others is 0. Each row needs a maximum of its own.
    """

    def _weights(self, scores, mask):
        powers = (scores - scores.max() + mask).exp()
        return powers / powers.sum(-1, keepdim=True)


@subtle
class keeps_the_first_mask(_Attention):
    """The first sequence comes out right, and a longer one later raises: the mask of the first call is kept
    where x was and cut for every length. Register the triangle for max_len, or make it in every call.
    """

    def _mask(self, x, tokens):
        return vars(self).setdefault("first", super()._mask(x, tokens))[:tokens, :tokens]


@subtle
class hides_the_future_in_training_only(_Attention):
    """In training all is right, and after `eval()` every token reads the whole sequence: the mask depends on
    the mode. It belongs in both.
    """

    def _weights(self, scores, mask):
        return super()._weights(scores, mask if self.training else torch.zeros_like(mask))


@subtle
class returns_one_buffer(_Attention):
    """Each call is right, and changes the result that an earlier one returned: all are written into the same
    memory, which stays where x is. Return a tensor of its own from each call.
    """

    def forward(self, x):
        result = super().forward(x)
        kept = vars(self).setdefault("kept", {})
        kept = kept.setdefault((result.shape, result.dtype, result.device), result.detach())
        result.data = kept.copy_(result.detach())
        return result
