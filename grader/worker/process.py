"""Control a running worker process from the grader: its times, the line that it runs, its memory, its end."""

from __future__ import annotations

import contextlib
import os
import re
import select
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from grader.processes import ending
from grader.worker.protocol.channel import Channel, Flooded
from grader.worker.protocol.terms import MEMORY
from grader.worker.scratch import remove_folder

LINE_SECONDS = 0.3  # the timeout for asking a worker which line it runs
FRAME = re.compile(rb'File "([^"\n]*)", line (\d+)')


@dataclass(frozen=True)
class Usage:
    """Times in seconds at one moment: wall time, CPU time of a worker, and the time that the worker and this
    process have waited for a free processor (None if the system does not report it)."""

    wall: float
    cpu: float
    delayed: float | None

    def since(self, earlier: Usage) -> float:
        """Return the seconds since then, without the wait for a free processor if both moments know it: of a
        worker that has ended it is unknown."""
        wall = self.wall - earlier.wall
        if self.delayed is None or earlier.delayed is None:
            return wall
        return max(0.0, wall - (self.delayed - earlier.delayed))


@dataclass(eq=False)
class Process:
    """A running worker: its channel, its process id and its scratch folder.

    Whoever starts one owns it from the next line on: `with factory.start(device) as process`, or a class with
    a method `close`. A factory that is closed kills those that still run.
    """

    channel: Channel
    pid: int
    scratch: str = ""
    popen: subprocess.Popen[bytes] | None = None

    ended: bool = False
    greeting: dict[str, Any] | None = None  # its first message, once that was received

    def __enter__(self) -> Process:
        return self

    def __exit__(self, *_: object) -> None:
        self.kill()

    def usage(self) -> Usage:
        """Return the times that the worker has used so far."""
        return Usage(time.monotonic(), _cpu_seconds(self.pid), _delayed_seconds(self.pid))

    def line(self, filename: str) -> int | None:
        """Return the line of `filename` that the worker is running, or None if it does not answer. A signal
        makes the worker print its stack to standard error; a submission can suppress that."""
        if not self.pid:
            return None
        output, stack = self.channel.output, b""
        before, end = output.total, time.monotonic() + LINE_SECONDS
        with contextlib.suppress(OSError, AttributeError, Flooded):
            os.kill(self.pid, signal.SIGUSR1)
            while time.monotonic() < end:
                time.sleep(0.01)
                self.channel.drain()
                stack += output.take_back(before)
                lines = [int(line) for name, line in FRAME.findall(stack) if name == filename.encode()]
                if lines:
                    return lines[0]
        return None

    @contextlib.contextmanager
    def stopped(self) -> Iterator[None]:
        """Let the worker not run inside the block, so that it can tell another worker nothing; on Linux."""
        self.stop()
        try:
            yield
        finally:
            self.go_on()

    def stop(self) -> None:
        """Let the worker not run; on Linux."""
        self._send("SIGSTOP")

    def go_on(self) -> None:
        """Let the worker run again."""
        self._send("SIGCONT")

    def _send(self, name: str) -> None:
        if "linux" in sys.platform and self.pid and not self.ended:
            with contextlib.suppress(OSError):  # it has ended by itself
                os.kill(self.pid, getattr(signal, name))

    def limit_memory(self, most: int = MEMORY) -> None:
        """Let the worker take `most` bytes from now on, where the system can limit another process."""
        with contextlib.suppress(ImportError, AttributeError, OSError, ValueError):
            import resource

            _, hard = resource.prlimit(self.pid, resource.RLIMIT_AS)
            if hard != resource.RLIM_INFINITY:
                resource.prlimit(self.pid, resource.RLIMIT_AS, (hard - MEMORY + most, hard))

    def kill(self) -> None:
        """Kill the worker and every process in its session, and remove its scratch folder. Do so once."""
        if self.ended:
            return
        self.ended = True
        if self.pid:
            ending.end(self.pid, self._has_ended, wait=0, ask=0)
        self.channel.close()
        remove_folder(self.scratch)

    def is_alive(self) -> bool:
        """True if a forked worker still runs; the kernel reaps one that has ended immediately."""
        try:
            os.kill(self.pid, 0)
        except ProcessLookupError:
            return False
        return True

    def _has_ended(self, seconds: float) -> bool:
        """Wait until the worker has ended; a fork that ends closes the other end of the channel."""
        if self.popen is None:
            return is_closed(self.channel.reader, seconds)
        with contextlib.suppress(subprocess.TimeoutExpired):
            return self.popen.wait(seconds) is not None
        return False


def is_closed(fd: int, seconds: float) -> bool:
    """Wait until the other end of a pipe or socket is closed, and return whether it is."""
    poll = select.poll()
    poll.register(fd, 0)
    return bool(poll.poll(1000 * seconds))


def _cpu_seconds(pid: int) -> float:
    """Return the CPU time of a process in seconds, or 0 if the system does not report it."""
    if "linux" in sys.platform:
        with contextlib.suppress(OSError):
            return float(time.clock_gettime((~pid << 3) | 2))  # the clock id of clock_getcpuclockid(3)
        return 0.0
    text = subprocess.run(["ps", "-o", "time=", "-p", str(pid)], capture_output=True, text=True, check=False)
    parts = re.findall(r"[\d.]+", text.stdout)
    return sum(float(part) * 60.0**power for power, part in enumerate(reversed(parts[-3:])))


def _delayed_seconds(pid: int) -> float | None:
    """Return the seconds that a process and this one have waited for a processor, or None if unknown."""
    try:
        return sum(_run_delay(path) for path in (f"/proc/{pid}/schedstat", "/proc/self/schedstat"))
    except (OSError, IndexError, ValueError):
        return None


def _run_delay(path: str) -> float:
    with open(path, "rb") as file:
        delay: int = int(file.read().split()[1])
    return delay / 1e9
