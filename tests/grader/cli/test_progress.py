"""Tests of which katas count as begun, and of the list of katas."""

import dataclasses
import random
import re
from pathlib import Path

import pytest
from click.testing import CliRunner

from grader.cli.grade import grade
from grader.cli.kata_list import kata_list, overview, welcome
from grader.course.catalog import Course, read_kata_info
from grader.course.state import CourseState, KataState, file_digest
from grader.grading import standings
from grader.grading.standings import after_pass, after_single_pass, change, first_needed, is_begun
from grader.reading.shape import text_digest
from grader.report import CheckReport, KataReport

ROOT = Path(__file__).resolve().parents[3]
STUB = 'def double(x):\n    """Twice x."""\n    raise NotImplementedError\n'


@pytest.fixture
def begun(tiny_course, tmp_path):
    """`begun(data)` tells whether a file with these bytes counts as begun."""

    def ask(data, info=None):
        file = tmp_path / "double.py"
        file.write_bytes(data)
        return is_begun(info or tiny_course.kata_info("double"), file)

    return ask


def test_a_stub_is_not_begun(begun):
    assert not begun(STUB.encode())


@pytest.mark.parametrize(
    "data",
    [
        b"def double(x):\n    return 2 * x\n",
        b"def double(x:\n",
        b"x = 1\0",
        b"# caf\xe9\n",
        b"(" * 100_000,
        b"#" * (1 << 20) + b"\n" + STUB.encode(),
    ],
    ids=["written", "syntax_error", "null_byte", "no_utf8", "too_deep", "too_large"],
)
def test_a_file_that_is_not_the_stub_is_begun(begun, data):
    assert begun(data)


def test_a_stub_that_ships_code_is_begun_when_it_is_changed(begun, tiny_course):
    shipped = "def double(x):\n    return x\n"
    info = dataclasses.replace(tiny_course.kata_info("double"), ships_wrong_code=text_digest(shipped))
    assert not begun(shipped.encode(), info)
    assert begun(shipped.replace("x\n", "2 * x\n").encode(), info)


def test_the_list_marks_the_katas_that_are_begun(tiny_course):
    stub = tiny_course.stub(tiny_course.kata_info("double"))
    before = stub.read_text()
    line = "double  Twice as much\n"
    assert kata_list(tiny_course) == (
        f"  attention\n  · {line}\n"
        "  modules\n  · center  Around the mean\n\n"
        "  · not started   ▸ begun   ✓ passed\n"
    )
    try:
        stub.write_text(before.replace("raise NotImplementedError", "return 2 * x"))
        assert kata_list(tiny_course).startswith(f"  attention\n  ▸ {line}")
    finally:
        stub.write_text(before)


def test_the_list_shows_scores_and_what_changed_since(tmp_path, tiny_files, write):
    course = Course(write(tmp_path, tiny_files))
    info = course.kata_info("double")
    stub = course.stub(info)
    stub.write_text("def double(x):\n    return 2 * x\n")
    checks = (CheckReport("a", "It is so.", "passed", 450, 1000),)
    state = CourseState(course)
    state.record(KataReport("double", "attention", "failed", 1000, checks=checks), file_digest(info, stub))
    assert "  ▸ double  4.5/10  Twice as much\n" in kata_list(course)
    stub.write_text("def double(x):\n    return x + x\n")
    assert "  ▸ double  4.5/10*  Twice as much\n" in kata_list(course)
    assert kata_list(course).endswith("✓ passed   * changed since\n")
    state.record(KataReport("double", "attention", "passed", 1000, checks=checks), file_digest(info, stub))
    assert "  ✓ double" in kata_list(course)
    stub.write_text("def double(x):\n    return 0\n")
    assert "  ↻ double" in kata_list(course)
    stub.unlink()
    assert "  ! double" in kata_list(course)


def test_a_list_that_fits_no_screen_is_a_line_for_each_track_with_the_next_kata_last():
    course = Course(ROOT)
    lines = overview(course).splitlines()
    assert len(lines) <= 22
    assert max(map(len, lines)) <= 80
    tracks = dict.fromkeys(info.track for info in course.katas.values())
    assert [line.split()[0] for line in lines[: len(tracks)]] == [*tracks]
    assert re.fullmatch(r"  attention +[·▸✓]{9} +\d/9", lines[0])
    assert "  Every kata by name: grade list --all" in lines
    assert lines[-1].startswith("Next: ")


def test_a_short_list_is_shown_whole_with_the_next_kata_last(tiny_course):
    following = "Next: double (Twice as much), in"
    text = overview(tiny_course)
    assert text.startswith(f"{kata_list(tiny_course)}\n{following}")
    shown = CliRunner().invoke(grade, ["list", "--all", "--course", str(tiny_course.root)]).stdout
    assert shown == kata_list(tiny_course)


def test_the_list_is_limited_to_a_part_of_a_name_a_track_or_a_title(tiny_course):
    assert "double" not in kata_list(tiny_course, "modul")
    assert "double" in kata_list(tiny_course, "twice")


def test_a_state_from_elsewhere_cannot_control_the_terminal(tiny_course):
    before = KataState(checks={"a": "failed"}, mistake="x\x1b[2J")
    told = change(tiny_course.kata_info("double"), before, KataState(checks={"a": "passed"}, score=1000))
    assert told == "double   0 → 10 of 10   now holds: a   gone: x␛[2J"


def test_many_changes_are_counted(tiny_course):
    names = ["a_b", "c", "d", "e", "f"]
    before = KataState(checks=dict.fromkeys(names, "passed"), score=1000)
    told = change(tiny_course.kata_info("double"), before, KataState(checks=dict.fromkeys(names, "timeout")))
    assert told == "double   10 → 0 of 10   broken: a b, c, d and 2 more"
    assert change(tiny_course.kata_info("double"), before, before) == ""


def test_the_welcome_names_the_first_file_to_open(tiny_course):
    lines = welcome(tiny_course, tiny_course.kata_info("double")).splitlines()
    assert lines[-1] == "Then run:  grade double      stuck?  grade hint double"


def test_a_kata_that_waits_is_marked_and_names_the_file_to_finish_first(
    tmp_path, tiny_files, write, monkeypatch
):
    course = Course(write(tmp_path, tiny_files))
    monkeypatch.chdir(tmp_path)
    center = dataclasses.replace(course.kata_info("center"), needs=("double",))
    course.katas["center"] = center
    told = "center waits until double passes: finish exercises/attention/double.py first."
    assert first_needed(course, center) == told
    assert "  · center  Around the mean (first double)\n" in kata_list(course)
    info = course.kata_info("double")
    done = KataReport("double", "attention", "passed", 1000)
    CourseState(course).record(done, file_digest(info, course.stub(info)))
    assert first_needed(course, center) == ""


@pytest.mark.slow
@pytest.mark.parametrize("left", [0, 1, 5, 40])
def test_what_comes_after_a_single_pass_is_what_comes_in_the_loop(tmp_path, left):
    (tmp_path / "exercises").mkdir()
    course = Course(ROOT, tmp_path / "exercises")
    katas = list(course.katas.values())
    unsolved = random.Random(left).sample(katas, left)
    known = {info.name: KataState(passed=info not in unsolved) for info in katas}
    for info in katas:
        CourseState(course).change(info.name, passed=known[info.name].passed)
    found = [standings.Standing(info, "", known[info.name], False) for info in katas]
    for info in katas:
        assert after_single_pass(course, info)[0] == after_pass(course, info, found)


def test_what_comes_after_a_single_pass_is_found_without_reading_the_other_declarations(
    tmp_path, monkeypatch
):
    read = []
    monkeypatch.setattr(standings, "read_kata_info", lambda path: read.append(path) or read_kata_info(path))
    (tmp_path / "exercises").mkdir()
    course = Course(ROOT, tmp_path / "exercises")
    text, files = after_single_pass(course, course.kata_info("softmax"))
    assert len(read) == 1
    assert "katas" not in vars(course)
    assert f"({read_kata_info(read[0]).title})" in text
    assert [file.stem for file in files] == [read[0].stem.removeprefix("test_")]
