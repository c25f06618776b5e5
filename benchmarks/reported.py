"""Grade mistakes that people reported of published code (`reported.toml`): caught, named, located.

python benchmarks/reported.py [KATA ...]
"""

from __future__ import annotations

import sys
import tomllib
from collections import Counter
from contextlib import closing
from pathlib import Path
from typing import Any

from repair import changed_lines, measure

from grader.course.catalog import Course
from grader.grading.session import open_grader

ROOT = Path(__file__).resolve().parents[1]


def graded(course: Course, found: dict[str, Any]) -> tuple[str, str]:
    """Return what becomes of one mistake (missed, named, located, caught), and the name or line."""
    info = course.kata_info(found["kata"])
    reference = course.solution(info, "reference").read_text(encoding="utf-8")
    assert reference.count(found["was"]) == 1, found
    source = reference.replace(found["was"], found["now"])
    grader, workers = open_grader(course, [info])
    with closing(workers):
        measured = measure(grader, info, source, changed_lines(reference, source))
    if measured is None:
        return "missed", ""
    row, report = measured
    if report.mistake:
        return "named", report.mistake.id
    lines = [repair.place.line for repair in report.repairs if repair.place]
    lines += [check.place.line for check in report.checks if check.place]
    return ("located" if row.true else "caught"), ", ".join(f"line {line}" for line in lines[:1])


def main(names: list[str]) -> None:
    course = Course(ROOT)
    listed = tomllib.loads(Path(__file__).with_suffix(".toml").read_text(encoding="utf-8"))["mistake"]
    fates: Counter[str] = Counter()
    print("| kata | reported in | what | fate | name or place |\n|---|---|---|---|---|")
    for found in listed:
        if names and found["kata"] not in names:
            continue
        fate, told = graded(course, found)
        fates[fate] += 1
        print(
            f"| `{found['kata']}` | {', '.join(found['report'])} | {found['what']} | {fate} | {told} |",
            flush=True,
        )
    print("\n", ", ".join(f"{count} {fate}" for fate, count in fates.most_common()))


if __name__ == "__main__":
    main(sys.argv[1:])
