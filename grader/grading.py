"""One submission, one report: load it in a worker, run every check, name the mistake, score."""

from __future__ import annotations

import contextlib
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

from grader import bank
from grader.catalog import Card, Course
from grader.checks import CheckPlan, Session, Skip, plan
from grader.describing import describe, show
from grader.expect import SubmissionFailed
from grader.judging import Failure, Finding, judge_case, run_check
from grader.kata import Case, Kata
from grader.oracle import Oracle
from grader.report import Check, Isolation, KataReport, Mistake
from grader.submission import Refused, Submission
from grader.worker.channel import Flooded
from grader.worker.remote import CALL_SECONDS, RemoteStudent, WorkerLost, unwrap
from grader.worker.rules import broken_in_source
from grader.worker.server import Process, Source
from grader.worker.student import Call

if TYPE_CHECKING:
    from grader.diagnosis import Lineup, Suspect

LOAD_SECONDS = 20.0
CUDA_SECONDS = 60.0  # making a context takes seconds, and kernels are loaded when first used
LOSSES = 2  # workers that one submission may lose before the rest of its checks are given up
KATA_SECONDS = 60.0
BRIEF = 30  # characters of an argument in the line that shows the call
SMALL = 4  # numbers in a case that needs no shrinking


@dataclass
class Prepared:
    """A kata with everything that its submissions share: declaration, oracle, plan of checks."""

    card: Card
    kata: Kata
    oracle: Oracle
    checks: list[CheckPlan]
    lineup: Lineup | None = None


class Grader:
    """Grades submissions of one course, each kata prepared once, each submission in its own worker."""

    def __init__(
        self,
        course: Course,
        source: Source,
        device: str = "cpu",
        seed: int = bank.SEED,
        shrinks: bool = True,
    ) -> None:
        self.course, self.source, self.device, self.seed = course, source, device, seed
        self.shrinks = shrinks
        self.isolation = Isolation()
        self._prepared: dict[str, Prepared] = {}

    def prepare(self, card: Card) -> Prepared:
        """Declaration, bank and expected values of a kata, made or read once."""
        if card.name not in self._prepared:
            kata = self.course.declaration(card)
            oracle = Oracle(kata, self.course, card, self.seed)
            self._prepared[card.name] = Prepared(card, kata, oracle, plan(kata, oracle))
        return self._prepared[card.name]

    def lineup(self, prepared: Prepared) -> Lineup:
        """The kata's mistakes, read when the first submission fails."""
        if prepared.lineup is None:
            from grader.diagnosis import Lineup  # a submission that passes needs none of it

            prepared.lineup = Lineup(prepared.kata, self.course, prepared.card, prepared.oracle)
        return prepared.lineup

    def grade(self, submission: Submission) -> KataReport:
        """The report of one submission; whatever it does, a report comes back. Raises Refused
        where the file cannot be loaded at all."""
        began = time.monotonic()
        prepared = self.prepare(submission.card)
        broken = _broken_rule(prepared.kata, submission)
        checks, output = (broken, "") if broken else self._judge(prepared, submission)
        passed = all(check.status in ("passed", "skipped") for check in checks)
        return KataReport(
            submission.card.name,
            submission.card.track,
            "passed" if passed else "failed",
            submission.card.max_score,
            time.monotonic() - began,
            checks=tuple(checks),
            output=output,
        )

    def _judge(self, prepared: Prepared, submission: Submission) -> tuple[list[Check], str]:
        attempt = Attempt(self, prepared, submission)
        try:
            checks = attempt.conclude(attempt.run_all())
        finally:
            attempt.close()
        return checks, attempt.printed


def _broken_rule(kata: Kata, submission: Submission) -> list[Check]:
    """A report with one failed check where the source itself breaks a rule of the kata."""
    for rule in kata.rules:
        broken = broken_in_source(submission.source, rule.forbidden)
        if broken:
            message = f"A rule of this kata is broken: line {broken[1]} uses {broken[0]}. {rule.because}"
            points = round(kata.points * 100)
            return [
                Check(
                    "keeps_the_rules", "The code keeps the rules of the kata.", "failed", 0, points, message
                )
            ]
    return []


class Attempt:
    """One submission being judged: its worker, replaced when lost, and what has been found."""

    def __init__(self, grader: Grader, prepared: Prepared, submission: Submission) -> None:
        self.grader, self.prepared, self.submission = grader, prepared, submission
        self.process: Process | None = None
        self.losses: list[WorkerLost] = []
        self.printed = ""
        self.deadline = time.monotonic() + KATA_SECONDS
        self.session = self._start()

    def _start(self) -> Session:
        self.process = self.grader.source.start(self.grader.device)
        on_cuda = self.grader.device != "cpu"
        student = RemoteStudent(
            self.process.channel, CUDA_SECONDS if on_cuda else CALL_SECONDS, self.deadline
        )
        try:
            self.grader.isolation = Isolation(**student.greeting(CUDA_SECONDS if on_cuda else LOAD_SECONDS))
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
        return Session(self.prepared.kata, self.prepared.oracle, student)

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
                findings.append(run_check(check, self.session))
            except WorkerLost as lost:
                findings.append(self._lost(check, lost))
        return findings

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
            case for case in check.cases if asked & {id(value) for value in case.values() if _is_own(value)}
        ]
        return holding[0] if holding else check.cases[0]

    def _given_up(self, check: CheckPlan) -> Finding:
        status = "timeout" if not self.losses or self.losses[-1].timed_out else "error"
        message = "Not run: the submission had to be stopped before."
        return Finding(check, [Failure(check.cases[0], status, message, None, [])])  # type: ignore[arg-type]  # a literal either way

    def conclude(self, findings: list[Finding]) -> list[Check]:
        """The findings as checks, each failure with its smallest case and its mistake."""
        p = self.prepared
        if all(finding.status in ("passed", "skipped") for finding in findings):
            return [_as_check(finding, None, {}) for finding in findings]
        suspects = self.grader.lineup(p).name(findings)
        first = next((f for f in findings if f.status in ("failed", "error")), None)
        if first and self.grader.shrinks and not self.losses:
            self._shrink(first, suspects.get(first.plan.name))
        mistakes = {name: suspect.mistake for name, suspect in suspects.items()}
        return [_as_check(finding, mistakes.get(finding.plan.name), p.kata.axes) for finding in findings]

    def _shrink(self, finding: Finding, suspect: Suspect | None) -> None:
        """Put the smallest failing case that Hypothesis finds in front, if it is smaller."""
        first, draw = finding.failures[0], finding.plan.draw
        if draw is None or bank.weight(first.case)[0] <= SMALL:
            return
        found: list[Failure] = []

        def fails(case: dict[str, object]) -> bool:
            failure = self._judge_anew(finding.plan, case)
            if (
                failure is None
                or failure.status != first.status
                or bool(failure.difference) != bool(first.difference)
            ):
                return False
            if suspect is not None and not suspect.explains_case(finding.plan, failure):
                return False
            if not found or bank.weight(case) <= bank.weight(found[0].case):
                found[:] = [failure]
            return True

        try:
            bank.shrink(draw, fails, self.prepared.kata.bank_size, self.grader.seed)
        except WorkerLost:
            return
        if found and bank.weight(found[0].case) < bank.weight(first.case):
            finding.failures.insert(0, found[0])

    def _judge_anew(self, check: CheckPlan, case: dict[str, object]) -> Failure | None:
        session = Session(self.prepared.kata, self.prepared.oracle, self.session.student)
        try:
            return judge_case(check, session, case)
        except Skip:
            return None

    def close(self) -> None:
        """End the worker and keep what the submission printed."""
        if self.process is not None:
            with contextlib.suppress(Flooded):
                self.process.channel.drain()
            self.printed = self.process.channel.output.text() or self.printed
            self.process.kill()
            self.process = None


def _is_own(value: object) -> bool:
    """Small integers and the like are shared between cases; arrays, lists and dicts are not."""
    return hasattr(value, "shape") or isinstance(value, list | dict)


def _as_check(finding: Finding, mistake: Mistake | None, axes: dict[str, str]) -> Check:
    plan = finding.plan
    if not finding.failures:
        return Check(plan.name, plan.title, finding.status, plan.points, plan.points)
    failure = finding.failures[0]
    difference = failure.difference
    return Check(
        plan.name,
        plan.title,
        failure.status,
        0,
        plan.points,
        message=failure.message,
        call=_show_call(failure),
        counterexample=_show_case(plan, failure.case, axes) or None,
        expected=difference.expected if difference else None,
        got=difference.got if difference else None,
        difference=difference.where if difference else None,
        mistake=mistake,
    )


def _show_call(failure: Failure) -> str | None:
    """The last call made, its arguments by the names that they have in the case."""
    if not failure.trace:
        return None
    call = failure.trace[-1]
    names = {id(value): name for name, value in failure.case.items()}
    shown = [names.get(id(arg)) or _brief(arg) for arg in call.args]
    shown += [f"{name}={names.get(id(arg)) or _brief(arg)}" for name, arg in call.kwargs.items()]
    return f"{call.name}({', '.join(shown)})"


def _brief(value: object) -> str:
    text = "…" if hasattr(value, "shape") or callable(value) else show(value)
    return text if len(text) <= BRIEF else "…"


def _show_case(plan: CheckPlan, case: Case, axes: dict[str, str]) -> dict[str, str]:
    names = case if plan.parameters is None else plan.parameters
    return {name: _show_argument(case[name], axes.get(name, "").split()) for name in names if name in case}


def _show_argument(value: object, axes: list[str]) -> str:
    text = show(value)
    return f"{text}    {describe(value, axes)}" if hasattr(value, "shape") else text
