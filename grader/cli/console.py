"""Print the reports of `grade` on standard output, and its progress on standard error."""

from __future__ import annotations

import os
import re
import shutil
import sys
from collections.abc import Callable, Collection, Iterable
from dataclasses import replace
from pathlib import Path

import click

from grader.cli.options import GradeOptions, columns
from grader.cli.output import ReportOutput
from grader.course.catalog import Course, KataInfo
from grader.course.files import from_here
from grader.course.renaming import note_for
from grader.diagnosis.search_options import SearchOptions
from grader.formats import account, terminal
from grader.formats.terminal import View
from grader.plugins import PARTS_GROUP, PartMissing, load
from grader.report import KataReport, Report
from grader.texts.escaping import harmless
from grader.texts.wrapping import paragraphs

SHOWN_EVERY = 20  # candidates of a search
BESIDE_REPORT = 2  # lines of a terminal: an empty one, and the prompt


def view_of(options: GradeOptions) -> View:
    """Return how reports are shown on this terminal, or in 80 columns without colour if it is none."""
    is_terminal = sys.stdout.isatty()
    return View(
        width=columns(),
        colour=is_terminal and "NO_COLOR" not in os.environ,
        ascii_only=options.ascii_only or "utf" not in (sys.stdout.encoding or "utf-8").lower(),
        detail=options.detail,
        shows_output=options.show_output,
        links=is_terminal and not options.ascii_only and os.environ.get("TERM_PROGRAM") != "vscode",
        lines=_lines() if is_terminal else terminal.FEWEST_LINES,
    )


def _lines() -> int:
    """Return how many lines of a report this terminal shows, within limits."""
    height = shutil.get_terminal_size().lines - BESIDE_REPORT
    return max(terminal.FEWEST_LINES, min(height, terminal.MOST_LINES))


def linked(text: str, view: View, files: Iterable[Path]) -> str:
    """Return the text with a link (OSC 8) on each path of these files, if the terminal shows links. Other
    paths in the text may be a submission's, and stay text. In VS Code a link would open another program than
    the editor, which finds paths by itself."""
    named = {name: file for file in files for name in (file.name, from_here(file), str(file))}
    if not (view.links and named):
        return text
    names = "|".join(map(re.escape, sorted(named, key=len, reverse=True)))

    def link(found: re.Match[str]) -> str:
        return f"\x1b]8;;{named[found[0]].absolute().as_uri()}\x1b\\{found[0]}\x1b]8;;\x1b\\"

    return re.sub(rf"(?<![\w./~-])(?:{names})(?![\w/])", link, text)


def error_text(kata: KataReport, width: int = 0) -> str:
    """Return why a file could not be graded; for a syntax error, with its line and a caret. The sentence is
    wrapped unless `width` is 0."""
    message = harmless(kata.message, one_line=True)
    shown = paragraphs(message, width) if width else message
    return "\n".join(filter(None, [shown, harmless(kata.excerpt)]))


def refusal_text(kata: KataReport, path: Path, width: int = 0) -> str:
    """Return why the file at `path` could not be graded; if it is missing, also the file that may be meant,
    or what brings it back."""
    if not os.path.lexists(path):
        back = f"grade again {kata.name} brings the stub back." if path.name == f"{kata.name}.py" else ""
        kata = replace(kata, message=f"{kata.message} {renamed_text(path) or back}".rstrip())
    return error_text(kata, width)


def renamed_text(path: Path) -> str:
    """Return which file beside a missing `NAME.py` may be meant: `NAME.py.txt`, as some editors save it, or
    `NAME (1).py`; "" if there is none."""
    try:
        names = sorted(os.listdir(path.parent))
    except OSError:
        return ""
    begins = re.compile(rf"{re.escape(path.stem)}(?![\w-]).*\.(py|txt)", re.IGNORECASE)
    like = next((name for name in names if name != path.name and begins.fullmatch(name)), "")
    return f"Beside it lies {harmless(like, one_line=True)}: name that file {path.name}." if like else ""


def report_text(kata: KataReport, path: Path, view: View, waits: str = "") -> str:
    """Return what is printed of a kata that was graded: its report, and what stands below it."""
    return terminal.render_kata(kata, view) + below_report(kata, path, view, waits)


def below_report(kata: KataReport, path: Path, view: View, waits: str = "") -> str:
    """Return what stands below a report: the file if it is not the usual one, which files come first
    (`waits`) if the kata waits for some, and whether its statement was corrected."""
    text, own = "", Path(account.file_of(replace(kata, file="")))
    if path.resolve() != own.resolve() and view.detail not in ("brief", "snippet"):
        text += f"  graded  {harmless(from_here(path), one_line=True)}\n"
    if kata.status == "waiting" and waits:
        text += f"{paragraphs(f'  {waits}', view.width)}\n"
    return text + note_text(path, view.width)


def note_text(path: Path, width: int) -> str:
    """Return the lines that tell of a corrected statement; "" if there is none."""
    lines = (harmless(line, one_line=True) for line in note_for(path))
    return "".join(f"{paragraphs(f'  {line}', width)}\n" for line in lines)


class Console:
    """Prints reports and progress while `grade` runs."""

    def __init__(self, output: ReportOutput, total: int, view: View) -> None:
        self.output, self.total, self.number = output, total, 0
        self.view = view
        self.live = output.is_live
        self.waits = ""  # which files to finish before the kata that is graded
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

    def show_verdict(self, kata: KataReport, path: Path, *, is_searched: bool = False) -> None:
        """Print the report of a kata, but for the place that is still searched and the next commands."""
        self._clear_progress()
        if kata.status == "error":
            width = self.view.width if sys.stderr.isatty() else 0
            click.echo(linked(refusal_text(kata, path, width), self.view, [path]), err=True)
        elif self.live:
            lines = self.view.lines - terminal.PLACE_LINES * is_searched
            view = replace(self.view, offers_commands=False, lines=lines)
            text = terminal.render_kata(kata, view)
            click.echo(linked(text, self.view, [path]), color=self.view.colour, nl=False)

    def finish_kata(self, verdict: KataReport, kata: KataReport, path: Path) -> None:
        """Print what was found since the verdict was shown, the next commands, and what stands below them."""
        self._clear_progress()
        if not self.live or kata.status == "error":
            return
        lines = []
        if self.separates:
            found = terminal.render_found(verdict, kata, self.view)
            lines += [found] if found else []
            lines += ["", *terminal.command_lines(kata, self.view)] if account.wrong(kata) else []
        text = "".join(f"{line}\n" for line in lines) + below_report(kata, path, self.view, self.waits)
        click.echo(linked(text, self.view, [path]), color=self.view.colour, nl=self.separates)

    def _clear_progress(self) -> None:
        if self.shows_progress:
            click.echo("\r\x1b[K", nl=False, err=True)

    def finish(self, report: Report) -> None:
        if self.live and len(report.katas) > 1:
            click.echo(terminal.render_summary(report, self.view), color=self.view.colour, nl=False)
        self.output.write(report, replace(self.view, colour=False))


def milestones(course: Course, name: str, passed: Collection[str]) -> list[str]:
    """Return what a kata that has passed for the first time lets one see, where what shows it is installed;
    `passed` are all katas that pass."""
    try:
        found: list[str] = load(PARTS_GROUP, "milestones", "what a pass lets one see")(course, name, passed)
    except PartMissing:
        return []
    return found
