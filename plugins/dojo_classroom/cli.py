"""The commands that grade a class; each imports its modules when it runs."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import click

from grader.cli.kata import own_course
from grader.cli.options import OUR_FAULT, GuardedCommand, KataNames, course_option
from grader.grading.session import require_library


@click.command(cls=GuardedCommand)
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
    from dojo_classroom.command import ClassOptions, grade_class

    here = own_course(course)
    infos = [here.kata_info(name) for name in dict.fromkeys(names)] or list(here.katas.values())
    require_library(infos if names else [], options["device"])
    sys.exit(
        OUR_FAULT
        if grade_class(here, infos, ClassOptions(submissions, **options, is_named=bool(names)))
        else 0
    )


@click.command(cls=GuardedCommand)
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
    from dojo_classroom.override import OverrideOptions, run

    run(own_course(course), OverrideOptions(**options))


@click.command(cls=GuardedCommand)
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
    from dojo_classroom.regrade import RegradeOptions, run

    sys.exit(run(own_course(course), RegradeOptions(**options)))
