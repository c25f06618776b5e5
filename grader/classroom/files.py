"""Write the results: reports as JSON lines, gradebooks, a page for each student, a page for the class.

Each file is written under a temporary name and then renamed, so that no incomplete file is left behind.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from datetime import datetime
from pathlib import Path
from typing import IO

from grader.classroom import student_page, webpage
from grader.classroom.analytics import ClassStatistics, KataStatistics
from grader.classroom.gradebooks import ByHand, Canvas, Moodle
from grader.classroom.group_search import Search
from grader.classroom.roster import Roster
from grader.classroom.run import RunCounts
from grader.classroom.store import Store
from grader.classroom.student_page import PAGES, page_name
from grader.classroom.student_reports import StudentReport, class_reports
from grader.course.catalog import CourseError, KataInfo
from grader.course.files import replacing
from grader.errors import reason_of
from grader.formats.escaping import sound
from grader.notebooks.gradebook import write_scores
from grader.report import Report, to_json


def write_outputs(
    folder: Path,
    store: Store,
    infos: list[KataInfo],
    device: str,
    counts: RunCounts | None = None,
    roster: Roster | None = None,
    absent: str = "0",
    course: str = "The class",
    source_of: webpage.SourceOf | None = None,
    stubs: Mapping[str, bytes] | None = None,
    search: Search | None = None,
) -> ClassStatistics:
    """Write all files, one student at a time, and return the statistics of the class.

    `counts` are those of the store's run. `absent` is the cell of the gradebooks for what was not handed in:
    "0", or "" for a blank. `course` is its title; `source_of` returns a student's answer to a kata, `stubs`
    are the files of the exercises by kata, `search` returns a group of unexplained files with the place of
    their mistake.
    """
    statistics = ClassStatistics({info.name: KataStatistics(info) for info in infos})
    statistics.find_groups(store)
    if search is not None:
        statistics.unexplained = list(map(search, statistics.unexplained))
    date = datetime.now().astimezone().date().isoformat()
    try:
        (folder / PAGES).mkdir(parents=True, exist_ok=True)
        with ExitStack() as files:
            lines = files.enter_context(_writer(folder / "reports.jsonl"))
            books = [
                book(files.enter_context(_writer(folder / book.file)), infos, roster, absent)
                for book in (Canvas, Moodle)
            ]
            by_hand = ByHand(files.enter_context(_writer(folder / ByHand.file)), roster)
            rows = webpage.Rows()
            for graded in class_reports(store, infos, device, counts):
                _write_line(graded, lines)
                with _writer(folder / PAGES / page_name(graded.member.id)) as page:
                    page.write(student_page.render(graded, course, date))
                for book in books:
                    book.add(graded)
                by_hand.add(graded)
                rows.add(graded)
                statistics.add(graded)
            notes = counts.all_notes if counts else []
            whole = webpage.render(statistics, rows, (course, date), notes, source_of, stubs)
            files.enter_context(_writer(folder / "class.html")).write(whole)
    except OSError as error:
        raise CourseError(
            f"The results cannot be written to {folder}: {reason_of(error)}."
            " They are kept; run the same command again."
        ) from None
    return statistics


def _write_line(graded: StudentReport, lines: IO[str]) -> None:
    line = {
        "student": graded.member.id,
        "name": graded.member.name,
        "unjudged": sorted(graded.unjudged),
        "unrecognised": list(graded.unrecognised),
        "late": list(graded.late),
        "report": to_json(graded.report),
    }
    lines.write(sound(json.dumps(line, ensure_ascii=False)) + "\n")


@contextmanager
def _writer(path: Path) -> Iterator[IO[str]]:
    """Open a file for writing that replaces `path` if the block ends well."""
    with replacing(path) as draft, draft.open("w", encoding="utf-8", newline="") as file:
        yield file


def write_gradebook(url: str, store: Store, infos: list[KataInfo], device: str, counts: RunCounts) -> None:
    """Write the scores into nbgrader's database, except those that are unknown."""
    reports = [graded for graded in class_reports(store, infos, device, counts) if graded.handed_in]
    scores: Mapping[str, Report] = {graded.member.id: graded.report for graded in reports}
    write_scores(url, scores, infos, {graded.member.id: graded.unknown for graded in reports})
