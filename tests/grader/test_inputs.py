"""An input that has to tell a wrong function from a right one: what it may be, and when it does."""

import numpy as np
import pytest

from grader.inputs import Versions


def double(x, times):
    return x * 2**times


def doubled_size(x, times):
    return abs(x) * 2**times


def raising(x, times):
    raise ValueError(f"no {x} {times}")


def allowed(x, times):
    if getattr(x, "ndim", 0) != 1:
        return "x must be a list of numbers."
    return "" if times in range(3) else "times is 0, 1 or 2."


WRONG = {"NEGATIVE": doubled_size, "ANY": raising, "NEVER": double}
RAGGED = "NEGATIVE: x is no array: its rows have different lengths."
VERSIONS = Versions(right=double, wrong=WRONG, allowed=allowed, most=4)


@pytest.mark.parametrize(
    ("name", "value", "sentence"),
    [
        ("NEGATIVE", {"x": (-1.0,), "times": 1}, ""),
        ("NEGATIVE", {"x": (-1,), "times": 0}, ""),
        ("ANY", {"x": (1.0,), "times": 0}, ""),
        ("NEGATIVE", {"x": (1.0, 2.0), "times": 1}, "NEGATIVE: both give [2.0, 4.0]."),
        ("NEGATIVE", {"x": (-1e-7, 1.0), "times": 0}, "NEGATIVE: both give [-1e-07, 1.0]."),
        ("NEVER", {"x": (-1.0,), "times": 2}, "NEVER: both give [-4.0]."),
        ("NEGATIVE", {"x": (1.0,), "times": 3}, "NEGATIVE: times is 0, 1 or 2."),
        ("NEGATIVE", {"x": 1.0, "times": 0}, "NEGATIVE: x must be a list of numbers."),
        ("NEGATIVE", {"x": ((1.0,), (1.0, 2.0)), "times": 0}, RAGGED),
        ("NEGATIVE", {"x": (1.0,) * 4, "times": 0}, "NEGATIVE has 5 numbers, and may have 4."),
        ("NEGATIVE", (1.0,), 'NEGATIVE must be a dict of the arguments: {"x": …, "times": …}.'),
        ("NEGATIVE", {"x": (1.0,)}, 'NEGATIVE must be a dict of the arguments: {"x": …, "times": …}.'),
    ],
)  # fmt: skip
def test_an_input_tells_two_functions_apart_or_a_sentence_says_why_not(name, value, sentence):
    assert VERSIONS.complaint(name, value) == sentence


@pytest.mark.parametrize(
    "item", ["-1", None, float("nan"), float("inf"), 10**7, 10**300, 1j, object(), {1.0}, [1.0], np.zeros(1)]
)
def test_nothing_but_small_numbers_reaches_the_functions(item):
    sentence = "NEGATIVE must hold numbers and lists of numbers up to 1,000,000, and nothing else."
    assert VERSIONS.complaint("NEGATIVE", {"x": (item,), "times": 0}) == sentence


def test_what_a_function_does_to_its_arguments_does_not_reach_the_other():
    def right(x):
        x += 1
        return x

    versions = Versions(right=right, wrong={"SAME": lambda x: x + 1}, allowed=lambda **_: "")
    assert versions.complaint("SAME", {"x": (1.0,)}) == "SAME: both give [2.0]."


def test_results_of_other_shapes_differ_and_nan_is_like_nan():
    def versions(wrong):
        return Versions(right=lambda x: x / 0, wrong={"IT": wrong}, allowed=lambda **_: "")

    assert versions(lambda x: x * np.nan).complaint("IT", {"x": (0.0, 0.0)}) == "IT: both give [nan, nan]."
    assert versions(lambda x: x[:1] * np.nan).complaint("IT", {"x": (0.0, 0.0)}) == ""
    assert versions(lambda x: x).complaint("IT", {"x": (0.0, 0.0)}) == ""


def a_little_more(x, times):
    return x * 2**times * 1.005


def test_how_close_results_may_be_is_declared():
    versions = Versions(right=double, wrong={"IT": a_little_more}, allowed=allowed, close=0.01)
    assert versions.complaint("IT", {"x": (1.0, 3.0), "times": 1}) == "IT: both give [2.0, 6.0]."
