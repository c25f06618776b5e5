"""Create workers by forking a server process, or by spawning them on systems without fork.

The fork server is a fork of the grader, made before solutions or keys are read, or a new interpreter if it is
needed later. So array libraries are imported once for all workers, and no worker has a solution or a key in
its memory.

Control a running worker process and its folder from the grader, and spawn workers as new interpreters.
"""

from __future__ import annotations

import contextlib
import faulthandler
import gc
import itertools
import json
import os
import re
import select
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from grader.processes import ending
from grader.worker.child import main, on_fake_device
from grader.worker.child.sandbox import apply
from grader.worker.protocol.channel import Channel, Flooded, die_with_parent, hide_memory
from grader.worker.protocol.messages import ALL, ISOLATION, MEMORY, Terms, environment, read_terms
from grader.worker.reader import spawned


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
        self._send("SIGSTOP")
        try:
            yield
        finally:
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
            return _is_closed(self.channel.reader, seconds)
        with contextlib.suppress(subprocess.TimeoutExpired):
            return self.popen.wait(seconds) is not None
        return False


def _is_closed(fd: int, seconds: float) -> bool:
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
        terms = Terms(device, self.layers, scratch).message().decode()
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

    def __init__(self, library: str = "numpy", wanted: tuple[str, ...] = ALL, is_late: bool = False) -> None:
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
        """End the server and all workers that still run."""
        super().close()
        self._kill_spare()
        if self._control.fileno() < 0:  # closed before
            return
        with contextlib.suppress(OSError):
            self._control.shutdown(socket.SHUT_WR)  # closing is not enough if a later fork has a copy
        ending.end(self.pid, lambda seconds: _is_closed(self._control.fileno(), seconds))
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


def _become_worker(fds: list[int], terms: Terms, server: int) -> None:
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


def open_source(library: str, how: str = "", isolation: str = "best", is_late: bool = False) -> WorkerFactory:
    """Return a fork server, or a plain factory on systems without fork or if `how` is "spawn". The array
    library is imported first, so that all workers share it; if `is_late`, in a new interpreter."""
    wanted = ISOLATION[isolation]
    if "dumpable" in wanted:
        hide_memory()  # the memory of this process, the grader, will contain solutions
    if how == "spawn" or not hasattr(os, "fork") or sys.platform == "darwin":
        return WorkerFactory(library, wanted)
    if not is_late:
        _import(library)
    return ForkServer(library, wanted, is_late)


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
