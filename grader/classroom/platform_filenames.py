"""Read from a file's path which student submitted it, and for which kata.

Usually each student has a folder. Learning platforms put the student's name into the file name instead:
Canvas `doejane_LATE_4711_90210_softmax-1.py`, Moodle `Jane Doe_4711_assignsubmission_file_/softmax.py`.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

CANVAS = re.compile(r"(?P<name>[^_]+)_(?:LATE_)?(?P<id>\d+)_\d+_(?P<file>.+)")
MOODLE = re.compile(r"(?P<name>[^_]+(?:_[^_]+)*?)_(?P<id>\d+)_assignsubmission_file_?(?P<file>.*)")
#: What platforms and browsers append to the name of a resubmitted file: `-1`, ` (2)`.
RESUBMITTED = re.compile(r"(-\d+| ?\(\d+\))$")
SUFFIXES = (".py", ".ipynb")
NO_STUDENTS = ("__MACOSX",)
#: Folders of a student's repository that contain no exercises and may be very large.
IGNORED_FOLDERS = ("node_modules", "site-packages", "venv", "__pycache__", "solutions", "tests")

Parts = tuple[str, ...]


@dataclass(frozen=True)
class StudentName:
    """A submitting student: the name of the folder or file, and other names that may identify the student."""

    key: str
    aliases: tuple[str, ...] = ()
    platform_id: str = ""

    @property
    def names(self) -> tuple[str, ...]:
        return (self.key, *self.aliases)


def owner(parts: Parts) -> tuple[StudentName, Parts] | None:
    """Return the student who submitted the file and its path inside that submission.

    `parts` is the path below the folder of submissions. Returns None if the file belongs to no student.
    """
    top = parts[0]
    if top.startswith(".") or top in NO_STUDENTS:
        return None
    moodle = MOODLE.fullmatch(top)
    if moodle:
        inner = ((moodle["file"],) if moodle["file"] else ()) + parts[1:]
        return (_on_platform(moodle), inner) if inner else None
    if len(parts) > 1:
        return StudentName(top), parts[1:]
    canvas = CANVAS.fullmatch(top)
    if canvas:
        return _on_platform(canvas), (canvas["file"],)
    return (StudentName(top[: -len(".zip")]), parts) if top.endswith(".zip") else None


def _on_platform(found: re.Match[str]) -> StudentName:
    return StudentName(f"{found['name']}_{found['id']}", (found["id"], found["name"]), found["id"])


def kata_at(inner: Parts) -> tuple[int, str] | None:
    """Return the rank of a file's place (0 is best) and the name of the kata that it answers, or None.

    The best place is that in a student's repository, then the top folder, then one folder below.
    """
    stem, dot, suffix = inner[-1].rpartition(".")
    if dot + suffix not in SUFFIXES or any(part.startswith(".") for part in inner):
        return None
    rank = 2 * _rank(inner[:-1]) + SUFFIXES.index(dot + suffix)
    return (rank, RESUBMITTED.sub("", stem)) if rank < 2 * _NO_PLACE else None


_NO_PLACE = 3


def _rank(folders: Parts) -> int:
    if len(folders) >= 2 and folders[-2] == "exercises":
        return 0
    if any(folder in IGNORED_FOLDERS for folder in folders):
        return _NO_PLACE
    return min(len(folders) + 1, _NO_PLACE)
