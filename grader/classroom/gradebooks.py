"""CSV files that Canvas and Moodle can import, and the list of what they leave blank.

A blank cell changes nothing when it is imported; a 0 takes points away. So what was not judged is blank.
"""

from __future__ import annotations

import csv
from collections.abc import Mapping
from typing import IO

from grader.classroom.roster import CANVAS as CANVAS_EXPORT
from grader.classroom.roster import MOODLE as MOODLE_EXPORT
from grader.classroom.roster import Roster
from grader.classroom.student_reports import StudentReport
from grader.course.catalog import KataInfo
from grader.formats.escaping import one_line, points

CANVAS = ("Student", "ID", "SIS User ID", "SIS Login ID", "Section")
MOODLE = (
    *("Identifier", "First name", "Last name", "Surname", "Full name"),
    *("Username", "ID number", "Email address"),
)
OWN = ("ID number", "Full name")
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


class Gradebook:
    """A file for a platform: who it is, in the platform's own columns, and a column per kata.

    `absent` is the cell of what was not handed in. With a roster, only its members are in the file, because
    a platform refuses a file with people it does not know.
    """

    file: str

    def __init__(self, file: IO[str], infos: list[KataInfo], roster: Roster | None, absent: str) -> None:
        self._rows, self._absent = csv.writer(file), absent
        self._roster = roster or Roster([])
        self._has_roster = roster is not None
        self.write_head(infos)

    def write_head(self, infos: list[KataInfo]) -> None:
        raise NotImplementedError

    def add(self, graded: StudentReport) -> None:
        """Add a student's row."""
        if graded.member.id in self._roster or not self._has_roster:
            self.write_row(graded, self._roster.columns_of(graded.member.id))

    def write_row(self, graded: StudentReport, columns: Mapping[str, str]) -> None:
        raise NotImplementedError


class Canvas(Gradebook):
    """Canvas's columns, as in its own export if that is the roster."""

    file = "canvas.csv"

    def write_head(self, infos: list[KataInfo]) -> None:
        self._rows.writerow([*CANVAS, *(info.name for info in infos)])
        possible = [points(info.max_score) for info in infos]
        self._rows.writerow(["    Points Possible", *[""] * (len(CANVAS) - 1), *possible])

    def write_row(self, graded: StudentReport, columns: Mapping[str, str]) -> None:
        who = graded.member
        cells = [who.name or who.id, who.platform_id, "", who.id, who.section]
        if self._roster.layout is CANVAS_EXPORT:
            cells = [columns.get(title.casefold(), "") for title in CANVAS]
        self._rows.writerow([*map(cell, cells), *score_cells(graded, self._absent)])


class Moodle(Gradebook):
    """Moodle's columns, as in its own export if that is the roster, and the total.

    Moodle asks for their meaning at the import.
    """

    file = "moodle.csv"

    def write_head(self, infos: list[KataInfo]) -> None:
        known = self._roster.titles if self._roster.layout is MOODLE_EXPORT else ()
        self._titles = [title for title in MOODLE if title.casefold() in known]
        self._rows.writerow([*(self._titles or OWN), *(info.name for info in infos), "Total"])

    def write_row(self, graded: StudentReport, columns: Mapping[str, str]) -> None:
        known = [columns.get(title.casefold(), "") for title in self._titles]
        scores = score_cells(graded, self._absent)
        who = known or [graded.member.id, graded.member.name]
        self._rows.writerow([*map(cell, who), *scores, total_cell(graded, scores)])


class ByHand:
    """What an instructor must look at, since the gradebooks leave it blank or out."""

    file = "by_hand.csv"

    def __init__(self, file: IO[str], roster: Roster | None) -> None:
        self._rows, self._roster = csv.writer(file), roster
        self._rows.writerow(["Student", "Name", "Kata", "Why"])

    def add(self, graded: StudentReport) -> None:
        """Add a row for each kata that was not judged, and for each doubt about the student."""
        katas = {kata.name: kata for kata in graded.report.katas}
        for name in sorted(graded.unjudged & katas.keys()):
            self._add(graded, name, katas[name].message)
        if graded.unrecognised:
            self._add(graded, "", f"Handed in, not recognised: {', '.join(graded.unrecognised)}")
        if graded.unclear:
            self._add(graded, "", graded.unclear)
        if self._roster is not None and graded.member.id not in self._roster:
            for kata in graded.report.katas:
                if kata.status != "not_started" and kata.name not in graded.unjudged:
                    self._add(graded, kata.name, f"Not in the roster: {points(kata.score)} points.")

    def _add(self, graded: StudentReport, kata: str, why: str) -> None:
        self._rows.writerow([cell(graded.member.id), cell(graded.member.name), kata, cell(why)])


def cell(text: str) -> str:
    """Return the text on one line, quoted if a spreadsheet would evaluate it as a formula."""
    shown = one_line(text)
    return f"'{shown}" if shown.startswith(FORMULA) else shown
