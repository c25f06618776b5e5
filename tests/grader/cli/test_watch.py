"""Tests of `grade --watch`, whose pauses are the steps of the test."""

import time
from types import SimpleNamespace

import pytest

from grader.cli import run as run_module
from grader.cli.console import Console
from grader.cli.output import ReportOutput
from grader.cli.run import watch
from grader.cli.saved_files import SavedFiles
from grader.course.catalog import Course
from grader.formats.terminal import View
from grader.grading.session import open_session

WRONG = "def double(x):\n    return 3 * x\n"
RIGHT = 'def double(x):\n    if isinstance(x, str):\n        raise ValueError("text")\n    return x + x\n'


@pytest.fixture
def course(tmp_path, tiny_files, write):
    return Course(write(tmp_path / "course", tiny_files))


@pytest.fixture
def run(course, monkeypatch, capsys):
    """`run(source, …)` saves the sources one after the other while the file is watched."""

    def run(first, *sources, form="terminal"):
        info = course.kata_info("double")
        path, left = course.stub(info), list(sources)
        path.write_text(first)

        def pause(_):
            if not left:
                raise KeyboardInterrupt
            path.write_text(left.pop(0))

        monkeypatch.setattr(run_module, "time", SimpleNamespace(monotonic=time.monotonic, sleep=pause))
        monkeypatch.setattr("grader.cli.saved_files.PAUSE_SECONDS", 0)
        console = Console(ReportOutput((form,), None), 1, View())
        with open_session(course, [(info, path)]) as session:
            assert watch(session, [(info, path)], console, 0.0) == 0
        return capsys.readouterr()

    return run


def test_every_save_is_graded(run):
    told = run(WRONG, RIGHT)
    assert [line.split()[1] for line in told.out.splitlines() if line.startswith("double  ")] == ["0", "10"]
    assert told.err.count("Watching; Ctrl-C ends.") == 2
    assert told.out.endswith("\nStopped watching.\n")


def test_a_round_for_an_editor_begins_and_ends(run):
    lines = run(WRONG, RIGHT, form="lines").out.splitlines()
    told = [line for line in lines if line.startswith("grade: ")]
    assert told == ["grade: begins", "grade: 0 of 10 points", "grade: begins", "grade: 10 of 10 points"]


def test_a_burst_of_saves_is_one_save(tmp_path, monkeypatch):
    file = tmp_path / "double.py"
    file.write_text("1")
    saved, texts = SavedFiles([file]), ["123", "1234"]
    monkeypatch.setattr(
        "grader.cli.saved_files.time.sleep", lambda _: file.write_text(texts.pop(0)) if texts else None
    )
    file.write_text("12")
    assert (saved.take(), texts) == ([file], [])
    assert saved.take() == []


def test_a_file_that_is_renamed_into_place_is_saved(tmp_path):
    file, draft = tmp_path / "double.py", tmp_path / "draft"
    file.write_text("1")
    saved = SavedFiles([file])
    file.unlink()
    assert not saved.is_pending
    draft.write_text("2")
    draft.rename(file)
    assert saved.is_pending
    assert saved.take() == [file]
