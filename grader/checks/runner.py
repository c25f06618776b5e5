"""Running one check over its cases: what failed, how, and what the submission had answered."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import partial

from grader.checks.base import Check, CheckContext, Skip
from grader.expect import ExpectationFailed, SubmissionFailed
from grader.kata import Case
from grader.report import CheckStatus
from grader.values.comparison import Difference
from grader.values.formatting import describe
from grader.worker.batch import run_together
from grader.worker.client import WorkerLost
from grader.worker.student import Call, Student


@dataclass
class Failure:
    """One case that a check found wrong."""

    case: Case
    status: CheckStatus
    message: str
    difference: Difference | None
    trace: list[Call]


@dataclass
class CheckResult:
    """All that one check found: the cases that it could judge, and the failures among them."""

    plan: Check
    failures: list[Failure] = field(default_factory=list)
    asked: list[Case] = field(default_factory=list)

    @property
    def status(self) -> CheckStatus:
        if self.failures:
            return self.failures[0].status
        return "passed" if self.asked else "skipped"


class CheckAborted(Exception):
    """The worker was lost in the middle of a check. `failure` says in which case, and how."""

    def __init__(self, failure: Failure) -> None:
        super().__init__(failure.message)
        self.failure = failure


def run_check(plan: Check, session: CheckContext) -> CheckResult:
    """Judge every case of the check. Raises Lost."""
    finding = CheckResult(plan)
    runs = [partial(_judged, plan, session, case) for case in plan.cases]
    for case, outcome in zip(plan.cases, run_together(session.student, runs), strict=True):
        if isinstance(outcome, Skip):
            continue
        finding.asked.append(case)
        if outcome is not None:
            finding.failures.append(outcome)
    return finding


def _judged(plan: Check, session: CheckContext, case: Case, student: Student) -> Failure | Skip | None:
    """What is wrong with one case, None where nothing is. Raises Lost."""
    session = session.beside(student)
    try:
        plan.judge(session, case)
    except ExpectationFailed as unmet:
        return Failure(case, "failed", unmet.message, unmet.difference, student.trace)
    except SubmissionFailed as raised:
        return Failure(case, *_of_error(raised), None, student.trace)
    except WorkerLost as lost:
        status: CheckStatus = "timeout" if lost.timed_out else "error"
        raise CheckAborted(Failure(case, status, str(lost), None, student.trace)) from None
    except Skip as skip:
        return skip
    except Exception:  # the law could not work with what came back; a right answer never does this
        return Failure(case, "failed", _unusable(student), None, student.trace)
    return None


def _of_error(raised: SubmissionFailed) -> tuple[CheckStatus, str]:
    if raised.kinds[0] == "NotImplementedError":
        return "failed", "This part is not written yet: it raises NotImplementedError."
    if raised.kinds[0] == "RuleBroken":
        return "failed", f"A rule of this kata is broken: {raised.message}."
    if raised.kinds[0] == "UnusableResult":
        return "failed", f"The result cannot be used: {raised.message}."
    return "error", f"The code raised {raised}."


def _unusable(student: Student) -> str:
    if not student.trace:
        return "The result cannot be used as the statement describes it."
    last = student.trace[-1]
    return f"{last.name} returned {describe(last.value)}, which cannot be used as the statement describes."
