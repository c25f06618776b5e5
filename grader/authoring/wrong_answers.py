"""Every mistake must fail, and be the one that is named.

Mistakes are the course's own code, so they are judged in this process, which takes a fifth of the
time; the first one of each kata goes through a worker as well, and must be judged there alike.
"""

from __future__ import annotations

from dataclasses import dataclass

from grader.answers import Answers
from grader.attempt import Prepared
from grader.authoring.answers import standalone_sources
from grader.catalog import Course
from grader.checks import Session
from grader.grading import Grader
from grader.judging import run_check
from grader.submission import Refused, Submission
from grader.worker.local import LocalStudent

#: Pretending a device takes most of a PyTorch kata's time, and decides nothing once another check failed.
DEVICE = "stays_on_the_device"


@dataclass
class Outcome:
    """What became of one mistake: the checks that it failed, and the mistake that it was taken for."""

    name: str
    failed: frozenset[str]
    named: str | None

    @property
    def gap(self) -> str | None:
        """What is amiss, and how to mend it."""
        if not self.failed:
            return f"the mistake `{self.name}` passes; add a case or a law that tells it apart."
        if self.named != self.name:
            return (
                f"the mistake `{self.name}` is taken for `{self.named}` ({', '.join(sorted(self.failed))});"
                " add a case on which the two differ, or make one of them."
            )
        return None


def outcomes(course: Course, grader: Grader, prepared: Prepared) -> list[Outcome]:
    """Every mistake judged in this process, in the order of the file."""
    answers = Answers(course, prepared.card, "mistakes")
    return [_judged_here(grader, prepared, answers, name) for name in answers.names]


def _judged_here(grader: Grader, prepared: Prepared, answers: Answers, name: str) -> Outcome:
    session = Session(prepared.kata, prepared.oracle, LocalStudent(answers.fresh(name)))
    findings = [run_check(check, session) for check in prepared.checks if check.name != DEVICE]
    if all(finding.status == "passed" for finding in findings):
        findings += [run_check(check, session) for check in prepared.checks if check.name == DEVICE]
    failed = [finding.plan.name for finding in findings if finding.status not in ("passed", "skipped")]
    named = next((suspect.mistake.id for _, suspect in grader.lineup(prepared).named(findings)), None)
    return Outcome(name, frozenset(failed), named)


def differs_in_a_worker(course: Course, grader: Grader, prepared: Prepared, here: Outcome) -> str | None:
    """What a worker says otherwise of this mistake, None where it agrees."""
    source = standalone_sources(course, prepared.card, "mistakes")[here.name]
    try:
        report = grader.grade(Submission(prepared.card, source, f"the mistake `{here.name}`"))
    except Refused as refused:
        return f"the mistake `{here.name}` cannot be graded: {refused}"
    failed = frozenset(c.name for c in report.checks if c.status not in ("passed", "skipped"))
    failed = failed - {DEVICE} or failed
    named = report.mistake.id if report.mistake else None
    if (failed, named) == (here.failed, here.named):
        return None
    return (
        f"the mistake `{here.name}` fails {_listed(failed)} in a worker, taken for `{named}`, and"
        f" {_listed(here.failed)} here: it rests on more than its arguments."
    )


def _listed(names: frozenset[str]) -> str:
    return ", ".join(sorted(names)) or "nothing"
