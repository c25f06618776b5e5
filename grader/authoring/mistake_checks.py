"""Check that every mistake fails and that its report names it.

Mistakes are part of the course, so they are judged in this process, which takes a fifth of the time. The
first one of each kata is also judged in a worker, where the result must be the same.
"""

from __future__ import annotations

from dataclasses import dataclass

from grader.checks.base import PreparedKata
from grader.course.catalog import Course
from grader.course.known_solutions import standalone_sources
from grader.course.submission import Submission, SubmissionRejected
from grader.diagnosis.matcher import MistakeMatcher
from grader.diagnosis.recording import judge_mistakes
from grader.grading.grader import Grader


@dataclass
class MistakeOutcome:
    """The result for one mistake: the checks that it fails, and the mistake that its report names."""

    name: str
    failed: frozenset[str]
    named: str | None

    @property
    def gap(self) -> str | None:
        """The message about a mistake that passes or is not named, or None."""
        if not self.failed:
            return f"the mistake `{self.name}` passes; add a case or a law that tells it apart."
        if self.named != self.name:
            return (
                f"the mistake `{self.name}` is taken for `{self.named}` ({', '.join(sorted(self.failed))});"
                " add a case on which the two differ, or make one of them."
            )
        return None


def outcomes(course: Course, grader: Grader, prepared: PreparedKata) -> list[MistakeOutcome]:
    """Judge every mistake in this process, in file order; the grader then matches against their answers."""
    judged = list(judge_mistakes(course, prepared))
    matcher = grader.matchers[prepared.info.name] = MistakeMatcher([recorded for recorded, _ in judged])
    found = []
    for recorded, findings in judged:
        failed = frozenset(f.plan.name for f in findings if f.failures)
        named = matcher.name(findings)
        first = next((named[f.plan.name].id for f in findings if f.plan.name in named), None)
        found.append(MistakeOutcome(recorded.id, failed, first))
    return found


def differs_in_a_worker(
    course: Course, grader: Grader, prepared: PreparedKata, here: MistakeOutcome
) -> str | None:
    """Return a message if a worker judges the mistake differently, else None."""
    source = standalone_sources(course, prepared.info, "mistakes")[here.name]
    try:
        report = grader.grade(Submission(prepared.info, source, f"the mistake `{here.name}`"))
    except SubmissionRejected as refused:
        return f"the mistake `{here.name}` cannot be graded: {refused}"
    failed = frozenset(c.name for c in report.checks if c.status not in ("passed", "skipped"))
    named = report.mistake.id if report.mistake else None
    if (failed, named) == (here.failed, here.named):
        return None
    return (
        f"the mistake `{here.name}` fails {_listed(failed)} in a worker, taken for `{named}`, and"
        f" {_listed(here.failed)} here: it rests on more than its arguments."
    )


def _listed(names: frozenset[str]) -> str:
    return ", ".join(sorted(names)) or "nothing"
