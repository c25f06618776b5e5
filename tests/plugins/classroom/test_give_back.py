"""Tests of giving feedback back: each platform's own form, and nobody's name in another's page."""

import os
import re
import subprocess
import zipfile
from contextlib import closing

import pytest

from dojo_classroom.collector import Collector
from dojo_classroom.outputs import write_outputs
from dojo_classroom.run import ClassRun
from dojo_classroom.store import Store
from dojo_classroom.student_reports import JudgedClass
from dojo_classroom.task import FileVerdict
from grader.course.files import write_whole

PEOPLE = """---
submission_7:
  :submitters:
  - :name: Ada
    :sid: ada
  - :name: Bob
    :sid: bob
  :created_at: 2026-11-21 07:00:00.5 Z
"""
WHO = {f"GIT_{role}_{what}": "x@s.org" for role in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")}


class NoPool:
    """A pool that cannot judge anything, since a page needs no verdict."""

    def __init__(self, info):
        self.judging = {info.name: "1"}

    def judge(self, tasks):
        for task in tasks:
            yield task, FileVerdict("error", 0, 0, "", fault="OSError: no room")


@pytest.fixture
def given_back(tmp_path, tiny_course):
    """`given_back()` grades the folder `in` and returns the folder of the feedback."""
    info = tiny_course.kata_info("double")

    def run():
        with closing(Store(str(tmp_path / "results.sqlite"))) as store:
            collector = Collector(tmp_path / "in")
            class_run = ClassRun({info.name: info}, collector, None, NoPool(info), store)
            counts = class_run.grade(lambda: None, lambda *_: None)
            write_outputs(tmp_path / "out", JudgedClass(store, [info], counts=counts))
        return tmp_path / "out" / "feedback"

    return run


def names_in(path):
    with zipfile.ZipFile(path) as archive:
        return {name: archive.read(name).decode() for name in archive.namelist()}


@pytest.mark.parametrize(
    ("archive", "files", "expected"),
    [
        (
            "moodle.zip",
            ["Jane Doe_4711_assignsubmission_file_/double.py", "Bo_Roe_4712_assignsubmission_file_double.py"],
            [
                "Bo_Roe_4712_assignfeedback_file_feedback.html",
                "Jane Doe_4711_assignfeedback_file_feedback.html",
            ],
        ),
        (
            "canvas.zip",
            [
                "doejane_LATE_4711_90210_double.py",
                "roebo_4712_90212_double-1.py",
                "roebo_4712_90211_double.py",
            ],
            ["doejane_4711_90210_feedback.html", "roebo_4712_90212_feedback.html"],
        ),
        (
            "canvas.zip",
            ["doejane_4711_90213_homework.zip", "roebo_LATE_4712_90211_answer.pdf"],  # which cannot be read
            ["doejane_4711_90213_feedback.html", "roebo_4712_90211_feedback.html"],
        ),
    ],
)
def test_a_zip_has_the_numbers_of_the_download(given_back, tmp_path, write, archive, files, expected):
    write(tmp_path / "in", dict.fromkeys(files, "x = 1"))
    pages = names_in(given_back() / archive)
    assert sorted(pages) == expected
    for name, page in pages.items():
        own = re.search(r"_(47\d\d)_", name)[1]
        assert own in page
        assert {"4711": "4712", "4712": "4711"}[own] not in page


@pytest.mark.parametrize("file", ["text.html", "link.html"])
def test_canvas_takes_no_page_back_for_what_was_typed_and_a_note_names_the_page(
    given_back, tmp_path, write, file
):
    files = [f"doejane_4711_{file}", f"doejoe_LATE_4713_{file}", "roebo_4712_90212_double.py"]
    write(tmp_path / "in", dict.fromkeys(files, "x = 1"))
    folder = given_back()
    assert sorted(names_in(folder / "canvas.zip")) == ["roebo_4712_90212_feedback.html"]
    page = (tmp_path / "out" / "class.html").read_text()
    assert (
        "Canvas attaches a page to a file that the student has uploaded. Send these pages by a message, as"
        " their students have uploaded none: students/doejane_4711.html, students/doejoe_4713.html."
    ) in page
    by_hand = (tmp_path / "out" / "by_hand.csv").read_text()
    assert f'doejane_4711,,,"Handed in, not recognised: {file}"' in by_hand or (
        f"doejane_4711,,,Handed in, not recognised: {file}" in by_hand
    )


def test_gradescopes_folders_hold_a_page_for_each_of_a_group(given_back, tmp_path, write):
    write(tmp_path / "in", {"submission_metadata.yml": PEOPLE, "submission_7/double.py": "x = 1"})
    folder = given_back() / "gradescope" / "submission_7"
    assert sorted(os.listdir(folder)) == ["ada.html", "bob.html"]
    assert "bob" not in (folder / "ada.html").read_text()


def test_plain_folders_have_nothing_to_give_back_to(given_back, tmp_path, write):
    write(tmp_path / "in", {"ada/double.py": "x = 1"})
    assert not given_back().exists()


def git(*words, cwd):
    ran = subprocess.run(
        ["git", *map(str, words)],
        cwd=cwd,
        env={**os.environ, **WHO},
        check=True,
        capture_output=True,
        text=True,
    )
    return ran.stdout


@pytest.fixture
def repositories(tmp_path, write):
    """Two bare repositories, a class of their clones, and a list with one of them and an unknown one."""
    for name in ("ada", "bob"):
        folder = write(tmp_path / "first" / name, {"double.py": "x = 1"})
        git("init", "--quiet", cwd=folder)
        git("add", ".", cwd=folder)
        git("commit", "--quiet", "-m", "x", cwd=folder)
        git("clone", "--quiet", "--bare", folder, tmp_path / f"hw1-{name}.git", cwd=tmp_path)
        (tmp_path / "in").mkdir(exist_ok=True)
        git("clone", "--quiet", tmp_path / f"hw1-{name}.git", tmp_path / "in" / f"hw1-{name}", cwd=tmp_path)
    (tmp_path / "list.txt").write_text(f"{tmp_path}/hw1-ada.git\n{tmp_path}/hw1-zoe.git\n")
    return tmp_path


def give_back(folder, *words, **environment):
    command = ["bash", folder / "give_back.sh", folder.parents[1] / "list.txt", *words]
    return subprocess.run(command, env={**os.environ, **WHO, **environment}, capture_output=True, text=True)


def test_the_script_pushes_to_a_branch_of_its_own_and_can_run_again(given_back, repositories):
    folder = given_back()
    before = git("rev-parse", "HEAD", cwd=repositories / "hw1-ada.git")
    for _ in range(2):
        ran = give_back(folder)
        assert ran.stdout.splitlines() == [
            "given back: hw1-ada",
            "failed: hw1-bob is not in the list",
            "2 repositories, 1 failed.",
        ], ran.stderr
        assert ran.returncode == 1
    assert git("rev-parse", "HEAD", cwd=repositories / "hw1-ada.git") == before
    assert "hw1-ada" in git("show", "feedback:feedback.html", cwd=repositories / "hw1-ada.git")
    assert git("rev-list", "--count", "feedback", cwd=repositories / "hw1-ada.git") == "2\n"
    write_whole(folder / "repositories" / "hw1-ada" / "feedback.html", b"better")
    give_back(folder)
    assert git("show", "feedback:feedback.html", cwd=repositories / "hw1-ada.git") == "better"


def test_the_script_opens_issues(given_back, repositories):
    gh = repositories / "gh"
    gh.write_text(f'#!/bin/sh\nprintf "%s|" "$@" >> {repositories}/asked\n')
    gh.chmod(0o755)
    folder = given_back()
    ran = give_back(folder, "--issues", GH=str(gh))
    assert ran.stdout.splitlines()[0] == "given back: hw1-ada", ran.stderr
    text = folder / "repositories" / "hw1-ada" / "feedback.md"
    asked = f"issue|create|--repo|{repositories / 'hw1-ada.git'}|--title|Feedback|--body-file|{text}|"
    assert (repositories / "asked").read_text() == asked
    assert text.read_text().startswith("Not graded yet, out of 10 points. This is not final:")
    assert "| ? / 10 |" in text.read_text()


def test_the_script_does_not_ask_a_graded_clone_where_to_push(given_back, repositories):
    clone = repositories / "in" / "hw1-ada"
    git("clone", "--quiet", "--bare", clone, repositories / "elsewhere.git", cwd=repositories)
    git("remote", "set-url", "origin", repositories / "elsewhere.git", cwd=clone)
    git("config", "core.fsmonitor", f"touch {repositories}/owned", cwd=clone)
    folder = given_back()
    assert give_back(folder).stdout.startswith("given back: hw1-ada\n")
    assert "feedback" not in git("branch", "--list", "feedback", cwd=repositories / "elsewhere.git")
    assert "feedback" in git("branch", "--list", "feedback", cwd=repositories / "hw1-ada.git")
    assert not (repositories / "owned").exists()
