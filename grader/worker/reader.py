"""Ask a child process about a text that a student wrote, and hold its answer.

Trusted code parses no such text itself: the text may be made to take hours, all memory or all of the stack.
A reader takes at most 20 seconds of CPU time and 512 MiB for one text, in the sandbox of a worker.
"""

from __future__ import annotations

import atexit
import itertools
import json
import os
import subprocess
import threading
import time
from contextlib import suppress
from dataclasses import dataclass, field, is_dataclass, replace
from typing import TYPE_CHECKING, Any, Generic, Protocol, TypeVar

from grader.processes import ending
from grader.reading.source import Refused
from grader.worker.protocol.channel import Channel, ChannelClosed, Flooded, Malformed, TimedOut
from grader.worker.protocol.terms import ALL, READING, SandboxTerms, environment

if TYPE_CHECKING:
    from collections.abc import Mapping

SECONDS = 20.0  # of CPU time for one text, after which the child ends
WALL_SECONDS = 200.0  # the same on the clock, on a busy machine or without a timer
FIRST_NONCE = 1 << 40  # no call of a worker has such a number

LONGEST_NAME, LONGEST_DIGEST = 2_000, 64
MOST_NAMES = 1_000
LAST_LINE = 1 << 21


@dataclass(frozen=True, kw_only=True)
class Record:
    """What is known of an answer that is valid Python: the library that it is judged in; whether it is begun,
    and differs from the stub; the lines of its unwritten parts, from the first to the one after the last; its
    written answers; whether the diagnosis may work on it (`plain`); a digest of its code, which comments,
    layout and docstrings do not change; and its shape, if a stub was sent. The shape is empty for a source
    that is nested too deeply. Raises ValueError if a field is larger than that of any text."""

    library: str
    begun: bool
    touched: bool
    unwritten: dict[str, tuple[int, int]] = field(default_factory=dict)
    words: dict[str, str] = field(default_factory=dict)
    plain: bool = False
    code_digest: str = ""
    shape: str = ""
    tokens: int = 0

    def __post_init__(self) -> None:
        bounded = (
            max(len(self.code_digest), len(self.shape)) <= LONGEST_DIGEST
            and max(len(self.unwritten), len(self.words)) <= MOST_NAMES
            and all(len(name) <= LONGEST_NAME for name in (*self.unwritten, *self.words))
            and all(0 <= line <= LAST_LINE for lines in self.unwritten.values() for line in lines)
        )
        if not bounded:
            raise ValueError("a field is too large")


Found = TypeVar("Found")


@dataclass(frozen=True)
class Reply(Generic[Found]):
    """The header of an answer: the `answer`; or why the text is refused, the line in question, and whether
    that says nothing about the code; or what was `spent`."""

    answer: Found | None = None
    refused: tuple[str, str, bool] | None = None
    spent: str = ""


SPENT = {
    "time": f"reading it takes more than {SECONDS:g} seconds of computing",
    "memory": f"reading it takes more than {READING >> 20} MiB of memory, or it is nested too deeply",
    "depth": "it is nested too deeply, or holds an integer of thousands of digits",
    "": "the process that read it has ended",
}


class AnsweringProcess(Protocol):
    """A process that answers questions on a channel."""

    channel: Channel

    def kill(self) -> None:
        """End the process."""


class Reader:
    """Asks one child process after another: a child is replaced when it was lost. Threads may share it."""

    def __init__(self) -> None:
        self.child: AnsweringProcess | None = None
        self.owner = 0  # the process that has started the child: a fork must not use its channel
        self._has_answered = False
        self._nonces = itertools.count(FIRST_NONCE)
        self.lock = threading.RLock()

    def ask(self, question: str, kind: type[Found], data: bytes, **given: Any) -> tuple[Found, str]:
        """Return the answer to a question of `grader.reading.lookups`, and a source that comes with it.
        Raises Refused, `unread` if the text could not be read within the limits."""
        asked = {"ask": question, "given": given, "seconds": SECONDS}
        header = json.dumps(asked).encode()  # in ASCII: the name of a file may be no UTF-8
        with self.lock:
            began, may_be_innocent = time.monotonic(), self._has_answered
            try:
                reply, body = self._exchange(header, data)
            except (ChannelClosed, TimedOut, Flooded, Malformed):
                seconds = time.monotonic() - began
                self.close()
                if may_be_innocent and seconds < SECONDS:  # the texts before may have taken its memory
                    return self.ask(question, kind, data, **given)
                raise _spent("time" if seconds >= SECONDS else "", given) from None
        try:
            found = _decoded(reply, kind)
        except ValueError:
            raise _spent("", given) from None
        if found.refused is not None:
            text, excerpt, unread = found.refused
            raise Refused(text, excerpt, unread=unread)
        if found.spent == "memory":
            self.close()
            if may_be_innocent:
                return self.ask(question, kind, data, **given)
        if found.spent:
            raise _spent(found.spent, given)
        return found.answer, body.decode("utf-8", "surrogatepass")  # type: ignore[return-value]

    def _exchange(self, header: bytes, data: bytes) -> tuple[bytes, bytearray]:
        """Return header and body of the child's answer. Raises what the channel raises."""
        if self.child is None or self.owner != os.getpid():
            self.child, self.owner, self._has_answered = self.start(), os.getpid(), False
        deadline, nonce, channel = time.monotonic() + WALL_SECONDS, next(self._nonces), self.child.channel
        channel.send(header, [data], nonce, deadline)
        reply, body, received = channel.receive(deadline)
        if received != nonce:
            raise Malformed("it does not belong to this question")
        self._has_answered = True
        return reply, body

    def start(self) -> AnsweringProcess:
        """Start a child; a reader that subclasses this one may have another kind."""
        return _Interpreter()

    def close(self) -> None:
        """End the child, if this process has started one."""
        child, self.child, self._has_answered = self.child, None, False
        if child is not None and self.owner == os.getpid():
            child.kill()


def _decoded(reply: bytes, kind: type[Found]) -> Reply[Found]:
    """Return a reply with an answer of this type. Raises ValueError if it has another form."""
    try:
        from msgspec.json import decode  # most commands read no answer
    except ImportError:  # in a browser, where this process has answered itself: nothing is checked
        found: Reply[Any] = Reply(**json.loads(reply))
        return replace(found, answer=kind(**found.answer)) if is_dataclass(kind) and found.answer else found
    return decode(reply, type=Reply[kind])  # type: ignore[valid-type]


def _spent(what: str, given: Mapping[str, Any]) -> Refused:
    reason = SPENT.get(what, SPENT[""])
    return Refused(f"{given.get('label', 'The text')} could not be judged: {reason}.", unread=True)


class _Interpreter:
    """A reader in a new interpreter, which imports no array library."""

    def __init__(self) -> None:
        terms = SandboxTerms("cpu", ALL, "", READING).message().decode()
        command = ending.interpreter("grader.worker.child.reader", "main", terms)
        self.channel, self._popen = spawned(command, environment())

    def kill(self) -> None:
        ending.end(self._popen.pid, self._has_ended, wait=0, ask=0)
        self.channel.close()

    def _has_ended(self, seconds: float) -> bool:
        with suppress(subprocess.TimeoutExpired):
            return self._popen.wait(seconds) is not None
        return False


def spawned(command: list[str], variables: dict[str, str] | None) -> tuple[Channel, subprocess.Popen[bytes]]:
    """Start a process whose standard streams are a channel."""
    pipe: Any = subprocess.PIPE
    popen = subprocess.Popen(
        command, stdin=pipe, stdout=pipe, stderr=pipe, bufsize=0, env=variables, start_new_session=True
    )
    assert popen.stdin
    assert popen.stdout
    assert popen.stderr
    reader, writer, printed = (os.dup(s.fileno()) for s in (popen.stdout, popen.stdin, popen.stderr))
    for stream in (popen.stdin, popen.stdout, popen.stderr):
        stream.close()
    return Channel(reader, writer, printed), popen


_own: list[Reader] = []  # the reader of this process, once it has one


def reader() -> Reader:
    """Return the reader of this process, which starts with its first question."""
    if not _own:
        ask_by(Reader())
    return _own[0]


def ask_by(own: Reader) -> None:
    """Let this process ask this reader, if it has asked none yet."""
    _own.append(own)
    atexit.register(own.close)
