"""What a known mistake answers to a case: from an answer key, or by running it when it is asked.

A mistake runs in this process, from a file with lines, with the same checks as a submission.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from typing import Protocol

import numpy as np

from grader.answer_keys.answers import Case, Recorded, RecordedMistake
from grader.checks.base import Check, CheckContext, PreparedKata
from grader.checks.runner import Failure, judge_case, run_check
from grader.course.catalog import Course
from grader.course.known_solutions import Answers
from grader.diagnosis.similarity import record
from grader.worker.in_process import LocalStudent
from grader.worker.student import run_together


class KnownMistake(Protocol):
    """A known mistake of a kata. Both questions return None for a case that it passes or cannot judge."""

    @property
    def id(self) -> str:
        """The name of the mistake."""

    @property
    def text(self) -> str:
        """What a student is told."""

    def outcome(self, check: Check, case: Case) -> Recorded | None:
        """Return how the mistake fails one case."""

    def outcomes(self, check: Check) -> list[Recorded | None]:
        """Return how it fails each case of a check, by position, after all checks before it; an empty list if
        it does not know the check."""


@dataclass(frozen=True)
class MistakeOfKey:
    """A known mistake whose answers an answer key holds."""

    recorded: RecordedMistake

    @property
    def id(self) -> str:
        return self.recorded.id

    @property
    def text(self) -> str:
        return self.recorded.text

    def outcome(self, check: Check, case: Case) -> Recorded | None:
        found = self.outcomes(check)
        return found[check.position(case)] if found else None

    def outcomes(self, check: Check) -> list[Recorded | None]:
        return self.recorded.outcomes.get(check.name, [])


class MistakeOfCourse:
    """A known mistake in the course's solutions, which runs when it is asked. It remembers what it has
    answered. Where the kata draws random numbers, an answer depends on the calls before it, so a whole check
    runs for one case."""

    def __init__(self, answers: Answers, name: str, prepared: PreparedKata) -> None:
        self.id = name
        self._answers, self._prepared, self._file = answers, prepared, answers.file_of(name)
        self._checks = {check.name: check for check in prepared.checks}
        self._single: dict[tuple[str, int], Recorded | None] = {}
        self._whole: dict[str, list[Recorded | None]] = {}  # of the first checks
        self._contexts: dict[str, CheckContext] = {}

    @property
    def text(self) -> str:
        return self._answers.text(self.id)

    def outcome(self, check: Check, case: Case) -> Recorded | None:
        key = check.name, check.position(case)
        if check.name in self._whole or self._answers.draws:
            found = self.outcomes(check)
            return found[key[1]] if found else None
        if key not in self._single:
            self._single[key] = self._ask(check, case)
        return self._single[key]

    def _ask(self, check: Check, case: Case) -> Recorded | None:
        if check.name not in self._checks:
            return None
        with self._running("single") as context:
            run = partial(judge_case, self._checks[check.name], context, case)
            found = next(iter(run_together(context.student, [run])))
            return self._recorded(found) if isinstance(found, Failure) else None

    def outcomes(self, check: Check) -> list[Recorded | None]:
        if check.name not in self._checks:
            return []
        if check.name not in self._whole:
            with self._running("whole") as context:
                for own in self._prepared.checks[len(self._whole) :]:
                    found: list[Recorded | None] = [None] * len(own.cases)
                    self._whole[own.name] = found
                    for failure in run_check(own, context).failures:
                        found[own.position(failure.case)] = self._recorded(failure)
                    if own.name == check.name:
                        break
        return self._whole[check.name]

    @contextmanager
    def _running(self, which: str) -> Iterator[CheckContext]:
        """Give the mistake, loaded anew for this purpose at the first time. An exception discards it."""
        if which not in self._contexts:
            student = LocalStudent(self._answers.fresh(self.id))
            self._contexts[which] = CheckContext(self._prepared.kata, self._prepared.oracle, student)
        try:
            with warnings.catch_warnings(), np.errstate(all="ignore"):
                warnings.simplefilter("ignore")  # a law may sum wrong answers that overflow
                yield self._contexts[which]
        except BaseException:
            del self._contexts[which]
            if which == "whole":
                self._whole.clear()
            raise

    def _recorded(self, failure: Failure) -> Recorded:
        return record(failure, self._file, self._answers.reference_source)


def known_mistakes(course: Course, prepared: PreparedKata) -> list[KnownMistake]:
    """Return the mistakes of a kata, its own before the general ones; none if there is no file of them."""
    if prepared.oracle.recorded is not None:
        return [MistakeOfKey(recorded) for recorded in prepared.oracle.recorded.mistakes]
    if not course.mistakes(prepared.info):
        return []
    answers = Answers(course, prepared.info, "mistakes")
    names = [*answers.names, *answers.general(prepared.kata)]
    return [MistakeOfCourse(answers, name, prepared) for name in names]
