"""Tests of the wheel that holds the course, and of `grade start`."""

import base64
import hashlib
import io
import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest
from click.testing import CliRunner

from dojo_authoring.release import starter
from grader.cli.grade import grade
from grader.course.catalog import Course, load_file
from grader.worker.child.sandbox import landlock

write_files = load_file("conftest_of_the_tests", Path(__file__).parents[2] / "conftest.py").write_files

RIGHT = 'def double(x):\n    if isinstance(x, str):\n        raise ValueError("text")\n    return x + x\n'


@pytest.fixture(scope="module")
def wheel(tiny_course):
    return starter.build_course_wheel(tiny_course, ("double",), seed=1)[1]


@pytest.fixture
def installed(wheel, tmp_path):
    """A folder with the files of the wheel, as pip would install them."""
    zipfile.ZipFile(io.BytesIO(wheel)).extractall(tmp_path / "installed")
    return tmp_path / "installed"


def test_the_wheel_lists_the_course_and_holds_no_solution(wheel):
    with zipfile.ZipFile(io.BytesIO(wheel)) as archive:
        record = next(name for name in archive.namelist() if name.endswith("RECORD"))
        course = archive.read("grader/starter.zip")
        digest = base64.urlsafe_b64encode(hashlib.sha256(course).digest()).rstrip(b"=").decode()
        assert f"grader/starter.zip,sha256={digest},{len(course)}\n" in archive.read(record).decode()
    with zipfile.ZipFile(io.BytesIO(course)) as archive:
        assert sorted(archive.namelist()) == [
            ".vscode/tasks.json", "AGENTS.md", "README.md", "exercises/attention/double.py",
            "keys/double.key", "tests/katas/attention/test_double.py", "tests/katas/path.toml",
        ]  # fmt: skip
        assert not any(b"return x + x" in archive.read(name) for name in archive.namelist())
        assert "%%" not in archive.read("README.md").decode()


READER = """
import os, sys, sysconfig

def double(x):
    import numpy as np
    worker = next(kind for kind in object.__subclasses__() if kind.__name__ == "Worker")
    grader = os.path.abspath(worker.serve.__code__.co_filename + "/../../..")
    packages = os.path.dirname(np.__path__[0])
    places = [grader, os.path.dirname(grader), packages, packages + "/click", "{course}", "{home}"]
    for place in [*places, *sys.path, *sysconfig.get_paths().values()]:
        try:
            print("LISTED", place, len(os.listdir(place)))
        except OSError:
            pass
        for folder, _, names in os.walk(place):
            for name in names:
                try:
                    open(os.path.join(folder, name), "rb").close()
                    print("READ", os.path.join(folder, name))
                except OSError:
                    pass
    for name in ("starter.zip", "solutions.zip", "kata.py", "__init__.py", "worker/child/main.py"):
        try:
            print("READ", open(os.path.join(grader, name), "rb").read(2), name)
        except OSError:
            pass
    return 3 * x
"""


@pytest.mark.slow
@pytest.mark.skipif(not landlock.version(), reason="the kernel has no Landlock")
@pytest.mark.parametrize("how", ["", "spawn"])
@pytest.mark.parametrize("course", ["of the wheel", "of one's own"])
def test_a_worker_of_a_wheel_reads_nothing_of_the_grader_and_its_keys(
    tiny_course, tmp_path, tiny_files, how, course
):
    """The wheel lies in a folder of packages, as pip would install it, and that folder is on `sys.path`."""
    packages = tmp_path / "lib" / "site-packages"
    wheel = starter.build_course_wheel(tiny_course, ("double",), seed=1, solutions=True)[1]
    zipfile.ZipFile(io.BytesIO(wheel)).extractall(packages)
    folder = tmp_path / "course"
    environment = {**os.environ, "PYTHONPATH": str(packages), "NO_COLOR": "1", "DOJO_WORKERS": how}

    def run(*words):
        command = [sys.executable, "-m", "grader.cli.grade", *words]
        return subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True)

    if course == "of the wheel":
        assert run("--start", "course").returncode == 0
    else:
        write_files(folder, tiny_files)
    file = folder / "exercises/attention/double.py"
    file.write_text(READER.format(course=folder, home=Path.home()))
    done = run("double", "--course", str(folder), "--show-output", "--isolation", "required")
    assert done.returncode == 1, done.stderr
    assert "triples" in done.stdout or "one x too many" in done.stdout
    assert "LISTED" not in done.stdout
    assert "READ" not in done.stdout


@pytest.mark.slow
def test_from_an_empty_folder_to_the_first_pass(installed, tmp_path):
    def run(*words, cwd=tmp_path):
        command = [sys.executable, "-m", "grader.cli.grade", *words]
        environment = {**os.environ, "PYTHONPATH": str(installed), "NO_COLOR": "1"}
        return subprocess.run(command, cwd=cwd, env=environment, capture_output=True, text=True, timeout=120)

    said = run()
    assert (said.returncode, said.stderr) == (
        4,
        "There is no dojo in this folder. Begin one:  grade start my-dojo\n",
    )
    (tmp_path / "empty").mkdir()
    assert run("start", ".", cwd=tmp_path / "empty").stdout == "1 kata written here. Begin:  grade\n"
    began = run("start", "course")
    assert (began.returncode, began.stdout) == (0, "1 kata written to course. Begin:  cd course && grade\n")
    folder = tmp_path / "course"
    assert "Start with exercises/attention/double.py" in run("--once", cwd=folder).stdout
    file = folder / "exercises/attention/double.py"
    file.write_text("def double(x):\n    return 3 * x\n")
    assert "one x too many was added" in run("double", cwd=folder).stdout
    file.write_text(RIGHT)
    passed = run("double", cwd=folder)
    assert passed.returncode == 0
    assert passed.stdout.startswith("double  10 / 10   ✓ all 9 checks hold\n\nAll 1 katas of attention pass.")
    again = run("--start", "course")
    assert "kept, since it was changed: exercises/attention/double.py\n" in again.stdout
    assert file.read_text() == RIGHT


@pytest.mark.slow
def test_the_transcript_of_the_first_hour_is_what_happens(tmp_path):
    """Line by line; `…` stands for lines that are left out, and one kata for all of the page."""
    root = Path(__file__).parents[3]
    page = (root / "docs" / "first-hour.md").read_text()
    block = next(part for part in page.split("```") if "$ grade --once\n" in part)
    begun = "$ grade start dojo\n1 kata written to dojo. Begin:  cd dojo && grade\n$ cd dojo\n"
    answer = (root / "solutions/attention/softmax/reference.py").read_text()
    wheel = starter.build_course_wheel(Course(root), ("softmax",), seed=1)[1]
    zipfile.ZipFile(io.BytesIO(wheel)).extractall(tmp_path / "installed")
    environment = {**os.environ, "PYTHONPATH": str(tmp_path / "installed"), "NO_COLOR": "1"}
    folder = tmp_path
    for step in (begun + block.strip()).split("$ ")[1:]:
        words, *told = step.rstrip().split("\n")
        program, *arguments = words.split()
        if program == "cd":
            folder = folder / arguments[0]
        elif program == "vi":
            (folder / arguments[0]).write_text(answer)
        else:
            command = [sys.executable, "-m", "grader.cli.grade", *arguments]
            done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True)
            printed = iter(done.stdout.splitlines())
            assert [line for line in told if line != "…" and line not in printed] == [], done.stdout


@pytest.mark.parametrize("theirs", ["", "# Mine\n"])
def test_a_students_own_agents_file_stays(theirs, installed, tmp_path, monkeypatch):
    """Also when the course is written anew. Without one, the course's is written, unless it is not wanted."""
    monkeypatch.setattr(starter, "INSTALLED", installed / "grader" / "starter.zip")
    folder = tmp_path / "course"

    def start(*options):
        result = CliRunner().invoke(grade, ["start", str(folder), *options])
        assert result.exit_code == 0, result.output
        return result.output

    folder.mkdir()
    file = folder / "AGENTS.md"
    if theirs:
        file.write_text(theirs)
    assert "AGENTS.md" not in start("--no-agents")
    assert file.exists() == bool(theirs)
    for _ in range(2):
        assert ("kept, since it was changed: AGENTS.md" in start()) == bool(theirs)
        assert file.read_text() == theirs or (not theirs and "**You are a tutor here.**" in file.read_text())
    assert ("removed" in start("--no-agents")) != bool(theirs)
    assert file.exists() == bool(theirs)


def test_an_installation_without_a_course_says_so(tmp_path):
    result = CliRunner().invoke(grade, ["--start", str(tmp_path / "new")])
    assert result.exit_code == 4
    assert result.stderr.startswith("This installation of the grader holds no course;")


def test_a_python_without_lzma_is_told_so(installed, tmp_path, monkeypatch):
    monkeypatch.setattr(starter, "INSTALLED", installed / "grader" / "starter.zip")
    monkeypatch.setattr(zipfile, "lzma", None)
    result = CliRunner().invoke(grade, ["--start", str(tmp_path / "new")])
    assert result.exit_code == 4
    assert result.stderr.startswith("The course needs a Python that was built with its module lzma.")
    assert not (tmp_path / "new").exists()


def test_the_tasks_are_those_of_the_documentation():
    page = Path(__file__).parents[3] / "docs" / "editors.md"
    assert f"```json\n{starter.TASKS.read_text()}```" in page.read_text()
