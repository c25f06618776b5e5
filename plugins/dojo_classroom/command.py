"""The command `kata grade`: collect, grade, store, write the results, print the summary."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass
from pathlib import Path

import click

from dojo_classroom.analytics import ClassStatistics, KataStatistics, group_search, write_drafts
from dojo_classroom.collector import Collector
from dojo_classroom.counts import RunCounts
from dojo_classroom.gradebooks import gradebooks
from dojo_classroom.outputs import OutputTerms, write_gradebook, write_outputs
from dojo_classroom.policy import POLICY_FILE, Policy, read_policy
from dojo_classroom.roster import Person, Roster, read_logins, read_roster
from dojo_classroom.run import ClassRun, GraderPool
from dojo_classroom.store import Store, open_store
from dojo_classroom.student_reports import JudgedClass, counted_katas
from dojo_classroom.task import FileVerdict, GraderOptions, LocalPool, Task
from grader.answer_keys.file import has_keys
from grader.cases.generation import SEED
from grader.course.catalog import Course, CourseError, KataInfo
from grader.course.renaming import renamed
from grader.course.secret_seed import seed_or_new
from grader.grading.session import GraderSettings
from grader.texts.escaping import one_line
from grader.texts.phrases import counted
from grader.texts.points import points

LINE_SECONDS = 30.0  # between two lines of progress where there is no terminal
INTERRUPTED = 130  # the exit code of a shell after Ctrl-C


@dataclass(frozen=True)
class ClassOptions:
    """The options of `kata grade`."""

    submissions: Path
    output: Path = Path("grades")
    roster: Path | None = None
    logins: Path | None = None
    store: str | None = None
    engine: str = "local"
    address: str = ""
    graders: int | None = None
    device: str = "cpu"
    isolation: str = "best"
    key: Path | None = None
    secret: Path | None = None
    gradebook: str | None = None
    each: bool = False
    absent: str = "zero"
    policy: Path | None = None
    column: str = ""
    search: bool = False
    draft_mistakes: Path | None = None
    is_named: bool = False  # the katas were named, so that all of them count

    def grader_options(self, course: Course, infos: list[KataInfo]) -> GraderOptions:
        """Return the options of the grading processes, with the secret seed if no key has the cases. Raises
        CourseError."""
        katas = tuple(info.name for info in infos)
        seed = SEED if has_keys(course, infos, self.key) else seed_or_new(course)
        settings = GraderSettings(self.device, self.isolation, self.key, self.secret, seed)
        return GraderOptions(course.root.absolute(), course.exercises.absolute(), katas, settings)


def grade_class(course: Course, infos: list[KataInfo], options: ClassOptions) -> int:
    """Grade the class and write all results; return how much failed through our own fault."""
    policy = _policy(course, options)
    collector = Collector(options.submissions, believes_commits=policy.terms.commits)
    roster = read_roster(options.roster) if options.roster else None
    if options.logins and roster is None:
        raise CourseError("`--logins` says whose logins are in the roster: give --roster too.")
    logins = read_logins(options.logins) if options.logins else {}
    if roster:
        policy.require_students([member.id for member in roster.members])
    gradebooks(roster, options.column)  # a wrong column is refused before anything is graded
    with closing(open_store(options.store, options.output)) as store:
        for_graders = options.grader_options(course, infos)
        with closing(open_pool(options, for_graders)) as pool:
            run = _class_run(course, infos, collector, roster, pool, store, logins, policy)
            counts = _grade(run, each=options.each)
        begun = counted_katas(store, infos, policy, run.counts.started, is_named=options.is_named)
        absent = "0" if options.absent == "zero" else ""
        judged = JudgedClass(store, begun, options.device, counts, policy)
        title = course.syllabus.title
        with ExitStack() as searching:
            wanted = options.search or options.draft_mistakes
            search = searching.enter_context(group_search(for_graders, run.source_of)) if wanted else None
            terms = OutputTerms(title, absent, options.column, run.source_of, run.stubs, search)
            statistics = write_outputs(options.output, judged, roster, terms)
        if options.draft_mistakes:
            entry_points = {info.name: info.entry_points for info in infos}
            with counts.net("the class", "--draft-mistakes"):
                drafts = write_drafts(options.draft_mistakes, statistics.unexplained, entry_points)
                click.echo(f"{counted(drafts, 'draft')} of mistakes written to {options.draft_mistakes}.")
        if options.gradebook:
            with counts.net("the class", "--gradebook"):
                write_gradebook(options.gradebook, judged)
        click.echo(render(statistics, counts, options.output), nl=False)
    return statistics.faults + len(counts.failed)


def open_pool(options: ClassOptions, for_graders: GraderOptions) -> GraderPool:
    """Open the pool that the options name, with as many graders as they say or as suit the cores."""
    if options.engine == "ray":
        from dojo_classroom.ray_pool import RayPool

        return RayPool(for_graders, options.graders or 0, options.address)
    return LocalPool(for_graders, options.graders or 0)


def _class_run(  # noqa: PLR0913  # what a run is made of, gathered for one call
    course: Course,
    infos: list[KataInfo],
    collector: Collector,
    roster: Roster | None,
    pool: GraderPool,
    store: Store,
    logins: Mapping[str, Person],
    policy: Policy,
) -> ClassRun:
    stubs = {info.name: path.read_bytes() for info in infos if (path := course.stub(info)).is_file()}
    katas = {info.name: info for info in infos}
    others = (course.katas, stubs, logins, renamed(course), policy)
    return ClassRun(katas, collector, roster, pool, store, *others)


def _policy(course: Course, options: ClassOptions) -> Policy:
    """Return the policy that was named, or that beside the roster. Raises CourseError."""
    beside = options.roster.parent / POLICY_FILE if options.roster else None
    if options.policy:
        return read_policy(options.policy, course)
    return read_policy(beside, course) if beside and beside.is_file() else Policy()


def _grade(run: ClassRun, *, each: bool) -> RunCounts:
    """Grade the files, and show on standard error how many students are done."""
    run.require_one_student_each()
    try:
        with _progress(len(run.collector), each=each) as done:
            return run.grade(done, _print_result if each else _print_nothing)
    except KeyboardInterrupt:
        click.echo("\nStopped. What was judged is kept: run the same again to continue.", err=True)
        raise SystemExit(INTERRUPTED) from None


@contextmanager
def _progress(students: int, *, each: bool) -> Iterator[Callable[[], None]]:
    """Yield what is called after each student: it moves a bar, or prints lines off a terminal."""
    if sys.stderr.isatty() and not each:
        with click.progressbar(
            length=students, label="Students", file=sys.stderr, show_eta=False, show_pos=True
        ) as bar:
            yield lambda: bar.update(1)
        return
    finished, told = 0, time.monotonic()

    def done() -> None:
        nonlocal finished, told
        finished += 1
        if not each and time.monotonic() - told >= LINE_SECONDS:
            told = time.monotonic()
            click.echo(f"{finished} of {counted(students, 'student')} done.", err=True)

    yield done


def _print_result(student: str, task: Task, verdict: FileVerdict) -> None:
    text = f"{verdict.status}  {points(verdict.score)} / {points(verdict.max_score)}"
    click.echo(f"{one_line(student, 100)}  {task.kata}  {text}")


def _print_nothing(student: str, task: Task, verdict: FileVerdict) -> None:
    """Print no single results; the summary follows."""


MOST_MISTAKES = 3


def render(statistics: ClassStatistics, counts: RunCounts, folder: Path) -> str:
    """Return the summary as text."""
    parts = [_head(statistics, counts), *map(_kata, statistics.katas.values()), *_groups(statistics)]
    notes = [f"note  {one_line(note, 300)}\n" for note in counts.all_notes]
    where = f"\n{folder / 'class.html'} shows the class; gradebooks and everybody's page lie beside it.\n"
    return "".join([*parts, "\n" if notes else "", *notes, where])


def _head(statistics: ClassStatistics, counts: RunCounts) -> str:
    text = f"{_count(statistics.students, 'student')}, {_count(len(statistics.katas), 'kata')}:"
    text += f" {_count(counts.judged, 'file')} judged, {counts.known} known from before or from others."
    if statistics.absent_count:
        text += f" {statistics.absent_count} of the students handed nothing in."
    if counts.unlisted:
        text += f" {counts.unlisted} of them {'is' if counts.unlisted == 1 else 'are'} not in the roster."
    if statistics.unjudged:
        text += f" {_count(statistics.unjudged, 'file')} could not be judged: by_hand.csv says why."
    if statistics.troubled:
        text += (
            f" {_count(statistics.troubled, 'submission')} could not be looked through: by_hand.csv says why."
        )
    if statistics.ungraded:
        text += f" {_count(statistics.ungraded, 'written answer')} to grade: by_hand.csv has the words."
    return text + "\n\n"


def _kata(kata: KataStatistics) -> str:
    tried, passed = kata.tried, kata.statuses["passed"]
    mean = f"mean {points(kata.mean)} / {points(kata.info.max_score)}"
    line = f"{kata.info.name:<32}{passed:>6} of {tried} pass    {mean}\n"
    leading = kata.mistakes.most_common(MOST_MISTAKES)
    return line + "".join(
        f"    {round(100 * count / tried):>3} %  {name.replace('_', ' ')}\n"
        for name, count in leading
        if tried
    )


def _groups(statistics: ClassStatistics) -> list[str]:
    text = []
    if statistics.unexplained:
        files = sum(group.files for group in statistics.unexplained)
        groups = _count(len(statistics.unexplained), "group")
        text.append(f"{_count(files, 'failing file')} in {groups} no mistake explains yet.\n")
    if statistics.similar:
        groups = _count(len(statistics.similar), "group")
        text.append(f"{groups} of files are the same to the token after renaming.\n")
    return ["\n", *text] if text else []


def _count(number: int, what: str) -> str:
    return f"{number:,} {what}" + ("" if number == 1 else "s")
