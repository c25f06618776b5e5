"""Bytes from a hostile process give a value or an expected error, and use little memory."""

import contextlib
import cProfile
import json
import math
import os
import random
import socket
import tracemalloc
import types

import numpy as np
import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from grader.expect import SubmissionFailed
from grader.values.arrays import leaves as leaves_of
from grader.values.comparison import Tolerance, first_difference
from grader.values.formatting import LIMIT, describe, describe_type, show, show_pair
from grader.worker.child.executor import Executor
from grader.worker.child.main import Worker
from grader.worker.client import RemoteStudent, WorkerLost
from grader.worker.process import Process
from grader.worker.protocol.channel import PREFIX, Channel, ChannelClosed, Flooded, TimedOut
from grader.worker.protocol.codec import DTYPES, FRAME, Malformed, TensorOutline, decode, encode
from grader.worker.protocol.messages import REQUESTS, Outcome
from grader.worker.protocol.system_calls import address_space

EXAMPLES = int(os.environ.get("DOJO_FUZZ_EXAMPLES", settings().max_examples))  # for each test below
VARIANTS = 24  # bytes of one frame
MEMORY = 256 * 2**20  # the frames are small, whatever size they announce
fuzzed = settings(
    max_examples=EXAMPLES,
    deadline=None,
    database=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.filter_too_much],
)

numbers = st.integers() | st.integers(-2, 40) | st.just(2**63) | st.floats()
plain = st.none() | st.booleans() | numbers | st.text(max_size=8)
names = st.sampled_from([*sorted(DTYPES), "object", "O", "V8", ""])
shapes = st.lists(st.integers(-1, 4) | st.just(2**62), max_size=18)
entries = st.tuples(names | plain, shapes | plain, st.none() | shapes) | st.lists(plain, max_size=4)
tags = st.sampled_from(["t", "d", "a", "s", "T", "h", "c", "p", "x"])
trees = st.recursive(
    plain,
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(tags, inner | st.integers(0, 2), max_size=2)
        | st.builds(lambda pairs: {"d": pairs}, st.lists(st.tuples(plain, inner), max_size=3))
    ),
    max_leaves=12,
)
arrays = st.builds(
    lambda dtype, shape: np.zeros(shape, dtype),
    st.sampled_from(["float32", "int8", "bool", "complex64"]),
    st.lists(st.integers(0, 3), max_size=3),
)
values = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**60), 2**60) | st.floats() | st.text(max_size=8) | arrays,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
    max_leaves=8,
)
chances = st.integers(0, 2**32).map(random.Random)


def frame(header, body=b"", nonce=1):
    return PREFIX.pack(b"DOJO", len(header), len(body), nonce) + header + body


def edited(data, chance):
    """Set, insert, delete or repeat some bytes, or cut off the end."""
    data = bytearray(data)
    for _ in range(chance.choice((1, 1, 2, 4))):
        at, kind = chance.randrange(len(data) + 1), chance.randrange(6)
        if kind == 0:
            data[at:at] = chance.randbytes(chance.choice((1, 4)))
        elif kind == 1:
            del data[at : at + chance.choice((1, 4, 1000))]
        elif kind == 2:
            data[at:at] = data[at : at + 20]
        else:
            data[at : at + 1] = bytes(
                [chance.choice((0, 34, 44, 91, 93, 123, 125, 255, chance.randrange(256)))]
            )
    return bytes(data) or b"D"


def receive_all(data):
    """Send bytes through a channel, close the other end, and return all frames that arrive."""
    ours, theirs = socket.socketpair()
    with ours, theirs:
        theirs.sendall(data)
        theirs.close()
        channel = Channel(ours.fileno(), ours.fileno())
        with contextlib.suppress(ChannelClosed, Malformed, TimedOut, Flooded):
            while True:
                decode(*channel.receive()[:2])


def ask_for_answer(data):
    """Make a call that is answered with these bytes."""
    ours, theirs = socket.socketpair()
    with ours, theirs:
        theirs.sendall(data)
        theirs.shutdown(socket.SHUT_WR)
        student = RemoteStudent(Process(Channel(ours.fileno(), ours.fileno()), 0), call_seconds=5.0)
        with contextlib.suppress(WorkerLost, SubmissionFailed), student.watching_arguments():
            student.f(np.ones(2), lambda x: x, name=[1])


@pytest.fixture(autouse=True)
def _little_memory(request):
    """Limit the memory of this process, so that a frame that needs more raises MemoryError.

    The test of large values makes frames of up to 120 MB itself, and measures what decoding them takes.
    """
    resource = pytest.importorskip("resource", reason="no limits on this platform")
    before = resource.getrlimit(resource.RLIMIT_AS)
    held = address_space()
    if held and "large" not in request.node.name:
        resource.setrlimit(resource.RLIMIT_AS, (held + MEMORY, before[1]))
    yield
    resource.setrlimit(resource.RLIMIT_AS, before)


@fuzzed
@given(st.binary(max_size=200), st.booleans())
def test_any_bytes_are_refused_or_read(data, begins_well):
    receive_all(b"DOJO" + data if begins_well else data)


@fuzzed
@given(values, chances)
def test_a_frame_with_bytes_changed_is_refused_or_read(value, chance):
    header, buffers = encode({"ok": value})
    for _ in range(VARIANTS):
        receive_all(edited(frame(header, b"".join(buffers)), chance))


@fuzzed
@given(trees, st.lists(entries, max_size=3) | plain, st.binary(max_size=64))
def test_any_header_is_refused_or_read(tree, table, body):
    try:
        header = json.dumps([tree, table]).encode()
    except ValueError:
        assume(False)
    with contextlib.suppress(Malformed):
        decode(header, bytearray(body))


@fuzzed
@given(
    trees, st.lists(entries, max_size=3), st.binary(max_size=64), st.sampled_from(["ok", "error", "callback"])
)
def test_any_answer_is_a_value_or_a_lost_worker(tree, table, body, kind):
    header = json.dumps([{"d": [[kind, tree]]}, table]).encode()
    ask_for_answer(frame(header, body))


outcomes = st.fixed_dictionaries(
    {}, optional=dict.fromkeys(("value", "arguments", "flops", "gradients", "other"), values)
)


@fuzzed
@given(outcomes, chances)
def test_any_outcome_is_a_value_or_a_lost_worker(outcome, chance):
    header, buffers = encode({"ok": outcome})
    ask_for_answer(frame(header, b"".join(buffers)))
    for _ in range(VARIANTS):
        ask_for_answer(edited(frame(header, b"".join(buffers)), chance))


#: Counts below, at and above the limits of a frame.
counts = st.sampled_from([0, 1, 20, 25, 201, 9_999, 10_001, 65_537, 99_990, 100_001, 300_000])
lengths = st.sampled_from([0, 0, 1, 2, 300, 2**10, 2**20, 2**20 + 1, 2**31, 2**40, 2**62])
leaves = st.sampled_from(["0", "1e999", "NaN", "null", '""', "[]", '{"t":[]}', '{"h":[1,"T",true]}'])
prime = 2**61 - 1  # all multiples of it have the same hash
items_of_dicts = st.sampled_from(
    [
        lambda i: f"[{i},0]",
        lambda i: f"[{i * prime},0]",
        lambda i: f"[{-i * 2**40},0]",
        lambda i: f'["{i:0200}",0]',
        lambda i: f'["k\\u202e{i}",{{"t":[]}}]',
        '["twice",{}]'.format,
    ]
)
larges = st.one_of(
    st.builds(lambda leaf, count: f"[{','.join([leaf] * count)}]", leaves, counts),
    st.builds(lambda item, count: f'{{"d":[{",".join(map(item, range(count)))}]}}', items_of_dicts, counts),
    st.builds(
        lambda item, count: f"{{{','.join(map(item, range(count)))}}}", st.just('"{}":0'.format), counts
    ),
    st.builds(lambda count: "[" * count + "]" * count, counts),
    st.builds(lambda count: '{"t":[0,' * count + "0" + "]}" * count, counts),
    st.builds(lambda count: '{"d":[["k",' * count + "0" + "]]}" * count, counts),
    st.builds(lambda count: "-" + "9" * max(1, count), counts),
    st.builds(lambda character, count: f'"{character * count}"', st.sampled_from(["x", "\\n", ","]), counts),
    st.builds(lambda shape: f'{{"p":["int8",{shape},"lazy"]}}', st.lists(lengths, max_size=18)),
)
rows = st.builds(
    lambda shape, reverse: [shape, list(range(len(shape)))[::-1] if reverse else None],
    st.lists(lengths, max_size=3) | st.lists(lengths, max_size=18),
    st.booleans(),
)
DECODING = 40 * FRAME.values  # calls, and so for the next
COMPARING = 100 * FRAME.values
WRITING = 50_000
TEXT = 3 * LIMIT


class Work:
    """Counts function calls, a number that is the same on every machine, and raises if there are too many."""

    def __init__(self, most):
        self.profile, self.most = cProfile.Profile(), most

    def __enter__(self):
        self.profile.enable()

    def __exit__(self, *_):
        self.profile.disable()
        assert sum(one.callcount + one.reccallcount for one in self.profile.getstats()) <= self.most


@pytest.mark.slow
@fuzzed
@given(larges, larges, st.none() | rows, st.sampled_from(["ok", "callback"]))
def test_large_values_are_refused_or_take_bounded_work(one, other, row, kind):
    table, array = ([["int8", *row]], '{"a":0}') if row else ([], "null")
    size = math.prod(row[0]) if row else 0
    header = f'[{{"d":[["{kind}",0],["one",{one}],["other",{other}],["array",{array}]]}},{json.dumps(table)}]'
    message = decoded_in_bounds(header.encode(), bytearray(size if size <= 2**20 else 0))
    for value in message.values():
        is_told_in_bounds(value, message["other"])


def decoded_in_bounds(header, body):
    """Return the decoded message, or an empty dict if the frame is refused."""
    tracemalloc.start()
    try:
        with Work(DECODING):
            return decode(header, body)
    except Malformed as error:
        refused = str(error)
    finally:
        assert tracemalloc.get_traced_memory()[1] <= MEMORY
        tracemalloc.stop()
    assert len(refused) <= TEXT
    return {}


def is_told_in_bounds(value, other):
    for text_of in (show, describe, describe_type, repr_of_pair):
        with Work(WRITING):
            assert len(text_of(value)) <= TEXT
    pairs = [([0], value), ({"a": np.zeros(2)}, value)]
    if not any(isinstance(leaf, TensorOutline) for leaf in leaves_of(value)):  # no reference returns one
        pairs += [(value, value), (value, other)]
    for expected, got in pairs:
        with Work(COMPARING):
            found = first_difference(expected, got, Tolerance())
            told = found and f"{found.expected} {found.got} {found.where}"
        assert not told or (len(told) <= 4 * TEXT and found.expected != found.got)


def repr_of_pair(value):
    return max(show_pair(value, [value], (0, 0)), key=len)


options = st.fixed_dictionaries(
    {}, optional=dict.fromkeys(("echo", "hold", "undo", "other"), values)
)  # no PyTorch
requests = st.fixed_dictionaries(
    {},
    optional={
        **dict.fromkeys(("name", "target", "args", "kwargs", "text", "other"), values),
        "options": options,
    },
)


@fuzzed
@given(st.dictionaries(st.sampled_from([*REQUESTS, "answer", "ok"]), values | requests, max_size=2))
def test_any_question_is_answered_by_a_worker(message):
    worker = Worker(channel=None, device="cpu")
    worker.executor = Executor(types.SimpleNamespace(f=lambda *args: args))
    header, buffers = encode(message)
    answer, _ = worker._answer(decode(header, bytearray(b"".join(buffers))))
    assert isinstance(answer, Outcome) or answer.keys() in ({"ok"}, {"error"})


@fuzzed
@given(values)
def test_what_is_sent_arrives(value):
    header, buffers = encode({"ok": value})
    again, buffers_again = encode(decode(header, bytearray(b"".join(buffers))))
    assert (again, b"".join(buffers_again)) == (header, b"".join(buffers))
