"""`kata verify`: check every kata of the course; each message says what to mend.

Check that every mistake fails and that its report names it.

Mistakes are part of the course, so they are judged in this process, which takes a fifth of the time. The
first one of each kata is also judged in a worker, where the result must be the same.

Judge mistakes with other random numbers: are they still caught, and do their reports still name them?

A student who makes the mistake in other words draws other numbers. So mistakes that draw are judged once more
with other seeds. Checks that the reference then fails pin the draws themselves, as a statement may: a mistake
that fails one of them is always caught, and they are left out for the name. Only the checks that a mistake
has failed are run again, since its name rests on them.
"""

from __future__ import annotations

import random
import sys
import time
import warnings
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import asdict, dataclass, field
from functools import partial
from statistics import median
from typing import Any

import click
import numpy as np

from dojo_authoring.parallel import for_each
from dojo_authoring.verify import static_checks
from dojo_authoring.verify.judged import JudgedMistake, Records, judge_mistakes
from dojo_authoring.verify.static_checks import last_line, line_of_definition, place, write_record
from dojo_authoring.verify.time_limit import TookTooLong, limited_time
from dojo_authoring.verify.trivial import MOST_TRIVIAL, points_of_trivial_answers
from grader.answer_keys.answers import Recorded, RecordedMistake
from grader.cases.generation import SEED
from grader.checks.context import Check, CheckContext, PreparedKata
from grader.checks.runner import CheckResult, run_check
from grader.course.catalog import Course, CourseError, KataInfo
from grader.course.files import line_of, message_of, read
from grader.course.known_solutions import DRAWING, KnownSolutions, standalone_sources
from grader.course.submission import Submission, SubmissionRejected
from grader.diagnosis.candidate import FailedCheck
from grader.diagnosis.known_mistakes import MistakeOfKey
from grader.diagnosis.matcher import MistakeMatcher, matcher_of
from grader.formats.account import in_short
from grader.grading.grader import Grader
from grader.grading.session import GraderSettings, grade_file, lacks_library, open_grader
from grader.kata import KataError
from grader.mistakes import LEVELS
from grader.report import CheckReport, KataReport
from grader.values.constants import agrees, plain
from grader.values.formatting import counted
from grader.worker.calls import CaseFailed, KeptCalls, Skip
from grader.worker.in_process import LocalStudent
from grader.worker.protocol.messages import Outcome, Request
from grader.worker.student import Student

SHIFT = 1_000_003  # added to every seed, and once more for each further draw
DRAWS = 10  # with the draw of the verification itself


@dataclass(frozen=True)
class Redrawn:
    """What other random numbers change for a mistake: whether its report names it only while they are the
    same, and with how many of DRAWS draws it is caught."""

    named_by_chance: bool = False
    caught: int = DRAWS


def redrawn(
    course: Course, prepared: PreparedKata, judged: list[JudgedMistake], matcher: MistakeMatcher
) -> dict[str, Redrawn]:
    """Return what other random numbers change, by the name of each mistake for which they change anything."""
    drawing = _drawing(course, prepared, judged)
    if not drawing:
        return {}
    answers = KnownSolutions(course, prepared.info, "mistakes")
    with limited_time(course, prepared.info):
        pinned = {check.name for check in _failed(prepared.checks, _context(prepared, answers.reference, 1))}
    found = {}
    for mistake in drawing:
        name = mistake.recorded.id
        with limited_time(course, prepared.info):
            failed = [result for result in mistake.results if result.failures]
            again = _judge_again([result.check for result in failed], prepared, answers.fresh(name))
        mistake.steady = _is_the_same(mistake, again)
        if not mistake.steady:
            first, second = ([r for r in rs if r.check.name not in pinned] for rs in (failed, again))
            by_chance = _is_named(name, first, matcher) and not _is_named(name, second, matcher)
            with limited_time(course, prepared.info):
                certain = any(_fails_the_same(mistake, result) for result in again)
                caught = DRAWS if certain else _times_caught(prepared, answers, mistake, pinned)
            found[name] = Redrawn(by_chance, caught)
    return found


def _drawing(course: Course, prepared: PreparedKata, judged: list[JudgedMistake]) -> list[JudgedMistake]:
    """Return the kata's own mistakes that are caught and that draw, by their source, or that of the
    reference. Dropout in the reference does not count: a check that it passes with any draws does not rest on
    them. The general mistakes change no draw."""
    if not judged:
        return []
    answers = KnownSolutions(course, prepared.info, "mistakes")
    return [
        mistake
        for mistake in judged
        if not (mistake.steady or mistake.is_general)
        and any(result.failures for result in mistake.results)
        and (answers.draws or _draws(answers.excerpt(mistake.recorded.id)))
    ]


def _draws(source: str) -> bool:
    return bool(DRAWING.search(source)) or "dropout" in source.lower()


def _context(prepared: PreparedKata, module: Any, draw: int) -> CheckContext:
    return CheckContext(prepared.kata, prepared.oracle, OtherDraws(module, draw * SHIFT))


def _judge_again(checks: list[Check], prepared: PreparedKata, module: Any) -> list[CheckResult]:
    context = _context(prepared, module, 1)
    return [run_check(check, context) for check in checks]


def _failed(checks: Iterable[Check], context: CheckContext) -> Iterator[Check]:
    return (check for check in checks if run_check(check, context).failures)


def _is_the_same(mistake: JudgedMistake, again: list[CheckResult]) -> bool:
    """True if other draws have led to the same failures with the same answers."""
    return all(_is_explained(mistake, result) for result in again)


def _fails_the_same(mistake: JudgedMistake, again: CheckResult) -> bool:
    """True if a check fails with the same answers as before, so that it rests on no draw."""
    return bool(again.failures) and _is_explained(mistake, again)


def _is_explained(mistake: JudgedMistake, again: CheckResult) -> bool:
    return FailedCheck(again).is_explained_by(mistake.recorded.outcomes[again.check.name])


def _times_caught(
    prepared: PreparedKata, answers: KnownSolutions, mistake: JudgedMistake, pinned: set[str]
) -> int:
    """Return with how many of DRAWS draws a check fails; the checks that have failed before come first."""
    failed = {result.check.name for result in mistake.results if result.failures}
    if failed & pinned:
        return DRAWS
    checks = sorted(prepared.checks, key=lambda check: check.name not in failed)
    free = [check for check in checks if check.name not in pinned]
    name = mistake.recorded.id
    again = (_context(prepared, answers.fresh(name), draw) for draw in range(1, DRAWS))
    return 1 + sum(any(True for _ in _failed(free, context)) for context in again)


def _is_named(name: str, results: list[CheckResult], matcher: MistakeMatcher) -> bool:
    return name in {mistake.id for mistake in matcher.name(results).values()}


class OtherDraws(LocalStudent):
    """A student in this process for which every seed is larger by `shift`, so that it gives other numbers."""

    def __init__(self, module: Any, shift: int = SHIFT) -> None:
        super().__init__(module, seed=shift)
        self._shift = shift

    def perform(self, request: Request) -> Outcome:
        with _shifted_seeds(self._shift):
            return super().perform(request)


@contextmanager
def _shifted_seeds(shift: int) -> Iterator[None]:
    """Replace what takes a seed, so that it takes another one."""
    places: list[tuple[Any, str]] = [(random, "seed"), (np.random, "seed"), (np.random, "default_rng")]
    if torch := sys.modules.get("torch"):
        places += [(torch, "manual_seed"), (torch, "Generator")]
    originals = [(owner, name, getattr(owner, name)) for owner, name in places]
    for owner, name, original in originals:
        shifted = _generator_class if name == "Generator" else _shifted
        setattr(owner, name, shifted(original, shift))
    try:
        yield
    finally:
        for owner, name, original in originals:
            setattr(owner, name, original)


def _shifted(function: Any, shift: int) -> Any:
    def call(seed: Any = None) -> Any:
        return function(seed + shift if isinstance(seed, int | np.integer) else seed)

    return call


def _generator_class(generator: Any, shift: int) -> Any:
    class Generator(generator):  # type: ignore[misc]  # PyTorch is optional, so its class is untyped here
        def manual_seed(self, seed: int) -> Any:
            return super().manual_seed(seed + shift)

        def initial_seed(self) -> Any:  # the seed that was given, so that it can be given again
            return super().initial_seed() - shift

    return Generator


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


FILE_NAME = "mistakes.md"
HEAD = "| mistake | level | points | failing checks |\n|---|---|---:|---|"


def renew_table(course: Course, info: KataInfo, outcomes: Sequence[MistakeOutcome], *, create: bool) -> bool:
    """Write the table of one kata into its folder of solutions, if it has one or `create` is true. Return
    whether the file has changed."""
    path, text = course.folder(info) / FILE_NAME, mistake_table(info, outcomes)
    before = path.read_text(encoding="utf-8") if path.is_file() else "" if create else text
    if before != text:
        path.write_text(text, encoding="utf-8")
    return before != text


def mistake_table(info: KataInfo, outcomes: Sequence[MistakeOutcome]) -> str:
    """Return the table as Markdown, crude mistakes first."""
    ordered = sorted(outcomes, key=lambda outcome: (LEVELS.index(outcome.level), outcome.points))
    rows = [f"| `{o.name}` | {o.level} | {o.points / 100:g} | {_failing(o)} |" for o in ordered]
    return "\n".join([f"# Mistakes of `{info.name}`\n", f"{medians(outcomes)}\n", HEAD, *rows]) + "\n"


def medians(outcomes: Sequence[MistakeOutcome]) -> str:
    """Return the median of the points for each level as one sentence."""
    points = {level: [o.points / 100 for o in outcomes if o.level == level] for level in LEVELS}
    text = [f"{level} {median(found):g} ({len(found)})" for level, found in points.items() if found]
    return f"Median points by level: {', '.join(text)}."


def _failing(outcome: MistakeOutcome) -> str:
    return ", ".join(f"`{name}`" for name in sorted(outcome.failed))


MISTAKES_DUE = 6
VARIANTS_DUE = 3


@dataclass
class KataVerification:
    """The counts and the messages about one kata. `gaps` is empty if the kata is ready; `notes` may stay."""

    info: KataInfo
    checks: int = 0
    mistakes: int = 0
    caught: int = 0
    named: int = 0
    named_by_chance: int = 0  # not counted in `named`
    variants: int = 0
    passed: int = 0
    seconds: float = 0.0
    gaps: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    outcomes: list[MistakeOutcome] = field(default_factory=list)
    costs: list[str] = field(default_factory=list)  # notes about laws that make many calls

    @property
    def failed_checks(self) -> set[str]:
        """The names of the checks that some mistake fails."""
        return {name for outcome in self.outcomes for name in outcome.failed}


def verify_course(
    course: Course,
    names: tuple[str, ...],
    seed: int = SEED,
    *,
    isolated: bool = False,
    tables: bool = False,
    fresh: bool = False,
) -> int:
    """Verify the named katas, or all, and print a table and all gaps; return 1 if there are gaps, else 0.
    Renew the tables of mistakes that are there; with `tables`, write that of every kata. With `fresh`, judge
    also what is recorded."""
    infos = [course.kata_info(name) for name in names] or list(course.katas.values())
    if not infos:
        raise CourseError("There are no katas to verify.")
    found = dict(for_each(course, infos, partial(_verify_in_process, isolated=isolated, fresh=fresh), seed))
    results = [found[info] for info in infos]
    click.echo(table(results))
    outcomes = [outcome for result in results for outcome in result.outcomes]
    if outcomes:
        click.echo(medians(outcomes))
    if by_chance := [f"{v.info.name} {v.named_by_chance}" for v in results if v.named_by_chance]:
        click.echo(f"Named by chance, and not counted as named: {', '.join(by_chance)}.")
    for result in results:
        due = tables or (seed == SEED and result.outcomes)
        if due and renew_table(course, result.info, result.outcomes, create=tables):
            click.echo(f"Renewed the table of mistakes of {result.info.name}: {FILE_NAME}.")
    of_the_course = (
        static_checks.unknown_names,
        static_checks.unkept_plans,
        static_checks.unknown_in_see,
        static_checks.stray_files,
    )
    stray = [] if names else [gap for check in of_the_course for gap in check(course)]
    gaps = [f"{result.info.name}: {gap}" for result in results for gap in result.gaps] + stray
    if gaps:
        click.echo(f"next: {gaps[0]}")
    for gap in gaps:
        click.echo(f"✗ {gap}")
    for result in results:
        for note in result.notes:
            click.echo(f"note: {result.info.name}: {note}")
    if seed == SEED:
        ready = [result.info for result in results if not result.gaps]
        try:
            write_record(course, ready, [result.info for result in results if result.gaps])
        except CourseError as error:  # what was found stands, also where nothing can be written
            click.echo(f"note: {error}")
    drafts = [info.name for info in infos if info.draft]
    if drafts:
        click.echo(f"Drafts, whose checks are unproven: {', '.join(drafts)}.")
    done = "Every kata can be graded." if drafts else "Every kata is ready."
    click.echo(f"{counted(len(gaps), 'gap')}." if gaps else done)
    return 1 if gaps else 0


def _verify_in_process(
    course: Course, info: KataInfo, seed: int, *, isolated: bool, fresh: bool
) -> KataVerification:
    click.echo(f"{info.name} …", err=True)
    if missing := static_checks.missing_files(course, info):  # without a reference no grader can be opened
        return KataVerification(info, gaps=missing)
    try:
        return verify_kata(course, info, seed, isolated=isolated, fresh=fresh)
    except KataError as error:
        return KataVerification(info, gaps=[str(error)])


def verify_kata(
    course: Course, info: KataInfo, seed: int = SEED, *, isolated: bool = False, fresh: bool = False
) -> KataVerification:
    """Run all checks on one kata. What was judged before is read, unless `fresh` is true."""
    began = time.monotonic()
    result = KataVerification(info)
    result.gaps += static_checks.gaps(course, info)
    if not result.gaps:
        unready = ["a draft"] if info.draft else static_checks.gaps_of_answers(course, info)
        records = Records(course, info, seed, fresh=fresh)
        before = None if unready else records.verified(str(isolated))
        if before is not None:
            _read(course, result, before)
        else:
            grader, source = open_grader(course, [info], GraderSettings(seed=seed))
            with closing(source):
                _judge(course, grader, result, unready, isolated=isolated, records=records)
            if not unready and not result.gaps:
                records.note_verified(_as_data(result), str(isolated))
            records.save()
    result.gaps += [] if info.draft else static_checks.unfinished(course, info)
    result.notes += [*result.costs, *static_checks.todos_of_draft(course, info)]
    result.seconds = time.monotonic() - began
    return result


def _as_data(result: KataVerification) -> dict[str, Any]:
    """Return what judging has found about a kata without gaps."""
    outcomes = [as_data(outcome) for outcome in result.outcomes]
    counts = {"checks": result.checks, "variants": result.variants}
    return {**counts, "costs": result.costs, "outcomes": outcomes}


def _read(course: Course, result: KataVerification, before: dict[str, Any]) -> None:
    """Add what `_as_data` returned."""
    result.checks, result.variants = before["checks"], before["variants"]
    result.passed, result.costs = result.variants, before["costs"]
    _add_outcomes(course, result, [from_data(outcome) for outcome in before["outcomes"]])


def _judge(
    course: Course,
    grader: Grader,
    result: KataVerification,
    unready: list[str],
    *,
    isolated: bool,
    records: Records,
) -> None:
    """Add the gaps that running the kata shows; if it cannot be drawn or judged, that is the only one. With
    gaps `due` in the mistakes and variants, only the reference is judged."""
    try:
        with limited_time(course, result.info):
            prepared = grader.prepare(result.info)
            result.checks = len(prepared.checks)
            if not records.has_passed("laws"):
                gaps, costs = problems_of_laws(course, prepared)
                result.gaps, result.costs = result.gaps + gaps, costs
                if not result.gaps + result.costs:
                    records.note_passed("laws")
        _verify_stub(course, grader, result, records)
        _verify_reference(course, grader, result, records)
        result.gaps += [] if result.info.draft else unready
        if not unready:
            _verify_trivial_answers(course, prepared, result, records)
            _verify_variants(course, grader, result, records)
            _verify_answer_in_torch(course, grader, result, records)
            _verify_mistakes(course, grader, result, isolated=isolated, records=records)
    except TookTooLong as endless:
        result.gaps.append(str(endless))
        return
    except KataError as error:
        where = place(course, result.info.path)
        result.gaps.append(f"{where}: {str(error).removeprefix(f'{result.info.name}: ')}")
        return
    path = result.info.path
    result.gaps += (
        []
        if unready
        else [
            f"{place(course, path, line_of_definition(path, f'test_{law.name}'))}: no mistake fails the law"
            f" `{law.name}`; add the mistake that it guards against, or drop it."
            for law in prepared.kata.laws
            if law.name not in result.failed_checks
        ]
    )


def _verify_stub(course: Course, grader: Grader, result: KataVerification, records: Records) -> None:
    kata = grader.prepare(result.info).kata
    expected = "failed" if kata.ships_wrong_code else "not_started"
    text = read(course.stub(result.info))
    if records.has_passed("stub", text):
        return
    report = grade_file(grader, result.info, course.stub(result.info)).report
    if report.status == expected:
        records.note_passed("stub", text)
    else:
        result.gaps.append(
            f"the stub is reported `{report.status}`, not `{expected}`; each entry point must be a docstring"
            " and `raise NotImplementedError`."
        )


def _verify_reference(course: Course, grader: Grader, result: KataVerification, records: Records) -> None:
    reference = course.solution(result.info, "reference").read_text(encoding="utf-8")
    where = place(course, course.solution(result.info, "reference"))
    _require_full_marks(grader, result, records, where, "the reference", reference)


def _verify_trivial_answers(
    course: Course, prepared: PreparedKata, result: KataVerification, records: Records
) -> None:
    """Add a gap if an answer that takes no thought earns more than one of ten points."""
    if not prepared.kata.kind.is_code or records.has_passed("trivial answers"):
        return
    most = prepared.kata.points * MOST_TRIVIAL
    found = points_of_trivial_answers(course, prepared)
    paid = {what: points for what, points in found.items() if points > most}
    where = place(course, result.info.path)
    result.gaps += [
        f"{where}: a trivial answer ({what}) gets {points / 100:g} of {prepared.kata.points:g} points; draw"
        " cases whose answers differ from it, or give the checks that it passes fewer points."
        for what, points in paid.items()
    ]
    if not paid:
        records.note_passed("trivial answers")


def _verify_variants(course: Course, grader: Grader, result: KataVerification, records: Records) -> None:
    path = course.solution(result.info, "variants")
    sources = standalone_sources(course, result.info, "variants")
    result.variants = len(sources)
    if len(sources) < VARIANTS_DUE:
        where = place(course, path, last_line(path))
        result.gaps.append(
            f"{where}: {counted(len(sources), 'variant')}; {VARIANTS_DUE} are needed, in other styles."
        )
    for name, source in sources.items():
        where = place(course, path, line_of_definition(path, name))
        result.passed += _require_full_marks(grader, result, records, where, f"the variant `{name}`", source)


def _verify_answer_in_torch(
    course: Course, grader: Grader, result: KataVerification, records: Records
) -> None:
    """Add a gap if an answer in PyTorch to a NumPy kata cannot be judged, or if the one that there is has not
    full marks."""
    if "torch" in result.info.libraries:
        prepared = grader.prepare(result.info, "torch")
        context = CheckContext(prepared.kata, prepared.oracle, Student())
        if all(map(context.leaves_out, prepared.oracle.answered.cases)):
            where = place(course, result.info.path)
            result.gaps.append(
                f"{where}: every case has integers that PyTorch lacks, so no answer in PyTorch can be judged;"
                ' say libraries=("numpy",), or draw int64.'
            )
            return
    path = course.solution(result.info, "in_torch")
    if not path.is_file() or lacks_library(Submission(result.info, read(path), path.name)):
        return
    _require_full_marks(grader, result, records, place(course, path), "the answer in PyTorch", read(path))


def _require_full_marks(
    grader: Grader, result: KataVerification, records: Records, where: str, what: str, source: str
) -> bool:
    if records.has_passed("full marks", source):
        return True
    report = _grade_source(grader, result, what, source)
    if report is None:
        return False
    judged = (check for check in report.checks if check.words is None)
    check = next((check for check in judged if check.score < check.max_score), None)
    if check is None:
        records.note_passed("full marks", source)
        return True
    result.gaps.append(f"{where}: {what} is refused by `{check.name}`: {_told(check)} Mend one of the two.")
    return False


def _told(check: CheckReport) -> str:
    """Return on one line why a check failed: its message, the call with its arguments, and both values."""
    given = ", ".join(f"{name} = {value}" for name, value in (check.counterexample or {}).items())
    parts = [
        f"called {in_short(check).call}" if check.call else "",
        f"with {given}" if given else "",
        f"expected {check.expected}, got {check.got}" if check.expected is not None else "",
    ]
    return " ".join(f"{check.message or 'A value differs.'} ({'; '.join(filter(None, parts))}).".split())


def _grade_source(grader: Grader, result: KataVerification, what: str, source: str) -> KataReport | None:
    try:
        return grader.grade(Submission(result.info, source, what)).report
    except SubmissionRejected as refused:
        result.gaps.append(f"{what} cannot be graded: {refused}")
        return None


def _verify_mistakes(
    course: Course, grader: Grader, result: KataVerification, *, isolated: bool, records: Records
) -> None:
    prepared = grader.prepare(result.info)
    found = outcomes(course, grader, prepared, records)
    _add_outcomes(course, result, found)
    for outcome in found if isolated else found[:1]:
        difference = differs_in_a_worker(course, grader, prepared, outcome)
        result.gaps += [difference] if difference else []


def _add_outcomes(course: Course, result: KataVerification, found: list[MistakeOutcome]) -> None:
    result.outcomes = found
    result.mistakes = len(found)
    result.caught = sum(bool(outcome.failed) for outcome in found)
    result.named = sum(outcome.is_named for outcome in found)
    result.named_by_chance = sum(outcome.redrawn.named_by_chance for outcome in found)
    own = [outcome for outcome in found if not outcome.is_general]
    if len(own) < MISTAKES_DUE:
        path = course.mistakes(result.info)[-1]
        where, there = place(course, path, last_line(path)), counted(len(own), "mistake")
        result.gaps.append(f"{where}: {there}; {MISTAKES_DUE} are needed.")
    if any(outcome.gap or outcome.note for outcome in found):
        answers = KnownSolutions(course, result.info, "mistakes")
    for outcome in found:
        if outcome.gap or outcome.note:
            where = place(course, *answers.place(outcome.name))
            result.gaps += [f"{where}: {outcome.gap}"] if outcome.gap else []
            result.notes += [f"{where}: {outcome.note}"] if outcome.note else []


def table(results: list[KataVerification]) -> str:
    """Return the table with one line per kata."""
    head = f"{'kata':<30}{'checks':>7}{'caught':>9}{'named':>9}{'variants':>10}{'seconds':>9}"
    rows = [
        f"{v.info.name + ' (draft)' * v.info.draft:<30}{v.checks:>7}"
        f"{f'{v.caught}/{v.mistakes}':>9}{f'{v.named}/{v.mistakes}':>9}"
        f"{f'{v.passed}/{v.variants}':>10}{v.seconds:>9.1f}"
        for v in results
    ]
    return "\n".join([head, *rows])


TRIED = 8  # cases per law
MANY_CALLS = 600  # that a law makes in a grading; these take about two seconds


def problems_of_laws(course: Course, prepared: PreparedKata) -> tuple[list[str], list[str]]:
    """Return a message for each law that raises an unexpected exception on the reference, and one for each
    that makes more than MANY_CALLS calls of a submission."""
    own, path = {law.name for law in prepared.kata.laws}, prepared.info.path
    unsound, costly = [], []
    for check in (check for check in prepared.checks if check.name in own):
        error, calls = _tried(check, prepared)
        if error is not None:
            unsound.append(
                f"{place(course, path, line_of(error, path))}: the law `{check.name}` raises"
                f" {message_of(error)} when the reference is judged; mend the law."
            )
        elif calls > MANY_CALLS:
            line = line_of_definition(path, f"test_{check.name}")
            costly.append(
                f"{place(course, path, line)}: the law `{check.name}` makes {calls:,} calls in every"
                " grading; draw fewer times, or draw many numbers in one call."
            )
    return unsound, costly


def _tried(check: Check, prepared: PreparedKata) -> tuple[Exception | None, int]:
    """Run a check on the first cases with the reference. Return an unexpected exception, and how many calls
    all cases make at this rate."""
    student, calls = prepared.oracle.reference, 0
    context, cases = CheckContext(prepared.kata, prepared.oracle, student), check.cases[:TRIED]
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        for case in cases:
            try:
                with KeptCalls(student) as made:
                    check.judge(context, case)
            except CaseFailed as failed:  # that a law refuses the reference is reported elsewhere
                if not (failed.is_refusal or isinstance(failed.why, Skip)):
                    return failed.why, 0
            calls += len(made)
    return None, calls * len(check.cases) // max(len(cases), 1)
