"""The command `grade`.

Listing the katas and giving a hint do not need NumPy, so the modules that import it are imported later.
"""

from __future__ import annotations

import contextlib
import os
import shlex
import sys
from pathlib import Path
from typing import Any

import click

import grader
from grader.cli.options import (
    FAILED,
    NO_KATAS,
    PASSED,
    WIDEST,
    GradeOptions,
    GuardedCommand,
    KataNames,
    columns,
    course_option,
)
from grader.course.catalog import Course, KataInfo, open_course
from grader.course.state import CourseState
from grader.course.submission import is_notebook
from grader.errors import CourseError
from grader.formats import NAMES as FORMATS
from grader.formats import Detail
from grader.formats.account import one_line, paragraphs

#: Words that are typed without dashes, and the options that they mean.
WORDS = {
    "list": "list_katas",
    "all": "all_katas",
    "next": "next_kata",
    **{name: name for name in ("hint", "solution", "again", "reset", "see", "speak", "page", "doctor")},
}
#: The options that say something about another one.
OPTIONS_OF = {
    **dict.fromkeys(("text", "tokens", "mine"), "see"),
    **dict.fromkeys(("without", "with_", "inside"), "speak"),
}
ON_WINDOWS = "On Windows there is no sandbox and no loop. Work in WSL 2, which is Linux: see docs/windows.md."


def run(options: GradeOptions) -> int:
    """Run `grade` with these options and return the exit code. Raises CourseError for wrong input."""
    if options.start:
        return _start(options.start, options.library or "")
    if options.library:
        raise CourseError(f"`--library` goes with `--start`: grade --start DIR --library {options.library}.")
    course = open_course(options.course, options.exercises)
    options = _with_words_as_options(course, options)
    if options.remembers and (trouble := CourseState(course).trouble()):
        click.echo(trouble, err=True)
    if options.see:
        return _see(course, options)
    if options.speak:
        return _speak(course, options)
    _require_see(options)
    if options.plan:
        course.limit_to(options.plan)
    if options.page:
        from grader.cli.page import run_page

        return run_page(course, options)
    if options.port:
        raise CourseError("`--port` goes with `--page`: grade --page --port 8080.")
    words = [name for name in options.names if not is_notebook(Path(name))]
    if options.names and all(map(course.means_all, options.names)):
        options, words = options._replace(names=(), all_katas=True), []
    infos = list(dict.fromkeys(info for word in words for info in course.katas_meant(word)))
    if options.list_katas:
        return _list(course)
    if options.next_kata:
        return _tell_next(course)
    if options.protect:
        return _protect(course, options.against)
    if options.doctor:
        return _examine(course, options)
    if options.again or options.reset:
        return _bring_back(course, infos, options)
    if options.solution:
        from grader.cli.practice import show_solution

        return show_solution(course, infos)
    if options.hint:
        return _give_hint(course, infos)
    if _is_loop(options):
        from grader.cli.loop import run_loop

        return run_loop(course, options)
    if sys.platform == "win32":
        click.echo(ON_WINDOWS, err=True)
    from grader.cli.run import grade_files, grade_submission

    return (grade_submission if options.submission else grade_files)(course, infos, options)


def _with_words_as_options(course: Course, options: GradeOptions) -> GradeOptions:
    """Return the options; `list`, `hint` and the like without dashes mean the options, unless a kata has that
    name."""
    first, *others = options.names or ("",)
    if first not in WORDS or list(course.root.glob(f"tests/katas/*/test_{first}.py")):
        return options
    meant: dict[str, Any] = {WORDS[first]: True}
    return options._replace(names=tuple(others), **meant)


def _start(folder: Path, library: str) -> int:
    """Write the course of this installation into a folder and print how to go on."""
    from grader.cli.starter import start
    from grader.values.formatting import counted

    outcome = start(folder, library)
    katas = counted(sum(name.startswith("exercises/") for name in outcome.written), "kata")
    is_here = folder.resolve() == Path.cwd()
    where, there = ("here", "") if is_here else (f"to {folder}", f"cd {shlex.quote(str(folder))} && ")
    click.echo(f"{katas} written {where}. Begin:  {there}grade")
    for note in outcome.notes("course"):
        click.echo(note)
    return PASSED


def _see(course: Course, options: GradeOptions) -> int:
    """Show the student's functions at work."""
    from grader.cli.speak import see

    return see(course, options)


def _speak(course: Course, options: GradeOptions) -> int:
    """Let the student's functions write a text."""
    from grader.cli.speak import speak

    return speak(course, options)


def _require_see(options: GradeOptions) -> None:
    """Raise CourseError for an option that goes with `--see` or `--speak` alone."""
    for name, other in OPTIONS_OF.items():
        if getattr(options, name):
            name = name.rstrip("_")
            raise CourseError(f"`--{name}` goes with `--{other}`: grade --{other} --{name}.")


def _is_loop(options: GradeOptions) -> bool:
    """True if nothing in particular is asked for, at a terminal."""
    from grader.cli.keyboard import has_keyboard

    asked = (options.names, options.file, options.submission, options.once, options.all_katas, options.output)
    return not any(asked) and options.forms == ("terminal",) and has_keyboard()


def _list(course: Course) -> int:
    """Print all katas, with a mark on those that are begun."""
    from grader.cli.console import kata_list

    click.echo(kata_list(course, width=columns()), nl=False)
    return PASSED


def _tell_next(course: Course) -> int:
    """Print the first kata that does not pass. Raises CourseError if there are no katas."""
    from grader.grading.standings import next_line, standings

    if not course.katas:
        raise CourseError(NO_KATAS)
    click.echo(paragraphs(next_line(course, standings(course)), columns()))
    return PASSED


def _protect(course: Course, against: Path | None) -> int:
    """Print how the files that judge differ from the release, also into the summary of a workflow."""
    from grader.cli.console import append_to_summary
    from grader.course.release_manifest import differences

    found = differences(course.root, against)
    for line in found:
        click.echo(one_line(line))
    if not found:
        click.echo("Every file that judges is as it came.")
    append_to_summary(found)
    return FAILED if found else PASSED


def _examine(course: Course, options: GradeOptions) -> int:
    """Print what this machine has."""
    from grader.cli.doctor import report

    click.echo(report(course, options), nl=False)
    return PASSED


def _bring_back(course: Course, infos: list[KataInfo], options: GradeOptions) -> int:
    """Bring back stubs. Raises CourseError for `--again` without a name."""
    from grader.cli.practice import bring_back

    if options.again and not infos:
        name = next(iter(course.katas), "NAME")
        raise CourseError(f"`--again` goes with the name of a kata: grade --again {name}.")
    return bring_back(course, infos or list(course.katas.values()), are_all=options.reset)


def _give_hint(course: Course, infos: list[KataInfo]) -> int:
    """Print the next hint of one kata. Raises CourseError unless exactly one kata is named."""
    if len(infos) != 1:
        name = next(iter(course.katas), "NAME")
        raise CourseError(f"`--hint` goes with the name of one kata: grade --hint {name}.")
    from grader.course.state import next_hint

    click.echo(paragraphs(next_hint(course, infos[0]), columns()))
    return PASSED


@click.command(
    cls=GuardedCommand,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": WIDEST},
)
@click.version_option(grader.__version__, prog_name="grade")
@click.argument("names", nargs=-1, type=KataNames())
@click.option("--file", "file", type=click.Path(path_type=Path), help="Grade this file (one kata).")
@click.option(
    "--submission",
    type=click.Path(path_type=Path),
    help="Grade what this folder or zip file holds: files are found by their names, as in a class.",
)
@course_option
@click.option("--exercises", type=click.Path(path_type=Path), help="The folder of exercises.")
@click.option("--all", "all_katas", is_flag=True, help="Grade every kata; those not begun get no points.")
@click.option("--plan", default="", help="Take the katas of one plan alone, such as lab; see docs/paths.md.")
@click.option("--protect", is_flag=True, help="List what was changed in a release or added to it.")
@click.option("--against", type=click.Path(path_type=Path), help="With --protect: compare with this release.")
@click.option("--list", "list_katas", is_flag=True, help="Show all katas and how far they are.")
@click.option("--next", "next_kata", is_flag=True, help="Say which kata is next: the first not passed.")
@click.option("--hint", is_flag=True, help="Show the next hint for a kata.")
@click.option("--solution", is_flag=True, help="Show the reference of a kata that you have passed.")
@click.option("--again", is_flag=True, help="Bring back the stub of a kata, to solve it again; asks once.")
@click.option("--reset", is_flag=True, help="Bring back the stubs of a track, or of all; asks once.")
@click.option(
    "--start",
    type=click.Path(path_type=Path, file_okay=False),
    help="Write the course that is installed with the grader into this folder.",
)
@click.option(
    "--library",
    type=click.Choice(["numpy", "torch"]),
    help="With --start: write NumPy katas as stubs in PyTorch.",
)
@click.option("--doctor", is_flag=True, help="Show what this machine has of all that grading uses.")
@click.option("--see", is_flag=True, help="Show your functions at work, as a page; NAMES are its sections.")
@click.option("--page", is_flag=True, help="Open the course in the browser: write there, judged as you type.")
@click.option("--port", type=click.IntRange(0, 65535), default=0, help="With --page: use this port.")
@click.option("--text", is_flag=True, help="With --see: show it in the terminal.")
@click.option("--tokens", metavar="TEXT", help="With --see: run on these words.")
@click.option("--mine", is_flag=True, help="With --see, --speak: use functions that do not pass as well.")
@click.option("--speak", is_flag=True, help="Let your functions write a text, after these words.")
@click.option(
    "--without", multiple=True, metavar="PART", help="With --speak: leave a part out, to see what it does."
)
@click.option(
    "--with",
    "with_",
    multiple=True,
    metavar="NAME[=VALUE]",
    help="With --speak: write so.",
)
@click.option("--inside", is_flag=True, help="With --speak: show what each token was chosen from.")
@click.option("--watch", is_flag=True, help="Grade again whenever a file is saved.")
@click.option("--once", is_flag=True, help="Grade what is begun once, and end; for a terminal.")
@click.option("--screen", is_flag=True, help="Clear the screen before each report of the loop.")
@click.option("--device", type=click.Choice(["cpu", "cuda"]), default="cpu", show_default=True)
@click.option(
    "--format",
    "forms",
    type=click.Choice(FORMATS),
    metavar="NAME",
    multiple=True,
    default=["terminal"],
    show_default=True,
    help=f"What the report is for: {', '.join(FORMATS)}. Can be given several times.",
)
@click.option(
    "--isolation",
    type=click.Choice(["required", "best", "none"]),
    default="best",
    show_default=True,
    help="Refuse to grade without a whole sandbox; take what this machine has; use a plain process.",
)
@click.option("--full", "detail", flag_value="full", help="Show every check with its counterexample.")
@click.option("--brief", "detail", flag_value="brief", help="Show one line for each kata.")
@click.option("--snippet", "detail", flag_value="snippet", help="Show a failing call as Python code.")
@click.option(
    "--search",
    type=click.FloatRange(min=0),
    default=2.0,
    show_default=True,
    help="Look for the place of a mistake without a name for so many seconds of CPU time.",
)
@click.option("--no-search", is_flag=True, help="Do not look for the place of a mistake.")
@click.option("--ascii", "ascii_only", is_flag=True, help="Draw with ASCII characters alone.")
@click.option("--show-output", is_flag=True, help="Show what the code printed, quoted.")
@click.option("--key", type=click.Path(path_type=Path), help="Grade with this answer key, file or folder.")
@click.option("--secret", type=click.Path(path_type=Path), help="The file with a sealed key's secret.")
@click.option(
    "--output",
    "--out",
    "output",
    help="Write the report, or the page of --see, to this file; several formats go to this folder.",
)
def grade(names: tuple[str, ...], detail: Detail | None, **options: Any) -> None:
    """Grade katas: those named, or all that are begun."""
    if names == ("help",):
        click.echo(click.get_current_context().get_help())
        return
    sys.exit(run(GradeOptions(names=names, detail=detail or "normal", **options)))


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
    main()
