"""What every command has in common: names that the shell completes, faults told from wrong input."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any

import click
from click.shell_completion import CompletionItem

from grader.catalog import open_course
from grader.errors import CourseError, KataError

WRONG_INPUT, OUR_FAULT = 2, 3

#: Which course a command is about; it fills the parameter `course`.
course_option = click.option(
    "--course",
    type=click.Path(path_type=Path, file_okay=False),
    is_eager=True,  # so that names are completed from it
    help="The folder of the course, where it is not the one around this folder.",
)


class Complaint(click.ClickException):
    """Something on the command line or on disk is wrong: one sentence, exit code 2."""

    exit_code = WRONG_INPUT

    def show(self, file: Any = None) -> None:
        click.echo(self.format_message(), file=file or sys.stderr)


class Names(click.ParamType[str]):
    """Names of katas, completed by the shell."""

    name = "kata"

    def shell_complete(
        self,
        ctx: click.Context,
        param: click.Parameter,  # noqa: ARG002  # the signature is click's
        incomplete: str,
    ) -> list[CompletionItem]:
        try:
            names = open_course(ctx.params.get("course")).cards
        except (CourseError, KataError):
            return []
        return [CompletionItem(name) for name in names if name.startswith(incomplete)]


class Guarded(click.Command):
    """A command whose own faults are told from wrong input: exit codes 2 and 3."""

    def invoke(self, ctx: click.Context) -> Any:
        try:
            return super().invoke(ctx)
        except (
            click.ClickException,
            click.exceptions.Exit,
            click.Abort,
            KeyboardInterrupt,
            BrokenPipeError,  # the reader, `head` say, has seen enough; click ends quietly
        ):
            raise
        except Exception as error:
            if _is_complaint(error):
                raise Complaint(str(error)) from None
            if os.environ.get("DOJO_DEBUG"):
                raise
            click.echo(
                "This is our fault, not yours; your points are unchanged."
                f" ({type(error).__name__}: {error}; DOJO_DEBUG=1 shows where.)",
                err=True,
            )
            ctx.exit(OUR_FAULT)


def _is_complaint(error: Exception) -> bool:
    """Whether the error says what is wrong with the input or this machine."""
    if isinstance(error, CourseError | KataError):
        return True
    from grader.opening import COMPLAINTS  # which imports NumPy

    return isinstance(error, COMPLAINTS)
