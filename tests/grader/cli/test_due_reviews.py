"""Reviews that are due are said once a day, and not where grades count."""

from datetime import date

import pytest
from click.testing import CliRunner

from grader.cli.due_reviews import due_line
from grader.cli.grade import grade
from grader.course.catalog import Course
from grader.course.reviews import REVIEW_DAYS, is_due, review_day
from grader.course.state import CourseState, KataState

RIGHT = "def double(x):\n    if isinstance(x, str):\n        raise ValueError('text')\n    return x + x\n"
PATH = "tests/katas/path.toml"
TODAY = date(2026, 3, 14)
PASSED = {"passed": True, "passed_on": "2026-01-01"}
BEGIN = "Begin: grade review"


@pytest.fixture
def course(tmp_path, tiny_files, write):
    return Course(write(tmp_path / "course", tiny_files))


def test_what_is_due_is_said_once_a_day(course):
    state = CourseState(course)
    state.change("double", **PASSED)
    assert due_line(course, BEGIN) == "To review today: double. Begin: grade review"
    assert due_line(course, BEGIN) == ""
    state.change("double", due_told="2026-01-01")
    assert due_line(course, "f begins.") == "To review today: double. f begins."


def test_a_review_that_was_missed_is_named_first(course):
    for name, reviewed in (("double", ""), ("center", "not found")):
        CourseState(course).change(name, **PASSED, reviewed=reviewed)
    assert due_line(course, "").startswith("To review today: center, double.")


def test_nothing_is_said_of_what_is_not_due(course):
    state = CourseState(course)
    assert due_line(course, BEGIN) == ""
    state.change("double", passed_on="2026-01-01")  # it has not passed
    assert due_line(course, BEGIN) == ""
    state.change("double", passed=True, passed_on=date.today().isoformat())
    assert due_line(course, BEGIN) == ""
    state.change("gone", **PASSED)  # a kata that the course has no more
    assert due_line(course, BEGIN) == ""


@pytest.mark.parametrize("why", ["order", "CI", "not installed"])
def test_nothing_is_said_where_grades_count_or_without_reviews(course, monkeypatch, write, why):
    CourseState(course).change("double", **PASSED)
    if why == "order":
        fixed = 'order = "fixed"\npath = { attention = ["double"], modules = ["center"] }\n'
        course = Course(write(course.root, {PATH: fixed}))
    if why == "CI":
        monkeypatch.setenv("CI", "true")
    if why == "not installed":
        monkeypatch.setattr("grader.plugins.find_spec", lambda _: None)
    assert due_line(course, BEGIN) == ""
    assert CourseState(course).kata("double").due_told == ""


def test_a_grading_ends_with_it_once(course, write):
    CourseState(course).change("double", **PASSED)
    write(course.root, {"exercises/attention/double.py": RIGHT})
    told = [CliRunner().invoke(grade, ["double", "--course", str(course.root)]).stdout for _ in range(2)]
    assert told[0].splitlines()[-1] == "To review today: double. Begin: grade review"
    assert "To review" not in told[1]


def test_a_report_in_a_file_and_another_folder_say_nothing(course, write, tmp_path):
    CourseState(course).change("double", **PASSED)
    write(tmp_path, {"mine/attention/double.py": RIGHT})
    for words in (["--format", "json"], ["--exercises", str(tmp_path / "mine")]):
        told = CliRunner().invoke(grade, ["double", *words, "--course", str(course.root)]).stdout
        assert "To review" not in told


@pytest.mark.parametrize(
    ("facts", "day"),
    [
        ({"passed_on": "2026-03-14"}, "2026-03-15"),
        ({"passed_on": "2026-03-10", "review_on": "2026-03-20"}, "2026-03-20"),
        ({"review_on": "never"}, "2026-03-14"),
        ({"review_on": "2999-01-01"}, "2026-03-14"),
        ({"reviews": len(REVIEW_DAYS)}, None),
    ],
    ids=["after the pass", "as it was set", "not readable", "too far", "the last one is over"],
)
def test_the_day_of_a_review_is_that_of_the_state(facts, day):
    state = KataState(passed=True, **facts)
    assert review_day(state, TODAY) == (day and date.fromisoformat(day))
    assert is_due(state, TODAY) is (day == "2026-03-14")
