"""Scores as the learning platforms import them: one CSV for Canvas, one for Moodle."""

from __future__ import annotations

import csv
from typing import IO

from grader.classroom.student_reports import Graded
from grader.course.catalog import KataInfo
from grader.formats.escaping import one_line, points

CANVAS = ("Student", "ID", "SIS User ID", "SIS Login ID", "Section")
MOODLE = ("ID number", "Full name")
#: With these a spreadsheet takes a cell for a formula, and names come from whoever handed in.
FORMULA = ("=", "+", "-", "@")


class Canvas:
    """Canvas's own columns, then a column an assignment, as its gradebook exports and imports them."""

    file = "canvas.csv"

    def __init__(self, file: IO[str], infos: list[KataInfo]) -> None:
        self._rows = csv.writer(file)
        self._rows.writerow([*CANVAS, *(info.name for info in infos)])
        possible = [points(info.max_score) for info in infos]
        self._rows.writerow(["    Points Possible", *[""] * (len(CANVAS) - 1), *possible])

    def add(self, graded: Graded) -> None:
        who = graded.member
        told = [cell(who.name or who.id), who.platform_id, "", cell(who.id), cell(who.section)]
        self._rows.writerow([*told, *(points(kata.score) for kata in graded.report.katas)])


class Moodle:
    """Moodle asks at the import which column is which: who, then a column a kata, then their sum."""

    file = "moodle.csv"

    def __init__(self, file: IO[str], infos: list[KataInfo]) -> None:
        self._rows = csv.writer(file)
        self._rows.writerow([*MOODLE, *(info.name for info in infos), "Total"])

    def add(self, graded: Graded) -> None:
        told = [cell(graded.member.id), cell(graded.member.name)]
        scores = [points(kata.score) for kata in graded.report.katas]
        self._rows.writerow([*told, *scores, points(graded.report.score)])


def cell(text: str) -> str:
    """The text in one cell, and no formula."""
    shown = one_line(text)
    return f"'{shown}" if shown.startswith(FORMULA) else shown
