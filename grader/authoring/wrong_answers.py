"""Every mistake must fail, and be the one that is named.

Mistakes are the course's own code, so they are judged in this process, which takes a fifth of the
time; the first one of each kata goes through a worker as well, and must be judged there alike.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from grader.answers import Answers
from grader.attempt import Prepared
from grader.authoring.answers import standalone_sources
from grader.catalog import Course
from grader.checks import CheckPlan, Session
from grader.grading import Grader
from grader.judging import Finding, run_check
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


class Inquiry:
    """What the checks find about one mistake, each run when somebody asks for it, in their order."""

    def __init__(self, session: Session, checks: list[CheckPlan]) -> None:
        self._session, self._checks = session, checks
        self._found: dict[str, Finding] = {}

    def __iter__(self) -> Iterator[Finding]:
        for check in sorted(self._checks, key=lambda check: check.name == DEVICE):
            if check.name != DEVICE or not self.failed:
                yield self.finding(check)

    def finding(self, check: CheckPlan) -> Finding:
        """What one check finds."""
        if check.name not in self._found:
            self._found[check.name] = run_check(check, self._session)
        return self._found[check.name]

    @property
    def failed(self) -> frozenset[str]:
        """The checks that it fails, of those that were run."""
        found = self._found.values()
        return frozenset(f.plan.name for f in found if f.status not in ("passed", "skipped"))


def outcomes(course: Course, grader: Grader, prepared: Prepared, by_all: bool = False) -> list[Outcome]:
    """Every mistake judged in this process, in the order of the file: the first one by all checks, others
    as far as naming them takes, and by each check that no mistake has failed yet."""
    answers = Answers(course, prepared.card, "mistakes")
    found: list[Outcome] = []
    for name in answers.names:
        failed = frozenset[str]().union(*(outcome.failed for outcome in found))
        due = [check for check in prepared.checks if by_all or check.name not in failed]
        found.append(_judged_here(grader, prepared, answers, name, due))
    return found


def _judged_here(
    grader: Grader, prepared: Prepared, answers: Answers, name: str, due: list[CheckPlan]
) -> Outcome:
    session = Session(prepared.kata, prepared.oracle, LocalStudent(answers.fresh(name)))
    inquiry = Inquiry(session, prepared.checks)
    named = next((suspect.mistake.id for _, suspect in grader.lineup(prepared).named(inquiry)), None)
    for check in due:
        if check.name != DEVICE:
            inquiry.finding(check)
    return Outcome(name, inquiry.failed, named)


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
