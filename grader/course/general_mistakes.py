"""Wrong answers to almost every kata: each takes the right answer and spoils its dtype, memory or device.

A mistake is called in place of each call of the right answer, with the right answer, its arguments, and a
dict that lives as long as the submission, or as the module that is called. The source of this file is also
executed beside submissions, so it imports NumPy alone.
"""

from __future__ import annotations

import functools
import inspect
import itertools
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

Right = Callable[..., Any]
Kept = dict[Any, Any]


@dataclass(frozen=True)
class General:
    """A general mistake, and where it is tried.

    Attributes:
        answer: Called as `answer(right, args, kwargs, kept)`; its docstring is what the student is told.
        when: Whether it can show in a kata, by the kata's declaration.
        functions: Whether functions make it.
        modules: Whether PyTorch's modules make it.
    """

    answer: Callable[[Right, Any, Any, Kept], Any]
    when: Callable[[Any], bool]
    functions: bool
    modules: bool

    @property
    def keeps_values(self) -> bool:
        """Whether a call may keep values that later calls use."""
        return "kept" in inspect.signature(self.answer).parameters

    def in_place_of(self, entry_point: Any) -> Any:
        """Return a function or a module that makes the mistake in each call of the entry point; other classes
        stay as they are."""
        if not isinstance(entry_point, type):
            return self._function(entry_point) if self.functions else entry_point
        return self._module(entry_point) if self.modules and hasattr(entry_point, "forward") else entry_point

    def _function(self, right: Right) -> Right:
        kept: Kept = {}
        return functools.wraps(right)(lambda *args, **kwargs: self.answer(right, args, kwargs, kept))

    def _module(self, right: Any) -> Any:
        def forward(module: Any, *args: Any, **kwargs: Any) -> Any:
            kept = vars(module).setdefault("_kept_by_mistake", {})
            return self.answer(functools.partial(right.forward, module), args, kwargs, kept)

        return type(right.__name__, (right,), {"forward": forward})


GENERAL: dict[str, General] = {}


def general(
    when: Callable[[Any], bool] = lambda _: True, *, functions: bool = True, modules: bool = True
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Register the decorated function as a mistake that is tried on every kata; see `General`."""

    def register(answer: Callable[..., Any]) -> Callable[..., Any]:
        GENERAL[answer.__name__] = General(answer, when, functions, modules)
        return answer

    return register


@general()
def widens_to_float64(right: Right, args: Any, kwargs: Any, _: Kept) -> Any:
    """float32 comes back as float64, twice the memory: something on the way is float64 and widens the rest.
    Check casts, and arrays made without a dtype (in NumPy also scalars, such as np.sqrt(4)). A Python float
    widens nothing.
    """
    return _each(lambda x: _cast(x, "float64") if _is_float(x) else x, right(*args, **kwargs))


@general()
def computes_in_float32(right: Right, args: Any, kwargs: Any, _: Kept) -> Any:
    """float64 arguments get results with half of their digits: the dtype is right, and something on the way
    is float32. Check casts, and tensors made without a dtype.
    """

    def rounded(x: Any) -> Any:
        return _cast(_cast(x, "float32"), "float64") if _dtype(x) == "float64" else x

    return _each(rounded, right(*args, **kwargs))


@general()
def narrows_to_float32(right: Right, args: Any, kwargs: Any, _: Kept) -> Any:
    """float64 comes back as float32, with half of its digits: somewhere an array is made or cast as float32.
    The result has the dtype of the arguments.
    """
    return _each(lambda x: _cast(x, "float32") if _dtype(x) == "float64" else x, right(*args, **kwargs))


@general(functions=False)
def keeps_the_first_dtype(right: Right, args: Any, kwargs: Any, kept: Kept) -> Any:
    """After module.double() the results still have the dtype of the first call: it was stored there, or lives
    on in a tensor that is kept. The dtype is that of the input or the weights at hand.
    """

    def cast(x: Any) -> Any:
        return _cast(x, kept.setdefault("dtype", _dtype(x))) if _is_float(x) else x

    return _each(cast, right(*args, **kwargs))


@general()
def trusts_the_memory_layout(right: Right, args: Any, kwargs: Any, _: Kept) -> Any:
    """Where an argument is a transposed view the result is wrong, elsewhere right: its numbers are taken in
    the order that they have in memory. Check what becomes of it when it is cut or flattened.
    """

    def in_memory_order(x: Any) -> Any:
        if not _is_array(x) or x.ndim < 2:
            return x
        if isinstance(x, np.ndarray):
            return x.ravel(order="K").reshape(x.shape)
        order = sorted(range(x.ndim), key=lambda axis: -x.stride(axis))
        return x.permute(order).reshape(x.shape)

    return right(*_each(in_memory_order, args), **_each(in_memory_order, kwargs))


@general(when=lambda kata: kata.library == "torch")
def expects_contiguous_memory(right: Right, args: Any, kwargs: Any, _: Kept) -> Any:
    """A tensor that is a transposed view raises an error, and others are right: `view` joins axes only where
    memory allows it. `reshape` copies where it must.
    """

    def viewed(x: Any) -> Any:
        return x.view(-1).view(x.shape) if _is_tensor(x) and x.ndim > 1 else x

    return right(*_each(viewed, args), **_each(viewed, kwargs))


@general()
def overwrites_an_argument(right: Right, args: Any, kwargs: Any, _: Kept) -> Any:
    """The caller's array holds something else after the call: an operation in place, such as `x *= …`,
    `x[...] = …` or `x.copy_(…)`, writes into the caller's memory, and the caller still needs what was there.
    Make a new array in the first step.
    """
    result = _each(_copied, right(*args, **kwargs))
    for x in filter(_is_number_array, _leaves([args, kwargs])):
        if _is_float(x):
            _without_gradients(x)[...] *= 2
        else:
            _without_gradients(x)[...] += 1
        break
    return result


@general()
def returns_one_buffer(right: Right, args: Any, kwargs: Any, kept: Kept) -> Any:
    """Each call is right, and changes the result that an earlier one returned: all are written into the same
    memory. Return an array of its own from each call.
    """

    numbers = itertools.count()  # several arrays of one call have buffers of their own

    def written(x: Any) -> Any:
        if not _is_array(x) or not x.ndim:
            return x
        x, key = _copied(x), (next(numbers), x.shape, x.dtype, str(getattr(x, "device", "")))
        buffer = kept.setdefault(key, _without_gradients(x))
        buffer[...] = _without_gradients(x)
        if not _is_tensor(x):
            return buffer
        x.data = buffer
        return x

    return _each(written, right(*args, **kwargs))


@general(modules=False)
def answers_as_the_first_time(right: Right, args: Any, kwargs: Any, kept: Kept) -> Any:
    """The first call is right, and later ones with arguments of the same shapes get its answer again:
    something outlives the call. Check what is kept between calls.
    """
    result, bound = right(*args, **kwargs), inspect.signature(right).bind(*args, **kwargs)
    bound.apply_defaults()
    given = list(_leaves([*bound.args, bound.kwargs]))
    if not all(_is_array(x) or isinstance(x, bool | int | float | str | None) for x in given):
        return result
    key = tuple((x.shape, x.dtype, str(getattr(x, "device", ""))) if _is_array(x) else x for x in given)
    return kept.setdefault(key, result)


@general(when=lambda kata: kata.grades_gradients)
def detaches_the_result(right: Right, args: Any, kwargs: Any, _: Kept) -> Any:
    """Every value is right, and no gradient comes back: the result is detached, made anew from numbers, or
    computed under no_grad. What stands before could not learn.
    """
    return _each(lambda x: x.detach() if _is_tensor(x) else x, right(*args, **kwargs))


@general(when=lambda kata: kata.checks_device)
def answers_on_the_cpu(right: Right, args: Any, kwargs: Any, _: Kept) -> Any:
    """Right on the CPU; with inputs on a GPU the result is on the CPU: it was made without a device, or
    fetched by `.cpu()`. What uses the result then meets a tensor on the wrong device.
    """
    return _each(lambda x: x.cpu() if _is_tensor(x) else x, right(*args, **kwargs))


@general(when=lambda kata: kata.library == "torch", modules=False)
def leaves_gradients_switched_on(right: Right, args: Any, kwargs: Any, _: Kept) -> Any:
    """The result is right, and a caller inside torch.no_grad() records gradients from then on: they are
    switched on at the end, whatever they were before. `with torch.no_grad()` gives back what was there.
    """
    result = right(*args, **kwargs)
    if any(map(_is_module, _leaves([args, kwargs]))):
        sys.modules["torch"].set_grad_enabled(True)
    return result


@general(when=lambda kata: kata.library == "torch", modules=False)
def leaves_the_model_in_another_mode(right: Right, args: Any, kwargs: Any, _: Kept) -> Any:
    """The result is right, and the caller's model has changed from training to evaluation mode or back. Note
    `model.training` before you switch, and bring that mode back.
    """
    result = right(*args, **kwargs)
    for module in filter(_is_module, _leaves([args, kwargs])):
        module.train(not module.training)
    return result


def _each(change: Callable[[Any], Any], value: Any) -> Any:
    """Return the value with its leaves changed; lists, tuples and dicts are copied."""
    if type(value) in (list, tuple):
        return type(value)(_each(change, item) for item in value)
    if type(value) is dict:
        return {key: _each(change, item) for key, item in value.items()}
    return change(value)


def _leaves(value: Any) -> Iterator[Any]:
    if type(value) in (list, tuple):
        for item in value:
            yield from _leaves(item)
    elif type(value) is dict:
        yield from _leaves(list(value.values()))
    else:
        yield value


def _is_tensor(value: Any) -> bool:
    torch = sys.modules.get("torch")
    return torch is not None and isinstance(value, torch.Tensor)


def _is_module(value: Any) -> bool:
    torch = sys.modules.get("torch")
    return torch is not None and isinstance(value, torch.nn.Module)


def _is_array(value: Any) -> bool:
    return isinstance(value, np.ndarray) or _is_tensor(value)


def _dtype(value: Any) -> str:
    """Return the name of the dtype of an array or of a number of NumPy; "" for any other value."""
    has_dtype = _is_array(value) or isinstance(value, np.generic)
    return str(value.dtype).removeprefix("torch.") if has_dtype else ""


def _is_float(value: Any) -> bool:
    return "float" in _dtype(value)


def _is_number_array(value: Any) -> bool:
    return _is_array(value) and (_is_float(value) or "int" in _dtype(value))


def _cast(value: Any, dtype: str) -> Any:
    return value.to(getattr(sys.modules["torch"], dtype)) if _is_tensor(value) else value.astype(dtype)


def _copied(value: Any) -> Any:
    return value.clone() if _is_tensor(value) else value.copy() if _is_array(value) else value


def _without_gradients(value: Any) -> Any:
    return value.detach() if _is_tensor(value) else value
