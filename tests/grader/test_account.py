"""Which of several causes a report begins with."""

from pathlib import Path

import pytest

from grader.course.catalog import Course
from grader.course.submission import parse
from grader.formats import account
from grader.grading.session import open_grader
from grader.report import CheckReport, KataReport

ROOT = Path(__file__).resolve().parents[2]
AXIS = """\
import numpy as np


def softmax(x, axis=-1):
    return np.exp(x) / np.sum(np.exp(x))
"""
DTYPE = "The result is float16; it must be float64."


def failing(name, message="", **facts):
    return CheckReport(name, f"{name}.", "failed", 0, 100, message, call=f"softmax({name})", **facts)


def order(*checks):
    report = KataReport("softmax", "attention", "failed", 1000, checks=checks)
    return [cause.first.name for cause in account.causes(report)]


VALUES = failing("agrees_with_reference", expected="[0.5]", got="[0.3]")
TYPES = failing("keeps_the_dtype", DTYPE)
LAW = failing("slices_sum_to_one", "The sum of each slice is not what it must be.", expected="1", got="2")
EXTREME = failing("extreme_scores", account.NAN, expected="[1.0]", got="[nan]")


def test_where_ordinary_numbers_are_wrong_a_dtype_and_nan_of_extreme_cases_come_last():
    assert order(TYPES, VALUES, EXTREME, LAW) == [
        "slices_sum_to_one",
        "agrees_with_reference",
        "keeps_the_dtype",
        "extreme_scores",
    ]


@pytest.mark.parametrize("other", [LAW, EXTREME])
def test_where_ordinary_numbers_are_right_a_dtype_keeps_its_place(other):
    assert order(TYPES, other) == ["keeps_the_dtype", other.name]
    ordinary = failing(
        "agrees_with_reference", "The result is int8 (2); it must be bool (2).", expected="bool"
    )
    assert order(ordinary, TYPES) == ["agrees_with_reference", "keeps_the_dtype"]


def test_a_forgotten_axis_is_told_before_the_dtype_and_the_overflow():
    course = Course(ROOT)
    info = course.kata_info("softmax")
    grader, factories = open_grader(course, [info])
    try:
        report = grader.grade(parse(info, AXIS, "softmax.py")).report
    finally:
        factories.close()
    assert account.told(report).words == "The sum of each slice is not what it must be."
    assert DTYPE in account.told(report).others
