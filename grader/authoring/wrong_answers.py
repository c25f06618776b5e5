"""Every mistake must fail, and be the one that is named.

Mistakes are the course's own code, so they are judged in this process, which takes a fifth of the
time; the first one of each kata goes through a worker as well, and must be judged there alike.
"""

from __future__ import annotations

from dataclasses import dataclass

from grader.attempt import Prepared
from grader.authoring.answers import standalone_sources
from grader.catalog import Course
from grader.diagnosis import Lineup
from grader.grading import Grader
from grader.recorded_mistakes import judge_mistakes
from grader.submission import Refused, Submission


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
    """Every mistake judged in this process, in the order of the file; the grader keeps what they answer."""
    judged = list(judge_mistakes(course, prepared))
    lineup = grader.lineups[prepared.card.name] = Lineup([recorded for recorded, _ in judged])
    found = []
    for recorded, findings in judged:
        failed = frozenset(f.plan.name for f in findings if f.failures)
        named = lineup.name(findings)
        first = next((named[f.plan.name].id for f in findings if f.plan.name in named), None)
        found.append(Outcome(recorded.id, failed, first))
    return found


def differs_in_a_worker(course: Course, grader: Grader, prepared: Prepared, here: Outcome) -> str | None:
    """What a worker says otherwise of this mistake, None where it agrees."""
    source = standalone_sources(course, prepared.card, "mistakes")[here.name]
    try:
        report = grader.grade(Submission(prepared.card, source, f"the mistake `{here.name}`"))
    except Refused as refused:
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
