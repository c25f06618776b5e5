"""Tests that a killed run is resumed, and that lost graders do not change the results.

DOJO_KILLS=20 pytest tests/plugins/classroom/test_classroom_survival.py     kill more often
DOJO_RAY=1 pytest tests/plugins/classroom/test_classroom_survival.py        also test a Ray cluster
"""

import json
import os
import random
import resource
import signal
import subprocess
import sys
import time
from contextlib import closing, suppress
from pathlib import Path

import pytest

from dojo_classroom.task import GraderOptions, LocalPool, Task
from grader.processes import pool as processes

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
    """`start(output, …)` starts grading the class in a subprocess."""

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
def test_a_run_killed_at_any_moment_is_resumed(start, undisturbed, tmp_path):
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
def test_a_full_disk_is_reported_and_loses_nothing(start, undisturbed, tmp_path):
    small = 1 << 17

    def limit():
        resource.setrlimit(resource.RLIMIT_FSIZE, (small, small))

    running = start(tmp_path, preexec_fn=limit)
    told, _ = running.communicate(timeout=120)
    assert running.returncode == 4, told
    assert "cannot be read or written: " in told
    assert told.endswith("What was graded before is kept; the same command goes on from there.\n")
    told, _ = start(tmp_path).communicate(timeout=120)
    assert " 0 known from before" not in told
    assert timeless(tmp_path) == undisturbed


def tasks(count):
    return [Task("double", source(number).encode()) for number in range(count)]


def without_seconds(verdicts):
    """Return the verdicts keyed by source, without the seconds."""
    plain = {}
    for task, verdict in verdicts:
        report = json.loads(verdict.report)
        report["katas"][0]["seconds"] = 0
        plain[task.data] = (verdict.status, verdict.score, verdict.shape, verdict.cause, report)
    return plain


@pytest.fixture(scope="module")
def options(tiny_course):
    return GraderOptions(tiny_course.root, tiny_course.exercises, ("double",))


@pytest.fixture(scope="module")
def undisturbed_verdicts(options):
    """Return the verdicts of a pool in which no process is killed."""
    with closing(LocalPool(options, size=1)) as pool:
        return without_seconds(pool.judge(iter(tasks(16))))


@pytest.mark.slow
def test_a_grading_process_that_is_lost_is_replaced(options, undisturbed_verdicts, monkeypatch):
    monkeypatch.setattr(processes, "TRIES", 100)  # the same task may lose its grader several times
    with closing(LocalPool(options, size=2)) as graders:
        found = []
        for number, judged in enumerate(graders.judge(iter(tasks(16)))):
            found.append(judged)
            if number % 4 == 1:
                os.kill(graders.processes.children[number % 2].pid, signal.SIGKILL)
        assert without_seconds(found) == undisturbed_verdicts


@pytest.mark.slow
def test_a_source_that_ends_every_grader_is_set_aside(options, monkeypatch):
    with closing(LocalPool(options, size=1)) as pool:
        give = pool.processes._give

        def lose(job):
            give(job)
            if b"student 1\n" in job.task.data:
                os.kill(job.child.pid, signal.SIGKILL)

        monkeypatch.setattr(pool.processes, "_give", lose)
        found = dict(pool.judge(iter(tasks(3))))
    told = [(verdict.status, verdict.fault) for verdict in found.values()]
    assert told == [("passed", ""), ("put_aside", ""), ("failed", "")]
    put_aside = json.loads(list(found.values())[1].report)["katas"][0]["message"]
    assert put_aside == "double.py ended the grading process twice, and was put aside."


@pytest.mark.slow
def test_a_grader_that_exceeds_the_time_limit_is_killed(options):
    with closing(LocalPool(options, size=1)) as pool:
        list(pool.judge(iter(tasks(1))))
        pool.processes._seconds = 1.0
        os.kill(pool.processes.children[0].pid, signal.SIGSTOP)
        ((_, verdict),) = pool.judge(iter(tasks(1)))
    assert verdict.status == "passed"


def test_where_nothing_is_to_be_judged_no_grader_starts(options):
    with closing(LocalPool(options)) as pool:
        assert pool.judging.keys() == {"double"}
        assert list(pool.judge(iter([]))) == []
        assert pool.processes.children == []


needs_ray = pytest.mark.skipif(
    not os.environ.get("DOJO_RAY"), reason="a cluster takes half a minute to start: DOJO_RAY=1"
)


@pytest.mark.slow
@needs_ray
def test_a_cluster_gives_the_same_verdicts(options, undisturbed_verdicts):
    from dojo_classroom.ray_pool import RayPool

    with closing(RayPool(options, size=2)) as cluster:
        assert without_seconds(cluster.judge(iter(tasks(16)))) == undisturbed_verdicts


@pytest.mark.slow
@needs_ray
def test_a_machine_of_a_cluster_that_is_lost_changes_nothing(options, undisturbed_verdicts):
    from ray.cluster_utils import Cluster as Machines

    from dojo_classroom.ray_pool import RayPool

    machines = Machines(initialize_head=True, head_node_args={"num_cpus": 0})
    _, lost = machines.add_node(num_cpus=1), machines.add_node(num_cpus=1)
    try:
        with closing(RayPool(options, size=2, address=machines.address)) as cluster:
            found = []
            for judged in cluster.judge(iter(tasks(16))):
                found.append(judged)
                if len(found) == 4:
                    machines.remove_node(lost, allow_graceful=False)
        assert len(found) == 16
        assert without_seconds(found) == undisturbed_verdicts
    finally:
        machines.shutdown()


@pytest.mark.slow
@needs_ray
def test_graders_and_machines_lost_at_random_moments_change_nothing(options):
    from ray.cluster_utils import Cluster as Machines

    from dojo_classroom.ray_pool import RayPool

    with closing(LocalPool(options, size=2)) as pool:
        undisturbed = without_seconds(pool.judge(iter(tasks(60))))
    moments = random.Random(6).sample(range(1, 55), 10)
    machines = Machines(initialize_head=True, head_node_args={"num_cpus": 0})
    nodes = [machines.add_node(num_cpus=1), machines.add_node(num_cpus=1)]
    try:
        with closing(RayPool(options, size=2, address=machines.address)) as cluster:
            found = []
            for judged in cluster.judge(iter(tasks(60))):
                found.append(judged)
                if len(found) in moments[::2]:
                    kill_a_grader()
                elif len(found) in moments:
                    machines.remove_node(nodes.pop(0), allow_graceful=False)
                    nodes.append(machines.add_node(num_cpus=1))
        assert without_seconds(found) == undisturbed
    finally:
        machines.shutdown()


def kill_a_grader():
    """Kill one process that judges, among those that this one has started."""
    parents = {}
    for folder in Path("/proc").iterdir():
        with suppress(OSError):
            if folder.name.isdigit():
                status = (folder / "stat").read_text()
                parents[int(folder.name)] = int(status.rpartition(")")[2].split()[1])
    for pid in parents:
        with suppress(OSError):
            is_grader = b"ray::ClusterGrader" in Path(f"/proc/{pid}/cmdline").read_bytes()
            if is_grader and os.getpid() in _ancestors(pid, parents):
                os.kill(pid, signal.SIGKILL)
                return


def _ancestors(pid, parents):
    found = []
    while pid in parents:
        pid = parents[pid]
        found.append(pid)
    return found
