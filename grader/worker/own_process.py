"""Run workers in this process, where there are no others: in a browser, whose own sandbox then holds.

The worker and the grader exchange the frames that they exchange between processes, so both do the same as
there. What needs another process is missing: nothing stops a call that does not end, and nothing hides the
grader from the submission.
"""

from __future__ import annotations

import contextlib
import io
import sys
import time
import warnings
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from typing import TextIO, cast

import numpy as np

from grader.reading.answers import QUESTION, answered
from grader.reading.lookups import QUESTIONS
from grader.worker.child.main import Refusals, Worker
from grader.worker.fork_server import WorkerFactories, WorkerFactory
from grader.worker.process import Process, Usage
from grader.worker.protocol.channel import Channel, Output
from grader.worker.reader import Reader

#: Header and body of a message, and the nonce that its answer carries.
Frame = tuple[bytes, bytearray, int]
#: What is in force; see `grader.report.Isolation`.
IN_FORCE = {"process": False, "landlock_abi": 0, "seccomp": False, "limits": False, "gpu": False}


class OwnFactory(WorkerFactory):
    """Starts workers in this process."""

    def new_process(self, device: str) -> Process:  # noqa: ARG002  # there is the CPU alone
        return OwnProcess()


class OwnFactories(WorkerFactories):
    """The factory for answers in NumPy. There is none for another library."""

    def __init__(self) -> None:
        dict.__init__(self, numpy=OwnFactory("numpy"))

    def __missing__(self, library: str) -> WorkerFactory:
        raise KeyError(library)


class OwnReader(Reader):
    """Reads texts in this process: it answers what a reader is asked as well as what a worker is."""

    def start(self) -> Process:
        return OwnProcess()


class OwnProcess(Process):
    """This process in the place of a worker's. It always runs, and has no limits of its own."""

    def __init__(self) -> None:
        channel = OwnChannel()
        super().__init__(cast("Channel", channel), 0, greeting=IN_FORCE)

    def usage(self) -> Usage:
        return Usage(time.monotonic(), time.process_time(), None)

    def limit_memory(self, most: int = 0) -> None:
        pass

    def kill(self) -> None:
        self.ended = True
        self.channel.close()

    def is_alive(self) -> bool:
        return not self.ended


class OwnChannel:
    """The grader's end of a channel to a worker in this process. A message is carried out when its answer is
    received."""

    def __init__(self) -> None:
        self.output = Output()
        self.call_back: Callable[[bytes, bytearray], tuple[bytes, list[bytes]]] | None = None
        self._sent: deque[Frame] = deque()
        self._end = _WorkersEnd(self)

    def hold(self, header: bytes, buffers: list[bytes], nonce: int) -> None:
        """Queue a message."""
        self._sent.append((header, bytearray(b"".join(buffers)), nonce))

    def send(self, header: bytes, buffers: list[bytes], nonce: int, _deadline: float | None = None) -> None:
        """Queue a message."""
        self.hold(header, buffers, nonce)

    def begin(self) -> None:
        """Do nothing: there is nobody who could begin."""

    def flush(self, _deadline: float | None = None) -> None:
        """Do nothing: the messages are here."""

    def drain(self) -> None:
        """Do nothing: what is printed is added to the output at once."""

    def receive(self, _deadline: float | None = None) -> Frame:
        """Return the answer to the first message of the queue. Raises Flooded."""
        frame = self._end.answer_to(self._sent.popleft())
        self.output.require_bounded()
        return frame

    def close(self) -> None:
        """Forget the messages."""
        self._sent.clear()


class _WorkersEnd:
    """The worker's end: it has the worker answer one message, in which the worker may call back."""

    def __init__(self, channel: OwnChannel) -> None:
        self._channel = channel
        self._printed = _Printed(channel.output)
        self._worker = _OwnWorker(cast("Channel", self), "cpu")
        self._last: Frame = b"", bytearray(), 0

    def answer_to(self, frame: Frame) -> Frame:
        """Return the answer to a message."""
        with self._worker.running(cast("TextIO", self._printed)):
            self._worker.answer(frame)
        return self._last

    def send(self, header: bytes, buffers: list[bytes], nonce: int) -> None:
        """Take an answer of the worker, or a call of one of the grader's functions."""
        self._last = header, bytearray(b"".join(buffers)), nonce

    def receive(self) -> Frame:
        """Let the grader carry out the call that was sent, and return what it answers."""
        header, body, nonce = self._last
        assert self._channel.call_back is not None
        with self._worker.waiting():
            header, buffers = self._channel.call_back(header, body)
        return header, bytearray(b"".join(buffers)), nonce


class _OwnWorker(Worker):
    """A worker that leaves this process as it was whenever it does not run."""

    def __init__(self, channel: Channel, device: str) -> None:
        super().__init__(channel, device)
        self._refusals = Refusals()
        self._warned: set[tuple[object, ...]] = set()

    def answer(self, frame: Frame) -> None:
        """Answer one message."""
        if frame[0].startswith(QUESTION):
            header, body, nonce = frame
            reply, source = answered(header, bytes(body), questions=QUESTIONS)
            self.channel.send(reply, [source], nonce)
            return
        outcome, _ = self._answer(self._decoded(*frame))  # nothing looks whether it has meddled
        self._reply(outcome)

    def refuse(self, forbidden: Iterable[str]) -> None:
        self._refusals = Refusals(forbidden)
        self._refusals.hold()

    @contextlib.contextmanager
    def running(self, printed: TextIO) -> Iterator[None]:
        """Print to the stream in the block, and refuse what is forbidden."""
        with (
            contextlib.redirect_stdout(printed),
            contextlib.redirect_stderr(printed),
            np.errstate(divide="warn", over="warn", under="ignore", invalid="warn"),
            warnings.catch_warnings(),
        ):
            warnings.simplefilter("always")
            warnings.showwarning = self._warn
            self._refusals.hold()
            try:
                yield
            finally:
                self._refusals.lift()

    def _warn(
        self,
        message: Warning | str,
        category: type[Warning],
        filename: str,
        lineno: int,
        file: TextIO | None = None,  # noqa: ARG002  # Python defines this signature
        line: str | None = None,
    ) -> None:
        """Print a warning the first time that a line gives it, as a new interpreter does."""
        key = str(message), category, filename, lineno
        if key not in self._warned:
            self._warned.add(key)
            sys.stderr.write(warnings.formatwarning(message, category, filename, lineno, line))

    @contextlib.contextmanager
    def waiting(self) -> Iterator[None]:
        """Refuse nothing in the block, in which the grader runs."""
        with np.errstate(all="ignore"), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            self._refusals.lift()
            try:
                yield
            finally:
                self._refusals.hold()


class _Printed(io.TextIOBase):
    """A text stream whose text is added to the output of a channel."""

    def __init__(self, output: Output) -> None:
        self._output = output

    def writable(self) -> bool:
        return True

    def write(self, text: str) -> int:
        self._output.add(text.encode("utf-8", "replace"))
        return len(text)
