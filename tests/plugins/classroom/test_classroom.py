"""Tests of grading a class: what is graded, what is stored, what is written."""

import ast
import csv
import json
import os
import sqlite3
from contextlib import closing
from dataclasses import replace
from datetime import UTC, datetime

import pytest
from click.testing import CliRunner

from dojo_classroom import command
from dojo_classroom.analytics import KataStatistics
from dojo_classroom.collector import Collector
from dojo_classroom.command import render
from dojo_classroom.counts import RunCounts
from dojo_classroom.gradebooks import cell
from dojo_classroom.outputs import OutputTerms, write_outputs
from dojo_classroom.platform_filenames import StudentName
from dojo_classroom.policy import Late, Policy, Terms
from dojo_classroom.roster import Member, Roster, read_roster
from dojo_classroom.run import ClassRun
from dojo_classroom.store import Store, StoreUnusable
from dojo_classroom.student_page import page_name
from dojo_classroom.student_reports import JudgedClass, counted_katas, with_waiting_katas
from dojo_classroom.task import FileVerdict, GraderOptions, Task, judge, put_aside, verdict_of
from grader.cli.kata import kata
from grader.course import release_manifest
from grader.course.catalog import CourseError
from grader.grading.grader import Grader
from grader.grading.session import LibraryMissing
from grader.installing import install_command
from grader.reading.shape import shape as shape_of
from grader.reading.source import tree_of
from grader.report import CheckReport, Isolation, KataReport, Mistake, Report, from_json
from grader.worker.fork_server import WorkerFactories

RIGHT = 'def double(x):\n    if isinstance(x, str):\n        raise ValueError("text")\n    return x + x\n'
TRIPLES = RIGHT.replace("x + x", "3 * x")
LOST = RIGHT.replace("x + x", "x - x")
STUB = 'def double(x):\n    """Return x + x."""\n    raise NotImplementedError\n'


class FakePool:
    """A pool that derives each verdict from a word in the source, and records the sources it was given."""

    def __init__(self, info, judging="1"):
        self.judging = {info.name: judging}
        self.info, self.asked, self.open_at_once = info, [], 0

    def judge(self, tasks):
        for task in tasks:
            self.asked.append(task.data.decode())
            yield task, self.verdict(task)

    def verdict(self, task):
        passed = b"passes" in task.data
        told = {"name": "law", "title": "Twice x is x plus x.", "max_score": 1000}
        mistake = Mistake("triples", "One x too many.") if b"triples" in task.data else None
        check = (
            CheckReport(**told, status="passed", score=1000)
            if passed
            else CheckReport(**told, status="failed", score=0, got=task.data.decode()[:8], mistake=mistake)
        )
        status = "passed" if passed else "failed"
        report = KataReport("double", "attention", status, 1000, checks=(check,), digest=task.digest)
        return verdict_of(Report((report,)), *shape(task.data.decode()))

    def close(self):
        """Nothing was started."""


@pytest.fixture
def info(tiny_course):
    return tiny_course.kata_info("double")


@pytest.fixture
def store(tmp_path):
    with closing(Store(str(tmp_path / "results.sqlite"))) as opened:
        yield opened


@pytest.fixture
def hand_in(tmp_path, write):
    """`hand_in({student: source})` returns the collector of a class with exactly these submissions."""

    def put(files):
        folder = tmp_path / "submissions"
        for old in folder.rglob("*.py"):
            old.unlink()
        write(folder, {f"{student}/double.py": source for student, source in files.items()})
        return Collector(folder)

    return put


def run(info, collector, store, roster=None, pool=None):
    pool = pool or FakePool(info)
    class_run = ClassRun({info.name: info}, collector, roster, pool, store)
    counts = class_run.grade(lambda: None, lambda *_: None)
    return counts, sorted(pool.asked)


def scores(store, info):
    return {g.member.id: g.report.score / 100 for g in JudgedClass(store, [info]).reports()}


def reopened(store):
    store.close()
    return Store(store.label)


# when files were handed in

METADATA = """---
submission_1:
  :submitters:
  - :name: Ada
    :sid: ada
  :created_at: 2026-11-21 07:00:00.5 Z
submission_2:
  :submitters:
  - :name: Bob
    :sid: bob
  :created_at: never
"""


def test_a_platforms_time_counts_before_that_of_the_file(info, store, tmp_path, write):
    files = {f"submission_{number}/double.py": "passes" for number in (1, 2)}
    folder = write(tmp_path / "in", {"submission_metadata.yml": METADATA, **files})
    os.utime(folder / "submission_2" / "double.py", (86400, 86400))
    class_run = ClassRun({info.name: info}, Collector(folder), None, FakePool(info), store, policy=TERMS)
    counts = class_run.grade(lambda: None, lambda *_: None)
    assert {student: times["double"] for student, times in counts.times.items()} == {
        "ada": (datetime(2026, 11, 21, 7, tzinfo=UTC), "Gradescope"),
        "bob": (None, "Gradescope says no time"),
    }
    judged = JudgedClass(store, [info], counts=counts, policy=TERMS)
    found = {g.member.id: g.marks.total for g in judged.reports()}
    assert found == {"ada": 500, "bob": 1000}


def test_a_file_that_cannot_be_read_is_not_kept_as_a_source(info, store, tmp_path, write):
    folder = write(tmp_path / "in", {"ada/double.py": "passes"})
    (folder / "bob").mkdir()
    (folder / "bob" / "double.py").symlink_to(folder / "ada" / "double.py")
    run(info, Collector(folder), store)
    assert len(list(store.rows("SELECT source FROM sources"))) == 1


TERMS = Policy(Terms(late=Late(per_day=25), deadlines={"all": datetime(2026, 11, 20, tzinfo=UTC)}))


def timed_run(info, store, folder):
    counts = ClassRun({info.name: info}, Collector(folder), None, FakePool(info), store, policy=TERMS).grade(
        lambda: None, lambda *_: None
    )
    return {student: times["double"] for student, times in counts.times.items()}


def test_a_copy_is_not_handed_in_later(info, store, tmp_path, write):
    folder = write(tmp_path / "in", {"ada/double.py": "passes", "bob/double.py": "passes"})
    for at, name in enumerate(("ada", "bob")):
        os.utime(folder / name / "double.py", (1000 + 900 * at, 1000 + 900 * at))
    assert [time.at.timestamp() for time in timed_run(info, store, folder).values()] == [1000, 1900]
    os.utime(folder / "ada" / "double.py", (5000, 5000))
    write(folder, {"bob/double.py": "passes too"})
    os.utime(folder / "bob" / "double.py", (6000, 6000))
    again = timed_run(info, reopened(store), folder)
    assert {student: time.at.timestamp() for student, time in again.items()} == {"ada": 1000, "bob": 6000}


@pytest.mark.parametrize(
    ("repositories", "believes", "notes"), [(1, True, 1), (1, False, 0), (2, True, 0), (0, True, 0)]
)
def test_a_class_of_which_some_are_repositories_gets_a_note(
    info, store, tmp_path, write, repositories, believes, notes
):
    folder = write(tmp_path / "in", {"ada/double.py": "passes", "bob/double.py": "passes"})
    for name in ("ada", "bob")[:repositories]:
        (folder / name / ".git").mkdir()
    collector = Collector(folder, believes_commits=believes)
    found = ClassRun({info.name: info}, collector, None, FakePool(info), store, policy=TERMS).counts
    assert found.notes == notes * [
        "1 of 2 folders are Git repositories, and their commits say when the work was handed in. If students"
        " have uploaded them, write commits = false into policy.toml: a student can set the time of a commit."
    ]


def test_canvas_says_only_whether_it_was_late(info, store, tmp_path, write):
    write(
        tmp_path / "in",
        {"doejane_LATE_4711_90210_double.py": "passes", "roebo_4712_90211_double.py": "fails"},
    )
    times = timed_run(info, store, tmp_path / "in")
    assert times == {"doejane_4711": (None, "Canvas marks it as late")}
    policy = Policy(Terms(deadlines={"all": datetime(2026, 11, 20, tzinfo=UTC)}))
    counts = RunCounts(times={student: {"double": time} for student, time in times.items()})
    write_outputs(tmp_path, JudgedClass(store, [info], counts=counts, policy=policy))
    assert rows_of(tmp_path / "by_hand.csv")[1:] == [
        [
            "doejane_4711",
            "",
            "double",
            "Nobody knows when it was handed in (Canvas marks it as late); it counts as in time.",
        ]
    ]


def test_only_the_policy_beside_the_roster_counts(tiny_course, tmp_path, write):
    """A submission may hold a policy, an override and a store of its own; nobody reads them."""
    files = dict.fromkeys(("ada/policy.toml", "ada/override.csv"), "all = 2020-01-01T00:00:00Z")
    folder = write(tmp_path / "in", {"ada/double.py": RIGHT, "ada/results.sqlite": "x", **files})
    write(tmp_path, {"roster.csv": "id\nada\n", "policy.toml": "total = 7\n"})
    words = ["grade", folder, "--kata", "double", "--output", tmp_path / "out", "--course", tiny_course.root]
    done = CliRunner().invoke(kata, [*map(str, words), "--roster", str(tmp_path / "roster.csv")])
    assert done.exit_code == 0, done.output
    (line,) = (json.loads(line) for line in (tmp_path / "out" / "reports.jsonl").read_text().splitlines())
    assert (line["points"], line["total"], line["possible"]) == ({"double": 10}, 7, 7)
    write(tmp_path, {"policy.toml": "totall = 7\n"})
    refused = CliRunner().invoke(kata, [*map(str, words), "--roster", str(tmp_path / "roster.csv")])
    assert (refused.exit_code, refused.stderr) == (
        4,
        "policy.toml: object contains unknown field `totall`.\n",
    )


# what is shown meanwhile


@pytest.fixture
def grade_class(tiny_course, tmp_path, write, monkeypatch):
    """`grade_class(pool)` runs the command with this pool on three students."""
    write(tmp_path / "in", {f"{name}/double.py": "passes" for name in ("ada", "bob", "zoe")})
    words = ["grade", tmp_path / "in", "--kata", "double", "--output", tmp_path / "out"]

    def run(pool):
        monkeypatch.setattr(command, "open_pool", lambda *_: pool)
        return CliRunner().invoke(kata, [*map(str, words), "--course", str(tiny_course.root)])

    return run


def test_off_a_terminal_a_line_says_now_and_then_how_many_are_done(grade_class, info, monkeypatch):
    monkeypatch.setattr(command, "LINE_SECONDS", 0)
    lines = grade_class(FakePool(info)).stderr.splitlines()
    assert lines == [f"{number} of 3 students done." for number in (1, 2, 3)]
    monkeypatch.setattr(command, "LINE_SECONDS", 3600)
    assert grade_class(FakePool(info)).stderr == ""


def test_ctrl_c_keeps_what_was_judged_and_says_how_to_go_on(grade_class, info):
    class Interrupted(FakePool):
        def judge(self, tasks):
            yield next(super().judge(tasks))
            raise KeyboardInterrupt

    stopped = grade_class(Interrupted(info))
    assert stopped.exit_code == 130
    assert stopped.stderr == "\nStopped. What was judged is kept: run the same again to continue.\n"
    pool = FakePool(info)
    assert "0 files judged, 3 known from before" in grade_class(pool).stdout
    assert pool.asked == []


# which files are graded


def test_a_second_run_judges_what_has_changed_and_nothing_else(info, hand_in, store):
    files = {"ada": "passes", "bob": "fails", "eve": "fails too"}
    assert run(info, hand_in(files), store)[1] == ["fails\n", "fails too\n", "passes\n"]
    again = reopened(store)
    counts, asked = run(info, hand_in(files | {"bob": "passes now"}), again)
    assert asked == ["passes now\n"]
    assert (counts.judged, counts.known) == (1, 2)
    assert scores(again, info) == {"ada": 10, "bob": 10, "eve": 0}


def test_an_earlier_file_that_is_submitted_again_gets_its_stored_result(info, hand_in, store):
    run(info, hand_in({"ada": "passes"}), store)
    again = reopened(store)
    run(info, hand_in({"ada": "fails"}), again)
    third = reopened(again)
    assert run(info, hand_in({"ada": "passes"}), third)[1] == []
    assert scores(third, info) == {"ada": 10}


def test_what_is_no_longer_handed_in_counts_no_longer(info, hand_in, store):
    run(info, hand_in({"ada": "passes", "bob": "passes"}), store)
    again = reopened(store)
    run(info, hand_in({"ada": "passes"}), again)
    assert scores(again, info) == {"ada": 10, "bob": 0}


def test_a_changed_grading_setup_grades_every_file_again(info, hand_in, store):
    run(info, hand_in({"ada": "passes"}), store)
    again = reopened(store)
    assert run(info, hand_in({"ada": "passes"}), again, pool=FakePool(info, "2"))[1] == ["passes\n"]


def test_identical_files_are_judged_once(info, hand_in, store):
    _, asked = run(info, hand_in(dict.fromkeys(("ada", "bob", "eve"), "passes")), store)
    assert asked == ["passes\n"]
    assert scores(store, info) == {"ada": 10, "bob": 10, "eve": 10}


def test_a_file_is_read_only_when_a_grader_is_free(info, hand_in, store):
    pool = FakePool(info)
    collector = hand_in({"ada": "passes", "bob": "fails"})
    running = ClassRun({info.name: info}, collector, None, pool, store)
    seen = []
    running.grade(lambda: None, lambda *_: seen.append(len(running._students)))
    assert seen == [0, 0], "a task that is judged is not held, nor is the next one read before"


def test_a_file_that_cannot_be_read_has_a_report(info, hand_in, store, tmp_path):
    collector = hand_in({"ada": "passes"})
    (tmp_path / "submissions" / "bob").mkdir()
    (tmp_path / "submissions" / "bob" / "double.py").symlink_to(
        tmp_path / "submissions" / "ada" / "double.py"
    )
    collector = Collector(tmp_path / "submissions")
    assert run(info, collector, store)[1] == ["passes\n"]
    bob = next(g for g in JudgedClass(store, [info]).reports() if g.member.id == "bob").report.katas[0]
    assert (bob.status, bob.message) == ("error", "double.py is a link; a Python file is needed.")


def test_our_own_fault_costs_nobody_a_point_and_is_tried_again(info, hand_in, store):
    faulty = FakePool(info)
    faulty.verdict = lambda _task: FileVerdict("error", 0, 0, "", fault="OSError: no room")
    counts, _ = run(info, hand_in({"ada": "passes"}), store, pool=faulty)
    assert (counts.faults, counts.notes) == (1, ["ada's double could not be judged: OSError: no room."])
    (ada,) = JudgedClass(store, [info]).reports()
    assert ada.report.katas[0].message == "This is our fault, not yours: it could not be judged yet."
    again = reopened(store)
    assert run(info, hand_in({"ada": "passes"}), again)[1] == ["passes\n"]


@pytest.fixture
def lost(info, hand_in, store):
    """A class in which Ada's file passes, Bob's could not be judged, and Zoe handed in nothing."""
    pool = FakePool(info)
    judge_it = pool.verdict
    fault = FileVerdict("error", 0, 0, "", fault="OSError: no room")
    pool.verdict = lambda task: fault if b"lost" in task.data else judge_it(task)
    roster = Roster([Member(name, name.title()) for name in ("ada", "bob", "zoe")])
    run(info, hand_in({"ada": "passes", "bob": "lost"}), store, roster, pool)


def rows_of(path):
    return list(csv.reader(path.open(encoding="utf-8")))


@pytest.mark.usefixtures("lost")
def test_a_fault_of_the_grader_is_a_blank_cell_and_not_a_0(info, store, tmp_path):
    judged = JudgedClass(store, counted_katas(store, [info], Policy(), datetime.now(UTC)))
    statistics = write_outputs(tmp_path, judged)
    assert [row[-1] for row in rows_of(tmp_path / "canvas.csv")[2:]] == ["10", "", "0"]
    assert [row[-2:] for row in rows_of(tmp_path / "moodle.csv")[1:]] == [["10", "10"], ["", ""], ["0", "0"]]
    assert rows_of(tmp_path / "by_hand.csv")[1:] == [
        ["bob", "Bob", "double", "This is our fault, not yours: it could not be judged yet."]
    ]
    page = (tmp_path / "class.html").read_text()
    assert "1 file could not be judged, through a fault of the grader." in page
    assert '<td class="quiet">1</td>' in page
    assert '<td class="r">?</td><td class="quiet"></td><td class="e">?</td>' in page
    assert statistics.katas["double"].tried == 1
    assert "1 file could not be judged: by_hand.csv says why." in render(statistics, RunCounts(), tmp_path)
    lines = [json.loads(line) for line in (tmp_path / "reports.jsonl").read_text().splitlines()]
    assert [line["unjudged"] for line in lines] == [[], ["double"], []]


@pytest.mark.usefixtures("lost")
def test_what_was_not_handed_in_is_blank_if_the_instructor_wants_it(info, store, tmp_path):
    write_outputs(tmp_path, JudgedClass(store, [info]), terms=OutputTerms(absent=""))
    assert [row[-1] for row in rows_of(tmp_path / "canvas.csv")[2:]] == ["10", "", ""]
    assert [row[-2:] for row in rows_of(tmp_path / "moodle.csv")[1:]] == [["10", "10"], ["", ""], ["", ""]]


def test_a_kata_that_could_be_judged_for_nobody_is_listed_all_the_same(info, hand_in, store):
    faulty = FakePool(info)
    faulty.verdict = lambda _task: FileVerdict("error", 0, 0, "", fault="OSError: no room")
    run(info, hand_in({"ada": "passes"}), store, pool=faulty)
    assert counted_katas(store, [info], Policy(), datetime.now(UTC)) == [info]


def test_a_file_that_was_put_aside_is_a_blank_cell(info, hand_in, store):
    deadly = FakePool(info)
    deadly.verdict = lambda _task: put_aside(info)
    run(info, hand_in({"ada": "passes"}), store, pool=deadly)
    (ada,) = JudgedClass(store, [info]).reports()
    assert ada.unjudged == {"double"}
    assert run(info, hand_in({"ada": "passes"}), reopened(store))[1] == [], "it is not tried again"


def test_a_kata_that_waits_for_one_that_was_not_judged_is_not_judged_either(info, store):
    other = replace(info, name="twice", needs=("double",))
    store.enrol(Member("ada"))
    for name in ("double", "twice"):
        store.add_submission("ada", name, "source", "1")
    passed = KataReport(
        "twice", "attention", "passed", 1000, checks=(CheckReport("a", "A.", "passed", 1, 1),)
    )
    store.add_verdict("twice", "source", "1", verdict_of(Report((passed,))))
    (ada,) = JudgedClass(store, [info, other]).reports()
    assert ada.unjudged == {"double", "twice"}


def test_a_kata_whose_library_is_missing_is_not_judged(tiny_course, monkeypatch):
    center = tiny_course.kata_info("center")
    monkeypatch.setattr("grader.grading.session.importlib.util.find_spec", lambda _name: None)
    with pytest.raises(LibraryMissing, match="PyTorch is not installed"):
        judge(Grader(tiny_course, {}), center, Task("center", b"class Center: pass"))


def test_an_answer_in_pytorch_is_not_judged_where_that_is_missing(tiny_course, monkeypatch):
    source = f"import torch\n{RIGHT}".encode()
    with closing(WorkerFactories({"numpy"})) as factories:
        monkeypatch.setattr("grader.grading.session.importlib.util.find_spec", lambda _name: None)
        with pytest.raises(LibraryMissing) as missing:
            judge(Grader(tiny_course, factories), tiny_course.kata_info("double"), Task("double", source))
    told = f"double.py imports torch, and PyTorch is not installed: {install_command('torch==2.13.0')}"
    assert str(missing.value) == told


def test_a_file_that_is_not_recognised_is_listed_and_leaves_blank_cells(info, store, tmp_path, write):
    files = {"ada/answer.py": "passes", "bob/double.py": "passes", "eve/readme.md": "hello"}
    counts, _ = run(info, Collector(write(tmp_path / "in", files)), store)
    assert counts.notes == ["ada: handed in, not recognised: answer.py."]
    statistics = write_outputs(tmp_path, JudgedClass(store, [info], counts=counts))
    assert [row[-1] for row in rows_of(tmp_path / "canvas.csv")[2:]] == ["", "10", "0"]
    assert rows_of(tmp_path / "by_hand.csv")[1:] == [["ada", "", "", "Handed in, not recognised: answer.py"]]
    page = (tmp_path / "class.html").read_text()
    assert "<h2>Handed in, not recognised</h2>" in page
    assert '<tr><td><a href="students/ada.html">ada</a></td><td>answer.py</td></tr>' in page
    assert statistics.absent == ["eve"]


def test_a_kata_that_is_not_graded_now_is_no_unrecognised_file(info, store, tmp_path, write):
    collector = Collector(write(tmp_path / "in", {"ada/center.py": "1", "ada/double.py": "passes"}))
    graded = ClassRun({info.name: info}, collector, None, FakePool(info), store, ["center", "double"])
    assert graded.grade(lambda: None, lambda *_: None).unrecognised == {}


def test_work_on_another_release_is_judged_and_said_so(info, store, tmp_path, write):
    def manifest(text):
        digest = release_manifest.digest(text)
        files = {"tests/katas/attention/test_double.py": digest, "keys/double.key": ""}
        return json.dumps({"version": 1, "files": files})

    released = {"ada": manifest(b"old"), "bob": manifest(info.path.read_bytes()), "eve": "{"}
    files = {f"{name}/{release_manifest.NAME}": text for name, text in released.items()}
    files |= {f"{name}/exercises/attention/double.py": "passes" for name in released}
    files |= {f"{name}/keys/double.key": "k" for name in released}
    counts, _ = run(info, Collector(write(tmp_path / "in", files)), store)
    assert counts.notes == ["1 student has another release of double; judged by the version of this course."]
    assert scores(store, info) == {"ada": 10, "bob": 10, "eve": 10}


def test_a_name_of_gradescope_is_shown_and_is_no_id_and_no_formula(info, store, tmp_path, write):
    metadata = "s1:\n  :submitters:\n  - :name: =1+1\n  - :name: b2\ns2:\n  :submitters:\n  - :sid: ada\n"
    files = {"submission_metadata.yml": metadata, "s1/double.py": "passes", "s2/double.py": "fails"}
    folder = write(tmp_path / "in", files)
    roster = Roster([Member("ada"), Member("b2", "Bob Roe")])
    counts, _ = run(info, Collector(folder), store, roster)
    assert counts.notes == ["s1 =1+1 and s1 b2 are not in the roster; graded all the same."]
    write_outputs(tmp_path, JudgedClass(store, [info], counts=counts), roster)
    assert rows_of(tmp_path / "by_hand.csv")[1:] == [
        ["s1 =1+1", "'=1+1", "double", "Not in the roster: 10 points."],
        ["s1 b2", "b2", "double", "Not in the roster: 10 points."],
    ]
    assert rows_of(tmp_path / "canvas.csv")[3:] == [["Bob Roe", "", "", "b2", "", "0"]]


def test_a_late_file_is_marked_on_the_page(info, store, tmp_path, write):
    collector = Collector(write(tmp_path / "in", {"doejane_LATE_7_90_double.py": "passes"}))
    counts, _ = run(info, collector, store)
    write_outputs(tmp_path, JudgedClass(store, [info], counts=counts))
    assert '<td class="p">10 <small>late</small>' in (tmp_path / "class.html").read_text()
    (line,) = (tmp_path / "reports.jsonl").read_text().splitlines()
    assert json.loads(line)["late"] == ["double"]


def test_the_roster_shows_absent_and_unlisted_students(info, hand_in, store):
    roster = Roster([Member("a1", "Ada"), Member("b2", "Bob")])
    counts, _ = run(info, hand_in({"Ada": "passes", "eve": "fails"}), store, roster)
    assert (counts.students, counts.absent, counts.unlisted) == (2, 1, 1)
    assert counts.notes == ["eve is not in the roster; graded all the same."]
    assert scores(store, info) == {"a1": 10, "b2": 0, "eve": 0}


def test_an_id_counts_more_than_a_name_and_nothing_is_left_out(info, hand_in, store):
    roster = Roster([Member("a1", "Ada")])
    counts, _ = run(info, hand_in({"Ada": "passes", "a1": "fails"}), store, roster)
    assert counts.notes == ["Ada is not in the roster; graded all the same."]
    assert scores(store, info) == {"a1": 0, "Ada": 10}


def test_two_entries_with_one_id_are_told(info, store, tmp_path, write):
    roster = Roster([Member("a1", "Ada", others=("ada@school.org",))])
    files = {"a1/double.py": "passes", "ada@school.org/double.py": "fails"}
    counts, asked = run(info, Collector(write(tmp_path / "in", files)), store, roster)
    assert asked == ["passes\n"]
    assert counts.notes == ["ada@school.org is a1, whose submission was graded; this one was not."]


JANES = {"Jane Doe_17_assignsubmission_file_": "passes", "Jane Doe_18_assignsubmission_file_": "fails"}
MOODLE = "First name,Last name,ID number,Email address{}\nJane,Doe,j1,a@s.org{}\nJane,Doe,j2,b@s.org{}\n"


def of_moodle(tmp_path, more=("", "", "")):
    (tmp_path / "roster.csv").write_text(MOODLE.format(*more))
    return read_roster(tmp_path / "roster.csv")


def test_two_people_of_one_name_are_not_mixed_up(info, hand_in, store, tmp_path):
    roster = of_moodle(tmp_path)
    counts, _ = run(info, hand_in(JANES), store, roster)
    told = (
        "Jane Doe_17 or Jane Doe_18 may be theirs, as far as the name Jane Doe tells."
        " Write the right one into a column `submission` of the roster."
    )
    assert counts.notes[:2] == [f"j1: {told}", f"j2: {told}"]
    write_outputs(tmp_path, JudgedClass(store, [info], counts=counts), roster)
    assert rows_of(tmp_path / "moodle.csv")[1:] == [
        ["Jane", "Doe", "j1", "a@s.org", "", ""],
        ["Jane", "Doe", "j2", "b@s.org", "", ""],
    ]
    assert rows_of(tmp_path / "by_hand.csv")[1:] == [
        ["Jane Doe_17", "", "double", "Not in the roster: 10 points."],
        ["Jane Doe_18", "", "double", "Not in the roster: 0 points."],
        ["j1", "Jane Doe", "", told],
        ["j2", "Jane Doe", "", told],
    ]


def test_the_instructor_says_who_is_who(info, hand_in, store, tmp_path):
    roster = of_moodle(tmp_path, (",submission", "", ",Jane Doe_17"))
    counts, _ = run(info, hand_in(JANES), store, roster)
    assert (counts.notes, scores(store, info)) == ([], {"j2": 10, "j1": 0})


def test_two_submissions_for_one_name_are_not_mixed_up(info, hand_in, store):
    counts, _ = run(info, hand_in(JANES), store, Roster([Member("j1", "Jane Doe")]))
    assert counts.unclear.keys() == {"j1"}
    assert scores(store, info) == {"j1": 0, "Jane Doe_17": 10, "Jane Doe_18": 0}


def test_canvas_gets_its_own_columns_back(info, store, tmp_path, write):
    (tmp_path / "roster.csv").write_text(
        "Student,ID,SIS User ID,SIS Login ID,Section,Quiz\n"
        '    Points Possible,,,,,3\n"Doe, Jane",17,s17,jdoe,A,1\n"Roe, Bob",18,,broe,A,\n'
        '"Student, Test",99,,,A,\n'
    )
    roster = read_roster(tmp_path / "roster.csv")
    collector = Collector(write(tmp_path / "in", {"doejane_17_4_double.py": "passes"}))
    counts, _ = run(info, collector, store, roster)
    write_outputs(tmp_path, JudgedClass(store, [info], counts=counts), roster)
    assert rows_of(tmp_path / "canvas.csv")[2:] == [
        ["Roe, Bob", "18", "", "broe", "A", "0"],
        ["Doe, Jane", "17", "s17", "jdoe", "A", "10"],
    ]


def test_the_number_in_moodle_s_file_names_is_no_id_number(tmp_path):
    roster = of_moodle(tmp_path)
    assert roster.member(StudentName("Eve_j1", ("j1", "Eve"), "j1")) is None
    (tmp_path / "sheet.csv").write_text("Identifier,Full name,Email address\nParticipant 17,Eve,e@s.org\n")
    sheet = read_roster(tmp_path / "sheet.csv")
    assert sheet.member(StudentName("Eva_17", ("17", "Eva"), "17")).id == "e@s.org"


def test_an_email_address_is_an_id_where_moodle_has_no_number(tmp_path):
    (tmp_path / "r.csv").write_text("First name;Last name;ID number;Email address\nAda;Lee;;ada@s.org\n")
    (member,) = read_roster(tmp_path / "r.csv").members
    assert (member.id, member.name) == ("ada@s.org", "Ada Lee")


def test_a_row_without_an_id_is_not_dropped(tmp_path):
    (tmp_path / "r.csv").write_text("id,name\n,Ada\n")
    with pytest.raises(CourseError, match=r"lists Ada without an id\."):
        read_roster(tmp_path / "r.csv")


# the store


def test_a_store_is_one_runs_at_a_time(store):
    with pytest.raises(StoreUnusable, match=r"database is locked\. Another run may be writing to it"):
        Store(store.label)


def test_a_file_that_is_no_store_is_left_alone(tmp_path):
    (tmp_path / "notes.txt").write_text("not a database, but long enough to be looked at\n" * 20)
    with pytest.raises(StoreUnusable, match=r"holds no results: file is not a database\. Name another"):
        Store(str(tmp_path / "notes.txt"))
    assert (tmp_path / "notes.txt").read_text().startswith("not a database")


def test_a_store_of_another_version_is_told(tmp_path):
    path = tmp_path / "results.sqlite"
    Store(str(path)).close()
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("UPDATE about SET version = 99")
        connection.commit()
    with pytest.raises(StoreUnusable, match=r"newer version of the grader: upgrade the grader\."):
        Store(str(path))


def test_a_url_keeps_what_a_file_keeps(info, hand_in, tmp_path):
    pytest.importorskip("sqlalchemy", reason="SQLAlchemy is not installed")
    url = f"sqlite:///{tmp_path / 'other.sqlite'}"
    for asked in (["fails\n", "passes\n"], []):
        with closing(Store(url)) as store:
            assert run(info, hand_in({"ada": "passes", "bob": "fails"}), store)[1] == asked
            assert scores(store, info) == {"ada": 10, "bob": 0}


def test_a_url_that_cannot_be_opened_is_reported(tmp_path):
    pytest.importorskip("sqlalchemy", reason="SQLAlchemy is not installed")
    with pytest.raises(StoreUnusable, match="cannot be opened: unable to open database file"):
        Store(f"sqlite:///{tmp_path / 'no' / 'folder' / 'x.sqlite'}")


# what is written


@pytest.fixture
def outputs(info, hand_in, store, tmp_path):
    """The folder of a small class, and what was seen in it."""
    roster = Roster([Member("a1", "Ada", "A"), Member("b2", "=Bob"), Member("z9", "Zoe")])
    files = {"a1": "passes", "b2": "triples", "eve": "odd answer", "dan": "odd answer, again"}
    counts, _ = run(info, hand_in(files), store, roster)
    judged = JudgedClass(store, counted_katas(store, [info], Policy(), datetime.now(UTC)), counts=counts)
    statistics = write_outputs(tmp_path / "grades", judged, terms=OutputTerms("The dojo"))
    return tmp_path / "grades", statistics, counts


def test_gradebooks_for_the_platforms(outputs):
    folder = outputs[0]
    canvas = list(csv.reader((folder / "canvas.csv").open(encoding="utf-8")))
    assert canvas[0] == ["Student", "ID", "SIS User ID", "SIS Login ID", "Section", "double"]
    assert canvas[1] == ["    Points Possible", "", "", "", "", "10"]
    assert canvas[2:4] == [["Ada", "", "", "a1", "A", "10"], ["'=Bob", "", "", "b2", "", "0"]]
    moodle = list(csv.reader((folder / "moodle.csv").open(encoding="utf-8")))
    assert moodle[0] == ["ID number", "Full name", "double", "Total"]
    assert moodle[-1] == ["z9", "Zoe", "0", "0"]


@pytest.mark.parametrize(
    "text", ["=1+1", "+1", "-1", "@SUM(A1)", "  =1", "\uff1d1", "\uff0b1", "\uff0d1", "\uff20x"]
)
def test_a_name_is_never_a_formula_in_a_spreadsheet(text):
    assert cell(text).startswith("'")


def test_nor_is_what_follows_a_semicolon():
    assert cell("a;=1+1; @x;b") == "a;'=1+1;' @x;b"


def test_a_line_and_a_page_a_student(outputs):
    folder = outputs[0]
    lines = [json.loads(line) for line in (folder / "reports.jsonl").read_text().splitlines()]
    assert [line["student"] for line in lines] == ["a1", "b2", "dan", "eve", "z9"]
    assert from_json(lines[0]["report"]).katas[0].status == "passed"
    assert lines[-1]["report"]["katas"][0]["message"] == "Nothing was handed in."
    assert "Twice x is x plus x." in (folder / "students" / "b2.html").read_text()
    assert not list(folder.rglob("*.draft"))


@pytest.mark.parametrize("student", ["../../etc/passwd", "Jane Doe", "a/b", ".hidden", "é", "x" * 300, ""])
def test_the_page_name_of_a_student_stays_inside_the_folder(student):
    page = page_name(student)
    assert "/" not in page
    assert not page.startswith(".")
    assert len(page) < 100


def test_a_student_s_page_begins_with_who_what_and_how_much(outputs):
    page = (outputs[0] / "students" / "b2.html").read_text()
    opening = ("<h1>=Bob <small>b2</small></h1>", "0 of 10 points</p>", "The dojo, 20")
    places = [page.index(text) for text in opening]
    assert places == sorted(places)
    assert '<span class="headline">One x too many.</span>' in page
    assert "Twice x is x plus x." in page
    passed = (outputs[0] / "students" / "a1.html").read_text()
    assert "<details><summary>1 of 1 checks hold</summary>" in passed
    assert "What fails" not in passed


def test_what_is_no_python_is_judged_and_counts_as_0_in_every_mean(info):
    statistics = KataStatistics(info)
    for report in (judged_as("passed", 1000), judged_as("failed", 400), judged_as("error", 0)):
        statistics.add(report)
    statistics.add(info.unjudged("not_started"))
    assert (statistics.tried, statistics.mean, statistics.quartiles) == (3, 467, (200, 400, 700))


def judged_as(status, score):
    return KataReport(
        "double", "attention", status, 1000, checks=(CheckReport("a", "A.", "failed", score, 1000),)
    )


def test_what_is_not_known_is_not_said_to_be_0(info, store, tmp_path, hand_in):
    hand_in({"ada": "passes"})
    (tmp_path / "submissions" / "bob").mkdir()
    (tmp_path / "submissions" / "bob" / "hw1.zip").write_bytes(b"no zip")
    counts, _ = run(info, Collector(tmp_path / "submissions"), store)
    write_outputs(tmp_path, JudgedClass(store, [info], counts=counts))
    page = (tmp_path / "students" / "bob.html").read_text()
    assert '<p class="score">Not graded yet, out of 10 points</p>' in page
    assert "0 of 10" not in page


def test_two_students_of_one_name_are_told_apart(info, store, tmp_path, hand_in):
    roster = Roster([Member("a1", "Kim Lee"), Member("a2", "Kim Lee"), Member("b1", "Bo Roe")])
    counts, _ = run(info, hand_in({"a1": "passes", "a2": "fails", "b1": "fails"}), store, roster)
    write_outputs(tmp_path, JudgedClass(store, [info], counts=counts), roster)
    page = (tmp_path / "class.html").read_text()
    for student, name in (("a1", "Kim Lee (a1)"), ("a2", "Kim Lee (a2)"), ("b1", "Bo Roe")):
        assert f'<a href="students/{student}.html">{name}</a>' in page


@pytest.mark.parametrize("file", ["class.html", "students/b2.html"])
def test_the_pages_work_on_small_and_dark_screens_and_for_the_keyboard(outputs, file):
    page = (outputs[0] / file).read_text()
    parts = (
        '<meta name="viewport"',
        "light-dark(",
        "<main",
        "@media print",
        ":focus-visible",
    )
    assert [part for part in parts if part not in page] == []
    assert "<script" not in page
    assert '<div class="wide" tabindex="0" role="region"' in page or "students/" in file


def test_names_that_look_alike_have_pages_of_their_own():
    assert len({page_name(name) for name in ("Jane Doe", "Jane-Doe", "Jane/Doe", "jane doe")}) == 4


def test_the_class_page_says_what_is_not_understood(outputs):
    page = (outputs[0] / "class.html").read_text()
    assert "5 students, 1 kata; 1 handed nothing in." in page
    assert "1 of 4 pass" in page
    triples = '<summary>triples</summary><p>One x too many.</p><small><a href="students/b2.html">=Bob</a>'
    assert triples in page
    assert "double: 2 files, Twice x is x plus x." in page
    assert 'Nothing was handed in by <small><a href="students/z9.html">Zoe</a></small>' in page
    median_and_middle_half = '<td class="r">0</td><td class="r">0 to 2.5</td>'
    assert f'<td class="r">2.5 / 10</td>{median_and_middle_half}' in page
    assert '<tr><td>A</td><td class="r">1</td><td class="r">10</td></tr>' in page  # the section
    assert "<li>dan and eve are not in the roster; graded all the same." in page
    assert page.index("<h1>The dojo</h1>") < page.index("1 of 4 pass")
    assert '<a href="students/a1.html">Ada</a>' in page


def test_what_a_student_is_called_is_text(info, hand_in, store, tmp_path):
    run(info, hand_in({"<script>alert(1)<|script>": "fails <b>"}), store)
    write_outputs(tmp_path / "grades", JudgedClass(store, [info]))
    page = (tmp_path / "grades" / "class.html").read_text()
    assert "<script" not in page
    assert "<b>" not in page


def test_the_summary_in_the_terminal(outputs, tmp_path):
    folder, statistics, counts = outputs
    assert render(statistics, counts, folder.relative_to(tmp_path)) == (
        "5 students, 1 kata: 4 files judged, 0 known from before or from others. 1 of the students handed"
        " nothing in. 2 of them are not in the roster.\n"
        "\n"
        "double                               1 of 4 pass    mean 2.5 / 10\n"
        "     25 %  triples\n"
        "\n"
        "2 failing files in 1 group no mistake explains yet.\n"
        "\n"
        "note  dan and eve are not in the roster; graded all the same.\n"
        "\n"
        "grades/class.html shows the class; gradebooks and everybody's page lie beside it.\n"
    )


def shape(source, stub=""):
    tree = tree_of(source)
    return shape_of(tree, ast.parse(stub)) if tree else ("", 0)


LONG = "def double(x):\n    total = x\n" + "    total = total + x * 2 - x\n" * 8 + "    return total\n"


def test_the_same_after_renaming_has_one_shape():
    renamed = LONG.replace("total", "acc").replace("x", "array") + "# my own comment\n"
    assert shape(LONG) == shape(renamed)


@pytest.mark.parametrize("change", [("x * 2", "2 * x"), ("+ x", "+ 1"), ("return total", "return x")])
def test_another_computation_has_another_shape(change):
    assert shape(LONG)[0] != shape(LONG.replace(*change))[0]


def test_swapped_names_are_another_computation():
    assert shape("def f(q, k):\n    return q - k")[0] != shape("def f(q, k):\n    return k - q")[0]


def test_what_the_stub_gave_has_no_shape():
    stub = "import numpy as np\nSCALE = 2\n\ndef given(x):\n    return x * SCALE\n"
    assert shape(stub, stub) == ("", 0)
    assert shape(stub + LONG, stub) == shape(LONG)


def test_files_that_are_the_same_are_ranked_by_length_and_rarity(info, hand_in, store, tmp_path):
    longer = LONG.replace("    return", "    total = abs(total) + total ** 3\n" * 8 + "    return")
    short = "def double(x):\n    return x + x\n"
    files = {"a": LONG, "b": LONG.replace("total", "t"), "c": longer, "d": longer.replace("total", "s")}
    files |= {f"s{number}": f"{short}# {number}\n" for number in range(4)}
    run(info, hand_in(files), store)
    terms = OutputTerms(source_of=lambda student, _kata: f"by {student}")
    statistics = write_outputs(tmp_path / "grades", JudgedClass(store, [info]), terms=terms)
    assert [group.students for group in statistics.similar] == [["c", "d"], ["a", "b"]]
    assert statistics.short == 4
    page = (tmp_path / "grades" / "class.html").read_text()
    assert "plagiarism" not in page.lower()
    assert "says nothing of how that came about" in page
    assert '<p><a href="students/c.html">c</a></p><pre>by c</pre>' in page


# grading one file


def test_a_verdict_is_what_grade_says(tiny_course, numpy_source, info):
    grader = Grader(tiny_course, {"numpy": numpy_source})
    passed, triples, odd, stub, broken = (
        judge(grader, info, Task("double", source.encode()))
        for source in (RIGHT, TRIPLES, LOST, STUB, "def double(")
    )
    assert [v.status for v in (passed, triples, odd, stub, broken)] == [
        "passed",
        "failed",
        "failed",
        "not_started",
        "error",
    ]
    assert from_json(json.loads(triples.report)).katas[0].mistake.id == "triples"
    assert (passed.cause, triples.cause) == ("", "")
    assert odd.cause
    message = from_json(json.loads(broken.report)).katas[0].message
    assert message == "double.py has a syntax error in line 1: '(' was never closed."
    assert from_json(json.loads(passed.report)).isolation != Isolation()


def test_submissions_that_compute_alike_have_one_cause(tiny_course, numpy_source, info):
    grader = Grader(tiny_course, {"numpy": numpy_source})
    sources = [LOST, LOST.replace("x - x", "0 * x"), LOST.replace("x - x", "x * 5")]
    one, other, third = (judge(grader, info, Task("double", source.encode())).cause for source in sources)
    assert one == other != third


def invoke(*arguments):
    return CliRunner().invoke(kata, ["grade", *map(str, arguments)])


def test_the_command_grades_a_class(tiny_course, hand_in, tmp_path, monkeypatch):
    monkeypatch.chdir(tiny_course.root)
    hand_in({"ada": RIGHT, "bob": TRIPLES, "eve": STUB})
    wish = (tmp_path / "submissions", "--output", tmp_path / "grades", "--kata", "double", "--graders", 1)
    found = invoke(*wish, "--each")
    assert found.exit_code == 0, found.output
    assert "bob  double  failed  " in found.output
    assert "1 of 2 pass" in found.output
    again = invoke(*wish)
    assert "0 files judged, 3 known from before" in again.output


@pytest.mark.parametrize(
    ("wish", "told"),
    [
        (("nowhere",), "There is no folder or zip file nowhere."),
        ((".", "--kata", "dubble"), "There is no kata called `dubble`. Did you mean `double`?"),
        ((".", "--roster", "none.csv"), "The roster none.csv cannot be read: no such file or directory."),
    ],
)
def test_wrong_input_is_one_sentence(tiny_course, tmp_path, monkeypatch, wish, told):
    monkeypatch.chdir(tiny_course.root)
    (tmp_path / "class" / "ada").mkdir(parents=True)
    wish = tuple(str(tmp_path / "class") if word == "." else word for word in wish)
    found = invoke(*wish, "--output", tmp_path / "grades")
    assert (found.exit_code, found.output) == (4, told + "\n")


def test_a_grader_that_cannot_be_opened_says_why(tiny_course, hand_in, tmp_path, monkeypatch):
    monkeypatch.chdir(tiny_course.root)
    hand_in({"ada": RIGHT})
    wish = (tmp_path / "submissions", "--kata", "double", "--output", tmp_path / "grades")
    found = invoke(*wish, "--key", tmp_path / "none.key")
    assert (found.exit_code, found.output) == (
        4,
        "The key none.key cannot be read: no such file or directory.\n",
    )


def test_the_options_name_all_that_changes_a_report(tiny_course):
    options = GraderOptions(tiny_course.root, tiny_course.exercises, ("double",))
    assert options.digested == ("cpu", "best")
    assert [found.name for found in options.kata_infos()] == ["double"]
    assert issubclass(StoreUnusable, CourseError)


def test_a_kata_waits_for_those_that_it_needs_however_far_away(tiny_course):
    first = tiny_course.kata_info("double")
    second, third = replace(first, name="b", needs=("double",)), replace(first, name="c", needs=("b",))
    checks = (CheckReport("law", "Twice x is x plus x.", "passed", 1000, 1000),)
    katas = [KataReport(name, "attention", "passed", 1000, checks=checks) for name in ("c", "b")]
    lost = KataReport("double", "attention", "failed", 1000, checks=checks)
    told = with_waiting_katas([third, second, first], [*katas, lost])
    assert [(kata.name, kata.status, kata.message) for kata in told] == [
        ("c", "waiting", "Waiting for `b`, which must pass first."),
        ("b", "waiting", "Waiting for `double`, which must pass first."),
        ("double", "failed", ""),
    ]


# what was handed out and not handed in


@pytest.fixture
def grade_week(tiny_course, info, tmp_path, write, monkeypatch):
    """`grade_week(policy, *words)` grades one student who did one of two katas; it returns the row for Moodle
    and the possible points."""

    def run(policy, *words):
        write(tmp_path, {"in/ada/double.py": "passes", "class.csv": "id\nada\n", "policy.toml": policy})
        monkeypatch.setattr(command, "open_pool", lambda *_: FakePool(info))
        asked = ["grade", tmp_path / "in", "--roster", tmp_path / "class.csv", "--output", tmp_path / "out"]
        asked += ["--course", tiny_course.root, *words]
        ran = CliRunner().invoke(kata, list(map(str, asked)))
        assert ran.exit_code == 0, ran.output
        (line,) = (tmp_path / "out" / "reports.jsonl").read_text().splitlines()
        head, row = rows_of(tmp_path / "out" / "moodle.csv")
        return dict(zip(head[2:], row[2:], strict=True)), json.loads(line)["possible"]

    return run


WEEK = '[weeks]\n1 = ["double", "center"]\n'


def test_a_kata_of_the_week_that_was_not_handed_in_counts_as_0(grade_week):
    row, possible = grade_week(WEEK)
    assert (row, possible) == ({"double": "10", "center": "0", "Total": "10"}, 20)
    assert grade_week("total = 20\n" + WEEK)[0]["Total"] == "10"


def test_so_does_one_that_was_named_on_the_command_line(grade_week):
    row, possible = grade_week("", "--kata", "double", "--kata", "center")
    assert (row, possible) == ({"double": "10", "center": "0", "Total": "10"}, 20)
    assert grade_week("")[1] == 10  # nobody has begun the other one


def test_a_kata_that_is_not_due_yet_is_blank_and_in_the_total(grade_week):
    row, possible = grade_week('timezone = "Europe/Berlin"\n' + WEEK + "[deadlines]\ncenter = 2090-01-01\n")
    assert (row, possible) == ({"double": "10", "center": "", "Total": "10"}, 20)
