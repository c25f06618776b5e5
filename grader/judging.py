"""Running one check over its cases: what failed, how, and what the submission had answered."""

from __future__ import annotations

from collections.abc import Hashable
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import cached_property

from grader.checks import CheckPlan, Session, Skip
from grader.comparison import Difference
from grader.describing import describe
from grader.expect import SubmissionFailed, Unmet
from grader.kata import Case
from grader.precedents import Grounds
from grader.report import Check, CheckStatus
from grader.worker.remote import WorkerLost
from grader.worker.student import Call


@dataclass
class Failure:
    """One case that a check found wrong."""

    case: Case
    status: CheckStatus
    message: str
    difference: Difference | None
    trace: list[Call]
    likeness: dict[str, bool] = field(default_factory=dict)  # to each mistake that it was compared with
    told: dict[str, Check] = field(default_factory=dict)  # what is said of it, by mistake


@dataclass
class Finding:
    """All that one check found. `skipped` says that no case could be judged."""

    plan: CheckPlan
    failures: list[Failure] = field(default_factory=list)
    skipped: bool = False
    asked: list[Case] = field(default_factory=list)
    rests_on: Hashable | None = None  # names all answers, where they are known to be all

    @property
    def name(self) -> Hashable | None:
        """Equal for findings of which the same is to be said; None where others may only look the same."""
        return self.rests_on if self.failures else (self.plan.name, *map(id, self.asked))

    @cached_property
    def by_position(self) -> list[Failure]:
        """The failures in the order of the plan's cases, whichever is put first to be shown."""
        order = self.plan.positions
        return sorted(self.failures, key=lambda failure: order.get(id(failure.case), len(order)))

    @property
    def status(self) -> CheckStatus:
        if self.failures:
            return self.failures[0].status
        return "skipped" if self.skipped else "passed"


#: Failing cases after which a check has said enough. Agreement with the reference is asked to the end,
#: since it is what tells mistakes apart.
ENOUGH_FAILURES = 12


def run_check(plan: CheckPlan, session: Session) -> Finding:
    """Judge every case of the check, if nobody has answered just so before. Raises WorkerLost where the
    submission is gone."""
    with session.foreseeing(plan) as grounds:
        if grounds is None:
            return _judged(plan, session)
        found = _found(plan, session, grounds)
    return replace(found, failures=[*found.failures])  # their order is each submission's own


def _found(plan: CheckPlan, session: Session, grounds: Grounds) -> Finding:
    known = session.precedents
    if known.settle(grounds):
        return known[grounds.name]  # type: ignore[no-any-return]  # of several kinds
    finding = _judged(plan, session, grounds)
    if grounds.hold:
        wrong = [grounds.of_case(id(failure.case)) for failure in finding.failures]
        known.keep(grounds.name, finding, sum(answers.size for answers in wrong))
    return finding


def _judged(plan: CheckPlan, session: Session, grounds: Grounds | None = None) -> Finding:
    finding = Finding(plan, rests_on=grounds and grounds.name)
    for case in plan.cases:
        with suppress(Skip):
            outcome = _outcome(plan, session, case, grounds and grounds.of_case(id(case)))
            finding.asked.append(case)
            if outcome is not None:
                finding.failures.append(outcome)
        if len(finding.failures) >= ENOUGH_FAILURES and not plan.looks_only:
            break
    finding.skipped = not finding.asked
    return finding


def _outcome(plan: CheckPlan, session: Session, case: Case, grounds: Grounds | None) -> Failure | None:
    """A case of which it is known that nothing is wrong with it is not judged again."""
    if grounds is None:
        return judge_case(plan, session, case)
    if session.precedents.settle(grounds):
        return None
    with session.student.answering(next(iter(grounds))):
        failure = judge_case(plan, session, case)
    if failure is None and grounds.hold:
        session.precedents.keep(grounds.name, None)
    return failure


def failure_of(plan: CheckPlan, session: Session, case: Case) -> Failure | None:
    """What is wrong with one case, None also where the check cannot judge it. Raises WorkerLost."""
    try:
        return judge_case(plan, session, case)
    except Skip:
        return None


def judge_case(plan: CheckPlan, session: Session, case: Case) -> Failure | None:
    """What is wrong with one case, None where nothing is. Raises Skip, WorkerLost."""
    try:
        plan.judge(session, case)
    except Unmet as unmet:
        return _failure(session, case, "failed", unmet.message, unmet.difference)
    except SubmissionFailed as raised:
        return _failure(session, case, *_of_error(raised))
    except (Skip, WorkerLost):
        raise
    except Exception:  # the law could not work with what came back; a right answer never does this
        return _failure(session, case, "failed", _unusable(session))
    return None


def _failure(
    session: Session, case: Case, status: CheckStatus, message: str, difference: Difference | None = None
) -> Failure:
    return Failure(case, status, message, difference, list(session.student.trace))


def _of_error(raised: SubmissionFailed) -> tuple[CheckStatus, str]:
    if raised.kinds[0] == "NotImplementedError":
        return "failed", "This part is not written yet: it raises NotImplementedError."
    if raised.kinds[0] == "RuleBroken":
        return "failed", f"A rule of this kata is broken: {raised.message}."
    if raised.kinds[0] == "UnusableResult":
        return "failed", f"The result cannot be used: {raised.message}."
    return "error", f"The code raised {raised}."


def _unusable(session: Session) -> str:
    if not session.student.trace:
        return "The result cannot be used as the statement describes it."
    last = session.student.trace[-1]
    return f"{last.name} returned {describe(last.value)}, which cannot be used as the statement describes."
