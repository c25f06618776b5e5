"""Values as a student would type them back."""

import numpy as np
import pytest

from grader.describing import LIMIT, counted, describe, describe_type, show

torch = pytest.importorskip("torch", reason="PyTorch is not installed")


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (1, "1"),
        (True, "True"),
        (None, "None"),
        ("a'b", '"a\'b"'),
        (1.0, "1.0"),
        (0.1, "0.1"),
        (1e-9, "1e-09"),
        (1e30, "1e+30"),
        (-np.inf, "-inf"),
        (np.nan, "nan"),
        (np.float32(0.1), "0.1"),
        (np.int8(3), "3"),
        (np.bool_(False), "False"),
        (np.array(2.0), "2.0"),
        (np.array([]), "[]"),
        (np.zeros((2, 0)), "[[], []]"),
        (np.array([[1.5, -np.inf], [0, 2]]), "[[1.5, -inf], [0.0, 2.0]]"),
        (np.array([[1, 2]]), "[[1, 2]]"),
        (np.array([True, False]), "[True, False]"),
        (torch.tensor([1.5, 2.0], dtype=torch.bfloat16), "[1.5, 2.0]"),
        (torch.tensor([[1, 2]]), "[[1, 2]]"),
        ([1, (2,), {"a": np.array([1.0])}], "[1, (2,), {'a': [1.0]}]"),
        ((1, 2), "(1, 2)"),
        ({}, "{}"),
        (object(), "<an object of type object>"),
    ],
    ids=lambda value: value if isinstance(value, str) else type(value).__name__,
)
def test_values_are_shown_so(value, text):
    assert show(value) == text


def test_more_digits_can_be_asked_for():
    assert show(1 / 3) == "0.333333"
    assert show(1 / 3, digits=3) == "0.333"
    assert show(np.array([1 / 3]), digits=17) == "[0.33333333333333331]"


def test_complex_numbers_can_be_shown():
    assert "2" in show(np.array([1 + 2j]))


def test_long_arrays_are_cut_to_a_row():
    assert show(np.arange(1000)) == "[0, 1, 2, 3, 4, …]    at [0:5]"
    assert show(np.arange(1000), around=(999,)) == "[…, 995, 996, 997, 998, 999]    at [995:1000]"
    assert show(np.arange(1000).reshape(10, 100), around=(2, 50)) == (
        "[…, 246, 247, 248, 249, 250, 251, 252, 253, 254, …]    at [2, 46:55]"
    )


@pytest.mark.parametrize("shape", [(1000,), (500, 2), (1, 1, 1000), (2000, 1, 1)])
def test_arrays_of_any_shape_stay_short(shape):
    assert len(show(np.zeros(shape))) <= LIMIT


@pytest.mark.parametrize("value", [[0] * 10_000, "x" * 10_000, 10**3000], ids=["list", "text", "integer"])
def test_everything_else_stays_short_too(value):
    assert len(show(value)) <= 2 * LIMIT


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (np.zeros((2, 3), dtype=np.float32), "float32 (2, 3)"),
        (np.zeros(()), "float64 ()"),
        (np.float32(1), "float32 ()"),
        (torch.zeros(1, 2, dtype=torch.bfloat16), "bfloat16 (1, 2)"),
        (3, "int 3"),
        (2.5, "float 2.5"),
        (True, "bool True"),
        (None, "None"),
        ("x", "a string"),
        ([1, 2], "a list of 2"),
        ((), "a tuple of 0"),
        ({"b": 1, 2: 3}, "a dict with the keys ['2', 'b']"),
        (object(), "an object of type object"),
    ],
    ids=lambda value: value if isinstance(value, str) else type(value).__name__,
)
def test_kinds_are_described_so(value, text):
    assert describe(value) == text
    assert describe_type(value) == text


def test_axes_are_named_from_the_last():
    x = np.zeros((2, 3))
    assert describe(x, ["batch", "tokens"]) == "float64 (batch=2, tokens=3)"
    assert describe(x, ["tokens"]) == "float64 (2, tokens=3)"
    assert describe(x, ["heads", "batch", "tokens"]) == "float64 (batch=2, tokens=3)"


def test_an_object_that_stays_elsewhere_is_named_by_its_own_class():
    class Proxy:
        type_name = "Cache"

    assert describe(Proxy()) == "an object of type Cache"


def test_one_of_a_thing_is_told_in_the_singular():
    assert [counted(number, "gap") for number in (0, 1, 2)] == ["0 gaps", "1 gap", "2 gaps"]
