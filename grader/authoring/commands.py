"""The commands that look after a course; what they do is imported when they run."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import click

from grader.bank import SEED
from grader.catalog import Course, find_course
from grader.commanding import Guarded, Names


@click.command(cls=Guarded)
@click.argument("names", nargs=-1, type=Names())
@click.option("--seed", type=int, default=SEED, show_default=True, help="Draw the cases from this seed.")
@click.option("--seeds", type=int, help="Hold right answers alone against this many banks of cases.")
@click.option("--isolated", is_flag=True, help="Judge every mistake in a worker, not the first alone.")
@click.option("--mutate", is_flag=True, help="Make wrong versions of the references; list those that pass.")
@click.option("--page", type=click.Path(path_type=Path), help="With --mutate: keep the counts in this file.")
def verify(
    names: tuple[str, ...], seed: int, seeds: int | None, isolated: bool, mutate: bool, page: Path | None
) -> None:
    """Check the course itself: stubs fail, right answers pass, every mistake is caught and named."""
    if mutate:
        from grader.authoring.strength import verify_strength

        sys.exit(verify_strength(Course(find_course(Path.cwd())), names, seed, page))
    if seeds is not None:
        from grader.authoring.fairness import verify_fairness

        sys.exit(verify_fairness(Course(find_course(Path.cwd())), names, seeds))
    from grader.authoring.verify import verify_course

    sys.exit(verify_course(Course(find_course(Path.cwd())), names, seed, isolated))


@click.command(cls=Guarded)
@click.argument("names", nargs=-1, type=Names())
@click.option("--seed", type=int, default=SEED, show_default=True, help="Draw the cases from this seed.")
@click.option("--output", type=click.Path(path_type=Path), help="A folder, or a file that ends in .key.")
@click.option("--seal", is_flag=True, help="Draw from a fresh seed and encrypt; again to rotate.")
@click.option("--secret", type=click.Path(path_type=Path), help="With --seal: the file of the secret.")
def key(names: tuple[str, ...], seed: int, output: Path | None, seal: bool, secret: Path | None) -> None:
    """Write answer keys, with which katas are graded where there are no solutions."""
    from grader.authoring import keys

    course = Course(find_course(Path.cwd()))
    cards = keys.chosen(course, names)
    if seal:
        click.echo(keys.write_sealed(course, cards, output or Path("sealed.key"), secret))
        return
    keys.write_keys(course, cards, seed, output or Path("keys"))
    click.echo(f"Keys of {len(cards)} katas are in {output or 'keys'}.")


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
def release(folder: Path, names: tuple[str, ...], **options: Any) -> None:
    """Write a student's repository: stubs, properties, answer keys, the grader; no solutions."""
    from grader.authoring.releasing import release_course

    release_course(Course(find_course(Path.cwd())), folder, names, **options)


@click.command(cls=Guarded)
def overview() -> None:
    """Print a table of all katas: checks, laws, mistakes, variants, sources (docs/katas.md)."""
    from grader.authoring.overview import overview as table

    click.echo(table(Course(find_course(Path.cwd()))), nl=False)


@click.command(cls=Guarded)
@click.argument("names", nargs=-1, type=Names())
@click.option("--check", is_flag=True, help="Write nothing; name the pages older than their katas.")
def feedback(names: tuple[str, ...], check: bool) -> None:
    """Write what a student reads for each mistake into solutions/<track>/<kata>/feedback.md."""
    from grader.authoring import feedback as pages

    course = Course(find_course(Path.cwd()))
    if check:
        sys.exit(pages.verify_feedback(course, names))
    pages.write_feedback(course, names)
