"""Create workers by forking a server process, or by spawning them on systems without fork.

The fork server is a fork of the grader, made before solutions or keys are read, or a new interpreter if it is
needed later. So array libraries are imported once for all workers, and no worker has a solution or a key in
its memory.
"""

from __future__ import annotations

import contextlib
import faulthandler
import gc
import itertools
import json
import os
import signal
import socket
import sys
from collections.abc import Iterable

from grader.processes import ending
from grader.worker.child import main, on_fake_device
from grader.worker.child.sandbox import apply
from grader.worker.process import Process, is_closed
from grader.worker.protocol.channel import Channel
from grader.worker.protocol.system_calls import die_with_parent, hide_memory
from grader.worker.protocol.terms import ALL, ISOLATION, SandboxTerms, environment, read_terms
from grader.worker.reader import spawned
from grader.worker.scratch import make_folder, remove_folder


class WorkerFactory:
    """Starts workers that have imported `library`, and knows those that run. Each is a new interpreter, which
    is slower than a fork but works everywhere."""

    def __init__(self, library: str, wanted: tuple[str, ...] = ALL) -> None:
        self.library, self.layers = library, wanted
        self._running: list[Process] = []

    def start(self, device: str) -> Process:
        """Return a new worker, which belongs to the caller. NumPy's stays on the CPU, so its sandbox is not
        opened for a GPU."""
        process = self.new_process(device if self.library == "torch" else "cpu")
        self._running = [*(one for one in self._running if not one.ended), process]
        return process

    def close(self) -> None:
        """Kill all workers that still run."""
        for process in self._running:
            process.kill()
        self._running = []

    def new_process(self, device: str) -> Process:
        """Start a process; a factory that subclasses this one may have another way."""
        scratch = make_folder()
        terms = SandboxTerms(device, self.layers, scratch).message().decode()
        command = ending.interpreter("grader.worker.child.main", "main", terms, self.library)
        variables = environment() if "environment" in self.layers else None
        channel, popen = spawned(command, variables)
        return Process(channel, popen.pid, scratch, popen)


START_SECONDS = 20.0  # the timeout for one fork, which usually takes milliseconds
IMPORT_SECONDS = 60.0  # the same where the server may still be importing PyTorch, perhaps on a busy machine


class ForkServer(WorkerFactory):
    """Forks a worker in a millisecond. Create it before any solution or key is read, or as a new interpreter
    with `is_late`.

    From the second start on, it prefetches one spare worker, which gets ready while the current one is used.
    """

    def __init__(
        self, library: str = "numpy", wanted: tuple[str, ...] = ALL, *, is_late: bool = False
    ) -> None:
        super().__init__(library, wanted)
        self._has_died = False
        self._started = 0
        self._spare: tuple[str, Process] | None = None  # the device and a process without its pid yet
        ours, theirs = socket.socketpair()
        self.pid = _new_server(theirs, library, wanted) if is_late else os.fork()
        if self.pid == 0:
            ours.close()
            os.setsid()
            _serve_forks(theirs, wanted)
        theirs.close()
        ours.settimeout(IMPORT_SECONDS if is_late else START_SECONDS)
        self._control = ours

    def new_process(self, device: str) -> Process:
        """Return a new worker. If the server has died, the worker is spawned."""
        if not self._has_died:
            try:
                process = self._spare_or_new(device)
                self._request_spare(device)
                return process
            except (OSError, ValueError):
                self._has_died = True  # a second one would be a fork of a grader that has read solutions
        return super().new_process(device)

    def _spare_or_new(self, device: str) -> Process:
        """Return the spare worker if it is alive and for this device, else a new one."""
        spare, self._spare = self._spare, None
        if spare is not None:
            process = self._with_pid(spare[1])
            if spare[0] == device and process.is_alive():
                return process
            process.kill()
        return self._with_pid(self._request_fork(device))

    def _request_spare(self, device: str) -> None:
        self._started += 1
        if self._started > 1:
            with contextlib.suppress(OSError):  # the next start notices that the server has died
                self._spare = device, self._request_fork(device)

    def _kill_spare(self) -> None:
        spare, self._spare = self._spare, None
        if spare is not None:
            with contextlib.suppress(OSError, ValueError):
                self._with_pid(spare[1]).kill()

    def _with_pid(self, process: Process) -> Process:
        """Return the process with the pid that the server sends. Raises OSError if the server has died, and
        ValueError if what it sends is no number."""
        try:
            process.pid = int(self._control.recv(32))
        except (OSError, ValueError):
            process.kill()
            raise
        return process

    def _request_fork(self, device: str) -> Process:
        """Ask the server for a worker and return it without its pid. Raises OSError."""
        ours, theirs = socket.socketpair()
        printed, prints = os.pipe()
        scratch = make_folder()
        try:
            terms = SandboxTerms(device, self.layers, scratch)
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
        """End the server and all workers that still run."""
        super().close()
        self._kill_spare()
        if self._control.fileno() < 0:  # closed before
            return
        with contextlib.suppress(OSError):
            self._control.shutdown(socket.SHUT_WR)  # closing is not enough if a later fork has a copy
        ending.end(self.pid, lambda seconds: is_closed(self._control.fileno(), seconds))
        self._control.close()
        with contextlib.suppress(ChildProcessError):
            os.waitpid(self.pid, 0)


def _new_server(control: socket.socket, library: str, wanted: tuple[str, ...]) -> int:
    """Start a server in a new interpreter, whose standard input is the socket; return its process id."""
    command = ending.interpreter(__name__, "serve", json.dumps(wanted), library)
    quiet = [(os.POSIX_SPAWN_OPEN, stream, os.devnull, os.O_WRONLY, 0) for stream in (1, 2)]
    actions = [(os.POSIX_SPAWN_DUP2, control.fileno(), 0), *quiet]
    variables = environment() if "environment" in wanted else dict(os.environ)
    return os.posix_spawn(command[0], command, variables, file_actions=actions)


def serve() -> None:
    """Run a server in a new interpreter, whose arguments are its layers and its library."""
    os.setsid()
    control = socket.socket(fileno=os.dup(0))
    os.dup2(1, 0)
    _import(sys.argv[2])
    _serve_forks(control, tuple(json.loads(sys.argv[1])))


def _import(library: str) -> None:
    """Import an array library. It computes in one thread: the inputs are small, and a fork does not copy the
    threads of a pool."""
    module = __import__(library)
    if library == "torch":
        module.set_num_threads(1)


def _serve_forks(control: socket.socket, wanted: tuple[str, ...]) -> None:
    """Run the server: fork one worker per message until the grader closes the socket, then exit. It leads a
    session, so that what ends the grader's group does not end it before it has removed folders."""
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # workers are reaped by the kernel
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    folders: list[str] = []
    with contextlib.suppress(OSError):
        apply.prepare(wanted)
        on_fake_device.prepare()
        gc.freeze()  # a garbage collection in a worker would write to, and so copy, all shared memory
        while True:
            message, fds, _, _ = socket.recv_fds(control, 4096, 2)
            if not message:
                break
            terms, server = read_terms(message), os.getpid()
            pid = os.fork()
            if pid == 0:
                control.close()
                _become_worker(fds, terms, server)
            folders = [folder for folder in (*folders, terms.scratch) if os.path.isdir(folder)]
            for fd in fds:
                os.close(fd)
            control.sendall(str(pid).encode())
    for folder in folders:  # if the grader was killed, its workers' folders still exist
        remove_folder(folder)
    os._exit(0)


def _become_worker(fds: list[int], terms: SandboxTerms, server: int) -> None:
    try:
        os.setsid()
        if "descriptors" in terms.layers:
            _close_all_but(fds)
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        signal.signal(signal.SIGINT, signal.SIG_DFL)
        die_with_parent(server)
        main.run(fds[0], fds[0], fds[1], terms)
    finally:
        os._exit(0)


def _close_all_but(kept: list[int]) -> None:
    """Close all files that were open in the grader when the server was forked."""
    faulthandler.disable()  # it would report a crash to the grader's standard error
    edges = [2, *sorted(kept), os.sysconf("SC_OPEN_MAX")]
    for below, above in itertools.pairwise(edges):
        os.closerange(below + 1, above)


def open_source(
    library: str, how: str = "", isolation: str = "best", *, is_late: bool = False
) -> WorkerFactory:
    """Return a fork server, or a plain factory on systems without fork or if `how` is "spawn". The array
    library is imported first, so that all workers share it; if `is_late`, in a new interpreter."""
    wanted = ISOLATION[isolation]
    if "dumpable" in wanted:
        hide_memory()  # the memory of this process, the grader, will contain solutions
    if how == "spawn" or not hasattr(os, "fork") or sys.platform == "darwin":
        return WorkerFactory(library, wanted)
    if not is_late:
        _import(library)
    return ForkServer(library, wanted, is_late=is_late)


class WorkerFactories(dict[str, WorkerFactory]):
    """Worker factories by library, so that a worker has imported only the library of its submission. One that
    is first needed later starts then."""

    def __init__(self, libraries: Iterable[str], how: str = "", isolation: str = "best") -> None:
        """NumPy's server is forked before PyTorch is imported."""
        super().__init__((name, open_source(name, how, isolation)) for name in sorted(libraries))
        self._how, self._isolation = how, isolation

    def __missing__(self, library: str) -> WorkerFactory:
        self[library] = open_source(library, self._how, self._isolation, is_late=True)
        return self[library]

    def close(self) -> None:
        """Close all factories."""
        for source in self.values():
            source.close()
