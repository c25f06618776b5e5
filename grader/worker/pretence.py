"""Life on another device, pretended where there is none."""

from __future__ import annotations

import contextlib
import functools
import logging
from collections.abc import Callable
from typing import Any

from grader.worker import compiler

Function = Callable[..., Any]


class Pretence:
    """Calls on a pretended device, which stays the same from call to call.

    Inside PyTorch's FakeTensorMode tensors have shape, dtype and device and no values. `lazy` is
    pretended: on a CPU build indexing a pretended `cuda` tensor raises, and `meta` overlooks an
    embedding whose ids stayed behind. Its number is said, since `torch.tensor(1.0, device=x.device)`
    is put on `lazy:0` either way and would not meet `lazy`.
    """

    DEVICE = "lazy:0"

    def __init__(self) -> None:
        self._mode: Any = None

    def call(self, function: Function, args: list[Any], kwargs: dict[str, Any]) -> Any:
        """The call with every tensor moved over; a module's parameters and buffers move along."""
        import torch

        owner = function if isinstance(function, torch.nn.Module) else getattr(function, "__self__", None)
        modules = [m for m in (owner, *args, *kwargs.values()) if isinstance(m, torch.nn.Module)]
        if isinstance(function, type) or (modules and _is_upkeep(torch, function)):
            return function(*args, **kwargs)
        with compiler.kept_out(), self._fake_mode(), contextlib.ExitStack() as stack:
            for module in modules:
                state = {**dict(module.named_parameters()), **dict(module.named_buffers())}
                moved = self._move(torch, state)
                stack.enter_context(
                    torch.nn.utils.stateless._reparametrize_module(module, moved, tie_weights=True)
                )
            stack.enter_context(torch.no_grad())
            return function(*self._move(torch, args), **self._move(torch, kwargs))

    def _fake_mode(self) -> Any:
        if self._mode is None:
            from torch._subclasses.fake_tensor import FakeTensorMode

            compiler.spare(FakeTensorMode)
            _start_autograd()
            logging.getLogger("torch._subclasses.fake_tensor").setLevel(
                logging.CRITICAL
            )  # errors are raised too
            self._mode = FakeTensorMode(allow_non_fake_inputs=True)
        return self._mode

    def _move(self, torch: Any, value: Any) -> Any:
        if isinstance(value, torch.Tensor) and type(value).__name__ != "FakeTensor":
            return torch.empty_strided(
                tuple(value.shape), value.stride(), dtype=value.dtype, device=self.DEVICE
            )
        if type(value) in (list, tuple):
            return type(value)(self._move(torch, item) for item in value)
        if type(value) is dict:
            return {key: self._move(torch, item) for key, item in value.items()}
        return value


def _is_upkeep(torch: Any, function: Function) -> bool:
    """Methods that every module has, such as `double` and `load_state_dict`: not the submission's work."""
    return getattr(function, "__name__", "") in vars(torch.nn.Module)


def _start_autograd() -> None:
    """The engine counts devices when it is first used, and starts a thread for each. Pretending wakes those
    of a CUDA build, and a worker may start no threads; so it is used once before."""
    import torch

    torch.zeros(1, requires_grad=True).sum().backward()  # type: ignore[no-untyped-call]  # as PyTorch has it


def warm_up() -> None:
    """Have done once what every first call on a pretended device does: 0.6 s of imports, and for each
    operation some milliseconds until it is known what it does to shapes."""
    import torch

    with contextlib.suppress(Exception):  # an operation that some other version lacks takes its time later
        Pretence().call(functools.partial(_what_decoders_do, torch), [torch.zeros(2, 4)], {})


def _what_decoders_do(torch: Any, x: Any) -> None:
    """The operations of attention, normalisation and sampling, each once; x (2, 4)."""
    functional, ids = torch.nn.functional, torch.arange(2, device=x.device)
    future = torch.triu(torch.ones(4, 4, dtype=torch.bool, device=x.device), 1)
    heads = functional.linear(x, x.new_zeros(4, 4), x.new_zeros(4)).view(1, 2, 2, 2).transpose(1, 2)
    scores = heads @ heads.transpose(-2, -1) / torch.tensor(2.0, device=x.device).sqrt()
    weights = torch.softmax(scores.masked_fill(future[:2, :2], float("-inf")), -1)
    rows = functional.dropout((weights @ heads).transpose(1, 2).reshape(2, 4), 0.1)
    functional.layer_norm(x + rows, (4,), x[0], x[1])
    (rows - rows.mean(-1, keepdim=True)) * torch.rsqrt(rows.var(-1, unbiased=False, keepdim=True) + 1e-5)
    functional.relu(functional.embedding(ids, x)) * functional.gelu(torch.sin(x)) - torch.cos(x).exp()
    functional.cross_entropy(x, ids), functional.log_softmax(x, -1), torch.einsum("ij,kj->ik", x, x)
    functional.scaled_dot_product_attention(heads, heads, heads, is_causal=True)
    ordered, order = torch.sort(x, descending=True)
    kept = torch.where(ordered.cumsum(-1) > 0.9, ordered, float("-inf")).scatter(-1, order, 0.0)
    torch.cat([kept.gather(-1, order), torch.topk(x, 4).values]).max(-1), kept.argmax(-1), x.tril(), x.sum(-1)
    torch.multinomial(x.abs(), 1), torch.stack([x, x]).chunk(2), torch.full_like(x, 2.0)[:, ids], x[:, None]
