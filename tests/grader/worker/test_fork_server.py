"""Workers are forked or spawned, and leave no processes or files behind."""

import contextlib
import gc
import os
import signal
import socket
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from grader.worker.client import RemoteStudent, WorkerLost
from grader.worker.fork_server import ForkServer, WorkerFactories, WorkerFactory, open_source

LINUX = pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
KINDS = [
    pytest.param("fork", marks=pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")),
    pytest.param("spawn"),
]


def load(process, source, call_seconds=5.0):
    student = RemoteStudent(process, call_seconds)
    in_force = student.greeting(20.0)
    student.loaded = student.load("kata", 20.0, source=source, entry_points=["f", "g"], forbidden=[])
    return student, in_force


@pytest.fixture(params=KINDS)
def source(request):
    source = open_source("numpy", request.param)
    yield source
    source.close()


@pytest.fixture
def start(source):
    processes = []

    def start():
        processes.append(source.start("cpu"))
        return processes[-1]

    yield start
    for process in processes:
        process.kill()


def test_a_worker_greets_and_answers(start):
    student, in_force = load(start(), "def f(x): return x + 1\ng = 3")
    assert in_force["process"] is True
    assert student.loaded == {"entry_points": {"f": True, "g": False}}
    assert student.f(np.ones(2)).tolist() == [2, 2]


def test_workers_know_nothing_of_each_other(start):
    one, _ = load(start(), "seen = []\ndef f(x): seen.append(x); return len(seen)")
    two, _ = load(start(), "seen = []\ndef f(x): seen.append(x); return len(seen)")
    assert [one.f(1), one.f(1), two.f(1)] == [1, 2, 1]


def test_a_lost_worker_costs_the_next_one_nothing(start):
    student, _ = load(start(), "import os\ndef f(): os._exit(1)")
    with pytest.raises(WorkerLost):
        student.f()
    assert load(start(), "def f(): return 1")[0].f() == 1


def test_a_worker_reads_nothing_from_standard_input(start):
    assert load(start(), "import sys\ndef f(): return sys.stdin.read()")[0].f() == ""


def test_modules_beside_the_grader_are_not_found(start, tmp_path, monkeypatch):
    (tmp_path / "json.py").write_text("raise RuntimeError")
    monkeypatch.chdir(tmp_path)
    student, _ = load(
        start(), "import sys, os\ndef f(): return [p for p in sys.path if p in ('', os.getcwd())]"
    )
    assert student.f() == []


def test_memory_has_a_limit(start):
    student, in_force = load(
        start(), "import numpy as np\ndef f(): return len(np.ones(2**33))\ndef g(): return 1"
    )
    if not in_force["limits"]:
        pytest.skip("no limits on this platform")
    from grader.expect import SubmissionFailed

    with pytest.raises(SubmissionFailed) as caught:
        student.f()
    assert "MemoryError" in caught.value.kinds
    assert student.g() == 1


def alive(pid):
    try:
        with open(f"/proc/{pid}/stat") as stat:
            return stat.read().rsplit(")", 1)[1].split()[0] not in "ZX"
    except OSError:
        return False


def gone(pid):
    """Return True if the process ends before a timeout."""
    deadline = time.monotonic() + 10
    while alive(pid) and time.monotonic() < deadline:
        time.sleep(0.01)
    return not alive(pid)


@LINUX
def test_a_killed_worker_is_gone(start):
    process = start()
    load(process, "def f(): return 1")
    assert alive(process.pid)
    process.kill()
    assert gone(process.pid)
    process.kill = lambda: None  # so that the fixture does not kill it again


@LINUX
@pytest.mark.parametrize("kind", KINDS)
def test_no_descriptor_and_no_child_stays_behind(kind):
    gc.collect()
    before, children = set(os.listdir("/proc/self/fd")), children_of_mine()
    source = open_source("numpy", kind)
    for code in ("def f(): return 1", "import os\ndef f(): os._exit(0)"):
        process = source.start("cpu")
        student, _ = load(process, code)
        with contextlib.suppress(WorkerLost):
            student.f()
        process.kill()
    source.close()
    assert set(os.listdir("/proc/self/fd")) == before
    assert children_of_mine() == children


def children_of_mine():
    with open(f"/proc/self/task/{os.getpid()}/children") as children:
        return children.read().split()


@LINUX
def test_workers_die_with_the_server():
    server = ForkServer()
    process = server.start("cpu")
    load(process, "def f(): return 1")
    server.close()
    assert gone(process.pid)
    process.kill()


@LINUX
def test_a_grader_that_is_killed_leaves_no_folder_behind():
    server = ForkServer()
    process = server.start("cpu")
    load(process, "def f(): return 1")
    server.close()  # the server's socket closes in the same way when the grader ends
    assert not os.path.exists(process.scratch)
    process.kill()


def children_of(pid):
    lists = Path(f"/proc/{pid}/task").glob("*/children")
    return [child for children in lists for child in children.read_text().split()]


@LINUX
def test_the_server_leaves_no_zombies():
    server = ForkServer()
    for _ in range(3):
        process = server.start("cpu")
        load(process, "def f(): return 1")
        process.kill()
        assert gone(process.pid)
    _, spare = server._spare
    server._with_pid(spare)
    assert children_of(server.pid) == [str(spare.pid)]  # the spare worker
    server._spare = None
    spare.kill()
    server.close()


@contextlib.contextmanager
def started_twice():
    """Return a server, two of its workers and its spare worker; all are ended after the test."""
    server = ForkServer()
    started = [server.start("cpu"), server.start("cpu")]
    yield server, started, server._spare[1]
    for process in started:
        process.kill()
    server.close()


@LINUX
def test_from_the_second_on_the_next_worker_gets_ready_beforehand():
    with started_twice() as (server, started, spare):
        started.append(server.start("cpu"))
        assert started[-1] is spare
        assert load(spare, "def f(): return 1")[0].f() == 1
        assert len({process.pid for process in started}) == len({process.scratch for process in started}) == 3


@LINUX
@pytest.mark.parametrize("what", ["dead", "on another device"])
def test_a_worker_that_cannot_be_used_is_replaced(what):
    with started_twice() as (server, started, spare):
        if what == "dead":
            while len(children_of(server.pid)) < 3:
                time.sleep(0.01)
            [waiting] = {int(pid) for pid in children_of(server.pid)} - {process.pid for process in started}
            os.kill(waiting, signal.SIGKILL)
            assert gone(waiting)
        else:
            server._spare = "elsewhere", spare
        started.append(server.start("cpu"))
        assert started[-1] is not spare
        assert not os.path.exists(spare.scratch)
        assert load(started[-1], "def f(): return 1")[0].f() == 1


@LINUX
def test_a_worker_that_nobody_needed_leaves_with_the_server():
    with started_twice() as (_, _, spare):
        pass
    assert gone(spare.pid)
    assert not os.path.exists(spare.scratch)


@pytest.mark.parametrize("end", ["killed", "hung up"])
def test_where_the_server_is_gone_workers_are_fresh_interpreters(end):
    server = ForkServer()
    if end == "killed":
        os.kill(server.pid, signal.SIGKILL)
    else:
        server._control.shutdown(socket.SHUT_RDWR)
    process = server.start("cpu")
    student, _ = load(process, "def f(): return 1")
    assert (process.popen is not None, student.f()) == (True, 1)
    process.kill()
    server.close()


@LINUX
def test_servers_can_be_closed_in_any_order():
    first, second = ForkServer(), ForkServer()
    first.close()
    second.close()
    for server in (first, second):
        with pytest.raises(ProcessLookupError):
            os.kill(server.pid, 0)


@LINUX
def test_a_worker_inherits_no_descriptor_but_its_own(tmp_path):
    with open(tmp_path / "secret", "w") as secret:
        server = ForkServer()
        process = server.start("cpu")
        student, _ = load(
            process,
            "import os\ndef f(): return [os.readlink(f'/proc/self/fd/{n}') for n in range(3, 64)"
            " if os.path.exists(f'/proc/self/fd/{n}')]",
        )
        held = student.f()
        process.kill()
        server.close()
        assert secret.name not in held


def test_spawn_is_used_where_asked_for():
    assert type(open_source("numpy", "spawn")) is WorkerFactory


@pytest.mark.parametrize("how", ["", "spawn"])
def test_a_factory_that_is_closed_kills_the_workers_that_it_started(how):
    source = open_source("numpy", how)
    kept, ended = source.start("cpu"), source.start("cpu")
    with ended:
        pass
    folder = kept.scratch
    source.close()
    assert kept.ended
    assert not os.path.exists(folder)


@pytest.mark.slow
@LINUX
def test_a_server_that_is_needed_later_has_the_same_protections_and_ends():
    factories = WorkerFactories(["numpy"])
    try:
        late = factories["torch"]
        greetings = []
        for factory in (factories["numpy"], late):
            with factory.start("cpu") as process:
                student = RemoteStudent(process)
                greetings.append(student.greeting(60.0))
                student.load(
                    "kata", 20.0, source="import sys\ndef f(): return 'torch' in sys.modules", **NONE
                )
                has_torch = student.f()
        assert greetings[0] == greetings[1]
        assert has_torch is True
    finally:
        factories.close()
    assert not Path(f"/proc/{late.pid}").exists()
    assert "torch" in factories


NONE = {"entry_points": ["f"], "forbidden": []}
