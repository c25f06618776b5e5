"""Options and errors that all commands share: kata names with completion, exit codes, `GradeOptions`."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any, NamedTuple

import click
from click.shell_completion import CompletionItem

from grader.course.catalog import open_course
from grader.errors import CourseError, KataError

WRONG_INPUT, OUR_FAULT = 2, 3

#: The option `--course`, which sets the parameter `course`.
course_option = click.option(
    "--course",
    type=click.Path(path_type=Path, file_okay=False),
    is_eager=True,  # so that the completion of names knows it
    help="The folder of the course, where it is not the one around this folder.",
)


class WrongInput(click.ClickException):
    """Wrong input on the command line or on disk: prints one sentence and exits with code 2."""

    exit_code = WRONG_INPUT

    def show(self, file: Any = None) -> None:
        click.echo(self.format_message(), file=file or sys.stderr)


class KataNames(click.ParamType[str]):
    """Names of katas, which the shell can complete."""

    name = "kata"

    def shell_complete(
        self,
        ctx: click.Context,
        param: click.Parameter,  # noqa: ARG002  # the signature is click's
        incomplete: str,
    ) -> list[CompletionItem]:
        try:
            names = open_course(ctx.params.get("course")).katas
        except (CourseError, KataError):
            return []
        return [CompletionItem(name) for name in names if name.startswith(incomplete)]


class GuardedCommand(click.Command):
    """A command that exits with code 2 for wrong input and with code 3 for a fault of the grader."""

    def invoke(self, ctx: click.Context) -> Any:
        try:
            return super().invoke(ctx)
        except (
            click.ClickException,
            click.exceptions.Exit,
            click.Abort,
            KeyboardInterrupt,
            BrokenPipeError,  # the reader, such as `head`, has closed the pipe; click exits quietly
        ):
            raise
        except Exception as error:
            if _is_user_error(error):
                raise WrongInput(str(error)) from None
            if os.environ.get("DOJO_DEBUG"):
                raise
            click.echo(
                "This is our fault, not yours; your points are unchanged."
                f" ({type(error).__name__}: {error}; DOJO_DEBUG=1 shows where.)",
                err=True,
            )
            ctx.exit(OUR_FAULT)


def _is_user_error(error: Exception) -> bool:
    """Return whether the error is about the input or this machine, not a fault of the grader."""
    if isinstance(error, CourseError | KataError):
        return True
    from grader.grading.startup import COMPLAINTS  # imports NumPy

    return isinstance(error, COMPLAINTS)


PASSED, FAILED, WRONG_INPUT = range(3)


class GradeOptions(NamedTuple):
    """The arguments and options of `grade`."""

    names: tuple[str, ...] = ()
    file: Path | None = None
    course: Path | None = None
    exercises: Path | None = None
    list_katas: bool = False
    hint: bool = False
    watch: bool = False
    device: str = "cpu"
    forms: tuple[str, ...] = ("terminal",)
    output: str | None = None
    isolation: str = "best"
    show_output: bool = False
    full: bool = False
    brief: bool = False
    ascii_only: bool = False
    all_katas: bool = False
    protect: bool = False
    doctor: bool = False
    start: Path | None = None
    once: bool = False
    screen: bool = False
    key: Path | None = None
    secret: Path | None = None

    @property
    def grader_options(self) -> dict[str, Any]:
        """The options that are passed on to `open_grader`."""
        return {name: getattr(self, name) for name in ("device", "isolation", "key", "secret")}
