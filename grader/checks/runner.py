"""Run one check over its cases, and return what it found: a frozen record of each case that fails."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from grader.answer_keys.answers import Case
from grader.checks.context import Check, CheckContext
from grader.checks.error_words import NUMBERS, OF_LIBRARY, UNPACKED, in_words
from grader.checks.parts import PartsStudent, Reached, written_calls
from grader.expect import ExpectationFailed, SubmissionFailed
from grader.report import CheckStatus, Picture
from grader.values.arrays import leaves, to_numpy
from grader.values.comparison import Difference
from grader.values.formatting import describe
from grader.worker.batches import run_together
from grader.worker.calls import Call, Calls, CaseFailed, KeptCalls, Skip
from grader.worker.client import InVain, WorkerLost
from grader.worker.protocol.codec import Handle
from grader.worker.proxies import RemoteObject
from grader.worker.student import Student


@dataclass(frozen=True)
class Failure:
    """A case that failed a check, with the calls that the verdict is about."""

    case: Case
    status: CheckStatus
    message: str
    difference: Difference | None
    trace: Sequence[Call]  # the calls of the submission, up to the one complained about
    line: int | None = None  # the line of the submission that raised
    columns: tuple[int, int] | None = None  # the columns of the expression there, in bytes
    picture: Picture | None = None  # what the law draws beside its message
    history: Sequence[Call] = ()  # all requests, so that `snippet` can repeat them

    @property
    def passed(self) -> list[Any]:
        """The positional and the keyword arguments of each call in `trace`."""
        return [[call.args, call.kwargs] for call in self.trace]

    @property
    def call(self) -> Call | None:
        """The call that a report shows: the one whose result is compared; else the attribute read last, or
        the last call. None if nothing was called."""
        compared = self.difference.arrays[1] if self.difference and self.difference.arrays else None
        found = [call for call in self.trace if compared is not None and shares_memory(call.value, compared)]
        around = _around_the_students(self.history)
        calls = [c for c in self.trace if not c.helping or (c.target and c.target.id in around)]
        if found or not calls:
            return found[-1] if found else None
        at = next((i for i, call in enumerate(self.history) if call is calls[-1]), len(self.history))
        read = [c for c in self.history[at + 1 :] if c.is_read and not isinstance(c.value, Handle)]
        return read[-1] if read and not calls[-1].error else calls[-1]


def _around_the_students(calls: Sequence[Call]) -> set[int]:
    """Return the ids of the objects that the grader's own classes made with an object of the submission as an
    argument, such as a model in a wrapper."""
    made = [call for call in calls if call.source and isinstance(call.value, Handle)]
    built = {call.value.id for call in made}
    given = {call.value.id: leaves([call.args, call.kwargs]) for call in made}
    return {
        number
        for number, parts in given.items()
        if any(isinstance(part, RemoteObject) and part._handle.id not in built for part in parts)
    }


def shares_memory(value: Any, array: np.ndarray[Any, Any]) -> bool:
    """Return whether an array inside of a value has memory in common with another array."""
    parts = (
        to_numpy(leaf)
        for leaf in leaves(value)
        if hasattr(leaf, "shape") and not getattr(leaf, "is_meta", False)
    )
    return any(part is not None and np.may_share_memory(part, array) for part in parts)


class JudgedCase(NamedTuple):
    """What a check says about one case: how it fails, or why it is skipped; neither if it passes. `reached`
    are the parts that it has called, if some are not written."""

    case: Case
    failure: Failure | None = None
    skip: Skip | None = None
    reached: Reached | None = None


@dataclass(frozen=True)
class CheckResult:
    """The result of one check: the cases that it judged (`asked`), the failures among them, the cases that an
    answer in PyTorch does not get (`left_out`), and why the submission kept others from being judged.
    `reached` are the parts that each case has called, if some are not written."""

    check: Check
    failures: Sequence[Failure] = ()
    asked: Sequence[Case] = ()
    left_out: Sequence[Case] = ()
    prevented: str = ""
    reached: Sequence[Reached] = ()

    @property
    def status(self) -> CheckStatus:
        if self.failures:
            return self.failures[0].status
        if self.asked:
            return "passed"
        return "failed" if self.prevented else "skipped"


def smallest(result: CheckResult) -> Failure:
    """Return the smallest failure of the same kind as the first one. The first is often a fixed example from
    a paper, which is larger than necessary."""
    first = result.failures[0]
    alike = [failure for failure in result.failures if fails_alike(failure, first)]
    return min(alike, key=lambda failure: failure.case.weight)


def fails_alike(failure: Failure, first: Failure) -> bool:
    """Return whether two cases fail in the same way: with or without a difference."""
    return failure.status == first.status and bool(failure.difference) == bool(first.difference)


class CheckAborted(Exception):
    """The worker was lost during a check; `failure` has the case and the reason, and `reached` the parts that
    this case and those that have ended have called, if some are not written. `earlier` has the cases that
    failed before, if the worker was stopped because every call failed: they tell more than the last one."""

    def __init__(
        self,
        failure: Failure,
        reached: Sequence[Reached] = (),
        *,
        in_vain: bool = False,
        earlier: Sequence[Failure] = (),
    ) -> None:
        super().__init__(failure.message)
        self.failure, self.reached, self.in_vain, self.earlier = failure, reached, in_vain, earlier


def run_check(check: Check, context: CheckContext) -> CheckResult:
    """Judge every case of the check. Raises CheckAborted if the worker is lost."""
    left_out = [case for case in check.cases if context.leaves_out(case)] if context.is_translated else []
    cases = [case for case in check.cases if case not in left_out] if left_out else check.cases
    ended: list[JudgedCase] = []

    def judge(case: Case, student: Student) -> JudgedCase:
        ended.append(judge_case(check, context, case, student))
        return ended[-1]

    try:
        judged = list(run_together(context.student, [partial(judge, case) for case in cases]))
    except CheckAborted as lost:
        earlier = [one.failure for one in ended if one.failure is not None] if lost.in_vain else []
        reached = [*_reached_in(ended), *lost.reached]
        raise CheckAborted(lost.failure, reached, in_vain=lost.in_vain, earlier=earlier) from None
    skipped = [one.skip for one in judged if one.skip is not None]
    return CheckResult(
        check,
        [one.failure for one in judged if one.failure is not None],
        [one.case for one in judged if one.skip is None] if skipped else cases,
        left_out,
        next((skip.reason for skip in skipped if skip.reason), ""),
        _reached_in(judged) if context.parts else (),
    )


def _reached_in(judged: Sequence[JudgedCase]) -> list[Reached]:
    return [one.reached for one in judged if one.reached is not None]


def judge_case(check: Check, context: CheckContext, case: Case, student: Student) -> JudgedCase:
    """Return what a check says about one case. Raises CheckAborted if the worker is lost."""
    context = context.for_student(student)
    try:
        with KeptCalls(context.student):
            check.judge(context, case)
    except CaseFailed as failed:
        return _not_passed(context, case, failed.why, failed.calls)
    return JudgedCase(case, reached=_reached(context.student, fails=False))


def _not_passed(context: CheckContext, case: Case, why: Exception, calls: Calls) -> JudgedCase:
    """Return how a case fails or why it is skipped. Raises CheckAborted."""
    if isinstance(why, Skip):
        return JudgedCase(case, skip=why, reached=_reached(context.student, fails=None))
    for call in calls.requests:
        call.graded_part = context.kata.graded_parts.get(call.name)
    failure = _failure(case, why, written_calls(calls) if context.parts else calls)
    raises = failure.status != "failed" or failure.line is not None
    reached = _reached(context.student, fails=True, raises=raises)
    if isinstance(why, WorkerLost):
        raise CheckAborted(failure, [reached] if reached else [], in_vain=isinstance(why, InVain)) from None
    return JudgedCase(case, failure, reached=reached)


def _reached(student: Student, *, fails: bool | None, raises: bool = False) -> Reached | None:
    """Return the parts that a case has called, and its outcome; None if all parts are written."""
    return replace(student.reached, fails=fails, raises=raises) if isinstance(student, PartsStudent) else None


def _failure(case: Case, why: Exception, calls: Calls) -> Failure:
    """Return how a case fails."""
    trace, history = calls.judged, (*calls.earlier, *calls.requests)
    if isinstance(why, ExpectationFailed):
        difference, picture = why.difference, why.picture
        return Failure(case, "failed", why.message, difference, trace, picture=picture, history=history)
    if isinstance(why, SubmissionFailed):
        status, message = _status_and_message(why)
        return Failure(case, status, message, None, trace, why.line, why.columns, history=history)
    if isinstance(why, WorkerLost):
        status = "timeout" if why.timed_out else "error"
        return Failure(case, status, str(why), None, trace, history=history)
    # the law cannot use what was returned; a right answer never causes this
    return Failure(case, "failed", _unusable_result(trace, why), None, trace, history=history)


def _status_and_message(error: SubmissionFailed) -> tuple[CheckStatus, str]:
    if error.kinds[0] == "NotImplementedError" and not OF_LIBRARY.search(error.message):
        return "failed", "This part is not written yet: it raises NotImplementedError."
    if error.kinds[0] == "RuleBroken":
        return "failed", f"A rule of this kata is broken: {error.message}."
    if error.kinds[0] == "UnusableResult":
        return "failed", f"The result cannot be used: {error.message}."
    return "error", f"The code raised {error}. {in_words(error)}".rstrip()


def _unusable_result(trace: list[Call], error: Exception) -> str:
    if not trace:
        return "The result cannot be used as the statement describes it."
    last = trace[-1]
    found = UNPACKED.search(str(error))
    if found and hasattr(last.value, "shape"):
        return f"`{last.name}` returns one array where {NUMBERS.get(found[1], found[1])} are expected."
    return f"{last.name} returned {describe(last.value)}, which cannot be used as the statement describes."
