"""Processes end in three steps; a pool loses no task but that of a process that dies."""

import importlib
import os
import signal
import subprocess
import sys
import time
from contextlib import closing, suppress
from functools import partial
from pathlib import Path

import pytest

from grader.errors import CourseError
from grader.processes import ending
from grader.processes.pool import Lost, Pool

LINUX = pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
FORKS = pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
READY = "import signal, sys, time; print('ready', flush=True); "


def begun(code):
    """Return a process in a session of its own that runs the code, from when it says that it is ready."""
    process = subprocess.Popen(
        [sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE, start_new_session=True
    )
    process.stdout.readline()
    return process


def ended(process, **limits):
    """End the process and return its exit code."""

    def has_ended(seconds):
        with suppress(subprocess.TimeoutExpired):
            return process.wait(seconds) is not None
        return False

    process.stdin.close()
    with process.stdout:
        ending.end(process.pid, has_ended, **limits)
    return process.returncode


@FORKS
@pytest.mark.parametrize(
    ("code", "limits", "left"),
    [
        ("sys.exit(len(sys.stdin.read()) + 7)", {}, 7),
        ("time.sleep(60)", {"wait": 0.1}, -signal.SIGTERM),
        ("signal.signal(signal.SIGTERM, lambda *_: sys.exit(3)); time.sleep(60)", {"wait": 1}, 3),
        ("time.sleep(60)", {"wait": 0, "ask": 0}, -signal.SIGKILL),
    ],
    ids=["by itself", "asked", "asked and tidies", "killed at once"],
)
def test_a_process_is_waited_for_then_asked_then_killed(code, limits, left):
    assert ended(begun(READY + code), **limits) == left


@FORKS
def test_a_process_that_is_deaf_is_killed():
    deaf = "import signal; signal.signal(signal.SIGTERM, signal.SIG_IGN); "
    assert ended(begun(f"{deaf}{READY}time.sleep(60)"), wait=0.1, ask=0.1) == -signal.SIGKILL


def is_alive(pid):
    with suppress(OSError):
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
    return False


def gone(*pids):
    """Return whether all end within ten seconds."""
    deadline = time.monotonic() + 10
    while any(map(is_alive, pids)) and time.monotonic() < deadline:
        time.sleep(0.01)
    return not any(map(is_alive, pids))


@LINUX
def test_what_a_process_has_started_ends_with_it():
    child = "subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(60)'])"
    process = begun(f"{READY}import subprocess; print({child}.pid, flush=True); time.sleep(60)")
    pid = int(process.stdout.readline())
    ended(process, wait=0, ask=0)
    assert gone(pid)


# --- the pool ---


JOBS = """
import os, signal, time
from contextlib import contextmanager
from functools import partial

@contextmanager
def opened(folder):
    yield partial(work, folder)

@contextmanager
def dies_at_once():
    os._exit(9)
    yield

def work(folder, task):
    with open(folder / task, "a") as tried:
        tried.write("x")
    times = len((folder / task).read_text())
    if task == "dies" or (task == "dies once" and times == 1):
        os.kill(os.getpid(), signal.SIGKILL)
    if task == "hangs":
        time.sleep(60)
    if task == "raises":
        raise LookupError("not there")
    return f"{task} {times}"
"""


@pytest.fixture
def jobs(tmp_path, monkeypatch):
    """A module that new processes can import. Its `work` does what a task's name says, and adds a character
    to a file for each time."""
    (tmp_path / "jobs_of_a_pool.py").write_text(JOBS)
    monkeypatch.syspath_prepend(tmp_path)
    yield importlib.import_module("jobs_of_a_pool")
    del sys.modules["jobs_of_a_pool"]


@pytest.fixture
def opens(jobs, tmp_path):
    return partial(jobs.opened, tmp_path)


HOW = pytest.mark.parametrize(
    "forks",
    [
        pytest.param(True, marks=FORKS, id="forks"),
        pytest.param(False, marks=pytest.mark.slow, id="server"),
    ],
)


@HOW
def test_a_process_that_dies_costs_its_own_task_one_retry_and_no_other_anything(tmp_path, opens, forks):
    names = ["a", "dies once", "b", "dies", "c", "d"]
    with closing(Pool(opens, 2, forks=forks)) as pool:
        found = dict(pool.run(iter(names)))
        children = [child.pid for child in pool.children]
    assert found.pop("dies").is_late is False
    assert found == {"a": "a 1", "dies once": "dies once 2", "b": "b 1", "c": "c 1", "d": "d 1"}
    assert (tmp_path / "dies").read_text() == "xx"
    assert bool(children) is not forks
    assert gone(*children)


@HOW
def test_a_task_that_takes_too_long_is_killed(opens, forks):
    with closing(Pool(opens, 2, forks=forks, seconds=1.0, tries=1)) as pool:
        found = dict(pool.run(iter(["hangs", "a", "b"])))
    assert found.pop("hangs").is_late is True
    assert found == {"a": "a 1", "b": "b 1"}


@FORKS
def test_a_lost_task_tells_how_its_process_ended(opens):
    with closing(Pool(opens, 1, forks=True)) as pool:
        assert dict(pool.run(iter(["dies"]))) == {"dies": Lost(-signal.SIGKILL)}


@FORKS
def test_what_a_task_raises_is_raised_with_its_place_and_ends_the_others(opens):
    pool = Pool(opens, 2, forks=True)
    with pytest.raises(LookupError, match="not there") as raised:
        list(pool.run(iter(["hangs", "raises"])))
    assert "in work" in raised.value.__notes__[0]
    assert pool.children == []


@FORKS
def test_a_task_is_taken_only_when_a_process_is_free(opens):
    taken = []

    def tasks():
        for name in "abcde":
            taken.append(name)
            yield name

    with closing(Pool(opens, 2, forks=True)) as pool:
        results = pool.run(tasks())
        next(results)
        assert taken == ["a", "b"]
        assert len(list(results)) == 4


def test_processes_that_end_before_they_begin_are_one_sentence_and_no_fault_of_a_task(jobs):
    with (
        closing(Pool(jobs.dies_at_once, 1)) as pool,
        pytest.raises(CourseError, match="A process of the grader ended before it had begun"),
    ):
        list(pool.run(iter(["a"])))


@FORKS
def test_closing_kills_what_works_at_once(opens):
    pool = Pool(opens, 2, forks=True)
    results = pool.run(iter(["hangs", "a"]))
    next(results)
    [child] = pool.children
    began = time.monotonic()
    pool.close()
    assert gone(child.pid)
    assert time.monotonic() - began < 30  # it would sleep for a minute
    results.close()


RUN = """
import sys, time
from contextlib import closing, nullcontext
from functools import partial
from grader.processes.pool import Pool

def hang(task):
    time.sleep(60)

if __name__ == "__main__":
    with closing(Pool(partial(nullcontext, hang), 2, forks=sys.argv[1] == "forks")) as pool:
        results = pool.run(iter("ab"))
        import threading
        threading.Timer(2.0, lambda: print(*(child.pid for child in pool.children), flush=True)).start()
        list(results)
"""


@LINUX
@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
@HOW
def test_no_process_is_left_when_the_one_that_has_the_pool_ends(tmp_path, number, forks):
    (tmp_path / "run.py").write_text(RUN)
    words = [sys.executable, str(tmp_path / "run.py"), "forks" if forks else "server"]
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).resolve().parents[3])}
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    process = subprocess.Popen(words, **pipes, env=environment, start_new_session=True)
    children = [int(pid) for pid in process.stdout.readline().split()]
    assert len(children) == 2
    assert all(map(is_alive, children))
    os.killpg(process.pid, number)  # as a terminal does
    _, said = process.communicate(timeout=120)
    assert gone(*children)
    assert said.count("Traceback") == (number == signal.SIGINT)
