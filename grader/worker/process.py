"""Control a running worker process and its folder from the grader, and spawn workers as new interpreters."""

from __future__ import annotations

import contextlib
import itertools
import json
import os
import re
import select
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from grader.worker.protocol.channel import Channel, Flooded
from grader.worker.protocol.terms import ALL, Terms, environment


def make_folder() -> str:
    """Create a temporary folder that only this user can access, and return its path."""
    return tempfile.mkdtemp(prefix="dojo-")


def remove_folder(folder: str) -> None:
    """Delete a folder and its contents without recursion, because a submission can nest folders deeper than
    Python can recurse. Each round moves everything one level up."""
    if not folder:
        return
    unused = (os.path.join(folder, os.urandom(8).hex()) for _ in itertools.count())
    with contextlib.suppress(OSError):
        while names := os.listdir(folder):
            for name in names:
                _remove(os.path.join(folder, name), unused)
        os.rmdir(folder)


def _remove(path: str, unused: Iterator[str]) -> None:
    """Delete a file, or move the contents of a folder to the unused paths and delete the folder."""
    if os.path.islink(path) or not os.path.isdir(path):
        os.unlink(path)
        return
    os.chmod(path, 0o700)  # the submission may have removed the permissions
    for name in os.listdir(path):
        inner = os.path.join(path, name)
        if os.path.isdir(inner) and not os.path.islink(inner):
            os.chmod(inner, 0o700)  # moving a folder needs permission to write to it
        os.rename(inner, next(unused))
    os.rmdir(path)


END_MILLISECONDS = 2000
LINE_SECONDS = 0.3  # the timeout for asking a worker which line it runs
PACKAGES = ("site-packages", "dist-packages")
ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))  # where `grader` lies
#: `-I` leaves out the current folder, which may be a student's, and the packages of this user, which may be
#: where the grader is installed.
START = """
import json, sys
sys.path += [path for path in json.loads(sys.argv.pop(1)) if path not in sys.path]
from {module} import {function} as start
globals().pop("start")()
"""
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

    def kill(self) -> None:
        """Kill the worker and every process in its session, and remove its scratch folder. Do so once."""
        if self.ended:
            return
        self.ended = True
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
        """True if a forked worker still runs; the kernel reaps one that has ended immediately."""
        try:
            os.kill(self.pid, 0)
        except ProcessLookupError:
            return False
        return True

    def _await_end(self) -> None:
        """Wait until the worker has ended, which closes the other end of the channel."""
        poll = select.poll()
        poll.register(self.channel.reader, 0)
        poll.poll(END_MILLISECONDS)


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


def interpreter(module: str, function: str, *arguments: str) -> list[str]:
    """Return the command that calls a function of the grader's in a new interpreter."""
    paths = json.dumps([path for path in sys.path if os.path.basename(path) in PACKAGES] + [ROOT])
    return [sys.executable, "-I", "-c", START.format(module=module, function=function), paths, *arguments]


class WorkerFactory:
    """Starts workers that have imported `library`, and knows those that run."""

    def __init__(self, library: str) -> None:
        self.library = library
        self._running: list[Process] = []

    def start(self, device: str) -> Process:
        """Return a new worker, which belongs to the caller. NumPy's stays on the CPU, so its sandbox is not
        opened for a GPU."""
        process = self.new_process(device if self.library == "torch" else "cpu")
        self._running = [*(one for one in self._running if not one.ended), process]
        return process

    def new_process(self, device: str) -> Process:
        """Start a process; a factory that subclasses this one says how."""
        raise NotImplementedError

    def close(self) -> None:
        """Kill all workers that still run."""
        for process in self._running:
            process.kill()
        self._running = []


class SpawnFactory(WorkerFactory):
    """Starts every worker as a new interpreter, which is slower than a fork but works everywhere."""

    def __init__(self, library: str, wanted: tuple[str, ...] = ALL) -> None:
        super().__init__(library)
        self.layers = wanted

    def new_process(self, device: str) -> Process:
        scratch = make_folder()
        terms = Terms(device, self.layers, scratch).message().decode()
        command = interpreter("grader.worker.child.main", "main", terms, self.library)
        variables = environment() if "environment" in self.layers else None
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
        return Process(Channel(reader, writer, printed), popen.pid, scratch, popen)
