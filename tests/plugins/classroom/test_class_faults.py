"""A fault of the grader costs what failed and nothing else: gradebooks are written, a line says for whom."""

import csv
import hashlib
import os
import signal

import pytest
from click.testing import CliRunner

from dojo_classroom import (
    analytics,
    best_files,
    class_page,
    collector,
    command,
    give_back,
    gradebooks,
    outputs,
    policy,
    run,
    student_reports,
    task,
)
from dojo_classroom.counts import FAILED
from dojo_classroom.enrolment import Enrolment
from dojo_classroom.gradebooks import Canvas, Moodle
from dojo_classroom.run import USED_UP, ClassRun
from dojo_classroom.store import Store
from dojo_classroom.task import LocalPool
from grader.cli.kata import kata

RIGHT = 'def double(x):\n    if isinstance(x, str):\n        raise ValueError("text")\n    return x + x\n'
ROSTER = "id,name\nada,Ada\nbob,Bob\ncy,Cy\n"
FINE = {"ada": "10", "bob": "10", "cy": "10"}


@pytest.fixture
def graded(tiny_course, tmp_path, write, monkeypatch):
    """`graded()` grades a class of three, and returns the exit code, what is printed, and the points."""
    folder = write(tmp_path / "in", {f"{who}/double.py": RIGHT + f"# {who}" for who in FINE})
    (tmp_path / "class.csv").write_text(ROSTER)
    monkeypatch.chdir(tiny_course.root)

    def grade(*more):
        wish = [str(folder), "--roster", str(tmp_path / "class.csv"), "--output", str(tmp_path / "out")]
        done = CliRunner().invoke(kata, ["grade", *wish, "--kata", "double", "--graders", "1", *more])
        assert done.exception is None or isinstance(done.exception, SystemExit), done.exception
        return done.exit_code, done.output, points(tmp_path / "out" / "moodle.csv")

    return grade


def points(path):
    with path.open(newline="") as file:
        return {row["ID number"]: row["double"] for row in csv.DictReader(file)}


def fails_for(monkeypatch, where, name, who="bob", error=None):
    """Let a function raise an error of ours for one student."""
    real = getattr(where, name)

    def broken(*words, **named):
        if who in repr(words) + repr(named):
            raise error or ZeroDivisionError("a fault of ours")
        return real(*words, **named)

    monkeypatch.setattr(where, name, broken)


def told(whom, what, error="ZeroDivisionError: a fault of ours"):
    return "note  " + FAILED.format(whom, what, error)


def test_without_a_fault_all_have_their_points(graded):
    code, output, found = graded()
    assert (code, found) == (0, FINE)
    assert "note" not in output


@pytest.mark.slow
@pytest.mark.parametrize(
    ("where", "name", "what"),
    [
        (Enrolment, "enrol", "the enrolment"),
        (ClassRun, "_note_unrecognised", "the collection"),
        (ClassRun, "_of_kata", "double"),
        (ClassRun, "_version", "double"),
        (Store, "add_submission", "double"),
        (student_reports, "_of_student", "the report"),
        (policy.Policy, "marks", "the report"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
@pytest.mark.parametrize("error", [ZeroDivisionError, RecursionError, MemoryError, OSError, UnicodeError])
def test_a_fault_in_one_students_grading_leaves_that_student_blank(
    graded, monkeypatch, tmp_path, where, name, what, error
):
    who = "id='bob'" if name == "_of_student" else "bob"
    fails_for(monkeypatch, where, name, who, error("a fault of ours"))
    code, output, found = graded()
    assert (code, found) == (3, FINE | {"bob": ""})
    assert told("bob", what, f"{error.__name__}: a fault of ours") in output
    assert "This is our fault, not yours" in (tmp_path / "out" / "by_hand.csv").read_text()


@pytest.mark.parametrize(
    "fault",
    [
        "ZeroDivisionError: a fault of ours",
        "NoWorker: no worker could be started: No answer within 60 seconds",
    ],
)
@pytest.mark.parametrize("stop", ["", "."])
def test_a_fault_in_the_judging_of_a_file_leaves_that_student_blank(graded, monkeypatch, fault, stop):
    real = LocalPool.judge

    def judge(self, tasks):
        for one, verdict in real(self, tasks):
            ours = task.FileVerdict("error", 0, 0, "", fault=fault + stop)
            yield one, ours if b"# bob" in one.data else verdict

    monkeypatch.setattr(LocalPool, "judge", judge)
    code, output, found = graded()
    assert (code, found) == (3, FINE | {"bob": ""})
    assert f"note  bob's double could not be judged: {fault}.\n" in output.replace("\n      ", " ")
    monkeypatch.setattr(LocalPool, "judge", real)
    assert graded()[::2] == (0, FINE)  # the same command tries again


def test_a_verdict_that_cannot_be_stored_leaves_that_student_blank(graded, monkeypatch):
    add = Store.add_verdict
    bob = hashlib.sha256((RIGHT + "# bob\n").encode()).hexdigest()

    def broken(self, kata, source, *words):
        if source == bob:
            raise ZeroDivisionError("a fault of ours")
        add(self, kata, source, *words)

    monkeypatch.setattr(Store, "add_verdict", broken)
    code, output, found = graded()
    assert (code, found) == (3, FINE | {"bob": ""})
    assert told("bob", "double") in output


@pytest.mark.skipif(not hasattr(os, "fork"), reason="the system has no fork")
def test_a_file_that_ends_its_grading_process_leaves_that_student_blank(graded, monkeypatch):
    send = task.Pool._give

    def give(self, job):
        send(self, job)
        if b"# bob" in job.task.data:
            os.kill(job.child.pid, signal.SIGKILL)

    monkeypatch.setattr(task.Pool, "_give", give)
    code, output, found = graded()
    assert (code, found) == (3, FINE | {"bob": ""})
    assert "1 file could not be judged: by_hand.csv says why." in output


@pytest.mark.parametrize(
    ("where", "name", "what"),
    [
        (outputs, "render_student", "the page"),
        (give_back.Feedback, "add", "the page"),
        (class_page.Rows, "add", "the row of class.html"),
        (analytics.ClassStatistics, "add", "the row of class.html"),
        (outputs, "_write_line", "the line of reports.jsonl"),
        (gradebooks.ByHand, "add", "the row of by_hand.csv"),
        (Canvas, "write_row", "the row of canvas.csv"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_a_fault_in_one_students_page_or_row_costs_no_points(
    graded, monkeypatch, where, name, what, tmp_path
):
    fails_for(monkeypatch, where, name)
    code, output, found = graded()
    assert (code, found) == (3, FINE)
    assert told("bob", what) in output
    for name in ("canvas.csv", "moodle.csv", "by_hand.csv", "reports.jsonl", "class.html"):
        assert (tmp_path / "out" / name).exists()


def test_a_gradebook_of_which_a_row_fails_has_the_others(graded, monkeypatch, tmp_path):
    fails_for(monkeypatch, Moodle, "write_row")
    code, output, found = graded()
    assert (code, found) == (3, {"ada": "10", "cy": "10"})
    assert told("bob", "the row of moodle.csv") in output
    assert "bob" in (tmp_path / "out" / "canvas.csv").read_text()


@pytest.mark.parametrize(
    ("where", "name", "what"),
    [
        (analytics, "unexplained_files", "the search for groups of files"),
        (analytics, "similar_files", "the search for groups of files"),
        (analytics, "judge_seekers", "the search for groups of files"),
        (outputs, "_write_seekers", "looks_at_judge.csv"),
        (outputs, "render_class", "class.html"),
        (class_page, "pictures", "class.html"),
        (Enrolment, "note_unlisted", "a note"),
        (Canvas, "write_head", "canvas.csv"),
        (collector.Collector, "require_one_student_each", "the look for several students in one folder"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_a_fault_in_what_is_about_the_class_costs_no_points(graded, monkeypatch, where, name, what):
    fails_for(monkeypatch, where, name, who="")
    code, output, found = graded()
    assert (code, found) == (3, FINE)
    assert told("the class", what) in output


def test_a_full_disk_is_no_fault_of_the_grader(graded, monkeypatch):
    real = graded
    fails_for(monkeypatch, Moodle, "write_row", error=OSError(28, "No space left on device"))
    monkeypatch.setattr(command, "render", lambda *_: "")
    with pytest.raises(FileNotFoundError):
        real()  # no gradebook is written by halves


def test_the_time_for_one_students_work_is_limited(graded, monkeypatch):
    monkeypatch.setattr(run, "STUDENT_SECONDS", 0.0)
    code, output, found = graded()
    assert (code, found) == (3, dict.fromkeys(FINE, ""))
    assert f"note  {USED_UP.format('bob', 'double', 0.0)}\n" in output
    monkeypatch.undo()


def test_the_time_to_look_through_what_was_handed_in_is_limited(graded, monkeypatch):
    monkeypatch.setattr(best_files, "SECONDS", -1.0)
    code, output, found = graded()
    assert (code, found) == (0, dict.fromkeys(FINE, ""))
    slow = "it took more than 120 seconds to look through what was handed in"
    assert f"bob: What lies behind double.py was not looked at: {slow}." in output
