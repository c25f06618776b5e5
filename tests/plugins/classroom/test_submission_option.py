"""Tests of `grade --submission`: one submission gets the choice of files that a class gets."""

import json

import pytest
from click.testing import CliRunner

from dojo_classroom.laid_out import laid_out
from grader.cli.grade import grade

RIGHT = 'def double(x):\n    if isinstance(x, str):\n        raise ValueError("text")\n    return x + x\n'


def test_files_are_found_wherever_they_lie(tiny_course, tmp_path, write):
    write(tmp_path, {"hw/src/my_double.py": RIGHT, "notes.py": "1"})
    with laid_out(tiny_course, tmp_path) as (laid, notes, _):
        assert laid.stub(laid.kata_info("double")).read_text() == RIGHT
        center = laid.kata_info("center")
        assert laid.stub(center).read_bytes() == tiny_course.stub(center).read_bytes()
    assert notes == ["Handed in, not recognised: notes.py."]


def test_a_file_that_cannot_be_read_is_no_stub(tiny_course, tmp_path):
    (tmp_path / "double.py").symlink_to("/etc/hostname")
    with laid_out(tiny_course, tmp_path) as (laid, notes, _):
        assert not laid.stub(laid.kata_info("double")).exists()
    assert notes == ["double.py is a link; a Python file is needed."]


def test_the_command_grades_a_zip(tiny_course, tmp_path, write, monkeypatch):
    import shutil

    write(tmp_path / "in", {"ada/double-1.py": RIGHT, "ada/double.py": "def double(x): return x"})
    shutil.make_archive(str(tmp_path / "hand-in"), "zip", tmp_path / "in")
    monkeypatch.chdir(tiny_course.root)
    ran = CliRunner().invoke(grade, ["--submission", str(tmp_path / "hand-in.zip"), "--format", "json"])
    assert ran.exit_code == 0, ran.output
    assert [kata["score"] for kata in json.loads(ran.stdout)["katas"]] == [10]
    assert ran.stderr == "double is also in ada/double.py; graded: ada/double-1.py.\n"


def test_wrong_options_are_one_sentence(tiny_course, tmp_path, monkeypatch):
    monkeypatch.chdir(tiny_course.root)
    ran = CliRunner().invoke(grade, ["--submission", str(tmp_path / "nowhere")])
    assert ran.stderr == "There is no submission nowhere.\n"
    ran = CliRunner().invoke(grade, ["--submission", str(tmp_path), "--watch"])
    assert ran.stderr == "`--submission` goes without --file, --exercises and --watch.\n"


@pytest.mark.parametrize(
    ("name", "data", "reason"),
    [
        ("double.py", b"x = '\xff'", "double.py is not UTF-8: byte 5 cannot be read."),
        ("double.py", b"x = 1\n" * 300_000, "is larger than 1 MiB"),
        ("double.py", None, "is a link; a Python file is needed."),
        ("hw.zip", b"PK\x03\x04 damaged", "hw.zip"),
        ("hw1.py", RIGHT.encode(), "Handed in, not recognised: hw1.py."),
    ],
)
def test_what_cannot_be_judged_is_no_0(tiny_course, tmp_path, monkeypatch, name, data, reason):
    (tmp_path / "in").mkdir()
    place = tmp_path / "in" / name
    place.symlink_to("/etc/hostname") if data is None else place.write_bytes(data)
    monkeypatch.chdir(tiny_course.root)
    for words in ([], ["double"], ["--all"]):
        asked = ["--submission", str(tmp_path / "in"), "--format", "gradescope", *words]
        ran = CliRunner().invoke(grade, asked)
        assert ran.exit_code == 2, ran.output
        results = json.loads(ran.stdout)
        assert "score" not in results
        (test,) = [test for test in results["tests"] if test["name"] == "double"]
        assert reason in test["output"]


def test_what_was_not_handed_in_is_one(tiny_course, tmp_path, monkeypatch, write):
    write(tmp_path / "in", {"center.py": "import torch", "help.py": "1"})
    monkeypatch.chdir(tiny_course.root)
    asked = ["double", "--submission", str(tmp_path / "in"), "--format", "gradescope"]
    assert json.loads(CliRunner().invoke(grade, asked).stdout)["score"] == 0
