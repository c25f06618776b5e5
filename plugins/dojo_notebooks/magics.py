"""The magics `%%kata`, `%grade`, `%hint` and `%see` of a notebook.

Grading runs `grade` in another process, so code in the kernel cannot change the report.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

from IPython.core.error import UsageError
from IPython.core.magic import Magics, cell_magic, line_magic, magics_class
from IPython.core.magic_arguments import argument, magic_arguments, parse_argstring
from IPython.display import display

from dojo_notebooks.results import frame_bundle, mime_bundle, score_of
from grader.course.catalog import Course, CourseError, KataInfo, open_course
from grader.kata import KataError
from grader.reading.cells import is_stub, without_magics
from grader.report import KataReport, ReportError, from_json

Result = TypeVar("Result")


class CellFailed(Exception):
    """Raised if the cell below `%%kata` failed; it shows nothing, since IPython has shown the traceback."""

    def _render_traceback_(self) -> list[str]:
        return []


@magics_class
class KataMagics(Magics):
    """The magics, and the source of each kata's cell when it was last run."""

    def __init__(self, shell: Any) -> None:
        super().__init__(shell)
        self.shell: Any = shell
        self.sources: dict[str, str] = {}  # by kata; the last one is that of the cell run last

    @cell_magic
    def kata(self, line: str, cell: str) -> None:
        """%%kata NAME: run the cell and save its source as the answer to that kata."""
        info = _or_usage_error(lambda: _course().kata_info(line.strip()))
        source = "\n" + cell
        code = without_magics(source)
        before = self.sources.pop(info.name, code)
        self.sources[info.name] = before if is_stub(code) else code  # as autograding chooses
        if not self.shell.run_cell(source).success:
            raise CellFailed

    @magic_arguments()
    @argument("name", nargs="?", default="", help="the kata; by default that of the cell run last")
    @argument("--score", action="store_true", help="give the score back, as nbgrader reads it")
    @argument("--key", default="", help="grade with this answer key, file or folder")
    @argument("--device", default="cpu", help="cpu or cuda")
    @line_magic
    def grade(self, line: str) -> float | None:
        """%grade [NAME]: grade the kata's cell, and show the report."""
        arguments = parse_argstring(self.grade, line)
        name = arguments.name or next(reversed(self.sources), "")
        if not name:
            raise UsageError("Run a cell that begins with %%kata and the name of a kata first.")
        info = _or_usage_error(lambda: _course().kata_info(name))
        kata = _or_usage_error(lambda: self._grade(info, arguments.key, arguments.device))
        display(mime_bundle(kata), raw=True)
        return score_of(kata) if arguments.score else None

    def _grade(self, info: KataInfo, key: str, device: str) -> KataReport:
        source = self.sources.get(info.name)
        if source is None:
            message = f"Run the cell that begins with %%kata {info.name} first."
            return info.unjudged("not_started", message)
        return grade_source(info, source, key, device)

    @line_magic
    def see(self, line: str) -> None:
        """%see [SECTION …]: show the functions of the cells at work, or some sections of it."""
        course = _or_usage_error(_course)
        page, text = _or_usage_error(lambda: see_sources(course, self.sources, line.split()))
        display(frame_bundle(page, text), raw=True)

    @line_magic
    def hint(self, line: str) -> None:
        """%hint NAME: print the next hint for a kata."""
        from grader.course.hints import next_hint

        course = _or_usage_error(_course)
        info = _or_usage_error(lambda: course.kata_info(line.strip()))
        print(next_hint(course, info, again="%hint"))


def _course() -> Course:
    return open_course(None)


def _or_usage_error(function: Callable[[], Result]) -> Result:
    """Call the function; turn errors in the user's input into UsageError, which has no traceback."""
    try:
        return function()
    except (CourseError, KataError) as error:
        raise UsageError(str(error)) from None


def load(shell: Any) -> None:
    """Register the magics with IPython; a second call keeps the sources that were saved."""
    if not isinstance(shell.magics_manager.registry.get("KataMagics"), KataMagics):
        shell.register_magics(KataMagics)


def grade_source(info: KataInfo, source: str, key: str = "", device: str = "cpu") -> KataReport:
    """Return the report of `grade` on this source. Raises CourseError with its message if it wrote none."""
    with tempfile.TemporaryDirectory(prefix="dojo-") as folder:
        file, report = Path(folder, f"{info.name}.py"), Path(folder, "report.json")
        file.write_text(source, encoding="utf-8")
        options = ["--format", "json", "--output", str(report), "--device", device]
        options += ["--key", key] if key else []
        done = _grade(info.name, "--file", str(file), *options)
        try:
            return from_json(json.loads(report.read_text(encoding="utf-8"))).katas[0]
        except (OSError, ValueError, IndexError, ReportError):
            raise CourseError(done.stderr.strip() or "`grade` has given no report.") from None


def see_sources(course: Course, sources: Mapping[str, str], sections: Sequence[str]) -> tuple[str, str]:
    """Return the page and the text of `grade see` on the files of the course, with these sources in place
    of those of their katas. Raises CourseError with its message if it wrote none."""
    with tempfile.TemporaryDirectory(prefix="dojo-") as folder:
        exercises, page = Path(folder, "exercises"), Path(folder, "see.html")
        shutil.copytree(course.exercises, exercises)
        for name, source in sources.items():
            (exercises / course.kata_info(name).track / f"{name}.py").write_text(source, encoding="utf-8")
        options = ["--course", str(course.root), "--exercises", str(exercises), "--out", str(page)]
        done = _grade("--see", "--text", *options, "--", *sections)
        if done.returncode or not page.is_file():
            raise CourseError(done.stderr.strip() or "`grade see` has written no page.")
        return page.read_text(encoding="utf-8"), done.stdout


def _grade(*arguments: str) -> subprocess.CompletedProcess[str]:
    # -P keeps a numpy.py beside the notebook from being imported in place of NumPy
    command = [sys.executable, "-P", "-m", "grader.cli.grade", *arguments]
    return subprocess.run(
        command, capture_output=True, text=True, encoding="utf-8", errors="replace", check=False
    )
