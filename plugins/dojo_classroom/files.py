"""Write the results: reports as JSON lines, gradebooks, a page for each student, a page for the class.

Each file is written under a temporary name and then renamed, so that no incomplete file is left behind.

The page of a class in HTML: results and mistakes of each kata, groups of files, each student's points.

The page of one student: name, course, date and score, then each kata with what does not hold.

Write everybody's page as the platform takes it back: zips for Moodle and Canvas, folders for the others.

Moodle's *Upload multiple feedback files in a zip* and Canvas's *Upload submissions* find a student by the
numbers in a file's name, so that these are those of the download. No file names another student.

CSV files that Canvas and Moodle can import, and the list of what they leave blank.

A blank cell changes nothing when it is imported; a 0 takes points away. So what was not judged is blank.
"""

from __future__ import annotations

import ast
import csv
import hashlib
import json
import re
import shutil
import zipfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from statistics import mean
from typing import IO

from dojo_classroom.analytics import ClassStatistics, KataStatistics, Search
from dojo_classroom.platform_filenames import WorkOrigin
from dojo_classroom.policy import FILE as POLICY
from dojo_classroom.policy import Mark, Policy
from dojo_classroom.roster import CANVAS as CANVAS_EXPORT
from dojo_classroom.roster import MOODLE as MOODLE_EXPORT
from dojo_classroom.roster import Roster
from dojo_classroom.run import RunCounts
from dojo_classroom.store import Store
from dojo_classroom.student_reports import StudentReport, class_reports
from dojo_classroom.task import FEWEST_TOKENS
from dojo_notebooks.gradebook import write_scores
from grader.course.catalog import CourseError, KataInfo
from grader.course.files import Folder, replacing
from grader.drawing.statement import pictures
from grader.errors import reason_of
from grader.formats import pages, summary
from grader.report import KataReport, Picture, to_json
from grader.texts.bounds import legible, listed
from grader.texts.escaping import in_markdown, one_line, sound
from grader.texts.points import number, points
from grader.values.formatting import counted

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
        raise CourseError(f"The roster has no column {one_line(column)}; it has {listed(own) or 'none'}.")


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
        f" total = {worth:g} in {POLICY} brings them together."
    )


def _folded(title: str) -> str:
    return title.strip().casefold()


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


PAGES = "students"
NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,60}")
STUDENT_TEMPLATE = Path(__file__).parent / "templates" / "student.html"


def page_name(student: str) -> str:
    """Return the file name of a student's page: unique, and safe to use in a path."""
    if NAME.fullmatch(student):
        return f"{student}.html"
    plain = re.sub(r"[^A-Za-z0-9]+", "-", student).strip("-")[:40]
    return f"{plain or 'student'}-{hashlib.sha256(student.encode('utf-8', 'replace')).hexdigest()[:12]}.html"


def render_student(graded: StudentReport, course: str, date: str) -> str:
    """Return the page as HTML."""
    report, member = legible(graded.report), graded.member
    marks, score = graded.marks, graded.headline
    return pages.page(
        STUDENT_TEMPLATE,
        f"{member.name or member.id}: {score}",
        report=report,
        graded=graded,
        late=graded.late,
        changed=[(name, mark) for name, mark in marks.katas.items() if mark.reasons],
        unknown=graded.unknown,
        score=score,
        course=course,
        date=date,
    )


FOLDER, FILE = "feedback", "feedback.html"
FOLDERS = ("gradescope", "repositories")
NO_ATTACHMENT = (
    "Canvas attaches a page to a file that the student has uploaded. Send these pages by a message, as their"
    " students have uploaded none: {}."
)
SCRIPT = Path(__file__).parent / "templates" / "give_back.sh"


class Feedback:
    """The feedback of a run; its zips and folders are written anew."""

    def __init__(self, folder: Path, files: ExitStack) -> None:
        """`files` closes the zips. Raises OSError."""
        self.folder = folder / FOLDER
        for name in FOLDERS:
            shutil.rmtree(self.folder / name, ignore_errors=True)
        self._files, self._zips = files, dict[str, zipfile.ZipFile]()
        self.left_out: list[str] = []  # pages that Canvas does not take
        self._add_to: dict[str, Callable[[WorkOrigin, StudentReport, str], None]] = {
            "moodle": self._moodle,
            "canvas": self._canvas,
            "gradescope": self._gradescope,
            "repository": self._repository,
        }

    def add(self, submission: WorkOrigin, graded: StudentReport, page: str) -> None:
        """Add the page of a student, if the platform takes one back. Raises OSError."""
        if add := self._add_to.get(submission.student.platform):
            add(submission, graded, page)

    def _moodle(self, submission: WorkOrigin, _: StudentReport, page: str) -> None:
        self._zip("moodle.zip").writestr(f"{submission.student.key}_assignfeedback_file_{FILE}", page)

    def _canvas(self, submission: WorkOrigin, graded: StudentReport, page: str) -> None:
        if not submission.upload:
            self.left_out.append(f"{PAGES}/{page_name(graded.member.id)}")
            return
        self._zip("canvas.zip").writestr(f"{submission.student.key}_{submission.upload}_{FILE}", page)

    def _gradescope(self, submission: WorkOrigin, graded: StudentReport, page: str) -> None:
        folder = submission.student.aliases[-1]  # as the metadata names it
        self._write("gradescope", folder, page_name(graded.member.id), data=page.encode())

    def _repository(self, submission: WorkOrigin, graded: StudentReport, page: str) -> None:
        folder = ("repositories", submission.student.key)
        self._write(*folder, FILE, data=page.encode())
        self._write(*folder, "feedback.md", data=_markdown(graded).encode())
        if not (self.folder / SCRIPT.name).exists():
            self._write(SCRIPT.name, data=SCRIPT.read_bytes())

    def _write(self, *parts: str, data: bytes) -> None:
        """Write a file below the folder of feedback, whose name may be a student's. Raises OSError."""
        with Folder(self.folder, makes=True) as folder:
            folder.write(*parts, data=data)

    def _zip(self, name: str) -> zipfile.ZipFile:
        if name not in self._zips:
            draft = self._files.enter_context(replacing(self.folder / name))
            self._zips[name] = self._files.enter_context(zipfile.ZipFile(draft, "w", zipfile.ZIP_DEFLATED))
        return self._zips[name]


def _markdown(graded: StudentReport) -> str:
    """Return the feedback as the text of an issue."""
    marks = graded.marks
    reasons = [
        f"- {name}: {in_markdown(' '.join(mark.reasons))}"
        for name, mark in marks.katas.items()
        if mark.reasons
    ]
    head = graded.headline
    if graded.unknown:
        head += ". This is not final: something of it was not judged yet."
    table = summary.render(graded.report, unknown=graded.unknown)
    return "\n\n".join(filter(None, [head, "\n".join(reasons), table]))


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


SEEKERS = "looks_at_judge.csv"
FULL = (CourseError, OSError)  # what is no fault of the grader: a disk that is full


def write_outputs(
    folder: Path,
    store: Store,
    infos: list[KataInfo],
    device: str,
    counts: RunCounts | None = None,
    roster: Roster | None = None,
    absent: str = "0",
    course: str = "The class",
    source_of: SourceOf | None = None,
    stubs: Mapping[str, bytes] | None = None,
    search: Search | None = None,
    policy: Policy | None = None,
    column: str = "",
) -> ClassStatistics:
    """Write all files, one student at a time, and return the statistics of the class.

    `counts` are those of the store's run. `absent` is the cell of the gradebooks for what was not handed in:
    "0", or "" for a blank. `course` is its title; `source_of` returns a student's answer to a kata, `stubs`
    are the files of the exercises by kata, `search` returns a group of unexplained files with the place of
    their mistake. `policy` says how the points count, `column` names
    the one of Canvas's export that takes the total.
    """
    statistics = ClassStatistics({info.name: KataStatistics(info) for info in infos})
    counts, whole_class = counts or RunCounts(), "the class"
    with counts.net(whole_class, "the search for groups of files"):
        statistics.find_groups(store)
    if search is not None:
        with counts.net(whole_class, "--search"):
            statistics.unexplained = list(map(search, statistics.unexplained))
    date = datetime.now().astimezone().date().isoformat()
    try:
        (folder / PAGES).mkdir(parents=True, exist_ok=True)
        with ExitStack() as files:
            lines = files.enter_context(_writer(folder / "reports.jsonl"))
            books = list[Gradebook]()
            for book in gradebooks(roster, column):
                with counts.net(whole_class, book.file, FULL), ExitStack() as one:
                    file = one.enter_context(_writer(folder / book.file))
                    books.append(book(file, infos, roster, absent, column))
                    files.push(one.pop_all())
            by_hand = ByHand(files.enter_context(_writer(folder / ByHand.file)), roster, infos)
            rows, possible = Rows(), 0
            submissions, feedback = counts.submissions, Feedback(folder, files)
            for graded in class_reports(store, infos, device, counts, policy):
                who, possible = graded.member.id, graded.marks.possible
                for sink, what in (*((one.add, one.file) for one in books), (by_hand.add, ByHand.file)):
                    with counts.net(who, f"the row of {what}", FULL):
                        sink(graded)
                with counts.net(who, "the line of reports.jsonl", FULL):
                    _write_line(graded, lines)
                with counts.net(who, "the row of class.html"):
                    statistics.add(graded)
                    rows.add(graded)
                with counts.net(who, "the page"):
                    page = render_student(graded, course, date)
                    with _writer(folder / PAGES / page_name(who)) as file:
                        file.write(page)
                    if submission := submissions.get(who):
                        feedback.add(submission, graded, page)
            if feedback.left_out:
                counts.note(NO_ATTACHMENT.format(listed(feedback.left_out)))
            with counts.net(whole_class, SEEKERS, FULL):
                _write_seekers(statistics, files.enter_context(_writer(folder / SEEKERS)))
            if text := other_scale(roster, column, possible):
                counts.note(text)
            with counts.net(whole_class, "class.html", FULL):
                heading, notes = (course, date), counts.all_notes
                whole = render_class(statistics, rows, heading, notes, source_of, stubs)
                files.enter_context(_writer(folder / "class.html")).write(whole)
    except OSError as error:
        raise CourseError(
            f"The results cannot be written to {folder}: {reason_of(error)}."
            " They are kept; run the same command again."
        ) from None
    return statistics


def _write_seekers(statistics: ClassStatistics, file: IO[str]) -> None:
    """Write the lines in which answers look at the judge, for the instructor alone."""
    rows = csv.writer(file)
    rows.writerow(["student", "kata", "line", "looks at the judge"])
    for seeker in statistics.seekers:
        rows.writerows([cell(seeker.student), seeker.kata, *line] for line in seeker.lines)


def _write_line(graded: StudentReport, lines: IO[str]) -> None:
    line = {
        "student": graded.member.id,
        "name": graded.member.name,
        "unjudged": sorted(graded.unjudged),
        "unread": sorted(graded.unread),
        "troubles": list(graded.troubles),
        "unrecognised": list(graded.unrecognised),
        "not_due": sorted(graded.not_due & graded.missing),
        "late": list(graded.late),
        "ungraded": graded.ungraded,
        "points": {
            name: None if name in graded.unknown else number(mark.points)
            for name, mark in graded.marks.katas.items()
        },
        "reasons": {name: mark.reasons for name, mark in graded.marks.katas.items() if mark.reasons},
        "total": None if graded.unknown else number(graded.marks.total),
        "possible": number(graded.marks.possible),
        "report": to_json(graded.report),
    }
    lines.write(sound(json.dumps(line, ensure_ascii=False)) + "\n")


@contextmanager
def _writer(path: Path) -> Iterator[IO[str]]:
    """Open a file for writing that replaces `path` if the block ends well."""
    with replacing(path) as draft, draft.open("w", encoding="utf-8", newline="") as file:
        yield file


def write_gradebook(
    url: str,
    store: Store,
    infos: list[KataInfo],
    device: str,
    counts: RunCounts,
    policy: Policy | None = None,
) -> None:
    """Write the points into nbgrader's database, except those that are unknown or not due yet."""
    reports = [graded for graded in class_reports(store, infos, device, counts, policy) if graded.handed_in]
    scores = {
        graded.member.id: {name: mark.points for name, mark in graded.marks.katas.items()}
        for graded in reports
    }
    write_scores(
        url,
        scores,
        infos,
        {graded.member.id: graded.unknown | (graded.missing & graded.not_due) for graded in reports},
    )
