"""Which mistake explains what came back.

A mistake explains a failing case if, asked the same things in the same order, it fails there too,
with the same answer to every call and the same verdict. The mistake that explains every failing
case is named; where two mistakes were made at once, the one that explains most of them.
"""

from __future__ import annotations

import inspect
import types
from collections.abc import Iterator
from functools import cached_property
from typing import Any

from grader.catalog import Card, Course, load_file
from grader.checks import CheckPlan, Session, Skip
from grader.comparison import EPSILON, Tolerance, dtype_name, first_difference, terms_of
from grader.judging import Failure, Finding, judge_case
from grader.kata import Case, Kata, KataError
from grader.oracle import Oracle
from grader.report import Mistake
from grader.worker.codec import Handle, Phantom
from grader.worker.local import LocalStudent
from grader.worker.student import Call

#: The share of failing cases that a mistake must explain to be named.
ENOUGH = 0.6
#: Failing cases after which a mistake that has explained none of them is dropped.
SCREENED = 6


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
) -> dict[str, Suspect]:
    """For each failed check the mistake that explains it best: the one that explains most checks."""
    failed = [finding for finding in findings if finding.status in ("failed", "error")]
    if not failed or not course.solution(card, "mistakes").is_file():
        return {}
    answers = answers_of(kata, course, card, "mistakes")
    texts = _texts(course, card)
    suspects = [
        Suspect(Mistake(name, texts[name]), Session(kata, oracle, LocalStudent(answer)), findings)
        for name, answer in answers.items()
    ]
    suspects = [suspect for suspect in suspects if suspect.explains(failed[0])] or suspects
    named = {}
    for finding in failed:
        fitting = [suspect for suspect in suspects if suspect.explains(finding)]
        if fitting:
            best = max(fitting, key=lambda suspect: suspect.rank(finding))
            named[finding.plan.name] = best
            _show_first(finding, best)
    return named


class Suspect:
    """One mistake, confronted with everything that was found."""

    def __init__(self, mistake: Mistake, session: Session, findings: list[Finding]) -> None:
        self.mistake, self.session, self.findings = mistake, session, findings
        self._explained: dict[str, set[int]] = {}

    def explains_case(self, plan: CheckPlan, failure: Failure) -> bool:
        """Whether the mistake fails alike on one case that is not of the bank."""
        session = Session(self.session.kata, self.session.oracle, self.session.student)
        mine = _judge(plan, session, failure.case)
        return mine is not None and _alike(failure, mine)

    def explains(self, finding: Finding) -> bool:
        """All failing cases, or enough of them that a second mistake must account for the rest."""
        return len(self.explained(finding)) >= ENOUGH * len(finding.failures)

    def rank(self, finding: Finding) -> tuple[bool, int, float, int]:
        """All cases before most; then by failed checks explained; then by passed ones passed as well."""
        share = len(self.explained(finding)) / len(finding.failures)
        failed = [other for other in self.findings if other.status in ("failed", "error")]
        return share == 1, sum(map(self.explains, failed)), share, self._passed_alike

    @cached_property
    def _passed_alike(self) -> int:
        passed = [finding.plan for finding in self.findings if finding.status == "passed"]
        return sum(_passes(plan, self.session) for plan in passed)

    def explained(self, finding: Finding) -> set[int]:
        """The failing cases (by id) on which the mistake fails alike."""
        name = finding.plan.name
        if name not in self._explained:
            self._explained[name] = set(self._compare(finding))
        return self._explained[name]

    def _compare(self, finding: Finding) -> Iterator[int]:
        """Every case is asked, so that state builds up as it did for the submission; a mistake that
        is wrong about the first few is asked no further."""
        failures = {id(failure.case): failure for failure in finding.failures}
        hits = misses = 0
        for case in finding.plan.cases:
            mine = _judge(finding.plan, self.session, case)
            theirs = failures.get(id(case))
            if theirs is None:
                continue
            if mine is not None and _alike(theirs, mine):
                hits += 1
                yield id(case)
            else:
                misses += 1
            if misses > (1 - ENOUGH) * len(failures) or (not hits and misses >= SCREENED):
                return


def _judge(plan: CheckPlan, session: Session, case: Case) -> Failure | None:
    try:
        return judge_case(plan, session, case)
    except Skip:
        return None


def _show_first(finding: Finding, suspect: Suspect) -> None:
    """Put the smallest failing case that the mistake explains in front: it is the one to be shown."""
    explained = suspect.explained(finding)
    finding.failures.sort(key=lambda failure: id(failure.case) not in explained)


def _texts(course: Course, card: Card) -> dict[str, str]:
    module = load_file(f"dojo_mistakes_{card.name}", course.solution(card, "mistakes"))
    return {name: " ".join((getattr(module, name).__doc__ or "").split()) for name in public_names(module)}


def _passes(plan: CheckPlan, session: Session) -> bool:
    return not any(_judge(plan, session, case) for case in plan.cases)


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
    pair = _without_handles(theirs.value), _without_handles(mine.value)
    if (theirs.gradients is None) != (mine.gradients is None):
        return False
    coarser = max(_dtype(pair[0]), _dtype(pair[1]), key=lambda dtype: EPSILON.get(dtype, 0.0))
    alike = first_difference(*pair, tolerance, coarser) is None
    return alike and first_difference(theirs.gradients, mine.gradients, tolerance, coarser) is None


def _dtype(value: Any) -> str:
    if isinstance(value, list | tuple):
        return _dtype(value[0]) if value else ""
    return dtype_name(value)


def _without_handles(value: Any) -> Any:
    if isinstance(value, list | tuple):
        return [_without_handles(item) for item in value]
    if isinstance(value, Handle | Phantom):
        return value.__class__.__name__
    return value
