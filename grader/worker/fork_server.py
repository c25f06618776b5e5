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
import signal
import socket
import sys
from collections.abc import Iterable

from grader.worker.child import main, on_fake_device
from grader.worker.child.sandbox import apply, hardening
from grader.worker.child.sandbox.apply import ALL, ISOLATION, Terms
from grader.worker.process import Process, SpawnFactory, WorkerFactory
from grader.worker.protocol.channel import Channel
from grader.worker.scratch import make_folder, remove_folder

START_SECONDS = 20.0  # for a fork, which takes milliseconds


class ForkServer:
    """Forks a worker in a millisecond. Start it before any solution or key is read.

    From the second worker on the next one is ordered beforehand: it gets ready while this one is asked.
    """

    def __init__(self, library: str = "numpy", wanted: tuple[str, ...] = ALL) -> None:
        self.library, self.layers = library, wanted
        self._substitute: SpawnFactory | None = None
        self._started = 0
        self._spare: tuple[str, Process] | None = None  # its device; its pid is not known yet
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
                process = self._ready(device)
                self._order_next(device)
                return process
            except (OSError, ValueError):
                # The server is gone. A second one would be forked from a grader that has read solutions.
                self._substitute = SpawnFactory(self.library, self.layers)
        return self._substitute.start(device)

    def _ready(self, device: str) -> Process:
        """The worker that was ordered beforehand, or one that is ordered now."""
        spare, self._spare = self._spare, None
        if spare is not None:
            process = self._arrived(spare[1])
            if spare[0] == device and process.is_alive():
                return process
            process.kill()
        return self._arrived(self._order(device))

    def _order_next(self, device: str) -> None:
        self._started += 1
        if self._started > 1:
            with contextlib.suppress(OSError):  # whether the server is gone is seen when it is needed
                self._spare = device, self._order(device)

    def _dismiss_spare(self) -> None:
        spare, self._spare = self._spare, None
        if spare is not None:
            with contextlib.suppress(OSError, ValueError):
                self._arrived(spare[1]).kill()

    def _arrived(self, process: Process) -> Process:
        """The process with its pid, which comes from the server. Raises OSError, ValueError."""
        try:
            process.pid = int(self._control.recv(32))
        except (OSError, ValueError):
            process.kill()
            raise
        return process

    def _order(self, device: str) -> Process:
        """Ask for a worker; its pid is still to come. Raises OSError."""
        ours, theirs = socket.socketpair()
        printed, prints = os.pipe()
        scratch = make_folder()
        try:
            terms = Terms(device, self.layers, scratch)
            socket.send_fds(self._control, [terms.message()], [theirs.fileno(), prints])
        except OSError:
            remove_folder(scratch)
            ours.close()
            os.close(printed)
            raise
        finally:
            theirs.close()
            os.close(prints)
        fd = ours.detach()
        return Process(Channel(fd, fd, printed), 0, scratch)

    def close(self) -> None:
        """End the server; workers still running die with it."""
        self._dismiss_spare()
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
        apply.prepare(wanted)
        on_fake_device.prepare()
        gc.freeze()  # a collection in a worker would touch, and so copy, all that it shares with the others
        while True:
            message, fds, _, _ = socket.recv_fds(control, 4096, 2)
            if not message:
                break
            terms, server = apply.read_terms(message), os.getpid()
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
        hardening.die_with_parent(server)
        main.run(fds[0], fds[0], fds[1], terms)
    finally:
        os._exit(0)


def _close_all_but(kept: list[int]) -> None:
    """Whatever the grader had open at the fork is none of the submission's business."""
    faulthandler.disable()  # it would write a crash to a descriptor of the grader's
    edges = [2, *sorted(kept), os.sysconf("SC_OPEN_MAX")]
    for below, above in itertools.pairwise(edges):
        os.closerange(below + 1, above)


def open_source(library: str, how: str = "", isolation: str = "best") -> WorkerFactory:
    """The best source of workers here. The array library is imported first, so that forks share it."""
    wanted = ISOLATION[isolation]
    if "dumpable" in wanted:
        hardening.hide()  # the grader itself, whose memory holds the solutions
    if how == "spawn" or not hasattr(os, "fork") or sys.platform == "darwin":
        return SpawnFactory(library, wanted)
    module = __import__(library)
    if library == "torch":
        module.set_num_threads(1)  # the inputs are small, and a fork must not inherit a pool of threads
    return ForkServer(library, wanted)


class WorkerFactories(dict[str, WorkerFactory]):
    """A source of workers for each library: what a worker has imported rests on its own kata alone."""

    def close(self) -> None:
        """End all of them."""
        for source in self.values():
            source.close()


def open_sources(libraries: Iterable[str], how: str = "", isolation: str = "best") -> WorkerFactories:
    """The best sources here. NumPy's comes first: its server is forked before PyTorch is imported."""
    return WorkerFactories((name, open_source(name, how, isolation)) for name in sorted(libraries))
