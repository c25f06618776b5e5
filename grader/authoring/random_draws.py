"""Find mistakes that are named only because verification draws the same random numbers again.

A student who makes the mistake in other words draws other numbers. So mistakes that draw are judged once more
with other seeds. Checks that the reference then fails are left out: they pin the draws themselves, as a
statement may.
"""

from __future__ import annotations

import random
import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from grader.authoring.time_limit import limited_time
from grader.checks.base import CheckContext, PreparedKata
from grader.checks.runner import CheckResult, run_check
from grader.course.catalog import Course
from grader.course.known_solutions import Answers, excerpt
from grader.diagnosis.matcher import MistakeMatcher
from grader.diagnosis.recording import JudgedMistake
from grader.worker.child.executor import seed_random_numbers
from grader.worker.in_process import LocalStudent
from grader.worker.protocol.messages import Outcome, Request

SHIFT = 1_000_003  # added to every seed
DRAWS = re.compile(r"rand|rng|generator|multinomial|bernoulli|dropout|shuffle|permut|choice", re.IGNORECASE)


def named_by_chance(
    course: Course, prepared: PreparedKata, judged: list[JudgedMistake], matcher: MistakeMatcher
) -> set[str]:
    """Return the names of the mistakes whose reports name them only while the random numbers are the same."""
    path = course.solution(prepared.info, "mistakes")
    source = path.read_text(encoding="utf-8") if judged else ""
    drawing = [mistake for mistake in judged if DRAWS.search(excerpt(source, mistake.recorded.id))]
    if not drawing:
        return set()
    answers = Answers(course, prepared.info, "mistakes")
    pinned = _failed(_judge(course, prepared, answers.reference))
    found = set()
    for mistake in drawing:
        name = mistake.recorded.id
        again = _judge(course, prepared, answers.fresh(name))
        first, second = ([r for r in rs if r.plan.name not in pinned] for rs in (mistake.results, again))
        if _is_named(name, first, matcher) and not _is_named(name, second, matcher):
            found.add(name)
    return found


def _judge(course: Course, prepared: PreparedKata, module: Any) -> list[CheckResult]:
    session = CheckContext(prepared.kata, prepared.oracle, OtherDraws(module))
    with limited_time(course, prepared.info):
        return [run_check(check, session) for check in prepared.checks]


def _failed(results: list[CheckResult]) -> set[str]:
    return {result.plan.name for result in results if result.failures}


def _is_named(name: str, results: list[CheckResult], matcher: MistakeMatcher) -> bool:
    return name in {mistake.id for mistake in matcher.name(results).values()}


class OtherDraws(LocalStudent):
    """A student in this process for which every seed gives other random numbers."""

    def __init__(self, module: Any) -> None:
        super().__init__(module)
        seed_random_numbers(SHIFT)

    def perform(self, request: Request) -> Outcome:
        with _shifted_seeds():
            return super().perform(request)


@contextmanager
def _shifted_seeds() -> Iterator[None]:
    """Replace what takes a seed, so that it takes another one."""
    places: list[tuple[Any, str]] = [(random, "seed"), (np.random, "seed"), (np.random, "default_rng")]
    if torch := sys.modules.get("torch"):
        places += [(torch, "manual_seed"), (torch, "Generator")]
    originals = [(owner, name, getattr(owner, name)) for owner, name in places]
    for owner, name, original in originals:
        setattr(owner, name, _generator_class(original) if name == "Generator" else _shifted(original))
    try:
        yield
    finally:
        for owner, name, original in originals:
            setattr(owner, name, original)


def _shifted(function: Any) -> Any:
    def call(seed: Any = None) -> Any:
        return function(seed + SHIFT if isinstance(seed, int | np.integer) else seed)

    return call


def _generator_class(generator: Any) -> Any:
    class Generator(generator):  # type: ignore[misc]  # PyTorch is optional, so its class is untyped here
        def manual_seed(self, seed: int) -> Any:
            return super().manual_seed(seed + SHIFT)

    return Generator
