"""The command `kata`, whose commands are all in `plugins/`, and the arguments that several of them have."""

from __future__ import annotations

from pathlib import Path

import click

import grader
from grader.cli.options import KataNames, PluggedGroup
from grader.course.catalog import Course, open_course

folder_argument = click.argument("folder", type=click.Path(path_type=Path, file_okay=False))
names_argument = click.argument("names", nargs=-1, type=KataNames())


@click.group(cls=PluggedGroup, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(grader.__version__, prog_name="kata")
def kata() -> None:
    """Look after a course: its katas, their checks, its classes."""


def own_course(folder: Path | None) -> Course:
    """Return the course in `folder`, or around the current folder; never the one that is installed."""
    return open_course(folder, shipped=False)


if __name__ == "__main__":
    kata()
