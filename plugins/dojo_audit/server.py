"""The server of an audit: runs one job after another, each in a confined fork with a copy of its own.

It reads a job as a line of JSON from standard input, and writes a line with the result. The server imports
libraries that the homework needs, so that a fork starts in milliseconds, and never code of the homework.
When a run ends, everything that it has started is killed, also processes that have left its session.

A run is confined: files, network, memory, processor time, file sizes. Unlike a grader's worker, tests may
read all files, start processes and use temporary files. They can write below one folder alone.
"""

from __future__ import annotations

import atexit
import contextlib
import gc
import importlib
import importlib.metadata
import json
import os
import secrets
import select
import shutil
import signal
import sys
import tempfile
import time
from pathlib import Path, PurePosixPath
from typing import Any

from grader.course.files import Folder
from grader.processes.confinement import LARGEST_FILE, MORE_PROCESSES, enter
from grader.worker.protocol.system_calls import PR_SET_DUMPABLE, control, hide_memory

SUBREAPER = 36  # of `prctl`: orphans become children of this process
MOST_PRINTED = LARGEST_FILE // 2  # bytes; a run that prints more is ended
POLL = 0.01  # seconds between two looks at a run
KEPT = 6_000  # bytes of the output that are returned, the last ones
LARGEST_ANSWER = 4 * 2**20  # bytes that a fork may return
TOO_LARGE = 64 * 2**20  # bytes of a file that is kept
PATIENCE = 10.0  # seconds in which killed processes must end

Job = dict[str, Any]


def serve(libraries: list[str]) -> None:
    """Run jobs until standard input is closed."""
    hide_memory()  # otherwise a run could open the descriptors of this process, and answer for it
    channel = os.dup(1)
    os.dup2(os.open(os.devnull, os.O_RDWR), 1)
    jobs = os.fdopen(os.dup(0), "rb", buffering=0)
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    control(SUBREAPER, 1)
    atexit.register(_clean_up, os.getpid(), os.getppid(), os.getcwd())
    _import(libraries)
    while line := _read_line(jobs.fileno()):
        job = json.loads(line)
        token = job.pop("token")
        answer = json.dumps({**_run(job, jobs.fileno()), "token": token}).encode() + b"\n"
        while answer:
            answer = answer[os.write(channel, answer) :]


def _clean_up(server: int, parent: int, folder: str) -> None:
    """Remove all copies if the audit was killed: then it cannot do so itself."""
    if os.getpid() == server and os.getppid() != parent:
        shutil.rmtree(folder, ignore_errors=True)


def _import(libraries: list[str]) -> None:
    """Import what forks need, so that they start with it."""
    wanted = [*libraries, "unittest.mock"]
    if "numpy" in libraries:
        wanted.append("numpy.testing")
    wanted += ["dojo_audit.driver", "dojo_audit.search"]
    if "pytest" in libraries:
        built_in = importlib.import_module("_pytest.config").default_plugins
        plugins = importlib.metadata.entry_points(group="pytest11")
        wanted += [*(f"_pytest.{name}" for name in built_in), *(one.module for one in plugins)]
    for name in wanted:
        with contextlib.suppress(Exception):  # a plugin that is broken here is pytest's to report
            module = importlib.import_module(name)
            if name == "torch":
                module.set_num_threads(1)
    gc.freeze()  # a garbage collection in a fork would copy all shared memory


def _read_line(fd: int) -> bytes:
    line = b""
    while not line.endswith(b"\n"):
        part = os.read(fd, 65536)
        if not part:
            return b""
        line += part
    return line


def _run(job: Job, orders: int) -> dict[str, Any]:
    """Run a job and return how it ended; see `pool.Result`."""
    folder = job["folder"]
    began = time.monotonic()
    try:
        _make_copy(job)
    except OSError as error:
        return {"status": "failed", "printed": f"The copy cannot be made: {error}."}
    seal, server = secrets.token_hex(16), os.getpid()
    answered, answers = os.pipe()  # a file could be read and changed by what the run leaves behind
    os.set_blocking(answered, False)
    with tempfile.TemporaryFile(dir=folder) as file:
        printed = file.fileno()
        child = os.fork()
        if child == 0:
            _in_fork(job, printed, answers, server, seal)
        os.close(answers)
        status, found = "", b""
        ended: tuple[int, Any] | None = None
        while not status and ended is None:
            ready, _, _ = select.select([orders], [], [], POLL)
            pid, state, used = os.wait4(child, os.WNOHANG)
            ended = (state, used) if pid else None
            found += _drained(answered)
            if ready and not os.read(orders, 1):  # nothing is written while a job runs
                status = "stopped"
            elif os.fstat(printed).st_size > MOST_PRINTED or len(found) > LARGEST_ANSWER:
                status = "flooded"
            elif len(_descendants()) > MORE_PROCESSES:
                status = "crowded"
            elif not ended and time.monotonic() - began > job["wall"]:
                status = "hung"
        _end_all(child)
        os.close(answered)
        state, used = ended or os.wait4(child, 0)[1:]
        code = os.waitstatus_to_exitcode(state)
        text = os.pread(printed, KEPT, max(0, os.fstat(printed).st_size - KEPT))
    answer = _opened(found, seal)
    kept = _keep(job, folder) if not status else []
    has_left = any(name.startswith("begun-") for name in _listed(os.path.join(folder, "tmp")))
    shutil.rmtree(folder, ignore_errors=True)
    if status == "stopped":
        sys.exit(0)
    if not status:
        has_ended = answer is not None or (job["command"]["how"] == "shell" and not has_left)
        timed_out = code in (-signal.SIGXCPU, 128 + signal.SIGXCPU)  # the second from a shell
        status = "passed" if code == 0 and has_ended else "hung" if timed_out else "failed"
    return {
        "status": status,
        "code": code,
        "answer": answer,
        "printed": text.decode("utf-8", "replace"),
        "cpu": used.ru_utime + used.ru_stime,
        "wall": time.monotonic() - began,
        "kept": kept,
    }


def _make_copy(job: Job) -> None:
    """Make the run's folder: a copy of the homework, with the files of this run, and a temporary folder."""
    folder = job["folder"]
    shutil.copytree(job["root"], os.path.join(folder, "work"), symlinks=True)
    os.mkdir(os.path.join(folder, "tmp"))
    with Folder(Path(folder, "work"), follows_links=False) as work:
        for name, text in job["files"].items():
            work.write(*PurePosixPath(name).parts, data=text.encode("utf-8", "replace"))


def _in_fork(job: Job, prints: int, answers: int, server: int, seal: str) -> None:
    """Become the run of a job; never return."""
    code = 1
    try:
        os.setsid()
        control(PR_SET_DUMPABLE, 1)  # tests may look at themselves
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGPIPE, signal.SIGXFSZ):
            signal.signal(number, signal.SIG_DFL if number != signal.SIGXFSZ else signal.SIG_IGN)
        os.dup2(prints, 1)
        os.dup2(prints, 2)
        answers = _only_answers(answers)
        folder = job["folder"]
        temporary = os.path.join(folder, "tmp")
        work = os.path.join(folder, "work")
        os.environ.update(HOME=temporary, TMPDIR=temporary, PWD=work)
        roots = [os.path.join(work, root) for root in job["roots"]]
        before = filter(None, [os.environ.get("PYTHONPATH", "")])
        os.environ["PYTHONPATH"] = os.pathsep.join([*roots, *before])
        sys.path[:0] = roots
        tempfile.tempdir = temporary  # it may be cached
        os.chdir(work)
        enter(folder, job["isolation"], job["cpu"], server)
        code = _perform(job, answers, seal)
    except BaseException:
        import traceback

        traceback.print_exc()
    finally:
        with contextlib.suppress(Exception):
            sys.stdout.flush()
            sys.stderr.flush()
        os._exit(code)


def _perform(job: Job, answers: int, seal: str) -> int:
    """Do the work of a job and return the exit code; what is found goes as JSON to `answers`.

    The seal is known to nobody else, so code that ends the process, or writes an answer of its own, is not
    taken for a run that came to its end.
    """
    found: dict[str, Any] = {}
    if job["work"] == "tests":
        from dojo_audit import driver

        code = driver.run_tests(job, found)
    else:
        from dojo_audit import search

        found, code = search.WORK[job["work"]](job), 0
    data = json.dumps({"seal": seal, "found": found}).encode()
    while data:
        data = data[os.write(answers, data) :]
    return code


def _only_answers(answers: int) -> int:
    """Close all descriptors but the first three and that of the answer, which becomes the fourth."""
    if answers != 3:
        os.dup2(answers, 3)
    os.closerange(4, os.sysconf("SC_OPEN_MAX"))
    os.set_inheritable(3, False)
    sys.stdout = open(1, "w", encoding="utf-8", errors="replace", closefd=False)  # noqa: SIM115
    sys.stderr = open(2, "w", encoding="utf-8", errors="replace", closefd=False)  # noqa: SIM115
    return 3


def _drained(pipe: int) -> bytes:
    """Return what is in a pipe by now."""
    data = b""
    with contextlib.suppress(BlockingIOError):
        while len(data) <= LARGEST_ANSWER and (part := os.read(pipe, 1 << 16)):
            data += part
    return data


def _opened(data: bytes, seal: str) -> Any:
    """Return what was found, or None if the run did not come to its end."""
    try:
        answer = json.loads(data)
        json.dumps(answer, ensure_ascii=False).encode()  # half a character cannot be written anywhere
        return answer["found"] if secrets.compare_digest(answer["seal"], seal) else None
    except (ValueError, RecursionError, TypeError, KeyError):
        return None


def _end_all(child: int) -> None:
    """Kill all processes that a run has started until there are no new ones; the caller waits for `child`."""
    with contextlib.suppress(OSError):
        os.killpg(child, signal.SIGKILL)
    deadline = time.monotonic() + PATIENCE
    while (left := _descendants() - {child}) and time.monotonic() < deadline:
        for pid in left:
            with contextlib.suppress(OSError):
                os.kill(pid, signal.SIGKILL)
                os.waitpid(pid, os.WNOHANG)
        time.sleep(0.002)


def _descendants() -> set[int]:
    """Return all processes below this one. Elsewhere than on Linux, none are found."""
    found: set[int] = set()
    queue = [os.getpid()]
    while queue:
        for pid in _children(queue.pop()):
            if pid not in found:
                found.add(pid)
                queue.append(pid)
    return found


def _children(pid: int) -> list[int]:
    found: list[int] = []
    with contextlib.suppress(OSError):
        for thread in os.listdir(f"/proc/{pid}/task"):
            with contextlib.suppress(OSError), open(f"/proc/{pid}/task/{thread}/children") as file:
                found += map(int, file.read().split())
    return found


def _listed(folder: str) -> list[str]:
    with contextlib.suppress(OSError):
        return os.listdir(folder)
    return []


def _keep(job: Job, folder: str) -> list[str]:
    """Move plain files that a run has written to where the job wants them; return which."""
    kept = []
    for name, place in job["keep"].items():
        path = os.path.join(folder, "tmp", name)
        with contextlib.suppress(OSError):
            fd = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
            with open(fd, "rb") as file, open(place, "wb") as target:
                if os.fstat(fd).st_size <= TOO_LARGE:
                    shutil.copyfileobj(file, target)
                    kept.append(name)
    return kept


if __name__ == "__main__":
    serve(sys.argv[1:])
