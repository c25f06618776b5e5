"""Call trusted code in this process, or in a fork of it: references, known mistakes, and submissions in plain
pytest."""

from __future__ import annotations

import copy
import itertools
import os
import warnings
from collections.abc import Callable
from contextlib import closing, nullcontext
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from grader.expect import SubmissionFailed
from grader.values.exchange import AS_IT_IS, TRANSLATED
from grader.worker.child.executor import Executor, describe_error, load_module, seed_random_numbers
from grader.worker.child.sandbox import limits
from grader.worker.protocol.codec import in_one_line, span_of
from grader.worker.protocol.messages import Outcome, Request
from grader.worker.student import Student

if TYPE_CHECKING:
    from grader.processes.pool import Lost


class LocalStudent(Student):
    """A student whose module runs in this process; only for trusted code."""

    def __init__(self, module: Any, filename: str = "", seed: int = 0) -> None:
        super().__init__()
        seed_random_numbers(seed)
        self._executor = Executor(module)
        self._numbers = itertools.count(1)
        name = getattr(module, "__name__", "")
        self._filename = filename or getattr(module, "__file__", None) or f"{name}.py"

    @classmethod
    def from_source(cls, name: str, source: str, recorder: str = "") -> LocalStudent:
        """Return a student with the source as its module; see `load_module`. Raises what the source
        raises."""
        return cls(load_module(name, source, recorder=recorder))

    def perform(self, request: Request) -> Outcome:
        request.args, request.kwargs = _copied([request.args, request.kwargs])
        request.number = next(self._numbers)
        self._executor.call_back = lambda number, args: request.functions[number](*args)
        try:
            with np.errstate(all="ignore"), warnings.catch_warnings():
                warnings.simplefilter("ignore")  # warnings are not graded
                outcome = self._executor.run(request)
        except Exception as error:
            text = describe_error(error, self._filename)
            message = in_one_line(text["message"])  # as for an error from a worker
            raise SubmissionFailed(tuple(text["kinds"]), message, text["line"], text["columns"]) from error
        outcome.value = _copied(outcome.value)  # a later call may write into the same memory
        return outcome


class LocalTensorStudent(LocalStudent):
    """A student in PyTorch of a NumPy kata: arrays arrive as tensors, and tensors come back as arrays."""

    def perform(self, request: Request) -> Outcome:
        request.args, request.kwargs = _as_tensors([request.args, request.kwargs])
        request.functions = [_called_back(function) for function in request.functions]
        outcome = super().perform(request)
        outcome.value, outcome.arguments = _as_arrays((outcome.value, outcome.arguments))
        return outcome


def _as_tensors(value: Any) -> Any:
    """Return what a value is for an answer in PyTorch, with tensors for arrays."""
    header, buffers = TRANSLATED.encode({"value": value}, gaps=True)
    return AS_IT_IS.decode(header, bytearray(b"".join(buffers)))["value"]


def _as_arrays(value: Any) -> Any:
    """Return what a value of such an answer is for the kata, with arrays for tensors."""
    header, buffers = AS_IT_IS.encode({"value": value}, gaps=True)
    return TRANSLATED.decode(header, bytearray(b"".join(buffers)))["value"]


def _called_back(function: Callable[..., Any]) -> Callable[..., Any]:
    return lambda *args: _as_tensors(function(*_as_arrays(args)))


def _copied(value: Any) -> Any:
    """Copy arguments and results as sending them would: arrays keep their strides, functions are shared."""
    kind = type(value)
    if kind is list:
        return [_copied(item) for item in value]
    if kind is tuple:
        return tuple([_copied(item) for item in value])
    if kind is dict:
        return {key: _copied(item) for key, item in value.items()}
    if hasattr(value, "strides"):
        span = span_of(value) if isinstance(value, np.ndarray) else None
        if span is not None:
            return span.array(value.shape)
        return value.copy("K") if hasattr(value, "copy") else value
    if type(value).__module__ == "torch" and hasattr(value, "clone"):
        return _copied_tensor(value)
    return value if callable(value) else copy.copy(value)


def _copied_tensor(tensor: Any) -> Any:
    import torch

    if tensor.is_contiguous() or tensor.requires_grad or tensor.dtype is torch.bfloat16:
        return tensor.clone()
    span = span_of(tensor.numpy())
    if span is None:
        return tensor.clone()
    return torch.from_numpy(span.entries).as_strided(tensor.shape, span.steps, span.first)


Result = TypeVar("Result")


def run_forked(work: Callable[[], Result], seconds: float) -> Result | Lost:
    """Run `work` in a fork of this process with limits, and return what it returns, which is pickled. It is
    lost if it raises, if it ends the fork, or if it was killed after `seconds` on the clock."""
    from grader.processes.pool import Pool  # a verdict does without multiprocessing

    def limited(_: None) -> Result:
        limits.restrict()
        try:
            return work()
        except BaseException:
            os._exit(1)

    with closing(Pool(lambda: nullcontext(limited), 1, seconds=seconds, tries=1, forks=True)) as pool:
        ((_, answer),) = pool.run(iter([None]))
    return answer
