"""A class on four platforms, counted by the benchmark that uses nothing of the grader for it."""

import importlib
import sys
from dataclasses import replace
from pathlib import Path

import pytest

FOLDER = Path(__file__).resolve().parents[3] / "benchmarks"
RIGHT = b'def double(x):\n    if isinstance(x, str):\n        raise ValueError("text")\n    return x + x\n'
ANSWERS = {
    "right": RIGHT,
    "accepts_text": b"def double(x):\n    return x + x\n",
    "stub": b'"""An older statement."""\n\n\ndef double(x):\n    raise NotImplementedError\n',
    "no_python": b"def double(:\n",
    "utf_16": RIGHT.decode().encode("utf-16"),
}
STUDENTS = 26

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(sys.platform == "win32", reason="the submissions are clones made by git on Unix"),
]


@pytest.fixture
def recount(monkeypatch):
    monkeypatch.syspath_prepend(str(FOLDER))
    return importlib.import_module("recount_class")


@pytest.mark.parametrize("platform", ["moodle", "canvas", "git", "nbgrader"])
def test_every_cell_of_a_class_is_the_counted_one(recount, tiny_course, platform):
    katas = {"double": ANSWERS}
    points = recount.points_of(tiny_course.root, katas)
    assert points["double"]["right"] == 1000
    assert 0 < points["double"]["accepts_text"] < 1000
    students = recount.invent(katas, STUDENTS, seed=3)
    assert recount.compare(tiny_course.root, platform, students, katas, points) == []


def test_the_count_knows_what_a_delay_costs_and_what_was_better_in_time(recount):
    points = {"double": {"right": 1000, "triples": 400, "stub": 0, "utf_16": None}}

    def counted(answer, days, earlier="", extension=0, platform="git"):
        work = {"double": recount.Work(answer, days, earlier)} if answer else {}
        student = recount.Student("u1", "Ada Abel", 1, extension, work)
        return recount.count(student, "double", points, platform)

    assert counted("right", 0) == 1000
    assert counted("right", 2) == counted("right", 2, platform="moodle") == 800
    assert counted("right", 4) == 0
    assert counted("right", 4, extension=2) == 800
    assert counted("right", 2, extension=2) == counted("right", 4, platform="canvas") == 1000
    assert counted("right", 4, "triples") == 400
    assert counted("triples", 1, "right") == 1000
    assert counted("utf_16", 1) is counted("utf_16", 1, "triples") is counted("right", 4, "utf_16") is None
    assert counted("utf_16", 1, "right") == 1000
    assert counted("", 0) == counted("right", 4, "stub") == 0


def test_a_class_of_two_students_of_one_name_has_both(recount):
    students = recount.invent({"double": ANSWERS}, 60)
    names = [one.name for one in students]
    assert len(set(names)) < len(names) == 60
    assert replace(students[0], works={}).days == 0
