"""A student in a worker: every call is a frame out and a frame back, or the worker is lost."""

from __future__ import annotations

import itertools
import math
import time
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from typing import Any

from grader.expect import SubmissionFailed
from grader.worker.ahead import Answers, Unforeseen, recite
from grader.worker.channel import Channel, ChannelClosed, Flooded, TimedOut
from grader.worker.codec import Callback, Handle, Malformed, decode, encode, in_one_line
from grader.worker.requests import FIRST_NUMBER, Outcome, Request
from grader.worker.script import Script
from grader.worker.student import Student

CALL_SECONDS = 5.0


class WorkerLost(Exception):
    """The worker died, was too slow or broke the protocol. `timed_out` tells which."""

    def __init__(self, message: str, timed_out: bool = False) -> None:
        super().__init__(message)
        self.timed_out = timed_out


class BegunAnew(WorkerLost):
    """What was sent ahead is of no use, whatever the reason: the check is due again, one call at a time."""


class RemoteStudent(Student):
    """A submission in a worker. A call that fails to come back in time loses the worker."""

    def __init__(
        self, channel: Channel, call_seconds: float = CALL_SECONDS, give_up_at: float = math.inf
    ) -> None:
        super().__init__()
        self._give_up_at = give_up_at
        self._channel = channel
        self._call_seconds = call_seconds
        self._nonces = itertools.count(1)
        self._nonce = 0  # of the greeting
        self._numbers = itertools.count(FIRST_NUMBER)
        self._answers: Answers | None = None  # of the case that is being judged, where they have come

    def greeting(self, seconds: float) -> dict[str, Any]:
        """What the worker says first: which protections hold. Raises WorkerLost."""
        with _told_apart(seconds):
            return dict(self._receive(time.monotonic() + seconds)["in_force"])

    def ask(self, message: dict[str, Any], seconds: float, functions: list[Callable[..., Any]]) -> Any:
        """One question and its answer; callbacks in between are served. Raises WorkerLost."""
        self._nonce = next(self._nonces)
        deadline = time.monotonic() + seconds
        with _told_apart(seconds):
            self._channel.send(*encode(message), self._nonce, deadline)
            while True:
                reply = self._receive(deadline)
                if "callback" not in reply:
                    return reply
                self._channel.send(*encode(_called_back(reply, functions)), self._nonce, deadline)

    def _receive(self, deadline: float) -> dict[str, Any]:
        header, body, nonce = self._channel.receive(deadline)
        if nonce != self._nonce:
            raise Malformed("it does not belong to this call")
        return decode(header, body)

    def perform(self, request: Request) -> Outcome:
        if time.monotonic() > self._give_up_at:
            raise WorkerLost("All calls together took too long.", timed_out=True)
        answer = unwrap(self._asked(request) if self._answers is None else self._taken(request))
        try:
            outcome = Outcome(**answer)
        except TypeError:
            outcome = None
        if outcome is None or not _is_sound(outcome, request):
            raise WorkerLost("The answer could not be read: it is no outcome.")
        return outcome

    def _asked(self, request: Request) -> dict[str, Any]:
        functions: list[Callable[..., Any]] = []
        request.args = _numbered(request.args, functions)
        request.kwargs = _numbered(request.kwargs, functions)
        request.number = next(self._numbers)
        return dict(self.ask({"request": request.message()}, self._call_seconds, functions))

    def _taken(self, request: Request) -> dict[str, Any]:
        assert self._answers is not None
        with _anew():
            return self._answers.take(request)

    @contextmanager
    def foreseeing(
        self, script: Script | None, whole: bool = False, left_out: Collection[int] = ()
    ) -> Iterator[dict[int, Answers] | None]:
        """The calls of the script are made before they are due, but for cases `left_out`. Raises BegunAnew,
        also at the end where something was called in vain and the script must be asked as a `whole`."""
        if not script:
            yield None
            return
        with _anew():
            answers = recite(self._channel, script, self._nonces, left_out, self._give_up_at)
        yield answers
        if whole and any(found.in_vain for found in answers.values()):
            with _anew():
                raise Unforeseen

    @contextmanager
    def answering(self, answers: Answers | None) -> Iterator[None]:
        before = self._answers
        self._answers = answers or before
        try:
            yield
        finally:
            self._answers = before

    @property
    def printed(self) -> str:
        """What the submission has printed so far, cut in the middle."""
        return self._channel.output.text()


def _is_sound(outcome: Outcome, request: Request) -> bool:
    """Whether what stands beside the value is what was asked for; a submission may have forged it."""
    gradients, arguments = outcome.gradients, outcome.arguments
    if type(outcome.flops) is not int or not (gradients is None or type(gradients) is dict):
        return False
    if arguments is None:
        return True
    if type(arguments) is not list or [type(part) for part in arguments] != [list, dict]:
        return False
    return len(arguments[0]) == len(request.args) and arguments[1].keys() == request.kwargs.keys()


@contextmanager
def _told_apart(seconds: float) -> Iterator[None]:
    """Every way in which a worker can be lost, as WorkerLost with its sentence."""
    try:
        yield
    except TimedOut:
        raise WorkerLost(f"No answer within {seconds:g} seconds.", timed_out=True) from None
    except ChannelClosed:
        raise WorkerLost("The process that ran the submission ended in the middle of a call.") from None
    except Flooded:
        raise WorkerLost("The submission printed more than 32 MiB.") from None
    except (Malformed, KeyError, TypeError) as error:
        told = error if isinstance(error, Malformed) else "it is no greeting"
        raise WorkerLost(f"The answer could not be read: {told}.") from None


@contextmanager
def _anew() -> Iterator[None]:
    try:
        yield
    except (Unforeseen, TimedOut, ChannelClosed, Flooded, Malformed) as reason:
        raise BegunAnew(f"Calls cannot be sent ahead: {type(reason).__name__}.") from None


def unwrap(reply: dict[str, Any]) -> Any:
    """The value of an answer. Raises SubmissionFailed where the submission raised."""
    if "error" not in reply:
        return reply.get("ok")
    told = reply["error"]
    try:
        kinds = tuple(in_one_line(str(kind)[:80]) for kind in told["kinds"]) or ("Exception",)
        line = told["line"] if type(told["line"]) is int else None
        raise SubmissionFailed(kinds, in_one_line(str(told["message"])[:2000]), line)
    except (KeyError, TypeError):
        raise WorkerLost("The answer could not be read: its error is no error.") from None


def _numbered(value: Any, functions: list[Callable[..., Any]]) -> Any:
    """Functions become numbers that the worker can call back by."""
    if type(value) in (list, tuple):
        return type(value)(_numbered(item, functions) for item in value)
    if type(value) is dict:
        return {key: _numbered(item, functions) for key, item in value.items()}
    if callable(value) and not isinstance(value, Handle) and not hasattr(value, "shape"):
        functions.append(value)
        return Callback(len(functions) - 1)
    return value


def _called_back(reply: dict[str, Any], functions: list[Callable[..., Any]]) -> dict[str, Any]:
    """Call one of the grader's functions for the submission; its error goes back as text."""
    number, args = reply["callback"], reply.get("args")
    if type(number) is not int or not 0 <= number < len(functions) or type(args) is not list:
        raise Malformed("it calls a function that was not given")
    try:
        return {"value": functions[number](*args)}
    except Exception as error:
        return {"error": f"{type(error).__name__}: {error}"}
