"""The grader, opened once for all notebooks of an assignment: every answer gets a worker of its own."""

from __future__ import annotations

import atexit
import threading
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from grader.catalog import Card, Course
from grader.cells import SUFFIX, require_answer
from grader.keyring import FOLDER
from grader.opening import grade_read, open_grader
from grader.report import KataReport
from grader.submission import Submission, parse

#: Grades the answer to a kata, or the lack of one, found in the notebook of that name.
Examiner = Callable[[Card, str | None, str], KataReport]

_examiners: dict[object, Examiner] = {}


@dataclass(frozen=True)
class Terms:
    """With which key, and how isolated, answers are graded."""

    key: str = ""
    isolation: str = "best"


def examiner(course: Course, cards: list[Card], terms: Terms) -> Examiner:
    """What grades these katas. Raises KeyUnusable, IsolationMissing and their like."""
    state = terms, course.root.resolve(), *_state(course, cards, terms)
    if state not in _examiners:
        _examiners[state] = _open(course, cards, terms)
    return _examiners[state]


def _open(course: Course, cards: list[Card], terms: Terms) -> Examiner:
    # A later server would be forked from a process that has read keys, and threads do not survive a fork.
    spawns = bool(_examiners) or threading.active_count() > 1
    key = Path(terms.key) if terms.key else None
    grader, source = open_grader(
        course, cards, isolation=terms.isolation, key=key, workers="spawn" if spawns else ""
    )
    atexit.register(source.close)

    def examine(card: Card, answer: str | None, notebook: str) -> KataReport:
        def read() -> Submission:
            label = f"{notebook}{SUFFIX}"
            source = require_answer(answer, card.name, label)
            return parse(card, source, f"{label} (cell {card.name})")

        return grade_read(grader, card, read)

    return examine


def _state(course: Course, cards: list[Card], terms: Terms) -> list[tuple[str, int]]:
    """When the declarations and keys were last changed: a server of Jupyter's lives for weeks."""
    keys = Path(terms.key) if terms.key else course.root / FOLDER
    files = [card.path for card in cards] + (sorted(keys.glob("*")) if keys.is_dir() else [keys])
    return [(str(file), file.stat().st_mtime_ns) for file in files if file.is_file()]
