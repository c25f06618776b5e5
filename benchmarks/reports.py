"""What a student reads of each mistake: lines at 80 columns, numbers, axes, and whether the shown call runs.

    python benchmarks/reports.py [--most N] [KATA ...]

Each mistake (at most N of a kata, spread over its file) is graded as a submission, and its report shown as in
the terminal. The numbers are those of the call and of the values below it; the axes are those of the largest
array among them. The call runs if its lines, as they stand in the report, end as the report says: with a
value, or with the exception that it names. Where they are too long for a report, it names the command that
prints code that runs. The longest reports come last, and the calls that do not run.
"""

from __future__ import annotations

import contextlib
import io
import re
import sys
import types
import warnings
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from unittest import mock

import numpy as np

from grader.answer_keys.answers import spread
from grader.course.catalog import Course
from grader.course.known_solutions import standalone_sources
from grader.course.submission import parse
from grader.formats import account, terminal
from grader.grading.grader import Grader
from grader.report import KataReport
from grader.texts.wrapping import code_lines
from grader.worker.fork_server import WorkerFactories

ROOT = Path(__file__).resolve().parents[1]
MOST_LISTED = 20  # reports that are listed by name
NUMBER = re.compile(r"(?<![\w.])-?\d+(?:\.\d*)?(?:e-?\d+)?(?![\w.])")


@dataclass
class Measured:
    """What one report shows."""

    kata: str
    mistake: str
    lines: int
    numbers: int
    axes: int
    runs: bool | None  # whether the call runs as it is printed; None if no call is shown
    is_said: bool  # whether the report says that the call is not whole, and what prints code that runs


def measured(report: KataReport, mistake: str, source: str) -> Measured:
    """Return what the report on a mistake shows."""
    lines = terminal.render_kata(report).splitlines()
    values = "\n".join(line for line in lines if line.startswith("    "))
    axes = max(map(len, re.findall(r"\[+", values)), default=0)
    check = account.told(report).check if account.wrong(report) else None
    runs, is_said = None, False
    if check and check.call and account.told(report).shows_call:
        printed = code_lines(check.call, terminal.DEFAULT.width, " " * 4)
        is_whole = "\n".join(printed) in "\n".join(lines)
        runs = is_whole and _runs(check.call, report.name, source, check.message)
        is_said = bool(check.snippet) and account.not_whole(check, report.name) in " ".join(
            line.removeprefix("    # ") for line in lines
        )
    return Measured(report.name, mistake, len(lines), len(NUMBER.findall(values)), axes, runs, is_said)


def _runs(call: str, kata: str, source: str, message: str) -> bool:
    """Return whether a call runs beside the submission, or raises what the message names."""
    submission = types.ModuleType(kata)
    with (
        mock.patch.dict(sys.modules, {kata: submission}),
        warnings.catch_warnings(),
        np.errstate(all="ignore"),
    ):
        warnings.simplefilter("ignore")
        with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
            try:
                exec(compile(source, f"{kata}.py", "exec"), submission.__dict__)
                exec(compile(call, "call", "exec"), {})
            except Exception as error:
                return type(error).__name__ in message
    return True


def main(arguments: list[str]) -> None:
    """Print a line for each kata, the longest reports and the medians."""
    most = 1_000
    if arguments[:1] == ["--most"]:
        most, arguments = int(arguments[1]), arguments[2:]
    course = Course(ROOT)
    infos = [course.kata_info(name) for name in arguments] or [*course.katas.values()]
    infos = [info for info in infos if info.kind.is_code]
    factories = WorkerFactories(sorted({info.library for info in infos}))
    grader, found = Grader(course, factories), list[Measured]()
    print("| kata | reports | lines | at most | numbers | axes | calls that run |")
    print("|---|---:|---:|---:|---:|---:|---:|", flush=True)
    for info in infos:
        sources = standalone_sources(course, info, "mistakes")
        rows = [
            measured(grader.grade(parse(info, sources[name], f"{name}.py")).report, name, sources[name])
            for name in spread(list(sources), most)
        ]
        found += rows
        print(f"| {info.name} {_summary(rows)}", flush=True)
    factories.close()
    print(f"| all {_summary(found)}\n")
    for row in sorted(found, key=lambda row: row.lines)[-MOST_LISTED:]:
        print(f"{row.lines:>4} lines {row.numbers:>4} numbers  {row.kata}: {row.mistake}")
    for row in found:
        if row.runs is False:
            print(f"{'by --snippet' if row.is_said else 'not at all':>16}  {row.kata}: {row.mistake}")


def _summary(rows: list[Measured]) -> str:
    shown = [row for row in rows if row.runs is not None]
    runs = f"{sum(bool(row.runs) for row in shown)} of {len(shown)}"
    others = [row for row in shown if not row.runs]
    runs += f", {sum(row.is_said for row in others)} of {len(others)} by `--snippet`" if others else ""
    lines, numbers, axes = zip(*[(row.lines, row.numbers, row.axes) for row in rows], strict=True)
    return f"| {len(rows)} | {median(lines):g} | {max(lines)} | {median(numbers):g} | {max(axes)} | {runs} |"


if __name__ == "__main__":
    main(sys.argv[1:])
