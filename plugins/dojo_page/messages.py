"""What the page's server asks a judge, and what the judge answers: MessagePack in frames, over pipes."""

from __future__ import annotations

import os
import select
from collections.abc import Iterator
from typing import Any

import msgspec

from dojo_review.review import Review
from dojo_show.speech import Wish
from grader.course.catalog import Course
from grader.report import KataReport, Picture
from grader.worker.protocol.channel import CHUNK, Frames, packed

SPEAKS = "speak"  # after the terms, if the process lets functions write


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


class Grade(msgspec.Struct, tag=True):
    """Grade the file of a kata, or a text in its place."""

    number: int
    kata: str
    text: str | None = None


class Try(msgspec.Struct, tag=True):
    """Run some lines after the code of a kata's file, or after a text in its place."""

    number: int
    kata: str
    lines: str
    text: str | None = None


class Break(msgspec.Struct, tag=True):
    """Change a line of an answer that passes, for a review."""

    number: int
    kata: str


class Mend(msgspec.Struct, tag=True):
    """Judge a text that is in no file."""

    number: int
    kata: str
    source: str


class Speak(msgspec.Struct, tag=True):
    """Write a text; with `mine`, also with functions that do not pass."""

    number: int
    wish: Wish
    mine: bool = False


class Stop(msgspec.Struct, tag=True):
    """End what is being done; what comes of it, if anything, is the answer to that."""

    number: int = 0


Question = Grade | Try | Break | Mend | Speak | Stop


class Verdict(msgspec.Struct, tag=True):
    """The report of a kata, its score before if that was another one, and another way to write it if it
    passes. The last verdict has been searched."""

    number: int
    report: KataReport
    was: str
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


class Broken(msgspec.Struct, tag=True):
    """A review, with the changed line."""

    number: int
    review: Review
    is_last: bool = True


class Mended(msgspec.Struct, tag=True):
    """What is wrong with a text; nothing if it passes."""

    number: int
    told: str
    is_last: bool = True


class Said(msgspec.Struct, tag=True):
    """The next piece of a text."""

    number: int
    text: str
    is_last: bool = False


class Written(msgspec.Struct, tag=True):
    """The text is at its end: what is to be said of it, and a page that shows what its tokens were chosen
    from; or it is what was recorded, since parts are missing. `beside` is the text with all parts, if one is
    left out."""

    number: int
    remarks: tuple[str, ...] = ()
    inside: str = ""
    is_recorded: bool = False
    beside: str = ""
    is_last: bool = True


class Dropped(msgspec.Struct, tag=True):
    """The question was not answered, because another one came or for the reason given."""

    number: int
    problem: str = ""
    is_last: bool = True


Answer = Verdict | Tried | Broken | Mended | Said | Written | Dropped

_QUESTIONS = msgspec.msgpack.Decoder(Question)
_ANSWERS = msgspec.msgpack.Decoder(Answer)


def framed(message: Question | Answer) -> bytes:
    """Return a message as a frame."""
    return packed(b"", [msgspec.msgpack.encode(message)], message.number)


def send(pipe: int, message: Question | Answer) -> None:
    """Write a message, framed, to a pipe."""
    data = memoryview(framed(message))
    while data:
        data = data[os.write(pipe, data) :]


def answers_in(frames: Frames) -> Iterator[Answer]:
    """Yield the answers that are whole. Raises Malformed, msgspec.DecodeError."""
    while frame := frames.take():
        yield _ANSWERS.decode(frame[1])


class Inbox:
    """The questions that come through a pipe."""

    def __init__(self, pipe: int) -> None:
        self._pipe, self._frames = pipe, Frames()

    @property
    def has_news(self) -> bool:
        """True if reading would not wait."""
        return bool(select.select([self._pipe], [], [], 0)[0])

    def read(self) -> list[Question]:
        """Wait for bytes and return the questions that are now whole. Raises ChannelClosed once the other end
        is closed."""
        self._frames.add(os.read(self._pipe, CHUNK))
        found: list[Question] = []
        while frame := self._frames.take():
            found.append(_QUESTIONS.decode(frame[1]))
        return found
