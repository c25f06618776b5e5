"""Recount a class: write it as Moodle, Canvas, Git and nbgrader hand it out, grade it, and compare every cell
of the gradebooks with a count that uses nothing of the grader.

python benchmarks/recount_class.py [STUDENTS] [SEED]

The points of each answer are those of `grade KATA --file`. The count says what becomes of them: what is late,
closed or extended, was better in time, was not handed in, or cannot be read.
"""

from __future__ import annotations

import csv
import json
import os
import random
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, time, timedelta
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
TRACK, KATAS = "attention", ("softmax", "causal_mask", "scaled_dot_product_attention")
MISTAKES = 2  # wrong answers of each kata
#: Late answers lose ten per cent a day, and have no points after three days.
PER_DAY, CLOSED = 10, 3
NOW = datetime.now(UTC)
DUE = datetime.combine(NOW.date() - timedelta(days=10), time(23, 59), UTC)
DOWNLOADED = NOW - timedelta(days=1)
DAYS = (0, 0, 0, 0, 1, 2, 3, 4)  # after the deadline; 0 is in time
FIRST = ("Ada", "Bo", "Cem", "Dora", "Emil", "Kim", "Çiğdem", "Gus")
LAST = ("Abel", "Brandt", "Lee", "Ōe", "O'Neil", "van Dyk", "Roe")

Answers = Mapping[str, bytes]  # by name; without the name, nothing is handed in


@dataclass(frozen=True)
class Work:
    """What a student hands in for a kata: the answer, how many days late, and what was there in time."""

    answer: str
    days: int
    earlier: str = ""


@dataclass(frozen=True)
class Student:
    """A student of the class; `extension` are days more."""

    login: str
    name: str
    number: int
    extension: int = 0
    works: Mapping[str, Work] = field(default_factory=dict)

    @property
    def days(self) -> int:
        """When the last of the works came, where a platform has one time for all."""
        return max((work.days for work in self.works.values()), default=0)


def invent(katas: Mapping[str, Answers], students: int, seed: int = 0) -> list[Student]:
    """Return a class: everybody has some answer to each kata, none, or nothing at all; some share a name."""
    draw, found = random.Random(seed), []
    for at in range(students):
        works = {}
        for kata, answers in katas.items():
            names = [*answers, "right", ""]
            days = draw.choice(DAYS)
            earlier = draw.choice([*answers, ""]) if days else ""
            if answer := draw.choice(names):
                works[kata] = Work(answer, days, earlier)
        name = f"{draw.choice(FIRST)} {draw.choice(LAST)}"
        own = works if at % 13 else {}
        found.append(Student(f"u{at:03}", name, 4000 + at, 2 if at % 9 == 4 else 0, own))
    return found


# the count


def late(points: int, days: int, extension: int, worth: int) -> int:
    """Return points after what a delay takes away."""
    after = days - extension
    if days == 0 or after <= 0:
        return points
    return 0 if after > CLOSED else max(0, points - after * PER_DAY * worth // 100)


Points = Mapping[str, Mapping[str, int | None]]  # of an answer to a kata, None if it cannot be read
WORTH = 1000  # hundredths of points


def count(student: Student, kata: str, points: Points, platform: str) -> int | None:
    """Return the points of a student's kata on a platform, None if nobody knows them."""
    work = student.works.get(kata)
    if work is None:
        return 0
    mine = points[kata]
    days = {"canvas": 0, "git": work.days}.get(platform, student.days)  # Canvas does not say how late it is
    got = mine[work.answer]
    latest = None if got is None else late(got, days, student.extension, WORTH)
    if platform != "git" or work.earlier in ("", "stub") or work.days <= student.extension:
        return latest
    in_time = mine[work.earlier]
    most = [WORTH if one is None else one for one in (latest, in_time)]  # what nobody can read may be right
    return in_time if most[1] >= most[0] else latest


def cell(points: int | None) -> str:
    """Return points as a gradebook writes them."""
    return "" if points is None else f"{points / 100:.2f}".rstrip("0").rstrip(".")


# the platforms: each writes the class, and returns what to grade and with which roster


def at(days: int) -> datetime:
    """Return a moment so many days late; 0 is in time."""
    return DUE + timedelta(days=days, hours=-1)


def notebook(kata: str, source: bytes) -> bytes:
    """Return a notebook with an answer; what is no UTF-8 is no notebook either."""
    try:
        code = f"%%kata {kata}\n{source.decode()}"
    except UnicodeDecodeError:
        return source
    return json.dumps({"cells": [{"cell_type": "code", "source": code}], "nbformat": 4}).encode()


def put(path: Path, data: bytes) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)
    return path


def table(path: Path, rows: list[list[object]]) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows(rows)
    return path


def moodle(place: Path, students: list[Student], katas: Mapping[str, Answers]) -> tuple[Path, Path]:
    """A zip in which every entry has the time of the download, and the grading worksheet."""
    with zipfile.ZipFile(place / "moodle.zip", "w") as archive:
        for student in students:
            for kata, work in student.works.items():
                name = f"{student.name}_{student.number}_assignsubmission_file_/{kata}.py"
                entry = zipfile.ZipInfo(name, DOWNLOADED.timetuple()[:6])
                archive.writestr(entry, katas[kata][work.answer])
    titles = ["Identifier", "Full name", "ID number", "Grade", "Maximum Grade", "Last modified (submission)"]
    rows = [
        [f"Participant {one.number}", one.name, one.login, "", 10 * len(katas), _told(one)]
        for one in students
    ]
    return place / "moodle.zip", table(place / "worksheet.csv", [titles, *rows])


def _told(student: Student) -> str:
    return f"{at(student.days):%A, %d %B %Y, %I:%M %p}" if student.works else "-"


def canvas(place: Path, students: list[Student], katas: Mapping[str, Answers]) -> tuple[Path, Path]:
    """A zip of files whose names say who has handed in, and whether that was late; and Canvas's gradebook."""
    with zipfile.ZipFile(place / "canvas.zip", "w") as archive:
        for student in students:
            who = "".join(part.casefold() for part in reversed(student.name.replace("'", "").split()))
            mark = "_LATE" if student.days > student.extension else ""
            for upload, (kata, work) in enumerate(student.works.items(), 10 * student.number):
                archive.writestr(f"{who}{mark}_{student.number}_{upload}_{kata}.py", katas[kata][work.answer])
    titles = ["Student", "ID", "SIS User ID", "SIS Login ID", "Section"]
    rows = [[one.name, one.number, one.login, one.login, "A"] for one in students]
    return place / "canvas.zip", table(place / "gradebook.csv", [titles, *rows])


def git(place: Path, students: list[Student], katas: Mapping[str, Answers]) -> tuple[Path, Path]:
    """A clone a student, with a commit for each change, the stubs first."""
    for student in students:
        if student.works:
            clone = place / "git" / f"hw1-{student.login}"
            _commit(clone, {"README.md": b"x"}, at(-9))
            for kata, work in student.works.items():
                if work.earlier and work.days:
                    _commit(clone, {f"exercises/{TRACK}/{kata}.py": katas[kata][work.earlier]}, at(-1))
            for kata, work in sorted(student.works.items(), key=lambda item: item[1].days):
                _commit(clone, {f"exercises/{TRACK}/{kata}.py": katas[kata][work.answer]}, at(work.days))
    return place / "git", _own_roster(place, students)


def _own_roster(place: Path, students: list[Student]) -> Path:
    return table(place / "roster.csv", [["id", "name"], *([one.login, one.name] for one in students)])


def _commit(clone: Path, files: Mapping[str, bytes], when: datetime) -> None:
    for name, data in files.items():
        put(clone / name, data)
    who = {f"GIT_{role}_{what}": "x@x" for role in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")}
    dates = {f"GIT_{role}_DATE": when.isoformat() for role in ("AUTHOR", "COMMITTER")}
    for words in (["init", "-q"], ["add", "."], ["commit", "-qm", "x", "--allow-empty"]):
        subprocess.run(["git", *words], cwd=clone, check=True, env={**os.environ, **who, **dates})


def nbgrader(place: Path, students: list[Student], katas: Mapping[str, Answers]) -> tuple[Path, Path]:
    """nbgrader's tree, with its timestamps."""
    for student in students:
        folder = place / "nbgrader" / "submitted" / student.login / TRACK
        for kata, work in student.works.items():
            put(folder / f"{kata}.ipynb", notebook(kata, katas[kata][work.answer]))
        if student.works:
            put(folder / "timestamp.txt", f"{at(student.days):%Y-%m-%d %H:%M:%S}.000000 UTC\n".encode())
    return place / "nbgrader", _own_roster(place, students)


PLATFORMS: Mapping[str, Callable[..., tuple[Path, Path]]] = {
    "moodle": moodle, "canvas": canvas, "git": git, "nbgrader": nbgrader,
}  # fmt: skip


# grade and compare


def _run(entry: str, *words: object, cwd: Path) -> str:
    command = f"from {entry}"
    ran = subprocess.run(
        [sys.executable, "-c", command, *map(str, words)],
        cwd=cwd,
        capture_output=True,
        text=True,
        check=False,
    )
    return ran.stdout + ran.stderr


def points_of(
    course: Path, katas: Mapping[str, Answers], unread: str = "utf_16"
) -> dict[str, dict[str, int | None]]:
    """Return the points of each answer, as one student sees them at home."""
    found: dict[str, dict[str, int | None]] = {}
    with tempfile.TemporaryDirectory() as folder:
        for kata, answers in katas.items():
            found[kata] = {}
            for name, data in answers.items():
                file, out = put(Path(folder, f"{kata}.py"), data), Path(folder, "report.json")
                words = (kata, "--file", file, "--format", "json", "--output", out, "--course", course)
                _run("grader.cli.grade import main; main()", *words, cwd=course)
                report = json.loads(out.read_text())
                found[kata][name] = None if name == unread else round(100 * report["score"])
    return found


def cells(out: Path) -> Iterator[tuple[str, dict[str, str]]]:
    """Yield the row of each student in the gradebooks, by the login and the titles of its columns."""
    with (out / "moodle.csv").open(newline="", encoding="utf-8") as file:
        for row in csv.DictReader(file):
            yield row["ID number"], row


def compare(
    course: Path, platform: str, students: list[Student], katas: Mapping[str, Answers], points: Points
) -> list[str]:
    """Grade a class on a platform, and return each cell that is not the counted one."""
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        submissions, roster = PLATFORMS[platform](place, students, katas)
        extensions = "".join(
            f'[extensions.{one.login}]\nall = "{one.extension}d"\n' for one in students if one.extension
        )
        (roster.parent / "policy.toml").write_text(
            f'timezone = "UTC"\n[late]\nper_day = {PER_DAY}\nclosed_after = "{CLOSED}d"\n'
            f"[deadlines]\nall = {DUE:%Y-%m-%dT%H:%M:%S}\n{extensions}"
        )
        named = [word for kata in katas for word in ("--kata", kata)]
        words = ("grade", submissions, "--roster", roster, "--output", place / "out", *named)
        told = _run("grader.cli.kata import kata; kata()", *words, "--course", course, cwd=place)
        if not (place / "out" / "moodle.csv").exists():
            return [f"{platform}: {told}"]
        rows = dict(cells(place / "out"))
    wrong = []
    for student in students:
        counted = {kata: count(student, kata, points, platform) for kata in katas}
        known = [value for value in counted.values() if value is not None]
        counted["Total"] = sum(known) if len(known) == len(katas) else None
        wrong += [
            f"{platform}: {student.login} {kata}: {rows[student.login][kata]!r}, counted {cell(value)!r}"
            f" ({student.works.get(kata)}, extension {student.extension})"
            for kata, value in counted.items()
            if rows[student.login][kata] != cell(value)
        ]
    return wrong


def answers_of(kata: str) -> Answers:
    """Return right and wrong answers of a kata of this course, an untouched stub, and what is no Python."""
    from grader.course.catalog import Course
    from grader.course.known_solutions import KnownSolutions as Known

    course = Course(ROOT)
    info = course.kata_info(kata)
    known = Known(course, info, "mistakes")
    wrong = {name: known.source_of(name).encode() for name in list(known.names)[:MISTAKES]}
    right = course.solution(info, "reference").read_bytes()
    return {"right": right, **wrong, "stub": course.stub(info).read_bytes(), **OTHERS}


#: What is no answer to any kata: no Python, an error, and a file that cannot be decoded.
OTHERS = {"no_python": b"def f(:\n", "raises": b"1 / 0\n", "utf_16": "# é\n".encode("utf-16")}


def main(students: int = 60, seed: int = 0) -> None:
    katas = {kata: answers_of(kata) for kata in KATAS}
    points = points_of(ROOT, katas)
    for kata, found in points.items():
        print(f"{kata:<30}", ", ".join(f"{name} {cell(value) or '?'}" for name, value in found.items()))
    invented = invent(katas, students, seed)
    for platform in PLATFORMS:
        wrong = compare(ROOT, platform, invented, katas, points)
        print(f"{platform:<10}{students} students, {students * (len(katas) + 1)} cells, {len(wrong)} differ")
        print("".join(f"    {line}\n" for line in wrong), end="")


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
