"""Keep copies of a student's files, and find the stub of a kata: a copy that was kept, the installed course,
the last one in Git.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from grader.course import submission
from grader.course.catalog import INSTALLED, Course, KataInfo
from grader.course.files import Folder, read_below, read_file, text_of
from grader.course.git import NoAnswer, Repository
from grader.course.renaming import statement_of
from grader.course.submission import SubmissionRejected, decoded, library_of, parse
from grader.course.torch_words import stub_in_torch

STUB_COPIES, BEST_COPIES, REPLACED_COPIES = "stubs", "best", "replaced"


class Versions:
    """The copies in one folder, a subfolder for each kind."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def keep(self, kind: str, info: KataInfo, path: Path, *, keeps_old: bool = False) -> None:
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
        self._write(REPLACED_COPIES, name, data)
        return self.folder / REPLACED_COPIES / name

    def _write(self, kind: str, name: str, data: bytes) -> None:
        with Folder(self.folder, makes=True, follows_links=False) as folder:
            folder.write(kind, name, data=data)


MOST_COMMITS = 20  # of a file, that are searched for its stub


def stub_source(course: Course, info: KataInfo, versions: Versions, library: str = "") -> bytes | None:
    """Return the stub of a kata: the copy that was kept, the one in the installed wheel, or the last one that
    was committed to Git; the one in `library`, or in PyTorch for a file in PyTorch. None if there is none."""
    now = library_of(info, text_of(course.stub(info)))
    library = library or (now if now != info.library else "")
    found = (stub_in(library, info, data) for data in _stubs(course, info, versions) if data)
    return next((data for data in found if library in ("", library_of(info, data.decode()))), None)


def _stubs(course: Course, info: KataInfo, versions: Versions) -> Iterator[bytes | None]:
    yield versions.kept(STUB_COPIES, info)
    yield _in_wheel(info)
    yield _in_git(info, course.stub(info))


def stub_in(library: str, info: KataInfo, data: bytes) -> bytes:
    """Return a stub in `library`, if that is PyTorch and the kata may be answered in it; else as it is."""
    if library != "torch" or library == info.library or library not in info.libraries:
        return data
    found = submission.statement_of(data.decode())
    return stub_in_torch(data.decode(), found[1] if found else 0).encode()


def is_untouched(info: KataInfo, data: bytes) -> bool:
    with suppress(SubmissionRejected):
        return not parse(info, decoded(data, info.name), info.name).touched
    return False


def _in_wheel(info: KataInfo) -> bytes | None:
    import zipfile  # the loop starts without it

    with suppress(OSError, KeyError, zipfile.BadZipFile), zipfile.ZipFile(INSTALLED) as archive:
        return archive.read(f"exercises/{info.track}/{info.name}.py")
    return None


def _in_git(info: KataInfo, path: Path) -> bytes | None:
    """Return the last committed version of the file that is a stub."""
    with suppress(OSError, NoAnswer):
        repository = Repository.around(path)
        head, place = repository.head(), Path(os.path.abspath(path)).relative_to(repository.root).as_posix()
        words = ("rev-list", f"--max-count={MOST_COMMITS}", head, "--", f":(literal){place}")
        for commit in repository.ask(head, *words).decode().split():
            with suppress(NoAnswer):  # the commit has removed the file
                data = repository.ask(head, "cat-file", "blob", f"{commit}:{place}")
                if is_untouched(info, data):
                    return data
    return None


def course_statement(course: Course, info: KataInfo, versions: Versions) -> str:
    """Return the statement of the stub that was kept, of the course's own one, or else of the file."""
    kept = versions.kept(STUB_COPIES, info)
    sources = (kept, None if kept else stub_source(course, info, versions))
    texts = [data.decode(errors="replace") for data in sources if data]
    texts.append(text_of(course.stub(info)))
    return next(filter(None, map(statement_of, texts)), info.title)
