"""What workers know by heart: the questions of scripts, read once by the server and inherited by every fork.

A question that is known need not travel and be read again for each submission; it is named by its number. The
arguments in it are a worker's own as soon as it writes to them, as all memory is after a fork.
"""

from __future__ import annotations

import contextlib
import itertools
import os
from collections.abc import Iterable
from typing import IO, Any

from grader.worker import measures
from grader.worker.channel import Channel, ChannelClosed
from grader.worker.codec import Callback, Handle, decode, encode
from grader.worker.requests import Request

#: Requests by the digest of the script that they make up.
Lessons = dict[str, list[Request]]


def write(digest: str, requests: Iterable[tuple[bytes, list[bytes]]], file: IO[bytes]) -> None:
    """Write one lesson into an open file: a frame with its name, then a frame a request, encoded already."""
    channel = Channel(-1, file.fileno())
    for header, buffers in itertools.chain([encode({"lesson": digest})], requests):
        channel.hold(header, buffers, 0)
    channel.flush()


def read(fd: int) -> Lessons:
    """The lessons of a file. Its arrays are fresh, and nobody else's."""
    os.lseek(fd, 0, os.SEEK_SET)
    channel, lessons = Channel(fd, -1), Lessons()
    with contextlib.suppress(ChannelClosed):  # the end of the file
        while True:
            header, body, _ = channel.receive()
            message = decode(header, body)
            if "lesson" in message:
                current = lessons.setdefault(message["lesson"], [])
            else:
                current.append(_by_heart(Request(**message["request"])))
    return lessons


def _by_heart(request: Request) -> Request:
    """It is answered once by each worker, so that whatever its arguments hold may be handed over as it is.
    What measuring needs is imported now, once for all of them."""
    request.literal = not any(_refers(part) for part in (request.args, request.kwargs))
    if request.count_flops:
        measures.prepare_to_count()
    return request


def _refers(value: Any) -> bool:
    """Whether anything in it stands for an object of the worker's, or for a function of the grader's."""
    if isinstance(value, Handle | Callback):
        return True
    parts = value.values() if type(value) is dict else value if type(value) in (list, tuple) else ()
    return any(map(_refers, parts))
