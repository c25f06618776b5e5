"""Run a kata's checks on a mutant, in a fork with limits, until the first one fails."""

from __future__ import annotations

import re
import warnings
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from grader.cases.oracle import Oracle
from grader.checks.context import CheckContext
from grader.checks.kata_checks import checks_of
from grader.checks.runner import CheckResult, run_check, smallest
from grader.diagnosis.known_mistakes import KnownMistake
from grader.diagnosis.matcher import matcher_of
from grader.kata import Kata
from grader.processes.pool import Lost
from grader.worker.in_process import LocalStudent, run_forked

LOADING, ENDLESS, LOST = "loading", "a limit of time", "a limit of memory"
#: Matches a message that names a line of the submission.
LINE = re.compile(r"\bline \d")


@dataclass(frozen=True)
class MutantResult:
    """The first check that a mutant fails, or the limit that it exceeds, and what its report would show."""

    check: str
    is_named: bool = False  # the report names a mistake of the course
    is_located: bool = False  # the report names a line, or an entry, shape or dtype that differs


class MutantRunner:
    """The checks of a kata, prepared to run on any number of mutants."""

    def __init__(self, kata: Kata, oracle: Oracle, mistakes: Sequence[KnownMistake] = ()) -> None:
        self.kata, self.oracle, self.matcher = kata, oracle, matcher_of(kata, mistakes)
        # most mutants fail the first check at its first cases
        self.checks = sorted(checks_of(kata, oracle), key=lambda check: check.nature.is_slow)

    def judge(self, source: str, seconds: float) -> MutantResult | None:
        """Return the result for a source; None if all checks pass."""
        found = run_forked(lambda: self._first_failure(source), seconds)
        if not isinstance(found, Lost):
            return found
        # reports name the line at which a timeout occurs
        return MutantResult(ENDLESS, is_located=True) if found.is_late else MutantResult(LOST)

    def _first_failure(self, source: str) -> MutantResult | None:
        with np.errstate(all="ignore"), warnings.catch_warnings():
            warnings.simplefilter("ignore")  # mutants are expected to cause warnings
            try:
                student = LocalStudent.from_source(self.kata.name, source)
            except Exception:
                return MutantResult(LOADING, is_located=True)
            context = CheckContext(self.kata, self.oracle, student)
            results = (run_check(check, context) for check in self.checks)
            failed = next((result for result in results if result.failures), None)
            return self._result(failed) if failed else None

    def _result(self, failed: CheckResult) -> MutantResult:
        shown = smallest(failed)
        is_located = shown.difference is not None or bool(LINE.search(shown.message))
        return MutantResult(failed.check.name, bool(self.matcher.name([failed])), is_located)
