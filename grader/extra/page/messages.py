"""What the page's server asks a judge, and what the judge answers: frames of MessagePack over pipes."""

from __future__ import annotations

import os
import select
from typing import Any

import msgspec

from grader.course.catalog import Course
from grader.extra.show.speech import Wish
from grader.report import KataReport, Picture

LENGTH = 4  # bytes before a frame
LARGEST = 64 << 20  # bytes of a frame


class Terms(msgspec.Struct):
    """The course, its library and the options of `grade` that a judge works with."""

    root: str
    exercises: str
    library: str
    device: str = "cpu"
    isolation: str = "best"
    key: str | None = None
    secret: str | None = None
    search: float = 2.0
    remembers: bool = True
    plan: str = ""

    @classmethod
    def of(cls, course: Course, options: Any) -> Terms:
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
            options.remembers,
            options.plan,
        )


class Grade(msgspec.Struct, tag=True):
    """Grade the file of a kata."""

    number: int
    kata: str


class Try(msgspec.Struct, tag=True):
    """Run some lines after the code of a kata's file."""

    number: int
    kata: str
    lines: str


class Speak(msgspec.Struct, tag=True):
    """Write a text; with `mine`, also with functions that do not pass."""

    number: int
    wish: Wish
    mine: bool = False


Question = Grade | Try | Speak


class Verdict(msgspec.Struct, tag=True):
    """The report of a kata, the sentence about what changed, and another way to write it if it passes. The
    last verdict has been searched."""

    number: int
    report: KataReport
    changed: str
    seconds: float
    way: str = ""
    is_last: bool = False


class Tried(msgspec.Struct, tag=True):
    """What the lines printed, their last value as a picture or text, and why they failed."""

    number: int
    printed: str
    value: str = ""
    pictures: tuple[Picture, ...] = ()
    problem: str = ""
    is_last: bool = True


class Said(msgspec.Struct, tag=True):
    """The next piece of a text."""

    number: int
    text: str
    is_last: bool = False


class Written(msgspec.Struct, tag=True):
    """The text is at its end: what is to be said of it, and a page that shows what its tokens were chosen
    from; or it is what was recorded, since parts are missing."""

    number: int
    remarks: tuple[str, ...] = ()
    inside: str = ""
    is_recorded: bool = False
    is_last: bool = True


class Dropped(msgspec.Struct, tag=True):
    """The question was not answered, because another one came or for the reason given."""

    number: int
    problem: str = ""
    is_last: bool = True


Answer = Verdict | Tried | Said | Written | Dropped

_QUESTIONS = msgspec.msgpack.Decoder(Question)
_ANSWERS = msgspec.msgpack.Decoder(Answer)


def framed(message: Question | Answer) -> bytes:
    """Return a message after its length."""
    body = msgspec.msgpack.encode(message)
    return len(body).to_bytes(LENGTH, "big") + body


def send(pipe: int, message: Question | Answer) -> None:
    """Write a message, framed, to a pipe."""
    data = memoryview(framed(message))
    while data:
        data = data[os.write(pipe, data) :]


def length_of(head: bytes) -> int:
    """Return the length of the frame behind its first bytes. Raises ValueError if it is too large."""
    length = int.from_bytes(head, "big")
    if length > LARGEST:
        raise ValueError(f"a frame of {length} bytes")
    return length


def to_answer(body: bytes) -> Answer:
    """Return the answer in a frame. Raises msgspec.DecodeError."""
    answer: Answer = _ANSWERS.decode(body)
    return answer


class Inbox:
    """The questions that come through a pipe."""

    def __init__(self, pipe: int) -> None:
        self._pipe, self._bytes = pipe, bytearray()

    @property
    def has_news(self) -> bool:
        """True if reading would not wait."""
        return bool(select.select([self._pipe], [], [], 0)[0])

    def read(self) -> list[Question]:
        """Wait for bytes and return the questions that are now whole. Raises EOFError once the other end is
        closed."""
        data = os.read(self._pipe, 1 << 16)
        if not data:
            raise EOFError
        self._bytes += data
        found: list[Question] = []
        while len(self._bytes) >= LENGTH:
            end = LENGTH + length_of(bytes(self._bytes[:LENGTH]))
            if len(self._bytes) < end:
                break
            found.append(_QUESTIONS.decode(bytes(self._bytes[LENGTH:end])))
            del self._bytes[:end]
        return found
