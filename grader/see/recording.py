"""Record what the references give: `kata record-see` writes the file, `grade --see` reads it.

The recording is data and holds no code, so it can be part of what students get.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import numpy as np

from grader.course.catalog import Course, CourseError, shorten
from grader.course.loading import load_file
from grader.see.answers import Answers, Functions
from grader.see.demonstration import Demonstration, Recording
from grader.see.tracing import Step
from grader.worker.in_process import LocalStudent

FILE = "recording.json"
DECIMALS = 5


def read_recording(demonstration: Demonstration) -> Recording:
    """Return what was recorded, or nothing if there is no recording. Raises CourseError if it is damaged."""
    try:
        return dict(json.loads(demonstration.own(FILE) or "{}"))
    except (ValueError, TypeError, RecursionError):
        file = demonstration.folder / FILE
        raise CourseError(f"{shorten(file)} is damaged: write it anew with `kata record-see`.") from None


def write_recording(course: Course, demonstration: Demonstration) -> str:
    """Write what the references of a course give and return what was written, as a sentence."""
    katas = demonstration.katas
    answers = Answers(katas, dict.fromkeys(katas, "yours"), reference_students(course, katas))
    found = demonstration.record(answers)
    text = json.dumps(found, separators=(",", ":"))
    lines = text.replace('],"', '],\n"') + "\n"  # a line for each step
    (demonstration.folder / FILE).write_text(lines, encoding="utf-8")
    return f"{len(found['steps'])} steps are in {FILE}."


def recorded(steps: Mapping[str, Step]) -> dict[str, list[Any]]:
    """Return the values of the steps by their names, as a tracer reads them."""
    return {name: [_short(np.asarray(value)) for value in step.values] for name, step in steps.items()}


def reference_students(course: Course, katas: Functions) -> dict[str, LocalStudent]:
    """Return the references of these katas, each as a student in this process."""
    students = {}
    for name in katas:
        file = course.solution(course.katas[name], "reference")
        students[name] = LocalStudent(load_file(f"dojo_reference_{name}", file), file.name)
    return students


def _short(array: Any) -> Any:
    """Return an array as nested lists of few decimals."""
    if array.dtype.kind == "f":
        return np.round(array.astype("f8"), DECIMALS).tolist()
    return array.astype(int).tolist()
