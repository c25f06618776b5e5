"""Write the CSV files that Canvas and Moodle can import, and the list of what they leave blank.

A blank cell changes nothing when it is imported; a 0 takes points away. So what was not judged is blank.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Mapping
from typing import IO

from dojo_classroom.policy import POLICY_FILE
from dojo_classroom.roster import CANVAS as CANVAS_EXPORT
from dojo_classroom.roster import MOODLE as MOODLE_EXPORT
from dojo_classroom.roster import Roster
from dojo_classroom.student_reports import StudentReport
from grader.course.catalog import CourseError, KataInfo
from grader.texts.bounds import first_names
from grader.texts.escaping import one_line
from grader.texts.points import points

CANVAS = ("Student", "ID", "SIS User ID", "SIS Login ID", "Section")
MOODLE = (
    *("Identifier", "First name", "Last name", "Surname", "Full name"),
    *("Username", "ID number", "Email address"),
)
OWN = ("ID number", "Full name")
#: Titles of Moodle's grading worksheet, in lower case, and how a comment of ours begins.
CHANGEABLE, COMMENTS, OURS = "grade can be changed", "feedback comments", "Points: "
#: The columns of `by_hand.csv`, and more for written answers, whose points `kata override --csv` reads.
BY_HAND, OF_WRITTEN = ("Student", "Name", "Kata", "Why"), ("Points", "Possible", "Words", "Rubric")
WRITTEN = "Graded by hand."
#: A spreadsheet evaluates a cell that begins with one of these, also in their wide forms; one that splits its
#: lines at semicolons does so after each. Students choose their names.
FORMULA = re.compile(r"\s*[=+\-@\uff1d\uff0b\uff0d\uff20]")
AFTER_SEMICOLON = re.compile(rf";(?={FORMULA.pattern})")


def score_cells(graded: StudentReport, absent: str) -> list[str]:
    """Return a cell per kata: its points, blank if it is unknown or not due yet, `absent` if it was not
    handed in."""
    found = {kata.name: graded.cell(kata) for kata in graded.report.katas}
    return [
        "" if name in graded.unknown or (cell is None and name in graded.not_due)
        else absent if cell is None
        else points(cell)
        for name, cell in found.items()
    ]  # fmt: skip


def total_cell(graded: StudentReport, cells: list[str]) -> str:
    """Return the points of all katas; blank if one is unknown, since the total would be too low."""
    return points(graded.marks.total) if any(cells) and not graded.unknown else ""


class Gradebook:
    """A file for a platform: who it is, in the platform's own columns, and a column per kata.

    `absent` is the cell of what was not handed in, `column` the one that takes the total. With a roster, only
    its members are in the file, because a platform refuses a file with people it does not know.
    """

    file: str

    def __init__(
        self, file: IO[str], infos: list[KataInfo], roster: Roster | None, absent: str, column: str = ""
    ) -> None:
        self._rows, self._absent, self._column = csv.writer(file), absent, column
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


class CanvasColumn(Gradebook):
    """Canvas's own column of an assignment, filled with the totals, as in the export that is the roster."""

    file = "canvas.csv"

    def write_head(self, infos: list[KataInfo]) -> None:  # noqa: ARG002  # it has no column per kata
        wanted = (*CANVAS, self._column)
        self._titles = [title for title in self._roster.header if _folded(title) in map(_folded, wanted)]
        self._rows.writerow(self._titles)
        if self._roster.possible:
            row = [self._roster.possible.get(_folded(title), "") for title in self._titles]
            self._rows.writerow([f"    {row[0]}", *row[1:]])

    def write_row(self, graded: StudentReport, columns: Mapping[str, str]) -> None:
        total = total_cell(graded, score_cells(graded, self._absent))
        row = [(title, cell(columns.get(_folded(title), ""))) for title in self._titles]
        mine = _folded(self._column)
        self._rows.writerow([(total or old) if _folded(title) == mine else old for title, old in row])


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


class MoodleWorksheet(Gradebook):
    """Moodle's grading worksheet, which is the roster, with the totals and a comment; all else stays."""

    file = "moodle_worksheet.csv"

    def write_head(self, infos: list[KataInfo]) -> None:  # noqa: ARG002  # it has no column per kata
        self._rows.writerow(self._roster.header)

    def write_row(self, graded: StudentReport, columns: Mapping[str, str]) -> None:
        total, changes = total_cell(graded, score_cells(graded, self._absent)), dict[str, str]()
        if total and columns.get(CHANGEABLE, "yes").casefold() != "no":
            changes["grade"] = total
            if (columns.get(COMMENTS) or OURS).startswith(OURS):
                changes[COMMENTS] = comment(graded)
        titles = map(_folded, self._roster.header)
        self._rows.writerow([changes.get(title) or cell(columns.get(title, "")) for title in titles])


def comment(graded: StudentReport) -> str:
    """Return the points of each kata in one line, with the reasons where they are not those judged."""
    due = [
        kata
        for kata in graded.report.katas
        if graded.cell(kata) is not None or kata.name not in graded.not_due
    ]
    parts = [
        f"{kata.name} {points(mark.points)} / {points(kata.max_score)}"
        + (f" ({' '.join(map(one_line, mark.reasons))})" if mark.reasons else "")
        for kata, mark in ((kata, graded.marks.katas[kata.name]) for kata in due)
    ]
    return OURS + "; ".join(parts)


def gradebooks(roster: Roster | None, column: str) -> list[type[Gradebook]]:
    """Return the gradebooks to write. Raises CourseError if the roster cannot take the column."""
    books: list[type[Gradebook]] = [CanvasColumn if column else Canvas, Moodle]
    if column:
        _require_column(roster, column)
    if roster and roster.layout is MOODLE_EXPORT and {"identifier", "grade"} <= roster.titles:
        books.append(MoodleWorksheet)
    return books


def _require_column(roster: Roster | None, column: str) -> None:
    if roster is None or roster.layout is not CANVAS_EXPORT:
        raise CourseError("`--column` fills a column of Canvas's gradebook: give its export as --roster.")
    own = [title for title in roster.header if _folded(title) not in map(_folded, CANVAS)]
    if _folded(column) not in map(_folded, own):
        raise CourseError(
            f"The roster has no column {one_line(column)}; it has {first_names(own) or 'none'}."
        )


def other_scale(roster: Roster | None, column: str, possible: int) -> str:
    """Return a sentence if the column, or Moodle's worksheet, is worth other points than the total."""
    if roster is None:
        return ""
    moodle = next((member.columns.get("maximum grade", "") for member in roster.members), "")
    text = roster.possible.get(_folded(column), "") if column else moodle
    try:
        worth = float(text)
    except ValueError:
        return ""
    if round(100 * worth) == possible:
        return ""
    return (
        f"The platform's column is worth {worth:g} points, and the total {points(possible)}:"
        f" total = {worth:g} in {POLICY_FILE} brings them together."
    )


def _folded(title: str) -> str:
    return title.strip().casefold()


class ByHand:
    """What an instructor must look at, since the gradebooks leave it blank or out."""

    file = "by_hand.csv"

    def __init__(self, file: IO[str], roster: Roster | None, infos: list[KataInfo]) -> None:
        self._roster, self._written = roster, {info.name: info.written for info in infos}
        columns = [*BY_HAND, *(OF_WRITTEN if any(self._written.values()) else ())]
        self._rows = csv.DictWriter(file, columns)
        self._rows.writeheader()

    def add(self, graded: StudentReport) -> None:
        """Add a row for each kata that was not judged, each written answer and each doubt about a student."""
        katas = {kata.name: kata for kata in graded.report.katas}
        for name in sorted(graded.unjudged & graded.unknown & katas.keys()):
            self._add(graded, name, katas[name].message)
        for name, mark in graded.marks.katas.items():
            if mark.is_open:
                self._add(graded, name, " ".join(mark.reasons))
            for check in katas[name].checks:
                if check.name in mark.ungraded:
                    words, (_, rubric) = check.words or "", self._written[name][check.name]
                    row = {"Possible": points(check.max_score), "Words": words, "Rubric": rubric}
                    self._add(graded, f"{name}.{check.name}", WRITTEN, **row)
        for text in graded.open_troubles:
            self._add(graded, "", text)
        if graded.unrecognised:
            self._add(graded, "", f"Handed in, not recognised: {', '.join(graded.unrecognised)}")
        if graded.unclear:
            self._add(graded, "", graded.unclear)
        if self._roster is not None and graded.member.id not in self._roster:
            for kata in graded.report.katas:
                given = graded.cell(kata)
                if given is not None and kata.name not in graded.unknown:
                    self._add(graded, kata.name, f"Not in the roster: {points(given)} points.")

    def _add(self, graded: StudentReport, kata: str, why: str, **written: str) -> None:
        row = dict(zip(BY_HAND, (graded.member.id, graded.member.name, kata, why), strict=True))
        self._rows.writerow({name: cell(text) for name, text in (row | written).items()})


def cell(text: str) -> str:
    """Return the text on one line, quoted if a spreadsheet would evaluate it as a formula."""
    shown = one_line(text)
    if len(shown) > 1 and FORMULA.match(shown):
        shown = f"'{shown}"
    return AFTER_SEMICOLON.sub(";'", shown)
