"""Judge mistakes with other random numbers: are they still caught, and do their reports still name them?

A student who makes the mistake in other words draws other numbers. So mistakes that draw are judged once more
with other seeds. Checks that the reference then fails pin the draws themselves, as a statement may: a mistake
that fails one of them is always caught, and they are left out for the name. Only the checks that a mistake
has failed are run again, since its name rests on them.
"""

from __future__ import annotations

import random
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np

from dojo_authoring.verify.judged import JudgedMistake
from dojo_authoring.verify.time_limit import limited_time
from grader.checks.context import Check, CheckContext, PreparedKata
from grader.checks.runner import CheckResult, run_check
from grader.course.catalog import Course
from grader.course.known_solutions import KnownSolutions
from grader.diagnosis.candidate import FailedCheck
from grader.diagnosis.matcher import MistakeMatcher
from grader.worker.in_process import LocalStudent
from grader.worker.protocol.messages import Outcome, Request

SHIFT = 1_000_003  # added to every seed, and once more for each further draw
DRAWS = 10  # with the draw of the verification itself


@dataclass(frozen=True)
class Redrawn:
    """What other random numbers change for a mistake: whether its report names it only while they are the
    same, and with how many of DRAWS draws it is caught."""

    named_by_chance: bool = False
    caught: int = DRAWS


def redrawn(
    course: Course, prepared: PreparedKata, judged: list[JudgedMistake], matcher: MistakeMatcher
) -> dict[str, Redrawn]:
    """Return what other random numbers change, by the name of each mistake for which they change anything."""
    drawing = _drawing(course, prepared, judged)
    if not drawing:
        return {}
    answers = KnownSolutions(course, prepared.info, "mistakes")
    with limited_time(course, prepared.info):
        pinned = {check.name for check in _failed(prepared.checks, _context(prepared, answers.reference, 1))}
    found = {}
    for mistake in drawing:
        name = mistake.recorded.id
        with limited_time(course, prepared.info):
            failed = [result for result in mistake.results if result.failures]
            again = _judge_again([result.check for result in failed], prepared, answers.fresh(name))
        mistake.steady = _is_the_same(mistake, again)
        if not mistake.steady:
            first, second = ([r for r in rs if r.check.name not in pinned] for rs in (failed, again))
            by_chance = _is_named(name, first, matcher) and not _is_named(name, second, matcher)
            with limited_time(course, prepared.info):
                certain = any(_fails_the_same(mistake, result) for result in again)
                caught = DRAWS if certain else _times_caught(prepared, answers, mistake, pinned)
            found[name] = Redrawn(by_chance, caught)
    return found


def _drawing(course: Course, prepared: PreparedKata, judged: list[JudgedMistake]) -> list[JudgedMistake]:
    """Return the kata's own mistakes that are caught and that draw, by their source, or that of the
    reference. Dropout in the reference does not count: a check that it passes with any draws does not rest on
    them. The general mistakes change no draw."""
    if not judged:
        return []
    answers = KnownSolutions(course, prepared.info, "mistakes")
    return [
        mistake
        for mistake in judged
        if not (mistake.steady or mistake.is_general)
        and any(result.failures for result in mistake.results)
        and (answers.draws or answers.draws_itself(mistake.recorded.id))
    ]


def _context(prepared: PreparedKata, module: Any, draw: int) -> CheckContext:
    return CheckContext(prepared.kata, prepared.oracle, OtherDraws(module, draw * SHIFT))


def _judge_again(checks: list[Check], prepared: PreparedKata, module: Any) -> list[CheckResult]:
    context = _context(prepared, module, 1)
    return [run_check(check, context) for check in checks]


def _failed(checks: Iterable[Check], context: CheckContext) -> Iterator[Check]:
    return (check for check in checks if run_check(check, context).failures)


def _is_the_same(mistake: JudgedMistake, again: list[CheckResult]) -> bool:
    """True if other draws have led to the same failures with the same answers."""
    return all(_is_explained(mistake, result) for result in again)


def _fails_the_same(mistake: JudgedMistake, again: CheckResult) -> bool:
    """True if a check fails with the same answers as before, so that it rests on no draw."""
    return bool(again.failures) and _is_explained(mistake, again)


def _is_explained(mistake: JudgedMistake, again: CheckResult) -> bool:
    return FailedCheck(again).is_explained_by(mistake.recorded.outcomes[again.check.name])


def _times_caught(
    prepared: PreparedKata, answers: KnownSolutions, mistake: JudgedMistake, pinned: set[str]
) -> int:
    """Return with how many of DRAWS draws a check fails; the checks that have failed before come first."""
    failed = {result.check.name for result in mistake.results if result.failures}
    if failed & pinned:
        return DRAWS
    checks = sorted(prepared.checks, key=lambda check: check.name not in failed)
    free = [check for check in checks if check.name not in pinned]
    name = mistake.recorded.id
    again = (_context(prepared, answers.fresh(name), draw) for draw in range(1, DRAWS))
    return 1 + sum(any(True for _ in _failed(free, context)) for context in again)


def _is_named(name: str, results: list[CheckResult], matcher: MistakeMatcher) -> bool:
    return name in {mistake.id for mistake in matcher.name(results).values()}


class OtherDraws(LocalStudent):
    """A student in this process for which every seed is larger by `shift`, so that it gives other numbers."""

    def __init__(self, module: Any, shift: int = SHIFT) -> None:
        super().__init__(module, seed=shift)
        self._shift = shift

    def perform(self, request: Request) -> Outcome:
        with _shifted_seeds(self._shift):
            return super().perform(request)


@contextmanager
def _shifted_seeds(shift: int) -> Iterator[None]:
    """Replace what takes a seed, so that it takes another one."""
    places: list[tuple[Any, str]] = [(random, "seed"), (np.random, "seed"), (np.random, "default_rng")]
    if torch := sys.modules.get("torch"):
        places += [(torch, "manual_seed"), (torch, "Generator")]
    originals = [(owner, name, getattr(owner, name)) for owner, name in places]
    for owner, name, original in originals:
        shifted = _generator_class if name == "Generator" else _shifted
        setattr(owner, name, shifted(original, shift))
    try:
        yield
    finally:
        for owner, name, original in originals:
            setattr(owner, name, original)


def _shifted(function: Any, shift: int) -> Any:
    def call(seed: Any = None) -> Any:
        return function(seed + shift if isinstance(seed, int | np.integer) else seed)

    return call


def _generator_class(generator: Any, shift: int) -> Any:
    class Generator(generator):  # type: ignore[misc]  # PyTorch is optional, so its class is untyped here
        def manual_seed(self, seed: int) -> Any:
            return super().manual_seed(seed + shift)

        def initial_seed(self) -> Any:  # the seed that was given, so that it can be given again
            return super().initial_seed() - shift

    return Generator
