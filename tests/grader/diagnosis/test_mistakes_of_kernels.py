"""A mistake in a kernel is named whatever the style of the kernel moves."""

from contextlib import closing
from pathlib import Path

import pytest

from grader.course.catalog import Course
from grader.course.submission import Submission
from grader.diagnosis.search_options import SearchOptions
from grader.grading.session import open_grader

ROOT = Path(__file__).resolve().parents[3]


@pytest.mark.slow
def test_wrong_numbers_are_named_in_a_style_that_loads_more():
    course = Course(ROOT)
    info = course.kata_info("masked_add")
    code = course.solution(info, "reference").read_text(encoding="utf-8")
    plain = code.replace("x + y", "x - y")
    again = code.replace("x + y", "tl.load(x_ptr + at, mask=inside) - y")
    assert again != plain != code
    grader, workers = open_grader(course, [info])
    with closing(workers):
        reports = [grader.grade(Submission(info, text, "masked_add.py")).report for text in (plain, again)]
    for report in reports:
        (agreement,) = (check for check in report.checks if check.name == "agrees_with_reference")
        assert agreement.mistake.id == "subtracts"


@pytest.mark.slow
def test_where_numbers_part_is_said_inside_a_kernel():
    course = Course(ROOT)
    info = course.kata_info("masked_add")
    code = course.solution(info, "reference").read_text(encoding="utf-8")
    changed = code.replace("x + y", "tl.exp(x) * 0.37 + tl.exp(y) * 0.21")
    grader, workers = open_grader(course, [info])
    with closing(workers):
        graded = grader.grade(Submission(info, changed, "masked_add.py"))
        (repair,) = graded.locate(SearchOptions()).report.repairs
    assert (repair.kind, repair.place.text[repair.place.start : repair.place.end]) == ("numbers", "tl.exp(x)")
