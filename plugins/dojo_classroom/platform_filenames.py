"""Read from a file's path which student submitted it, and for which kata.

Usually each student has a folder. Learning platforms put the student's name into the file name instead:
Canvas `doejane_LATE_4711_90210_heap-1.py`, Moodle `Jane Doe_4711_assignsubmission_file_/heap.py`.

Recognise the kata that a file answers by the file's name, however a student or a platform spells it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import NamedTuple

#: What platforms and browsers append to the name of a resubmitted file: `-1`, ` (2)`.
RESUBMITTED = re.compile(r"((?:-\d+| ?\(\d+\))+)$")
NO_ANSWER = {"test", "tests"}  # words in the names of a student's own tests

EXACT, RESPELLED, WITHIN = range(3)


class KnownNames:
    """The names of a course's katas, and the old names of those that were renamed."""

    def __init__(self, names: Iterable[str], renamed: Mapping[str, str] = MappingProxyType({})) -> None:
        present = frozenset(names)
        self._new = {old: new for old, new in renamed.items() if new in present and old not in present}
        self.names = present | self._new.keys()
        self._respelled = {name.replace("_", ""): name for name in self.names}

    def find(self, stem: str) -> tuple[int, str] | None:
        """Return how exactly a file's name, without its suffix, names a kata, and the kata.

        None if it names no kata, or more than one. An old name counts as the new one.
        """
        found = self._find(stem)
        return (found[0], self.current(found[1])) if found else None

    def current(self, name: str) -> str:
        """Return the name that a kata of this name has now."""
        return self._new.get(name, name)

    def _find(self, stem: str) -> tuple[int, str] | None:
        stem = RESUBMITTED.sub("", stem)
        if stem in self.names:
            return EXACT, stem
        words = re.findall(r"[a-z0-9]+", stem.casefold())
        respelled = self._respelled.get("".join(words))
        if respelled:
            return RESPELLED, respelled
        within = [] if NO_ANSWER & set(words) else self._within("_".join(words))
        return (WITHIN, within[0]) if len(within) == 1 else None

    def _within(self, spelled: str) -> list[str]:
        """Return the katas whose names occur in the text as whole words, without those inside longer ones."""
        found = [name for name in self.names if f"_{name}_" in f"_{spelled}_"]
        return [name for name in found if not any(name != other and name in other for other in found)]


def resubmission(stem: str) -> tuple[int, ...]:
    """Return the numbers that were appended to the name of a resubmitted file; empty for the first one."""
    found = RESUBMITTED.search(stem)
    return tuple(map(int, re.findall(r"\d+", found[1]))) if found else ()


CANVAS = re.compile(r"(?P<name>[^_]+)_(?P<late>LATE_)?(?P<id>\d+)_(?P<upload>\d+)_(?P<file>.+)")
#: What was typed into Canvas, and a link that was given there, which have no number of a file.
CANVAS_TEXT = re.compile(
    r"(?P<name>[^_]+)_(?P<late>LATE_)?(?P<id>\d+)(?P<upload>)_(?P<file>(?:text|link)\.html)"
)
#: What Moodle writes between a student's name and a file. Both can hold it as well: students choose them.
MOODLE = re.compile(r"(?<=.)_(?P<id>\d+)(?=_assignsubmission_(?:file|onlinetext)(?P<file>_?.*))", re.DOTALL)
TYPED = (("text.html",), ("link.html",))
SUFFIXES = (".py", ".ipynb")
#: Suffixes of what may hold an answer that cannot be read.
PACKED = (".zip", ".rar", ".7z", ".gz", ".tar", ".tgz")
#: Files that belong to a project and answer no kata, and the stems of those that say something about it.
PROJECT_FILES = ("conftest.py", "setup.py", "__init__.py", "__main__.py")
ABOUT_FILES = ("readme", "license", "licence", "changelog", "contributing", "requirements", "makefile")
NO_STUDENTS = ("__MACOSX",)
#: Folders of a student's repository that contain no exercises and may be very large.
IGNORED_FOLDERS = ("node_modules", "site-packages", "venv", "__pycache__", "solutions", "tests")

Parts = tuple[str, ...]


@dataclass(frozen=True)
class StudentName:
    """A submitting student: the name of the folder or file, and other names that may identify the student.

    `called` are names that students can choose: they are compared with names, never with ids. `time` is when
    the platform says that the submission came, as text. `platform` is where it comes from, if that shows:
    moodle, canvas, gradescope, or repository for a clone.
    """

    key: str
    aliases: tuple[str, ...] = ()
    platform_id: str = ""
    called: tuple[str, ...] = ()
    time: str = ""
    platform: str = ""

    @property
    def names(self) -> tuple[str, ...]:
        return (self.key, *self.aliases)


class WorkOrigin(NamedTuple):
    """Where a student's work came from; `upload` is the number of a file on Canvas."""

    student: StudentName
    upload: int = 0


class Owned(NamedTuple):
    """A student's file: its path inside the submission, and what Canvas says about it in its name. If the
    name fits `others` as well, nobody knows whose it is."""

    student: StudentName
    inner: Parts
    late: bool = False
    upload: int = 0  # a number that is larger for a later upload
    others: tuple[StudentName, ...] = ()


def owner(parts: Parts) -> Owned | None:
    """Return the student who submitted the file, and its path inside that submission.

    `parts` is the path below the folder of submissions. Returns None if the file belongs to no student.
    """
    top = parts[0]
    if top.startswith(".") or top in NO_STUDENTS:
        return None
    if moodle := list(MOODLE.finditer(top)):
        return _on_moodle(moodle, parts)
    if len(parts) > 1:
        return Owned(StudentName(top), parts[1:])
    canvas = CANVAS.fullmatch(top) or CANVAS_TEXT.fullmatch(top)
    if canvas:
        upload, student = int(canvas["upload"] or 0), _on_platform(canvas["name"], canvas["id"], "canvas")
        return Owned(student, (canvas["file"],), canvas["late"] is not None, upload)
    return Owned(StudentName(top[: -len(".zip")]), parts) if top.casefold().endswith(".zip") else None


def _on_moodle(found: list[re.Match[str]], parts: Parts) -> Owned | None:
    """Return whose a file or folder of Moodle's is. Moodle has written the last number of a folder's name,
    which ends with it. In a file's name, each of several numbers may be Moodle's."""
    *_, last = found
    file = last["file"].removeprefix("_")
    students = [_on_platform(parts[0][: one.start()], one["id"], "moodle") for one in found]
    inner = ((file,) if file else ()) + parts[1:]
    if not inner:
        return None
    if not file or len({one["id"] for one in found}) == 1:
        return Owned(students[0 if file else -1], inner)
    return Owned(students[0], inner, others=tuple(students[1:]))


def _on_platform(name: str, number: str, platform: str) -> StudentName:
    return StudentName(f"{name}_{number}", (number,), number, called=(name,), platform=platform)


class FilePlace(NamedTuple):
    """Where a file lies that answers a kata; a smaller place is a better one.

    `exactness` comes from `KnownNames.find`. `depth` is 0 in a repository's `exercises`, 1 in the top folder
    of the submission, and one more for each folder below. `suffix` is 0 for Python and 1 for a notebook.
    """

    exactness: int
    depth: int
    suffix: int


def kata_at(inner: Parts, names: KnownNames) -> tuple[FilePlace, str] | None:
    """Return a file's place and the name of the kata that it answers, or None."""
    stem, suffix = _split(inner[-1])
    if suffix not in SUFFIXES or _is_ignored(inner):
        return None
    found = names.find(stem)
    return (place_of(inner, found[0]), found[1]) if found else None


def place_of(inner: Parts, exactness: int = EXACT) -> FilePlace:
    """Return the place of a Python file or a notebook."""
    return FilePlace(exactness, _depth(inner[:-1]), SUFFIXES.index(_split(inner[-1])[1]))


def may_be_an_answer(inner: Parts, names: KnownNames) -> bool:
    """Return whether a file that answers no kata might be meant as an answer, so that a person must look.

    An answer key in a folder `keys` is part of a release.
    """
    name = inner[-1]
    stem, suffix = _split(name)
    if _is_ignored(inner) or name in PROJECT_FILES or (inner[-2:-1] == ("keys",) and suffix == ".key"):
        return False
    named = names.find(stem) or names.find(_split(stem)[0])  # heap.py.txt
    return suffix in SUFFIXES + PACKED or bool(named) or name.startswith("onlinetext") or inner in TYPED


def is_about(inner: Parts) -> bool:
    """Return whether a file is hidden, or says something about a project: nobody hands in such a file as an
    answer, in whatever form."""
    if any(part.startswith(".") or part in NO_STUDENTS for part in inner):
        return True
    return inner[-1] in PROJECT_FILES or _split(inner[-1])[0].casefold() in ABOUT_FILES


def _split(name: str) -> tuple[str, str]:
    stem, dot, suffix = name.rpartition(".")
    return (stem, (dot + suffix).casefold()) if dot else (name, "")


def _is_ignored(inner: Parts) -> bool:
    """Return whether the file is hidden, or in a folder with nothing of the student's own.

    A file in `exercises` is not: a student may keep the whole repository in a folder of any name.
    """
    if any(part.startswith(".") for part in inner):
        return True
    return _depth(inner[:-1]) > 0 and any(folder in IGNORED_FOLDERS for folder in inner[:-1])


def _depth(folders: Parts) -> int:
    return 0 if len(folders) >= 2 and folders[-2] == "exercises" else len(folders) + 1
