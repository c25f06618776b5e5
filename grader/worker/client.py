"""Call a submission in a worker process: send batches of requests, and receive one frame per answer."""

from __future__ import annotations

import itertools
import re
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from typing import Any

from grader.expect import SubmissionFailed
from grader.values.exchange import AS_IT_IS, ArrayExchange
from grader.worker.process import Process, Usage
from grader.worker.protocol.channel import OUTPUT_LIMIT, ChannelClosed, Flooded, TimedOut
from grader.worker.protocol.codec import Handle, Malformed, encode, in_one_line
from grader.worker.protocol.messages import (
    LEFT_CHANGED,
    LONGEST_NAME,
    MOST_KEPT,
    CallFunction,
    CountNumbers,
    Outcome,
    Request,
)
from grader.worker.student import Student

NEW_LINE = re.compile(r"\r\n?|\n")  # as Python counts lines
CALL_SECONDS = 5.0  # CPU time of one call
START_SECONDS = 60.0  # wall time: a new interpreter first imports PyTorch, perhaps on a busy machine
WALL_FACTOR = 10  # wall time of one call, as a multiple of the limit of CPU time
KATA_SECONDS = 60.0  # wall time of all calls together, minus the time spent waiting for a free processor
VAIN_SECONDS = 4.0  # of calls that all fail, after which no more are made: no value was returned so far
ANSWERS = 128 * 2**20  # bytes of all answers of one submission
LONGEST_TOLD = 200  # characters of an error in a sentence
PRINTED = 256 * 2**10  # bytes that one call may print
SLICE = 0.2  # seconds between two checks of how much time a call has used
BRIEF = 0.01  # seconds; for shorter batches the wait for a free processor is not measured
MOST_LINES = 1 << 20  # of a submission, which has no more bytes
MOST_HELD = 1 << 16  # bytes of requests in one batch, which fit into the socket's buffer
AHEAD = 2  # requests that are sent at a time, so that the worker begins while the others are encoded


class WorkerLost(Exception):
    """The worker died, was too slow or broke the protocol. `timed_out` is True if it was too slow."""

    def __init__(self, message: str, *, timed_out: bool = False) -> None:
        super().__init__(message)
        self.timed_out = timed_out


class InVain(WorkerLost):
    """No call has returned a value, and they have taken long enough."""


class Outdated(BaseException):
    """The submission was saved again while it ran. It is a BaseException, so that a law cannot catch it."""


@dataclass
class Budget:
    """The seconds and the bytes of answers that all calls of one submission have used, in all its workers.
    `is_outdated` tells whether its result is of no use any more."""

    limit: float = KATA_SECONDS
    spent: float = 0.0
    received: int = 0
    has_answered: bool = False  # a call has returned a value
    is_outdated: Callable[[], bool] = lambda: False
    meddled: bool = False  # it has changed what measures it


class RemoteStudent(Student):
    """A submission in a worker process. A call that exceeds its time limit raises WorkerLost. The worker then
    still runs: whoever has started it ends it."""

    def __init__(
        self,
        process: Process,
        call_seconds: float = CALL_SECONDS,
        budget: Budget | None = None,
        exchange: ArrayExchange = AS_IT_IS,
    ) -> None:
        super().__init__()
        self._process, self._channel = process, process.channel
        self._call_seconds, self.budget = call_seconds, budget or Budget()
        self._exchange = exchange
        self._nonces = itertools.count(1)
        self._numbers = itertools.count(1)
        self._filename, self._lines = "", [""]
        self._batch = Usage(time.monotonic(), 0.0, None)  # at the start of the current batch
        #: Gives another worker with the same submission, by its number, for requests that ask for one.
        self.another: Callable[[int], AbstractContextManager[RemoteStudent]] | None = None

    def greeting(self, seconds: float) -> dict[str, Any]:
        """Return the worker's first message: the protections in force. Raises WorkerLost."""
        if self._process.greeting is None:
            with _as_lost(seconds):
                found = self._reply_to(0, time.monotonic() + seconds)["in_force"]
                self._process.greeting = dict(found)
        return self._process.greeting

    def load(self, name: str, seconds: float, filename: str = "", **loading: Any) -> Any:
        """Load a submission as the module `name`; its file name is `filename` or `name`.py. Raises
        SubmissionFailed, WorkerLost."""
        self._filename = loading["filename"] = filename or f"{name}.py"
        self._lines = NEW_LINE.split(loading["source"])
        nonce, self._batch = next(self._nonces), self._process.usage()
        with _as_lost(seconds):
            self._channel.send(*encode({"load": {"name": name, **loading}}), nonce)
            return unwrap(self._answer_to(nonce, [], seconds, OUTPUT_LIMIT))

    def perform(self, request: Request) -> Outcome:
        answer = self.perform_all([request])[0]
        if isinstance(answer, Exception):
            raise answer
        return answer

    def perform_all(self, requests: Sequence[Request]) -> list[Outcome | Exception]:
        """Carry out the requests in order. If the worker is lost, the list ends early with a WorkerLost."""
        if self.another is not None and any(request.options.other for request in requests):
            return [self._of_another(request) for request in requests]
        answers: list[Outcome | Exception] = []
        calls = [request for request in requests if isinstance(request, CallFunction)]
        for request in calls[-1:]:  # a look after each call would take longer than the call
            request.inspect = True
        for part in self._batches(requests):
            answers += self._receive_batch(part)
            if isinstance(answers[-1], WorkerLost):
                break
        return answers

    def _of_another(self, request: Request) -> Outcome | Exception:
        """Return the answer of another worker, or what it raises. This one stands still in the meantime."""
        assert self.another is not None
        try:
            with self._process.stopped(), self.another(request.options.other) as other:
                return other.perform_all([request])[0]
        except WorkerLost as lost:
            return lost

    def _receive_batch(self, part: list[tuple[Request, Sent | Exception]]) -> list[Outcome | Exception]:
        """Return the answers to the requests of one batch. If the worker is lost, the last one is WorkerLost.
        The time is added to what the submission has spent of its budget."""
        self._batch = self._process.usage()
        answers: list[Outcome | Exception] = []
        for request, sent in part:
            answers.append(self._outcome(request, sent))
            if isinstance(answers[-1], SubmissionFailed) and self._is_in_vain():
                answers[-1] = InVain(_in_vain(answers[-1]))
            if isinstance(answers[-1], WorkerLost):
                break
        wall = time.monotonic() - self._batch.wall
        self.budget.spent += wall if wall < BRIEF else self._since_the_batch(self._process.usage())
        return answers

    def _is_in_vain(self) -> bool:
        """Whether no call has returned a value so far, and the calls have taken more than VAIN_SECONDS."""
        about = self.budget.spent + time.monotonic() - self._batch.wall
        if self.budget.has_answered or about <= VAIN_SECONDS:
            return False
        return self.budget.spent + self._since_the_batch(self._process.usage()) > VAIN_SECONDS

    def _batches(self, requests: Sequence[Request]) -> Iterator[list[tuple[Request, Sent | Exception]]]:
        """Queue requests until their size exceeds MOST_HELD, then yield them; repeat for the rest."""
        part: list[tuple[Request, Sent | Exception]] = []
        size = 0
        for request in requests:
            sent = self._hold(request)
            part.append((request, sent))
            if len(part) % AHEAD == 0:
                self._channel.begin()
            size += sent.size if isinstance(sent, Sent) else 0
            if size > MOST_HELD:
                yield part
                part, size = [], 0
        if part:
            yield part

    def _hold(self, request: Request) -> Sent | Exception:
        request.number = next(self._numbers)
        try:
            header, buffers = self._exchange.encode(request.message(), gaps=True)
        except Malformed as error:  # the law passes an argument that cannot be encoded
            return error
        sent = Sent(next(self._nonces), len(header) + sum(map(len, buffers)))
        self._channel.hold(header, buffers, sent.nonce)
        return sent

    def _outcome(self, request: Request, sent: Sent | Exception) -> Outcome | Exception:
        if isinstance(sent, Exception):
            return sent
        try:
            with _as_lost(self._call_seconds):
                self._require_time_left()
                self._channel.flush(time.monotonic() + WALL_FACTOR * self._call_seconds)
                reply = self._answer_to(sent.nonce, request.functions, self._call_seconds, PRINTED)
            outcome = _valid_outcome(unwrap(reply), request)
            if not isinstance(outcome.value, Handle | None):  # a new object is no result yet
                self.budget.has_answered = True
            self.budget.meddled = self.budget.meddled or outcome.meddled
            return outcome
        except SubmissionFailed as error:
            return self._as_in_numpy(error) if self._exchange.as_tensors else error
        except WorkerLost as error:
            return error

    def _as_in_numpy(self, error: SubmissionFailed) -> SubmissionFailed:
        """Count a RuntimeError of PyTorch as the ValueError that NumPy raises for the same reason, such as
        shapes that do not fit. One that the submission raises itself is none of PyTorch's."""
        text = "".join(self._lines[error.line - 1 : error.line]) if error.line else ""
        if error.kinds[0] != "RuntimeError" or re.search(r"\braise\b", text):
            return error
        return SubmissionFailed((*error.kinds, "ValueError"), error.message, error.line, error.columns)

    def _answer_to(
        self, nonce: int, functions: list[Callable[..., Any]], seconds: float, printed: int
    ) -> dict[str, Any]:
        """Receive the answer to a call, and run the grader's functions that the submission calls before it.
        Raises TooLong after `seconds` of CPU time, or after much more wall time, and Flooded after `printed`
        bytes of output."""
        self._channel.call_back = partial(self._called_back, functions)
        began: Usage | None = None
        most = self._channel.output.total + printed
        while True:
            reply = None
            with suppress(TimedOut):
                reply = self._reply_to(nonce, time.monotonic() + SLICE)
            if self._channel.output.total > most:
                raise Flooded(f"One call printed more than {printed >> 10} KiB.")
            if reply is not None and "callback" not in reply:
                return reply
            if reply is not None:
                encoded = self._exchange.encode(_call_back(reply, functions))
                with suppress(TimedOut):
                    self._channel.send(*encoded, nonce, time.monotonic() + WALL_FACTOR * seconds)
            if self.budget.is_outdated():
                raise Outdated
            used = self._process.usage()
            began = began or used
            self._require_time(began, used, seconds)

    def _called_back(
        self, functions: list[Callable[..., Any]], header: bytes, body: bytearray
    ) -> tuple[bytes, list[bytes]]:
        """Return the answer to a message that calls one of the functions."""
        return self._exchange.encode(_call_back(self._exchange.decode(header, body), functions))

    def _require_time_left(self) -> None:
        """Raise TooLong if calls that were too short to be looked at have used up the time of all calls."""
        if self.budget.spent + time.monotonic() - self._batch.wall > self.budget.limit:
            used = self._process.usage()
            self._require_time(used, used, self._call_seconds)

    def _require_time(self, began: Usage, used: Usage, seconds: float) -> None:
        if used.cpu - began.cpu > seconds:
            text = f"within {seconds:g} seconds of computing"
        elif used.wall - began.wall > WALL_FACTOR * seconds:
            text = f"within {WALL_FACTOR * seconds:g} seconds"
        elif self.budget.spent + self._since_the_batch(used) > self._limit(used):
            text = f"within {self.budget.limit:g} seconds for all calls together"
        else:
            return
        raise TooLong(text, self._process.line(self._filename))

    def _since_the_batch(self, used: Usage) -> float:
        """Return the seconds since the batch was sent, without the wait for a free processor."""
        return used.since(self._batch)

    def _limit(self, used: Usage) -> float:
        """Return the limit for all calls; it is wider if the wait for a free processor is unknown."""
        return self.budget.limit * (WALL_FACTOR if used.delayed is None else 1)

    def _reply_to(self, nonce: int, deadline: float) -> dict[str, Any]:
        header, body, received = self._channel.receive(deadline)
        if received != nonce:
            raise Malformed("it does not belong to this call")
        self.budget.received += len(header) + len(body)
        if self.budget.received > ANSWERS:
            raise Malformed(f"all answers together take more than {ANSWERS >> 20} MiB")
        return self._exchange.decode(header, body)

    @property
    def printed(self) -> str:
        """The submission's output so far; a long one is cut in the middle."""
        return self._channel.output.text()


@dataclass(frozen=True)
class Sent:
    """A request that was queued: the nonce that its answer must carry, and its size in bytes."""

    nonce: int
    size: int


class TooLong(Exception):
    """A call has taken too long. `line` is the submission's line that was running, if it is known."""

    def __init__(self, text: str, line: int | None) -> None:
        super().__init__(text + (f", in line {line}" if line else ""))


def _valid_outcome(answer: Any, request: Request) -> Outcome:
    """Return the answer as an Outcome. Raises WorkerLost if it is invalid: a submission can forge it."""
    try:
        outcome = Outcome(**answer)
    except TypeError:
        outcome = None
    if outcome is None or not _is_valid(outcome, request):
        raise WorkerLost("The answer could not be read: it is no outcome.")
    return outcome


def _is_valid(outcome: Outcome, request: Request) -> bool:
    """True if the fields besides the value have the types that the request implies."""
    gradients, arguments, options = outcome.gradients, outcome.arguments, request.options
    if type(outcome.flops) is not int or type(outcome.detour) is not int:
        return False
    if not 0 <= outcome.detour <= (MOST_LINES if options.measure == "fake device" else 0):
        return False
    flags = outcome.overwritten, outcome.shared, outcome.entangled, outcome.meddled
    if any(type(flag) is not bool for flag in flags):
        return False
    if type(outcome.left_changed) is not str or outcome.left_changed not in LEFT_CHANGED:
        return False
    if isinstance(request, CountNumbers) and type(outcome.value) is not int:
        return False
    if not _describes_tensors(outcome.tensors_made, requested=options.measure == "tensors"):
        return False
    if not (gradients is None or type(gradients) is dict):
        return False
    if not _is_trace(outcome.trace, requested=options.trace):
        return False
    if arguments is None:
        return not options.echo
    if type(arguments) is not list or [type(part) for part in arguments] != [list, dict]:
        return False
    return len(arguments[0]) == len(request.args) and arguments[1].keys() == request.kwargs.keys()


def _describes_tensors(made: Any, *, requested: bool) -> bool:
    """True if `made` has the form of `Outcome.tensors_made`, or is None where the request asks for none."""
    if not requested:
        return made is None
    if type(made) is not list or [type(part) for part in made] != [int, int, list, str]:
        return False
    return all(type(length) is int for length in made[2]) and bool(re.fullmatch(r"[\w.]{0,80}", made[3]))


PARTS = {"lines": list, "changed": int, "kept": list}  # of `Outcome.trace`


def _is_trace(trace: Any, *, requested: bool) -> bool:
    """True if `trace` has the form of `Outcome.trace`, or is None where the request asks for none."""
    if trace is None or not requested:
        return trace is None
    if type(trace) is not dict or [type(trace.get(part)) for part in PARTS] != list(PARTS.values()):
        return False
    kept = [[type(part) for part in one] for one in trace["kept"] if type(one) is list]
    if len(kept) < len(trace["kept"]) or len(kept) > MOST_KEPT or any(one != [str, str, int] for one in kept):
        return False
    is_short = all(len(kind) + len(name) <= 2 * LONGEST_NAME for kind, name, _ in trace["kept"])
    return is_short and {*map(type, trace["lines"])} <= {int}


@contextmanager
def _as_lost(seconds: float) -> Iterator[None]:
    """Turn every error that means the loss of the worker into WorkerLost with one sentence."""
    try:
        yield
    except TooLong as error:
        raise WorkerLost(f"No answer {error}.", timed_out=True) from None
    except TimedOut:
        raise WorkerLost(f"No answer within {seconds:g} seconds.", timed_out=True) from None
    except ChannelClosed:
        raise WorkerLost("The process that ran the submission ended in the middle of a call.") from None
    except Flooded as error:
        raise WorkerLost(str(error)) from None
    except (Malformed, KeyError, TypeError) as error:
        text = error if isinstance(error, Malformed) else "it is no greeting"
        raise WorkerLost(f"The answer could not be read: {text}.") from None


def _in_vain(last: SubmissionFailed) -> str:
    """Say why no more calls are made, and how the last one failed."""
    text = last.message if len(last.message) <= LONGEST_TOLD else f"{last.message[:LONGEST_TOLD]}…"
    if last.kinds[0] == "UnusableResult":
        how = f"result cannot be used: {text}"
    else:
        how = f"error is {SubmissionFailed(last.kinds, text, last.line)}"
    return f"Every call so far has failed, in {VAIN_SECONDS:g} seconds of computing. The last {how}."


def unwrap(reply: dict[str, Any]) -> Any:
    """Return the value of an answer. Raises SubmissionFailed if the submission raised an exception, and
    WorkerLost if the error in the answer is malformed."""
    if "error" not in reply:
        return reply.get("ok")
    text = reply["error"]
    try:
        kinds = tuple(in_one_line(str(kind)[:80]) for kind in text["kinds"]) or ("Exception",)
        line = text["line"] if type(text["line"]) is int else None
        message, columns = in_one_line(str(text["message"])[:2000]), _columns(text.get("columns"))
        raise SubmissionFailed(kinds, message, line, columns)
    except (KeyError, TypeError, AttributeError):
        raise WorkerLost("The answer could not be read: its error is no error.") from None


def _columns(text: Any) -> tuple[int, int] | None:
    """Return the columns of an error as a pair of integers, or None if they are no such pair."""
    if type(text) not in (list, tuple) or [type(column) for column in text] != [int, int]:
        return None
    return text[0], text[1]


def _call_back(reply: dict[str, Any], functions: list[Callable[..., Any]]) -> dict[str, Any]:
    """Call one of the grader's functions for the submission, and return its value or its error as text."""
    number, args = reply["callback"], reply.get("args")
    if type(number) is not int or not 0 <= number < len(functions) or type(args) is not list:
        raise Malformed("it calls a function that was not given")
    try:
        return {"value": functions[number](*args)}
    except Exception as error:
        # The worker raises it as a RuntimeError, so that name would stand there twice.
        kind = "" if type(error) is RuntimeError else f"{type(error).__name__}: "
        return {"error": f"{kind}{error}"}
