"""Write reports to standard output, a file, a folder, or the channels of a host.

A single format is printed, or written to `--output FILE`. Several formats, or a format with several files,
go into a folder, under the file names that the host expects. GitHub's channels are also written: annotations
to standard output, the summary to `$GITHUB_STEP_SUMMARY`, Classroom's result to `$GITHUB_OUTPUT`.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

import click

from grader.course.catalog import CourseError
from grader.errors import reason_of
from grader.formats import NAMES as FORMATS
from grader.formats import Document, documents, terminal
from grader.plugins import PluginFailed
from grader.report import Report
from grader.texts.escaping import in_markdown, one_line

SUMMARY_CHANNEL = "GITHUB_STEP_SUMMARY"
MOST_SUMMARY_LINES = 100


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
        why = " ".join(one_line(kata.message) for kata in report.katas if kata.unread)
        click.echo(f"`{form}` writes no {document.file}, where the points would be 0: {why}", err=True)
        if self.output is not None:
            with suppress(OSError):
                (self.output / document.file if self.into_folder else self.output).unlink()

    def _write_document(self, document: Document, text: str, *, is_main: bool) -> None:
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
    channel = os.environ.get(SUMMARY_CHANNEL, "")
    if channel and lines:
        text = "\n".join(f"- {in_markdown(line, 300)}" for line in lines[:MOST_SUMMARY_LINES])
        head = "## Files that judge are not as they came\n\nThe score below says less than it seems to.\n\n"
        _write(Path(channel), f"{head}{text}\n\n", append=True)


def _write(path: Path, text: str, *, append: bool = False) -> None:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("a" if append else "w", encoding="utf-8", newline="\n") as file:
            file.write(text)
    except OSError as error:
        raise CourseError(f"The report cannot be written to {path}: {reason_of(error)}.") from None
