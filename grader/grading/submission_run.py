"""Run every check on one submission, and return what they found; a worker that is lost is replaced."""

from __future__ import annotations

import contextlib
import os
import re
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import partial, reduce
from typing import TYPE_CHECKING, Any

from grader.cases.oracle import measured
from grader.checks.context import Check, CheckContext, PreparedKata
from grader.checks.parts import JudgedParts, Parts
from grader.checks.runner import CheckAborted, CheckResult, Failure, judge_case, run_check, smallest
from grader.course.catalog import is_name
from grader.course.submission import Submission, SubmissionRejected, forbidden_names
from grader.expect import SubmissionFailed
from grader.grading.easier_case import OneCase, Retry
from grader.kata import Arguments, Kata
from grader.processes.limits import JudgingStopped, limited
from grader.report import CheckStatus, Cost, Isolation
from grader.worker.client import (
    CALL_SECONDS,
    KATA_SECONDS,
    START_SECONDS,
    Budget,
    RemoteStudent,
    WorkerLost,
)
from grader.worker.fork_server import WorkerFactory
from grader.worker.process import Process
from grader.worker.protocol.channel import Flooded
from grader.worker.protocol.terms import READING
from grader.worker.reader import Reader

if TYPE_CHECKING:
    from grader.grading.report_builder import Told

LOAD_SECONDS = 20.0
CUDA_SECONDS = 60.0  # creating a context takes seconds, and kernels are loaded at their first use
JUDGE_SECONDS = 10.0  # of CPU time for judging one submission, which usually takes a tenth of a second
REPEAT_SECONDS = 1.0  # of CPU time for judging one case again, to see what it prints
COST_SECONDS = 2.0  # of CPU time for comparing what the submission answers while its cost is measured
TOO_MUCH = "Not judged: judging the answers took too much time or memory, and was stopped."
CALL_SECONDS_AFTER = 1.0  # CPU time of one call once another one took too long
STOPPED_SOONER = "Stopped after one second, since a call before took too long."
MEDDLED = "The submission has meddled with the measurement."
GIVEN_UP = "{} So this check was not run."
LOSSES = 2  # after so many lost workers the remaining checks of a submission are not run


class NoWorker(Exception):
    """No worker could be started, before anything of a submission was in it: a fault of the machine."""


@dataclass(frozen=True)
class JudgedSubmission:
    """What the checks found about a submission, with the isolation of its workers. The `context` has the
    answers that the checks share.

    `told` has the failure of each failing check that a report shows, with its call as code, and `printed`
    what the submission prints in that case, by name of the check. `output` is all that it printed. `cost` is
    measured if no check fails, and `parts` are judged if some are not written.
    """

    results: tuple[CheckResult, ...]
    told: dict[str, Told]
    context: CheckContext
    isolation: Isolation
    printed: dict[str, str]
    output: str
    cost: Cost | None
    parts: JudgedParts | None

    @property
    def fails(self) -> bool:
        """Whether a check fails."""
        return any(result.failures for result in self.results)


class WorkerReader(Reader):
    """Asks a worker about a submission, which judges it afterwards. Raises NoWorker as well."""

    def __init__(self, factory: WorkerFactory, device: str) -> None:
        super().__init__()
        self.factory, self.device = factory, device

    def start(self) -> Process:
        process = self.factory.start(self.device)
        try:
            RemoteStudent(process).greeting(START_SECONDS)
        except WorkerLost as lost:
            process.kill()
            raise NoWorker(f"no worker could be started: {lost}") from None
        process.limit_memory(READING)
        return process

    def take(self) -> Process | None:
        """Return the worker that has read and has loaded nothing; it belongs to the caller. None if there is
        none."""
        with self.lock:
            process, self.child = self.child, None
        if not isinstance(process, Process) or self.owner != os.getpid():
            return None
        process.limit_memory()
        return process


def judge_submission(  # noqa: PLR0913  # three are hooks, each of another subject
    factories: Mapping[str, WorkerFactory],
    device: str,
    prepared: PreparedKata,
    submission: Submission,
    is_outdated: Callable[[], bool] = lambda: False,
    choose: Callable[[CheckResult, Retry], Told] = lambda result, _: (smallest(result), None),
    tell: Callable[[str], object] = lambda _: None,
    first: Process | None = None,
) -> JudgedSubmission:
    """Run every check on a submission in a worker. `choose` returns what a report shows of a failing check,
    for which it may try other cases, `tell` gets in words what is judged now, and `first` is the first
    worker, if one has been started. Raises SubmissionRejected
    if it cannot be imported, NoWorker, and Outdated once `is_outdated` returns True."""
    run = SubmissionRun(factories, device, prepared, submission, is_outdated, tell, first)
    try:
        results = run.run_all()
        failed = [result for result in results if result.failures]
        told = {r.check.name: choose(r, partial(run.retried, r.check)) for r in failed}
        printed = {f.check.name: run.printed_for(f, told[f.check.name][0]) for f in failed}
        cost = None if failed or run.parts else run.cost()
    finally:
        run.close()
    reached = {result.check.name: result.reached for result in results if result.reached}
    parts = JudgedParts(run.parts, reached) if run.parts else None
    return JudgedSubmission(
        tuple(results), told, run.context, run.isolation, printed, run.printed, cost, parts
    )


def _meant(name: str, source: str) -> str:
    """Return which function or class of the source may be meant by a name that it lacks, as a question."""
    import difflib  # most submissions define what is asked

    found = re.findall(r"^(?:def|class) (\w{1,80})", source, re.MULTILINE)
    near = difflib.get_close_matches(name, [other for other in found if other != name], n=1)
    return f" Did you mean it by `{near[0]}`?" if near else ""


class SubmissionRun:
    """The run of one submission: its worker, which is replaced if it is lost, and its output. Raises
    SubmissionRejected if the submission cannot be imported, and NoWorker."""

    def __init__(  # noqa: PLR0913  # three are hooks, each of another subject
        self,
        factories: Mapping[str, WorkerFactory],
        device: str,
        prepared: PreparedKata,
        submission: Submission,
        is_outdated: Callable[[], bool] = lambda: False,
        tell: Callable[[str], object] = lambda _: None,
        first: Process | None = None,
    ) -> None:
        """`first` is a worker that has loaded nothing yet, and belongs to the run from now on."""
        self._first = first
        self.factories, self.device, self.tell = factories, device, tell
        self.prepared, self.submission = prepared, submission
        self.isolations: list[Isolation] = []  # of each worker
        self.process: Process | None = None
        self.others: dict[int, tuple[Process, RemoteStudent]] = {}
        self.losses: list[WorkerLost] = []
        self.printed = ""
        self.parts = _parts_of(prepared.kata, submission)
        self.budget = Budget(KATA_SECONDS, is_outdated=is_outdated)
        self.context = self._start()

    def _start(self) -> CheckContext:
        kata, exchange = self.prepared.kata, self.submission.exchange
        self.process = self._first or self.factories[kata.library].start(self.device)
        self._first = None
        on_cuda = self.device != "cpu"
        seconds = CUDA_SECONDS if on_cuda else CALL_SECONDS_AFTER if self._was_slow else CALL_SECONDS
        student = RemoteStudent(self.process, seconds, self.budget, exchange)
        student.another = self._another
        try:
            greeting = student.greeting(START_SECONDS)
        except WorkerLost as lost:
            self.close()
            raise NoWorker(f"no worker could be started: {lost}") from None
        try:
            self.isolations.append(Isolation(**greeting))
            answer = student.load(kata.name, LOAD_SECONDS, **self._loading())
            row = kata.kind.row_of(kata, student)
        except SubmissionFailed as failure:
            self.close()
            where = f" in line {failure.line}" if failure.line else ""
            text = ": ".join(filter(None, (failure.kinds[0], failure.message))) + "."
            raise self._rejected(
                f"fails{where} when it is imported: {text}{self._importable(failure)}"
            ) from None
        except WorkerLost as lost:
            self.close()
            raise self._rejected(f"cannot be imported: {lost}") from None
        except BaseException:
            self.close()
            raise
        if kata.kind.is_code:
            self._require_entry_points(answer)
        return CheckContext(kata, self.prepared.oracle, student, self.parts, row)

    @contextlib.contextmanager
    def _another(self, number: int) -> Iterator[RemoteStudent]:
        """Yield the worker of a number, which has loaded the submission and answers nothing else. It stands
        still outside of the block. Raises WorkerLost."""
        process, student = self.others.get(number) or self._loaded(number)
        process.go_on()
        try:
            yield student
        finally:
            process.stop()

    def _loaded(self, number: int) -> tuple[Process, RemoteStudent]:
        """Start the worker of a number. Raises WorkerLost."""
        began, kata = time.monotonic(), self.prepared.kata
        process = self.factories[kata.library].start(self.device)
        student = RemoteStudent(process, CALL_SECONDS, self.budget, self.submission.exchange)
        self.others[number] = process, student
        try:
            self.isolations.append(Isolation(**student.greeting(START_SECONDS)))
            student.load(kata.name, LOAD_SECONDS, **self._loading())
        except SubmissionFailed as failure:
            raise WorkerLost(f"The submission cannot be imported again: {failure}.") from None
        self.budget.spent += time.monotonic() - began
        return process, student

    @property
    def isolation(self) -> Isolation:
        """The protections that were in force in every worker of the run."""
        return reduce(Isolation.weakened_by, self.isolations)

    def _rejected(self, why: str) -> SubmissionRejected:
        return SubmissionRejected(f"{self.submission.label} {why}", isolation=self.isolation)

    @property
    def _was_slow(self) -> bool:
        """Whether a call has exceeded its time limit; later calls then get a shorter one."""
        return any(loss.timed_out for loss in self.losses)

    def _importable(self, failure: SubmissionFailed) -> str:
        """Return what a submission can import, if the failure is that it cannot."""
        if failure.kinds[0] != "ModuleNotFoundError":
            return ""
        module = failure.message.partition("'")[2].partition("'")[0]
        if is_name(module) and list(self.prepared.oracle.info.path.parents[1].glob(f"*/test_{module}.py")):
            return f" `{module}` is another kata. Each file stands alone: copy what you need into this one."
        libraries = "NumPy and PyTorch" if self.prepared.kata.library == "torch" else "NumPy"
        return f" The standard library and {libraries} can be imported; other files of yours cannot."

    def _loading(self) -> dict[str, Any]:
        kata = self.prepared.kata
        return {
            "filename": self.submission.filename,
            "source": self.submission.source,
            "entry_points": list(kata.entry_points),
            "forbidden": forbidden_names(kata),
        }

    def _require_entry_points(self, answer: dict[str, dict[str, bool]]) -> None:
        try:
            missing = [name for name in self.prepared.kata.entry_points if not answer["entry_points"][name]]
        except (KeyError, TypeError):
            missing = list(self.prepared.kata.entry_points)
        if missing:
            self.close()
            unknown = f"defines no function or class called `{missing[0]}`."
            raise self._rejected(f"{unknown}{_meant(missing[0], self.submission.source)}")

    def run_all(self) -> list[CheckResult]:
        """Run every check in order. A check that loses its worker fails, and the next one gets a new worker.
        If judging takes too much time or memory, the remaining checks fail without being run."""
        results: list[CheckResult] = []
        try:
            with limited(JUDGE_SECONDS):
                for check in self.prepared.checks:
                    self.tell(" ".join([*map(str, self.losses[:1]), check.title]))
                    results.append(self._run(check))
        except (JudgingStopped, MemoryError):
            left = self.prepared.checks[len(results) :]
            results += [_not_run(check, "error", TOO_MUCH) for check in left]
        if self.budget.meddled:
            return [
                result if result.failures or not result.check.nature.is_measured else _meddled(result)
                for result in results
            ]
        return results

    def cost(self) -> Cost | None:
        """Return what the submission costs beside the reference; None if that cannot be measured."""
        answered = self.prepared.oracle.answered
        if answered.cost is None or self.device != "cpu" or self.losses:
            return None
        with contextlib.suppress(Exception, JudgingStopped), limited(COST_SECONDS):
            case = answered.cases[answered.cost.position].arguments
            flops, made = measured(self.prepared.kata, self.context.student, case)
            times = flops / answered.cost.flops, made.elements / answered.cost.elements
            return Cost(round(times[0], 2), round(times[1], 2), made.shape, made.operation)
        return None

    def _run(self, check: Check) -> CheckResult:
        if len(self.losses) >= LOSSES or self.budget.spent > self.budget.limit:
            status: CheckStatus = "timeout" if not self.losses or self.losses[0].timed_out else "error"
            return _not_run(check, status, GIVEN_UP.format(self._cause))
        try:
            return run_check(check, self.context)
        except CheckAborted as lost:
            failure, is_second = lost.failure, self._was_slow and self.device == "cpu"
            self._replace_worker(lost)
            if is_second and failure.status == "timeout":
                failure = replace(failure, message=STOPPED_SOONER)
            failures = [*lost.earlier, failure]
            return CheckResult(check, failures, [one.case for one in failures], reached=lost.reached)

    @property
    def _cause(self) -> str:
        """Return why no more checks are run, as a sentence: what ended the first worker, or the time."""
        if self.losses:
            return f"{str(self.losses[0]).partition('. ')[0].removesuffix('.')}."
        return f"All calls together took more than {max(self.budget.limit, 0):g} seconds."

    def _replace_worker(self, lost: CheckAborted) -> None:
        """Start a new worker, unless too many were lost, or one whose calls all failed, as they would again.
        If the import fails now, start no more at all."""
        loss = WorkerLost(str(lost), timed_out=lost.failure.status == "timeout")
        self.losses += [loss] * (LOSSES if lost.in_vain else 1)
        self.close()
        if len(self.losses) < LOSSES:
            try:
                self.context = self._start()
            except (SubmissionRejected, NoWorker) as refused:
                self.losses += [WorkerLost(str(refused))] * LOSSES

    def retried(self, check: Check, arguments: Arguments) -> Failure | None:
        """Return how the submission fails a check on a case that is not in the bank. None if it does not, if
        the reference does not pass the check on it or does not answer it steadily, or if there is no
        reference or no worker to ask."""
        kata, oracle = self.prepared.kata, self.prepared.oracle
        if self.process is None or self.losses or self.parts or oracle.recorded is not None:
            return None
        if check.nature.asks_others or not kata.kind.is_code:
            return None
        if self.context.is_translated and check.nature.of_tensors:
            return None  # the reference, in NumPy, would import PyTorch here
        channel = self.process.channel
        with contextlib.suppress(Exception, JudgingStopped):
            one = OneCase(oracle, arguments)  # without a limit, which can leave an import half done
            with limited(REPEAT_SECONDS):
                channel.drain()
                before = channel.output.total
                right = judge_case(
                    check, CheckContext(oracle.kata, one, one.reference), one.case, one.reference
                )
                if right.failure is not None or right.skip is not None:
                    return None
                student = self.context.student
                try:
                    found = judge_case(check, CheckContext(kata, one, student), one.case, student).failure
                except CheckAborted:
                    self.close()
                    return None
                channel.drain()
                channel.output.take_back(before)  # the output of a submission is that of the bank's cases
                return found if found is not None and one.is_steady else None
        return None

    def printed_for(self, result: CheckResult, failure: Failure) -> str:
        """Return what the submission prints while a failing case is judged again; "" if it printed nothing
        before or its worker is lost. Many calls are sent at once, so the output so far tells no case."""
        if self.process is None or failure.status == "timeout":
            return ""
        channel, printed, is_lost = self.process.channel, b"", False
        with contextlib.suppress(Flooded, JudgingStopped, MemoryError), limited(REPEAT_SECONDS):
            channel.drain()
            before = channel.output.total
            if before:
                student, prepared = self.context.student, self.prepared
                oracle = prepared.oracle
                with contextlib.suppress(Exception):  # a case of the bank has its answer
                    oracle = oracle if failure.case.index >= 0 else OneCase(oracle, failure.case.arguments)
                context = CheckContext(prepared.kata, oracle, student, self.parts, self.context.row)
                try:
                    judge_case(result.check, context, failure.case, student)
                except CheckAborted:
                    is_lost = True
                channel.drain()
                printed = channel.output.take_back(before)
        if is_lost:
            self.close()
        return printed.decode("utf-8", "replace")

    def close(self) -> None:
        """Kill the workers and keep what the submission printed."""
        if self.process is not None:
            with contextlib.suppress(Flooded):
                self.process.channel.drain()
            self.printed = self.process.channel.output.text() or self.printed
            self.process.kill()
            self.process = None
        for process, _ in self.others.values():
            process.kill()
        self.others.clear()


def _parts_of(kata: Kata, submission: Submission) -> Parts | None:
    """Return the parts of a submission; None if there is only one, or if all are written."""
    if len(kata.entry_points) == 1 or not kata.kind.is_code:
        return None
    unwritten = {name: range(*lines) for name, lines in submission.record.unwritten.items()}
    return Parts(kata.entry_points, unwritten) if unwritten else None


def _meddled(result: CheckResult) -> CheckResult:
    return replace(_not_run(result.check, "failed", MEDDLED), reached=result.reached)


def _not_run(check: Check, status: CheckStatus, message: str) -> CheckResult:
    """Return the result of a check that was not run."""
    return CheckResult(check, [Failure(check.cases[0], status, message, None, [])], [check.cases[0]])
