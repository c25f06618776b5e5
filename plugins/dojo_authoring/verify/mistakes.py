"""Check that every mistake fails and that its report names it.

Mistakes are part of the course, so they are judged in this process, which takes a fifth of the time. The
first one of each kata is also judged in a worker, where the result must be the same.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from typing import Any

from dojo_authoring.verify.judged import JudgedMistake, Records, judge_mistakes
from dojo_authoring.verify.random_draws import DRAWS, Redrawn, redrawn
from dojo_authoring.verify.time_limit import limited_time
from grader.answer_keys.answers import Recorded, RecordedMistake
from grader.checks.context import PreparedKata
from grader.course.catalog import Course
from grader.course.known_solutions import KnownSolutions
from grader.course.submission import Submission, SubmissionRejected
from grader.diagnosis.known_mistakes import MistakeOfKey
from grader.diagnosis.matcher import MistakeMatcher, matcher_of
from grader.grading.grader import Grader
from grader.values.constants import agrees, plain


@dataclass
class MistakeOutcome:
    """The result for one mistake: the checks that it fails, the mistake that its report names, its points in
    hundredths."""

    name: str
    level: str
    failed: frozenset[str]
    named: str | None
    points: int
    redrawn: Redrawn = field(default_factory=Redrawn)
    twin: str = ""  # the row of a question in which another mistake gives the same answer
    is_general: bool = False
    raised: str = ""  # what it raises in every case, if its docstring does not mention an error

    @property
    def gap(self) -> str | None:
        """The message about a mistake that passes, never returns or is not named, or None."""
        if self.raised:
            return (
                f"the mistake `{self.name}` raises in every case: {self.raised} Mend it; if this is what a"
                " student sees, let its docstring speak of the error."
            )
        if not self.failed:
            return f"the mistake `{self.name}` passes; add a case or a law that tells it apart, or drop it."
        if self.twin:
            return f"the mistake `{self.name}` answers {self.twin}; choose other numbers for that row."
        if self.named != self.name:
            return (
                f"the mistake `{self.name}` is taken for `{self.named}` ({', '.join(sorted(self.failed))});"
                " add a case on which the two differ, or make one of them."
            )
        return None

    @property
    def is_named(self) -> bool:
        """True if the report names the mistake, whatever random numbers a student draws."""
        return self.named == self.name and not self.redrawn.named_by_chance

    @property
    def note(self) -> str | None:
        """The remark about a mistake that is caught or named only with some random numbers, or None."""
        if self.redrawn.caught < DRAWS:
            return (
                f"the mistake `{self.name}` is caught with {self.redrawn.caught} of {DRAWS} draws of random"
                " numbers; make its check certain (p = 0 or 1, fixed weights), or draw more often."
            )
        if self.redrawn.named_by_chance:
            return (
                f"the mistake `{self.name}` is named only where a student draws the same random numbers in"
                " the same order; let a law ask for equal values on a certain case (p = 0 or 1, fixed"
                " weights), or add such a case."
            )
        return None


def as_data(outcome: MistakeOutcome) -> dict[str, Any]:
    """Return the outcome as texts, numbers, lists and dicts."""
    return {**asdict(outcome), "failed": sorted(outcome.failed)}


def from_data(data: dict[str, Any]) -> MistakeOutcome:
    """Return the outcome of which `as_data` returned the data."""
    return MistakeOutcome(
        **{**data, "failed": frozenset(data["failed"]), "redrawn": Redrawn(**data["redrawn"])}
    )


def outcomes(
    course: Course, grader: Grader, prepared: PreparedKata, records: Records, *, redraws: bool = True
) -> list[MistakeOutcome]:
    """Judge every mistake that is not recorded in this process, in file order, and record them; the grader
    then matches against their answers. A general mistake that cannot be told from another one is left out.
    With `redraws`, those that draw are judged with other random numbers as well."""
    judged = list(_judged(course, prepared, records))
    matcher = matcher_of(prepared.kata, [MistakeOfKey(mistake.recorded) for mistake in judged])
    grader.matchers[prepared.info.name] = matcher
    changed = redrawn(course, prepared, judged, matcher) if redraws else {}
    records.note_mistakes(judged)
    every = [outcome_of(mistake, matcher, changed.get(mistake.recorded.id)) for mistake in judged]
    found = [outcome for outcome in every if not outcome.is_general or outcome.named == outcome.name]
    if not prepared.kata.kind.is_code:
        for index, outcome in enumerate(found):
            outcome.twin = _twin(judged[index].recorded, [other.recorded for other in judged[:index]])
    return found


def _twin(mistake: RecordedMistake, others: list[RecordedMistake]) -> str:
    """Return the first row of a question in which another mistake gives the same wrong answer, or ""."""
    for question, rows in mistake.outcomes.items():
        for other in others:
            pairs = zip(rows, other.outcomes.get(question, []), strict=False)
            for row, (here, there) in enumerate(pairs):
                if here and there and agrees(_answer(here), _answer(there)):
                    return f"{question.upper()} in row {row} as `{other.id}` does"
    return ""


def _answer(outcome: Recorded) -> Any:
    """Return the answer to a question as `grade` reads it."""
    return plain(outcome.answers[-1].value)


def _judged(course: Course, prepared: PreparedKata, records: Records) -> Iterator[JudgedMistake]:
    """Judge the mistakes one by one. Raises TookTooLong."""
    mistakes = judge_mistakes(course, prepared, records)
    while True:
        with limited_time(course, prepared.info):
            mistake = next(mistakes, None)
        if mistake is None:
            return
        yield mistake


def outcome_of(
    mistake: JudgedMistake, matcher: MistakeMatcher, changed: Redrawn | None = None
) -> MistakeOutcome:
    """Return the outcome of a mistake that was judged; `changed` tells what other random numbers change."""
    failed = frozenset(r.check.name for r in mistake.results if r.status not in ("passed", "skipped"))
    named = matcher.name(mistake.results)
    found = [named[result.check.name] for result in mistake.results if result.check.name in named]
    first = next((one for one in found if one.certain), found[0] if found else None)
    return MistakeOutcome(
        mistake.recorded.id,
        mistake.level,
        failed,
        first.id if first else None,
        mistake.points,
        changed or Redrawn(),
        is_general=mistake.is_general,
        raised=mistake.raised,
    )


def differs_in_a_worker(
    course: Course, grader: Grader, prepared: PreparedKata, here: MistakeOutcome
) -> str | None:
    """Return a message if a worker judges the mistake differently, else None."""
    source = KnownSolutions(course, prepared.info, "mistakes").source_of(here.name)
    try:
        report = grader.grade(Submission(prepared.info, source, f"the mistake `{here.name}`")).report
    except SubmissionRejected as refused:
        return f"the mistake `{here.name}` cannot be graded: {refused}"
    failed = frozenset(c.name for c in report.checks if c.status not in ("passed", "skipped"))
    mistake = report.mistake or report.possibility
    named = mistake.id if mistake else None
    if (failed, named) == (here.failed, here.named):
        return None
    return (
        f"the mistake `{here.name}` fails {_listed(failed)} in a worker, taken for `{named}`, and"
        f" {_listed(here.failed)} here: it rests on more than its arguments."
    )


def _listed(names: frozenset[str]) -> str:
    return ", ".join(sorted(names)) or "nothing"
