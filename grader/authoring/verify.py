"""`kata verify`: the course checks itself, and each refusal says how to mend it."""

from __future__ import annotations

import time
from contextlib import closing
from dataclasses import dataclass, field

import click

from grader.authoring import mistake_checks, static_checks
from grader.authoring.law_sanity import unsound_laws
from grader.authoring.parallel import for_each
from grader.authoring.source_locations import last_line, line_of_definition, place
from grader.cases.generation import SEED
from grader.course.catalog import Course, CourseError, KataInfo
from grader.course.known_solutions import standalone_sources
from grader.course.submission import Submission, SubmissionRejected
from grader.grading.grader import Grader
from grader.grading.startup import grade_file, open_grader
from grader.kata import KataError
from grader.report import KataReport
from grader.values.formatting import counted

MISTAKES_DUE = 6
VARIANTS_DUE = 3


@dataclass
class KataVerification:
    """What was found about one kata. `gaps` is empty for a kata that is ready."""

    info: KataInfo
    checks: int = 0
    mistakes: int = 0
    caught: int = 0
    named: int = 0
    variants: int = 0
    passed: int = 0
    seconds: float = 0.0
    gaps: list[str] = field(default_factory=list)
    failed_checks: set[str] = field(default_factory=set)


def verify_course(course: Course, names: tuple[str, ...], seed: int = SEED, isolated: bool = False) -> int:
    """Verify the named katas, or all, and print the table. 0 if nothing is missing, else 1."""
    infos = [course.kata_info(name) for name in names] or list(course.katas.values())
    if not infos:
        raise CourseError("There are no katas to verify.")
    found = dict(for_each(course, infos, _verify_alone, seed, isolated))
    verdicts = [found[info] for info in infos]
    click.echo(table(verdicts))
    stray = [] if names else static_checks.listed_in_vain(course) + static_checks.stray_files(course)
    gaps = [f"{verdict.info.name}: {gap}" for verdict in verdicts for gap in verdict.gaps] + stray
    if gaps:
        click.echo(f"next: {gaps[0]}")
    for gap in gaps:
        click.echo(f"✗ {gap}")
    click.echo("Every kata is ready." if not gaps else f"{counted(len(gaps), 'gap')}.")
    return 1 if gaps else 0


def _verify_alone(course: Course, info: KataInfo, seed: int, isolated: bool) -> KataVerification:
    click.echo(f"{info.name} …", err=True)
    grader, source = open_grader(course, [info], seed=seed)
    with closing(source):
        try:
            return verify_kata(course, grader, info, isolated)
        except KataError as error:
            return KataVerification(info, gaps=[str(error)])


def verify_kata(course: Course, grader: Grader, info: KataInfo, isolated: bool = False) -> KataVerification:
    """Everything that can be said about one kata."""
    began = time.monotonic()
    verdict = KataVerification(info)
    verdict.gaps += static_checks.gaps(course, info)
    if not verdict.gaps:
        _judge(course, grader, verdict, isolated)
    verdict.gaps += static_checks.unfinished(course, info)
    verdict.seconds = time.monotonic() - began
    return verdict


def _judge(course: Course, grader: Grader, verdict: KataVerification, isolated: bool) -> None:
    """What running the kata shows. A kata that cannot be drawn or judged has that one gap."""
    try:
        prepared = grader.prepare(verdict.info)
        verdict.checks = len(prepared.checks)
        verdict.gaps += unsound_laws(course, prepared)
        _verify_stub(course, grader, verdict)
        _verify_right_answers(course, grader, verdict)
        _verify_mistakes(course, grader, verdict, isolated)
    except KataError as error:
        where = place(course, verdict.info.path)
        verdict.gaps.append(f"{where}: {str(error).removeprefix(f'{verdict.info.name}: ')}")
        return
    path = verdict.info.path
    verdict.gaps += [
        f"{place(course, path, line_of_definition(path, f'test_{law.name}'))}: no mistake fails the law"
        f" `{law.name}`; add the mistake that it guards against, or drop it."
        for law in prepared.kata.laws
        if law.name not in verdict.failed_checks
    ]


def _verify_stub(course: Course, grader: Grader, verdict: KataVerification) -> None:
    kata = grader.prepare(verdict.info).kata
    due = "failed" if kata.ships_wrong_code else "not_started"
    report = grade_file(grader, verdict.info, course.stub(verdict.info))
    if report.status != due:
        verdict.gaps.append(
            f"the stub is reported `{report.status}`, not `{due}`; each entry point must be a docstring"
            " and `raise NotImplementedError`."
        )


def _verify_right_answers(course: Course, grader: Grader, verdict: KataVerification) -> None:
    reference = course.solution(verdict.info, "reference").read_text(encoding="utf-8")
    where = place(course, course.solution(verdict.info, "reference"))
    _require_full_marks(grader, verdict, where, "the reference", reference)
    path = course.solution(verdict.info, "variants")
    sources = standalone_sources(course, verdict.info, "variants")
    verdict.variants = len(sources)
    if len(sources) < VARIANTS_DUE:
        where = place(course, path, last_line(path))
        verdict.gaps.append(
            f"{where}: {counted(len(sources), 'variant')}; {VARIANTS_DUE} are due, in other styles."
        )
    for name, source in sources.items():
        where = place(course, path, line_of_definition(path, name))
        verdict.passed += _require_full_marks(grader, verdict, where, f"the variant `{name}`", source)


def _require_full_marks(
    grader: Grader, verdict: KataVerification, where: str, what: str, source: str
) -> bool:
    report = _grade_source(grader, verdict, what, source)
    if report is None or report.score == report.max_score:
        return report is not None
    check = next(check for check in report.checks if check.score < check.max_score)
    verdict.gaps.append(
        f"{where}: {what} is refused by `{check.name}`: {check.message or 'a value differs'} ({check.call},"
        f" expected {check.expected}, got {check.got}). Mend the answer or the check."
    )
    return False


def _grade_source(grader: Grader, verdict: KataVerification, what: str, source: str) -> KataReport | None:
    try:
        return grader.grade(Submission(verdict.info, source, what))
    except SubmissionRejected as refused:
        verdict.gaps.append(f"{what} cannot be graded: {refused}")
        return None


def _verify_mistakes(course: Course, grader: Grader, verdict: KataVerification, isolated: bool) -> None:
    prepared = grader.prepare(verdict.info)
    path = course.solution(verdict.info, "mistakes")
    found = mistake_checks.outcomes(course, grader, prepared)
    verdict.mistakes = len(found)
    verdict.caught = sum(bool(outcome.failed) for outcome in found)
    verdict.named = sum(outcome.named == outcome.name for outcome in found)
    verdict.failed_checks = {name for outcome in found for name in outcome.failed}
    if len(found) < MISTAKES_DUE:
        where, there = place(course, path, last_line(path)), counted(len(found), "mistake")
        verdict.gaps.append(f"{where}: {there}; {MISTAKES_DUE} are due.")
    verdict.gaps += [
        f"{place(course, path, line_of_definition(path, outcome.name))}: {outcome.gap}"
        for outcome in found
        if outcome.gap
    ]
    for outcome in found if isolated else found[:1]:
        otherwise = mistake_checks.differs_in_a_worker(course, grader, prepared, outcome)
        verdict.gaps += [otherwise] if otherwise else []


def table(verdicts: list[KataVerification]) -> str:
    """One line a kata."""
    head = f"{'kata':<30}{'checks':>7}{'caught':>9}{'named':>9}{'variants':>10}{'seconds':>9}"
    rows = [
        f"{v.info.name:<30}{v.checks:>7}{f'{v.caught}/{v.mistakes}':>9}{f'{v.named}/{v.mistakes}':>9}"
        f"{f'{v.passed}/{v.variants}':>10}{v.seconds:>9.1f}"
        for v in verdicts
    ]
    return "\n".join([head, *rows])
