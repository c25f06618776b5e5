"""Measure what the calls cost that answer one case: their work, and the largest tensor that they make."""

from __future__ import annotations

from grader.kata import Arguments, Kata
from grader.worker.protocol.codec import Handle
from grader.worker.proxies import RemoteObject
from grader.worker.student import Call, LargestTensor, Student


class CostUnknown(Exception):
    """A call gets a function of the grader, whose work is counted for the reference and not for a worker."""


def measured(kata: Kata, student: Student, case: Arguments) -> tuple[int, LargestTensor]:
    """Return the floating-point operations and the largest tensor of a case. Building an object, such as a
    module, counts nothing. Raises what the calls raise, and CostUnknown."""
    with student.counting_flops():
        flops = sum(call.flops for call in _calls(kata, student, case))
    with student.counting_largest_tensor():
        made = [call.largest for call in _calls(kata, student, case) if call.largest]
    return flops, max(made, key=lambda tensor: tensor.elements, default=LargestTensor())


def _calls(kata: Kata, student: Student, case: Arguments) -> list[Call]:
    """Return the calls of a case that do not build an object."""
    student.trace.clear()
    kata.observed(student, case)
    given = [value for call in student.trace for value in (*call.args, *call.kwargs.values())]
    if any(callable(v) and not isinstance(v, RemoteObject) and not hasattr(v, "shape") for v in given):
        raise CostUnknown
    return [call for call in student.trace if not isinstance(call.value, Handle)]
