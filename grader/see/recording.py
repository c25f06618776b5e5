"""Record what the references give for the reply: `kata record-see` writes the file, `grade --see` reads it.

The recording is data and holds no code, so it can be part of what students get.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np

from grader.course.catalog import Course
from grader.course.loading import load_file
from grader.see import experiments
from grader.see.answers import KATAS, Answers
from grader.see.example import example_of
from grader.see.sections import Sections
from grader.worker.in_process import LocalStudent

FILE = Path(__file__).with_name("recording.json")
DECIMALS = 5


def read_recording() -> dict[str, Any]:
    """Return the recorded steps and norms, or nothing if there is no recording."""
    return dict(json.loads(FILE.read_text(encoding="utf-8"))) if FILE.is_file() else {}


def record(course: Course) -> dict[str, Any]:
    """Run the decoder on the reply with the references of the course, train the small models, and return
    what they gave."""
    answers = Answers(dict.fromkeys(KATAS, "yours"), reference_students(course))
    run = Sections(answers, {}, example_of())
    run.all()
    kept = {name: step.values for name, step in run.steps.items() if not name.startswith("compare/")}
    steps = {name: [_short(np.asarray(value)) for value in values] for name, values in kept.items()}
    return {"norms": experiments.train_norms(), "steps": steps}


def write_recording(course: Course) -> str:
    """Write the recording of a course and return what was written, as a sentence."""
    found = record(course)
    text = json.dumps(found, separators=(",", ":"))
    FILE.write_text(text.replace('],"', '],\n"') + "\n")  # a line for each step
    return f"{len(found['steps'])} steps are in {FILE.name}."


def reference_students(course: Course) -> dict[str, LocalStudent]:
    """Return the references of the course, each as a student in this process."""
    students = {}
    for name in KATAS:
        file = course.solution(course.katas[name], "reference")
        students[name] = LocalStudent(load_file(f"dojo_reference_{name}", file), file.name)
    return students


def _short(array: Any) -> Any:
    """Return an array as nested lists of few decimals."""
    if array.dtype.kind == "f":
        return np.round(array.astype("f8"), DECIMALS).tolist()
    return array.astype(int).tolist()
