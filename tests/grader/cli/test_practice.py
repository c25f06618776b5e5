"""Tests of `grade again` and `grade reset`: one question, a copy of what is replaced, where stubs are."""

import os
import subprocess

import pytest
from click.testing import CliRunner

from grader.cli.grade import grade
from grader.course.catalog import Course
from grader.course.state import CourseState
from grader.course.stubs import STUB_COPIES, Versions, stub_source

WRONG = "def double(x):\n    return 3 * x\n"


@pytest.fixture
def course(tmp_path, tiny_files, write):
    return Course(write(tmp_path / "course", tiny_files))


@pytest.fixture
def stub(course):
    """The file of `double`, which is begun; its stub was kept."""
    path = course.stub(course.kata_info("double"))
    Versions(CourseState(course).folder).keep(STUB_COPIES, course.kata_info("double"), path)
    path.write_text(WRONG)
    return path


def run(course, *words, answer="y\n"):
    return CliRunner().invoke(grade, [*words, "--course", str(course.root)], input=answer)


def test_again_asks_once_and_keeps_a_copy(course, stub):
    told = run(course, "--again", "double").stdout
    assert told.count("?") == 1
    assert "NotImplementedError" in stub.read_text()
    assert [path.read_text() for path in (course.root / ".dojo/replaced").iterdir()] == [WRONG]
    assert run(course, "--again", "double").stdout == "double is the stub already.\n"


def test_without_a_yes_nothing_is_replaced(course, stub):
    assert run(course, "--again", "double", answer="n\n").exit_code == 1
    assert stub.read_text() == WRONG


def test_reset_takes_a_track_or_all_and_leaves_out_stubs(course, stub):
    assert run(course, "--reset", "modules").stdout == "Nothing to bring back: no file was changed.\n"
    assert "The stub of double is back. What it replaced is in" in run(course, "--reset").stdout
    assert "NotImplementedError" in stub.read_text()


@pytest.mark.parametrize("option", ["--reset", "--again"])
def test_each_stub_comes_back_or_is_told(course, stub, option):
    other = course.stub(course.kata_info("center"))
    other.write_text("class Center:\n    scale = 1\n")
    told = run(course, option, "center", "double")
    assert told.exit_code == 4
    assert told.stderr == "There is no copy of the stub of center: it was never graded as a stub.\n"
    assert "The stub of double is back." in told.stdout
    assert "NotImplementedError" in stub.read_text()
    assert "scale = 1" in other.read_text()
    again = run(course, option, "center", "double")
    assert (again.exit_code, again.stderr) == (4, told.stderr)
    assert again.stdout == ("double is the stub already.\n" if option == "--again" else "")


def test_a_file_that_cannot_be_written_keeps_no_other_from_coming_back(course, stub, monkeypatch):
    info, replace = course.kata_info("center"), Versions.replace
    Versions(CourseState(course).folder).keep(STUB_COPIES, info, course.stub(info))
    course.stub(info).write_text("class Center:\n    scale = 1\n")

    def refuse_center(versions, info, path, data):
        if info.name == "center":
            raise PermissionError(13, "Permission denied")
        return replace(versions, info, path, data)

    monkeypatch.setattr(Versions, "replace", refuse_center)
    told = run(course, "--reset", "center", "double")
    assert told.exit_code == 4
    assert "center.py cannot be written: " in told.stderr
    assert "The stub of double is back." in told.stdout
    assert "NotImplementedError" in stub.read_text()


def test_again_needs_a_name(course):
    told = run(course, "--again")
    assert (told.exit_code, told.stderr) == (
        4,
        "`grade again` goes with the name of a kata: grade again double.\n",
    )


def test_a_stub_that_was_not_kept_is_found_in_git_or_said_to_be_missing(course):
    info = course.kata_info("double")
    path = course.stub(info)
    shipped = path.read_bytes()
    path.write_text(WRONG)
    told = run(course, "--again", "double")
    assert (told.exit_code, told.stderr) == (
        4,
        "There is no copy of the stub of double: it was never graded as a stub.\n",
    )
    path.write_bytes(shipped)
    name = ("-c", "user.name=a", "-c", "user.email=a@b")
    for words in (["init", "-q"], ["add", "."], [*name, "commit", "-qm", "x"]):
        subprocess.run(["git", *words], cwd=course.root, check=True)
    path.write_text(WRONG)
    assert stub_source(course, info, Versions(CourseState(course).folder)) == shipped


def test_a_deleted_file_is_told_and_comes_back(course, stub):
    stub.unlink()
    assert run(course, "double").stderr.endswith("grade again double brings the stub back.\n")
    assert run(course, "--again", "double").exit_code == 0
    assert "NotImplementedError" in stub.read_text()


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="the system has no FIFOs")
def test_a_fifo_in_place_of_a_file_does_not_hold_up_a_reset(course, stub):
    stub.unlink()
    os.mkfifo(stub)
    told = run(course, "--reset")
    assert told.exit_code == 4
    assert "cannot be written" in told.stderr


def test_next_is_the_first_kata_that_does_not_pass(course, monkeypatch):
    monkeypatch.chdir(course.root)
    right = "def double(x):\n    if isinstance(x, str):\n        raise ValueError('text')\n    return x + x\n"
    next_one = "Next: double (Twice as much), in exercises/attention/double.py.\n"
    assert run(course, "next").stdout == run(course, "--next").stdout == next_one
    course.stub(course.kata_info("double")).write_text(right)
    assert run(course, "double").exit_code == 0
    assert run(course, "next").stdout == ("Next: center (Around the mean), in exercises/modules/center.py.\n")


def test_next_says_when_all_katas_pass_and_when_there_are_none(course, write, tmp_path):
    pytest.importorskip("torch", reason="PyTorch is not installed")
    for info in course.katas.values():
        course.stub(info).write_text(course.solution(info, "reference").read_text())
    assert run(course, "double", "center").exit_code == 0
    assert run(course, "next").stdout == (
        "All 2 katas pass. All of it is yours now, from double to center.\n"
    )
    empty = Course(write(tmp_path / "empty", {"tests/katas/x": "", "exercises/x": ""}))
    told = run(empty, "next")
    assert (told.exit_code, told.stderr) == (4, "The course has no katas yet.\n")


@pytest.mark.parametrize("word", [".", "exercises", "exercises/"])
def test_a_folder_is_graded_as_all_katas_are(course, monkeypatch, word):
    monkeypatch.chdir(course.root)
    shown = run(course, word, "--brief")
    assert shown.stdout == run(course, "--all", "--brief").stdout
    assert [line.split()[0] for line in shown.stdout.splitlines()[:2]] == ["double", "center"]
