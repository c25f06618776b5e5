"""What the page's server asks a judge, and what the judge answers: MessagePack in frames, over pipes."""

from __future__ import annotations

import os
import select
from collections.abc import Iterator
from typing import Any, get_args

import msgspec

from dojo_page.judge import Answer, Question
from grader.course.catalog import Course
from grader.worker.protocol.channel import CHUNK, Frames, packed

SHOWS = "show"  # in the place of a library: the process that lets functions write, and shows what they give


class JudgeTerms(msgspec.Struct):
    """The course, its library and the options of `grade` that a judge works with."""

    root: str
    exercises: str
    library: str
    device: str = "cpu"
    isolation: str = "best"
    key: str | None = None
    secret: str | None = None
    search: float = 2.0
    plan: str = ""

    @classmethod
    def of(cls, course: Course, options: Any) -> JudgeTerms:
        """Return the terms of a course and the options of `grade`."""
        key, secret = (path and str(path.absolute()) for path in (options.key, options.secret))
        return cls(
            str(course.root.absolute()),
            str(course.exercises.absolute()),
            "numpy",
            options.device,
            options.isolation,
            key,
            secret,
            options.search if not options.no_search else 0.0,
            options.plan,
        )


_ENCODER = msgspec.msgpack.Encoder()
_DECODERS = {
    kind.__name__: msgspec.msgpack.Decoder(kind) for kind in (*get_args(Question), *get_args(Answer))
}


def framed(number: int, message: Question | Answer) -> bytes:
    """Return a message as a frame, whose header is its kind."""
    return packed(type(message).__name__.encode(), [_ENCODER.encode(message)], number)


def send(pipe: int, number: int, message: Question | Answer) -> None:
    """Write a message, framed, to a pipe."""
    data = memoryview(framed(number, message))
    while data:
        data = data[os.write(pipe, data) :]


def messages_in(frames: Frames) -> Iterator[tuple[int, Any]]:
    """Yield the messages that are whole, each with its number. Raises Malformed, msgspec.DecodeError."""
    while frame := frames.take():
        header, body, number = frame
        decoder = _DECODERS.get(bytes(header).decode("ascii", "replace"))
        if decoder is None:
            raise msgspec.DecodeError("no message is of this kind")
        yield number, decoder.decode(body)


class Inbox:
    """The questions that come through a pipe."""

    def __init__(self, pipe: int) -> None:
        self._pipe, self._frames = pipe, Frames()

    @property
    def has_news(self) -> bool:
        """True if reading would not wait."""
        return bool(select.select([self._pipe], [], [], 0)[0])

    def read(self) -> list[tuple[int, Question]]:
        """Wait for bytes and return the questions that are now whole, each with its number. Raises
        ChannelClosed once the other end is closed."""
        self._frames.add(os.read(self._pipe, CHUNK))
        return list(messages_in(self._frames))
