"""Remember how far a student is: `.dojo/state.json` beside the exercises, and copies of the student's files.

The file is safe to commit and safe to lose. A kata passes only as long as the digest of its file and of its
declaration is the one that was graded. A course that cannot be written to has its state in the cache folder.
A file that cannot be read is kept: one of a newer grader stays as it is, a damaged one gets another name.
"""

from __future__ import annotations

import dataclasses
import hashlib
import json
import os
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from grader.course.catalog import Course, KataInfo, shorten
from grader.course.files import Folder, read_below, read_file
from grader.course.loading import cache_folder
from grader.errors import reason_of, too_new

if TYPE_CHECKING:
    from grader.report import KataReport


FOLDER, FILE, VERSION = ".dojo", "state.json", 1


@dataclass(frozen=True)
class KataState:
    """What is remembered about one kata: the digest and the outcome of the last grading, the best score in
    hundredths, the mistake that was named, how many hints were shown, the mistake whose hint was shown last,
    whether any version has passed, and the library of the last answer if it is not the kata's own."""

    digest: str = ""
    status: str = ""
    score: int = 0
    best: int = 0
    mistake: str = ""
    checks: dict[str, str] = field(default_factory=dict)
    hints: int = 0
    hinted: str = ""
    passed: bool = False
    library: str = ""

    @property
    def has_passed(self) -> bool:
        """True if this or an earlier version has passed."""
        return self.passed or self.status == "passed"


class CourseState:
    """The state of all katas of one course. Every change is written at once. It reads the file again while no
    other command may write it, so that commands which run side by side keep each other's changes."""

    def __init__(self, course: Course) -> None:
        self.folder = _folder(course)

    def katas(self) -> dict[str, KataState]:
        """Return what is remembered, by kata; nothing if the file cannot be read."""
        return self._read()[0]

    def trouble(self) -> str:
        """Return why the file cannot be read and what becomes of it, as sentences; "" if it can."""
        _, keeps, damaged = self._read()
        name = shorten(self.folder / FILE)
        return (
            f"{keeps} It stays as it is, and no score is remembered until then." * bool(keeps)
            or f"{name} is damaged: it is kept under another name, and scores are remembered anew." * damaged
        )

    def _read(self) -> tuple[dict[str, KataState], str, bool]:
        """Return what is remembered, by kata; why the file stays as it is; and whether it is damaged."""
        try:
            with Folder(self.folder, follows_links=False) as folder:
                return self._read_in(folder)
        except FileNotFoundError:
            return {}, "", False
        except OSError as error:
            return {}, f"{shorten(self.folder)} {reason_of(error)}: make it a folder of its own.", False

    def _read_in(self, folder: Folder) -> tuple[dict[str, KataState], str, bool]:
        file = self.folder / FILE
        try:
            found = json.loads(folder.read(FILE))
        except FileNotFoundError:
            return {}, "", False
        except (OSError, ValueError, RecursionError):
            return {}, "", True
        version, katas = (found.get("version"), found.get("katas")) if isinstance(found, dict) else (0, 0)
        if newer := too_new(shorten(file), version, VERSION):
            return {}, newer, False
        if type(version) is not int or version != VERSION or not isinstance(katas, dict):
            return {}, "", True
        return {name: _of_kata(kata) for name, kata in katas.items()}, "", False

    def kata(self, name: str) -> KataState:
        return self.katas().get(name, KataState())

    def change(self, name: str, **changes: Any) -> KataState:
        """Remember these facts about a kata and return all that are now known."""
        return self._change(name, lambda known: dataclasses.replace(known, **changes))

    def _change(self, name: str, changed: Callable[[KataState], KataState]) -> KataState:
        try:
            with Folder(self.folder, makes=True, follows_links=False) as folder, folder.alone():
                katas, keeps, damaged = self._read_in(folder)
                now = katas[name] = changed(katas.get(name, KataState()))
                record = {"version": VERSION, "katas": {name: asdict(kata) for name, kata in katas.items()}}
                text = json.dumps(record, indent=1, sort_keys=True) + "\n"
                with suppress(OSError):  # a full disk costs no points
                    if damaged:
                        put_aside(folder, FILE)
                    if not keeps:
                        folder.write(FILE, data=text.encode())
        except OSError:
            return changed(KataState())
        return now

    def record(self, report: KataReport, digest: str) -> KataState:
        """Remember the outcome of a grading of the file with this digest."""
        return self._change(
            report.name,
            lambda known: dataclasses.replace(
                known,
                digest=digest,
                status=report.status,
                score=report.score,
                best=max(report.score, known.best),
                mistake=report.mistake.id if report.mistake else "",
                checks={check.name: check.status for check in report.checks},
                passed=known.has_passed or report.status == "passed",
                library=report.library,
            ),
        )


def file_digest(info: KataInfo, path: Path) -> str:
    """Return a digest of a file and of its kata's declaration; "" if one of them cannot be read."""
    try:
        parts = [read_file(file).replace(b"\r\n", b"\n") for file in (info.path, path)]
    except OSError:
        return ""
    return hashlib.sha256(b"\0".join(hashlib.sha256(part).digest() for part in parts)).hexdigest()[:24]


def _folder(course: Course) -> Path:
    beside = Path(os.path.abspath(course.exercises)).parent  # not where a link leads
    if os.access(beside, os.W_OK):
        return beside / FOLDER
    return cache_folder() / "courses" / hashlib.sha256(str(beside).encode()).hexdigest()[:16]


def _of_kata(found: Any) -> KataState:
    """Return the fields that have the right type; the others are as if they had never been written."""
    found = found if isinstance(found, dict) else {}
    blank = asdict(KataState())
    right = {name: found[name] for name in blank if type(found.get(name)) is type(blank[name])}
    right["checks"] = {str(name): str(status) for name, status in right.get("checks", {}).items()}
    return KataState(**right)


STUBS, BEST, REPLACED = "stubs", "best", "replaced"


def put_aside(folder: Folder, *parts: str) -> None:
    """Give a damaged file a name that says so, which no file has. Raises OSError."""
    folder.rename(*parts, to=f"{parts[-1]}.damaged-{time.time_ns()}")


class Versions:
    """The copies in one folder, a subfolder for each kind."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def keep(self, kind: str, info: KataInfo, path: Path, keeps_old: bool = False) -> None:
        """Copy the file, unless the same bytes are kept already; put the old copy aside if `keeps_old`."""
        with suppress(OSError):
            data, old = read_file(path), self.kept(kind, info)
            if old is not None and old != data and keeps_old:
                self.put_aside(info, old)
            if data != old:
                self._write(kind, f"{info.name}.py", data)

    def kept(self, kind: str, info: KataInfo) -> bytes | None:
        """Return the copy of this kind, or None if there is none."""
        try:
            return read_below(self.folder, (kind, f"{info.name}.py"))
        except OSError:
            return None

    def holds(self, path: Path, data: bytes) -> bool:
        """Return whether a student's file holds these bytes."""
        try:
            return read_file(path) == data
        except OSError:
            return False

    def replace(self, info: KataInfo, path: Path, data: bytes) -> Path | None:
        """Write `data` to the file, and return where a copy of what it held is; None if there was no file.
        Raises OSError."""
        try:
            copy = self.put_aside(info, read_file(path))
        except FileNotFoundError:
            copy = None
        with Folder(path.parent, makes=True, follows_links=False) as folder:
            folder.write(path.name, data=data)
        return copy

    def put_aside(self, info: KataInfo, data: bytes) -> Path:
        """Keep what a student's file held, and return where. Raises OSError."""
        name = f"{info.name}-{hashlib.sha256(data).hexdigest()[:8]}.py"
        self._write(REPLACED, name, data)
        return self.folder / REPLACED / name

    def _write(self, kind: str, name: str, data: bytes) -> None:
        with Folder(self.folder, makes=True, follows_links=False) as folder:
            folder.write(kind, name, data=data)
