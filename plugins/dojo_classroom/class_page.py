"""The page of a class in HTML: results and mistakes of each kata, groups of files, each student's points."""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import mean

from dojo_classroom.analytics import ClassStatistics
from dojo_classroom.policy import Mark
from dojo_classroom.student_page import PAGES, page_name
from dojo_classroom.student_reports import StudentReport
from dojo_classroom.task import FEWEST_TOKENS
from grader.drawing.statement import pictures
from grader.formats import pages
from grader.report import KataReport, Picture
from grader.texts.phrases import counted
from grader.texts.points import points

CLASS_TEMPLATE = Path(__file__).parent / "templates" / "class.html"
MOST_ROWS = 2000  # students on the page; the gradebooks list all students of a larger class
MARKS = {"passed": "p", "failed": "f", "error": "e", "not_started": "n", "waiting": "n"}
SourceOf = Callable[[str, str], str]  # the source of a student's answer to a kata


@dataclass(frozen=True)
class Cell:
    """A student's points for a kata, and the judged ones if others count."""

    mark: str
    points: str
    is_late: bool
    judged: str = ""


@dataclass(frozen=True)
class Row:
    """A student's points; they are "?" where they are not known."""

    student: str
    section: str
    total: str
    cells: Sequence[Cell]


class Rows:
    """The table of students; counts the students beyond MOST_ROWS."""

    def __init__(self) -> None:
        self.rows: list[Row] = []
        self.left_out = 0
        self.set_by_hand: list[tuple[str, str, Mark]] = []  # student, kata
        self.unrecognised: list[tuple[str, Sequence[str]]] = []  # the files of a student
        self.unread: list[tuple[str, Sequence[str]]] = []  # why something of a student could not be judged

    def add(self, graded: StudentReport) -> None:
        """Add a row for a student."""
        marks = graded.marks.katas.items()
        self.set_by_hand += [(graded.member.id, name, mark) for name, mark in marks if mark.is_set]
        if len(self.rows) >= MOST_ROWS:
            self.left_out += 1
            return
        student, late = graded.member.id, graded.late
        if reasons := graded.why_unread:
            self.unread.append((student, reasons))
        if graded.unrecognised:
            self.unrecognised.append((student, graded.unrecognised))
        total = "?" if graded.unknown else points(graded.marks.total)
        cells = [
            Cell("e", "?", kata.name in late)
            if kata.name in graded.unknown
            else Cell(MARKS[kata.status], _shown(graded.cell(kata)), kata.name in late, _judged(graded, kata))
            for kata in graded.report.katas
        ]
        self.rows.append(Row(student, graded.member.section, total, cells))


def _shown(cell: int | None) -> str:
    return "·" if cell is None else points(cell)


def _judged(graded: StudentReport, kata: KataReport) -> str:
    """Return the points that were judged; "" if they are those that count."""
    mark = graded.marks.katas[kata.name]
    return points(mark.judged) if mark.judged != mark.points else ""


def render_class(
    stats: ClassStatistics,
    rows: Rows,
    heading: tuple[str, str] = ("The class", ""),
    notes: Sequence[str] = (),
    source_of: SourceOf | None = None,
    stubs: Mapping[str, bytes] | None = None,
) -> str:
    """Return the page as HTML. `heading` is the course's title and the date; `notes` are the terminal's;
    `stubs` are the files of the exercises by kata, whose examples are drawn."""
    return pages.page(
        CLASS_TEMPLATE,
        heading[0],
        date=heading[1],
        stats=stats,
        rows=rows,
        notes=notes,
        source_of=source_of,
        examples={name: _example(stub) for name, stub in (stubs or {}).items()},
        sections={name: _mean(totals) for name, totals in sorted(stats.sections.items())},
        link_to=lambda student: f"{PAGES}/{page_name(student)}",
        counted=counted,
        fewest_tokens=FEWEST_TOKENS,
    )


def _mean(totals: Sequence[int]) -> str:
    return points(round(mean(totals))) if totals else "·"


def _example(stub: bytes) -> Sequence[Picture]:
    """Return what the statement of a kata prints as pictures."""
    return pictures(ast.get_docstring(ast.parse(stub)) or "")
