"""`kata verify`: check every kata of the course; each message says what to mend."""

from __future__ import annotations

import time
from contextlib import closing
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import click

from dojo_authoring.parallel import for_each
from dojo_authoring.verify import static_checks
from dojo_authoring.verify.judged import Records
from dojo_authoring.verify.laws import problems_of_laws
from dojo_authoring.verify.locations import last_line, line_of_definition, place
from dojo_authoring.verify.mistake_table import FILE_NAME, medians, renew_table
from dojo_authoring.verify.mistakes import MistakeOutcome, as_data, differs_in_a_worker, from_data, outcomes
from dojo_authoring.verify.record import write_record
from dojo_authoring.verify.time_limit import TookTooLong, limited_time
from dojo_authoring.verify.trivial import MOST_TRIVIAL, points_of_trivial_answers
from grader.cases.generation import SEED
from grader.checks.context import CheckContext, PreparedKata
from grader.course.catalog import Course, CourseError, KataInfo
from grader.course.files import read
from grader.course.known_solutions import KnownSolutions, standalone_sources
from grader.course.submission import Submission, SubmissionRejected
from grader.formats.account import in_short
from grader.grading.grader import Grader
from grader.grading.session import GraderSettings, grade_file, lacks_library, open_grader
from grader.kata import KataError
from grader.report import CheckReport, KataReport
from grader.texts.phrases import counted
from grader.worker.student import Student

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
        static_checks.untrained_skills,
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
    result.notes += static_checks.drafted_mistakes(course, info)
    result.notes += static_checks.drafted_variants(course, info)
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
    said = refusal(report)
    if not said:
        records.note_passed("full marks", source)
        return True
    result.gaps.append(f"{where}: {what} is {said} Mend one of the two.")
    return False


def refusal(report: KataReport) -> str:
    """Return by which check an answer is refused, and why, as the end of a sentence; "" if it has full
    marks."""
    judged = (check for check in report.checks if check.words is None)
    short = [check for check in judged if check.score < check.max_score]
    # a check may hold and earn nothing because another one fails: the latter is the reason
    check = next((check for check in short if check.status == "failed"), next(iter(short), None))
    return f"refused by `{check.name}`: {_told(check)}" if check else ""


def _told(check: CheckReport) -> str:
    """Return on one line why a check failed: its message, the call with its arguments, and both values."""
    given = ", ".join(f"{name} = {value}" for name, value in (check.counterexample or {}).items())
    parts = [
        f"called {in_short(check).call}" if check.call else "",
        f"with {given}" if given else "",
        f"expected {check.expected}, got {check.got}" if check.expected is not None else "",
    ]
    message, details = check.message or "A value differs.", "; ".join(filter(None, parts))
    return " ".join((f"{message} ({details})." if details else message).split())


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
