"""The commands that check and release a course; each imports its modules when it runs."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import click

from dojo_authoring.release import GRADE_ON, WORKFLOWS
from grader.cases.generation import SEED
from grader.cli.kata import folder_argument, names_argument, own_course
from grader.cli.options import GuardedCommand, KataNames, course_option
from grader.course.catalog import open_course, shorten
from grader.formats.gradescope import VISIBILITIES
from grader.texts.escaping import one_line
from grader.texts.phrases import counted

key_seed_option = click.option(
    "--seed", type=int, default=SEED, show_default=True, help="Draw the keys' cases from this seed."
)
MOST_DRAFTS = 200
unverified_option = click.option(
    "--unverified", is_flag=True, help="Hand out katas that `kata verify` did not find ready as they are."
)


@click.command(cls=GuardedCommand)
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
def new(place: str, *, new_track: bool, course: Path | None, **options: Any) -> None:
    """Create a kata: write drafts of its files. Asks for options that are missing."""
    from dojo_authoring.scaffold import writer
    from dojo_authoring.scaffold.prompts import complete_draft

    root = writer.course_folder(course)
    track, name = writer.new_kata_name(root, place, new_track=new_track)
    draft = complete_draft(track, name, **options)
    for path in writer.write_kata(root, draft):
        click.echo(f"wrote {path}")
    where = f" --course {course}" if course else ""
    click.echo(f"What is to be written, step by step: kata verify {name}{where}")


@click.command(cls=GuardedCommand)
@names_argument
@click.option("--seed", type=int, default=SEED, show_default=True, help="Draw the cases from this seed.")
@click.option("--seeds", type=int, help="Only check that right answers pass, for this many seeds.")
@click.option("--points", type=int, help="Only check that mistakes get the same points, for so many seeds.")
@click.option("--part", nargs=2, type=int, help="Only what changed, and a part of the rest: 1 3, 2 3 or 3 3.")
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
    part: tuple[int, int] | None,
    *,
    isolated: bool,
    fresh: bool,
    tables: bool,
    mutate: bool,
    page: Path | None,
    families: tuple[str, ...],
    course: Path | None,
) -> None:
    """Check the course: stubs fail, right answers pass, every mistake is caught and named."""
    if part:
        from dojo_authoring.verify.record import part_of

        if names:
            raise click.UsageError("Name katas or a part of them, not both.")
        names = part_of(own_course(course), *part)
        if not names:
            click.echo(
                f"Part {part[0]} of {part[1]} has no kata, and none has changed since it was verified."
            )
            return
    if mutate:
        from dojo_authoring.mutation.strength import verify_strength
        from grader.edits.walk import FAMILIES

        sys.exit(verify_strength(own_course(course), names, seed, page, families or FAMILIES))
    if seeds is not None:
        from dojo_authoring.verify.seeds import verify_right_answers

        sys.exit(verify_right_answers(own_course(course), names, seeds))
    if points is not None:
        from dojo_authoring.verify.points import verify_points

        sys.exit(verify_points(own_course(course), names, points))
    from dojo_authoring.verify.katas import verify_course

    sys.exit(verify_course(own_course(course), names, seed, isolated=isolated, tables=tables, fresh=fresh))


@click.command(cls=GuardedCommand)
@click.argument("name", type=KataNames())
@click.option(
    "--count", type=click.IntRange(1, MOST_DRAFTS), default=20, show_default=True, help="How many at most."
)
@click.option("--print", "prints", is_flag=True, help="Print the drafts, and write nothing.")
@course_option
def mistakes(name: str, count: int, *, prints: bool, course: Path | None) -> None:
    """Draft mistakes of a kata from its reference: small edits that its checks catch."""
    from dojo_authoring.drafted_mistakes.command import draft_mistakes

    draft_mistakes(own_course(course), name, count, prints=prints)


@click.command(cls=GuardedCommand)
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
    *,
    seal: bool,
    secret: Path | None,
    unverified: bool,
    course: Path | None,
) -> None:
    """Write answer keys, so that katas can be graded without the solutions."""
    from dojo_authoring.release import keys

    here = own_course(course)
    infos = keys.chosen_katas(here, names)
    if seal:
        click.echo(
            keys.write_sealed(here, infos, output or Path("sealed.key"), secret, unverified=unverified)
        )
        return
    keys.write_keys(here, infos, seed, output or Path("keys"), unverified=unverified)
    click.echo(f"Keys of {counted(len(infos), 'kata')} are in {output or 'keys'}.")


@click.command(cls=GuardedCommand)
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
    "--grade-on",
    type=click.Choice(list(GRADE_ON)),
    help="When the workflow grades: on every push, or on request, which is a tag or a button."
    "  [default: as before, or push]",
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
    from dojo_authoring.release.command import ReleaseOptions, release_course

    release_course(own_course(course), folder, ReleaseOptions(names, **options))


@click.command(cls=GuardedCommand)
@click.argument("release", type=click.Path(path_type=Path, file_okay=False))
@click.argument("repository", type=click.Path(path_type=Path, file_okay=False))
def update(release: Path, repository: Path) -> None:
    """Bring a release into a student's repository; the student's work stays."""
    from dojo_authoring.release.writing import update as bring

    outcome = bring(release, repository)
    click.echo(f"{counted(len(outcome.written), 'file')} written to {shorten(repository)}.")
    for note in outcome.notes():
        click.echo(one_line(note))


@click.command(cls=GuardedCommand)
@click.argument("old", type=KataNames())
@click.argument("new_name", metavar="NEW")
@course_option
def rename(old: str, new_name: str, course: Path | None) -> None:
    """Rename a kata: its files, its declaration, the syllabus, and the needs of others."""
    from dojo_authoring import renaming

    mentions = renaming.rename(own_course(course), old, new_name)
    click.echo(f"`{old}` is called `{new_name}` now. Its functions keep their names.")
    for line in mentions:
        click.echo(f"still mentioned: {line}")


@click.command(cls=GuardedCommand)
@click.argument("name", type=KataNames())
@click.option("--yes", is_flag=True, help="Do not ask.")
@course_option
def remove(name: str, *, yes: bool, course: Path | None) -> None:
    """Delete a kata: its exercise, its declaration, its solutions, its entry in the syllabus."""
    from dojo_authoring import renaming

    here = own_course(course)
    names = ", ".join(shorten(path) for path in renaming.files_of_kata(here, here.kata_info(name)))
    if not yes:
        click.confirm(f"Delete {names}?", abort=True)
    renaming.remove(here, name)
    click.echo(f"deleted {names}")


@click.command(cls=GuardedCommand)
@folder_argument
@names_argument
@key_seed_option
@unverified_option
@click.option("--solutions", is_flag=True, help="Put the references in, for `grade solution`.")
@course_option
def wheel(
    folder: Path, names: tuple[str, ...], seed: int, *, unverified: bool, solutions: bool, course: Path | None
) -> None:
    """Write a wheel of the grader that holds the course, for `grade start`."""
    from dojo_authoring.release.keys import chosen_katas, require_solutions, save
    from dojo_authoring.release.starter import build_course_wheel
    from dojo_authoring.verify.record import require_verified

    here = open_course(course)
    infos = chosen_katas(here, names)
    require_solutions(here, infos)
    require_verified(here, infos, allows_unverified=unverified)
    shown = solutions or here.syllabus.reveal == "passed"
    name, data = build_course_wheel(here, names, seed, solutions=shown)
    save(folder / name, data)
    click.echo(f"{folder / name} has {len(data) / 1e6:.1f} MB.")


@click.command(cls=GuardedCommand)
@course_option
def overview(course: Path | None) -> None:
    """Print a table of all katas: checks, laws, mistakes, variants, sources (docs/katas.md)."""
    from dojo_authoring.overview import overview as table

    click.echo(table(own_course(course)), nl=False)


@click.command(cls=GuardedCommand)
@folder_argument
@names_argument
@course_option
def feedback(folder: Path, names: tuple[str, ...], course: Path | None) -> None:
    """Write the reports on all mistakes, one page per kata."""
    from dojo_authoring.feedback import write_feedback

    write_feedback(own_course(course), folder, names)


@click.command(cls=GuardedCommand)
@click.option("--new", "is_new", is_flag=True, help="Make another one; a regrade uses the one of its day.")
@course_option
def seed(*, is_new: bool, course: Path | None) -> None:
    """Show the secret seed, from which `kata grade`, sealed keys and hosts draw their cases."""
    from grader.course import secret_seed

    here = own_course(course)
    if is_new or not secret_seed.seeds(here):
        secret_seed.new_seed(here)
    for one in secret_seed.seeds(here):
        click.echo(f"{one.seed:<20}since {one.since.astimezone():%Y-%m-%d %H:%M}")
    click.echo(f"The last one counts. They are in {secret_seed.PLACE}: hand it to no student.")


@click.command(cls=GuardedCommand, hidden=True)  # a program starts it
@click.option(
    "--isolation",
    type=click.Choice(["required", "none"]),
    default="required",
    show_default=True,
    help="Run drafts in the sandbox; or with your rights, where a system has none.",
)
@course_option
def assist(isolation: str, course: Path | None) -> None:
    """Let an assistant draft mistakes and variants: serve MCP on standard input and output."""
    from dojo_authoring.assist.command import run_assistant

    sys.exit(run_assistant(own_course(course), isolation))
