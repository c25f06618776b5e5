"""Grading outside of the notebook's kernel: run `grade` as a subprocess and read its report."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from pathlib import Path

from grader.course.catalog import CourseError, KataInfo
from grader.report import KataReport, ReportError, from_json


def grade_source(info: KataInfo, source: str, key: str = "", device: str = "cpu") -> KataReport:
    """Return the report of `grade` on this source. Raises CourseError with its message if it wrote none."""
    with tempfile.TemporaryDirectory(prefix="dojo-") as folder:
        file, report = Path(folder, f"{info.name}.py"), Path(folder, "report.json")
        file.write_text(source, encoding="utf-8")
        # -P keeps a numpy.py beside the notebook from being imported in place of NumPy
        command = [sys.executable, "-P", "-m", "grader.cli.grade", info.name, "--file", str(file)]
        options = ["--format", "json", "--output", str(report), "--device", device]
        options += ["--key", key] if key else []
        done = subprocess.run([*command, *options], capture_output=True, text=True, check=False)
        try:
            return from_json(json.loads(report.read_text(encoding="utf-8"))).katas[0]
        except (OSError, ValueError, IndexError, ReportError):
            raise CourseError(done.stderr.strip() or "`grade` has given no report.") from None
