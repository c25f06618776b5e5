"""What every check of a kata will ask, learnt from the reference, so that a worker can be asked in one piece.

All checks are run against the reference twice, the second time with every number of its answers moved by a
hair. What is asked alike both times rests on the cases alone. Checks that hand answers on, or functions, are
left out: they have to be asked call by call.
"""

from __future__ import annotations

import dataclasses
import itertools
import math
from contextlib import suppress
from typing import Any

import numpy as np

from grader.catalog import load_file
from grader.checks import CheckPlan, Session, Skip
from grader.expect import SubmissionFailed
from grader.judging import judge_case
from grader.oracle import Oracle
from grader.worker.ahead import Script, Step, step
from grader.worker.codec import Malformed
from grader.worker.executor import GROUP, Outcome, Request
from grader.worker.local import LocalStudent

MOST_BYTES = 1 << 18  # of one case; larger arrays travel better one by one


class Listener(LocalStudent):
    """The reference, and what it is asked, case by case."""

    def __init__(self, module: Any, nudges: bool) -> None:
        super().__init__(module)
        self.heard: list[Request] = []
        self._nudges = nudges
        self._groups = itertools.count(1)

    def begin(self) -> list[Request]:
        """What is heard from here on. Its numbers are the same, whatever was heard before."""
        self.heard = []
        self._begin_group()
        return self.heard

    def _begin_group(self) -> None:
        self.numbers = itertools.count(next(self._groups) * GROUP)

    def perform(self, request: Request) -> Outcome:
        asked = dataclasses.replace(request)  # the arguments themselves; what runs gets copies
        self.heard.append(asked)
        try:
            outcome = super().perform(request)
        except SubmissionFailed:  # as it should: what follows does not hang on it
            self._begin_group()
            raise
        finally:
            asked.number = request.number
        outcome.value = nudged(outcome.value) if self._nudges else outcome.value
        return outcome


def scripts(oracle: Oracle, checks: list[CheckPlan]) -> dict[str, Script]:
    """The script of each check that has one."""
    plain, moved = (_heard(oracle, checks, nudges) for nudges in (False, True))
    found = {}
    for check in checks:
        with suppress(Malformed):
            script, again = _script(plain[check.name]), _script(moved[check.name])
            if any(script.values()) and all(_agree(script[case], again[case]) for case in script):
                found[check.name] = Script(script)
    return found


def _heard(oracle: Oracle, checks: list[CheckPlan], nudges: bool) -> dict[str, dict[int, list[Request]]]:
    """What each check asks in each case (by id)."""
    reference = oracle.course.solution(oracle.card, "reference")
    listener = Listener(load_file(f"dojo_foreseen_{oracle.card.name}", reference), nudges)
    session = Session(oracle.kata, oracle, listener)
    heard: dict[str, dict[int, list[Request]]] = {}
    for check in checks:
        heard[check.name] = {}
        for case in check.cases:
            heard[check.name][id(case)] = listener.begin()
            with suppress(Skip):
                judge_case(check, session, case)
    return heard


def _script(heard: dict[int, list[Request]]) -> dict[int, list[Step]]:
    return {case: [step(request) for request in asked] for case, asked in heard.items()}


def _agree(steps: list[Step], nudged: list[Step]) -> bool:
    """Whether the same was asked, as far as a law went on with answers that had moved."""
    if sum(known.size for known in steps) > MOST_BYTES:
        return False
    return all((a.header, a.buffers) == (b.header, b.buffers) for a, b in zip(steps, nudged, strict=False))


def nudged(value: Any) -> Any:
    """The value with every floating number moved to the next one."""
    if isinstance(value, float):
        return math.nextafter(value, math.inf)
    if isinstance(value, dict):
        return {key: nudged(item) for key, item in value.items()}
    if type(value) in (list, tuple):
        return type(value)(nudged(item) for item in value)
    if isinstance(value, np.ndarray | np.generic) and value.dtype.kind == "f":
        return np.nextafter(value, value.dtype.type(np.inf))
    if type(value).__module__ == "torch" and value.dtype.is_floating_point and value.device.type == "cpu":
        return _nudged_tensor(value)
    return value


def _nudged_tensor(tensor: Any) -> Any:
    import torch

    if tensor.dtype not in (torch.float32, torch.float64, torch.bfloat16):
        return tensor
    return torch.nextafter(tensor, torch.full_like(tensor, math.inf))
