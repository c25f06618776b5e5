"""Write all results of a run: reports as JSON lines, gradebooks, the students' pages, the page of the class.

Each file is written under a temporary name and then renamed, so that no incomplete file is left behind.
"""

from __future__ import annotations

import csv
import json
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import IO

from dojo_classroom.analytics import ClassStatistics, KataStatistics, Search
from dojo_classroom.class_page import Rows, SourceOf, render_class
from dojo_classroom.give_back import NO_ATTACHMENT, Feedback
from dojo_classroom.gradebooks import ByHand, Gradebook, cell, gradebooks, other_scale
from dojo_classroom.roster import Roster
from dojo_classroom.student_page import PAGES, page_name, render_student
from dojo_classroom.student_reports import JudgedClass, StudentReport
from dojo_notebooks.gradebook import write_scores
from grader.course.catalog import CourseError
from grader.course.files import replacing
from grader.errors import reason_of
from grader.report import to_json
from grader.texts.bounds import first_names
from grader.texts.escaping import sound
from grader.texts.points import number

SEEKERS = "looks_at_judge.csv"
FULL = (CourseError, OSError)  # what is no fault of the grader: a disk that is full


@dataclass(frozen=True)
class OutputTerms:
    """What the files show beside the results.

    Attributes:
        course: The title of the course.
        absent: The cell of the gradebooks for what was not handed in: "0", or "" for a blank.
        column: The column of Canvas's export that takes the total.
        source_of: Returns a student's answer to a kata.
        stubs: The files of the exercises by kata.
        search: Returns a group of unexplained files with the place of their mistake.
    """

    course: str = "The class"
    absent: str = "0"
    column: str = ""
    source_of: SourceOf | None = None
    stubs: Mapping[str, bytes] | None = None
    search: Search | None = None


def write_outputs(
    folder: Path, judged: JudgedClass, roster: Roster | None = None, terms: OutputTerms | None = None
) -> ClassStatistics:
    """Write all files, one student at a time, and return the statistics of the class."""
    infos, counts, whole_class = judged.infos, judged.counts, "the class"
    terms = terms or OutputTerms()
    course, column, search = terms.course, terms.column, terms.search
    statistics = ClassStatistics({info.name: KataStatistics(info) for info in infos})
    with counts.net(whole_class, "the search for groups of files"):
        statistics.find_groups(judged.store)
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
                    books.append(book(file, infos, roster, terms.absent, column))
                    files.push(one.pop_all())
            by_hand = ByHand(files.enter_context(_writer(folder / ByHand.file)), roster, infos)
            rows, possible = Rows(), 0
            submissions, feedback = counts.submissions, Feedback(folder, files)
            for graded in judged.reports():
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
                counts.note(NO_ATTACHMENT.format(first_names(feedback.left_out)))
            with counts.net(whole_class, SEEKERS, FULL):
                _write_seekers(statistics, files.enter_context(_writer(folder / SEEKERS)))
            if text := other_scale(roster, column, possible):
                counts.note(text)
            with counts.net(whole_class, "class.html", FULL):
                heading, notes = (course, date), counts.all_notes
                whole = render_class(statistics, rows, heading, notes, terms.source_of, terms.stubs)
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


def write_gradebook(url: str, judged: JudgedClass) -> None:
    """Write the points into nbgrader's database, except those that are unknown or not due yet."""
    reports = [graded for graded in judged.reports() if graded.handed_in]
    scores = {
        graded.member.id: {name: mark.points for name, mark in graded.marks.katas.items()}
        for graded in reports
    }
    write_scores(
        url,
        scores,
        judged.infos,
        {graded.member.id: graded.unknown | (graded.missing & graded.not_due) for graded in reports},
    )
