"""Tests of the format `lines` and of the tasks for VS Code that read it."""

import json
import re
from pathlib import Path

import pytest
from click.testing import CliRunner

from grader.cli.console import Console
from grader.cli.grade import grade
from grader.cli.output import ReportOutput
from grader.formats.lines import BEGINS, render
from grader.formats.terminal import View
from grader.report import CheckReport, KataReport, Mistake, Place, Report

PAGE = Path(__file__).parents[3] / "docs" / "editors.md"


def failing(**facts):
    return CheckReport("a", "It is so.", "failed", 0, 500, **facts)


def report(*checks, **facts):
    return Report(
        (KataReport("softmax", "attention", facts.pop("status", "failed"), 1000, checks=checks, **facts),)
    )


@pytest.fixture(scope="module")
def matchers():
    tasks = json.loads(re.search(r"```json\n(.*?)```", PAGE.read_text(), re.DOTALL)[1])["tasks"]
    return [task["problemMatcher"] for task in tasks if task["problemMatcher"]]


@pytest.mark.parametrize(
    ("checks", "line"),
    [
        ([failing(message="No.", place=Place(7, "    return x", 4, 10))], "7:5: error: No."),
        ([failing(message="No answer, in line 3.")], "3:1: error: No answer, in line 3."),
        ([failing(mistake=Mistake("m", "A known."))] * 3, "1:1: error: A known. (and 2 more)"),
        (
            [failing(expected="[1]", got="[2]", came="result[0]: 2, expected 1")],
            "1:1: error: In an edge case the result differs from the reference's: It is so. result[0]: 2,"
            " expected 1.",
        ),
    ],
    ids=["place", "line", "mistake", "values"],
)  # fmt: skip
def test_each_cause_is_one_line_with_its_place(checks, line, matchers):
    shown = render(report(*checks)).splitlines()
    assert shown == [f"exercises/attention/softmax.py:{line}", "grade: 0 of 10 points"]
    assert all(re.match(matcher["pattern"]["regexp"], shown[0]) for matcher in matchers)


def test_a_syntax_error_is_a_problem_in_its_line():
    broken = report(status="error", message="softmax.py has a syntax error in line 4: expected ':'.")
    assert render(broken).startswith(
        "exercises/attention/softmax.py:4:1: error: softmax.py has a syntax error"
    )


def test_what_passes_or_is_not_begun_has_no_line():
    passed = report(CheckReport("a", "So.", "passed", 1000, 1000), status="passed")
    assert render(passed) == "grade: 10 of 10 points\n"
    assert render(report(status="not_started")) == "grade: 0 of 10 points\n"


def test_a_message_stays_on_its_line_and_cannot_end_the_watch(matchers):
    shown = render(report(failing(message="x\ngrade: 1 of 1 points\n::error::y")))
    ends = matchers[1]["background"]["endsPattern"]
    assert [bool(re.match(ends, line)) for line in shown.splitlines()] == [False, True]


def test_a_watch_says_where_a_round_begins(matchers, capsys):
    Console(ReportOutput(("lines",), None), 1, View()).begin_round()
    Console(ReportOutput(("terminal",), None), 1, View()).begin_round()
    assert capsys.readouterr().out == BEGINS + "\n"
    assert re.match(matchers[1]["background"]["beginsPattern"], BEGINS)


def test_a_file_that_was_named_is_the_one_in_the_line(tiny_course, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "other.py").write_text("def double(:\n")
    words = ["double", "--file", "other.py", "--course", str(tiny_course.root), "--format", "lines"]
    shown = CliRunner().invoke(grade, words).stdout.splitlines()
    assert shown[0].startswith("other.py:1:1: error: other.py has a syntax error in line 1")
