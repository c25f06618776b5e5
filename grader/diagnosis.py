"""Which mistake explains what came back.

A mistake explains a failed check if, asked the same things in the same order, it fails every case
that the submission fails, with the same answers in every call and the same verdict.
"""

from __future__ import annotations

import inspect
import types
from collections.abc import Iterator
from typing import Any

from grader.catalog import Card, Course, load_file
from grader.checks import CheckPlan, Session, Skip
from grader.comparison import Tolerance, dtype_name, first_difference, terms_of
from grader.judging import Failure, Finding, judge_case
from grader.kata import Kata, KataError
from grader.oracle import Oracle
from grader.report import Mistake
from grader.worker.codec import Handle, Phantom
from grader.worker.proxy import Call, LocalStudent


def public_names(module: types.ModuleType) -> list[str]:
    """Functions and classes that a module defines itself, in the order in which they stand."""
    found = [
        (name, value)
        for name, value in vars(module).items()
        if not name.startswith("_") and getattr(value, "__module__", None) == module.__name__
    ]
    return [name for name, value in found if callable(value)]


def replaced_by(answer: Any, reference: Any, entry_points: tuple[str, ...]) -> dict[str, Any]:
    """Which entry points an answer stands in for: a class those that it has as members, anything
    else the one whose parameters it has. Raises KataError where that is not clear."""
    if inspect.isclass(answer):
        members = {name: getattr(answer, name) for name in entry_points if name in vars(answer)}
        if members:
            return members
        classes = [name for name in entry_points if inspect.isclass(getattr(reference, name))]
        return {classes[0]: answer} if classes else {}
    same = [
        name
        for name in entry_points
        if list(inspect.signature(getattr(reference, name)).parameters)
        == list(inspect.signature(answer).parameters)
    ]
    if len(same) != 1:
        raise KataError(f"{answer.__name__} has the parameters of no single entry point of {entry_points}.")
    return {same[0]: answer}


def answers_of(kata: Kata, course: Course, card: Card, part: str) -> dict[str, types.SimpleNamespace]:
    """Every public answer in `mistakes` or `variants`, as a module with all entry points."""
    module = load_file(f"dojo_{part}_{card.name}", course.solution(card, part))
    reference = load_file(f"dojo_reference_{card.name}", course.solution(card, "reference"))
    entries = {name: getattr(reference, name) for name in kata.entry_points}
    return {
        name: types.SimpleNamespace(
            **{**entries, **replaced_by(getattr(module, name), reference, kata.entry_points)},
            __name__=card.name,
        )
        for name in public_names(module)
    }


def name_mistakes(
    kata: Kata, course: Course, card: Card, oracle: Oracle, findings: list[Finding]
) -> dict[str, Mistake]:
    """For each failed check the mistake that explains it best: the one that explains most checks."""
    failed = [finding for finding in findings if finding.status in ("failed", "error")]
    if not failed or not course.solution(card, "mistakes").is_file():
        return {}
    texts = _texts(course, card)
    explained = {
        name: {finding.plan.name for finding in failed if _explains(kata, oracle, student, finding)}
        for name, student in _fresh_students(kata, course, card)
    }
    reach = {name: _reach(kata, course, card, oracle, name, findings, found) for name, found in explained.items()}
    named = {}
    for finding in failed:
        fitting = [name for name, found in explained.items() if finding.plan.name in found]
        if fitting:
            best = max(fitting, key=lambda name: reach[name])
            named[finding.plan.name] = Mistake(best, texts[best])
    return named


def _texts(course: Course, card: Card) -> dict[str, str]:
    module = load_file(f"dojo_mistakes_{card.name}", course.solution(card, "mistakes"))
    return {name: " ".join((getattr(module, name).__doc__ or "").split()) for name in public_names(module)}


def _fresh_students(kata: Kata, course: Course, card: Card) -> Iterator[tuple[str, LocalStudent]]:
    for name, answer in answers_of(kata, course, card, "mistakes").items():
        yield name, LocalStudent(answer)


def _reach(
    kata: Kata,
    course: Course,
    card: Card,
    oracle: Oracle,
    name: str,
    findings: list[Finding],
    explained: set[str],
) -> tuple[int, int]:
    """How many failed checks a mistake explains; then how many passed ones it passes as well."""
    if not explained:
        return 0, 0
    answer = answers_of(kata, course, card, "mistakes")[name]
    session = Session(kata, oracle, LocalStudent(answer))
    passed = [finding.plan for finding in findings if finding.status == "passed"]
    return len(explained), sum(_passes(plan, session) for plan in passed)


def _passes(plan: CheckPlan, session: Session) -> bool:
    for case in plan.cases:
        try:
            if judge_case(plan, session, case):
                return False
        except Skip:
            continue
    return True


def _explains(kata: Kata, oracle: Oracle, student: LocalStudent, finding: Finding) -> bool:
    """Whether the mistake fails as the submission did. Every case is asked, so that state builds up alike."""
    session = Session(kata, oracle, student)
    failures = {id(failure.case): failure for failure in finding.failures}
    for case in finding.plan.cases:
        try:
            mine = judge_case(finding.plan, session, case)
        except Skip:
            mine = None
        theirs = failures.get(id(case))
        if theirs is not None and (mine is None or not _alike(theirs, mine)):
            return False
    return True


def _alike(theirs: Failure, mine: Failure) -> bool:
    """The same verdict after the same answers."""
    if theirs.status != mine.status or len(theirs.trace) != len(mine.trace):
        return False
    if theirs.status == "failed" and theirs.message.split(" (line")[0] != mine.message.split(" (line")[0]:
        return bool(theirs.difference or mine.difference) and _same_calls(theirs, mine)
    return _same_calls(theirs, mine)


def _same_calls(theirs: Failure, mine: Failure) -> bool:
    tolerance = Tolerance(terms_of(theirs.case), 16)
    return all(_same_answer(a, b, tolerance) for a, b in zip(theirs.trace, mine.trace, strict=True))


def _same_answer(theirs: Call, mine: Call, tolerance: Tolerance) -> bool:
    if theirs.error or mine.error:
        return theirs.error[:1] == mine.error[:1]
    if isinstance(theirs.value, Handle | Phantom):
        return type(theirs.value) is type(mine.value)
    if _dtypes(theirs.value) != _dtypes(mine.value):
        return False
    try:
        return first_difference(_without_handles(theirs.value), _without_handles(mine.value), tolerance) is None
    except (TypeError, ValueError):
        return False


def _dtypes(value: Any) -> Any:
    if isinstance(value, list | tuple):
        return [_dtypes(item) for item in value]
    return dtype_name(value) if hasattr(value, "dtype") else None


def _without_handles(value: Any) -> Any:
    if isinstance(value, list | tuple):
        return [_without_handles(item) for item in value]
    if isinstance(value, Handle | Phantom):
        return value.__class__.__name__
    return value
