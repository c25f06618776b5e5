"""The command `grade`: a group of commands, and the grading of katas for all other words.

Listing the katas and giving a hint do not need NumPy, so the modules that import it are imported later.
"""

from __future__ import annotations

import contextlib
import os
import shlex
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click
from click.shell_completion import CompletionItem

import grader
from grader.cli.options import (
    ALL_OPTIONS,
    WIDEST_TERMINAL,
    FormatName,
    FormatOption,
    GradeOptions,
    KataNames,
    PluggedGroup,
    ascii_option,
    course_option,
    device_option,
    exercises_option,
    guarded,
    hours_option,
    isolation_option,
    key_option,
    no_search_option,
    opened,
    plan_option,
    search_option,
    secret_option,
)
from grader.course import search
from grader.course.catalog import Course, KataInfo, find_course, open_course
from grader.course.files import from_here
from grader.course.submission import is_notebook
from grader.errors import CourseError, NoSuchKata
from grader.formats import Detail

#: The commands that were options in 1.0: the parameter of each option, and the command. The first one that is
#: given counts.
OLD_COMMANDS = {
    "folder": "start",
    "see": "see",
    "speak": "speak",
    "page": "page",
    "list_katas": "list",
    "next_kata": "next",
    "protect": "protect",
    "doctor": "doctor",
    "again": "again",
    "reset": "reset",
    "solution": "solution",
    "hint": "hint",
}
#: The options that say something about one of these commands.
OLD_OPTIONS = {
    "library": "start",
    **dict.fromkeys(("text", "tokens", "mine"), "see"),
    **dict.fromkeys(("without", "with_", "inside"), "speak"),
    "port": "page",
    "against": "protect",
}
#: Options that `grade --help` leaves out and `grade help options` shows.
RARE = {
    *(
        "submission",
        "exercises",
        "plan",
        "hours",
        "once",
        "screen",
        "device",
        "isolation",
        "search",
        "no_search",
    ),
    *("show_output", "key", "secret"),
}
#: Words that grade in other tools: what `grade` alone does, and the option that does it for katas.
OTHER_WORDS = {
    **dict.fromkeys(("test", "check", "run"), ("grade what you have begun", "")),
    "watch": ("grade whatever is saved", " --watch"),
}
ON_WINDOWS = "On Windows there is no sandbox and no loop. Work in WSL 2, which is Linux: see docs/windows.md."


class GradeGroup(PluggedGroup):
    """`grade COMMAND …` runs a command; `grade KATA …` and `grade` alone grade.

    Options of a command may stand before its name or behind it. After `--` a word is always a kata.
    """

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        at = self._place_of_command(ctx, args)
        if at is None:
            ctx.allow_interspersed_args = True  # options may stand behind the names of katas
            return click.Command.parse_args(self, ctx, args)
        ctx.args = [args[at], *args[:at], *args[at + 1 :]]
        return ctx.args

    def _place_of_command(self, ctx: click.Context, args: list[str]) -> int | None:
        """Return where the name of a command stands in the arguments; None if they ask for a grading."""
        values = self._values(ctx, args)
        words = values.get("names")  # a value of click's own if there are none
        if not isinstance(words, tuple | list) or any(values.get(old) for old in OLD_COMMANDS):
            return None
        at = len(args) - len(words)
        if not words or (at and args[at - 1] == "--"):
            return None
        word = words[0]
        if word in self.own_commands():
            return at
        if not word.replace("-", "_").isidentifier():
            return None
        ctx.allow_interspersed_args = True  # the course may be named behind the word
        if _is_kata(word, self._values(ctx, args).get("course")):
            return None
        return at if word in self.plugged().found else None

    def _values(self, ctx: click.Context, args: list[str]) -> dict[str, Any]:
        """Return the parameters as they are typed; none if the arguments are wrong."""
        try:
            return self.make_parser(ctx).parse_args(list(args))[0]
        except click.UsageError:
            return {}

    def invoke(self, ctx: click.Context) -> Any:
        with guarded(ctx):
            if not ctx.args:
                return click.Command.invoke(self, ctx)
            name, command, arguments = self.resolve_command(ctx, ctx.args)
            assert name is not None
            assert command is not None
            inner = None
            try:
                with command.make_context(name, arguments, parent=ctx) as inner:
                    return command.invoke(inner)
            finally:
                _mention_kata(name, inner.params.get("course") if inner else None)

    def format_usage(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        formatter.write_usage(ctx.command_path, "[OPTIONS] [NAMES]...")
        formatter.write_usage(ctx.command_path, "COMMAND [OPTIONS] ...", prefix=" " * len("Usage: "))

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the commands, and then the options that are often needed, or all."""
        self.format_commands(ctx, formatter)
        options = [one for one in self.get_params(ctx) if isinstance(one, click.Option)]
        shown = [one for one in options if ctx.meta.get(ALL_OPTIONS) or one.name not in RARE]
        records = [record for one in shown if (record := one.get_help_record(ctx))]
        with formatter.section("Options of grading"):
            formatter.write_dl(records)


def _is_kata(word: str, folder: str | None) -> bool:
    """Return whether a word means a kata or several; no plug-in takes its name away."""
    with contextlib.suppress(Exception):  # the grading says what is wrong
        return bool(open_course(Path(folder) if folder else None).katas_meant(word))
    return False


def _mention_kata(name: str, folder: Path | None) -> None:
    """Say how a kata is graded that has the name of a command."""
    with contextlib.suppress(CourseError, OSError):
        root = folder or find_course(Path.cwd())
        for found in root.glob(f"tests/katas/*/test_{name}.py"):
            path = shlex.quote(from_here(root / "exercises" / found.parent.name / f"{name}.py"))
            click.echo(f"`{name}` is a command, and a kata here. Grade the kata: grade {path}", err=True)


class _Words(click.Argument):
    """The words of a grading, which are no part of how a command is used."""

    def get_usage_pieces(self, ctx: click.Context) -> list[str]:  # noqa: ARG002  # the signature is click's
        return []


class KatasOrCommands(KataNames):
    """Names of katas; in the first place the shell completes the names of commands too."""

    def shell_complete(
        self, ctx: click.Context, param: click.Parameter, incomplete: str
    ) -> list[CompletionItem]:
        katas = super().shell_complete(ctx, param, incomplete)
        if ctx.params.get("names"):
            return katas
        found = [name for name in grade.own_commands() if name.startswith(incomplete) and name != "help"]
        return [CompletionItem(name) for name in found] + katas


def _old_spellings(function: Callable[..., Any]) -> Callable[..., Any]:
    """Add what 1.0 had as options and is a command now, with the options of these commands; hidden."""
    flags = {"with_": "--with", "list_katas": "--list", "next_kata": "--next"}
    names = ("list_katas", "next_kata", "hint", "solution", "again", "reset", "protect", "doctor")
    for name in (*names, "see", "page", "speak", "text", "mine", "inside"):
        option = click.option(flags.get(name, f"--{name}"), name, is_flag=True, hidden=True)
        function = option(function)
    for name in ("without", "with_"):
        function = click.option(flags.get(name, f"--{name}"), name, multiple=True, hidden=True)(function)
    folder, path = click.Path(path_type=Path, file_okay=False), click.Path(path_type=Path)
    options = (
        click.option("--start", "folder", type=folder, hidden=True),
        click.option("--library", type=click.Choice(["numpy", "torch"]), hidden=True),
        click.option("--port", type=click.IntRange(0, 65535), default=0, hidden=True),
        click.option("--tokens", hidden=True),
        click.option("--against", type=path, hidden=True),
    )
    for option in options:
        function = option(function)
    return function


@click.group(
    cls=GradeGroup,
    invoke_without_command=True,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": WIDEST_TERMINAL},
    epilog="All options: grade help options. Options of a command: grade list --help.",
)
@click.argument("names", nargs=-1, cls=_Words, type=KatasOrCommands())
@click.option("--all", "all_katas", is_flag=True, help="Grade every kata; those not begun get no points.")
@click.option("--file", "file", type=click.Path(path_type=Path), help="Grade this file (one kata).")
@click.option(
    "--submission",
    type=click.Path(path_type=Path),
    help="Grade what this folder or zip file holds: files are found by their names, as in a class.",
)
@click.option("--watch", is_flag=True, help="Grade again whenever a file is saved.")
@click.option("--once", is_flag=True, help="Grade what is begun once, and end; for a terminal.")
@click.option("--screen", is_flag=True, help="Clear the screen before each report of the loop.")
@click.option("--full", "detail", flag_value="full", help="Show every check with its counterexample.")
@click.option("--brief", "detail", flag_value="brief", help="Show one line for each kata.")
@click.option("--snippet", "detail", flag_value="snippet", help="Show a failing call as Python code.")
@click.option("--show-output", is_flag=True, help="Show what the code printed, quoted.")
@ascii_option
@click.option(
    "--format",
    "forms",
    cls=FormatOption,
    type=FormatName(),
    multiple=True,
    default=["terminal"],
)
@click.option(
    "--output",
    "--out",
    "output",
    help="Write the report to a file, or several to a folder.",
)
@course_option
@exercises_option
@plan_option
@hours_option
@device_option
@isolation_option
@search_option
@no_search_option
@key_option
@secret_option
@_old_spellings
@click.version_option(grader.__version__, prog_name="grade")
@click.pass_context
def grade(ctx: click.Context, /, names: tuple[str, ...], detail: Detail | None, **options: Any) -> None:
    """Grade katas: those named, or all that are begun. Or run a command."""
    for option, name in OLD_COMMANDS.items():
        if options[option]:
            command = grade.own_command(name)
            assert command is not None
            given = {one.name: ctx.params[one.name] for one in command.params if one.name in ctx.params}
            ctx.invoke(command, **given)
            return
    for option, name in OLD_OPTIONS.items():
        if options[option]:
            usage = f"grade {name} DIR" if name == "start" else f"grade {name}"
            dashed = f"--{option.rstrip('_')}"
            raise CourseError(f"`{dashed}` goes with `grade {name}`: {usage} {dashed}.")
    terms = {key: options[key] for key in GradeOptions._fields if key in options}
    sys.exit(run(GradeOptions(names, detail=detail or "normal", **terms)))


def run(options: GradeOptions) -> int:
    """Grade with these options and return the exit code. Raises CourseError for wrong input."""
    course = opened(options)
    words = [name for name in options.names if not is_notebook(Path(name))]
    if options.names and (all(map(course.means_all, options.names)) or _is_old_word(course, options.names)):
        options, words = options._replace(names=(), all_katas=True), []
    infos = list(dict.fromkeys(info for word in words for info in _meant(course, word, words)))
    if _is_loop(options):
        from grader.cli.loop import run_loop

        return run_loop(course, options)
    if sys.platform == "win32":
        click.echo(ON_WINDOWS, err=True)
    from grader.cli.run import grade_files, grade_submission

    return (grade_submission if options.submission else grade_files)(course, infos, options)


def _is_old_word(course: Course, names: tuple[str, ...]) -> bool:
    """Return whether the words are `grade all`, which 1.0 took for `grade --all`."""
    return names == ("all",) and "all" not in course.katas


def _meant(course: Course, word: str, words: list[str]) -> list[KataInfo]:
    """Return the katas that a word means. Raises CourseError, which names a command that is like it."""
    try:
        return course.katas_meant(word)
    except NoSuchKata:
        commands = grade.list_commands(click.get_current_context())
        if word in commands and word != words[0]:
            others = " ".join(other for other in words if other != word)
            raise CourseError(
                f"There is no kata called `{word}`. A command comes first: grade {word} {others}"
            ) from None
        if word in OTHER_WORDS:
            raise CourseError(f"There is no kata called `{word}`. {_instead(word, words)}") from None
        near = search.similar(word, [*course.katas, *commands])
        if near not in commands or near == word:
            raise
        raise CourseError(f"There is no kata called `{word}`. Did you mean `grade {near}`?") from None


def _instead(word: str, words: list[str]) -> str:
    """Return what to type in place of a word that grades in other tools."""
    what, option = OTHER_WORDS[word]
    others = "".join(f" {shlex.quote(other)}" for other in words if other != word)
    return f"Run: grade{others}{option}" if others else f"To {what}: grade"


def _is_loop(options: GradeOptions) -> bool:
    """True if nothing in particular is asked for, at a terminal."""
    from grader.cli.keyboard import has_keyboard

    asked = (options.names, options.file, options.submission, options.once, options.all_katas, options.output)
    return not any(asked) and options.forms == ("terminal",) and has_keyboard()


def compute_in_one_thread() -> None:
    """Keep OpenBLAS from starting threads, which takes longer than the small computations here."""
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")


def main() -> None:
    """Run `grade` and exit at once: unloading PyTorch would take a fifth of the running time."""
    compute_in_one_thread()
    try:
        grade()
    except SystemExit as ended:
        if sys.stdout is not None and sys.stderr is not None and isinstance(ended.code, int | None):
            with contextlib.suppress(OSError):
                sys.stdout.flush()
                sys.stderr.flush()
                os._exit(ended.code or 0)
        raise


if __name__ == "__main__":
    if not sys.flags.safe_path:
        del sys.path[0]  # the current folder, which `-m` puts there and where a submission may lie
    main()
