"""Whatever ends a run, the next one goes on from there, and the results are those of a run undisturbed.

DOJO_KILLS=20 pytest tests/grader/test_classroom_survival.py     kills more often
DOJO_RAY=1 pytest tests/grader/test_classroom_survival.py        asks a cluster as well
"""

import json
import os
import random
import resource
import signal
import subprocess
import sys
import time
from contextlib import closing

import pytest

from grader.classroom import pool as pools
from grader.classroom.pool import Pool
from grader.classroom.task import GraderOptions, Task

KILLS = int(os.environ.get("DOJO_KILLS", "3"))
STUDENTS = 40
SOURCES = ("x + x", "3 * x", "abs(x) * 2", "x - x", "x.sum()", "x ** 2", "x + undefined", "x * 2")
COMMAND = "from grader.cli.kata import kata; kata()"


def source(number):
    answer = SOURCES[number % len(SOURCES)]
    return (
        f'def double(x):\n    if isinstance(x, str):\n        raise ValueError("text")\n    return {answer}\n'
        f"# by student {number}\n"
    )


@pytest.fixture(scope="module")
def submissions(tmp_path_factory):
    folder = tmp_path_factory.mktemp("class")
    for number in range(STUDENTS):
        (folder / f"student{number:02}").mkdir()
        (folder / f"student{number:02}" / "double.py").write_text(source(number))
    return folder


@pytest.fixture(scope="module")
def start(tiny_course, submissions):
    """`start(output, …)` begins to grade the class, in a process of its own."""

    def begin(output, *more, **how):
        wish = [str(submissions), "--kata", "double", "--graders", "2", "--output", str(output), *more]
        return subprocess.Popen(
            [sys.executable, "-c", COMMAND, "grade", *wish],
            cwd=tiny_course.root,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            **how,
        )

    return begin


def timeless(output):
    """All results but for the seconds that they took."""
    lines = [json.loads(line) for line in (output / "reports.jsonl").read_text().splitlines()]
    for line in lines:
        for kata in line["report"]["katas"]:
            kata["seconds"] = 0
    return lines, (output / "canvas.csv").read_text(), (output / "moodle.csv").read_text()


@pytest.fixture(scope="module")
def undisturbed(start, tmp_path_factory):
    output = tmp_path_factory.mktemp("undisturbed")
    told, _ = start(output).communicate(timeout=120)
    assert "40 files judged" in told, told
    return timeless(output)


@pytest.mark.slow
def test_killed_at_any_moment_it_goes_on(start, undisturbed, tmp_path):
    moments = random.Random(7)
    for number in range(KILLS):
        running = start(tmp_path, "--each")
        for _ in range(moments.randrange(1 + STUDENTS // KILLS)):  # lines, so that speed decides nothing
            running.stdout.readline()
        time.sleep(moments.random() / 50)
        running.send_signal(signal.SIGKILL)
        running.communicate()
        assert not (tmp_path / "class.html").exists() or number, "it was done before it could be killed"
    told, _ = start(tmp_path).communicate(timeout=120)
    assert timeless(tmp_path) == undisturbed, told


@pytest.mark.slow
def test_a_full_disk_is_told_and_loses_nothing(start, undisturbed, tmp_path):
    small = 1 << 17

    def limit():
        resource.setrlimit(resource.RLIMIT_FSIZE, (small, small))

    running = start(tmp_path, preexec_fn=limit)
    told, _ = running.communicate(timeout=120)
    assert running.returncode == 2, told
    assert "cannot be read or written: " in told
    assert told.endswith("What was graded before is kept; the same command goes on from there.\n")
    told, _ = start(tmp_path).communicate(timeout=120)
    assert " 0 known from before" not in told
    assert timeless(tmp_path) == undisturbed


def tasks(count):
    return [Task("double", source(number).encode()) for number in range(count)]


def seconds_apart(verdicts):
    """The verdicts by task, without the seconds."""
    plain = {}
    for task, verdict in verdicts:
        report = json.loads(verdict.report)
        report["katas"][0]["seconds"] = 0
        plain[task.data] = (verdict.status, verdict.score, verdict.shape, verdict.cause, report)
    return plain


@pytest.fixture(scope="module")
def order(tiny_course):
    return GraderOptions(tiny_course.root, tiny_course.exercises, ("double",))


@pytest.fixture(scope="module")
def calm(order):
    """The verdicts of a pool that nobody disturbs."""
    with closing(Pool(order, size=1)) as pool:
        return seconds_apart(pool.judge(iter(tasks(16))))


@pytest.mark.slow
def test_a_grading_process_that_is_lost_is_replaced(order, calm, monkeypatch):
    monkeypatch.setattr(pools, "TRIES", 100)  # chance may kill the same seat over the same task each time
    with closing(Pool(order, size=2)) as graders:
        found = []
        for number, judged in enumerate(graders.judge(iter(tasks(16)))):
            found.append(judged)
            if number % 4 == 1:
                os.kill(graders._seats[number % 2].process.pid, signal.SIGKILL)
        assert seconds_apart(found) == calm


@pytest.mark.slow
def test_a_source_that_ends_every_grader_is_put_aside(order, monkeypatch):
    with closing(Pool(order, size=1)) as pool:
        send = pool._occupy

        def lose(seat, task):
            send(seat, task)
            if task is not None and b"student 1\n" in task.data:
                os.kill(seat.process.pid, signal.SIGKILL)

        monkeypatch.setattr(pool, "_occupy", lose)
        found = dict(pool.judge(iter(tasks(3))))
    told = [(verdict.status, verdict.fault) for verdict in found.values()]
    assert told == [("passed", ""), ("error", ""), ("failed", "")]
    put_aside = json.loads(list(found.values())[1].report)["katas"][0]["message"]
    assert put_aside == "double.py ended the grading process twice, and was put aside."


@pytest.mark.slow
def test_a_grader_that_does_not_come_back_is_ended(order, monkeypatch):
    monkeypatch.setattr(pools, "TASK_SECONDS", 1.0)
    monkeypatch.setattr(pools, "LOOK_SECONDS", 0.2)
    with closing(Pool(order, size=1)) as pool:
        os.kill(pool._seats[0].process.pid, signal.SIGSTOP)
        ((_, verdict),) = pool.judge(iter(tasks(1)))
    assert verdict.status == "passed"


asks_a_cluster = pytest.mark.skipif(
    not os.environ.get("DOJO_RAY"), reason="a cluster takes half a minute to start: DOJO_RAY=1"
)


@pytest.mark.slow
@asks_a_cluster
def test_a_cluster_says_the_same(order, calm):
    from grader.classroom.cluster import Cluster

    with closing(Cluster(order, size=2)) as cluster:
        assert seconds_apart(cluster.judge(iter(tasks(16)))) == calm


@pytest.mark.slow
@asks_a_cluster
def test_a_machine_of_a_cluster_that_is_lost_changes_nothing(order, calm):
    from ray.cluster_utils import Cluster as Machines

    from grader.classroom.cluster import Cluster

    machines = Machines(initialize_head=True, head_node_args={"num_cpus": 0})
    _, lost = machines.add_node(num_cpus=1), machines.add_node(num_cpus=1)
    try:
        with closing(Cluster(order, size=2, address=machines.address)) as cluster:
            found = []
            for judged in cluster.judge(iter(tasks(16))):
                found.append(judged)
                if len(found) == 4:
                    machines.remove_node(lost, allow_graceful=False)
        assert len(found) == 16
        assert seconds_apart(found) == calm
    finally:
        machines.shutdown()
