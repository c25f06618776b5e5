"""Write reports to standard output, a file, a folder, or the channels of a host.

A single format is printed, or written to `--output FILE`. Several formats, or a format with several files,
go into a folder, under the file names that the host expects. GitHub's channels are also written: annotations
to standard output, the summary to `$GITHUB_STEP_SUMMARY`, Classroom's result to `$GITHUB_OUTPUT`.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path

import click

from grader.course.catalog import CourseError
from grader.formats import registry, terminal
from grader.formats.escaping import in_markdown
from grader.report import Report

#: Environment variables that name a file of the runner; text is appended to these files.
CHANNELS = {"summary.md": "GITHUB_STEP_SUMMARY", "classroom.txt": "GITHUB_OUTPUT"}
HOSTED = ("github", "classroom")
MOST_LINES = 100


class ReportOutput:
    """The requested formats and their destinations.

    The terminal format is written to a file only if it is the only format and `--output` is given.
    """

    def __init__(self, forms: tuple[str, ...], output: str | None, notes: Sequence[str] = ()) -> None:
        self._notes = notes
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
        several = len(self.forms) > 1 or any(len(registry.FILES[form]) > 1 for form in self.forms)
        return several or self.output.is_dir() or self._ends_like_a_folder

    def _require_valid(self) -> None:
        """Raise CourseError if formats would overwrite each other or the output cannot be written."""
        printed = [form for form in self.forms if form not in HOSTED]
        if self.output is None and len(printed) + (self.is_live and bool(printed)) > 1:
            raise CourseError("Several formats need a folder to go to: `--output FOLDER`.")
        files = [file for form in self.forms for file in registry.FILES[form]]
        repeated = next((file for file in files if files.count(file) > 1), None)
        if self.into_folder and repeated:
            clashing = " and ".join(form for form in self.forms if repeated in registry.FILES[form])
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

    def write(self, report: Report, shows_output: bool = False) -> None:
        """Write all files. Raises CourseError if one cannot be written."""
        for form in self.forms:
            if form == "terminal":
                self._write_document(form, "report.txt", terminal.render(report, shows_output=shows_output))
                continue
            documents = registry.documents(form, report, _environment(), self._notes)
            for file, text in documents.items():
                self._write_document(form, file, text)

    def _write_document(self, form: str, file: str, text: str) -> None:
        channel = os.environ.get(CHANNELS.get(file, ""), "")
        if channel:
            _write(Path(channel), text, append=True)
        if self.output is not None:
            _write(self.output / file if self.into_folder else self.output, text)
        on_stdout = self.output is None and not channel and file == next(iter(registry.FILES[form]))
        if on_stdout or file == "annotations.txt":
            click.echo(text, nl=False)


def append_to_summary(lines: Sequence[str]) -> None:
    """Say in the job summary of a workflow that these files, which judge, are not as they came."""
    channel = os.environ.get(CHANNELS["summary.md"], "")
    if channel and lines:
        told = "\n".join(f"- {in_markdown(line, 300)}" for line in lines[:MOST_LINES])
        head = "## Files that judge are not as they came\n\nThe score below says less than it seems to.\n\n"
        _write(Path(channel), f"{head}{told}\n\n", append=True)


def _environment() -> Mapping[str, str]:
    """Return the environment variables; DATETIME, the time of submission, defaults to now."""
    return {"DATETIME": datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ"), **os.environ}


def _write(path: Path, text: str, append: bool = False) -> None:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("a" if append else "w", encoding="utf-8", newline="\n") as file:
            file.write(text)
    except OSError as error:
        told = (error.strerror or "unknown error").lower()
        raise CourseError(f"The report cannot be written to {path}: {told}.") from None
