"""Keep copies of a student's files in `.dojo`: the stubs, the best versions, and what was replaced."""

from __future__ import annotations

import hashlib
from contextlib import suppress
from pathlib import Path

from grader.course.catalog import KataInfo
from grader.course.files import read_file
from grader.course.state import write_whole

STUBS, BEST, REPLACED = "stubs", "best", "replaced"


class Versions:
    """The copies in one folder, a subfolder for each kind."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def keep(self, kind: str, info: KataInfo, path: Path) -> None:
        """Copy the file, unless the same bytes are kept already."""
        with suppress(OSError):
            data = read_file(path)
            if data != self.kept(kind, info):
                write_whole(self._file(kind, info), data)

    def kept(self, kind: str, info: KataInfo) -> bytes | None:
        """Return the copy of this kind, or None if there is none."""
        try:
            return read_file(self._file(kind, info))
        except OSError:
            return None

    def holds(self, path: Path, data: bytes) -> bool:
        """Return whether a student's file holds these bytes."""
        try:
            return read_file(path) == data
        except OSError:
            return False

    def replace(self, info: KataInfo, path: Path, data: bytes) -> Path:
        """Write `data` to the file, and return where a copy of what it held is. Raises OSError."""
        before = read_file(path)
        copy = self.folder / REPLACED / f"{info.name}-{hashlib.sha256(before).hexdigest()[:8]}.py"
        write_whole(copy, before)
        write_whole(path, data)
        return copy

    def _file(self, kind: str, info: KataInfo) -> Path:
        return self.folder / kind / f"{info.name}.py"
