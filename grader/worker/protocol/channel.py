"""Send and receive frames over a pair of file descriptors, with limits on time and size.

    frame = "DOJO" · header length (u32) · body length (u64) · nonce (u64) · header · body

`Frames` takes them from a stream of bytes. Sizes are checked before memory is allocated. A reply must carry
the nonce of its call, so a reply that was sent twice, or belongs to another call, is rejected. The grader's
end also reads what the worker prints, so that the worker never blocks on a full pipe.
"""

from __future__ import annotations

import os
import select
import socket
import stat
import struct
import time
from collections.abc import Callable
from contextlib import suppress

MAGIC = b"DOJO"
MAX_BODY = 64 * 2**20  # bytes of arrays in one frame
MAX_HEADER = 4 * 2**20  # bytes: the source of a submission has up to 1 MiB, and JSON escapes it
PREFIX = struct.Struct(">4sIQQ")
CHUNK = 1 << 16  # bytes read or written at once; larger buffers would cost a system call to allocate
SOCKET_TIMEOUT = struct.pack("ll", 0, 20_000)  # a timeval of 20 ms
OUTPUT_KEPT = 8_000  # bytes kept from the beginning, and from the end, of a submission's output
OUTPUT_LIMIT = 32 * 2**20  # a submission that prints more than this is stopped


class Malformed(Exception):
    """The bytes are not a valid message, or a value cannot be encoded."""


class ChannelClosed(Exception):
    """The other end was closed."""


class ChannelCut(ChannelClosed):
    """The other end was closed in the middle of a frame."""


class TimedOut(Exception):
    """No complete frame was sent or received within the time limit."""


class Flooded(Exception):
    """The submission printed more than OUTPUT_LIMIT bytes."""


def packed(header: bytes, buffers: list[bytes], nonce: int) -> bytes:
    """Return one frame."""
    prefix = PREFIX.pack(MAGIC, len(header), sum(map(len, buffers)), nonce)
    return b"".join((prefix, header, *buffers))


class Frames:
    """The frames in a stream of bytes that comes in pieces."""

    def __init__(self) -> None:
        self._ahead = bytearray()  # bytes that were added but not taken yet

    def add(self, data: bytes) -> None:
        """Add what was read. Raises ChannelClosed for no bytes, which mean the end of the stream."""
        if not data:
            raise ChannelCut if self._ahead else ChannelClosed
        self._ahead += data

    def take(self) -> tuple[bytes, bytearray, int] | None:
        """Return header, body and nonce of the next frame, or None if it is not whole yet. Raises
        Malformed."""
        if len(self._ahead) < PREFIX.size:
            return None
        magic, header_size, body_size, nonce = PREFIX.unpack_from(self._ahead)
        if magic != MAGIC:
            raise Malformed("a frame does not begin as one")
        if header_size > MAX_HEADER or body_size > MAX_BODY:
            raise Malformed("a frame is larger than allowed")
        begin = PREFIX.size + header_size
        end = begin + body_size
        if len(self._ahead) < end:
            return None
        header, body = bytes(self._ahead[PREFIX.size : begin]), self._ahead[begin:end]
        del self._ahead[:end]
        return header, body, nonce


class Output:
    """The beginning and the end of what a submission printed; the middle is dropped."""

    def __init__(self) -> None:
        self.head, self.tail, self.total = b"", b"", 0

    def add(self, data: bytes) -> None:
        self.total += len(data)
        room = OUTPUT_KEPT - len(self.head)
        self.head += data[:room]
        self.tail = (self.tail + data[room:])[-OUTPUT_KEPT:] if len(data) > room else self.tail

    def require_bounded(self) -> None:
        """Raise Flooded if more was printed than OUTPUT_LIMIT."""
        if self.total > OUTPUT_LIMIT:
            raise Flooded(f"The submission printed more than {OUTPUT_LIMIT >> 20} MiB.")

    def take_back(self, total: int) -> bytes:
        """Remove and return the output after its first `total` bytes, as far as it was kept."""
        kept = self.head + self.tail
        rest = max(0, len(kept) - (self.total - total))
        self.head, self.tail = kept[:rest][: len(self.head)], kept[len(self.head) : rest]
        self.total = total
        return kept[rest:]

    def text(self) -> str:
        lost = self.total - len(self.head) - len(self.tail)
        middle = f"\n… {lost} bytes left out …\n".encode() if lost > 0 else b""
        return (self.head + middle + self.tail).decode("utf-8", "replace")


def _set_timeout(fd: int) -> None:
    """Let reads and writes on a socket block for at most 20 ms; other descriptors never block. Most answers
    come within microseconds, and a blocking read saves two system calls."""
    if not stat.S_ISSOCK(os.fstat(fd).st_mode):
        os.set_blocking(fd, False)
        return
    with socket.socket(fileno=os.dup(fd)) as end:
        for option in (socket.SO_RCVTIMEO, socket.SO_SNDTIMEO):
            end.setsockopt(socket.SOL_SOCKET, option, SOCKET_TIMEOUT)


class Channel:
    """One end of the channel. It reads frames from `reader`, writes them to `writer` and, while it waits,
    reads the worker's output from `printed`. All three are file descriptors."""

    #: Carries out a call of one of the grader's functions, for a worker that cannot wait for it.
    call_back: Callable[[bytes, bytearray], tuple[bytes, list[bytes]]] | None = None

    def __init__(self, reader: int, writer: int, printed: int | None = None) -> None:
        self.reader, self.writer, self.printed = reader, writer, printed
        self.output = Output()
        self._frames = Frames()
        self._held = bytearray()  # frames that the next `flush` writes
        for fd in {reader, writer} if printed is not None else ():
            _set_timeout(fd)

    def send(self, header: bytes, buffers: list[bytes], nonce: int, deadline: float | None = None) -> None:
        """Write one frame. Raises ChannelClosed, TimedOut, Flooded."""
        self.hold(header, buffers, nonce)
        self.flush(deadline)

    def hold(self, header: bytes, buffers: list[bytes], nonce: int) -> None:
        """Queue one frame; `flush` writes it together with the others in the queue."""
        self._held += packed(header, buffers, nonce)

    def begin(self) -> None:
        """Send as much of the queue as fits now and ignore errors; `flush` sends the rest and raises them."""
        with suppress(OSError):
            del self._held[: os.write(self.writer, self._held[:CHUNK])]

    def flush(self, deadline: float | None = None) -> None:
        """Write the queued frames. Raises ChannelClosed, TimedOut, Flooded."""
        data, self._held = self._held, bytearray()
        view = memoryview(data)
        while view:
            try:
                view = view[os.write(self.writer, view[:CHUNK]) :]
            except BlockingIOError:
                self._wait(deadline, to_write=True)
            except OSError:
                raise ChannelClosed from None

    def receive(self, deadline: float | None = None) -> tuple[bytes, bytearray, int]:
        """Return the header, body and nonce of one frame. Raises ChannelClosed, TimedOut, Flooded,
        Malformed."""
        if deadline is not None and time.monotonic() >= deadline:
            raise TimedOut
        while (frame := self._frames.take()) is None:
            try:
                self._read_ahead()
            except BlockingIOError:
                self._wait(deadline)
        return frame

    def _read_ahead(self) -> None:
        try:
            part = os.read(self.reader, CHUNK)
        except BlockingIOError:
            raise
        except OSError:
            part = b""
        self._frames.add(part)

    def _wait(self, deadline: float | None, *, to_write: bool = False) -> None:
        """Wait until the channel is ready, and read the worker's output. Raises TimedOut, Flooded."""
        awaited, writers = (self.writer, [self.writer]) if to_write else (self.reader, [])
        if self._has_printed():
            self._read_printed()
        while True:
            left = None if deadline is None else deadline - time.monotonic()
            if left is not None and left <= 0:
                raise TimedOut
            readers = [fd for fd in (self.reader, self.printed) if fd is not None]
            readable, writable, _ = select.select(readers, writers, [], left)
            if self.printed in readable:
                self._read_printed()  # one chunk: the next one may be of the next call
            if to_write and self.reader in readable:
                self._read_ahead()  # otherwise both ends could wait for the other one to read
            if awaited in writable or awaited in readable:
                return

    def drain(self) -> None:
        """Read the submission's output so far without waiting. Raises Flooded."""
        while self._has_printed():
            self._read_printed()

    def _has_printed(self) -> bool:
        return self.printed is not None and bool(select.select([self.printed], [], [], 0)[0])

    def _read_printed(self) -> None:
        """Read what has been printed, a chunk at most. Raises Flooded."""
        assert self.printed is not None
        data = os.read(self.printed, CHUNK)
        if not data:
            os.close(self.printed)
            self.printed = None
            return
        self.output.add(data)
        self.output.require_bounded()

    def close(self) -> None:
        """Close all file descriptors of this end."""
        for fd in {self.reader, self.writer, self.printed} - {None}:
            os.close(fd)  # type: ignore[arg-type]  # None is taken out of the set above
        self.printed = None
