"""Frames arrive complete or not at all; sizes, times and printed text have limits."""

import os
import socket
import threading
import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from grader.worker.protocol import channel
from grader.worker.protocol.channel import (
    MAGIC,
    OUTPUT_KEPT,
    PREFIX,
    Channel,
    ChannelClosed,
    ChannelCut,
    Flooded,
    Output,
    TimedOut,
)
from grader.worker.protocol.codec import MAX_BODY, MAX_HEADER, Malformed


class Line:
    """The grader's end as a Channel, the worker's end as a raw socket and a raw pipe."""

    def __init__(self):
        ours, self.far = socket.socketpair()
        printed, self.prints = os.pipe()
        fd = ours.detach()
        self.near = Channel(fd, fd, printed)

    def hang_up(self):
        self.far.close()


def soon():
    return time.monotonic() + 0.05


def later():
    return time.monotonic() + 10


@pytest.fixture
def line():
    line = Line()
    yield line
    line.near.close()
    line.far.close()
    os.close(line.prints)


def test_a_frame_arrives_with_its_nonce(line):
    far = Channel(line.far.fileno(), line.far.fileno())
    far.send(b"header", [b"bo", b"dy"], 7)
    assert line.near.receive(later()) == (b"header", bytearray(b"body"), 7)


def test_frames_keep_their_order_and_their_borders(line):
    far = Channel(line.far.fileno(), line.far.fileno())
    far.send(b"", [], 1)
    far.send(b"h", [b""], 2)
    assert line.near.receive(later()) == (b"", bytearray(), 1)
    assert line.near.receive(later()) == (b"h", bytearray(), 2)


def test_frames_that_are_held_are_written_together(line):
    far = Channel(line.far.fileno(), line.far.fileno())
    for n in range(5):
        far.hold(b"h", [b"tell"], n)
    with pytest.raises(TimedOut):
        line.near.receive(soon())
    far.flush()
    assert [line.near.receive(later())[2] for _ in range(5)] == [0, 1, 2, 3, 4]


def test_a_frame_that_is_sent_takes_those_with_it_that_are_held(line):
    far = Channel(line.far.fileno(), line.far.fileno())
    far.hold(b"h", [], 1)
    far.send(b"h", [], 2)
    assert [line.near.receive(soon())[2] for _ in range(2)] == [1, 2]


def test_a_frame_larger_than_every_buffer_arrives(line):
    body = os.urandom(1 << 20)
    far = Channel(line.far.fileno(), line.far.fileno())
    thread = threading.Thread(target=far.send, args=(b"h", [body], 3))
    thread.start()
    assert line.near.receive(later())[1] == body
    thread.join()


FRAME = PREFIX.pack(MAGIC, 2, 3, 1) + b"hhbbb"


@pytest.mark.parametrize("size", [0, 1, PREFIX.size - 1, PREFIX.size, PREFIX.size + 1, len(FRAME) - 1])
def test_a_frame_cut_off_means_that_the_channel_is_closed(line, size):
    line.far.sendall(FRAME[:size])
    line.hang_up()
    with pytest.raises(ChannelClosed) as closed:
        line.near.receive(later())
    assert closed.type is (ChannelCut if size else ChannelClosed)


@pytest.mark.parametrize("size", [0, 1, PREFIX.size, len(FRAME) - 1])
def test_a_frame_that_does_not_come_whole_times_out(line, size):
    line.far.sendall(FRAME[:size])
    with pytest.raises(TimedOut):
        line.near.receive(soon())


@pytest.mark.parametrize(
    "prefix",
    [
        PREFIX.pack(b"XXXX", 2, 3, 1),
        PREFIX.pack(MAGIC, MAX_HEADER + 1, 0, 1),
        PREFIX.pack(MAGIC, 0, MAX_BODY + 1, 1),
        PREFIX.pack(MAGIC, 2**32 - 1, 2**64 - 1, 1),
    ],
    ids=["wrong magic", "header too large", "body too large", "everything too large"],
)
def test_a_prefix_that_lies_is_malformed_before_anything_more_is_read(line, prefix):
    line.far.sendall(prefix)
    with pytest.raises(Malformed):
        line.near.receive(later())


def test_sending_to_one_who_does_not_read_times_out(line):
    with pytest.raises(TimedOut):
        line.near.send(b"", [bytes(1 << 23)], 1, soon())


def test_sending_to_one_who_is_gone_means_that_the_channel_is_closed(line):
    line.hang_up()
    with pytest.raises(ChannelClosed):
        line.near.send(b"", [bytes(1 << 23)], 1, later())


def test_printed_text_is_taken_in_while_waiting(line):
    text = b"x" * (1 << 20)  # more than the pipe's buffer: without draining, this would block forever

    def print_then_answer():
        left = text
        while left:
            left = left[os.write(line.prints, left) :]
        line.far.sendall(FRAME)

    thread = threading.Thread(target=print_then_answer)
    thread.start()
    assert line.near.receive(later()) == (b"hh", bytearray(b"bbb"), 1)
    thread.join()
    line.near.drain()
    assert line.near.output.total == len(text)


def test_printed_text_is_taken_in_while_sending(line):
    os.write(line.prints, b"hello")
    with pytest.raises(TimedOut):
        line.near.send(b"", [bytes(1 << 23)], 1, soon())
    assert line.near.output.text() == "hello"


def test_a_flood_is_stopped(line, monkeypatch):
    monkeypatch.setattr(channel, "OUTPUT_LIMIT", 1000)
    os.write(line.prints, b"x" * 1001)
    with pytest.raises(Flooded):
        line.near.receive(later())


def test_as_much_as_is_allowed_is_no_flood(line, monkeypatch):
    monkeypatch.setattr(channel, "OUTPUT_LIMIT", 1000)
    os.write(line.prints, b"x" * 1000)
    line.near.drain()
    assert line.near.output.total == 1000


def test_closing_the_printed_text_closes_nothing_else(line):
    line.near.drain()
    os.close(line.prints)
    line.near.drain()
    assert line.near.printed is None
    line.prints = os.dup(line.far.fileno())
    line.far.sendall(FRAME)
    assert line.near.receive(later())[2] == 1


def test_closing_leaves_no_descriptor_open():
    line = Line()
    held = line.near.reader, line.near.printed
    line.near.close()
    line.far.close()
    os.close(line.prints)
    for fd in held:
        with pytest.raises(OSError, match="Bad file descriptor"):
            os.fstat(fd)


def printed(*parts):
    output = Output()
    for part in parts:
        output.add(part)
    return output.text()


def test_short_output_is_kept_whole():
    assert printed(b"one\n", b"two\n") == "one\ntwo\n"


def test_output_of_twice_the_limit_is_kept_whole():
    text = b"a" * OUTPUT_KEPT + b"b" * OUTPUT_KEPT
    assert printed(text) == text.decode()


def test_long_output_is_cut_in_the_middle():
    text = printed(b"a" * OUTPUT_KEPT + b"-" * 5 + b"b" * OUTPUT_KEPT)
    assert text == "a" * OUTPUT_KEPT + "\n… 5 bytes left out …\n" + "b" * OUTPUT_KEPT


def test_output_that_is_no_utf8_is_shown_with_marks():
    assert printed(b"caf\xe9") == "caf\ufffd"


@settings(derandomize=True, database=None, deadline=None)
@given(st.lists(st.integers(0, 30), max_size=8))
def test_output_is_cut_alike_however_it_comes(lengths):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(channel, "OUTPUT_KEPT", 10)
        parts = [bytes([65 + i]) * length for i, length in enumerate(lengths)]
        assert printed(*parts) == printed(b"".join(parts))
