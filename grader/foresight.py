"""What every check of a kata will ask, learnt from the reference, so that a worker can be asked in one piece.

All checks are run against the reference three times: as it is, with every floating number of its answers
moved by a hair, and with every integer moved to its neighbour. What is asked alike each time rests on the
cases alone, and so gives no answer away to a worker that knows it by heart; an answer that is handed on as it
is stands in a script as that. Checks that hand on what they make of answers, or functions, are left out: they
have to be asked call by call.
"""

from __future__ import annotations

import dataclasses
import itertools
import math
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from typing import Any

import numpy as np

from grader.arrays import in_leaves
from grader.catalog import load_file
from grader.checks import CheckPlan, Session, Skip
from grader.expect import SubmissionFailed, going_on
from grader.judging import judge_case
from grader.oracle import Oracle
from grader.worker.codec import Malformed
from grader.worker.local import LocalStudent
from grader.worker.requests import GROUP, HandedOn, Outcome, Request
from grader.worker.script import Script, Step, step

MOST_BYTES = 1 << 21  # of one case


#: By check, and by the id of the case.
Heard = dict[str, dict[int, list[Request]]]


class Listener(LocalStudent):
    """The reference, and what it is asked, case by case."""

    def __init__(self, module: Any, moved: Callable[[Any], Any]) -> None:
        super().__init__(module)
        self.heard: list[Request] = []
        self._answers: list[tuple[Request, Any, HandedOn]] = []  # to this case, and as they were given
        self._moved = moved
        self._groups = itertools.count(1)

    def begin(self) -> list[Request]:
        """What is heard from here on. Its numbers are the same, whatever was heard before."""
        self.heard, self._answers = [], []
        self._begin_group()
        return self.heard

    def _begin_group(self) -> None:
        self.numbers = itertools.count(next(self._groups) * GROUP)

    def perform(self, request: Request) -> Outcome:
        # the arguments themselves, or what stands for them; what runs gets copies
        args, kwargs = in_leaves(self._referred, [request.args, request.kwargs])
        asked = dataclasses.replace(request, args=args, kwargs=kwargs)
        self.heard.append(asked)
        try:
            outcome = super().perform(request)
        except SubmissionFailed:  # as it should: what follows does not hang on it
            self._begin_group()
            raise
        finally:
            asked.number = request.number
        outcome.value = self._moved(outcome.value)
        if isinstance(outcome.value, np.ndarray) or _is_tensor(outcome.value):
            self._answers.append((asked, outcome.value, HandedOn.of(outcome.value)))
        return outcome

    def _referred(self, value: Any) -> Any:
        """What stands for an answer of this case that is handed on just as it was given."""
        for asked, answer, given in self._answers:
            if answer is value and HandedOn.of(value) == given:
                asked.hands_on = True
                return asked.answer
        return value


def scripts(oracle: Oracle, checks: list[CheckPlan]) -> dict[str, Script]:
    """The script of each check that has one."""
    plain = _heard(oracle, checks, lambda value: value)
    with going_on():
        moved = [_heard(oracle, checks, partial(in_leaves, change)) for change in (next_float, next_integer)]
    found = {}
    for check in checks:
        with suppress(Malformed):
            script, *others = (_script(heard[check.name]) for heard in (plain, *moved))
            if any(script.values()) and all(_agree(script, other) for other in others):
                found[check.name] = Script(script)
    return found


def _heard(oracle: Oracle, checks: list[CheckPlan], moved: Callable[[Any], Any]) -> Heard:
    """What each check asks in each case (by id)."""
    reference = oracle.course.solution(oracle.card, "reference")
    listener = Listener(load_file(f"dojo_foreseen_{oracle.card.name}", reference), moved)
    session = Session(oracle.kata, oracle, listener)
    heard: Heard = {}
    for check in checks:
        heard[check.name] = {}
        for case in check.cases:
            heard[check.name][id(case)] = listener.begin()
            with suppress(Skip):
                judge_case(check, session, case)
    return heard


def _script(heard: dict[int, list[Request]]) -> dict[int, list[Step]]:
    return {case: [step(request) for request in asked] for case, asked in heard.items()}


def _agree(script: dict[int, list[Step]], other: dict[int, list[Step]]) -> bool:
    """Whether the same is asked in every case, to the end, and none is too large."""
    return all(
        sum(known.size for known in steps) <= MOST_BYTES
        and [(known.header, known.buffers) for known in steps]
        == [(known.header, known.buffers) for known in other[case]]
        for case, steps in script.items()
    )


def next_float(value: Any) -> Any:
    """Every floating number moved to the next one."""
    if type(value) is float:
        return math.nextafter(value, math.inf)
    if isinstance(value, np.ndarray | np.generic) and value.dtype.kind == "f":
        return np.nextafter(value, value.dtype.type(np.inf))
    return _next_tensor(value) if _is_tensor(value) and value.is_floating_point() else value


def _next_tensor(tensor: Any) -> Any:
    import torch

    if tensor.dtype not in (torch.float32, torch.float64, torch.bfloat16):
        return tensor
    return torch.nextafter(tensor, torch.full_like(tensor, math.inf))


def next_integer(value: Any) -> Any:
    """Every integer moved to its neighbour, an even one up and an odd one down; and every bool of an array to
    the other."""
    if type(value) is int:
        return value ^ 1
    if isinstance(value, np.ndarray | np.generic) and value.dtype.kind in "iub":
        return np.logical_not(value) if value.dtype.kind == "b" else np.bitwise_xor(value, 1)
    if _is_tensor(value) and not value.is_floating_point() and not value.is_complex():
        return ~value if str(value.dtype) == "torch.bool" else value ^ 1
    return value


def _is_tensor(value: Any) -> bool:
    return type(value).__module__ == "torch" and hasattr(value, "device") and value.device.type == "cpu"
