"""A term from end to end: releases, a fix, late work, overrides, columns, feedback, a dispute."""

import csv
import json
import os
import shutil
import subprocess
import sys
from importlib.util import find_spec

import pytest
from click.testing import CliRunner

from grader.cli.kata import kata

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(sys.platform == "win32", reason="the submissions are clones made by git on Unix"),
    pytest.mark.skipif(find_spec("torch") is None, reason="PyTorch is not installed"),
]

STUDENTS = 6  # who hand in; the six kinds take turns
RIGHT = 'def double(x):\n    if isinstance(x, str):\n        raise ValueError("text")\n    return x + x\n'
CENTER = """import torch

class Center(torch.nn.Module):
    def __init__(self, width):
        super().__init__()
        self.scale = torch.nn.Parameter(torch.ones(width))

    def forward(self, x):
        return (x - x.mean(-1, keepdim=True)) * self.scale
"""
KINDS = {
    "ada": RIGHT,
    "bob": RIGHT.replace("x + x", "3 * x"),
    "cyd": RIGHT,  # two days late
    "dee": "def double(x:\n",
    "eve": RIGHT.replace("x + x", "open('/etc/passwd').read()"),
    "fay": RIGHT,  # late, with an extension
}
LATE = {"cyd": 22, "fay": 23}
#: "ada" to "fay", then "ada1" and so on, each with an answer of their kind.
ANSWERS = {
    f"{kind}{turn or ''}": KINDS[kind]
    for turn in range(-(-STUDENTS // len(KINDS)))
    for kind in list(KINDS)[: STUDENTS - turn * len(KINDS)]
}
UNKNOWN, ABSENT = "hal", "gus"  # whose file has a name that says no kata, and who hands nothing in
CANVAS = "Student,ID,SIS User ID,SIS Login ID,Section,HW1 (12345)\n    Points Possible,,,,,100\n" + "".join(
    f'"{name.title()}, X",{at},u{at},{name},A,\n' for at, name in enumerate([*ANSWERS, UNKNOWN, ABSENT])
)
MOODLE = (
    "Identifier,Full name,Email address,Status,Grade,Maximum Grade,Grade can be changed,"
    "Last modified (submission),Last modified (grade),Feedback comments\n"
) + "".join(
    f"Participant {at},{name.title()} X,{name},,,100.00,Yes,-,-,\n"
    for at, name in enumerate([*ANSWERS, UNKNOWN])
)
POLICY = """
timezone = "UTC"
total = 100
[late]
per_day = 10
[deadlines]
double = 2026-11-20T23:59:00
""" + "".join(f'[extensions.{name}]\ndouble = "5d"\n' for name in ANSWERS if name.startswith("fay"))


def answer_of(name):
    return f"{ANSWERS.get(name, RIGHT)}# {name}\n"  # a file that two hand in is judged once


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
    file = "answer.py" if name == UNKNOWN else "double.py"
    (work / "exercises" / "attention" / file).write_text(answer_of(name))
    git("add", "--all", cwd=work)
    git("commit", "-m", "answer", cwd=work, day=LATE.get(name[:3], 20))
    git("clone", "--bare", work, place / f"hw1-{name}.git", cwd=place)
    git("clone", place / f"hw1-{name}.git", place / "class" / f"hw1-{name}", cwd=place)


def column(path):
    """Return the last cell of each student's row, by the login."""
    return {row[3]: row[-1] for row in list(csv.reader(path.open(encoding="utf-8", newline="")))[2:]}


def require_every_cell(grades, katas):
    """Every cell of every student and kata is the number that counts, and is blank only if none is known."""
    lines = map(json.loads, (grades / "reports.jsonl").read_text(encoding="utf-8").splitlines())
    reports = {line["student"]: line for line in lines}
    with (grades / "moodle.csv").open(encoding="utf-8", newline="") as file:
        rows = {row["ID number"]: row for row in csv.DictReader(file)}
    totals = column(grades / "canvas.csv")
    assert rows.keys() == totals.keys() == reports.keys() == {*ANSWERS, UNKNOWN, ABSENT}
    for student, row in rows.items():
        assert list(row) == ["ID number", "Full name", *katas, "Total"]
        cells = [row[kata] for kata in katas]
        if student == UNKNOWN:
            assert {*cells, row["Total"], totals[student]} == {""}, student
            continue
        assert list(map(float, cells)) == [reports[student]["points"][kata] for kata in katas], student
        whole = round(100 * sum(map(float, cells)) / (10 * len(katas)), 2)
        assert float(row["Total"]) == float(totals[student]) == reports[student]["total"] == whole, student
    by_hand = (grades / "by_hand.csv").read_text(encoding="utf-8").splitlines()
    assert [line.split(",")[0] for line in by_hand] == ["Student", UNKNOWN]


def test_a_term(course, run, tmp_path, write):
    release, grades = tmp_path / "release", tmp_path / "grades"
    run("release", release, "double", "--unverified")
    (tmp_path / "class").mkdir()
    for name in (*ANSWERS, UNKNOWN):
        hand_in(release, tmp_path, name)
    write(tmp_path, {"roster.csv": CANVAS, "policy.toml": POLICY})
    words = ["grade", tmp_path / "class", "--kata", "double", "--graders", 1]
    canvas = [*words, "--output", grades, "--roster", tmp_path / "roster.csv", "--column", "HW1 (12345)"]

    shown = run(*canvas)
    assert f"{STUDENTS + 2} students, 1 kata: {STUDENTS + 1} files judged" in shown
    assert "1 of the students handed nothing in." in shown
    require_every_cell(grades, ["double"])
    first = column(grades / "canvas.csv")
    expected = {"ada": "100", "cyd": "80", "dee": "0", "fay": "100"}
    for name in ANSWERS:
        assert first[name] == expected.get(name[:3], first[name])
        assert name[:3] in expected or float(first[name]) < 50
    assert (first[ABSENT], first[UNKNOWN]) == ("0", "")

    run("override", "bob", "double", "7", "--why", "=the idea, said aloud", "--by", "Roe", "--output", grades)
    run("override", "dee", "double", "1", "--why", "a typo", "--by", "Roe", "--output", grades)
    again = run(*canvas)
    assert f"0 files judged, {STUDENTS + 1} known" in again
    assert column(grades / "canvas.csv") == {**first, "bob": "70", "dee": "10"}
    require_every_cell(grades, ["double"])
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
        exercises = tmp_path / "class" / f"hw1-{name}" / "exercises"
        assert (exercises / "attention" / "double.py").read_text() == answer_of(name)
        if name.startswith(("ada", "bob")):
            (exercises / "modules" / "center.py").write_text(f"{CENTER}# {name}\n")
    begun = sum(name.startswith(("ada", "bob")) for name in ANSWERS)
    words, canvas = ([*command, "--kata", "center"] for command in (words, canvas))
    fixed = run(*canvas)
    # the corrected kata judges everybody again; of the new one all stubs are one file
    assert f"2 katas: {STUDENTS + 1 + begun + 1} files judged" in fixed
    require_every_cell(grades, ["double", "center"])
    second = column(grades / "canvas.csv")
    assert (second["ada"], second["bob"], second["cyd"], second["dee"]) == ("100", "85", "40", "5")

    write(tmp_path / "moodle", {"roster.csv": MOODLE, "policy.toml": POLICY})
    place = ["--output", tmp_path / "moodle", "--store", grades / "results.sqlite"]
    run(*words, *place, "--roster", tmp_path / "moodle" / "roster.csv")
    filled = list(csv.DictReader((tmp_path / "moodle" / "moodle_worksheet.csv").open(encoding="utf-8")))
    assert {row["Email address"]: row["Grade"] for row in filled} == {
        name: points for name, points in column(grades / "canvas.csv").items() if name != ABSENT
    }
    assert not any(cell.startswith(("=", "+")) for row in filled for cell in row.values())

    repositories = "".join(f"{path}\n" for path in sorted(tmp_path.glob("hw1-*.git")))
    write(tmp_path, {"list.txt": repositories})
    script = ["bash", grades / "feedback" / "give_back.sh", tmp_path / "list.txt"]
    who = {f"GIT_{role}_{what}": "x@s.org" for role in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")}
    given = subprocess.run(script, env={**os.environ, **who}, capture_output=True, text=True)
    assert given.stdout.splitlines()[-1] == f"{STUDENTS + 1} repositories, 0 failed.", given.stderr
    dispute = run("regrade", "bob", "double", "--output", grades, code=1)
    assert "The result is three times x: one x too many was added." in " ".join(dispute.split())

    write(tmp_path, {"policy.toml": f"commits = false\n{POLICY}"})
    for file in (tmp_path / "class").rglob("double.py"):
        os.utime(file, (0, 0))
    run(*canvas)
    require_every_cell(grades, ["double", "center"])
    assert column(grades / "canvas.csv")["cyd"] == "50"
