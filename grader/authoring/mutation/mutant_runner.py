"""One mutant on trial: the kata's checks, in a fork with limits, up to the first that fails."""

from __future__ import annotations

import os
import re
import select
import signal
import warnings
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from grader.answer_keys.answers import RecordedMistake
from grader.cases.oracle import Oracle
from grader.checks.base import CheckContext
from grader.checks.builtin import plan
from grader.checks.runner import CheckResult, run_check
from grader.diagnosis.matcher import MistakeMatcher
from grader.grading.report_builder import smallest
from grader.kata import Kata
from grader.worker.child.executor import load_module
from grader.worker.child.sandbox import limits, system
from grader.worker.in_process import LocalStudent

#: The checks that take longest come last: most mutants fall at the first cases of the first one.
DEAR = ("answers_the_same_again", "has_the_right_gradients", "stays_on_the_device")
LOADING, ENDLESS, LOST = "loading", "a limit of time", "a limit of memory"


#: How a message names a line of the submission.
LINE = re.compile(r"\bline \d")


@dataclass(frozen=True)
class Verdict:
    """The check that a mutant fails first, or the limit that it meets, and what a student reads of it."""

    check: str
    is_named: bool = False  # a mistake of the course explains the failure
    is_located: bool = False  # a line of the code is named, or an entry, shape or dtype that differs

    def to_text(self) -> str:
        return f"{self.is_named:d}{self.is_located:d}{self.check}"


def from_text(text: str) -> Verdict:
    """Read what `to_text` wrote."""
    return Verdict(text[2:], text[0] == "1", text[1] == "1")


class MutantRun:
    """A kata's checks, ready to be run on any number of texts."""

    def __init__(self, kata: Kata, oracle: Oracle, mistakes: list[RecordedMistake] | None = None) -> None:
        self.kata, self.oracle, self.matcher = kata, oracle, MistakeMatcher(mistakes or [])
        self.checks = sorted(
            plan(kata, oracle), key=lambda check: check.name in DEAR and DEAR.index(check.name) + 1
        )

    def caught_by(self, source: str, seconds: float) -> str | None:
        """The check that is the first to fail, or the limit that is met; None where all hold."""
        verdict = self.judge(source, seconds)
        return verdict.check if verdict else None

    def judge(self, source: str, seconds: float) -> Verdict | None:
        """The verdict on a text; None where all checks hold."""
        code, said = run_forked(lambda: self._first_failure(source), seconds)
        if code is None:
            return Verdict(ENDLESS, is_located=True)  # a worker is asked for the line that it is in
        if code != 0:
            return Verdict(LOST)
        return from_text(said) if said else None

    def _first_failure(self, source: str) -> str:
        with np.errstate(all="ignore"), warnings.catch_warnings():
            warnings.simplefilter("ignore")  # what a wrong version computes is no news
            try:
                student = LocalStudent(load_module(self.kata.name, source))
            except Exception:
                return Verdict(LOADING, is_located=True).to_text()
            session = CheckContext(self.kata, self.oracle, student)
            findings = (run_check(check, session) for check in self.checks)
            failed = next((finding for finding in findings if finding.failures), None)
            return self._verdict(failed).to_text() if failed else ""

    def _verdict(self, failed: CheckResult) -> Verdict:
        shown = smallest(failed)
        is_located = shown.difference is not None or bool(LINE.search(shown.message))
        return Verdict(failed.plan.name, bool(self.matcher.name([failed])), is_located)


def run_forked(work: Callable[[], str], seconds: float) -> tuple[int | None, str]:
    """What `work` returns in a fork of this process, and the fork's exit code; no code where it had to be
    stopped. Whatever the work leaves behind goes with the fork."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        _be_the_fork(work, writing)
    os.close(writing)
    with os.fdopen(reading, "rb") as answer:
        ended = bool(select.select([answer], [], [], seconds)[0])
        if not ended:
            os.kill(child, signal.SIGKILL)
        said = answer.read().decode()
    status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    return (status if ended else None), said


def _be_the_fork(work: Callable[[], str], writing: int) -> None:
    code = 1
    try:
        system.control(system.PR_SET_PDEATHSIG, signal.SIGKILL)
        limits.restrict()
        os.write(writing, work().encode())
        code = 0
    finally:
        os._exit(code)
