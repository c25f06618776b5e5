"""The grader, opened once for all notebooks of an assignment: every answer gets a worker of its own."""

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

#: Grades the answer to a kata, or the lack of one, found in the notebook of that name.
Examiner = Callable[[KataInfo, str | None, str], KataReport]

_examiners: dict[object, Examiner] = {}


@dataclass(frozen=True)
class GradingTerms:
    """With which key, and how isolated, answers are graded."""

    key: str = ""
    isolation: str = "best"


def examiner(course: Course, infos: list[KataInfo], terms: GradingTerms) -> Examiner:
    """What grades these katas. Raises KeyUnusable, IsolationMissing and their like."""
    state = terms, course.root.resolve(), *_state(course, infos, terms)
    if state not in _examiners:
        _examiners[state] = _open(course, infos, terms)
    return _examiners[state]


def _open(course: Course, infos: list[KataInfo], terms: GradingTerms) -> Examiner:
    # A later server would be forked from a process that has read keys, and threads do not survive a fork.
    spawns = bool(_examiners) or threading.active_count() > 1
    key = Path(terms.key) if terms.key else None
    grader, source = open_grader(
        course, infos, isolation=terms.isolation, key=key, workers="spawn" if spawns else ""
    )
    atexit.register(source.close)

    def examine(info: KataInfo, answer: str | None, notebook: str) -> KataReport:
        def read() -> Submission:
            label = f"{notebook}{SUFFIX}"
            source = require_answer(answer, info.name, label)
            return parse(info, source, f"{label} (cell {info.name})")

        return grade_read(grader, info, read)

    return examine


def _state(course: Course, infos: list[KataInfo], terms: GradingTerms) -> list[tuple[str, int]]:
    """When the declarations and keys were last changed: a server of Jupyter's lives for weeks."""
    keys = Path(terms.key) if terms.key else course.root / FOLDER
    files = [info.path for info in infos] + (sorted(keys.glob("*")) if keys.is_dir() else [keys])
    return [(str(file), file.stat().st_mtime_ns) for file in files if file.is_file()]
