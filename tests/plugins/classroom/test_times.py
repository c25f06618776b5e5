"""Tests of when work was handed in: the platform's record counts, and no time of an archive."""

import os
import subprocess
import zipfile
from contextlib import closing
from datetime import UTC, datetime
from zoneinfo import ZoneInfo

import pytest

from dojo_classroom.collector import Collector
from dojo_classroom.policy import Late, Policy, Terms
from dojo_classroom.roster import read_roster
from dojo_classroom.run import ClassRun
from dojo_classroom.store import Store
from dojo_classroom.student_reports import JudgedClass
from dojo_classroom.times import of_worksheet
from grader.course.catalog import CourseError

from .test_classroom import FakePool

POLICY = Policy(Terms(late=Late(per_day=25), deadlines={"all": datetime(2026, 11, 20, tzinfo=UTC)}))
DOWNLOADED = datetime(2026, 11, 27, 9).astimezone().timestamp()


@pytest.fixture
def graded(tiny_course, tmp_path):
    """`graded(path, roster)` grades a class of `double` and returns its notes, and the marks by student."""

    def run(path, roster=None):
        info = tiny_course.kata_info("double")
        people = read_roster(roster) if roster else None
        with closing(Store(str(tmp_path / "results.sqlite"))) as store:
            class_run = ClassRun(
                {"double": info}, Collector(path), people, FakePool(info), store, policy=POLICY
            )
            counts = class_run.grade(lambda: None, lambda *_: None)
            reports = list(JudgedClass(store, [info], counts=counts, policy=POLICY).reports())
        return counts.notes, {one.member.id: one.marks.katas["double"] for one in reports}

    return run


def points(marks):
    return {student: mark.points for student, mark in marks.items()}


WORKSHEET = """\
Identifier,Full name,Email address,Grade,Maximum Grade,Last modified (submission)
Participant 11,Ada Abel,ada@s.org,,10.00,"Thursday, 19 November 2026, 11:59 PM"
Participant 12,Bo Brandt,bo@s.org,,10.00,"Saturday, 21 November 2026, 12:00 AM"
Participant 13,Cem Ciri,cem@s.org,,10.00,-
Participant 14,Dora Dietz,dora@s.org,,10.00,"Saturday, 28 November 2026, 9:30 AM"
"""


def moodle_zip(path):
    with zipfile.ZipFile(path, "w") as archive:
        for student in ("Ada Abel_11", "Bo Brandt_12", "Cem Ciri_13", "Dora Dietz_14"):
            name = f"{student}_assignsubmission_file_/double.py"
            archive.writestr(zipfile.ZipInfo(name, (2026, 11, 27, 9, 0, 0)), "passes")
    return path


def moodle_zip_unpacked(path):
    with zipfile.ZipFile(moodle_zip(path.with_name("x.zip"))) as archive:
        archive.extractall(path)
    for file in path.rglob("*.py"):
        os.utime(file, (DOWNLOADED, DOWNLOADED))
    return path


@pytest.mark.parametrize("export", [moodle_zip, moodle_zip_unpacked])
def test_the_worksheet_says_when_work_came_to_moodle(graded, tmp_path, export):
    (tmp_path / "worksheet.csv").write_text(WORKSHEET)
    notes, marks = graded(export(tmp_path / "export"), tmp_path / "worksheet.csv")
    assert points(marks) == {"ada@s.org": 1000, "bo@s.org": 750, "cem@s.org": 1000, "dora@s.org": 1000}
    assert [mark.reasons for mark in marks.values()] == [
        (),
        ("Handed in 2026-11-21 00:00 (the worksheet), due 2026-11-20 00:00: 1 day late, 2.5 points less.",),
        ("Nobody knows when it was handed in (the worksheet has no time of it: -); it counts as in time.",),
        (
            "Nobody knows when it was handed in (it was changed after the download, as the worksheet says);"
            " it counts as in time.",
        ),
    ]
    assert [mark.is_open for mark in marks.values()] == [False, False, True, True]
    assert notes == []


@pytest.mark.parametrize("export", [moodle_zip, moodle_zip_unpacked])
def test_without_the_worksheet_nothing_of_moodles_export_is_late(graded, tmp_path, export):
    notes, marks = graded(export(tmp_path / "export"))
    assert notes == [
        "Moodle's export does not say when work was handed in, so that nothing of it counts as late:"
        " give Moodle's grading worksheet as --roster."
    ]
    assert {(mark.points, mark.reasons, mark.is_open) for mark in marks.values()} == {(1000, (), False)}


def test_files_of_one_time_are_a_copy_and_nobody_is_late(graded, tmp_path, write):
    students = ["ada", "bob", "cem", "dora", "eve"]
    folder = write(tmp_path / "in", {f"{student}/double.py": "passes" for student in students})
    for at, student in enumerate(students):
        days = 30 if student == "eve" else 0  # another copy
        os.utime(folder / student / "double.py", (DOWNLOADED + 9 * at + 86400 * days,) * 2)
    notes, marks = graded(folder)
    assert set(points(marks).values()) == {1000}
    assert notes == [
        "Most files have one time, that of a copy or a download, so that no file counts as late by its time."
        " Set what is late with `kata override`."
    ]


@pytest.mark.parametrize(("day", "expected"), [(27, 0), (29, 1000)])
def test_no_file_in_a_zip_is_written_after_the_zip(graded, tmp_path, day, expected):
    with zipfile.ZipFile(tmp_path / "x.zip", "w") as archive:
        archive.writestr(zipfile.ZipInfo("class/ada/double.py", (2026, 11, day, 9, 0, 0)), "passes")
        archive.writestr(zipfile.ZipInfo("class/bob/double.py", (2026, 11, 19, 9, 0, 0)), "passes")
    os.utime(tmp_path / "x.zip", (DOWNLOADED + 86400,) * 2)
    assert points(graded(tmp_path / "x.zip")[1]) == {"ada": expected, "bob": 1000}


def test_nbgraders_timestamp_says_when_work_came(graded, tmp_path, write):
    stamps = {"ada": "2026-11-19 15:58:23.948203 UTC", "bob": "2026-11-21 15:58:23.948203 UTC\n", "eve": "?"}
    files = {f"submitted/{who}/ps1/timestamp.txt": text for who, text in stamps.items()}
    folder = write(tmp_path / "in", files | {f"submitted/{who}/ps1/double.py": "passes" for who in stamps})
    os.utime(folder / "submitted/eve/ps1/double.py", (0, 0))
    assert points(graded(folder)[1]) == {"ada": 1000, "bob": 500, "eve": 1000}


@pytest.mark.parametrize(
    ("text", "minute"),
    [
        ("Thursday, 19 November 2026, 12:00 PM", "2026-11-19 12:00"),
        ("Thursday, 19 November 2026, 12:05 AM", "2026-11-19 00:05"),
        ("Thursday, November 19, 2026, 11:59\u202fPM", "2026-11-19 23:59"),
        ("19 November 2026, 23:59", "2026-11-19 23:59"),
        ("2026-11-19 23:59", "2026-11-19 23:59"),
        ("-", None),
        ("", None),
        ("jeudi 19 novembre 2026, 12:00", None),
    ],
)
def test_moodle_writes_a_time_in_the_zone_of_who_downloads(text, minute):
    found = of_worksheet(text, ZoneInfo("Europe/Berlin"))
    assert (found and f"{found:%Y-%m-%d %H:%M %z}") == (minute and f"{minute} +0100")


# of two versions the better one counts


def commit(folder, files, date):
    for name, text in files.items():
        path = folder / name
        if text is None:
            path.unlink()
        else:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
    who = {f"GIT_{role}_{what}": "x" for role in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")}
    dates = {f"GIT_{role}_DATE": f"2026-11-{date}:00:00+00:00" for role in ("AUTHOR", "COMMITTER")}
    for words in (["init", "-q"], ["add", "."], ["commit", "-qm", "x"]):
        subprocess.run(
            ["git", *words], cwd=folder, check=True, env={"PATH": os.environ["PATH"], **who, **dates}
        )


PLACE = "exercises/attention/double.py"
IN_TIME = "The commit of 2026-11-18 10:00 counts, which was in time; the later one would have {} points."
DAY = "Handed in 2026-11-20 12:00 (the commit), due 2026-11-20 00:00: 1 day late, 2.5 points less."


@pytest.mark.parametrize(
    ("before", "after", "expected", "reasons"),
    [
        ("passes", "passes # tidy", 1000, (IN_TIME.format("7.5"),)),
        ("passes", "fails", 1000, (IN_TIME.format("0"),)),
        (
            "fails",
            "passes",
            750,
            (DAY, "The commit of 2026-11-18 10:00, which was in time, would have 0 points."),
        ),
        (
            "passes",
            None,
            1000,
            ("The commit of 2026-11-18 10:00 counts, which was in time; later the answer was taken away.",),
        ),
        (None, "passes", 750, (DAY,)),
        (
            None,
            "fails",
            0,
            ("Handed in 2026-11-20 12:00 (the commit), due 2026-11-20 00:00: 1 day late, 2.5 points less.",),
        ),
        ("fails", "fails too", 0, (IN_TIME.format("0"),)),
    ],
)
def test_what_was_in_time_counts_if_it_is_better_than_what_came_later(
    graded, tmp_path, before, after, expected, reasons
):
    ada = tmp_path / "in" / "ada"
    ada.mkdir(parents=True)
    commit(ada, {"README.md": "x"} | ({PLACE: before} if before else {}), "18T10")
    commit(ada, {PLACE: after}, "20T12")
    _, marks = graded(tmp_path / "in")
    assert points(marks) == {"ada": expected}
    assert marks["ada"].reasons == reasons


def test_a_stub_that_was_in_time_is_no_version(graded, tmp_path):
    ada = tmp_path / "in" / "ada"
    ada.mkdir(parents=True)
    commit(ada, {PLACE: "def double(x):\n    raise NotImplementedError\n"}, "10T10")
    commit(ada, {PLACE: "passes"}, "20T12")
    assert graded(tmp_path / "in")[1]["ada"].reasons == (DAY,)


def test_what_was_in_time_is_found_where_it_lay_then(graded, tmp_path):
    ada = tmp_path / "in" / "ada" / "hw1"
    ada.mkdir(parents=True)
    commit(ada, {"double.py": "passes", ".venv/double.py": "no"}, "18T10")
    commit(ada, {"double.py": None, PLACE: "passes"}, "25T12")
    _, marks = graded(tmp_path / "in")
    assert (marks["ada"].points, marks["ada"].reasons) == (1000, ())


def test_the_version_that_counts_is_the_one_that_is_kept(graded, tmp_path):
    ada = tmp_path / "in" / "ada"
    ada.mkdir(parents=True)
    commit(ada, {PLACE: "passes"}, "18T10")
    commit(ada, {PLACE: "fails"}, "20T12")
    graded(tmp_path / "in")
    with closing(Store(str(tmp_path / "results.sqlite"))) as store:
        ((digest,),) = store.rows("SELECT source FROM handed_in WHERE run = 1")
        assert store.source(digest) == b"passes"


def test_commits_that_are_not_believed_save_nothing(graded, tmp_path):
    ada = tmp_path / "submitted" / "ada"
    ada.mkdir(parents=True)
    commit(ada, {PLACE: "passes"}, "18T10")
    commit(ada, {PLACE: "fails"}, "20T12")
    os.utime(ada / PLACE, (DOWNLOADED, DOWNLOADED))
    assert points(graded(tmp_path)[1]) == {"ada": 0}


def test_a_clone_with_the_line_ends_of_windows_has_its_commits_times(graded, tmp_path):
    ada = tmp_path / "in" / "ada"
    ada.mkdir(parents=True)
    commit(ada, {PLACE: "passes\n"}, "18T10")
    (ada / PLACE).write_bytes(b"passes\r\n")
    assert points(graded(tmp_path / "in")[1]) == {"ada": 1000}


# a roster by which everybody would be absent

FLOATS = "id,name\n100.0,Jürgen Müller\n200.0,Jane Doe\n300.0,Zoë\n400.0,X\n"


@pytest.mark.parametrize(
    ("text", "ids"),
    [(FLOATS, "100.0, 200.0, 300.0 and 1 more"), ("login\nada\nbob\n", "ada, bob")],
)
def test_a_roster_that_fits_no_submission_is_refused(graded, tmp_path, write, text, ids):
    (tmp_path / "roster.csv").write_text(text)
    folder = write(tmp_path / "in", {"100/double.py": "passes", "200/double.py": "passes"})
    with pytest.raises(CourseError) as refused:
        graded(folder, tmp_path / "roster.csv")
    assert str(refused.value).removeprefix("The roster fits no submission in ") == (
        f"in: its ids are {ids}, and the submissions are of 100, 200."
        " Correct the ids, or say by --logins whose the logins are."
    )
