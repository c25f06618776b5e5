"""One grader for all notebooks of an assignment, cached between calls; each answer gets its own worker."""

from __future__ import annotations

import atexit
import threading
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from grader.answer_keys.lookup import FOLDER
from grader.course.catalog import Course, KataInfo
from grader.course.notebook_cells import SUFFIX, require_answer
from grader.course.submission import Submission, parse
from grader.grading.startup import grade_read, open_grader
from grader.report import KataReport

#: Grades a kata's answer; arguments: the kata, the answer's source or None, the notebook's name.
CellGrader = Callable[[KataInfo, str | None, str], KataReport]

_graders: dict[object, CellGrader] = {}


@dataclass(frozen=True)
class GradingTerms:
    """The answer key and the isolation level of a grading."""

    key: str = ""
    isolation: str = "best"


def open_cell_grader(course: Course, infos: list[KataInfo], terms: GradingTerms) -> CellGrader:
    """Return the cached grader of these katas, or open one. Raises what `open_grader` raises."""
    state = terms, course.root.resolve(), *_modified_times(course, infos, terms)
    if state not in _graders:
        _graders[state] = _open(course, infos, terms)
    return _graders[state]


def _open(course: Course, infos: list[KataInfo], terms: GradingTerms) -> CellGrader:
    # Spawn workers if this process may hold an earlier grader's keys, or threads: a fork would inherit them.
    spawns = bool(_graders) or threading.active_count() > 1
    key = Path(terms.key) if terms.key else None
    grader, source = open_grader(
        course, infos, isolation=terms.isolation, key=key, workers="spawn" if spawns else ""
    )
    atexit.register(source.close)

    def grade_cell(info: KataInfo, answer: str | None, notebook: str) -> KataReport:
        def read() -> Submission:
            label = f"{notebook}{SUFFIX}"
            source = require_answer(answer, info.name, label)
            return parse(info, source, f"{label} (cell {info.name})")

        return grade_read(grader, info, read).report

    return grade_cell


def _modified_times(course: Course, infos: list[KataInfo], terms: GradingTerms) -> list[tuple[str, int]]:
    """Return when declarations and keys last changed, since a Jupyter server may run for weeks."""
    keys = Path(terms.key) if terms.key else course.root / FOLDER
    files = [info.path for info in infos] + (sorted(keys.glob("*")) if keys.is_dir() else [keys])
    return [(str(file), file.stat().st_mtime_ns) for file in files if file.is_file()]
