"""The precision that answers to a case can have."""

import numpy as np
import pytest

from grader import expect
from grader.values.comparison import CANCELLED, Precision, first_difference, lost_digits, precision_of


def case(*numbers, dtype="float64", **others):
    return {"x": np.array(numbers, dtype=dtype), **others}


def test_it_knows_the_longest_sum_the_dtype_and_the_floor():
    found = precision_of(case(0.5, -0.25, 0.0))
    assert found == Precision(3, "float64", CANCELLED / 2)
    assert found.dtype == "float32"


def test_a_result_that_is_wider_than_the_case_has_no_more_digits():
    one, other = (np.array([1.0 + noise]) for noise in (0.0, 1e-7))
    in_float32, in_float64 = (
        precision_of(case(0.5, dtype=dtype)).tolerance(1) for dtype in ("float32", "float64")
    )
    assert first_difference(one, other, in_float32) is None
    assert first_difference(one, other, in_float64)


def test_an_expected_value_has_the_digits_of_its_dtype():
    got = np.array([1.0 + 1e-7])
    expect.close(got, np.array([1.0], "float32"), "it")
    with pytest.raises(expect.ExpectationFailed):
        expect.close(got, np.array([1.0]), "it")


@pytest.mark.parametrize("large", [1e9, -1e30, np.inf])
def test_a_mask_is_no_measure_of_what_cancels(large):
    assert precision_of(case(0.5, large)).floor <= CANCELLED


@pytest.mark.parametrize("others", [{"ids": np.arange(50)}, {"steps": 7}, {"p": 0.9}, {"name": "x"}])
def test_only_arrays_of_floats_count(others):
    assert precision_of(others).floor == 0
    assert precision_of(case(0.25, **others)).floor == CANCELLED / 4


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_terms_that_cancel_in_another_order_are_no_mistake(dtype):
    """Three numbers that add up to zero leave a different rounding error in each order."""
    terms = np.array([0.1, 0.2, -0.3], dtype=dtype)
    tolerance = precision_of(case(0.1, 0.2, -0.3, dtype=dtype)).tolerance(1)
    left, right = (terms[0] + terms[1]) + terms[2], terms[0] + (terms[1] + terms[2])
    assert first_difference(np.array([left]), np.array([right]), tolerance, dtype) is None


def test_a_small_result_is_still_held_to_what_its_inputs_allow():
    tolerance = precision_of(case(0.5, 0.25)).tolerance(16)
    assert first_difference(np.array([1e-6]), np.array([1.0001e-6]), tolerance)


def test_a_law_is_judged_with_the_precision_of_its_case():
    with pytest.raises(expect.ExpectationFailed):
        expect.close(np.array([1e-18]), np.array([0.0]), "the sum")
    with expect.precision_limit(precision_of(case(0.5))):
        expect.close(np.array([1e-18]), np.array([0.0]), "the sum")
        with pytest.raises(expect.ExpectationFailed):
            expect.close(np.array([1e-4]), np.array([0.0]), "the sum")


def test_a_number_stands_for_an_array_of_it():
    expect.close(np.ones((2, 3)), 1, "each entry")
    expect.decimals(np.array([0.333333, 0.333333]), 0.3333, 4, "each entry")
    with pytest.raises(expect.ExpectationFailed) as failed:
        expect.close(np.array([1.0, 2.0]), 1.0, "each entry")
    assert failed.value.difference.where == "[1]"


EXACT = np.array([0.1, 0.2, 0.7, 3.3])


@pytest.mark.parametrize(
    ("got", "is_float32"),
    [
        (EXACT.astype(np.float32), True),
        (EXACT.astype(np.float32).astype(np.float64), True),
        (EXACT * (1 + 1e-7), False),
        (EXACT + 1e-8, False),
        (EXACT / np.sqrt(1 + 1e-7), False),
        ((EXACT * 2).astype(np.float32), False),
    ],
    ids=["float32", "cast back", "factor", "term", "root", "wrong in the first digits"],
)
def test_float32_is_blamed_only_for_numbers_that_it_can_hold(got, is_float32):
    assert bool(lost_digits("numpy", "float64", EXACT, got)) == is_float32


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_sixteen_bits_are_told_by_numbers_that_they_can_hold(dtype):
    bfloat16 = (EXACT.astype(np.float32).view(np.uint32) + 0x8000 & 0xFFFF0000).view(np.float32)
    for rounded, name in ((EXACT.astype(np.float16), "float16"), (bfloat16, "bfloat16")):
        assert f"one that {name} can hold" in lost_digits("numpy", dtype, EXACT, rounded.astype(dtype))
    for other in (EXACT.round(2), EXACT * 1.001, np.array([0.125, 0.25, 0.75, 3.5])):
        assert lost_digits("numpy", dtype, EXACT, other) == ""


def test_float32_is_not_blamed_where_it_can_hold_the_exact_numbers():
    assert lost_digits("numpy", "float64", np.array([0.5, 1.5, 2.0]), np.array([0.5, 1.5, 2.0])) == ""
