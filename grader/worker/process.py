"""A running worker as the grader holds it, and workers that are fresh interpreters."""

from __future__ import annotations

import contextlib
import os
import re
import select
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

from grader.worker.child.sandbox import hardening
from grader.worker.child.sandbox.apply import ALL, Terms
from grader.worker.protocol.channel import Channel, Flooded
from grader.worker.scratch import make_folder, remove_folder

END_MILLISECONDS = 2000
LINE_SECONDS = 0.3  # in which a worker says where it is
FRAME = re.compile(rb'File "([^"\n]*)", line (\d+)')


@dataclass(frozen=True)
class Usage:
    """Seconds, at one moment: on the clock, computed by a process, and spent waiting for a processor by that
    process and by this one (None where the system does not say)."""

    wall: float
    cpu: float
    delayed: float | None

    @property
    def awake(self) -> float:
        """Seconds on the clock in which no process waited for a processor."""
        return self.wall - (self.delayed or 0.0)


@dataclass
class Process:
    """A running worker as the grader holds it."""

    channel: Channel
    pid: int
    scratch: str = ""
    popen: subprocess.Popen[bytes] | None = None

    def usage(self) -> Usage:
        """Measure what the worker has used so far."""
        return Usage(time.monotonic(), _cpu_seconds(self.pid), _delayed_seconds(self.pid))

    def delayed_since(self) -> Callable[[], float]:
        """Begin to measure: the result tells the seconds spent waiting for a processor since."""
        began = _delayed_seconds(self.pid) or 0.0
        return lambda: (_delayed_seconds(self.pid) or 0.0) - began

    def line(self, filename: str) -> int | None:
        """Ask the worker, which is computing, for the line of `filename` that it is in. The answer comes on
        its standard error. A submission can prevent it, which hides nothing but the line."""
        if not self.pid:
            return None
        output, said = self.channel.output, b""
        before, end = output.total, time.monotonic() + LINE_SECONDS
        with contextlib.suppress(OSError, AttributeError, Flooded):
            os.kill(self.pid, signal.SIGUSR1)
            while time.monotonic() < end:
                time.sleep(0.01)
                self.channel.drain()
                said += output.take_back(before)
                lines = [int(line) for name, line in FRAME.findall(said) if name == filename.encode()]
                if lines:
                    return lines[0]
        return None

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


def _cpu_seconds(pid: int) -> float:
    """Seconds that a process has computed; 0 where the system does not say."""
    if "linux" in sys.platform:
        with contextlib.suppress(OSError):
            return float(time.clock_gettime((~pid << 3) | 2))  # what clock_getcpuclockid(3) returns
        return 0.0
    told = subprocess.run(["ps", "-o", "time=", "-p", str(pid)], capture_output=True, text=True, check=False)
    parts = re.findall(r"[\d.]+", told.stdout)
    return sum(float(part) * 60.0**power for power, part in enumerate(reversed(parts[-3:])))


def _delayed_seconds(pid: int) -> float | None:
    """Seconds that a process and this one have waited for a processor; None where the system does not say."""
    try:
        return sum(_run_delay(path) for path in (f"/proc/{pid}/schedstat", "/proc/self/schedstat"))
    except (OSError, IndexError, ValueError):
        return None


def _run_delay(path: str) -> float:
    with open(path, "rb") as file:
        delay: int = int(file.read().split()[1])
    return delay / 1e9


class WorkerFactory(Protocol):
    """Something that makes workers."""

    def start(self, device: str) -> Process: ...

    def close(self) -> None: ...


class SpawnFactory:
    """Starts every worker as a fresh interpreter: slower, and it works everywhere."""

    def __init__(self, library: str, wanted: tuple[str, ...] = ALL) -> None:
        self.library, self.layers = library, wanted

    def start(self, device: str) -> Process:
        scratch = make_folder()
        terms = Terms(device, self.layers, scratch).message().decode()
        command = [sys.executable, "-I", "-m", "grader.worker.child.main", terms, self.library]
        environment = hardening.environment() if "environment" in self.layers else None
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

    def close(self) -> None:
        """Nothing to end: every worker is its own."""
