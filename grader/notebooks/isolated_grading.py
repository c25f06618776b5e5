"""Grading outside of the notebook's kernel: run `grade` as a subprocess and read what it wrote."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

from grader.course.catalog import Course, CourseError, KataInfo
from grader.report import KataReport, ReportError, from_json


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
    """Return the page and the text of `grade --see` on the files of the course, with these sources in place
    of those of their katas. Raises CourseError with its message if it wrote none."""
    with tempfile.TemporaryDirectory(prefix="dojo-") as folder:
        exercises, page = Path(folder, "exercises"), Path(folder, "see.html")
        shutil.copytree(course.exercises, exercises)
        for name, source in sources.items():
            (exercises / course.kata_info(name).track / f"{name}.py").write_text(source, encoding="utf-8")
        options = ["--course", str(course.root), "--exercises", str(exercises), "--out", str(page)]
        done = _grade("--see", "--text", *options, "--", *sections)
        if done.returncode or not page.is_file():
            raise CourseError(done.stderr.strip() or "`grade --see` has written no page.")
        return page.read_text(encoding="utf-8"), done.stdout


def _grade(*arguments: str) -> subprocess.CompletedProcess[str]:
    # -P keeps a numpy.py beside the notebook from being imported in place of NumPy
    command = [sys.executable, "-P", "-m", "grader.cli.grade", *arguments]
    return subprocess.run(
        command, capture_output=True, text=True, encoding="utf-8", errors="replace", check=False
    )
