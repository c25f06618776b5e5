"""Where workers come from: forked from a warm server, or spawned where forking is not to be had.

The server is the grader itself, forked before it has learnt anything: array libraries are imported
once and shared, and no worker has ever held a solution or a key in its memory.
"""

from __future__ import annotations

import contextlib
import faulthandler
import gc
import itertools
import os
import select
import signal
import socket
import subprocess
import sys
from dataclasses import dataclass
from typing import Any, Protocol

from grader.worker import child, pretence
from grader.worker.channel import Channel
from grader.worker.sandbox import layers, privacy
from grader.worker.sandbox.layers import ALL, ISOLATION, Terms
from grader.worker.scratch import make_folder, remove_folder
from grader.worker.window import Window, sealed_memory

START_SECONDS = 20.0  # for a fork, which takes milliseconds
END_MILLISECONDS = 2000


@dataclass
class Process:
    """A running worker as the grader holds it."""

    channel: Channel
    pid: int
    scratch: str = ""
    popen: subprocess.Popen[bytes] | None = None

    def kill(self) -> None:
        """End the worker at once, and everything in its session; remove what it has written."""
        if self.popen is not None:
            self.popen.kill()
            self.popen.wait()
        else:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(self.pid, signal.SIGKILL)
            self._await_end()
        self.channel.close()
        remove_folder(self.scratch)

    def _await_end(self) -> None:
        """Nobody else holds the other end of the channel: it hangs up when the worker is no more."""
        poll = select.poll()
        poll.register(self.channel.reader, 0)
        poll.poll(END_MILLISECONDS)


class Source(Protocol):
    """Something that makes workers."""

    def start(self, device: str) -> Process: ...

    def close(self) -> None: ...


class ForkServer:
    """Forks a worker in a millisecond. Start it before any solution or key is read."""

    def __init__(self, library: str = "numpy", wanted: tuple[str, ...] = ALL) -> None:
        self.library, self.layers = library, wanted
        self._substitute: SpawnSource | None = None
        ours, theirs = socket.socketpair()
        self.pid = os.fork()
        if self.pid == 0:
            ours.close()
            _serve_forks(theirs, wanted)
        theirs.close()
        ours.settimeout(START_SECONDS)
        self._control = ours

    def start(self, device: str) -> Process:
        """A fresh worker. Its pid comes from the server; its end of the channel goes there."""
        if self._substitute is None:
            try:
                return self._fork(device)
            except (OSError, ValueError):
                # The server is gone. A second one would be forked from a grader that has read solutions.
                self._substitute = SpawnSource(self.library, self.layers)
        return self._substitute.start(device)

    def _fork(self, device: str) -> Process:
        ours, theirs = socket.socketpair()
        printed, prints = os.pipe()
        scratch, memory = make_folder(), sealed_memory()
        try:
            terms = Terms(device, self.layers, scratch)
            handed = [theirs.fileno(), prints, *([] if memory is None else [memory])]
            socket.send_fds(self._control, [terms.message()], handed)
            pid = int(self._control.recv(32))
        except (OSError, ValueError):
            remove_folder(scratch)
            ours.close()
            os.close(printed)
            if memory is not None:
                os.close(memory)
            raise
        finally:
            theirs.close()
            os.close(prints)
        fd, window = ours.detach(), None if memory is None else Window(memory)
        return Process(Channel(fd, fd, printed, window), pid, scratch)

    def close(self) -> None:
        """End the server; workers still running die with it."""
        with contextlib.suppress(OSError):
            self._control.shutdown(socket.SHUT_RDWR)  # a later server may hold a copy of this end
        self._control.close()
        with contextlib.suppress(ChildProcessError):
            os.waitpid(self.pid, 0)


def _serve_forks(control: socket.socket, wanted: tuple[str, ...]) -> None:
    """The server's whole life: one worker for each message, until the grader hangs up."""
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # workers are reaped by the kernel
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is the grader's to handle
    folders: list[str] = []
    with contextlib.suppress(OSError):
        layers.prepare(wanted)
        pretence.prepare()
        gc.freeze()  # a collection in a worker would touch, and so copy, all that it shares with the others
        while True:
            message, fds, _, _ = socket.recv_fds(control, 4096, 3)
            if not message:
                break
            terms, server = layers.read_terms(message), os.getpid()
            pid = os.fork()
            if pid == 0:
                control.close()
                _become_worker(fds, terms, server)
            folders = [folder for folder in (*folders, terms.scratch) if os.path.isdir(folder)]
            for fd in fds:
                os.close(fd)
            control.sendall(str(pid).encode())
    for folder in folders:  # of workers that a grader had no time to end; they die with this process
        remove_folder(folder)
    os._exit(0)


def _become_worker(fds: list[int], terms: Terms, server: int) -> None:
    try:
        os.setsid()
        if "descriptors" in terms.layers:
            _close_all_but(fds)
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        signal.signal(signal.SIGINT, signal.SIG_DFL)
        privacy.die_with_parent(server)
        window = Window(fds[2]) if len(fds) > 2 else None
        child.run(fds[0], fds[0], fds[1], terms, window)
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

    def close(self) -> None:
        """Nothing to end: every worker is its own."""


def open_source(library: str, how: str = "", isolation: str = "best") -> Source:
    """The best source of workers here. The array library is imported first, so that forks share it."""
    wanted = ISOLATION[isolation]
    if "dumpable" in wanted:
        privacy.hide()  # the grader itself, whose memory holds the solutions
    if how == "spawn" or not hasattr(os, "fork") or sys.platform == "darwin":
        return SpawnSource(library, wanted)
    module = __import__(library)
    if library == "torch":
        module.set_num_threads(1)  # the inputs are small, and a fork must not inherit a pool of threads
    return ForkServer(library, wanted)
