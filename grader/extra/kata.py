"""The command `kata` and its subcommands; each imports its modules when it runs."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

import grader
from grader.cases.generation import SEED
from grader.cli.options import OUR_FAULT, GuardedCommand, KataNames, PluggedGroup, course_option
from grader.course.catalog import Course, open_course, shorten
from grader.extra.authoring.release import WORKFLOWS
from grader.formats.account import one_line
from grader.formats.gradescope import VISIBILITIES
from grader.grading.session import require_library
from grader.values.formatting import counted

folder_argument = click.argument("folder", type=click.Path(path_type=Path, file_okay=False))
names_argument = click.argument("names", nargs=-1, type=KataNames())
key_seed_option = click.option(
    "--seed", type=int, default=SEED, show_default=True, help="Draw the keys' cases from this seed."
)

unverified_option = click.option(
    "--unverified", is_flag=True, help="Hand out katas that `kata verify` did not find ready as they are."
)


@click.group(cls=PluggedGroup, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(grader.__version__, prog_name="kata")
def kata() -> None:
    """Look after a course: its katas, their checks, its classes."""


def _own_course(folder: Path | None) -> Course:
    """Return the course in `folder`, or around the current folder; never the one that is installed."""
    return open_course(folder, shipped=False)


@kata.command(cls=GuardedCommand)
@click.argument("place", metavar="TRACK/NAME")
@click.option(
    "--kind",
    type=click.Choice(["function", "module", "object", "sampler", "questions"]),
    help="What it is; without it, the signatures show.",
)
@click.option(
    "--signature",
    "signatures",
    multiple=True,
    help="'f(x: \"rows columns\", eps=1e-6)'; again for more, 'Queue.append(x)' for a method, 'PAIRS(tokens)'"
    " for a question.",
)
@click.option(
    "--weight", "weights", multiple=True, help="A module's parameter: 'w: d_ff d_model'; 's:' for a number."
)
@click.option("--library", type=click.Choice(["numpy", "torch"]), help="What its arrays are.")
@click.option("--title", help="What it is about, in a few words.")
@click.option("--source", help="The paper and the section.")
@click.option("--draft", "is_draft", is_flag=True, help="Without mistakes and variants; marked as unproven.")
@click.option("--new-track", is_flag=True, help="Begin a track of this name.")
@course_option
def new(place: str, new_track: bool, course: Path | None, **options: Any) -> None:
    """Create a kata: write drafts of its files. Asks for options that are missing."""
    from grader.extra.authoring.scaffold import writer

    root = writer.course_folder(course)
    track, name = writer.new_kata_name(root, place, new_track)
    draft = writer.complete_draft(track, name, **options)
    for path in writer.write_kata(root, draft):
        click.echo(f"wrote {path}")
    where = f" --course {course}" if course else ""
    click.echo(f"What is to be written, step by step: kata verify {name}{where}")


#: What a foreign homework is, for `kata audit` and `kata import`.
HOMEWORK = (
    click.argument("homework", type=click.Path(path_type=Path)),
    click.option(
        "--solution",
        multiple=True,
        type=click.Path(path_type=Path),
        help="The right answer, a file or a folder; can be given again.  [default: found beside the tests]",
    ),
    click.option(
        "--tests", default="", help="The command that runs the tests.  [default: found by their names]"
    ),
    click.option(
        "--replaces",
        type=click.Path(path_type=Path),
        help="The file in whose place the solution is put.  [default: the stub that the tests import]",
    ),
    click.option(
        "--mutants", type=click.IntRange(min=0), default=300, show_default=True, help="Try so many."
    ),
    click.option(
        "--seconds", type=float, default=600.0, show_default=True, help="Begin no run after this time."
    ),
    click.option(
        "--isolation", type=click.Choice(["required", "best", "none"]), default="best", show_default=True
    ),
    click.option(
        "--graders",
        "at_once",
        type=click.IntRange(min=1),
        default=None,
        help="How many at a time.  [default: one a core]",
    ),
    click.option(
        "--fresh", is_flag=True, help="Try everything again, also what is known from an earlier run."
    ),
)


def homework_options(command: Callable[..., None]) -> Callable[..., None]:
    """Add the options that say what a foreign homework is."""
    for option in reversed(HOMEWORK):
        command = option(command)
    return command


@kata.command("import", cls=GuardedCommand)
@click.argument("place", metavar="TRACK/NAME")
@homework_options
@click.option("--function", help="What the kata is about, where the tests call several functions.")
@click.option("--title", help="What it is about, in a few words.")
@click.option("--source", help="The paper and the section.")
@click.option("--reference", type=click.Path(path_type=Path), hidden=True)  # the word of 1.0 for --solution
@click.option("--new-track", is_flag=True, help="Begin a track of this name.")
@course_option
def import_(
    place: str,
    homework: Path,
    new_track: bool,
    course: Path | None,
    at_once: int | None,
    solution: tuple[Path, ...],
    reference: Path | None,
    function: str | None,
    title: str | None,
    source: str | None,
    **options: Any,
) -> None:
    """Audit a homework, and draft a kata of one of its functions.

    The calls that the tests make become its cases, and the wrong versions that they miss drafts of its
    mistakes. Exits with 4, and writes nothing, if the kata could not be graded.
    """
    from grader.extra.authoring.scaffold import writer
    from kata_audit.audit import Options
    from kata_audit.command import import_homework

    root = writer.course_folder(course)
    track, name = writer.new_kata_name(root, place, new_track)
    right = (*solution, reference) if reference else solution
    given = Options(solution=right, at_once=at_once or 0, **options)
    import_homework(root, track, name, homework, given, function, title, source)
    where = f" --course {course}" if course else ""
    click.echo(
        f"It is a draft: its checks are unproven until it has mistakes. See: kata verify {name}{where}"
    )


@kata.command(cls=GuardedCommand)
@homework_options
@click.option(
    "--submissions",
    type=click.Path(path_type=Path),
    help="Also run these and compare them: a folder, or a platform's zip.",
)
@click.option("--names", is_flag=True, help="With --submissions: print their paths.")
@click.option(
    "--format",
    "form",
    type=click.Choice(["terminal", "json", "junit", "html", "badge"]),
    default="terminal",
    show_default=True,
)
@click.option(
    "--output", type=click.Path(path_type=Path, dir_okay=False), help="Write the report to this file."
)
@click.option("--at-least", type=float, help="Exit with 1 if fewer percent are caught.")
@click.option(
    "--write-tests",
    "tests_file",
    type=click.Path(path_type=Path, dir_okay=False),
    help="Write tests for what is missed; each has been tried.",
)
@click.option(
    "--write-mistakes",
    "mistakes_file",
    type=click.Path(path_type=Path, dir_okay=False),
    help="Write what is missed as drafts of the mistakes of an imported kata.",
)
def audit(homework: Path, at_once: int | None, **options: Any) -> None:
    """Measure what the tests of any homework catch: a folder with a solution and tests, or a notebook.

    Wrong versions of the solution are run through the tests, each in a copy, in the sandbox. What no test
    catches is shown with an input on which it differs from the solution. If a run is interrupted, the same
    command continues it.
    """
    from kata_audit.audit import Options
    from kata_audit.command import audit_homework

    sys.exit(audit_homework(homework, Options(at_once=at_once or 0, **options)))


@kata.command(cls=GuardedCommand)
@names_argument
@click.option("--seed", type=int, default=SEED, show_default=True, help="Draw the cases from this seed.")
@click.option("--seeds", type=int, help="Only check that right answers pass, for this many seeds.")
@click.option("--points", type=int, help="Only check that mistakes get the same points, for so many seeds.")
@click.option("--isolated", is_flag=True, help="Judge every mistake in a worker, not only the first.")
@click.option("--fresh", is_flag=True, help="Judge everything anew, also what is recorded.")
@click.option("--tables", is_flag=True, help="Write mistakes.md also where there is none yet.")
@click.option("--mutate", is_flag=True, help="Make wrong versions of the references; list those that pass.")
@click.option("--page", type=click.Path(path_type=Path), help="With --mutate: keep the counts in this file.")
@click.option("--family", "families", multiple=True, help="With --mutate: use these operators alone.")
@course_option
def verify(
    names: tuple[str, ...],
    seed: int,
    seeds: int | None,
    points: int | None,
    isolated: bool,
    fresh: bool,
    tables: bool,
    mutate: bool,
    page: Path | None,
    families: tuple[str, ...],
    course: Path | None,
) -> None:
    """Check the course: stubs fail, right answers pass, every mistake is caught and named."""
    if mutate:
        from grader.edits.walk import FAMILIES
        from grader.extra.authoring.mutation.strength import verify_strength

        sys.exit(verify_strength(_own_course(course), names, seed, page, families or FAMILIES))
    if seeds is not None:
        from grader.extra.authoring.verify.seeds import verify_right_answers

        sys.exit(verify_right_answers(_own_course(course), names, seeds))
    if points is not None:
        from grader.extra.authoring.verify.points import verify_points

        sys.exit(verify_points(_own_course(course), names, points))
    from grader.extra.authoring.verify.katas import verify_course

    sys.exit(verify_course(_own_course(course), names, seed, isolated, tables, fresh))


@kata.command(cls=GuardedCommand)
@names_argument
@click.option("--seed", type=int, default=SEED, show_default=True, help="Draw the cases from this seed.")
@click.option("--output", type=click.Path(path_type=Path), help="A folder, or a file that ends in .key.")
@click.option("--seal", is_flag=True, help="Draw from the secret seed and encrypt.")
@click.option("--secret", type=click.Path(path_type=Path), help="With --seal: the file of the secret.")
@unverified_option
@course_option
def key(
    names: tuple[str, ...],
    seed: int,
    output: Path | None,
    seal: bool,
    secret: Path | None,
    unverified: bool,
    course: Path | None,
) -> None:
    """Write answer keys, so that katas can be graded without the solutions."""
    from grader.extra.authoring.release import keys

    here = _own_course(course)
    infos = keys.chosen_katas(here, names)
    if seal:
        click.echo(keys.write_sealed(here, infos, output or Path("sealed.key"), secret, unverified))
        return
    keys.write_keys(here, infos, seed, output or Path("keys"), unverified)
    click.echo(f"Keys of {counted(len(infos), 'kata')} are in {output or 'keys'}.")


@kata.command(cls=GuardedCommand)
@folder_argument
@names_argument
@click.option(
    "--seed", type=int, help=f"Draw the keys' cases from this seed.  [default: that of before, or {SEED}]"
)
@click.option(
    "--hidden-seed",
    type=int,
    help="Let the workflow and all hosts grade with other cases, drawn from this."
    "  [default: Gradescope and PrairieLearn alone, from the secret seed]",
)
@click.option(
    "--host",
    "hosts",
    type=click.Choice(list(WORKFLOWS)),
    multiple=True,
    help="Whose workflow grades a push; can be given twice.  [default: those of before, or actions]",
)
@click.option(
    "--sealed", type=click.Path(path_type=Path), help="A sealed key for the workflow to grade with."
)
@click.option(
    "--secret", type=click.Path(path_type=Path), help="The file of its secret.  [default: SEALED.secret]"
)
@click.option(
    "--gradescope", type=click.Path(path_type=Path), help="Write Gradescope's zip to this file too."
)
@click.option(
    "--visibility",
    type=click.Choice(VISIBILITIES),
    help=f"When Gradescope shows the tests to students.  [default: that of before, or {VISIBILITIES[0]}]",
)
@click.option("--classroom50", type=click.Path(path_type=Path), help="Write Classroom 50's bundle here too.")
@click.option(
    "--prairielearn", type=click.Path(path_type=Path), help="Write PrairieLearn's questions here too."
)
@click.option("--exercism", type=click.Path(path_type=Path), help="Write an Exercism track here too.")
@click.option(
    "--library", type=click.Choice(["numpy", "torch"]), help="Hand out NumPy katas as stubs in PyTorch."
)
@click.option(
    "--agents/--no-agents",
    default=None,
    help="Write AGENTS.md, which tells AI assistants what is allowed.  [default: as before, or with it]",
)
@click.option("--remove", is_flag=True, help="Take out the katas and hosts of before that are not named now.")
@unverified_option
@course_option
def release(folder: Path, names: tuple[str, ...], course: Path | None, **options: Any) -> None:
    """Write a student's repository: stubs, laws, answer keys and the grader, without solutions.

    A release into the same folder keeps the katas and the options of the one before.
    """
    from grader.extra.authoring.release.command import release_course

    release_course(_own_course(course), folder, names, **options)


@kata.command(cls=GuardedCommand)
@click.argument("release", type=click.Path(path_type=Path, file_okay=False))
@click.argument("repository", type=click.Path(path_type=Path, file_okay=False))
def update(release: Path, repository: Path) -> None:
    """Bring a release into a student's repository; the student's work stays."""
    from grader.extra.authoring.release.repository import update as bring

    outcome = bring(release, repository)
    click.echo(f"{counted(len(outcome.written), 'file')} written to {shorten(repository)}.")
    for note in outcome.notes():
        click.echo(one_line(note))


@kata.command(cls=GuardedCommand)
@click.argument("name", type=KataNames())
@click.option(
    "--output",
    type=click.Path(path_type=Path, file_okay=False),
    default=Path("preview"),
    show_default=True,
    help="Where page, notebook and statement are written.",
)
@course_option
def preview(name: str, output: Path, course: Path | None) -> None:
    """Show a kata as a student sees it, and what is told about three of its mistakes."""
    from grader.extra.authoring.preview import preview as show

    here = _own_course(course)
    show(here, here.kata_info(name), output)


@kata.command(cls=GuardedCommand)
@click.argument("old", type=KataNames())
@click.argument("new_name", metavar="NEW")
@course_option
def rename(old: str, new_name: str, course: Path | None) -> None:
    """Rename a kata: its files, its declaration, the syllabus, and the needs of others."""
    from grader.extra.authoring import renaming

    mentions = renaming.rename(_own_course(course), old, new_name)
    click.echo(f"`{old}` is called `{new_name}` now. Its functions keep their names.")
    for line in mentions:
        click.echo(f"still mentioned: {line}")


@kata.command(cls=GuardedCommand)
@click.argument("name", type=KataNames())
@click.option("--yes", is_flag=True, help="Do not ask.")
@course_option
def remove(name: str, yes: bool, course: Path | None) -> None:
    """Delete a kata: its exercise, its declaration, its solutions, its entry in the syllabus."""
    from grader.extra.authoring import renaming

    here = _own_course(course)
    names = ", ".join(shorten(path) for path in renaming.files_of_kata(here, here.kata_info(name)))
    if not yes:
        click.confirm(f"Delete {names}?", abort=True)
    renaming.remove(here, name)
    click.echo(f"deleted {names}")


@kata.command(cls=GuardedCommand)
@folder_argument
@names_argument
@key_seed_option
@unverified_option
@click.option("--solutions", is_flag=True, help="Put the references in, for `grade solution`.")
@course_option
def wheel(
    folder: Path, names: tuple[str, ...], seed: int, unverified: bool, solutions: bool, course: Path | None
) -> None:
    """Write a wheel of the grader that holds the course, for `grade start`."""
    from grader.extra.authoring.release.keys import chosen_katas, require_solutions, save
    from grader.extra.authoring.release.starter import build_course_wheel
    from grader.extra.authoring.verify.static_checks import require_verified

    here = open_course(course)
    infos = chosen_katas(here, names)
    require_solutions(here, infos)
    require_verified(here, infos, unverified)
    shown = solutions or here.syllabus.reveal == "passed"
    name, data = build_course_wheel(here, names, seed, shown)
    save(folder / name, data)
    click.echo(f"{folder / name} has {len(data) / 1e6:.1f} MB.")


@kata.command("record-see", cls=GuardedCommand)
@course_option
def record_see(course: Path | None) -> None:
    """Record what the references give, for `grade see` where a student's katas do not pass yet."""
    from grader.extra.show.demonstration import open_demonstration, write_recording

    here = _own_course(course)
    click.echo(write_recording(here, open_demonstration(here)))


@kata.command(cls=GuardedCommand)
@course_option
def overview(course: Path | None) -> None:
    """Print a table of all katas: checks, laws, mistakes, variants, sources (docs/katas.md)."""
    from grader.extra.authoring.preview import overview as table

    click.echo(table(_own_course(course)), nl=False)


@kata.command(cls=GuardedCommand)
@folder_argument
@names_argument
@course_option
def feedback(folder: Path, names: tuple[str, ...], course: Path | None) -> None:
    """Write the reports on all mistakes, one page per kata."""
    from grader.extra.authoring.preview import write_feedback

    write_feedback(_own_course(course), folder, names)


@kata.command(cls=GuardedCommand)
@click.argument("submissions", type=click.Path(path_type=Path))
@click.option("--kata", "names", multiple=True, type=KataNames(), help="Grade this kata; can be given again.")
@click.option("--roster", type=click.Path(path_type=Path), help="A CSV with columns id and name.")
@click.option(
    "--logins", type=click.Path(path_type=Path), help="Classroom's roster, which says whose login is whose."
)
@click.option(
    "--output", type=click.Path(path_type=Path, file_okay=False), default=Path("grades"), show_default=True
)
@click.option("--store", help="Where results are kept: a file, or an SQLAlchemy URL.  [default: in --output]")
@click.option("--engine", type=click.Choice(["local", "ray"]), default="local", show_default=True)
@click.option("--address", default="", help="With --engine ray: the cluster's address.")
@click.option(
    "--graders", type=click.IntRange(min=1), help="How many at a time.  [default: one a core, and one more]"
)
@click.option("--device", type=click.Choice(["cpu", "cuda"]), default="cpu", show_default=True)
@click.option(
    "--isolation", type=click.Choice(["required", "best", "none"]), default="best", show_default=True
)
@click.option("--key", type=click.Path(path_type=Path), help="Grade with an answer key.")
@click.option("--secret", type=click.Path(path_type=Path), help="The file that opens a sealed key.")
@click.option(
    "--absent",
    type=click.Choice(["zero", "blank"]),
    default="zero",
    show_default=True,
    help="What the gradebooks say for what was not handed in.",
)
@click.option(
    "--policy",
    type=click.Path(path_type=Path, dir_okay=False),
    help="How the points count.  [default: policy.toml beside the roster]",
)
@click.option("--column", default="", help="Fill this column of Canvas's export with the total.")
@click.option("--gradebook", help="Write the scores into nbgrader's database at this URL too.")
@click.option("--each", is_flag=True, help="Print every result as it comes.")
@click.option("--search", is_flag=True, help="Look for the place of mistakes without a name, once a group.")
@click.option(
    "--draft-mistakes",
    type=click.Path(path_type=Path, dir_okay=False),
    help="Write the groups of such files as functions for mistakes.py; searches too.",
)
@course_option
def grade(submissions: Path, names: tuple[str, ...], course: Path | None, **options: Any) -> None:
    """Grade a class: a folder with one folder per student, or a learning platform's zip.

    If a run is interrupted, the same command continues it.
    """
    from grader.extra.classroom.command import ClassOptions, grade_class

    here = _own_course(course)
    infos = [here.kata_info(name) for name in dict.fromkeys(names)] or list(here.katas.values())
    require_library(infos if names else [], options["device"])
    sys.exit(
        OUR_FAULT
        if grade_class(here, infos, ClassOptions(submissions, **options, is_named=bool(names)))
        else 0
    )


@kata.command(cls=GuardedCommand)
@click.option("--new", "is_new", is_flag=True, help="Make another one; a regrade uses the one of its day.")
@course_option
def seed(is_new: bool, course: Path | None) -> None:
    """Show the secret seed, from which `kata grade`, sealed keys and hosts draw their cases."""
    from grader.course import secret_seed

    here = _own_course(course)
    if is_new or not secret_seed.seeds(here):
        secret_seed.new_seed(here)
    for one in secret_seed.seeds(here):
        click.echo(f"{one.seed:<20}since {one.since.astimezone():%Y-%m-%d %H:%M}")
    click.echo(f"The last one counts. They are in {secret_seed.PLACE}: hand it to no student.")


@kata.command(cls=GuardedCommand)
@click.argument("student", required=False)
@click.argument("name", metavar="KATA", required=False, type=KataNames())
@click.argument("points", required=False)
@click.option("--why", default="", help="The reason, which the student reads.")
@click.option("--by", "who", help="Who sets them.  [default: your user name]")
@click.option("--list", "lists", is_flag=True, help="Show all overrides that hold.")
@click.option("--remove", is_flag=True, help="Take the override of a student's kata back.")
@click.option(
    "--csv",
    "table",
    type=click.Path(path_type=Path, dir_okay=False),
    help="Set many: a file with the columns student, kata, points and why.",
)
@click.option(
    "--output", type=click.Path(path_type=Path, file_okay=False), default=Path("grades"), show_default=True
)
@click.option("--store", help="Where results are kept.  [default: in --output]")
@course_option
def override(course: Path | None, **options: Any) -> None:
    """Set the points of a student's kata by hand; they hold however often it is graded again."""
    from grader.extra.classroom.override import OverrideOptions, run

    run(_own_course(course), OverrideOptions(**options))


@kata.command(cls=GuardedCommand)
@click.argument("student")
@click.argument("name", metavar="KATA", type=KataNames())
@click.option(
    "--as-of", "day", metavar="DATE", help="What was handed in, and the course, on this day: 2026-11-20."
)
@click.option(
    "--output", type=click.Path(path_type=Path, file_okay=False), default=Path("grades"), show_default=True
)
@click.option("--store", help="Where results are kept.  [default: in --output]")
@click.option("--device", type=click.Choice(["cpu", "cuda"]), default="cpu", show_default=True)
@click.option("--key", type=click.Path(path_type=Path), help="Grade with an answer key.")
@click.option("--secret", type=click.Path(path_type=Path), help="The file that opens a sealed key.")
@course_option
def regrade(course: Path | None, **options: Any) -> None:
    """Judge again what a student handed in, as it was on a day; the stored results stay."""
    from grader.extra.classroom.regrade import RegradeOptions, run

    sys.exit(run(_own_course(course), RegradeOptions(**options)))


@kata.command(cls=GuardedCommand)
@folder_argument
@names_argument
@click.option("--seed", type=int, default=SEED, show_default=True, help="Draw the students' cases from this.")
@click.option(
    "--hidden-seed", type=int, help="Draw the cases for autograding from this.  [default: the secret seed]"
)
@course_option
def notebooks(
    folder: Path, names: tuple[str, ...], seed: int, hidden_seed: int | None, course: Path | None
) -> None:
    """Write an nbgrader course: a notebook for each kata, an assignment for each track, answer keys."""
    from grader.extra.authoring.release import keys
    from grader.extra.authoring.release.repository import write_release
    from grader.extra.notebooks.notebook import course_files, require

    require("`kata notebooks`", "nbformat")
    here = _own_course(course)
    infos = keys.chosen_katas(here, names)
    outcome = write_release(folder, course_files(here, infos, seed, hidden_seed))
    written = sum(name.endswith(".ipynb") for name in outcome.written)
    made = f"{counted(len(infos), 'kata')}, {counted(written, 'notebook')}"
    click.echo(f"{made} are in {shorten(folder / 'source')}.")
    for note in outcome.notes("course"):
        click.echo(note)
    click.echo(f"Next, in {shorten(folder)}: nbgrader generate_assignment {infos[0].track}")
