"""A running worker as the grader holds it, and workers that are fresh interpreters."""

from __future__ import annotations

import contextlib
import os
import select
import signal
import subprocess
import sys
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Protocol

from grader.worker.channel import Channel
from grader.worker.sandbox import privacy
from grader.worker.sandbox.layers import ALL, Terms
from grader.worker.scratch import make_folder, remove_folder
from grader.worker.script import Script

END_MILLISECONDS = 2000


@dataclass
class Process:
    """A running worker as the grader holds it."""

    channel: Channel
    pid: int
    scratch: str = ""
    popen: subprocess.Popen[bytes] | None = None
    lessons: frozenset[str] = frozenset()  # scripts that it knows, by digest

    def kill(self) -> None:
        """End the worker at once, and everything in its session; remove what it has written."""
        if self.popen is not None:
            self.popen.kill()
            self.popen.wait()
        elif self.pid:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(self.pid, signal.SIGKILL)
            self._await_end()
        self.channel.close()
        remove_folder(self.scratch)

    def is_alive(self) -> bool:
        """Whether a forked worker is still there; one that has ended is gone at once."""
        try:
            os.kill(self.pid, 0)
        except ProcessLookupError:
            return False
        return True

    def _await_end(self) -> None:
        """Nobody else holds the other end of the channel: it hangs up when the worker is no more."""
        poll = select.poll()
        poll.register(self.channel.reader, 0)
        poll.poll(END_MILLISECONDS)


class Source(Protocol):
    """Something that makes workers."""

    def start(self, device: str) -> Process: ...

    def teach(self, scripts: Iterable[Script]) -> None:
        """Let the workers to come know these, as far as that can be done."""

    def close(self) -> None: ...


class SpawnSource:
    """Starts every worker as a fresh interpreter: slower, and it works everywhere."""

    def __init__(self, library: str, wanted: tuple[str, ...] = ALL) -> None:
        self.library, self.layers = library, wanted

    def start(self, device: str) -> Process:
        scratch = make_folder()
        terms = Terms(device, self.layers, scratch).message().decode()
        command = [sys.executable, "-I", "-m", "grader.worker.child", terms, self.library]
        environment = privacy.environment() if "environment" in self.layers else None
        pipe: Any = subprocess.PIPE
        popen = subprocess.Popen(
            command, stdin=pipe, stdout=pipe, stderr=pipe, bufsize=0, env=environment, start_new_session=True
        )
        assert popen.stdin
        assert popen.stdout
        assert popen.stderr
        reader, writer, printed = (os.dup(s.fileno()) for s in (popen.stdout, popen.stdin, popen.stderr))
        for stream in (popen.stdin, popen.stdout, popen.stderr):
            stream.close()
        return Process(Channel(reader, writer, printed), popen.pid, scratch, popen)

    def teach(self, scripts: Iterable[Script]) -> None:
        """Nothing is learnt: a fresh interpreter would have to be told every time."""

    def close(self) -> None:
        """Nothing to end: every worker is its own."""
