"""Encoding and decoding preserve values to the bit, and invalid bytes raise Malformed."""

import contextlib
import json
import math
from itertools import permutations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from grader.answer_keys import answers
from grader.answer_keys.file import KataKey, KeyFile, pack, write
from grader.values.arrays import laid_out
from grader.worker.protocol import codec
from grader.worker.protocol.codec import (
    DTYPES,
    FILE_LIMITS,
    MAX_DEPTH,
    MAX_KEY,
    Callback,
    Handle,
    Malformed,
    MessageLimits,
    TensorOutline,
    decode,
    encode,
)

FUZZ = settings(derandomize=True, database=None, deadline=None)  # as many examples as the profile says
NUMPY_DTYPES = sorted(DTYPES - {"bfloat16"})


def sent(value):
    header, buffers = encode({"value": value})
    return decode(header, bytearray(b"".join(buffers)))["value"]


def same_to_the_bit(a, b):
    return a.dtype == b.dtype and a.shape == b.shape and a.tobytes() == b.tobytes()


PLAIN = [None, True, False, 0, -1, 2**80, 0.1, -0.0, math.inf, "", "ä\n\x00\ud800", [], (), {}]


@pytest.mark.parametrize("value", PLAIN, ids=repr)
def test_plain_values_keep_value_and_type(value):
    got = sent(value)
    assert type(got) is type(value)
    assert repr(got) == repr(value)


def test_nan_stays_nan():
    assert math.isnan(sent(math.nan))


def test_tuples_and_lists_are_told_apart():
    value = [(1, [2, ()]), [(3,)]]
    assert repr(sent(value)) == repr(value)


def test_dict_keys_keep_their_type_and_order():
    value = {"b": 1, 2: "two", "2": 3, "a": {0: None}}
    assert list(sent(value).items()) == list(value.items())


def test_dicts_that_look_like_tags_stay_dicts():
    value = {"t": [1], "a": 0}
    assert sent(value) == value
    assert sent({"a": 0}) == {"a": 0}


@pytest.mark.parametrize("dtype", NUMPY_DTYPES)
def test_every_allowed_dtype_survives(dtype):
    array = np.arange(6).reshape(2, 3).astype(dtype)
    assert same_to_the_bit(sent(array), array)


@pytest.mark.parametrize("dtype", NUMPY_DTYPES)
def test_numpy_scalars_stay_scalars(dtype):
    scalar = np.ones((), dtype=dtype)[()]
    assert type(sent(scalar)) is type(scalar)
    assert sent(scalar) == scalar


def test_arrays_without_axes_stay_arrays():
    got = sent(np.array(2.5))
    assert type(got) is np.ndarray
    assert got.shape == ()


@pytest.mark.parametrize("shape", [(0,), (0, 3), (2, 0), (1, 0, 2)])
def test_empty_arrays_keep_their_shape(shape):
    array = np.zeros(shape, dtype=np.int16)
    assert same_to_the_bit(sent(array), array)


@pytest.mark.parametrize("order", list(permutations(range(4))))
def test_what_is_read_back_is_written_alike(order):
    """An axis of length 1 may have any stride, so it must not decide the order of the axes."""
    array = np.arange(12.0).reshape(1, 3, 1, 4).transpose(order)
    assert encode({"value": sent(array)}) == encode({"value": array})


@pytest.mark.parametrize("order", [(0, 1, 2), (2, 1, 0), (1, 2, 0), (0, 2, 1)])
def test_strides_survive(order):
    array = np.arange(24.0).reshape(2, 3, 4).transpose(order)
    got = sent(array)
    assert got.strides == array.strides
    np.testing.assert_array_equal(got, array)


@pytest.mark.parametrize(
    "array",
    [np.arange(6)[::-1], np.arange(12)[::2], np.arange(6).reshape(2, 3)[:, ::-1], np.broadcast_to(3, (2, 3))],
    ids=["reversed", "every second", "reversed columns", "broadcast"],
)
def test_views_keep_their_values(array):
    np.testing.assert_array_equal(sent(array), array)


def test_nan_inf_and_minus_zero_survive_to_the_bit():
    odd = np.array([0x7FF8_0000_0000_1234, 0xFFF0_0000_0000_0000, 0x8000_0000_0000_0000], dtype=np.uint64)
    array = odd.view(np.float64)
    assert same_to_the_bit(sent(array), array)


def test_what_arrives_is_writable_and_no_view_of_what_was_sent():
    array = np.zeros(3)
    got = sent(array)
    got[:] = 1
    assert not array.any()


def test_arrays_behind_an_odd_number_of_bytes_survive():
    bools, floats = sent([np.ones(3, dtype=bool), np.arange(4.0)])
    assert bools.all()
    np.testing.assert_array_equal(floats, np.arange(4.0))


@pytest.mark.parametrize(
    "value",
    [Handle(3, "Cache", True), Callback(0), TensorOutline("float32", (2, 0), "lazy:0")],
    ids=["handle", "callback", "phantom"],
)
def test_references_survive(value):
    assert sent([value]) == [value]


class TestTensors:
    @pytest.fixture(autouse=True)
    def _torch(self):
        self.torch = pytest.importorskip("torch", reason="PyTorch is not installed")

    @pytest.mark.parametrize(
        "dtype", ["float32", "float64", "float16", "bfloat16", "int64", "bool", "complex64"]
    )
    def test_dtypes_survive(self, dtype):
        tensor = self.torch.arange(4).to(getattr(self.torch, dtype)).reshape(2, 2)
        got = sent(tensor)
        assert got.dtype is tensor.dtype
        assert self.torch.equal(got, tensor)

    def test_strides_survive(self):
        tensor = self.torch.arange(24.0).reshape(2, 3, 4).permute(2, 0, 1)
        assert sent(tensor).stride() == tensor.stride()
        assert self.torch.equal(sent(tensor), tensor)

    @pytest.mark.parametrize("shape", [(), (0,), (2, 0)])
    def test_no_axes_and_no_elements_survive(self, shape):
        assert sent(self.torch.zeros(shape, dtype=self.torch.bfloat16)).shape == shape

    def test_gradients_stay_behind(self):
        assert not sent(self.torch.ones(2, requires_grad=True)).requires_grad

    def test_lazily_conjugated_tensors_arrive_conjugated(self):
        tensor = self.torch.tensor([1 + 2j]).conj()
        assert sent(tensor).resolve_conj().tolist() == [1 - 2j]


def _nested(levels, inner=0):
    for _ in range(levels):
        inner = [inner]
    return inner


def _endless():
    endless = []
    endless.append(endless)
    return endless


@pytest.mark.parametrize(
    "value",
    [
        object(),
        b"bytes",
        {1, 2},
        1j,
        np.array([None]),
        np.array(["text"]),
        np.array([1], dtype="datetime64[s]"),
        np.zeros(1, dtype=[("a", int)]),
        np.longdouble(1),
        np.str_("text"),
        {1.5: 0},
        {(1,): 0},
        {True: 0},
        _nested(MAX_DEPTH + 1),
        _endless(),
        len,
    ],
    ids=lambda value: type(value).__name__,
)
def test_what_is_not_on_the_list_does_not_travel(value):
    with pytest.raises(Malformed):
        encode({"value": value})


def test_foreign_byte_order_is_kept_or_refused():
    array = np.array([1.0], dtype=np.dtype("f8").newbyteorder())
    with contextlib.suppress(Malformed):
        assert sent(array)[0] == 1.0


def test_an_array_of_two_to_the_forty_elements_is_refused_before_it_is_copied():
    with pytest.raises(Malformed, match="too large"):
        encode({"value": np.broadcast_to(np.float64(0), (2**20, 2**20))})


def test_many_arrays_together_are_refused(monkeypatch):
    monkeypatch.setattr(codec, "MAX_BODY", 64)
    encode({"value": [np.zeros(4)] * 2})
    with pytest.raises(Malformed, match="the arrays take more"):
        encode({"value": [np.zeros(4)] * 3})


def test_long_texts_are_refused(monkeypatch):
    monkeypatch.setattr(codec, "MAX_HEADER", 64)
    with pytest.raises(Malformed, match="the values take more"):
        encode({"value": "x" * 65})


LARGEST = {
    "values": [0] * 19_998,  # the message and its one item count as values, too
    "values in several lists": [[0] * 9_998] * 2,
    "keys": dict.fromkeys(range(1_000)),
    "letters of a key": {"k" * 200: 0},
    "integer key": {2**53 - 1: 0, 1 - 2**53: 1},
    "digits": [10**300 - 1, 1 - 10**300],
    "letters": "x" * 2**20,
    "entries": np.zeros((2**10, 2**10), np.int8),
    "entries of several arrays": [np.zeros(2**19, np.int8)] * 2,
    "rows without entries": np.zeros((2**20, 0)),
    "axes": np.zeros((1,) * 16),
}
TOO_LARGE = {
    "values": ([0] * 20_000, "it holds more than 20,000 values"),
    "values in several lists": ([[0] * 10_000, (0,) * 10_000], "it holds more than 20,000 values"),
    "keys": (dict.fromkeys(range(1_001)), "it holds a dict with more than 1,000 keys"),
    "letters of a key": ({"k" * 201: 0}, "it holds a dict with a key of more than 200 characters"),
    "integer key": ({2**53: 0}, "it holds a dict with an integer key of 2**53 or more"),
    "negative key": ({-(2**53): 0}, "it holds a dict with an integer key of 2**53 or more"),
    "digits": (10**300, "it holds an integer of more than 300 digits"),
    "many digits": (-(10**4000), "it holds an integer of more than 300 digits"),
    "letters": ("x" * (2**20 + 1), "it holds a string of more than 1,048,576 characters"),
    "entries": (np.zeros(2**20 + 1, np.int8), "its arrays have more than 1,048,576 entries"),
    "entries of several arrays": (
        [np.zeros(2**19, np.int8)] * 3,
        "its arrays have more than 1,048,576 entries",
    ),
    "rows without entries": (np.zeros((2**21, 0)), "its arrays have more than 1,048,576 entries"),
    "entries without rows": (np.zeros((0, 2**40)), "its arrays have more than 1,048,576 entries"),
    "phantom": (TensorOutline("float32", (2**40,), "lazy:0"), "its arrays have more than 1,048,576 entries"),
    "axes": (np.zeros((1,) * 17), "it holds an array with more than 16 axes"),
}


@pytest.mark.parametrize("value", LARGEST.values(), ids=list(LARGEST))
def test_the_largest_values_travel(value):
    got = sent(value)
    assert got.shape == value.shape if isinstance(value, np.ndarray) else len(got) == len(value)


@pytest.mark.parametrize(("value", "told"), TOO_LARGE.values(), ids=list(TOO_LARGE))
def test_what_is_too_large_is_refused_at_both_ends(value, told, monkeypatch):
    with pytest.raises(Malformed) as refused:
        encode({"value": value})
    assert str(refused.value) == told
    frame = encoded_without_limits({"value": value}, monkeypatch)
    with pytest.raises(Malformed) as refused:
        decode(*frame)
    assert str(refused.value) == told


def encoded_without_limits(message, monkeypatch):
    """Encode a message without limits, as a worker could whose submission has removed them."""
    with monkeypatch.context() as changed:
        for name in [name for name in vars(codec) if name.startswith("MAX_")]:
            changed.setattr(codec, name, 2**62)
        changed.setattr(codec, "_TOO_LARGE", 10**5000)
        header, buffers = encode(message, MessageLimits(2**62, 2**62))
    return header, bytearray(b"".join(buffers))


def test_files_of_the_grader_may_hold_more():
    value = [[0] * 200_000, np.zeros(2**21, np.int8)]
    header, buffers = encode({"value": value}, FILE_LIMITS)
    got = decode(header, bytearray(b"".join(buffers)), limits=FILE_LIMITS)["value"]
    assert (len(got[0]), len(got[1])) == (200_000, 2**21)


def test_a_bank_may_hold_more_than_a_frame():
    cases = [{"x": [0] * 200_000}]
    key = answers.AnsweredCases(answers.numbered(cases), [answers.Expected(0, 0)], {}, [""])
    packed = write([pack("kata", "", key, [])], 0, "")
    assert KataKey(KeyFile(packed, "kata.key"), "kata").answers.cases[0].arguments == cases[0]


@pytest.mark.parametrize(
    "argument", [[0] * 2**14, np.zeros(2**14), np.zeros((2**14, 0))], ids=["list", "array", "empty rows"]
)
def test_functions_of_the_graders_take_fewer_values(argument, monkeypatch):
    message, told = {"callback": 0, "args": [argument]}, "it calls a function with more than 16,384 values"
    with pytest.raises(Malformed, match=told):
        encode(message)
    with pytest.raises(Malformed, match=told):
        decode(*encoded_without_limits(message, monkeypatch))


@pytest.mark.parametrize("part", [b"[],", b"{},", b'{"t":[]},', b"0,"])
def test_a_header_is_not_parsed_where_it_has_too_many_parts(part, monkeypatch):
    monkeypatch.setattr(codec, "_from_json", pytest.fail)
    header = b"[" + part * 900_000 + b"0]"
    with pytest.raises(Malformed, match="it holds more than 20,000 values"):
        decode(header[: 4 * 2**20], bytearray())


def test_a_header_of_more_than_4_mib_is_not_parsed(monkeypatch):
    monkeypatch.setattr(codec, "_from_json", pytest.fail)
    with pytest.raises(Malformed, match="the values take more than 4 MiB"):
        decode(b'"' + bytes(4 * 2**20) + b'"', bytearray())


def header_of(tree, *table):
    return json.dumps([tree, list(table)]).encode()


def message_of(content):
    return {"d": [["value", content]]}


ARRAY = message_of({"a": 0})

MALFORMED = {
    "empty": (b"", b""),
    "no json": (b"not json", b""),
    "no utf-8": (b"\xff\xfe", b""),
    "a number": (b"1", b""),
    "null": (b"null", b""),
    "three parts": (b"[null, [], 1]", b""),
    "no dict": (header_of([1]), b""),
    "unknown tag": (header_of(message_of({"z": 1})), b""),
    "array that is not in the table": (header_of(ARRAY), b""),
    "array by name": (header_of(message_of({"a": "x"})), b""),
    "object dtype": (header_of(ARRAY, ["object", [1], [0]]), bytes(8)),
    "void dtype": (header_of(ARRAY, ["V8", [1], [0]]), bytes(8)),
    "pickled dtype": (header_of(ARRAY, ["O", [1], [0]]), bytes(8)),
    "dtype by list": (header_of(ARRAY, [["f8"], [1], [0]]), bytes(8)),
    "negative length": (header_of(ARRAY, ["float64", [-1], [0]]), bytes(8)),
    "two negative lengths": (header_of(ARRAY, ["float64", [-1, -1], [0, 1]]), bytes(8)),
    "huge length": (header_of(ARRAY, ["float64", [2**62], [0]]), bytes(8)),
    "product that overflows": (header_of(ARRAY, ["int8", [2**32, 2**32], [0, 1]]), b""),
    "nothing times huge": (header_of(ARRAY, ["int8", [0, 2**63, 2**63], [0, 1, 2]]), b""),
    "length as float": (header_of(ARRAY, ["int8", [1.0], [0]]), bytes(1)),
    "length as bool": (header_of(ARRAY, ["int8", [True], [0]]), bytes(1)),
    "length as null": (header_of(ARRAY, ["int8", [None], [0]]), bytes(1)),
    "shape as number": (header_of(ARRAY, ["int8", 1, [0]]), bytes(1)),
    "too many axes": (header_of(ARRAY, ["int8", [1] * 40, list(range(40))]), bytes(1)),
    "order too short": (header_of(ARRAY, ["int8", [1, 1], [0]]), bytes(1)),
    "order twice the same": (header_of(ARRAY, ["int8", [1, 1], [0, 0]]), bytes(1)),
    "order out of range": (header_of(ARRAY, ["int8", [1], [5]]), bytes(1)),
    "order of floats": (header_of(ARRAY, ["int8", [1], [0.0]]), bytes(1)),
    "body too short": (header_of(ARRAY, ["float64", [2], [0]]), bytes(15)),
    "body too long": (header_of(ARRAY, ["float64", [2], [0]]), bytes(17)),
    "table of numbers": (header_of(ARRAY, 7), bytes(1)),
    "pairs that are none": (header_of({"d": [1]}), b""),
    "key that is a list": (header_of({"d": [[[], 1]]}), b""),
    "key that is null": (header_of({"d": [[None, 1]]}), b""),
    "tuple of a number": (header_of(message_of({"t": 5})), b""),
    "handle cut short": (header_of(message_of({"h": [1]})), b""),
    "handle of infinity": (header_of(message_of({"h": [1e999, "x", True]})), b""),
    "callback that is null": (header_of(message_of({"c": None})), b""),
    "phantom of text": (header_of(message_of({"p": ["f", ["x"], "lazy"]})), b""),
    "tensor that is not there": (header_of(message_of({"T": 3})), b""),
    "too deep": (header_of(message_of(_nested(MAX_DEPTH + 1))), b""),
    "array that stands for two": (header_of(message_of([{"a": 0}] * 2), ["int8", [1], None]), bytes(1)),
    "key that comes twice": (header_of({"d": [["k", 1], ["k", 2]]}), b""),
    "two tags": (header_of(message_of({"t": [], "d": []})), b""),
    "tag beside a device": (header_of(message_of({"on": "cpu", "t": []})), b""),
    "tuple of text": (header_of(message_of({"t": "text"})), b""),
    "pairs in a dict": (header_of({"d": {"ab": 1}}), b""),
    "handle of a float": (header_of(message_of({"h": [1.5, "x", True]})), b""),
    "handle that is too large": (header_of(message_of({"h": [2**63, "x", True]})), b""),
    "handle without a name": (header_of(message_of({"h": [1, ["x"], True]})), b""),
    "negative callback": (header_of(message_of({"c": -1})), b""),
    "phantom of another dtype": (header_of(message_of({"p": ["nn", [1], "lazy"]})), b""),
    "phantom without a device": (header_of(message_of({"p": ["int8", [1], None]})), b""),
    "far too deep": (b"[" * 100_000 + b"]" * 100_000, b""),
    "integer of 5000 digits": (b"[" + b"9" * 5000 + b",[]]", b""),
}


@pytest.mark.parametrize(("header", "body"), MALFORMED.values(), ids=list(MALFORMED))
def test_malformed_messages_are_refused(header, body):
    with pytest.raises(Malformed):
        decode(header, bytearray(body))


@pytest.mark.parametrize(
    "tree", [{}, message_of({}), message_of({"t": [{}]})], ids=["top", "value", "in a tuple"]
)
def test_an_empty_tag_is_refused(tree):
    with pytest.raises(Malformed):
        decode(header_of(tree), bytearray())


def decodes_or_is_malformed(header, body):
    with contextlib.suppress(Malformed):
        assert type(decode(header, bytearray(body))) is dict


@FUZZ
@given(st.binary(max_size=60), st.binary(max_size=20))
def test_arbitrary_bytes_are_malformed_at_worst(header, body):
    decodes_or_is_malformed(header, body)


SCALARS = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=3)
TAGS = st.sampled_from(["t", "d", "a", "s", "h", "c", "p", "z"])
TREES = st.recursive(
    SCALARS,
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(TAGS, inner, min_size=1, max_size=1)
        | st.builds(lambda pairs: {"d": pairs}, st.lists(st.tuples(st.text(max_size=2), inner), max_size=2))
    ),
    max_leaves=8,
)
LENGTHS = st.lists(st.integers(-1, 4) | st.just(2**62), max_size=3)
ROWS = (
    st.tuples(st.sampled_from([*NUMPY_DTYPES, "object"]), LENGTHS, LENGTHS | st.permutations([0, 1]))
    | SCALARS
)


@FUZZ
@given(TREES, st.lists(ROWS, max_size=2), st.binary(max_size=16))
def test_arbitrary_trees_are_malformed_at_worst(tree, table, body):
    decodes_or_is_malformed(json.dumps([tree, table]).encode(), body)


@FUZZ
@given(st.data())
def test_a_message_with_one_byte_changed_is_malformed_at_worst(data):
    header, buffers = encode({"ok": {"value": (np.arange(3.0), [1, "x"], Handle(1, "C")), "flops": 0}})
    at = data.draw(st.integers(0, len(header) - 1))
    byte = data.draw(st.sampled_from(b'0123456789-[]{},:"tdash\xff'))
    decodes_or_is_malformed(header[:at] + bytes([byte]) + header[at + 1 :], b"".join(buffers))


@FUZZ
@given(st.integers(0, 400), st.integers(0, 24))
def test_a_message_cut_short_is_malformed_at_worst(header_size, body_size):
    header, buffers = encode({"ok": {"value": (np.arange(3.0), [1, "x"], Handle(1, "C")), "flops": 0}})
    decodes_or_is_malformed(header[:header_size], b"".join(buffers)[:body_size])


VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False)
    | st.text()
    | st.builds(
        lambda shape, dtype: np.ones(shape, dtype=dtype),
        st.lists(st.integers(0, 3), max_size=3).map(tuple),
        st.sampled_from(NUMPY_DTYPES),
    ),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.lists(inner, max_size=3).map(tuple)
        | st.dictionaries(st.text(max_size=2) | st.integers(1 - MAX_KEY, MAX_KEY - 1), inner, max_size=3)
    ),
    max_leaves=10,
)


@FUZZ
@given(VALUES)
def test_whatever_travels_arrives_as_it_was(value):
    assert repr(sent(value)) == repr(value)


def test_commas_in_a_text_are_no_values():
    message = {"load": {"source": "x = '" + 160_000 * "," + '"' + "\\" + "'"}}
    assert decode(*joined(encode(message))) == message


def test_a_text_that_does_not_end_is_counted_in_time_that_grows_with_its_length():
    with pytest.raises(Malformed):
        decode(b"[[" + b'\\"' * 1_000_000 + b"," * 200_000, bytearray())


def joined(encoded):
    header, buffers = encoded
    return header, bytearray(b"".join(buffers))


@pytest.mark.parametrize("turn", range(4))
@pytest.mark.parametrize("shape", [(2, 3, 4), (5, 1), (3,)])
def test_a_request_keeps_steps_gaps_and_directions_in_memory(shape, turn):
    array = laid_out(np.arange(float(np.prod(shape))).reshape(shape), turn)
    header, buffers = encode({"x": array}, gaps=True)
    arrived = decode(header, bytearray(b"".join(buffers)))["x"]
    assert arrived.strides == array.strides
    assert np.array_equal(arrived, array)


@pytest.mark.parametrize("steps", [[4, 1, 99], [1], [3.5], ["1"], [2**40]])
def test_steps_that_leave_the_memory_are_refused(steps):
    header = json.dumps([{"d": [["x", {"a": 0}]]}, [["float64", [3], [4, 1, steps]]]]).encode()
    with pytest.raises(Malformed):
        decode(header, bytearray(32)) if steps != [1] else decode(header, bytearray(24))
