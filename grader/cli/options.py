"""Options and errors that all commands share: kata names with completion, exit codes, `GradeOptions`."""

from __future__ import annotations

import errno
import os
import shutil
import signal
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import click
from click.shell_completion import CompletionItem

from grader import formats
from grader.course.catalog import Course, open_course
from grader.course.plans import hours_from, limited
from grader.course.state import CourseState
from grader.course.submission import SubmissionRejected
from grader.errors import CourseError, KataError, reason_of
from grader.formats import Detail
from grader.plugins import (
    COMMANDS_GROUP,
    PartMissing,
    PluginError,
    PluginFailed,
    Plugins,
    find,
    load,
    ours,
    parts_told,
)
from grader.texts.escaping import harmless, one_line
from grader.texts.wrapping import paragraphs

if TYPE_CHECKING:
    from grader.grading.session import GraderSettings

#: Exit codes. A host may give 0 points for code 2; 3 and 4 say nothing about the submission.
PASSED, FAILED, UNGRADABLE, OUR_FAULT, WRONG_INPUT = range(5)
INTERRUPTED = 130  # by Ctrl-C, as a shell says it of every command
click.UsageError.exit_code = WRONG_INPUT  # click's own code is 2

#: A path, a disk or rights that the user can change.
OF_THE_MACHINE = {errno.ENAMETOOLONG, errno.ENOSPC, errno.EROFS, errno.EACCES, errno.EPERM, errno.ELOOP}

NO_KATAS = "The course has no katas yet."
PAGE = "see.html"  # of `grade see`, in the folder of the state
NARROWEST_TERMINAL, WIDEST_TERMINAL, ELSEWHERE = 60, 110, 80  # columns; the last ones where no terminal is

PLUGIN = "dojo.plugin"  # set in `Context.meta`: what to say if the command of another package fails
ALL_OPTIONS = "dojo.all_options"  # set in `Context.meta`: `grade help options` shows the rare ones too


class Hours(click.ParamType):  # type: ignore[type-arg]  # generic since click 8.4; Colab has 8.3
    """A number of hours above 0."""

    name = "number"

    def convert(
        self,
        value: Any,
        param: click.Parameter | None,  # noqa: ARG002  # the signature is click's
        ctx: click.Context | None,  # noqa: ARG002
    ) -> float:
        try:
            return hours_from(str(value))
        except CourseError as error:
            raise WrongInput(str(error)) from None


#: Options that several commands have; `course_option` sets the parameter `course`, and so on.
course_option = click.option(
    "--course",
    type=click.Path(path_type=Path, file_okay=False),
    is_eager=True,  # so that the completion of names knows it
    help="The course's folder, if it is not around this one.",
)
exercises_option = click.option(
    "--exercises", type=click.Path(path_type=Path), help="The folder of exercises."
)
plan_option = click.option(
    "--plan", default="", help="Take the katas of one plan alone, such as lab; see docs/paths.md."
)
hours_option = click.option(
    "--hours", type=Hours(), help="Take what fits into so many hours of a plan; see docs/paths.md."
)
device_option = click.option("--device", type=click.Choice(["cpu", "cuda"]), default="cpu", show_default=True)
isolation_option = click.option(
    "--isolation",
    type=click.Choice(["required", "best", "none"]),
    default="best",
    show_default=True,
    help="Refuse to grade without a whole sandbox; take what this machine has; use a plain process.",
)
search_option = click.option(
    "--search",
    type=click.FloatRange(min=0),
    default=2.0,
    show_default=True,
    help="Look for the place of a mistake without a name for so many seconds of CPU time.",
)
no_search_option = click.option("--no-search", is_flag=True, help="Do not look for the place of a mistake.")
ascii_option = click.option("--ascii", "ascii_only", is_flag=True, help="Draw with ASCII characters alone.")
key_option = click.option(
    "--key", type=click.Path(path_type=Path), help="Grade with this answer key, file or folder."
)
secret_option = click.option(
    "--secret", type=click.Path(path_type=Path), help="The file with a sealed key's secret."
)


def columns() -> int:
    """Return how wide texts on standard output are: as the terminal, within limits, or 80 columns."""
    if not sys.stdout.isatty():
        return ELSEWHERE
    return max(NARROWEST_TERMINAL, min(shutil.get_terminal_size().columns, WIDEST_TERMINAL))


class WrongInput(click.ClickException):
    """A wrong command line, course, key or machine: prints one sentence and exits with code 4."""

    exit_code = WRONG_INPUT

    def show(self, file: Any = None) -> None:
        message = harmless(self.format_message())  # it may quote a name that somebody else gave
        shown = paragraphs(message, columns()) if sys.stderr.isatty() else message  # programs read lines
        click.echo(shown, file=file or sys.stderr)


class Ungradable(WrongInput):
    """A submission that cannot be graded: prints one sentence and exits with code 2."""

    exit_code = UNGRADABLE


class KataNames(click.ParamType):  # type: ignore[type-arg]  # generic since click 8.4; Colab has 8.3
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


@contextmanager
def guarded(ctx: click.Context) -> Iterator[None]:
    """Print one sentence for an error and exit: with 2 for an unreadable submission, with 3 for our own
    fault, with 4 for wrong input; after Ctrl-C without a word."""
    if signal.getsignal(signal.SIGINT) is signal.SIG_DFL:  # as the entry point has set it
        signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        with parts_told(f"`{ctx.command_path}`"):
            yield
    except (
        click.ClickException,
        click.exceptions.Exit,
        click.Abort,
        BrokenPipeError,  # the reader, such as `head`, has closed the pipe; click exits quietly
    ):
        raise
    except KeyboardInterrupt:
        click.echo(err=True)  # the terminal has written ^C
        ctx.exit(INTERRUPTED)
    except SubmissionRejected as refused:
        raise Ungradable(str(refused)) from None
    except Exception as error:
        if _is_user_error(error):
            raise WrongInput(str(error)) from None
        if isinstance(error, OSError) and error.errno in OF_THE_MACHINE and PLUGIN not in ctx.meta:
            name = error.filename if isinstance(error.filename, str) else "A file"
            raise WrongInput(f"{one_line(name, 80)} cannot be used: {reason_of(error)}.") from None
        if os.environ.get("DOJO_DEBUG"):
            raise
        whose = ctx.meta.get(PLUGIN, "This is our fault, not yours; your points are unchanged.")
        whose = str(error) if isinstance(error, PluginFailed) else whose
        cause = error.__cause__ if isinstance(error, PluginFailed) else error
        click.echo(f"{whose} ({type(cause).__name__}: {cause}; DOJO_DEBUG=1 shows where.)", err=True)
        ctx.exit(OUR_FAULT)


class GuardedCommand(click.Command):
    """A command whose errors are sentences and exit codes: see `guarded`."""

    def invoke(self, ctx: click.Context) -> Any:
        with guarded(ctx):
            return super().invoke(ctx)


class PluggedGroup(click.Group):
    """A group of commands, to which other packages add theirs by entry points."""

    def plugged(self) -> Plugins:
        """Return the commands of other packages, and print once what is wrong with them."""
        plugins = find(COMMANDS_GROUP, f"{self.name}.", tuple(self.own_commands()))
        tell(plugins.problems)
        return plugins

    def own_commands(self) -> list[str]:
        """Return the names of our own commands."""
        prefix = f"{self.name}."
        return [name.removeprefix(prefix) for name in ours(COMMANDS_GROUP) if name.startswith(prefix)]

    def own_command(self, name: str) -> click.Command | None:
        """Return one of our own commands. Raises PartMissing if its package was left out."""
        if name not in self.own_commands():
            return None
        command: click.Command = load(COMMANDS_GROUP, f"{self.name}.{name}", f"`{self.name} {name}`")
        return command

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002  # the signature is click's
        return [*self.own_commands(), *sorted(self.plugged().found)]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002
        try:
            own = self.own_command(cmd_name)
            if own is not None or cmd_name not in (found := self.plugged().found):
                return own
            command: click.Command = found[cmd_name].load(click.Command)
        except (PluginError, PartMissing) as error:
            tell((str(error),))
            return None
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        name = args[0]
        if self.own_command(name) is None and (plugin := self.plugged().found.get(name)):
            if not ctx.resilient_parsing:
                plugin.load(click.Command)  # raises PluginError, which says more than that there is none
            ctx.meta[PLUGIN] = f"`{plugin.name}` of {plugin.package} has failed; nothing else is changed."
        return super().resolve_command(ctx, args)

    def invoke(self, ctx: click.Context) -> Any:
        with guarded(ctx):
            return super().invoke(ctx)


_TOLD: set[str] = set()


def tell(problems: Iterable[str]) -> None:
    """Print sentences about plug-ins to standard error, each of them once."""
    for problem in problems:
        if problem not in _TOLD:
            _TOLD.add(problem)
            click.echo(one_line(problem), err=True)


class FormatName(click.ParamType):  # type: ignore[type-arg]  # generic since click 8.4; Colab has 8.3
    """The name of a report format, of ours or of another package."""

    name = "name"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        if value not in formats.NAMES:
            click.Choice(self.all()).convert(value, param, ctx)
            try:
                formats.documents(value)
            except PluginError as error:
                raise WrongInput(str(error)) from None
        return value

    def all(self) -> list[str]:
        """Return all names, and print once what is wrong with formats of other packages."""
        plugins = formats.plugged()
        tell(plugins.problems)
        return [*formats.NAMES, *sorted(plugins.found)]

    def shell_complete(
        self,
        ctx: click.Context,  # noqa: ARG002  # the signature is click's
        param: click.Parameter,  # noqa: ARG002
        incomplete: str,
    ) -> list[CompletionItem]:
        return [CompletionItem(name) for name in self.all() if name.startswith(incomplete)]


class FormatOption(click.Option):
    """The option `--format`, whose help names the formats of other packages too."""

    def get_help_record(self, ctx: click.Context) -> tuple[str, str] | None:
        names = ", ".join(FormatName().all())
        self.help = f"Write the report as {names}. Can be given several times."
        return super().get_help_record(ctx)


def _is_user_error(error: Exception) -> bool:
    """Return whether the error is about the input or this machine, not a fault of the grader."""
    if isinstance(error, CourseError | KataError):
        return True
    from grader.grading.session import COMPLAINTS  # imports NumPy

    return isinstance(error, COMPLAINTS)


class GradeOptions(NamedTuple):
    """The arguments and options of a grading; `grade see` and other commands have some of them too."""

    names: tuple[str, ...] = ()
    file: Path | None = None
    submission: Path | None = None
    course: Path | None = None
    exercises: Path | None = None
    watch: bool = False
    device: str = "cpu"
    forms: tuple[str, ...] = ("terminal",)
    output: str | None = None
    isolation: str = "best"
    show_output: bool = False
    detail: Detail = "normal"
    ascii_only: bool = False
    all_katas: bool = False
    plan: str = ""
    hours: float | None = None
    once: bool = False
    screen: bool = False
    key: Path | None = None
    secret: Path | None = None
    search: float = 2.0
    no_search: bool = False
    seed: int | None = None  # of the cases where there is no key; the public one if it is None

    @property
    def remembers(self) -> bool:
        """True if the outcomes are a student's own: programs grade files of many students with `--exercises`
        or `--submission`, and services set `CI`."""
        return not (self.exercises or self.submission or os.environ.get("CI"))

    @property
    def search_seconds(self) -> float:
        """The CPU seconds of the search for the place of a mistake; 0 if none is due or shown."""
        is_shown = self.detail not in ("brief", "snippet") or self.forms != ("terminal",)
        return self.search if is_shown and not self.no_search else 0.0

    @property
    def grader_settings(self) -> GraderSettings:
        """The options that are passed on to `open_grader`."""
        from grader.grading.session import DEFAULTS, GraderSettings  # imports NumPy

        seed = DEFAULTS.seed if self.seed is None else self.seed
        return GraderSettings(self.device, self.isolation, self.key, self.secret, seed)


def opened(options: GradeOptions) -> Course:
    """Return the course, limited to a plan and hours, and say it if a student's state cannot be read. Raises
    CourseError."""
    course = open_course(options.course, options.exercises)
    if options.remembers and (trouble := CourseState(course).trouble()):
        click.echo(trouble, err=True)
    return planned(course, options)


def planned(course: Course, options: GradeOptions) -> Course:
    """Return the course, limited to the plan and the hours of the options. Raises CourseError."""
    if options.hours is not None and not options.plan:
        raise CourseError("`--hours` goes with a plan: --plan NAME --hours 4. `grade plan` lists the plans.")
    if not options.plan:
        return course
    return limited(course, options.plan, options.hours)
