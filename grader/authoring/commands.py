"""The commands that look after a course; what they do is imported when they run."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import click

from grader.bank import SEED
from grader.catalog import open_course
from grader.commanding import Guarded, Names, course_option
from grader.describing import counted


@click.command(cls=Guarded)
@click.argument("place", metavar="TRACK/NAME")
@click.option(
    "--signature",
    "signatures",
    multiple=True,
    help="'f(x, eps=1e-6)'; again for more, 'Cache.append(k, v)' for a method.",
)
@click.option("--library", type=click.Choice(["numpy", "torch"]), help="What its arrays are.")
@click.option("--title", help="What it is about, in a few words.")
@click.option("--source", help="The paper and the section.")
@click.option("--new-track", is_flag=True, help="Begin a track of this name.")
@course_option
def new(place: str, new_track: bool, course: Path | None, **wishes: Any) -> None:
    """Begin a kata: write its files, each with a part that works. Asks what is not given."""
    from grader.authoring.drafting import newcomer

    root = newcomer.open_place(course)
    track, name = newcomer.place_for(root, place, new_track)
    draft = newcomer.ask(track, name, **wishes)
    for path in newcomer.write_kata(root, draft):
        click.echo(f"wrote {path}")
    where = f" --course {course}" if course else ""
    click.echo(f"What is to be written, step by step: kata verify {name}{where}")


@click.command(cls=Guarded)
@click.argument("names", nargs=-1, type=Names())
@click.option("--seed", type=int, default=SEED, show_default=True, help="Draw the cases from this seed.")
@click.option("--seeds", type=int, help="Hold right answers alone against this many banks of cases.")
@click.option("--isolated", is_flag=True, help="Judge every mistake in a worker, not the first alone.")
@click.option("--mutate", is_flag=True, help="Make wrong versions of the references; list those that pass.")
@click.option("--page", type=click.Path(path_type=Path), help="With --mutate: keep the counts in this file.")
@course_option
def verify(
    names: tuple[str, ...],
    seed: int,
    seeds: int | None,
    isolated: bool,
    mutate: bool,
    page: Path | None,
    course: Path | None,
) -> None:
    """Check the course itself: stubs fail, right answers pass, every mistake is caught and named."""
    if mutate:
        from grader.authoring.mutating.strength import verify_strength

        sys.exit(verify_strength(open_course(course), names, seed, page))
    if seeds is not None:
        from grader.authoring.fairness import verify_fairness

        sys.exit(verify_fairness(open_course(course), names, seeds))
    from grader.authoring.verify import verify_course

    sys.exit(verify_course(open_course(course), names, seed, isolated))


@click.command(cls=Guarded)
@click.argument("names", nargs=-1, type=Names())
@click.option("--seed", type=int, default=SEED, show_default=True, help="Draw the cases from this seed.")
@click.option("--output", type=click.Path(path_type=Path), help="A folder, or a file that ends in .key.")
@click.option("--seal", is_flag=True, help="Draw from a fresh seed and encrypt; again to rotate.")
@click.option("--secret", type=click.Path(path_type=Path), help="With --seal: the file of the secret.")
@course_option
def key(
    names: tuple[str, ...],
    seed: int,
    output: Path | None,
    seal: bool,
    secret: Path | None,
    course: Path | None,
) -> None:
    """Write answer keys, with which katas are graded where there are no solutions."""
    from grader.authoring.releasing import keys

    here = open_course(course)
    cards = keys.chosen(here, names)
    if seal:
        click.echo(keys.write_sealed(here, cards, output or Path("sealed.key"), secret))
        return
    keys.write_keys(here, cards, seed, output or Path("keys"))
    click.echo(f"Keys of {counted(len(cards), 'kata')} are in {output or 'keys'}.")


@click.command(cls=Guarded)
@click.argument("folder", type=click.Path(path_type=Path, file_okay=False))
@click.argument("names", nargs=-1, type=Names())
@click.option(
    "--seed", type=int, default=SEED, show_default=True, help="Draw the keys' cases from this seed."
)
@click.option(
    "--host",
    "hosts",
    type=click.Choice(["actions", "classroom"]),
    multiple=True,
    default=["actions"],
    show_default=True,
    help="Whose workflow grades a push; can be given twice.",
)
@click.option(
    "--sealed", type=click.Path(path_type=Path), help="A sealed key for the workflow to grade with."
)
@click.option(
    "--gradescope", type=click.Path(path_type=Path), help="Write Gradescope's zip to this file too."
)
@click.option("--classroom50", type=click.Path(path_type=Path), help="Write Classroom 50's bundle here too.")
@course_option
def release(folder: Path, names: tuple[str, ...], course: Path | None, **options: Any) -> None:
    """Write a student's repository: stubs, properties, answer keys, the grader; no solutions."""
    from grader.authoring.releasing.outcome import release_course

    release_course(open_course(course), folder, names, **options)


@click.command(cls=Guarded)
@course_option
def overview(course: Path | None) -> None:
    """Print a table of all katas: checks, laws, mistakes, variants, sources (docs/katas.md)."""
    from grader.authoring.overview import overview as table

    click.echo(table(open_course(course)), nl=False)


@click.command(cls=Guarded)
@click.argument("folder", type=click.Path(path_type=Path, file_okay=False))
@click.argument("names", nargs=-1, type=Names())
@course_option
def feedback(folder: Path, names: tuple[str, ...], course: Path | None) -> None:
    """Write what a student reads for each mistake, a page a kata."""
    from grader.authoring import feedback as pages

    pages.write_feedback(open_course(course), folder, names)
