"""Run all checks on the known mistakes of a kata, and cache how each mistake fails.

The mistakes run in this process, with the same checks in the same order as a submission.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from grader.answer_keys.answers import Recorded, RecordedMistake, digest
from grader.answer_keys.file import Entry, KataKey, pack
from grader.answer_keys.lookup import declaration_digest
from grader.cases.cache import cached
from grader.checks.base import Check, CheckContext, PreparedKata
from grader.checks.runner import CheckResult, run_check
from grader.course.catalog import Course
from grader.course.known_solutions import Answers
from grader.diagnosis.similarity import record
from grader.worker.in_process import LocalStudent

#: Packages whose code does not influence how a mistake is judged; changes there keep the cache valid.
IRRELEVANT = {"cli", "classroom", "notebooks", "authoring", "formats", "sandbox"}
IRRELEVANT |= {"edits", "repair.py", "waypoints.py", "locators.py", "tracing.py"}


@dataclass
class JudgedMistake:
    """A mistake with the result of every check, and its answers to all cases (None where it raised).
    `is_general` is true if it is not the kata's own."""

    recorded: RecordedMistake
    level: str
    results: list[CheckResult]
    answers: list[dict[str, Any] | None]
    is_general: bool


def mistakes_of(course: Course, prepared: PreparedKata) -> list[RecordedMistake]:
    """Return how each mistake fails: from the answer key if there is one, from the cache, or judged now."""
    oracle = prepared.oracle
    if oracle.recorded is not None:
        return oracle.recorded.mistakes
    if not oracle.keeps:
        return judged(course, prepared)
    return _cached(course, prepared).mistakes


def entry_of(course: Course, prepared: PreparedKata) -> Entry:
    """Return a kata's entry for a file of answer keys."""
    key = _cached(course, prepared)
    return key.file.entry(key.name)


def _cached(course: Course, prepared: PreparedKata) -> KataKey:
    """Return the answers from the cache, whose key is a digest of the kata's files and the judging code."""
    info = prepared.info

    def make() -> Entry:
        answers, mistakes = prepared.oracle.key, judged(course, prepared)
        return pack(info.name, declaration_digest(info), answers, mistakes)

    return cached(info.name, _digest(course, prepared), make)


def _digest(course: Course, prepared: PreparedKata) -> str:
    package = Path(__file__).parents[1]
    own = [path for path in sorted(package.rglob("*.py")) if _is_relevant(path.relative_to(package))]
    parts = [course.solution(prepared.info, part) for part in ("reference", "mistakes")]
    files = [prepared.info.path, *filter(Path.is_file, parts), *own]
    return digest(files, "mistakes", prepared.oracle.seed)


def _is_relevant(path: Path) -> bool:
    return not IRRELEVANT & set(path.parts)


def judged(course: Course, prepared: PreparedKata) -> list[RecordedMistake]:
    """Run all checks on every mistake and return the recorded outcomes."""
    return [judged.recorded for judged in judge_mistakes(course, prepared)]


def judge_mistakes(course: Course, prepared: PreparedKata) -> Iterator[JudgedMistake]:
    """Run all checks on the mistakes, one by one in the order of the file, and then on the general ones. Of
    these, one that fails no built-in check is left out, without running the laws: it does not show here."""
    if not course.solution(prepared.info, "mistakes").is_file():
        return
    answers = Answers(course, prepared.info, "mistakes")
    laws = [check for check in prepared.checks if check.parameters is not None]
    others = [check for check in prepared.checks if check.parameters is None]
    for name in [*answers.names, *answers.general(prepared.kata)]:
        is_general = name not in answers.names
        session = CheckContext(prepared.kata, prepared.oracle, LocalStudent(answers.fresh(name)))
        findings = _findings(others, session)
        if is_general and not any(finding.failures for finding in findings):
            continue
        findings += _findings(laws, session)
        outcomes = {finding.plan.name: _outcomes(finding) for finding in findings}
        recorded = RecordedMistake(name, answers.text(name), outcomes)
        yield JudgedMistake(recorded, answers.level(name), findings, session.answers(), is_general)


def _findings(checks: list[Check], session: CheckContext) -> list[CheckResult]:
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")  # a law may sum wrong answers that overflow
        return [run_check(check, session) for check in checks]


def _outcomes(finding: CheckResult) -> list[Recorded | None]:
    """Return how each case fails, or None for a case that passes or cannot be judged."""
    outcomes: list[Recorded | None] = [None] * len(finding.plan.cases)
    for failure in finding.failures:
        outcomes[finding.plan.positions[id(failure.case)]] = record(failure)
    return outcomes
