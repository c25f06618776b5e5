"""The terminal output of `grade`: reports on standard output, progress on standard error."""

from __future__ import annotations

import ast
import os
import re
import shutil
import sys
import warnings
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import click

from grader.cli.options import GradeOptions
from grader.cli.output import ReportOutput
from grader.course.catalog import KataInfo
from grader.course.changed_statement import note_for
from grader.diagnosis.search_options import SearchOptions
from grader.formats import account, terminal
from grader.formats.terminal import View
from grader.report import KataReport, Report
from grader.report_texts import harmless

NARROWEST, WIDEST = 60, 110  # columns
PATH = re.compile(r"(?<![\w./~-])~?[\w./-]+\.(?:py|ipynb|html)\b")
SHOWN_EVERY = 20  # candidates of a search


def view_of(options: GradeOptions) -> View:
    """Return how reports are shown on this terminal, or in 80 columns without colour if it is none."""
    is_terminal = sys.stdout.isatty()
    width = shutil.get_terminal_size().columns if is_terminal else View.width
    return View(
        width=max(NARROWEST, min(width, WIDEST)),
        colour=is_terminal and "NO_COLOR" not in os.environ,
        ascii_only=options.ascii_only or "utf" not in (sys.stdout.encoding or "utf-8").lower(),
        detail=options.detail,
        shows_output=options.show_output,
        links=is_terminal and not options.ascii_only and os.environ.get("TERM_PROGRAM") != "vscode",
    )


def linked(text: str, view: View) -> str:
    """Return the text with a link (OSC 8) on each path of a file that exists, if the terminal shows links. In
    VS Code they would open another program than the editor, which finds paths by itself."""
    return PATH.sub(_link, text) if view.links else text


def _link(found: re.Match[str]) -> str:
    path = Path(found[0]).expanduser()
    return f"\x1b]8;;{path.resolve().as_uri()}\x1b\\{found[0]}\x1b]8;;\x1b\\" if path.is_file() else found[0]


def error_text(kata: KataReport, path: Path) -> str:
    """Return why a file could not be graded; for a syntax error, with its line and a caret."""
    return "\n".join([harmless(kata.message, one_line=True), *_syntax_error(path)])


def _syntax_error(path: Path) -> list[str]:
    """Return the line of a file that is not valid Python, and a caret below the place; else nothing."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            ast.parse(path.read_text(encoding="utf-8-sig"))
    except SyntaxError as error:
        line, column = (error.text or "").rstrip("\n"), (error.offset or 0) - 1
        code = line.lstrip()
        shown, at = harmless(code, one_line=True)[: WIDEST - 10], column - len(line) + len(code)
        lead = f"  {error.lineno} │ "
        caret = [f"{'│':>{len(lead) - 1}} {'^':>{at + 1}}"] if 0 <= at <= len(shown) else []
        return [lead + shown, *caret] if code else []
    except (OSError, ValueError, RecursionError, MemoryError):
        return []
    return []


class Console:
    """Prints reports and progress while `grade` runs."""

    def __init__(self, output: ReportOutput, total: int, view: View) -> None:
        self.output, self.total, self.number = output, total, 0
        self.view = view
        self.live = output.is_live
        self.separates = view.detail not in ("brief", "snippet")  # whether an empty line follows a report
        self.prints_lines = "lines" in output.forms and output.output is None
        self.shows_progress = sys.stderr.isatty() and not self.prints_lines  # it would begin their lines

    def begin_round(self) -> None:
        """Print the line that tells an editor to clear the problems of the previous round."""
        if self.prints_lines:
            from grader.formats.lines import BEGINS

            click.echo(BEGINS)

    def start_kata(self, info: KataInfo) -> None:
        self.number += 1
        if self.shows_progress:
            click.echo(f"\r\x1b[K{self.number}/{self.total} {info.name} …", nl=False, err=True)

    def search(self, seconds: float, is_outdated: Callable[[], bool] = lambda: False) -> SearchOptions:
        """Return the options of a search that shows its progress on a terminal."""
        return SearchOptions(seconds, self._show_search, is_outdated)

    def _show_search(self, tried: int) -> None:
        if self.shows_progress and not tried % SHOWN_EVERY:
            click.echo(f"\r\x1b[Klooking for the place … {tried} changes tried", nl=False, err=True)

    def finish_kata(self, kata: KataReport, path: Path) -> None:
        if self.shows_progress:
            click.echo("\r\x1b[K", nl=False, err=True)
        if kata.status == "error":
            click.echo(linked(error_text(kata, path), self.view), err=True)
        elif self.live:
            text = terminal.render_kata(kata, self.view)
            if path.resolve() != Path(account.file_of(kata)).resolve() and self.separates:
                text += f"  graded      {harmless(str(path), one_line=True)}\n"
            text += "".join(f"  {harmless(line, one_line=True)}\n" for line in note_for(path))
            click.echo(linked(text, self.view), color=self.view.colour, nl=self.separates)

    def finish(self, report: Report) -> None:
        if self.live and len(report.katas) > 1:
            click.echo(terminal.render_summary(report, self.view), color=self.view.colour, nl=False)
        self.output.write(report, replace(self.view, colour=False))
