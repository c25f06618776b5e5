"""Which task a grader of a class is given: of a kata that it knows, as long as there is one."""

from itertools import count, islice

import pytest

from grader.cohort import waiting as waiting_module
from grader.cohort.judging import Task
from grader.cohort.waiting import READ_AHEAD, Waiting

KATAS = ("softmax", "top_p", "kv_cache", "min_p")


def sheets(students):
    """The files of a class, student by student."""
    return (Task(kata, b"%d" % student) for student in range(students) for kata in KATAS)


def given(waiting, *graders, times):
    """What graders are given who take turns: the katas of each."""
    return [[waiting.next_for(known).kata for _ in range(times)] for known in graders]


def test_each_grader_keeps_to_its_kata():
    waiting, one, other = Waiting(sheets(30), 2), set(), set()
    (first, *rest), (second, *others) = given(waiting, one, other, times=10)
    assert first != second
    assert (set(rest), set(others)) == ({first}, {second})
    assert (one, other) == ({first}, {second})


def test_two_graders_share_four_katas():
    waiting, one, other = Waiting(sheets(100), 2), set(), set()
    for _ in range(190):
        given(waiting, one, other, times=1)
    assert len(one) + len(other) <= len(KATAS) + 1, (one, other)


@pytest.mark.parametrize("graders", [1, 2, 5])
def test_everything_is_given_once(graders):
    waiting, known = Waiting(sheets(40), graders), [set() for _ in range(graders)]
    turns = (waiting.next_for(known[n % graders]) for n in count())
    tasks = [(task.kata, task.data) for task in iter(lambda: next(turns), None)]
    assert sorted(tasks) == sorted((task.kata, task.data) for task in sheets(40))


def test_no_more_is_read_than_a_few_for_each_grader():
    tasks = sheets(1000)
    Waiting(tasks, 2).next_for(set())
    assert sum(1 for _ in tasks) == 4000 - 2 * READ_AHEAD


def test_what_comes_last_in_the_course_is_begun_first():
    waiting = Waiting(sheets(30), 3)
    [first], [second] = given(waiting, set(), set(), times=1)
    assert (first, second) == ("min_p", "kv_cache")


def test_large_files_are_not_read_far_ahead(monkeypatch):
    monkeypatch.setattr(waiting_module, "MOST_BYTES", 100)
    tasks = (Task("softmax", bytes(40)) for _ in range(20))
    waiting = Waiting(tasks, 2)
    for _ in range(3):
        waiting.next_for(set())
    assert sum(1 for _ in tasks) == 20 - 5, "three that are given, two that wait"


def test_one_grader_is_given_the_class_as_it_comes():
    waiting, known = Waiting(sheets(3), 1), set()
    assert given(waiting, known, times=12) == [[task.kata for task in islice(sheets(3), 12)]]
