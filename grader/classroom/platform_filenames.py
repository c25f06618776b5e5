"""Whose file it is and for which kata, by its place and name alone.

A folder a student is the rule. Learning platforms put the student into the name instead:
Canvas `doejane_LATE_4711_90210_softmax-1.py`, Moodle `Jane Doe_4711_assignsubmission_file_/softmax.py`.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

CANVAS = re.compile(r"(?P<name>[^_]+)_(?:LATE_)?(?P<id>\d+)_\d+_(?P<file>.+)")
MOODLE = re.compile(r"(?P<name>[^_]+(?:_[^_]+)*?)_(?P<id>\d+)_assignsubmission_file_?(?P<file>.*)")
#: What platforms and browsers add to the name of a file that was handed in again: `-1`, ` (2)`.
AGAIN = re.compile(r"(-\d+| ?\(\d+\))$")
SUFFIXES = (".py", ".ipynb")
NO_STUDENTS = ("__MACOSX",)
#: Folders of a student's repository that hold no exercises and may hold very much.
PASSED_OVER = ("node_modules", "site-packages", "venv", "__pycache__", "solutions", "tests")

Parts = tuple[str, ...]


@dataclass(frozen=True)
class StudentName:
    """Somebody who handed something in: the name under which it lay, and what else may identify them."""

    key: str
    aliases: tuple[str, ...] = ()
    platform_id: str = ""

    @property
    def known_as(self) -> tuple[str, ...]:
        return (self.key, *self.aliases)


def owner(parts: Parts) -> tuple[StudentName, Parts] | None:
    """Who handed in the file at this path below the folder of submissions, and where it lies in what
    they handed in; None where it is nobody's."""
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
    """The name of the kata that a file would answer and how good a place it is (0 the best): where a
    student's repository has it, at the top, one folder down. None anywhere else."""
    stem, dot, suffix = inner[-1].rpartition(".")
    if dot + suffix not in SUFFIXES or any(part.startswith(".") for part in inner):
        return None
    rank = 2 * _rank(inner[:-1]) + SUFFIXES.index(dot + suffix)
    return (rank, AGAIN.sub("", stem)) if rank < 2 * _NOWHERE else None


_NOWHERE = 3


def _rank(folders: Parts) -> int:
    if len(folders) >= 2 and folders[-2] == "exercises":
        return 0
    if any(folder in PASSED_OVER for folder in folders):
        return _NOWHERE
    return min(len(folders) + 1, _NOWHERE)
