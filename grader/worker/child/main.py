"""Run a worker: load one submission and answer requests until the channel closes.

Refuse the library functions that a kata asks students to build, while a submission runs.
"""

from __future__ import annotations

import faulthandler
import functools
import gc
import importlib
import os
import signal
import sys
import threading
import types
import warnings
from collections.abc import Callable, Iterable
from contextlib import suppress
from typing import Any

import numpy as np

from grader.reading.answers import QUESTION
from grader.worker.child import instruments, on_fake_device, reader
from grader.worker.child.executor import Executor, describe_error, load_module, seed_random_numbers
from grader.worker.child.sandbox import allowed_paths, apply
from grader.worker.protocol.channel import Channel, ChannelClosed
from grader.worker.protocol.codec import Malformed, decode, encode
from grader.worker.protocol.messages import Outcome, Request, read_request
from grader.worker.protocol.system_calls import die_with_parent
from grader.worker.protocol.terms import SandboxTerms, read_terms


class RuleBroken(Exception):
    """The submission calls a function that the kata asks it to build."""


class Refusals:
    """The forbidden functions and methods that installed libraries have, and for each one a function that
    raises RuleBroken."""

    def __init__(self, forbidden: Iterable[str] = ()) -> None:
        self._found: list[tuple[Any, str, Any, Any]] = []  # the owner, the name, the function, the other one
        for dotted in forbidden:
            path, _, name = dotted.rpartition(".")
            with suppress(ImportError, AttributeError):
                owner = _import(path)
                original = getattr(owner, name)
                self._found.append((owner, name, original, _raising(dotted, original)))

    def hold(self) -> None:
        """Put what raises in the place of each function."""
        for owner, name, _, refusing in self._found:
            setattr(owner, name, refusing)

    def lift(self) -> None:
        """Put the functions back."""
        for owner, name, original, _ in self._found:
            setattr(owner, name, original)


def _import(path: str) -> Any:
    """Return the module, or the class in a module, with that dotted name. Raises ImportError,
    AttributeError."""
    try:
        return importlib.import_module(path)
    except ModuleNotFoundError:
        module, _, name = path.rpartition(".")
        if not module:
            raise
        return getattr(_import(module), name)


def _raising(dotted: str, original: Any) -> Any:
    @functools.wraps(original, updated=())
    def refuse(*_args: Any, **_kwargs: Any) -> Any:
        raise RuleBroken(f"{dotted} is what this kata asks you to build")

    return refuse


hide_from_gc = gc.freeze  # a submission may put another function into the module
#: A worker's reply: the outcome of a request, or another message.
Reply = Outcome | dict[str, Any]
Look = Callable[[], bool]


class Worker:
    """Receives messages from the channel and answers them with one submission."""

    def __init__(self, channel: Channel, device: str, measuring: Iterable[types.ModuleType] = ()) -> None:
        """`measuring` are the modules of the instruments, which the submission must not change."""
        self.channel, self.measuring = channel, measuring
        self.device = device
        self.executor: Executor | None = None
        self.candidates: dict[int, Executor] = {}  # edits of the submission, which a search sends
        self.name = self.filename = ""
        self.nonce = 0

    def serve(self) -> None:
        """Answer messages one by one until the grader closes the channel."""
        answered = self._answer  # in a local variable, which no other code can set
        meddled: Look = bool
        while True:
            try:
                frame = self.channel.receive()
                if frame[0].startswith(QUESTION):
                    reader.answer(self.channel, *frame)
                    continue
                answer, meddled = answered(self._decoded(*frame), meddled)
                self._reply(answer)
            except ChannelClosed:
                return

    def _decoded(self, header: bytes, body: bytearray, nonce: int) -> dict[str, Any]:
        self.nonce = nonce
        return decode(header, body, self.device)

    def _reply(self, answer: Reply) -> None:
        try:
            encoded = encode({"ok": answer.message()} if isinstance(answer, Outcome) else answer)
        except Malformed as error:
            encoded = encode({"error": _unanswerable(error)})
        self.channel.send(*encoded, self.nonce)

    def _answer(self, message: dict[str, Any], meddled: Look = bool) -> tuple[Reply, Look]:
        """Return the reply to a message, and what looks after the next ones whether the submission has
        changed what measures it: `meddled`, or another after a submission was loaded."""
        try:
            ((kind, sent),) = message.items()
            if kind == "load":
                return self._load(**sent)
            request = read_request(kind, sent)
            executor = self._executor_of(request)
            hide_from_gc()  # also what was made since the last call, such as this request
            outcome = executor.run(request)
            outcome.meddled = bool(sent.get("inspect")) and not sent.get("candidate") and meddled()
            return outcome, meddled
        except Malformed as error:
            return {"error": _unanswerable(error)}, meddled
        except BaseException as error:  # everything that a submission raises is an answer, even SystemExit
            return {"error": describe_error(error, self.filename)}, meddled

    def _load(
        self,
        name: str,
        filename: str,
        source: str,
        entry_points: list[str],
        forbidden: list[str],
        recorder: str = "",
    ) -> tuple[Reply, Look]:
        self.name, self.filename = name, filename
        self.refuse(forbidden)
        seed_random_numbers()
        self.executor = Executor(None, self._call_back, self.device, hide_from_gc)
        restored = instruments.watched(self.measuring, [self, self.channel, self.executor])
        self.executor.module = module = load_module(name, source, filename, recorder)
        meddled = (lambda: restored() or True) if restored() else restored
        present = {entry: callable(getattr(module, entry, None)) for entry in entry_points}
        return {"ok": {"entry_points": present}}, meddled

    def refuse(self, forbidden: Iterable[str]) -> None:
        """Let these functions of libraries raise RuleBroken from now on."""
        Refusals(forbidden).hold()

    def _executor_of(self, request: Request) -> Executor:
        """Return the executor of the module that is asked; load a candidate that comes with its source."""
        if request.source:
            self.candidates.pop(request.candidate, None)  # its name is free even if loading fails
            module = load_module(self.name, request.source, self.filename)
            self.candidates[request.candidate] = Executor(module, self._call_back, self.device)
        executor = self.candidates.get(request.candidate) if request.candidate else self.executor
        if executor is None:
            raise Malformed("nothing is loaded")
        return executor

    def _call_back(self, number: int, args: list[Any]) -> Any:
        """Ask the grader to call one of its functions. Return the result, or raise RuntimeError with the
        message of the function's error."""
        if threading.current_thread() is not threading.main_thread():
            raise RuntimeError("a supplied function may be called from the main thread only")
        nonce = self.nonce
        self.channel.send(*encode({"callback": number, "args": args}), nonce)  # the submission gets Malformed
        message = self._decoded(*self.channel.receive())
        self.nonce = nonce
        if "error" in message:
            raise RuntimeError(str(message["error"]))
        return message["value"]


def _unanswerable(error: Malformed) -> dict[str, Any]:
    return {"kinds": ["UnusableResult"], "message": str(error), "line": None}


def run(reader: int, writer: int, printed: int, terms: SandboxTerms) -> None:
    """Turn this process into a worker: redirect the standard streams, enter the sandbox, report the
    protections in force, and serve. `reader`, `writer` and `printed` are file descriptors."""
    _redirect(printed)
    if hasattr(faulthandler, "register"):
        faulthandler.register(signal.SIGUSR1, sys.stderr, all_threads=False)  # for Process.line
    warnings.resetwarnings()  # the output must not depend on the filters of the process that started this
    np.seterr(divide="warn", over="warn", under="ignore", invalid="warn")
    apply.use_scratch(terms.scratch)
    allowed_paths.import_listed_modules_only()
    on_fake_device.prepare()
    channel = Channel(reader, writer)
    in_force = apply.lock_in(terms)
    if "torch" in sys.modules:
        _warm_up(sys.modules["torch"], terms.device)
    channel.send(*encode({"in_force": in_force}), 0)
    Worker(channel, terms.device, instruments.hidden()).serve()


def _warm_up(torch: Any, device: str) -> None:
    """Use one thread, and create the CUDA context, which takes seconds, before any time limit starts."""
    if torch.get_num_threads() != 1:  # a forked worker inherits the number
        torch.set_num_threads(1)
    if device != "cpu":
        torch.zeros(1, device=device)


def _redirect(printed: int) -> None:
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.dup2(printed, 1)
    os.dup2(printed, 2)
    os.close(nothing)
    os.close(printed)
    sys.stdin = open(0, closefd=False)  # noqa: SIM115  # the streams live as long as the worker
    sys.stdout = open(1, "w", buffering=1, errors="replace", closefd=False)  # noqa: SIM115
    sys.stderr = open(2, "w", buffering=1, errors="replace", closefd=False)  # noqa: SIM115


def main() -> None:
    """Start a spawned worker, whose arguments are its terms and its library."""
    terms = read_terms(sys.argv[1].encode())
    __import__(sys.argv[2])
    die_with_parent()
    apply.prepare(terms.layers)
    reader, writer = os.dup(0), os.dup(1)
    run(reader, writer, os.dup(2), terms)
