"""CSV files that Canvas and Moodle can import."""

from __future__ import annotations

import csv
from typing import IO

from grader.classroom.student_reports import StudentReport
from grader.course.catalog import KataInfo
from grader.formats.escaping import one_line, points

CANVAS = ("Student", "ID", "SIS User ID", "SIS Login ID", "Section")
MOODLE = ("ID number", "Full name")
#: A spreadsheet evaluates a cell that begins with one of these, and students choose their names.
FORMULA = ("=", "+", "-", "@")


class Canvas:
    """Canvas's columns, followed by one column per kata."""

    file = "canvas.csv"

    def __init__(self, file: IO[str], infos: list[KataInfo]) -> None:
        self._rows = csv.writer(file)
        self._rows.writerow([*CANVAS, *(info.name for info in infos)])
        possible = [points(info.max_score) for info in infos]
        self._rows.writerow(["    Points Possible", *[""] * (len(CANVAS) - 1), *possible])

    def add(self, graded: StudentReport) -> None:
        who = graded.member
        told = [cell(who.name or who.id), who.platform_id, "", cell(who.id), cell(who.section)]
        self._rows.writerow([*told, *(points(kata.score) for kata in graded.report.katas)])


class Moodle:
    """Id and name, one column per kata, and the total; Moodle asks for their meaning at the import."""

    file = "moodle.csv"

    def __init__(self, file: IO[str], infos: list[KataInfo]) -> None:
        self._rows = csv.writer(file)
        self._rows.writerow([*MOODLE, *(info.name for info in infos), "Total"])

    def add(self, graded: StudentReport) -> None:
        told = [cell(graded.member.id), cell(graded.member.name)]
        scores = [points(kata.score) for kata in graded.report.katas]
        self._rows.writerow([*told, *scores, points(graded.report.score)])


def cell(text: str) -> str:
    """Return the text on one line, quoted if a spreadsheet would evaluate it as a formula."""
    shown = one_line(text)
    return f"'{shown}" if shown.startswith(FORMULA) else shown
