"""Change several files of a course, or none of them."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

from grader.course.catalog import CourseError, shorten
from grader.course.files import read_file, write_whole
from grader.errors import reason_of


class Changes:
    """The changes of one `all_or_nothing` block. Each raises OSError."""

    def __init__(self, undo: ExitStack) -> None:
        self._undo = undo
        self._removed: list[Path] = []

    def write(self, path: Path, text: str) -> None:
        """Write a file and its folders."""
        before = read_file(path, follows_links=True) if path.exists() else None
        missing = [folder for folder in path.parents if not folder.exists()]
        self._undo.callback(_put_back, path, before, missing)
        try:
            write_whole(path, text.encode())
        except OSError as error:
            error.filename = str(path)  # a full disk names none
            raise

    def move(self, path: Path, to: Path) -> None:
        """Rename a file, a folder or a link. Raises FileExistsError if something has the new name already."""
        if os.path.lexists(to):
            raise FileExistsError(0, "file exists", str(to))
        path.rename(to)
        self._undo.callback(to.rename, path)

    def remove(self, path: Path) -> None:
        """Remove a file, a link, or a folder with all that is in it. It gets another name at once, and is
        deleted when the block has ended well."""
        aside = path.with_name(f".{path.name[:200]}.{os.getpid()}.removed")
        self.move(path, aside)
        self._removed.append(aside)

    def finish(self) -> None:
        """Delete what was removed."""
        for path in self._removed:
            with suppress(OSError):
                shutil.rmtree(path) if path.is_dir() and not path.is_symlink() else path.unlink()


@contextmanager
def all_or_nothing() -> Iterator[Changes]:
    """Yield what changes files. If the block raises, all changes are taken back. Raises CourseError, in one
    sentence, if a file cannot be changed."""
    with ExitStack() as undo:
        changes = Changes(undo)
        try:
            yield changes
        except OSError as error:
            name = shorten(Path(error.filename)) if isinstance(error.filename, str) else "A file"
            raise CourseError(f"{name} cannot be changed: {reason_of(error)}. All is as before.") from None
        undo.pop_all()
    changes.finish()


def _put_back(path: Path, before: bytes | None, missing: list[Path]) -> None:
    """Undo one write: give the file its old content `before`. If it is None, the file is new: remove it, and
    the `missing` folders that were made for it."""
    with suppress(OSError):
        if before is not None:
            write_whole(path, before)
            return
        path.unlink(missing_ok=True)
        for folder in missing:
            folder.rmdir()
