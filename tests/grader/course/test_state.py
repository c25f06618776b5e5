"""Tests of the state in `.dojo`: what is remembered, what a damaged file costs, and kept versions."""

import json
import multiprocessing
import subprocess
import sys
from dataclasses import replace
from datetime import date, datetime, timedelta
from hashlib import sha256
from pathlib import Path
from types import SimpleNamespace

import pytest

from dojo_page.history import History
from grader.course.catalog import Course
from grader.course.files import Folder, replacing
from grader.course.hints import next_hint
from grader.course.state import CourseState, KataState, file_digest
from grader.course.stubs import BEST_COPIES, Versions
from grader.report import CheckReport, KataReport, Mistake

RIGHT = "def double(x):\n    return x + x\n"
CHECKS = (
    CheckReport("a", "It is so.", "passed", 500, 500),
    CheckReport("b", "It is not.", "failed", 0, 500, mistake=Mistake("triples", "Three.")),
)
FAILED = KataReport("double", "attention", "failed", 1000, checks=CHECKS)
PASSED = KataReport("double", "attention", "passed", 1000, checks=CHECKS[:1])


#: Versions of no format, as JSON.
WRONG_VERSIONS = {
    "a text": '"1"', "a list": "[1]", "null": "null", "true": "true", "a float": "1.0", "zero": "0",
    "negative": "-1", "huge": "9" * 9999,
}  # fmt: skip


@pytest.fixture
def course(tmp_path, tiny_files, write):
    return Course(write(tmp_path / "course", tiny_files))


@pytest.fixture
def state(course):
    return CourseState(course)


def test_an_outcome_is_remembered_and_the_best_score_stays(state, course):
    state.record(FAILED, "1")
    worse = KataReport("double", "attention", "failed", 1000, checks=CHECKS[1:])
    state.record(worse, "2")
    found = CourseState(course).kata("double")
    assert found == KataState(
        digest="2",
        status="failed",
        score=0,
        best=500,
        mistake="triples",
        checks={"b": "failed"},
        mistakes=["triples"],
        graded_at=found.graded_at,
        attempts=2,
        repeats=1,
    )


@pytest.fixture
def clock(monkeypatch):
    """Let the grader read the time from a list of minutes after noon."""
    minutes = []

    class Clock(datetime):
        @classmethod
        def now(cls):
            return datetime(2026, 3, 14, 12) + timedelta(minutes=minutes.pop(0))

    monkeypatch.setattr("grader.course.state.datetime", Clock)
    return minutes


def test_the_way_to_the_first_pass_is_remembered_and_ends_with_it(state, clock):
    clock += [0, 4, 64, 65, 90]
    state.record(FAILED, "1")
    state.change("double", hints=2)
    state.record(FAILED, "2")
    state.record(FAILED, "3")  # after a pause that counts as a quarter of an hour
    state.change("double", hints=0)  # as after the last hint
    state.record(PASSED, "4")
    way = {"attempts": 4, "repeats": 2, "helped": 2, "seconds": (4 + 15 + 1) * 60}
    found = state.kata("double")
    assert {name: getattr(found, name) for name in way} == way
    assert found.graded_at == "2026-03-14T13:05:00"
    state.change("double", hints=3)
    state.record(FAILED, "5")
    found = state.kata("double")
    assert {name: getattr(found, name) for name in way} == way
    assert found.graded_at == "2026-03-14T13:30:00"


def test_versions_that_are_graded_while_somebody_types_and_the_same_once_more_are_no_attempts(state, clock):
    clock += [0, 1, 2]
    state.record(FAILED, "1")
    state.record(FAILED, "1")
    state.record(FAILED, "2", is_typed=True)
    found = state.kata("double")
    assert (found.attempts, found.repeats, found.seconds) == (1, 0, 120)


@pytest.mark.parametrize("before", ["", "yesterday", "2026-13-99T00:00:00", "2999-01-01T00:00:00"])
def test_a_time_that_is_not_readable_or_lies_ahead_costs_nothing(state, clock, before):
    clock += [0, 1]
    state.record(FAILED, "1")
    state.change("double", graded_at=before)
    state.record(FAILED, "2")
    assert (state.kata("double").seconds, state.kata("double").attempts) == (0, 2)


def test_a_state_of_an_older_grader_keeps_its_hints_when_it_is_graded_again(state, clock):
    clock += [0]
    state.folder.mkdir()
    old = {"digest": "1", "status": "passed", "passed": True, "hints": 2, "passed_on": "2026-03-01"}
    (state.folder / "state.json").write_text(json.dumps({"version": 1, "katas": {"double": old}}))
    assert state.kata("double") == KataState(**old)
    state.record(PASSED, "2")
    found = state.kata("double")
    assert (found.helped, found.attempts, found.graded_at) == (2, 0, "2026-03-14T12:00:00")


def test_the_day_of_the_first_pass_and_the_mistakes_are_remembered(state):
    state.record(FAILED, "1")
    for name in ("a", "b", "triples", "c"):
        check = replace(CHECKS[1], mistake=Mistake(name, "Text."))
        state.record(KataReport("double", "attention", "failed", 1000, checks=(check,)), name)
    assert (state.kata("double").passed_on, state.kata("double").mistakes) == ("", ["triples", "a", "b", "c"])
    state.record(KataReport("double", "attention", "passed", 1000), "2")
    assert state.kata("double").passed_on == date.today().isoformat()
    state.change("double", passed_on="2026-01-01")
    state.record(KataReport("double", "attention", "passed", 1000), "3")
    assert state.kata("double").passed_on == "2026-01-01"


def test_other_facts_stay_when_one_changes(state):
    state.record(FAILED, "1")
    state.change("center", hints=1)
    state.change("double", hints=2)
    assert (state.kata("double").digest, state.kata("double").hints, state.kata("center").hints) == (
        "1",
        2,
        1,
    )


@pytest.mark.parametrize(
    "text",
    ["", "{", "[]", "null", '{"version": 1}', '{"version": 1, "katas": []}', "[" * 100_000,
     *(f'{{"version": {version}, "katas": {{}}}}' for version in WRONG_VERSIONS.values())],
    ids=["empty", "cut", "list", "null", "no katas", "katas are a list", "deep", *WRONG_VERSIONS],
)  # fmt: skip
def test_a_damaged_state_is_put_aside_with_a_word(state, text):
    state.record(FAILED, "1")
    (state.folder / "state.json").write_text(text)
    assert state.katas() == {}
    assert "state.json is damaged: it is kept under another name" in state.trouble()
    state.change("double", hints=1)
    assert (state.kata("double").hints, state.trouble()) == (1, "")
    [kept] = state.folder.glob("state.json.damaged-*")
    assert kept.read_text() == text


@pytest.mark.parametrize(
    "field",
    [{"hints": -3}, {"hints": -(10**30)}, {"score": 10**300, "best": -5}, {"reviews": 10**9},
     {"reviewed": "\ud800"}, {"mistake": "\x1b[31m", "mistakes": ["a\nb", "\ud800", 3, "kept"]}],
    ids=lambda field: str(field)[:30].encode("ascii", "replace").decode(),
)  # fmt: skip
def test_numbers_and_texts_that_are_never_written_count_as_none(state, field):
    state.record(FAILED, "1")
    state.folder.joinpath("state.json").write_text(
        json.dumps({"version": 1, "katas": {"double": {"digest": "1", **field}}})
    )
    kept = [name for name in field.get("mistakes", []) if name == "kept"]
    assert state.kata("double") == KataState(digest="1", mistakes=kept)


def test_a_state_of_a_newer_grader_is_left_alone(state):
    state.folder.mkdir()
    file, text = state.folder / "state.json", '{"version": 2, "katas": {"double": {"best": 1000}}}'
    file.write_text(text)
    state.record(FAILED, "1")
    assert (file.read_text(), [path.name for path in state.folder.iterdir()]) == (text, ["state.json"])
    assert state.trouble().endswith(
        "state.json was written by a newer version of the grader: upgrade the grader."
        " It stays as it is, and no score is remembered until then."
    )


def test_fields_of_a_wrong_type_are_forgotten_alone(state):
    state.record(FAILED, "1")
    file = state.folder / "state.json"
    record = json.loads(file.read_text())
    record["katas"]["double"] |= {"score": "much", "hints": True, "checks": [], "new": 1, "mistakes": "all"}
    record["katas"]["double"] |= {"attempts": "many", "seconds": -1, "graded_at": "\x1b[31m", "due_told": 1}
    file.write_text(json.dumps(record))
    assert state.kata("double") == KataState(digest="1", status="failed", best=500, mistake="triples")


def test_a_write_that_fails_leaves_the_old_state_and_no_other_file(state, monkeypatch):
    state.record(FAILED, "1")

    def fail(*_, **__):
        raise OSError("no space left")

    monkeypatch.setattr("os.replace", fail)
    state.change("double", hints=5)
    assert state.kata("double").hints == 0
    assert [path.name for path in state.folder.iterdir()] == ["state.json"]


def test_a_course_that_cannot_be_written_to_has_its_state_in_the_cache(course, monkeypatch, tmp_path):
    monkeypatch.setattr("os.access", lambda *_: False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    state = CourseState(course)
    state.change("double", hints=1)
    assert tmp_path / "cache" in state.folder.parents
    assert not (course.root / ".dojo").exists()


def test_the_digest_is_that_of_the_file_and_of_the_declaration(course):
    info = course.kata_info("double")
    path = course.stub(info)
    first = file_digest(info, path)
    path.write_bytes(path.read_bytes().replace(b"\n", b"\r\n"))
    assert file_digest(info, path) == first
    info.path.write_text(info.path.read_text() + "\n# Another state.\n")
    assert file_digest(info, path) not in ("", first)
    assert file_digest(info, path.with_name("nowhere.py")) == ""


def test_hints_come_one_by_one_and_are_remembered(course, state):
    info = course.kata_info("double")
    assert next_hint(course, info) == "Hint 1 of 1: Think of two."
    assert state.kata("double").hints == 1


def test_a_version_is_kept_once_and_what_is_replaced_is_kept_too(course, state):
    info, versions = course.kata_info("double"), Versions(state.folder)
    path = course.stub(info)
    assert versions.kept(BEST_COPIES, info) is None
    path.write_text(RIGHT)
    versions.keep(BEST_COPIES, info, path)
    path.write_text("x = 1\n")
    copy = versions.replace(info, path, versions.kept(BEST_COPIES, info))
    assert (path.read_text(), copy.read_text()) == (RIGHT, "x = 1\n")


def test_the_hint_that_speaks_of_the_mistake_comes_first_once_and_the_others_in_order(
    write, tiny_files, tmp_path
):
    card = "tests/katas/attention/test_double.py"
    hints = 'hints=("One.", "Two.", "Three."), hint_for={"triples": 2},'
    files = {**tiny_files, card: tiny_files[card].replace('hints=("Think of two.",),', hints)}
    course = Course(write(tmp_path, files))
    info, state = course.kata_info("double"), CourseState(course)
    state.change("double", mistake="triples")
    told = [next_hint(course, info, again="") for _ in range(3)]
    assert told == ["Hint 2 of 3: Two.", "Hint 1 of 3: One.", "Hint 2 of 3: Two."]
    state.change("double", mistake="takes_the_size")
    assert next_hint(course, info, again="") == "Hint 3 of 3: Three."
    state.change("double", mistake="triples", hinted="")
    assert next_hint(course, info).startswith("Hint 2 of 3: Two.\n\nOne more:")


def test_at_least_twenty_katas_say_which_hint_speaks_of_which_mistake():
    course = Course(Path(__file__).resolve().parents[3])
    assert sum(bool(info.hint_for) for info in course.katas.values()) >= 20


def remember(course, own):
    """Do what one of several commands does that run side by side."""
    state = CourseState(course)
    for number in range(15):
        state.change(f"{own}{number}", hints=number)
        source = f"{own}{number}"
        judged = sha256(source.encode()).hexdigest()
        report = SimpleNamespace(digest=judged, status="failed", score=0, max_score=1)
        History(state.folder, "double").add(report, source)


@pytest.mark.slow
def test_commands_that_run_side_by_side_lose_nothing_of_each_other(course, state):
    forks = multiprocessing.get_context("fork")
    ran = [forks.Process(target=remember, args=(course, own)) for own in "abcdef"]
    for one in ran:
        one.start()
    for one in ran:
        one.join()
    wanted = {f"{own}{number}": number for own in "abcdef" for number in range(15)}
    assert {name: kata.hints for name, kata in state.katas().items()} == wanted
    assert {version.source for version in History(state.folder, "double").versions()} == wanted.keys()
    assert sorted(path.name for path in state.folder.iterdir()) == ["history", "state.json"]


def test_a_command_that_was_killed_leaves_no_draft_after_the_next_one(course, state):
    state.change("double", hints=1)
    (state.folder / ".state.json.1.dojo-draft").write_text("{")
    (state.folder / ".softmax.py.1.dojo-draft").symlink_to(course.root)
    (state.folder / ".notes").touch()
    state.change("double", hints=2)
    assert sorted(path.name for path in state.folder.iterdir()) == [".notes", "state.json"]


def test_a_draft_that_another_process_is_writing_stays(state):
    with replacing(state.folder / "other.json") as draft:
        state.change("double", hints=1)
        assert draft.exists()
    assert sorted(path.name for path in state.folder.iterdir()) == ["other.json", "state.json"]


def test_a_folder_that_another_process_has_locked_for_good_holds_nobody_up(state, monkeypatch):
    state.change("double", hints=1)
    monkeypatch.setattr("grader.course.files.PATIENCE", 0.0)
    with Folder(state.folder) as folder, folder.alone():
        assert state.change("double", hints=2).hints == 2
    assert state.kata("double").hints == 2


@pytest.mark.slow
def test_a_page_that_is_killed_while_it_saves_loses_nothing_and_leaves_nothing():
    script = Path(__file__).resolve().parents[3] / "benchmarks" / "killed.py"
    done = subprocess.run([sys.executable, script, "5", "page"], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
