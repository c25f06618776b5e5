"""A term from end to end: releases, a fix, late work, overrides, columns, feedback, a dispute."""

import csv
import os
import shutil
import subprocess
import sys

import pytest
from click.testing import CliRunner

from grader.cli.kata import kata

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(sys.platform == "win32", reason="the submissions are clones made by git on Unix"),
]

RIGHT = 'def double(x):\n    if isinstance(x, str):\n        raise ValueError("text")\n    return x + x\n'
ANSWERS = {
    "ada": RIGHT,
    "bob": RIGHT.replace("x + x", "3 * x"),
    "cyd": RIGHT,  # two days late
    "dee": "def double(x:\n",
    "eve": RIGHT.replace("x + x", "open('/etc/passwd').read()"),
    "fay": RIGHT,  # late, with an extension
}
LATE = {"cyd": 22, "fay": 23}
CANVAS = "Student,ID,SIS User ID,SIS Login ID,Section,HW1 (12345)\n    Points Possible,,,,,100\n" + "".join(
    f'"{name.title()}, X",{at},u{at},{name},A,\n' for at, name in enumerate([*ANSWERS, "gus"])
)
MOODLE = (
    "Identifier,Full name,Email address,Status,Grade,Maximum Grade,Grade can be changed,"
    "Last modified (submission),Last modified (grade),Feedback comments\n"
) + "".join(
    f"Participant {at},{name.title()} X,{name},,,100.00,Yes,-,-,\n" for at, name in enumerate(ANSWERS)
)
POLICY = """
timezone = "UTC"
total = 100
[late]
per_day = 10
[deadlines]
double = 2026-11-20T23:59:00
[extensions.fay]
double = "5d"
"""


def answer_of(name):
    return f"{ANSWERS[name]}# {name}\n"  # a file that two hand in is judged once


def git(*words, cwd, day=20):
    who = {f"GIT_{role}_{what}": "x@s.org" for role in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")}
    dates = {f"GIT_{role}_DATE": f"2026-11-{day}T12:00:00+00:00" for role in ("AUTHOR", "COMMITTER")}
    command = ["git", "-c", "init.defaultBranch=main", *map(str, words)]
    subprocess.run(command, cwd=cwd, env={**os.environ, **who, **dates}, check=True, capture_output=True)


@pytest.fixture
def course(tmp_path, tiny_files, write):
    return write(tmp_path / "course", tiny_files)


@pytest.fixture
def run(course):
    """`run(words)` runs a command on the course and returns what it prints."""

    def run(*words, code=0):
        where = ["--course", str(course)] if words[0] != "update" else []
        done = CliRunner().invoke(kata, [*map(str, words), *where])
        assert done.exit_code == code, done.output
        return done.stdout

    return run


def hand_in(release, place, name):
    """A student's work: the release in a repository with a bare one behind it, and the answer in a commit."""
    work = place / "work" / name
    shutil.copytree(release, work)
    for words in (["init"], ["add", "--all"], ["commit", "-m", "release"]):
        git(*words, cwd=work, day=10)
    (work / "exercises" / "attention" / "double.py").write_text(answer_of(name))
    git("commit", "--all", "-m", "answer", cwd=work, day=LATE.get(name, 20))
    git("clone", "--bare", work, place / f"{name}.git", cwd=place)
    git("clone", place / f"{name}.git", place / "class" / f"hw1-{name}", cwd=place)


def column(path):
    """Return the last cell of each student's row, by the login."""
    return {row[3]: row[-1] for row in list(csv.reader(path.open(encoding="utf-8", newline="")))[2:]}


def test_a_term(course, run, tmp_path, write):
    release, grades = tmp_path / "release", tmp_path / "grades"
    run("release", release, "double", "--unverified")
    (tmp_path / "class").mkdir()
    for name in ANSWERS:
        hand_in(release, tmp_path, name)
    write(tmp_path, {"roster.csv": CANVAS, "policy.toml": POLICY})
    words = ["grade", tmp_path / "class", "--kata", "double", "--graders", 1]
    canvas = [*words, "--output", grades, "--roster", tmp_path / "roster.csv", "--column", "HW1 (12345)"]

    shown = run(*canvas)
    assert "7 students, 1 kata: 6 files judged" in shown
    assert "1 of the students handed nothing in." in shown
    first = column(grades / "canvas.csv")
    assert (first["ada"], first["cyd"], first["fay"]) == ("100", "80", "100")
    assert (first["dee"], first["gus"]) == ("0", "0")
    assert float(first["bob"]) < 50
    assert float(first["eve"]) < 50
    assert (grades / "by_hand.csv").read_text() == "Student,Name,Kata,Why\n"

    run("override", "bob", "double", "7", "--why", "=the idea, said aloud", "--by", "Roe", "--output", grades)
    run("override", "dee", "double", "1", "--why", "a typo", "--by", "Roe", "--output", grades)
    again = run(*canvas)
    assert "0 files judged, 6 known" in again
    assert column(grades / "canvas.csv") == {**first, "bob": "70", "dee": "10"}
    page = (grades / "students" / "cyd.html").read_text()
    assert (
        "Handed in 2026-11-22 12:00 (the commit), due 2026-11-20 23:59: 2 days late, 2 points less." in page
    )
    assert not any(f"{other.title()}, X" in page for other in ANSWERS if other != "cyd")

    statement = course / "tests" / "katas" / "attention" / "test_double.py"
    statement.write_text(statement.read_text().replace("Twice x is x plus x.", "Two times x is x plus x."))
    run("release", release, "center", "--unverified")
    assert {path.name for path in (release / "exercises").rglob("*.py")} == {"double.py", "center.py"}
    for name in ANSWERS:
        run("update", release, tmp_path / "class" / f"hw1-{name}")
        answer = tmp_path / "class" / f"hw1-{name}" / "exercises" / "attention" / "double.py"
        assert answer.read_text() == answer_of(name)
    fixed = run(*canvas)
    assert "6 files judged" in fixed, "the corrected kata judges everybody again"
    assert column(grades / "canvas.csv") == {**first, "bob": "70", "dee": "10"}

    write(tmp_path / "moodle", {"roster.csv": MOODLE, "policy.toml": POLICY})
    place = ["--output", tmp_path / "moodle", "--store", grades / "results.sqlite"]
    run(*words, *place, "--roster", tmp_path / "moodle" / "roster.csv")
    filled = list(csv.DictReader((tmp_path / "moodle" / "moodle_worksheet.csv").open(encoding="utf-8")))
    assert {row["Email address"]: row["Grade"] for row in filled} == {
        name: points for name, points in column(grades / "canvas.csv").items() if name != "gus"
    }
    assert not any(cell.startswith(("=", "+")) for row in filled for cell in row.values())

    script = ["bash", grades / "feedback" / "give_back.sh", tmp_path / "class"]
    who = {f"GIT_{role}_{what}": "x@s.org" for role in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")}
    given = subprocess.run(script, env={**os.environ, **who}, capture_output=True, text=True)
    assert given.stdout.splitlines()[-1] == "6 repositories, 0 failed.", given.stderr
    dispute = run("regrade", "bob", "double", "--output", grades, code=1)
    assert "The result is three times x: one x too many was added." in " ".join(dispute.split())
