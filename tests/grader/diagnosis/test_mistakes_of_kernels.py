"""A mistake in a kernel is named whatever the style of the kernel moves."""

from contextlib import closing
from pathlib import Path

import pytest

from grader.course.catalog import Course
from grader.course.submission import Submission
from grader.diagnosis.search_options import SearchOptions
from grader.grading.session import open_grader

ROOT = Path(__file__).resolve().parents[3]


def graded(changes):
    """Yield what `grade` says of the reference of masked_add with each change of its sum."""
    course = Course(ROOT)
    info = course.kata_info("masked_add")
    code = course.solution(info, "reference").read_text(encoding="utf-8")
    assert code.count("x + y") == 1
    grader, workers = open_grader(course, [info])
    with closing(workers):
        for change in changes:
            yield grader.grade(Submission(info, code.replace("x + y", change), "masked_add.py"))


@pytest.mark.slow
def test_wrong_numbers_are_named_in_a_style_that_loads_more():
    for one in graded(("x - y", "tl.load(x_ptr + at, mask=inside) - y")):
        (agreement,) = (check for check in one.report.checks if check.name == "agrees_with_reference")
        assert agreement.mistake.id == "subtracts"


@pytest.mark.slow
def test_where_numbers_part_is_said_inside_a_kernel():
    for one in graded(("tl.exp(x) * 0.37 + tl.exp(y) * 0.21",)):
        (repair,) = one.locate(SearchOptions()).report.repairs
    assert (repair.kind, repair.place.text[repair.place.start : repair.place.end]) == ("numbers", "tl.exp(x)")
