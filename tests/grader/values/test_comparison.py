"""Results are equal within a tolerance, and the first difference is described."""

import numpy as np
import pytest

from grader.values.arrays import dtype_name, terms_of, to_numpy
from grader.values.comparison import Tolerance, first_difference, recording_margin
from grader.worker.protocol.codec import TensorOutline

EXACT = Tolerance(terms=0)


def difference(expected, got, tolerance=EXACT, dtype=None):
    """Return the difference on one line: kind, expected, got, where."""
    found = first_difference(expected, got, tolerance, dtype)
    return found and f"{found.kind}: {found.expected} | {found.got} | {found.where}"


def array(*values, dtype="float64"):
    return np.array(values, dtype=dtype)


class TestTolerance:
    def test_it_follows_from_dtype_terms_and_roundings(self):
        assert Tolerance(3, 2).relative("float64") == 64 * 2.0**-52 * 6
        assert Tolerance(1).relative("float32") == 64 * 2.0**-23
        assert Tolerance(5).relative("int64") == 0

    @pytest.mark.parametrize("dtype", ["float32", "float64", "float16"])
    def test_a_rounding_is_allowed_and_a_thousand_are_not(self, dtype):
        one, eps = np.ones(2, dtype=dtype), np.finfo(dtype).eps
        assert difference(one, one + eps, Tolerance()) is None
        assert difference(one, one + 1000 * eps, Tolerance())

    def test_small_entries_are_measured_by_the_largest(self):
        assert difference(array(1e6, 0), array(1e6, 1e-9), Tolerance()) is None
        assert difference(array(1, 0), array(1, 1e-9), Tolerance())

    def test_an_infinity_does_not_widen_it(self):
        assert difference(array(np.inf, 1), array(np.inf, 1.5), Tolerance()) == (
            "value: [inf, 1.0] | [inf, 1.5] | [1]"
        )

    def test_the_dtype_can_be_given(self):
        assert difference(array(1), array(1 + 1e-7), Tolerance(), "float32") is None
        assert difference(array(1), array(1 + 1e-7), Tolerance())

    @pytest.mark.parametrize(
        ("dtype", "terms"), [("float32", 64), ("float16", 1), ("float16", 8), ("bfloat16", 1)]
    )
    def test_zeros_are_never_ones(self, dtype, terms):
        torch = pytest.importorskip("torch", reason="PyTorch is not installed")
        zeros = torch.zeros(2, dtype=getattr(torch, dtype))
        assert difference(array(1, 1), zeros, Tolerance(terms))

    def test_integers_are_compared_exactly(self):
        assert difference(np.array([2**53]), np.array([2**53 + 1]), Tolerance(terms=99))

    def test_plain_floats_have_the_tolerance_of_float64(self):
        assert difference(0.3, 0.1 + 0.2, Tolerance()) is None

    def test_terms_are_the_longest_axis(self):
        assert terms_of({"x": np.zeros((2, 7)), "y": [np.zeros(9)], "n": 40}) == 9
        assert terms_of({}) == terms_of(5) == terms_of(np.zeros(0)) == 1


class TestSpecialValues:
    def test_nan_equals_nan_within_a_tolerance(self):
        assert difference(array(np.nan), array(np.nan), Tolerance()) is None

    def test_nan_equals_nan_exactly(self):
        assert difference(array(np.nan), array(np.nan)) is None

    @pytest.mark.parametrize("got", [np.nan, -np.inf, 1e308])
    def test_an_infinity_equals_itself_alone(self, got):
        assert difference(array(np.inf), array(np.inf), Tolerance()) is None
        assert difference(array(np.inf), array(got), Tolerance())
        assert difference(array(got), array(np.inf), Tolerance())

    @pytest.mark.parametrize("tolerance", [EXACT, Tolerance(1000, 1000)], ids=["exact", "wide"])
    def test_nan_is_never_a_number(self, tolerance):
        assert difference(array(0, 0), array(0, np.nan), tolerance) == "value: [0.0, 0.0] | [0.0, nan] | [1]"

    def test_empty_arrays_are_equal(self):
        assert difference(np.zeros((0, 3)), np.zeros((0, 3)), Tolerance()) is None

    def test_large_numbers_do_not_overflow_into_agreement(self):
        assert difference(array(1e308), array(-1e308), Tolerance())


class TestKinds:
    def test_bool_and_integer_are_apart(self):
        assert difference(np.array([True]), np.array([1])) == "dtype: bool (1) | int64 (1) | "
        assert difference(True, 1) == "dtype: bool True | int 1 | "
        assert difference(2.0, 2, Tolerance()) is None
        assert difference(2, 2.0) == "type: int 2 | float 2.0 | "

    def test_short_rows_of_integers_are_shown_with_their_numbers(self):
        two, one = np.array([3, 1]), np.array([3])
        assert difference(two, one) == "shape: int64 (2): [3, 1] | int64 (1): [3] | "
        assert difference(two, [3, 1]) == "type: int64 (2): [3, 1] | a list of 2: [3, 1] | "
        assert difference(two, np.array([3], "int32")) == (
            "shape: an array of shape (2,): [3, 1] | an array of shape (1,): [3] | "
        )
        assert difference(np.arange(17), one) == "shape: int64 (17) | int64 (1) | "
        assert difference(two, array(1)) == "shape: an array of shape (2,) | an array of shape (1,) | "

    def test_numbers_and_arrays_without_axes_are_alike(self):
        assert difference(np.float64(2), 2.0) is None
        assert difference(np.array(3), 3) is None
        assert difference(True, np.bool_(True)) is None

    def test_float_widths_are_no_difference_of_values(self):
        assert difference(array(1, 2), array(1, 2, dtype="float32"), Tolerance()) is None

    def test_other_objects_equal_only_objects_of_their_type(self):
        assert difference(None, None) is None
        assert difference("a", "a") is None
        assert difference("a", "b") == "value: 'a' | 'b' | "
        assert difference(None, 0) == "type: None | int 0 | "

    def test_an_object_whose_eq_is_always_true_is_not_equal(self):
        class Yes:
            type_name = "Yes"

            def __eq__(self, other):
                return True

            __hash__ = None

        assert difference(array(1), Yes()) == "type: float64 (1) | an object of type Yes | "
        assert difference("text", Yes()) == "type: a string | an object of type Yes | "

    def test_tensors_are_compared_by_their_values(self):
        torch = pytest.importorskip("torch", reason="PyTorch is not installed")
        ones = torch.ones(2, dtype=torch.bfloat16)
        assert difference(array(1, 1), ones, Tolerance()) is None
        assert difference(array(1, 3), ones.float(), Tolerance()) == "value: [1.0, 3.0] | [1.0, 1.0] | [1]"
        assert dtype_name(ones) == "bfloat16"
        assert to_numpy(ones).dtype == "float32"


class TestWording:
    """The shape is reported before values, and the expected value before the actual one."""

    @pytest.mark.parametrize(
        ("expected", "got", "words"),
        [
            (np.zeros((2, 3)), np.zeros((3, 2)), "shape: float64 (2, 3) | float64 (3, 2) | "),
            (np.zeros(2), [0, 0], "type: float64 (2) | a list of 2 | "),
            (np.zeros(2), None, "type: float64 (2) | None | "),
            (1.5, "1.5", "type: float 1.5 | a string | "),
            (
                np.zeros((2, 2)),
                np.eye(2),
                "value: [[0.0, 0.0], [0.0, 0.0]] | [[1.0, 0.0], [0.0, 1.0]] | [0, 0]",
            ),
            (1.0, 2.0, "value: 1.0 | 2.0 | "),
            ([1, 2], [1], "length: [1, 2] | [1] | "),
            ([1, [2, 3]], (1, [2, 4]), "value: 3 | 4 | [1][1]"),
            ((1,), 1, "type: a tuple of 1 | int 1 | "),
            ({"a": 1}, {"b": 1}, "type: the keys ['a'] | the keys ['b'] | "),
            ({"a": 1}, [1], "type: a dict with the keys ['a'] | a list of 1 | "),
            (
                {"a": {"b": np.zeros(2)}},
                {"a": {"b": np.ones(2)}},
                "value: [0.0, 0.0] | [1.0, 1.0] | a['b'][0]",
            ),
        ],
    )
    def test_a_difference_is_described_so(self, expected, got, words):
        assert difference(expected, got) == words

    def test_unequal_numbers_look_unequal(self):
        assert difference(array(1), array(1 + 1e-6)) == "value: [1.0] | [1.000001] | [0]"
        assert difference(array(1), array(np.nextafter(1, 2))) == "value: [1.0] | [1.0000000000000002] | [0]"

    def test_the_first_difference_is_told_apart_beside_larger_ones(self):
        expected, got = array(0.89661, 0.1), array(0.89664, 0.9)
        assert difference(expected, got) == "value: [0.89661, 0.1] | [0.89664, 0.9] | [0]"
        assert difference(array(1e4, 1), array(10001, 2)) == "value: [10000.0, 1.0] | [10001.0, 2.0] | [0]"

    def test_keys_that_differ_look_unequal(self):
        assert difference({1: 0}, {"1": 0}) == "type: the keys [1] | the keys ['1'] | "
        many = {f"k{i:03}": 0 for i in range(200)}
        assert difference(many, many | {"k1x": 0}) == (
            "type: the keys […, 'k195', 'k196', 'k197', 'k198', 'k199']    at [195:200]"
            " | the keys […, 'k196', 'k197', 'k198', 'k199', 'k1x']    at [196:201]"
            " | "
        )
        assert difference({"k" * 500: 0}, {"k" * 499 + "x": 0}) == (
            f"type: the keys …{'k' * 41!r}    at [0, 459:500]"
            f" | the keys …{'k' * 40 + 'x'!r}    at [0, 459:500] | "
        )

    def test_lists_of_other_lengths_are_cut_at_their_first_difference(self):
        assert difference([1, 2, 3], [1, 3]) == "length: [1, 2, 3] | [1, 3] | "
        assert difference([1], [1] * 17) == "length: [1] | 17 items | "
        assert difference(["x" * 300] * 2, ["x" * 300, "y" * 300, "z"]) == (
            f"length: {'x' * 40!r}…    at [1, 0:40] | {'y' * 40!r}…    at [1, 0:40] | "
        )

    def test_keys_in_a_path_are_short(self):
        long = "k\n" * 100
        assert difference({long: 1}, {long: 2}) == f"value: 1 | 2 | [{repr(long)[:40]}…]"
        assert difference({"a": {long: 1}}, {"a": {long: 2}}) == f"value: 1 | 2 | a[{repr(long)[:40]}…]"
        assert difference({"two words": 1}, {"two words": 2}) == "value: 1 | 2 | two words"

    def test_long_arrays_are_cut_around_the_first_difference(self):
        got = np.zeros((2, 300))
        got[1, 150:] = 1
        assert difference(np.zeros((2, 300)), got) == (
            "value: […, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, …]    at [1, 146:155]"
            " | […, 0.0, 0.0, 0.0, 0.0, 1.0, 1.0, 1.0, 1.0, 1.0, …]    at [1, 146:155] | [1, 150]"
        )


def test_a_tensor_without_values_does_not_look_like_the_expected_array():
    found = first_difference(np.int8(0), TensorOutline("int8", (), "lazy"), Tolerance())
    assert (found.expected, found.got) == ("int8 ()", "int8 () without values")


def test_a_wrong_shape_does_not_blame_the_dtype():
    found = first_difference(np.zeros((2, 3)), np.zeros((3, 2), "float32"), Tolerance())
    assert (found.kind, found.expected) == ("shape", "an array of shape (2, 3)")
    assert found.got == "an array of shape (3, 2)"
    same = first_difference(np.zeros((2, 3)), np.zeros((3, 2)), Tolerance())
    assert (same.expected, same.got) == ("float64 (2, 3)", "float64 (3, 2)")


def test_the_largest_share_of_a_tolerance_is_that_of_values_that_agree():
    allowed = Tolerance().relative("float64") * 2
    with recording_margin() as margin:
        assert difference(array(1, 1), array(1, 1 + allowed / 4), Tolerance()) is None
        assert difference(array(1, 1), array(1 + 0.9 * allowed, 2), Tolerance())
    assert margin.largest == pytest.approx(0.25, rel=0.01)
