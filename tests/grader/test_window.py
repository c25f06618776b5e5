"""Large arrays travel through sealed memory, and small ones in their frames."""

import fcntl
import os
import socket
import threading

import numpy as np
import pytest

from grader.worker.channel import BESIDE, PREFIX, Channel
from grader.worker.codec import MAX_BODY, Malformed
from grader.worker.remote import RemoteStudent
from grader.worker.server import ForkServer
from grader.worker.window import LARGE, Window, sealed_memory

pytestmark = pytest.mark.skipif(sealed_memory() is None, reason="this system has no sealed memory")


@pytest.fixture
def ends():
    """Two ends of a channel with a window between them."""
    near, far = socket.socketpair()
    memory = sealed_memory()
    window, other = Window(os.dup(memory)), Window(memory)
    channels = [Channel(s.detach(), fd, window=w) for s, fd, w in _with_writers((near, window), (far, other))]
    yield channels
    for channel in channels:
        channel.close()


def _with_writers(*pairs):
    return [(end, end.fileno(), window) for end, window in pairs]


def test_a_large_body_does_not_pass_through_the_socket(ends):
    near, far = ends
    body = os.urandom(MAX_BODY)  # a socket would hold a few hundred kB, and nobody reads yet
    near.send(b"header", [body[:10], body[10:]], 3)
    assert far.receive() == (b"header", bytearray(body), 3)


def test_a_small_body_stays_in_its_frame(ends):
    near, far = ends
    near.send(b"h", [b"x" * (LARGE // 100)], 1)
    assert os.read(far.reader, 4) == b"DOJO"


def test_large_bodies_that_are_held_lie_in_their_frames(ends):
    """The window holds one body, and the one before may not have been taken yet."""
    near, far = ends
    bodies = [letter * LARGE for letter in (b"a", b"b")]

    def answer():
        for nonce, body in enumerate(bodies, 1):
            far.hold(b"h", [body], nonce)
        far.flush()

    thread = threading.Thread(target=answer)
    thread.start()
    assert [near.receive()[1] for _ in bodies] == bodies
    thread.join()


def test_what_was_received_stays_as_it_was(ends):
    near, far = ends
    near.send(b"h", [b"a" * LARGE], 1)
    _, body, _ = far.receive()
    near.window.put([b"b" * LARGE])
    assert body == b"a" * LARGE


@pytest.mark.parametrize("size", [0, MAX_BODY - 1, MAX_BODY + 1])
def test_nobody_can_change_the_size_of_the_memory(size):
    memory = sealed_memory()
    with pytest.raises(PermissionError):
        os.ftruncate(memory, size)
    with pytest.raises(PermissionError):
        fcntl.fcntl(memory, fcntl.F_ADD_SEALS, fcntl.F_SEAL_WRITE)
    os.close(memory)


def test_a_body_beyond_the_cap_is_refused_before_it_is_taken(ends):
    near, far = ends
    os.write(near.writer, PREFIX.pack(BESIDE, 0, MAX_BODY + 1, 1))
    with pytest.raises(Malformed, match="larger than allowed"):
        far.receive()


def test_a_frame_beside_a_channel_that_has_no_window_is_no_frame(ends):
    near, far = ends
    far.window.close()
    far.window = None
    os.write(near.writer, PREFIX.pack(BESIDE, 0, 8, 1))
    with pytest.raises(Malformed, match="does not begin as one"):
        far.receive()


@pytest.fixture
def worker():
    server = ForkServer("numpy")
    process = server.start("cpu")
    student = RemoteStudent(process.channel)
    student.greeting(20)
    yield student
    process.kill()
    server.close()


def load(student, source):
    told = {"name": "f", "source": source, "entry_points": ["f"], "forbidden": []}
    student.ask({"load": told}, 5, [])


def test_a_large_array_goes_to_a_worker_and_comes_back(worker):
    load(worker, "def f(x):\n    return 2 * x")
    x = np.arange(2 * LARGE, dtype=np.float64).reshape(2, -1).T
    assert (worker.f(x) == 2 * x).all()


def test_a_grader_gives_the_memory_back():
    before = len(os.listdir("/proc/self/fd"))
    server = ForkServer("numpy")
    for _ in range(3):
        process = server.start("cpu")
        assert process.channel.window
        process.kill()
    server.close()
    assert len(os.listdir("/proc/self/fd")) == before
