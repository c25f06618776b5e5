"""The command of instructors: `kata`, and the commands below it."""

from __future__ import annotations

import click

from grader.authoring import commands as authoring


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
def kata() -> None:
    """Look after a course: its katas, their checks, its classes."""


for command in (authoring.verify, authoring.key, authoring.release, authoring.overview, authoring.feedback):
    kata.add_command(command)
