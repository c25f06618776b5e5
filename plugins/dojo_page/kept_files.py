"""A student's files in the memory of a browser's worker, and what has to be kept of them outside of it.

They have the names that they have in a course's folder: what is in `exercises` and differs from what was
shipped, and all that is in `.dojo`. So they can be packed and unpacked in a clone, and back.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path, PurePosixPath

from dojo_authoring.release.wheel import zipped
from grader.course.archives import Zip
from grader.course.catalog import Course
from grader.course.files import Folder, Limits, NotReadable, Parts
from grader.course.state import STATE_FILE, STATE_FOLDER, STATE_VERSION, CourseState
from grader.course.stubs import BEST_COPIES, REPLACED_COPIES, STUB_COPIES
from grader.errors import CourseError
from grader.texts.bounds import first_names
from grader.texts.escaping import one_line
from grader.texts.phrases import counted

EXERCISES = "exercises"
#: What is in `.dojo`, beside the state itself.
KEPT = (STUB_COPIES, BEST_COPIES, REPLACED_COPIES, "history")
LIMITS = Limits(members=5_000, size=32 << 20, free=4 << 20)
LARGEST = 4 << 20  # bytes of one file
NO_ZIP = "This is no zip of a course's files: {}."
NOTHING = "Nothing was brought in: the zip holds no file of this course."

Stamp = tuple[int, int, int]


@dataclass(frozen=True)
class Brought:
    """The files of a zip by path, and the names of those that belong to no kata of the course."""

    files: Mapping[Parts, bytes]
    left_out: tuple[str, ...]


class KeptFiles:
    """The files of a student below the folder of a course. What is there at first is shipped."""

    def __init__(self, course: Course) -> None:
        self.course, self.root = course, course.root
        self._shipped = {name: path.read_bytes() for name, path in self._paths().items()}
        self._known = self._now = self._stamps()

    def changes(self) -> dict[str, bytes | None]:
        """Return by path what is not kept yet; None for a file that is gone. `note_kept` says that it is."""
        now, found = self._stamps(), dict[str, bytes | None]()
        self._now = now
        for name in {*now, *self._known}:
            if now.get(name) != self._known.get(name):
                path = self.root / name
                found[name] = path.read_bytes() if name in now else None
        return found

    def note_kept(self) -> None:
        """Note that the last changes are kept outside."""
        self._known = self._now

    def take(self, kept: Mapping[str, bytes]) -> None:
        """Let the files be those that are kept outside, and for the rest those that were shipped."""
        due = {**self._shipped, **kept}
        for name in self._known:
            if name not in due:
                (self.root / name).unlink(missing_ok=True)
        for name, data in due.items():
            path = self.root / name
            if not path.is_file() or path.read_bytes() != data:
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_bytes(data)
        self._known = self._stamps()

    def packed(self) -> bytes:
        """Return a zip of all that the student has written, and of what is remembered."""
        found = {name: path.read_bytes() for name, path in self._paths().items()}
        return zipped({name: found[name] for name in sorted(found) if found[name] != self._shipped.get(name)})

    def bring_in(self, data: bytes) -> str:
        """Unpack a zip, and say what was taken. What the course remembers of a kata is replaced by what the
        zip remembers of it. Raises CourseError."""
        brought = self._brought(data)
        state = brought.files.get((STATE_FOLDER, STATE_FILE))
        files = {**brought.files}
        if state is not None:
            files[STATE_FOLDER, STATE_FILE] = self._joined(state)
        try:
            with Folder(self.root, follows_links=False) as folder:
                for parts, content in files.items():
                    folder.write(*parts, data=content)
        except OSError as error:
            raise CourseError(f"The files cannot be written: {error.strerror}.") from None
        katas = sum(parts[0] == EXERCISES for parts in files)
        told = f"Brought in: {counted(katas, 'kata')}{', and what is remembered' if state else ''}."
        if brought.left_out:
            names = first_names([one_line(name) for name in brought.left_out])
            told += f" Left out, since the course does not have them: {names}."
        return told

    def _brought(self, data: bytes) -> Brought:
        try:
            archive = Zip(data, LIMITS)
            if archive.unsafe:
                raise NotReadable("holds a name that leads out of its folder, or is too long")
            top = _common_folder(archive.members)
            read = {parts[top:]: archive.read(parts, LARGEST) for parts in archive.members}
        except NotReadable as error:
            raise CourseError(NO_ZIP.format(f"it {error.strerror}")) from None
        files = {parts: content for parts, content in read.items() if self._is_ours(parts)}
        if not files:
            raise CourseError(NOTHING)
        return Brought(files, tuple(sorted("/".join(parts) for parts in read if parts not in files)))

    def _is_ours(self, parts: Parts) -> bool:
        """Return whether a path is that of a kata's file, or of what is remembered of it."""
        stem = PurePosixPath(parts[-1]).stem
        match parts:
            case (first, track, _) if first == EXERCISES:
                return parts[-1] == f"{stem}.py" and self._track_of(stem) == track
            case (first, name) if first == STATE_FOLDER:
                return name == STATE_FILE
            case (first, kind, _) if first == STATE_FOLDER and kind in KEPT:
                return self._track_of(stem.partition("-")[0]) != ""
        return False

    def _track_of(self, kata: str) -> str:
        info = self.course.katas.get(kata)
        return info.track if info else ""

    def _joined(self, state: bytes) -> bytes:
        """Return what is remembered here, with what another state remembers in its place."""
        try:
            record = json.loads(state)
            version, katas = record["version"], {**record.get("katas", {})}
        except (ValueError, TypeError, AttributeError, KeyError, RecursionError):
            raise CourseError(NO_ZIP.format("its state.json is damaged")) from None
        if version != STATE_VERSION:
            raise CourseError(NO_ZIP.format("its state.json is of another version")) from None
        here = {name: asdict(kata) for name, kata in CourseState(self.course).katas().items()}
        return json.dumps({"version": version, "katas": {**here, **katas}}).encode()

    def _paths(self) -> dict[str, Path]:
        """Return the files by their names in a course."""
        folders = [self.root / EXERCISES, self.root / STATE_FOLDER]
        found = (path for folder in folders for path in sorted(folder.rglob("*")) if path.is_file())
        return {path.relative_to(self.root).as_posix(): path for path in found if _is_kept(path)}

    def _stamps(self) -> dict[str, Stamp]:
        """Return by name what changes when a file is written."""
        stats = {name: path.stat() for name, path in self._paths().items()}
        return {name: (stat.st_ino, stat.st_mtime_ns, stat.st_size) for name, stat in stats.items()}


def _is_kept(path: Path) -> bool:
    return not path.name.startswith(".") and "__pycache__" not in path.parts


def _common_folder(members: Mapping[Parts, object]) -> int:
    """Return 1 if everything lies in one folder that is none of a course, as where a clone was packed."""
    tops = {parts[0] for parts in members}
    return int(
        len(tops) == 1 and tops.isdisjoint((EXERCISES, STATE_FOLDER)) and all(len(p) > 1 for p in members)
    )
