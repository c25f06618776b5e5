"""Tests of filling the columns that Canvas and Moodle already have, with the headers that they export."""

import csv
import json
from contextlib import closing

import pytest

from dojo_classroom.counts import RunCounts
from dojo_classroom.gradebooks import gradebooks
from dojo_classroom.outputs import OutputTerms, write_outputs
from dojo_classroom.policy import Policy, Terms
from dojo_classroom.roster import read_roster
from dojo_classroom.store import Store
from dojo_classroom.student_reports import JudgedClass
from dojo_classroom.task import FileVerdict
from grader.course.catalog import CourseError
from grader.report import CheckReport, KataReport, Report, to_json

CANVAS = """Student,ID,SIS User ID,SIS Login ID,Section,HW1 (12345),HW2 (777),Current Points,Final Score
,,,,,Manual Posting,,,
    Points Possible,,,,,40,10,(read only),(read only)
"Doe, Jane",4711,u1,ajdoe,A,,3,3,30
"=Roe, Bob",4712,u2,broe,A,7,,7,70
"Student, Test",9,,x,A,,,,
"""
MOODLE = """Identifier,"Full name","Email address",Status,Grade,"Maximum Grade","Grade can be changed",\
"Last modified (submission)","Last modified (grade)","Feedback comments"
"Participant 81","Jane Doe",ada@x.org,"Submitted for grading",,40.00,Yes,"20 November, 10:01 PM",-,
"Participant 82","Bob Roe",bob@x.org,"Submitted",7.00,40.00,Yes,-,"23 November 2026","Well argued."
"Participant 83","Zoe Poe",zoe@x.org,"No submission",,40.00,No,-,-,
"""


@pytest.fixture
def written(tmp_path, tiny_course):
    """`written(roster, scores, name)` returns a file's rows after a run with these points."""
    info = tiny_course.kata_info("double")

    def write(text, scores, name, column="", policy=None, absent="0"):
        (tmp_path / "roster.csv").write_text(text)
        roster, counts = read_roster(tmp_path / "roster.csv"), RunCounts()
        with closing(Store(str(tmp_path / "results.sqlite"))) as store:
            for member in roster.members:
                store.enrol(member)
            for student, score in scores.items():
                checks = (CheckReport("a", "A.", "failed", score or 0, 1000),)
                report = Report((KataReport("double", info.track, "failed", 1000, checks=checks),))
                store.add_submission(student, "double", student, "j")
                if score is not None:
                    verdict = FileVerdict("failed", score, 1000, json.dumps(to_json(report)))
                    store.add_verdict("double", student, "j", verdict)
            judged = JudgedClass(store, [info], counts=counts, policy=policy or Policy())
            write_outputs(tmp_path, judged, roster, OutputTerms(absent=absent, column=column))
        return list(csv.reader((tmp_path / name).open(encoding="utf-8", newline=""))), counts.notes

    return write


def test_canvas_gets_its_own_column_back_with_the_totals(written):
    rows, notes = written(CANVAS, {"ajdoe": 350, "broe": 1000}, "canvas.csv", "hw1 (12345)")
    assert rows == [
        ["Student", "ID", "SIS User ID", "SIS Login ID", "Section", "HW1 (12345)"],
        ["    Points Possible", "", "", "", "", "40"],
        ["Doe, Jane", "4711", "u1", "ajdoe", "A", "3.5"],
        ["'=Roe, Bob", "4712", "u2", "broe", "A", "10"],
    ]
    assert notes == [
        "The platform's column is worth 40 points, and the total 10: total = 40 in policy.toml brings them"
        " together."
    ]


def test_what_is_unknown_leaves_canvas_as_it_was(written):
    rows, notes = written(
        CANVAS, {"ajdoe": None, "broe": None}, "canvas.csv", "HW1 (12345)", Policy(Terms(total=40))
    )
    assert [row[-1] for row in rows[2:]] == ["", "7"]
    assert notes == []


def test_moodles_worksheet_comes_back_with_grades_and_comments(written):
    scores = {"ada@x.org": 350, "bob@x.org": 1000, "zoe@x.org": 500}
    rows, _ = written(MOODLE, scores, "moodle_worksheet.csv", policy=Policy(Terms(total=40)))
    given = list(csv.reader(MOODLE.splitlines()))
    assert rows[0] == given[0]
    changed = [
        (at, cell)
        for row, old in zip(rows, given, strict=True)
        for at, cell in enumerate(row)
        if cell != old[at]
    ]
    assert changed == [(4, "14"), (9, "Points: double 3.5 / 10"), (4, "40")]


def test_a_comment_of_ours_is_written_again(written):
    text = MOODLE.replace('"Well argued."', '"Points: double 1 / 10"')
    rows, _ = written(text, {"bob@x.org": 1000}, "moodle_worksheet.csv")
    assert (rows[2][4], rows[2][9]) == ("10", "Points: double 10 / 10")


def test_nobody_without_a_submission_loses_a_grade_where_absent_is_blank(written):
    rows, _ = written(MOODLE, {}, "moodle_worksheet.csv", absent="")
    assert [row[4] for row in rows[1:]] == ["", "7.00", ""]


KNOWN = "it has HW1 (12345), HW2 (777), Current Points and 1 more."


@pytest.mark.parametrize(
    ("text", "column", "sentence"),
    [
        (CANVAS, "HW3", f"The roster has no column HW3; {KNOWN}"),
        (CANVAS, "Section", f"The roster has no column Section; {KNOWN}"),
        (MOODLE, "Grade", "`--column` fills a column of Canvas's gradebook: give its export as --roster."),
    ],
)
def test_a_column_that_cannot_be_filled_is_one_sentence(tmp_path, text, column, sentence):
    (tmp_path / "roster.csv").write_text(text)
    with pytest.raises(CourseError) as refused:
        gradebooks(read_roster(tmp_path / "roster.csv"), column)
    assert str(refused.value) == sentence
