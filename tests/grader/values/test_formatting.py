"""Values are formatted as a student would type them."""

import contextlib
import sys

import numpy as np
import pytest

from grader.texts.phrases import counted
from grader.values.formatting import LIMIT, axis_names, describe, describe_type, show, show_pair
from grader.worker.protocol.codec import Handle, TensorOutline

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
def test_a_value_is_shown_so(value, text):
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


def nested(value, levels):
    for level in range(levels):
        value = {"k" * 200: value} if level % 2 else [0, value]
    return value


HUGE = {
    "list": [0] * 100_000,
    "tuple": (0.1,) * 100_000,
    "lists": [[0] * 1000] * 100,
    "dict": dict.fromkeys(range(10_000)),
    "long keys": {f"{i:0200}": 0 for i in range(10_000)},
    "nested": nested(0, 24),
    "nested lists": nested([0] * 10_000, 24),
    "text": "x" * 2**20,
    "control characters": "\U000e0001\n" * 1000,
    "texts": ["\u202e" * 1000] * 1000,
    "integer": 10**3000,
    "integers": [10**299] * 1000,
    "array": np.zeros((1024, 1024)),
    "deep array": np.full((1,) * 15 + (1000,), 1 / 3),
    "rows without entries": np.zeros((2**20, 0)),
    "entries without rows": np.zeros((0, 2**20)),
    "complex numbers": np.full(1000, -1 / 3 - 1j / 3),
    "arrays": [np.zeros((1024, 0))] * 1000,
    "tensor": torch.zeros(1024, 1024, dtype=torch.bfloat16),
    "tensor without values": torch.zeros(2**20, device="meta"),
    "phantom": TensorOutline("float32", (2**20,) * 16, "x" * 80),
    "handle": Handle(1, "x" * 80),
}


@pytest.mark.parametrize("value", HUGE.values(), ids=list(HUGE))
@pytest.mark.parametrize(
    "text_of", [show, describe, describe_type, lambda value: show_pair(value, [value])[1]]
)
def test_texts_and_the_work_on_them_are_bounded(text_of, value):
    with calls_counted() as count:
        text = text_of(value)
    assert len(text) <= 3 * LIMIT
    assert count.calls <= 30_000
    assert "\n" not in text


class Count:
    calls = 0


@contextlib.contextmanager
def calls_counted():
    """Count function calls, whose number does not depend on the machine."""
    count = Count()

    def note(_frame, event, _function):
        count.calls += event in ("call", "c_call")

    sys.setprofile(note)
    try:
        yield count
    finally:
        sys.setprofile(None)


@pytest.mark.parametrize(
    ("value", "around", "text"),
    [
        (list(range(1000)), (), "[0, 1, 2, 3, 4, …]    at [0:5]"),
        (tuple(range(1000)), (999,), "(…, 995, 996, 997, 998, 999)    at [995:1000]"),
        (list(range(1000)), (5000,), "[…, 995, 996, 997, 998, 999]    at [995:1000]"),
        ([[], list(range(1000))], (1, 3), "[0, 1, 2, 3, 4, 5, 6, 7, …]    at [1, 0:8]"),
        ([[0] * 200, "b"] * 99, (1,), "[…, 'b', …, 'b', …, 'b', …]    at [0:6]"),
        ([0, np.arange(1000)], (1, 2), "[0, 1, 2, 3, 4, 5, 6, …]    at [1, 0:7]"),
        ("ab" * 500, (), repr("ab" * 20) + "…    at [0:40]"),
        ("ab" * 500, (500,), "…" + repr("ab" * 40) + "…    at [460:540]"),
        (["", "x" * 1000], (1, 990), "…" + repr("x" * 50) + "    at [1, 950:1000]"),
        (dict.fromkeys(range(1000)), (), "a dict with 1000 keys"),
        (np.zeros((500, 0)), (), "an array of shape (500, 0)"),
        (np.zeros((0, 500)), (), "an array of shape (0, 500)"),
        (10**300, (), "an integer of more than 300 digits"),
    ],
    ids=str,
)
def test_long_values_are_cut_so(value, around, text):
    assert show(value, around=around) == text


def test_many_keys_are_counted():
    assert describe(dict.fromkeys(range(1000))) == "a dict with 1000 keys"


def test_a_double_tensor_keeps_its_digits():
    assert show(torch.tensor([1 / 3], dtype=torch.float64), digits=17) == "[0.33333333333333331]"


class TestPairs:
    """Two values that differ never look equal where they differ."""

    @pytest.mark.parametrize(
        ("expected", "got", "around", "texts"),
        [
            (np.array([0.89661, 0.1]), np.array([0.89664, 0.9]), (0,), ("[0.89661, 0.1]", "[0.89664, 0.9]")),
            (10001.0, 10002.0, (), ("10001.0", "10002.0")),
            (1.0, np.nextafter(1, 2), (), ("1.0", "1.0000000000000002")),
            ([1, 2], [1, 2, 3], (2,), ("[1, 2]", "[1, 2, 3]")),
            ([1], ["1"], (0,), ("[1]", "['1']")),
        ],
    )
    def test_digits_follow_the_entries_that_differ(self, expected, got, around, texts):
        assert show_pair(expected, got, around) == texts

    def test_both_are_cut_where_one_is_too_long(self):
        short, long = np.full(70, 0.5), np.full(70, 0.1234)
        assert show_pair(short, long, (0,)) == (
            "[0.5, 0.5, 0.5, 0.5, 0.5, …]    at [0:5]",
            "[0.1234, 0.1234, 0.1234, 0.1234, 0.1234, …]    at [0:5]",
        )

    def test_long_lists_are_cut_around_the_place(self):
        expected, got = [0] * 1000, [0] * 1000
        got[500] = 1
        assert show_pair(expected, got, (500,)) == (
            "[…, 0, 0, 0, 0, 0, 0, 0, 0, 0, …]    at [496:505]",
            "[…, 0, 0, 0, 0, 1, 0, 0, 0, 0, …]    at [496:505]",
        )

    def test_long_texts_are_cut_around_the_place(self):
        expected, got = show_pair("x" * 2000, "x" * 1500 + "y" * 500, (1500,))
        assert expected == "…" + repr("x" * 80) + "…    at [1460:1540]"
        assert got == "…" + repr("x" * 40 + "y" * 40) + "…    at [1460:1540]"


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
        ({"b": 1, 2: 3}, "a dict with the keys [2, 'b']"),
        (object(), "an object of type object"),
    ],
    ids=lambda value: value if isinstance(value, str) else type(value).__name__,
)
def test_a_type_is_described_so(value, text):
    assert describe(value) == text
    assert describe_type(value) == text


def test_axes_are_named_from_the_last():
    x = np.zeros((2, 3))
    assert describe(x, ["batch", "tokens"]) == "float64 (batch=2, tokens=3)"
    assert describe(x, ["tokens"]) == "float64 (2, tokens=3)"
    assert describe(x, ["heads", "batch", "tokens"]) == "float64 (batch=2, tokens=3)"


def test_an_axis_in_brackets_is_missing_in_arrays_with_fewer_axes():
    names = "batch [tokens] d_k"
    assert axis_names(names) == axis_names(names, 3) == axis_names(names, 4) == ["batch", "tokens", "d_k"]
    assert axis_names(names, 2) == ["batch", "d_k"]
    assert axis_names("batch tokens d_k", 2) == ["batch", "tokens", "d_k"]


def test_a_proxy_is_described_by_the_class_of_its_object():
    class Proxy:
        type_name = "Cache"

    assert describe(Proxy()) == "an object of type Cache"


def test_one_is_counted_in_the_singular():
    assert [counted(number, "gap") for number in (0, 1, 2)] == ["0 gaps", "1 gap", "2 gaps"]
