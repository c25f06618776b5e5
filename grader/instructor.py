"""The command of instructors: `kata`, and the commands below it."""

from __future__ import annotations

import click

from grader.authoring import commands as authoring
from grader.cohort import command as cohort
from grader.notebooks import commands as notebooks


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
def kata() -> None:
    """Look after a course: its katas, their checks, its classes."""


COMMANDS = (
    authoring.new,
    authoring.verify,
    authoring.overview,
    authoring.feedback,
    authoring.key,
    authoring.release,
    notebooks.notebooks,
    cohort.grade,
)
for command in COMMANDS:
    kata.add_command(command)
