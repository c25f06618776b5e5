"""Where reports go: standard output, a file, a folder, and the channels that a host has for them.

One format without `--output` is printed. With `--output FILE` it is written there; several formats, or
one that makes several files, go into a folder, each file under the name that its host expects. What
GitHub reads from places of its own is put there besides: annotations on standard output, the summary in
`$GITHUB_STEP_SUMMARY`, Classroom's result in `$GITHUB_OUTPUT`.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path

import click

from grader.course.catalog import CourseError
from grader.formats import registry, terminal
from grader.report import Report

#: Files that a variable of the runner names; text is added to them, never put in place of what is there.
CHANNELS = {"summary.md": "GITHUB_STEP_SUMMARY", "classroom.txt": "GITHUB_OUTPUT"}
HOSTED = ("github", "classroom")


class ReportOutput:
    """The formats asked for, and where their files go. The terminal is one of the files only where it is
    the one format and has an `--output`."""

    def __init__(self, forms: tuple[str, ...], output: str | None) -> None:
        filed = [form for form in forms if form != "terminal"]
        #: Whether reports are shown in the terminal as they come.
        self.is_live = "terminal" in forms and (bool(filed) or output is None)
        self.forms = tuple(dict.fromkeys(filed if self.is_live else forms))
        self.output = Path(output) if output else None
        self._ends_like_a_folder = (output or "").endswith(("/", os.sep))
        self._require_sense()

    @property
    def into_folder(self) -> bool:
        """Whether `--output` is a folder: it is one already, it ends like one, or there are several files."""
        if self.output is None:
            return False
        several = len(self.forms) > 1 or any(len(registry.FILES[form]) > 1 for form in self.forms)
        return several or self.output.is_dir() or self._ends_like_a_folder

    def _require_sense(self) -> None:
        """Raises CourseError for formats that would be written over each other."""
        printed = [form for form in self.forms if form not in HOSTED]
        if self.output is None and len(printed) + (self.is_live and bool(printed)) > 1:
            raise CourseError("Several formats need a folder to go to: `--output FOLDER`.")
        files = [file for form in self.forms for file in registry.FILES[form]]
        twice = next((file for file in files if files.count(file) > 1), None)
        if self.into_folder and twice:
            clashing = " and ".join(form for form in self.forms if twice in registry.FILES[form])
            raise CourseError(f"{clashing} both write {twice}; give each an --output of its own.")
        self._require_writable()

    def _require_writable(self) -> None:
        """A report that cannot be written is refused before anything is graded."""
        if self.output is None:
            return
        wrong_file = not self.into_folder and not self.output.absolute().parent.is_dir()
        if wrong_file or (self.into_folder and self.output.exists() and not self.output.is_dir()):
            what = "no such folder" if wrong_file else "that is a file, and a folder is needed"
            raise CourseError(f"The report cannot be written to {self.output}: {what}.")

    def deliver(self, report: Report, shows_output: bool = False) -> None:
        """Write all files. Raises CourseError where one cannot be written."""
        for form in self.forms:
            if form == "terminal":
                self._place(form, "report.txt", terminal.render(report, shows_output=shows_output))
                continue
            documents = registry.documents(form, report, _setting())
            for file, text in documents.items():
                self._place(form, file, text)

    def _place(self, form: str, file: str, text: str) -> None:
        channel = os.environ.get(CHANNELS.get(file, ""), "")
        if channel:
            _write(Path(channel), text, adds=True)
        if self.output is not None:
            _write(self.output / file if self.into_folder else self.output, text)
        on_stdout = self.output is None and not channel and file == next(iter(registry.FILES[form]))
        if on_stdout or file == "annotations.txt":
            click.echo(text, nl=False)


def _setting() -> Mapping[str, str]:
    """What a host says of the submission; when it was handed in is now, where the host says nothing."""
    return {"DATETIME": datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ"), **os.environ}


def _write(path: Path, text: str, adds: bool = False) -> None:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("a" if adds else "w", encoding="utf-8", newline="\n") as file:
            file.write(text)
    except OSError as error:
        told = (error.strerror or "unknown error").lower()
        raise CourseError(f"The report cannot be written to {path}: {told}.") from None
