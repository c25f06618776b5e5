"""CSV files that Canvas and Moodle can import, and the list of what they leave blank.

A blank cell changes nothing when it is imported; a 0 takes points away. So what was not judged is blank.
"""

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


def score_cells(graded: StudentReport, absent: str) -> list[str]:
    """Return a cell per kata: its points, blank if it is unknown, `absent` if it was not handed in."""
    return [
        "" if kata.name in graded.unknown
        else absent if kata.status == "not_started"
        else points(kata.score)
        for kata in graded.report.katas
    ]  # fmt: skip


def total_cell(graded: StudentReport, cells: list[str]) -> str:
    """Return the points of all katas; blank if one is unknown, since the total would be too low."""
    return points(graded.report.score) if any(cells) and not graded.unknown else ""


class Canvas:
    """Canvas's columns, followed by one column per kata. `absent` is the cell of what was not handed in."""

    file = "canvas.csv"

    def __init__(self, file: IO[str], infos: list[KataInfo], absent: str) -> None:
        self._rows, self._absent = csv.writer(file), absent
        self._rows.writerow([*CANVAS, *(info.name for info in infos)])
        possible = [points(info.max_score) for info in infos]
        self._rows.writerow(["    Points Possible", *[""] * (len(CANVAS) - 1), *possible])

    def add(self, graded: StudentReport) -> None:
        who = graded.member
        told = [cell(who.name or who.id), who.platform_id, "", cell(who.id), cell(who.section)]
        self._rows.writerow([*told, *score_cells(graded, self._absent)])


class Moodle:
    """Id and name, one column per kata, and the total; Moodle asks for their meaning at the import."""

    file = "moodle.csv"

    def __init__(self, file: IO[str], infos: list[KataInfo], absent: str) -> None:
        self._rows, self._absent = csv.writer(file), absent
        self._rows.writerow([*MOODLE, *(info.name for info in infos), "Total"])

    def add(self, graded: StudentReport) -> None:
        told = [cell(graded.member.id), cell(graded.member.name)]
        scores = score_cells(graded, self._absent)
        self._rows.writerow([*told, *scores, total_cell(graded, scores)])


class ByHand:
    """What an instructor must look at, since the gradebooks leave it blank: a row a kata."""

    file = "by_hand.csv"

    def __init__(self, file: IO[str]) -> None:
        self._rows = csv.writer(file)
        self._rows.writerow(["Student", "Name", "Kata", "Why"])

    def add(self, graded: StudentReport) -> None:
        messages = {kata.name: kata.message for kata in graded.report.katas}
        for name in sorted(graded.unjudged):
            told = [cell(graded.member.id), cell(graded.member.name), name]
            self._rows.writerow([*told, cell(messages.get(name, ""))])
        if graded.unrecognised:
            why = f"Handed in, not recognised: {', '.join(graded.unrecognised)}"
            self._rows.writerow([cell(graded.member.id), cell(graded.member.name), "", cell(why)])


def cell(text: str) -> str:
    """Return the text on one line, quoted if a spreadsheet would evaluate it as a formula."""
    shown = one_line(text)
    return f"'{shown}" if shown.startswith(FORMULA) else shown
