"""One submission being judged: every check is run, whatever becomes of its worker."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from grader.catalog import Card
from grader.checks import CheckPlan, Session
from grader.expect import SubmissionFailed
from grader.judging import Failure, Finding, run_check
from grader.kata import Case, Kata
from grader.oracle import Oracle
from grader.precedents import Precedents
from grader.report import Isolation
from grader.submission import Refused, Submission
from grader.telling import is_own
from grader.worker.channel import Flooded
from grader.worker.processes import Process, Source
from grader.worker.remote import CALL_SECONDS, BegunAnew, RemoteStudent, WorkerLost, unwrap
from grader.worker.script import Script
from grader.worker.student import Call

if TYPE_CHECKING:
    from grader.diagnosis import Lineup

LOAD_SECONDS = 20.0
CUDA_SECONDS = 60.0  # making a context takes seconds, and kernels are loaded when first used
LOSSES = 2  # workers that one submission may lose before the rest of its checks are given up
KATA_SECONDS = 60.0


@dataclass
class Prepared:
    """A kata with everything that its submissions share: declaration, oracle, plan of checks."""

    card: Card
    kata: Kata
    oracle: Oracle
    checks: list[CheckPlan]
    lineup: Lineup | None = None
    graded: int = 0
    scripts: dict[str, Script] | None = None  # None until it is worth while to learn them
    precedents: Precedents = field(default_factory=Precedents)


class Attempt:
    """One submission being judged: its worker, replaced when lost, and what has been found."""

    def __init__(
        self,
        source: Source,
        device: str,
        prepared: Prepared,
        submission: Submission,
        note_isolation: Callable[[Isolation], None],
    ) -> None:
        self.source, self.device = source, device
        self.prepared, self.submission = prepared, submission
        self.note_isolation = note_isolation
        self.process: Process | None = None
        self.losses: list[WorkerLost] = []
        self._scripts = prepared.scripts
        self.printed = ""
        self.deadline = time.monotonic() + KATA_SECONDS
        self.session = self._start()

    def _start(self) -> Session:
        self.process = self.source.start(self.device)
        on_cuda = self.device != "cpu"
        student = RemoteStudent(
            self.process.channel, CUDA_SECONDS if on_cuda else CALL_SECONDS, self.deadline
        )
        try:
            self.note_isolation(Isolation(**student.greeting(CUDA_SECONDS if on_cuda else LOAD_SECONDS)))
            answer = unwrap(student.ask({"load": self._loading()}, LOAD_SECONDS, []))
        except SubmissionFailed as failure:
            self.close()
            where = f" in line {failure.line}" if failure.line else ""
            told = ": ".join(filter(None, (failure.kinds[0], failure.message)))
            raise Refused(f"{self.submission.label} fails{where} when it is imported: {told}.") from None
        except WorkerLost as lost:
            self.close()
            raise Refused(f"{self.submission.label} cannot be imported: {lost}") from None
        self._require_entry_points(answer)
        prepared, known = self.prepared, self.process.lessons
        scripts = {name: script for name, script in (self._scripts or {}).items() if script.digest in known}
        return Session(prepared.kata, prepared.oracle, student, scripts, prepared.precedents)

    def _loading(self) -> dict[str, object]:
        kata = self.prepared.kata
        forbidden = [name for rule in kata.rules for name in rule.forbidden]
        return {
            "name": kata.name,
            "source": self.submission.source,
            "entry_points": list(kata.entry_points),
            "forbidden": forbidden,
        }

    def _require_entry_points(self, answer: dict[str, dict[str, bool]]) -> None:
        try:
            missing = [name for name in self.prepared.kata.entry_points if not answer["entry_points"][name]]
        except (KeyError, TypeError):
            missing = list(self.prepared.kata.entry_points)
        if missing:
            self.close()
            raise Refused(f"{self.submission.label} defines no function or class called `{missing[0]}`.")

    def run_all(self) -> list[Finding]:
        """Every check in order; a check that loses its worker fails, and the next gets a fresh one."""
        findings = []
        for check in self.prepared.checks:
            if len(self.losses) >= LOSSES or time.monotonic() > self.deadline:
                findings.append(self._given_up(check))
                continue
            try:
                findings.append(self._run(check))
            except WorkerLost as lost:
                findings.append(self._lost(check, lost))
        return findings

    def _run(self, check: CheckPlan) -> Finding:
        """What one check finds. A submission that answers otherwise a second time may keep something between
        calls: it is asked one call at a time from then on, as where other things are asked than foreseen."""
        try:
            finding = run_check(check, self.session)
        except BegunAnew:
            self._scripts = None
            self.close()
            self._start_again()
            if self.losses:
                raise self.losses[-1] from None
            return run_check(check, self.session)
        if check.asks_again and not self.session.unanswered().issuperset(
            id(failure.case) for failure in finding.failures
        ):
            self.session.scripts = {}
        return finding

    def _lost(self, check: CheckPlan, lost: WorkerLost) -> Finding:
        self.losses.append(lost)
        trace = list(self.session.student.trace)
        self.close()
        if len(self.losses) < LOSSES:
            self._start_again()
        status = "timeout" if lost.timed_out else "error"
        case = self._case_of(check, trace)
        return Finding(check, [Failure(case, status, str(lost), None, trace)])  # type: ignore[arg-type]  # a literal either way

    def _start_again(self) -> None:
        """A fresh worker; a submission that now fails to import is given up."""
        try:
            self.session = self._start()
        except Refused as refused:
            self.losses += [WorkerLost(str(refused))] * LOSSES

    def _case_of(self, check: CheckPlan, trace: list[Call]) -> Case:
        """The case whose arguments stand in the last call; the first one where none do."""
        asked = {id(arg) for call in trace[-1:] for arg in [*call.args, *call.kwargs.values()]}
        holding = [
            case for case in check.cases if asked & {id(value) for value in case.values() if is_own(value)}
        ]
        return holding[0] if holding else check.cases[0]

    def _given_up(self, check: CheckPlan) -> Finding:
        status = "timeout" if not self.losses or self.losses[-1].timed_out else "error"
        message = "Not run: the submission had to be stopped before."
        return Finding(check, [Failure(check.cases[0], status, message, None, [])])  # type: ignore[arg-type]  # a literal either way

    def close(self) -> None:
        """End the worker and keep what the submission printed."""
        if self.process is not None:
            with contextlib.suppress(Flooded):
                self.process.channel.drain()
            self.printed = self.process.channel.output.text() or self.printed
            self.process.kill()
            self.process = None
