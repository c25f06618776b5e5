"""Which of several causes a report begins with."""

from dataclasses import replace
from pathlib import Path

import pytest

from grader.course.catalog import Course
from grader.course.submission import parse
from grader.diagnosis.matcher import MistakeMatcher
from grader.formats import account
from grader.formats.terminal import render_kata
from grader.grading.session import open_grader
from grader.report import CheckReport, KataReport, Mistake

ROOT = Path(__file__).resolve().parents[3]
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


VALUES = failing("agrees_with_reference", role="ordinary", expected="[0.5]", got="[0.3]")
TYPES = failing("keeps_the_dtype", DTYPE, role="dtype")
LAW = failing("slices_sum_to_one", "The sum of each slice: 2.0 at [0], should be 1.0.")
EXTREME = failing("extreme_scores", account.NAN, expected="[1.0]", got="[nan]")


def test_where_ordinary_numbers_are_wrong_a_dtype_and_nan_of_extreme_cases_come_last():
    assert order(TYPES, VALUES, EXTREME, LAW) == [
        "agrees_with_reference",
        "slices_sum_to_one",
        "keeps_the_dtype",
        "extreme_scores",
    ]


@pytest.mark.parametrize("other", [LAW, EXTREME])
def test_where_ordinary_numbers_are_right_a_dtype_keeps_its_place(other):
    assert order(TYPES, other) == ["keeps_the_dtype", other.name]
    ordinary = failing(
        "agrees_with_reference",
        "The result is int8 (2); it must be bool (2).",
        expected="bool",
        role="ordinary",
    )
    assert order(ordinary, TYPES) == ["agrees_with_reference", "keeps_the_dtype"]


def test_a_forgotten_axis_is_told_before_the_dtype_and_the_overflow():
    course = Course(ROOT)
    info = course.kata_info("softmax")
    grader, factories = open_grader(course, [info])
    grader.matchers = {"softmax": MistakeMatcher([])}  # which would name both mistakes
    try:
        report = grader.grade(parse(info, AXIS, "softmax.py")).report
    finally:
        factories.close()
    assert account.told(report).words == "The result differs from the reference's."
    assert any(line.startswith("The sum of each slice: ") for line in account.told(report).others)
    assert DTYPE in account.told(report).others


NO_SCALE = Mistake("no_scale", "The scores are not divided by the root of d_k. What is d_k here?")
NO_MAX = Mistake("no_max", "Large scores give NaN: the largest one is not subtracted. Which number may be?")


def terminal(*checks):
    return " ".join(render_kata(KataReport("softmax", "attention", "failed", 1000, checks=checks)).split())


def test_of_two_mistakes_both_sentences_are_told_in_full():
    text = terminal(failing("law", mistake=NO_SCALE), failing("extreme", mistake=NO_MAX))
    assert text.index(NO_SCALE.text) < text.index(NO_MAX.text)
    assert "2 of 2 checks fail, 2 reasons, each described as if it were the only one" in text


def test_a_mistake_that_explains_a_part_is_told_as_one_of_the_reasons():
    part = Mistake("no_scale", NO_SCALE.text, partial=True)
    text = terminal(failing("law", mistake=part), failing("extreme", "The result holds NaN."))
    assert text.startswith(f"softmax 0 / 10 One of the reasons: {NO_SCALE.text} 2 of 2 checks fail")
    assert "✗ The result holds NaN." in text


def test_a_possibility_is_told_whichever_check_it_belongs_to():
    guess = Mistake("no_max", NO_MAX.text, certain=False)
    assert f"One possibility: {NO_MAX.text}" in terminal(LAW, failing("extreme", mistake=guess))
    part = failing("law", mistake=Mistake("no_max", NO_MAX.text, partial=True))
    assert "One possibility" not in terminal(part, failing("extreme", mistake=guess))  # it is said already


def test_a_call_without_its_values_has_none_that_belongs_to_an_object():
    """`table` is part of the model, which has no short code."""
    call = "import torch\ntable = torch.ones(2)\ncache = Cache(2)\nadd(cache)\ngenerate(model, [[1]])"
    check = failing("agrees_with_reference", counterexample={"model": "<an object>"})
    check = replace(check, call=call)
    assert account.in_short(check).call == "cache = Cache(2)\nadd(cache)\ngenerate(model, [[1]])"


def test_a_call_with_an_equals_sign_in_a_text_is_kept():
    call = "from byte_pair_encoding import encode\nencode('a = b', merges)"
    check = replace(failing("agrees_with_reference", counterexample={"merges": "[]"}), call=call)
    assert account.in_short(check).call == "encode('a = b', merges)"
