"""Katas that need others: while one of those does not pass, a kata waits for it and is not judged."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from grader.catalog import Card, Course
from grader.grading import Grader
from grader.kata import KataError
from grader.opening import grade_file, lacks_library, open_grader, read_answer
from grader.report import KataReport
from grader.submission import Refused
from grader.worker.server import Sources


def with_needs(course: Course, cards: list[Card]) -> list[Card]:
    """The cards, and those of all katas that they need, directly or not. Raises KataError where a need is
    unknown or leads back to its own kata."""
    found = {card.name: card for card in cards}
    for card in cards:
        _collect(course, card, (), found)
    return list(found.values())


def _collect(course: Course, card: Card, through: tuple[str, ...], found: dict[str, Card]) -> None:
    if card.name in through:
        circle = " needs ".join(f"`{name}`" for name in (*through[through.index(card.name) :], card.name))
        raise KataError(f"{circle}: nobody could begin; take one of these needs out.")
    for name in card.needs:
        if name not in found and name not in course.cards:
            raise KataError(f"`{card.name}` needs `{name}`, and there is no such kata.")
        needed = found.setdefault(name, course.card(name))
        _collect(course, needed, (*through, card.name), found)


def waiting(card: Card, unmet: list[str]) -> KataReport:
    """The report of a kata that is not judged while others do not pass."""
    message = f"Waiting for {' and '.join(f'`{name}`' for name in unmet)}, which must pass first."
    return card.unjudged("waiting", message)


class Needs:
    """Grades files in the light of each other. `file_of` says where the file of a needed kata lies."""

    def __init__(self, grader: Grader, file_of: Callable[[Card], Path]) -> None:
        self.grader, self.file_of = grader, file_of
        self._passed: dict[tuple[str, tuple[int, int]], bool] = {}

    def grade(self, card: Card, path: Path) -> KataReport:
        """The report of one file; `waiting` where it is begun and a kata that it needs does not pass."""
        unmet = self._unmet(card) if card.needs and _is_gradable(card, path) else []
        if unmet:
            return waiting(card, unmet)
        report = grade_file(self.grader, card, path)
        self._passed[card.name, _state(path)] = report.status == "passed"
        return report

    def _unmet(self, card: Card) -> list[str]:
        return [name for name in card.needs if not self._passes(self.grader.course.card(name))]

    def _passes(self, card: Card) -> bool:
        """Whether a needed kata passes as it lies there now; each state of its file is graded once."""
        path = self.file_of(card)
        known = self._passed.get((card.name, _state(path)))
        return self.grade(card, path).status == "passed" if known is None else known


def open_needs(course: Course, paths: list[tuple[Card, Path]], **terms: Any) -> tuple[Needs, Sources]:
    """A grader of these files, and the source of its workers, to be closed. A needed kata is looked for in
    the file that was given for it, else among the exercises. Raises what `open_grader` raises."""
    given = {card.name: path for card, path in paths}
    grader, source = open_grader(course, with_needs(course, [card for card, _ in paths]), **terms)
    return Needs(grader, lambda card: given.get(card.name, course.stub(card))), source


def _is_gradable(card: Card, path: Path) -> bool:
    try:
        return not lacks_library(card) and read_answer(card, path).begun
    except Refused:
        return False


def _state(path: Path) -> tuple[int, int]:
    try:
        found = path.stat()
    except OSError:
        return 0, 0
    return found.st_mtime_ns, found.st_size
