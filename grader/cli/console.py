"""The terminal output of `grade`: reports on standard output, progress on standard error.

Write reports to standard output, a file, a folder, or the channels of a host.

A single format is printed, or written to `--output FILE`. Several formats, or a format with several files,
go into a folder, under the file names that the host expects. GitHub's channels are also written: annotations
to standard output, the summary to `$GITHUB_STEP_SUMMARY`, Classroom's result to `$GITHUB_OUTPUT`.

Notice saved files by their times and sizes, which works on every file system.

Show how far a student is: the list of all katas, the bar, the welcome.
"""

from __future__ import annotations

import os
import re
import sys
import threading
import time
from collections.abc import Callable, Collection, Iterable, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import click

from grader.cli.options import GradeOptions, columns
from grader.course.catalog import Course, CourseError, KataInfo
from grader.course.files import from_here
from grader.course.renaming import note_for
from grader.course.torch_words import NAMES
from grader.diagnosis.search_options import SearchOptions
from grader.errors import reason_of
from grader.formats import NAMES as FORMATS
from grader.formats import Document, account, documents, terminal
from grader.formats.account import in_markdown, one_line, paragraphs, words
from grader.formats.terminal import View
from grader.grading.standings import Standing, listed, matches, standings
from grader.plugins import PARTS_GROUP, PartMissing, PluginFailed, load
from grader.report import KataReport, Report
from grader.report_texts import harmless

MARKS = {"passed": "✓", "begun": "▸", "": "·"}
LEGEND = ("· not started", "▸ begun", "✓ passed")
AGAIN, NO_FILE = "↻", "!"
WIDTH = 80  # characters of a line
LEAST = 24  # characters for a title beside its kata; with less room it goes below
EFFORT = 13  # characters of a kata's difficulty and minutes
BAR = 10  # characters


def kata_list(course: Course, part: str = "", width: int = WIDTH, track: str = "") -> str:
    """Return the katas whose name, track or title contains `part` as text, in course order, with a sign for
    begun and passed, and the score; with `track` those of this one alone."""
    found = [one for one in standings(course) if matches(one.info, part) and track in ("", one.info.track)]
    name_width = max((len(one.info.name) + 2 for one in found), default=0)
    wide = max((len(one.score) + 2 for one in found if one.score), default=0)
    lines, last = [], ""
    for one in found:
        if one.info.track != last:
            last = one.info.track
            lines += ["", f"  {last}"]
        name = f"{_sign(course, one)} {one.info.name:<{name_width}}"
        lead = f"  {name}{one.score:<{wide}}{_effort(course, one.info)}"
        waits = f" (first {listed(one.info.needs)})" if one.info.needs and not one.has_passed else ""
        lines += _titled(lead, one.info.marked_title + _library(one) + waits, width)
    signs = [_sign(course, one) for one in found]
    further = {
        f"{AGAIN} passed before, in practice": AGAIN in signs,
        f"{NO_FILE} no file": NO_FILE in signs,
        "• easy  ••• hard": bool(course.syllabus.katas),
        "* changed since": any(one.score.endswith("*") for one in found),
    }
    legend = [*LEGEND, *(text for text, is_shown in further.items() if is_shown)]
    return "\n".join([*lines[1:], "", _signs(legend, width)]) + "\n"


def _library(one: Standing) -> str:
    """Return the library in which a kata was answered, if it is not its own."""
    name = NAMES.get(one.state.library, "") if one.mark else ""
    return f" (in {name})" if name else ""


def _sign(course: Course, one: Standing) -> str:
    """Return the sign of a kata in the list."""
    if not os.path.lexists(course.stub(one.info)):
        return NO_FILE
    return AGAIN if one.state.has_passed and one.mark != "passed" else MARKS[one.mark]


def _titled(lead: str, title: str, width: int) -> list[str]:
    """Return a kata's line with its title, which goes on below if there is little room."""
    room = width - len(lead)
    if room >= min(LEAST, len(title)) and room >= max(map(len, title.split())):
        return words(title, width, lead, " " * len(lead))
    return [lead.rstrip(), *words(title, width, " " * 6)]


def _signs(legend: list[str], width: int) -> str:
    """Return what the signs mean, each of them on one line."""
    whole = "   ".join(legend).replace(" ", "\xa0").replace("\xa0" * 3, "   ")
    return "\n".join(words(whole, width, "  ")).replace("\xa0", " ")


def _effort(course: Course, info: KataInfo) -> str:
    """Return a kata's difficulty and minutes in columns; empty in a course that names no efforts."""
    effort = course.syllabus.katas.get(info.name)
    if not effort:
        return " " * EFFORT if course.syllabus.katas else ""
    return f"{'•' * effort.difficulty:<3} {effort.minutes:>3} min  "


def bar(found: list[Standing], ascii_only: bool = False) -> str:
    """Return how many katas pass, in all and in each track that is begun."""
    passed = sum(one.has_passed for one in found)
    full = BAR * passed // max(len(found), 1)
    signs = "#-" if ascii_only else "▓░"
    tracks = dict.fromkeys(one.info.track for one in found if one.mark)
    parts = [signs[0] * full + signs[1] * (BAR - full) + f" {passed}/{len(found)}"]
    for track in tracks:
        passes = [one.has_passed for one in found if one.info.track == track]
        parts.append(f"{track} {sum(passes)}/{len(passes)}")
    return "   ".join(parts)


def welcome(course: Course, first: KataInfo, how: str = "", width: int = WIDTH) -> str:
    """Return the welcome text: the list of katas, of a long course those of the first track, the file to open
    first and `how` it is graded."""
    greeting = f"Welcome to {course.syllabus.title}. {course.syllabus.about}".rstrip()
    how = how or f"Then run:  grade {first.name}      stuck?  grade hint {first.name}"
    begin = f"Start with {from_here(course.stub(first))}: its docstring is the statement.\n{how}\n"
    track = first.track if len(course.katas) > MOST_LISTED else ""
    listed = kata_list(course, width=width, track=track)
    others = [info.track for info in course.katas.values() if info.track != track]
    if track and others:
        tracks = len(set(others))
        listed += f"  {len(others)} more in {tracks} tracks: grade list\n"
    return f"{paragraphs(greeting, width)}\n\n{listed}\n{paragraphs(begin, width)}"


MOST_LISTED = 24  # katas of a course that the welcome lists
POLL_SECONDS = 0.01  # between two looks at the files; one look takes 0.2 ms
LOOK_SECONDS = 0.25  # between two looks for files that are missing
GONE_SECONDS = 0.5  # an editor that writes a new file and renames it takes less
PAUSE = 0.01  # seconds between two looks while files are being saved

Version = tuple[int, int, int]


class SavedFiles:
    """Notices which of these files were saved. A file that does not exist at the moment is not saved yet:
    many editors write a new file and rename it."""

    def __init__(self, paths: Iterable[Path]) -> None:
        self._paths = tuple(paths)
        self._known = self._versions()
        self._missing: dict[Path, float] = {}  # since when
        self._told: set[Path] = set()
        self._looked = time.monotonic()

    @property
    def is_pending(self) -> bool:
        """True if a file was saved since the last call of `take`."""
        return bool(self._news())

    def take(self) -> list[Path]:
        """Return the files that were saved since the last call. A burst of saves is one save: they are
        returned when no more follow."""
        news = self._news()
        while news:
            time.sleep(PAUSE)
            before, news = news, self._news()
            if news == before:
                break
        self._known |= news
        return list(news)

    def take_missing(self) -> list[Path]:
        """Return the files that do not exist for a while now, each of them once."""
        now = time.monotonic()
        if now - self._looked < LOOK_SECONDS:
            return []
        self._looked, there = now, self._versions()
        self._missing = {path: self._missing.get(path, now) for path in self._paths if path not in there}
        gone = {path for path, since in self._missing.items() if now - since >= GONE_SECONDS}
        news, self._told = gone - self._told, gone
        for path in news:
            self._known.pop(path, None)  # so that the same file is noticed when it is back
        return [path for path in self._paths if path in news]

    def _news(self) -> dict[Path, Version]:
        return {path: now for path, now in self._versions().items() if self._known.get(path) != now}

    def _versions(self) -> dict[Path, Version]:
        return {path: found for path in self._paths if (found := _version(path))}


def _version(path: Path) -> Version | None:
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_mtime_ns, found.st_size, found.st_ino


SUMMARY = "GITHUB_STEP_SUMMARY"
MOST_LINES = 100


class ReportOutput:
    """The requested formats and their destinations.

    The terminal format is written to a file only if it is the only format and `--output` is given.
    """

    def __init__(self, forms: tuple[str, ...], output: str | None) -> None:
        file_formats = [form for form in forms if form != "terminal"]
        #: Whether each report is printed as soon as its kata is graded.
        self.is_live = "terminal" in forms and (bool(file_formats) or output is None)
        self.forms = tuple(dict.fromkeys(file_formats if self.is_live else forms))
        self.output = Path(output) if output else None
        self._ends_like_a_folder = (output or "").endswith(("/", os.sep))
        self._require_valid()

    @property
    def into_folder(self) -> bool:
        """Whether `--output` is a folder: it exists as one, ends with a slash, or receives several files."""
        if self.output is None:
            return False
        several = len(self.forms) > 1 or any(len(documents(form)) > 1 for form in self.forms)
        return several or self.output.is_dir() or self._ends_like_a_folder

    def _require_valid(self) -> None:
        """Raise CourseError if formats would overwrite each other or the output cannot be written."""
        printed = [form for form in self.forms if not _has_channel(form)]
        if self.output is None and len(printed) + (self.is_live and bool(printed)) > 1:
            raise CourseError("Several formats need a folder to go to: `--output FOLDER`.")
        files = [document.file for form in self.forms for document in documents(form)]
        repeated = next((file for file in files if files.count(file) > 1), None)
        if self.into_folder and repeated:
            clashing = " and ".join(
                form for form in self.forms if repeated in [document.file for document in documents(form)]
            )
            raise CourseError(f"{clashing} both write {repeated}; give each an --output of its own.")
        self._require_writable()

    def _require_writable(self) -> None:
        """Raise CourseError, before anything is graded, if the report could not be written."""
        if self.output is None:
            return
        wrong_file = not self.into_folder and not self.output.absolute().parent.is_dir()
        if wrong_file or (self.into_folder and self.output.exists() and not self.output.is_dir()):
            what = "no such folder" if wrong_file else "that is a file, and a folder is needed"
            raise CourseError(f"The report cannot be written to {self.output}: {what}.")

    def write(self, report: Report, view: terminal.View = terminal.DEFAULT) -> None:
        """Write the report in every requested format; `view` is for the terminal's. Raises CourseError, and
        PluginFailed at the end if a format of another package has raised an error."""
        failed = None
        for form in self.forms:
            for number, document in enumerate(documents(form)):
                try:
                    text = terminal.render(report, view) if form == "terminal" else document.render(report)
                except Exception as error:
                    if form in FORMATS:
                        raise
                    failed = PluginFailed(f"The format `{form}` has failed; points and other reports stand.")
                    failed.__cause__ = error
                    break
                if text is None:
                    self._leave_out(form, document, report)
                else:
                    self._write_document(document, text, is_main=number == 0)
        if failed:
            raise failed

    def _leave_out(self, form: str, document: Document, report: Report) -> None:
        """Say why a document is not written, and delete the one of a run before."""
        why = " ".join(account.one_line(kata.message) for kata in report.katas if kata.unread)
        click.echo(f"`{form}` writes no {document.file}, where the points would be 0: {why}", err=True)
        if self.output is not None:
            with suppress(OSError):
                (self.output / document.file if self.into_folder else self.output).unlink()

    def _write_document(self, document: Document, text: str, is_main: bool) -> None:
        channel = os.environ.get(document.channel, "") if document.channel else ""
        if channel:
            _write(Path(channel), text, append=True)
        if self.output is not None:
            _write(self.output / document.file if self.into_folder else self.output, text)
        if document.is_printed or (is_main and self.output is None and not channel):
            click.echo(text, nl=False)


def _has_channel(form: str) -> bool:
    """Return whether the format's host reads a file or lines of its own."""
    return any(document.channel or document.is_printed for document in documents(form))


def append_to_summary(lines: Sequence[str]) -> None:
    """Say in the job summary of a workflow that these files, which judge, are not as they came."""
    channel = os.environ.get(SUMMARY, "")
    if channel and lines:
        text = "\n".join(f"- {in_markdown(line, 300)}" for line in lines[:MOST_LINES])
        head = "## Files that judge are not as they came\n\nThe score below says less than it seems to.\n\n"
        _write(Path(channel), f"{head}{text}\n\n", append=True)


def _write(path: Path, text: str, append: bool = False) -> None:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("a" if append else "w", encoding="utf-8", newline="\n") as file:
            file.write(text)
    except OSError as error:
        raise CourseError(f"The report cannot be written to {path}: {reason_of(error)}.") from None


SHOWN_EVERY = 20  # candidates of a search
SHOWN_SECONDS = 0.3  # between two states of a progress line
LONG_SECONDS = 6.0  # of one check, until the key that stops it is shown
LEAST_SHOWN = 12  # characters of what is done


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
    )


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
    """Return why the file at `path` could not be graded; if it is missing, also what brings it back."""
    if path.name == f"{kata.name}.py" and not os.path.lexists(path):
        kata = replace(kata, message=f"{kata.message} grade again {kata.name} brings the stub back.")
    return error_text(kata, width)


def report_text(kata: KataReport, path: Path, view: View, waits: str = "") -> str:
    """Return what is printed of a kata that was graded: its report, the file if it is not the usual one,
    which files come first (`waits`) if it waits for some, and whether its statement was corrected."""
    text = terminal.render_kata(kata, view)
    own = Path(account.file_of(replace(kata, file="")))
    if path.resolve() != own.resolve() and view.detail not in ("brief", "snippet"):
        text += f"  graded  {harmless(from_here(path), one_line=True)}\n"
    if kata.status == "waiting" and waits:
        text += f"{paragraphs(f'  {waits}', view.width)}\n"
    return text + note_text(path, view.width)


def note_text(path: Path, width: int) -> str:
    """Return the lines that tell of a corrected statement; "" if there is none."""
    lines = (harmless(line, one_line=True) for line in note_for(path))
    return "".join(f"{paragraphs(f'  {line}', width)}\n" for line in lines)


class Progress:
    """Shows on a terminal which kata and check are judged, and since when, while the context is open. After a
    while of the same check it names the key that `stops` it."""

    def __init__(self, name: str, doing: Callable[[], str], width: int, stops: bool = True) -> None:
        self._name, self._doing, self._width, self._stops = name, doing, width, stops
        self._began = self._since = time.monotonic()
        self._last, self._ends = "", threading.Event()
        self._thread = threading.Thread(target=self._show, daemon=True)

    def __enter__(self) -> Progress:
        if sys.stdout.isatty():
            self._print()
            self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ends.set()
        if self._thread.ident is not None:
            self._thread.join()
            click.echo("\r\x1b[K", nl=False, color=True)

    def _show(self) -> None:
        while not self._ends.wait(SHOWN_SECONDS):
            self._print()

    def _print(self) -> None:
        now, doing = time.monotonic(), self._doing()
        if doing != self._last:
            self._last, self._since = doing, now
        same = now - self._since if self._stops else 0.0
        text = progress_line(self._name, doing, now - self._began, same, self._width)
        click.echo(f"\r\x1b[K{text}", nl=False, color=True)


def progress_line(name: str, doing: str, seconds: float, same: float, width: int) -> str:
    """Return which kata is judged since when, and which check; after a while of the same, which key ends it.
    Some terminals begin a new line behind the last column, so that stays free."""
    is_long = same >= LONG_SECONDS
    since = f" {seconds:.0f} s" if seconds >= 1 else ""
    lead = f"{name} …{since}{' An endless loop? Esc stops it.' if is_long else ''}"
    room = width - len(lead) - 2
    return f"{lead} {one_line(doing, room)}" if doing and room > LEAST_SHOWN else lead[: width - 1]


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

    def finish_kata(self, kata: KataReport, path: Path) -> None:
        if self.shows_progress:
            click.echo("\r\x1b[K", nl=False, err=True)
        if kata.status == "error":
            width = self.view.width if sys.stderr.isatty() else 0
            click.echo(linked(refusal_text(kata, path, width), self.view, [path]), err=True)
        elif self.live:
            text = report_text(kata, path, self.view, self.waits)
            click.echo(linked(text, self.view, [path]), color=self.view.colour, nl=self.separates)

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
