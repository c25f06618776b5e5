"""One mutant on trial: the kata's checks, in a fork with limits, up to the first that fails."""

from __future__ import annotations

import os
import select
import signal
import warnings
from collections.abc import Callable

import numpy as np

from grader.checks import Session
from grader.judging import run_check
from grader.kata import Kata
from grader.oracle import Oracle
from grader.plan import plan
from grader.worker.executor import load_module
from grader.worker.local import LocalStudent
from grader.worker.sandbox import limits, system

#: The checks that take longest come last: most mutants fall at the first cases of the first one.
DEAR = ("answers_the_same_again", "has_the_right_gradients", "stays_on_the_device")
LOADING, ENDLESS, LOST = "loading", "a limit of time", "a limit of memory"


class Trial:
    """A kata's checks, ready to be run on any number of texts."""

    def __init__(self, kata: Kata, oracle: Oracle) -> None:
        self.kata, self.oracle = kata, oracle
        self.checks = sorted(
            plan(kata, oracle), key=lambda check: check.name in DEAR and DEAR.index(check.name) + 1
        )

    def caught_by(self, source: str, seconds: float) -> str | None:
        """The check that is the first to fail, or the limit that is met; None where all hold."""
        code, said = run_forked(lambda: self._first_to_fail(source), seconds)
        if code is None:
            return ENDLESS
        return said or None if code == 0 else LOST

    def _first_to_fail(self, source: str) -> str:
        with np.errstate(all="ignore"), warnings.catch_warnings():
            warnings.simplefilter("ignore")  # what a wrong version computes is no news
            try:
                student = LocalStudent(load_module(self.kata.name, source))
            except Exception:
                return LOADING
            session = Session(self.kata, self.oracle, student)
            failing = (check.name for check in self.checks if run_check(check, session).failures)
            return next(failing, "")


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
