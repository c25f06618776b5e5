"""The command `kata grade`: a class, from what was handed in to gradebooks."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import click

from grader.catalog import open_course
from grader.commanding import OUR_FAULT, Guarded, Names, course_option
from grader.opening import require_library


@click.command(cls=Guarded)
@click.argument("submissions", type=click.Path(path_type=Path))
@click.option("--kata", "names", multiple=True, type=Names(), help="Grade this kata; can be given again.")
@click.option("--roster", type=click.Path(path_type=Path), help="A CSV with columns id and name.")
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
@click.option("--gradebook", help="Write the scores into nbgrader's database at this URL too.")
@click.option("--each", is_flag=True, help="Print every result as it comes.")
@course_option
def grade(submissions: Path, names: tuple[str, ...], course: Path | None, **options: Any) -> None:
    """Grade a class: a folder with a folder a student, or a learning platform's zip.

    Ended at any moment and started again it goes on where it was.
    """
    from grader.cohort.class_session import ClassWishes, grade_class

    here = open_course(course)
    cards = [here.card(name) for name in dict.fromkeys(names)] or list(here.cards.values())
    require_library(cards if names else [], options["device"])
    sys.exit(OUR_FAULT if grade_class(here, cards, ClassWishes(submissions, **options)) else 0)
