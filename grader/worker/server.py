"""Where workers come from: forked from a warm server, or spawned where forking is not to be had.

The server is the grader itself, forked before it has learnt anything: array libraries are imported
once and shared, and no worker has ever held a solution or a key in its memory.
"""

from __future__ import annotations

import contextlib
import faulthandler
import itertools
import os
import signal
import socket
import subprocess
import sys
from dataclasses import dataclass
from typing import Any, Protocol

from grader.worker import child, measures
from grader.worker.channel import Channel


@dataclass
class Process:
    """A running worker as the grader holds it."""

    channel: Channel
    pid: int
    popen: subprocess.Popen[bytes] | None = None

    def kill(self) -> None:
        """End the worker at once, and everything in its session."""
        if self.popen is not None:
            self.popen.kill()
            self.popen.wait()
        else:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(self.pid, signal.SIGKILL)
        self.channel.close()


class Source(Protocol):
    """Something that makes workers."""

    def start(self, device: str) -> Process: ...

    def close(self) -> None: ...


class ForkServer:
    """Forks a worker in a millisecond. Start it before any solution or key is read."""

    def __init__(self) -> None:
        ours, theirs = socket.socketpair()
        self.pid = os.fork()
        if self.pid == 0:
            ours.close()
            _serve_forks(theirs)
        theirs.close()
        self._control = ours

    def start(self, device: str) -> Process:
        """A fresh worker. Its pid comes from the server; its end of the channel goes there."""
        ours, theirs = socket.socketpair()
        printed, prints = os.pipe()
        try:
            socket.send_fds(self._control, [device.encode()], [theirs.fileno(), prints])
            pid = int(self._control.recv(32))
        except (OSError, ValueError):
            raise RuntimeError("the server that forks workers is gone") from None
        finally:
            theirs.close()
            os.close(prints)
        fd = ours.detach()
        return Process(Channel(fd, fd, printed), pid)

    def close(self) -> None:
        """End the server; workers still running die with it."""
        with contextlib.suppress(OSError):
            self._control.shutdown(socket.SHUT_RDWR)  # a later server may hold a copy of this end
        self._control.close()
        with contextlib.suppress(ChildProcessError):
            os.waitpid(self.pid, 0)


def _serve_forks(control: socket.socket) -> None:
    """The server's whole life: one worker for each message, until the grader hangs up."""
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # workers are reaped by the kernel
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is the grader's to handle
    with contextlib.suppress(OSError):
        for served in itertools.count():
            message, fds, _, _ = socket.recv_fds(control, 64, 2)
            if not message:
                break
            if served == 1 and "torch" in sys.modules:
                measures.warm_up()  # a single worker pays for itself; from here on many share it
            pid = os.fork()
            if pid == 0:
                control.close()
                _become_worker(fds, message.decode())
            for fd in fds:
                os.close(fd)
            control.sendall(str(pid).encode())
    os._exit(0)


def _become_worker(fds: list[int], device: str) -> None:
    try:
        os.setsid()
        _close_all_but(fds)
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        signal.signal(signal.SIGINT, signal.SIG_DFL)
        child.run(fds[0], fds[0], fds[1], device)
    finally:
        os._exit(0)


def _close_all_but(kept: list[int]) -> None:
    """Whatever the grader had open at the fork is none of the submission's business."""
    faulthandler.disable()  # it would write a crash to a descriptor of the grader's
    edges = [2, *sorted(kept), os.sysconf("SC_OPEN_MAX")]
    for below, above in itertools.pairwise(edges):
        os.closerange(below + 1, above)


class SpawnSource:
    """Starts every worker as a fresh interpreter: slower, and it works everywhere."""

    def __init__(self, library: str) -> None:
        self.library = library

    def start(self, device: str) -> Process:
        command = [sys.executable, "-I", "-m", "grader.worker.child", device, self.library]
        pipe: Any = subprocess.PIPE
        popen = subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=pipe, bufsize=0)
        assert popen.stdin
        assert popen.stdout
        assert popen.stderr
        reader, writer, printed = (os.dup(s.fileno()) for s in (popen.stdout, popen.stdin, popen.stderr))
        for stream in (popen.stdin, popen.stdout, popen.stderr):
            stream.close()
        return Process(Channel(reader, writer, printed), popen.pid, popen)

    def close(self) -> None:
        """Nothing to end: every worker is its own."""


def open_source(library: str, how: str = "") -> Source:
    """The best source of workers here. The array library is imported first, so that forks share it."""
    if how == "spawn" or not hasattr(os, "fork") or sys.platform == "darwin":
        return SpawnSource(library)
    module = __import__(library)
    if library == "torch":
        module.set_num_threads(1)  # the inputs are small, and a fork must not inherit a pool of threads
    return ForkServer()
