"""Tests of the pool on a cluster, with a stand-in for Ray whose graders can be lost at any moment."""

import multiprocessing
import random
import threading
import time
from contextlib import closing

import pytest

from dojo_classroom import ray_pool
from dojo_classroom.ray_pool import ClusterLost, RayPool
from dojo_classroom.task import FileVerdict, GraderOptions, Task
from grader.course.catalog import CourseError


class RayError(Exception):
    """The base of Ray's errors; `cause` is what an actor raised."""

    def __init__(self, told, cause=None):
        super().__init__(told)
        self.cause = cause


class FakeRay:
    """Answers are numbers; an actor answers at once, unless `loses` says that it is lost."""

    class exceptions:  # Ray's own name
        RayError = RayError

    def __init__(self, loses=lambda: False, starts=lambda: None):
        self.loses, self.starts = loses, starts
        self.answers, self.kept, self.started = {}, [], 0

    def init(self, **_options):
        """Connect."""

    def cluster_resources(self):
        return {"CPU": 2}

    def put(self, value):
        self.kept.append(value)
        return value

    def remote(self, **options):
        assert (options["max_restarts"], options["max_task_retries"]) == (0, 0)
        return lambda _class: FakeActors(self)

    def wait(self, answers, num_returns, timeout):
        assert (num_returns, timeout) == (1, ray_pool.POLL_SECONDS)
        return answers[:1], answers[1:]

    def get(self, answer):
        found = self.answers.pop(answer)
        if isinstance(found, Exception):
            raise found
        return found


class FakeActors:
    def __init__(self, ray):
        self.ray = ray

    def remote(self, _options, _packed, _version):
        self.ray.started += 1
        return FakeActor(self.ray, self.ray.starts())


class FakeActor:
    """An actor; each method has `remote`, as Ray's have."""

    def __init__(self, ray, complaint):
        self.ray, self.complaint = ray, complaint
        self.judging, self.judge = FakeMethod(self._judging), FakeMethod(self._judge)

    def _answer(self, value):
        number = object()
        self.ray.answers[number] = value
        return number

    def _judging(self):
        return self._answer(self.complaint or {"double": "1"})

    def _judge(self, task):
        lost = self.ray.loses()
        return self._answer(RayError("The actor died.") if lost else FileVerdict("passed", 10, 10, task.kata))


class FakeMethod:
    def __init__(self, remote):
        self.remote = remote


@pytest.fixture
def open_pool(tiny_course, monkeypatch):
    """`open_pool(ray)` opens a pool whose process is a thread with this stand-in for Ray."""

    class Thread(threading.Thread):
        def __init__(self, context, work, *arguments):
            self.channel, theirs = context.Pipe()
            super().__init__(target=work, args=(theirs, *arguments), daemon=True)
            self.start()

        def end(self, wait):
            """A thread ends when its channel is closed."""
            self.channel.close()
            self.join(wait)

    monkeypatch.setattr(ray_pool, "Child", Thread)
    monkeypatch.setattr(ray_pool, "_require_ray", lambda: None)
    options = GraderOptions(tiny_course.root, tiny_course.exercises, ("double",))

    def start(ray, size=2):
        monkeypatch.setattr(ray_pool, "_import_ray", lambda: ray)
        return RayPool(options, size)

    return start


TASKS = [Task("double", str(number).encode()) for number in range(60)]


def test_every_task_is_judged_once_however_often_graders_are_lost(open_pool):
    for seed in range(10):
        drawn = random.Random(seed)
        left = [10]

        def loses(drawn=drawn, left=left):
            lost = left[0] > 0 and drawn.random() < 0.2
            left[0] -= lost
            return lost

        ray = FakeRay(loses)
        with closing(open_pool(ray)) as pool:
            found = list(pool.judge(iter(TASKS)))
        assert sorted(task.data for task, _ in found) == sorted(task.data for task in TASKS)
        assert {verdict.fault for _, verdict in found} == {""}
        assert ray.started == 2 + 10 - left[0], "each lost grader has one successor"
        assert len(ray.kept) == 1, "the archive was put into the cluster once, and is kept"


def test_a_task_that_loses_every_grader_is_left_for_the_next_run(open_pool):
    with closing(open_pool(FakeRay(lambda: True))) as pool:
        ((_, verdict),) = pool.judge(iter(TASKS[:1]))
    assert verdict.fault == "The actor died."


def test_graders_that_fail_at_once_are_not_started_for_ever(open_pool):
    begun = []

    def starts():
        begun.append(1)
        return None if len(begun) == 1 else RayError("No room.")

    lost = iter([False, True])
    ray = FakeRay(lambda: next(lost), starts)
    with closing(open_pool(ray, 1)) as pool, pytest.raises(ClusterLost, match="every grader failed"):
        list(pool.judge(iter(TASKS[:3])))
    assert ray.started == 1 + ray_pool.FAILED_STARTS


def test_a_grader_that_fails_at_once_does_not_eat_the_queue(open_pool):
    complaints = iter([None, RayError("No room."), RayError("No room."), RayError("No room.")])
    with closing(open_pool(FakeRay(starts=lambda: next(complaints)))) as pool:
        assert len(list(pool.judge(iter(TASKS)))) == 60


def test_what_the_first_grader_complains_about_is_told(open_pool):
    complaint = RayError("…", CourseError("A machine of the cluster has grader 0.0, this one 1.0."))
    with pytest.raises(CourseError, match=r"has grader 0\.0"):
        open_pool(FakeRay(starts=lambda: complaint))


def ends(channel, *_):
    channel.send((1, {}))
    channel.recv()


def hangs(channel, *_):
    channel.send((1, {}))
    time.sleep(60)


@pytest.mark.parametrize(("drive", "told"), [(ends, "the connection to it ended"), (hangs, "for 0 seconds")])
def test_a_lost_cluster_is_one_sentence(drive, told, tiny_course, monkeypatch):
    monkeypatch.setattr(ray_pool, "_require_ray", lambda: None)
    monkeypatch.setattr(ray_pool, "drive", drive)
    monkeypatch.setattr(ray_pool, "SILENT_SECONDS", 0.2)
    context = multiprocessing.get_context("fork")
    monkeypatch.setattr(ray_pool.multiprocessing, "get_context", lambda _name: context)
    monkeypatch.setattr(ray_pool, "END_SECONDS", 0.2)
    pool = RayPool(GraderOptions(tiny_course.root, tiny_course.exercises, ("double",)))
    with pytest.raises(ClusterLost) as lost:
        list(pool.judge(iter(TASKS)))
    assert told in str(lost.value)
    assert str(lost.value).endswith("What was graded is kept; the same command goes on from there.")
