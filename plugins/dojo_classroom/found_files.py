"""Walk through what one student has handed in: folders, the commits of a repository, or a zip."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import suppress
from datetime import datetime
from functools import partial
from pathlib import Path, PurePosixPath
from typing import NamedTuple

from dojo_classroom.platform_filenames import IGNORED_FOLDERS, SUFFIXES, Owned, Parts, StudentName
from dojo_classroom.times import Commits, HandedIn, Stamp, of_path, unknown_time
from grader.course.archives import Zip
from grader.course.files import LIMITS, Folder, NotReadable
from grader.course.git import Allowance, GitRefused
from grader.course.submission import MAX_BYTES, SUFFIX, SubmissionRejected, Unreadable, read_bytes
from grader.errors import reason_of
from grader.reading.source import LARGEST_NOTEBOOK
from grader.texts.bounds import LONGEST_NAME, cut, first_names

METADATA = "submission_metadata.yml"  # of Gradescope's export
LARGEST_METADATA = 64 << 20  # bytes; it holds everybody's results as well
LARGEST_NESTED = 64 << 20  # bytes of a zip in a zip
MOST_ZIPS = 8  # in one submission
Record = Commits | Stamp  # what says when a file was handed in


class FoundFile(NamedTuple):
    """A file of a student: its path inside the submission, a function that reads it, what Canvas says, and a
    function that says when it was handed in. `trouble` is a sentence if there may be answers that could not
    be looked for, such as in a damaged zip; such a place is no file."""

    inner: Parts
    read: Callable[[], bytes]
    late: bool = False
    upload: int = 0
    time: Callable[[], HandedIn] = unknown_time
    trouble: str = ""


def with_zips_opened(files: Iterator[FoundFile]) -> Iterator[FoundFile]:
    """Yield the files; a zip file of a student is replaced by the files in it."""
    zips = 0
    for file in files:
        if file.trouble or len(file.inner) != 1 or not file.inner[0].casefold().endswith(".zip"):
            yield file
            continue
        zips += 1
        try:
            if zips > MOST_ZIPS:
                raise Unreadable(f"There are more than {MOST_ZIPS} zip files.")
            yield from _members(file)
        except SubmissionRejected as error:
            yield file._replace(trouble=str(error))


def _members(file: FoundFile) -> Iterator[FoundFile]:
    """Yield the files in a student's zip. Raises Unreadable."""
    label = file.inner[0]
    try:
        archive = Zip(file.read())
    except NotReadable as error:
        raise Unreadable(f"{label} {error.strerror}.") from None
    for inner in archive.members:
        yield FoundFile(inner, partial(read_member, archive, inner), file.late, file.upload, file.time)
    if archive.unsafe:
        name = cut(archive.unsafe[0], LONGEST_NAME)
        raise Unreadable(f"{label} holds a file whose name is no place in it: {name}.")
    if not archive.members:
        raise Unreadable(f"{label} holds no file.")


def read_member(archive: Zip, parts: Parts) -> bytes:
    """Return a file in a zip. Raises Unreadable."""
    try:
        return archive.read(parts, limit_of(parts[-1]))
    except NotReadable as error:
        raise Unreadable(f"{parts[-1]} {error.strerror}.") from None


def limit_of(name: str) -> int:
    """Return the largest number of bytes that is read of a file of that name."""
    if name == METADATA:
        return LARGEST_METADATA
    return {".zip": LARGEST_NESTED, SUFFIX: LARGEST_NOTEBOOK}.get(
        PurePosixPath(name).suffix.casefold(), MAX_BYTES
    )


def files_below(path: Path) -> Iterator[FoundFile]:
    """Yield the files of one submission, which is a folder or a zip file."""
    name = StudentName(path.name)
    return walk(path, Owned(name, () if path.is_dir() else (path.name,)))


def walk(
    path: Path, found: Owned, believed: type[Record] | None = None, allowance: Allowance | None = None
) -> Iterator[FoundFile]:
    """Yield every file below a path, or the path itself if it is a file; follow no link. `believed` are the
    records that say when a file was handed in, `allowance` is what Git may do for the student."""
    if path.is_symlink() or not path.is_dir():
        read = reader_of(path.parent, (path.name,))
        yield FoundFile(found.inner, read, found.late, found.upload, of_path(path, None))
        return
    yield from _Walk(path, found.inner, believed, allowance or Allowance()).all_files()


def files_as_of(path: Path, found: Owned, allowance: Allowance, until: datetime) -> Iterator[FoundFile]:
    """Yield the files of the repositories below a path, as they were at a moment."""
    yield from _Walk(path, found.inner, Commits, allowance, until).all_files()


class _Walk:
    """A way through a student's folder, by descriptors. `above` is what the platform's name says of it. With
    `until` it is a way through the commits of the repositories there, each as it was at that moment."""

    def __init__(
        self,
        root: Path,
        above: Parts,
        believed: type[Record] | None,
        allowance: Allowance,
        until: datetime | None = None,
    ) -> None:
        self._root, self._above, self._believed, self._until = root, above, believed, until
        self._allowance = allowance  # for all repositories below the folder
        self._count = 0  # of files

    def all_files(self) -> Iterator[FoundFile]:
        """Yield the files below the folder, at most `LIMITS.members`."""
        try:
            with Folder(self._root, follows_links=False) as folder:
                yield from self._below(folder, ())
        except _TooMany:
            text = f"It holds more than {LIMITS.members:,} files; those after the first were not looked at."
            yield trouble_at(self._above, text)
        except OSError as error:
            yield trouble_at(self._above, f"The folder cannot be opened: {reason_of(error)}.")

    def _below(self, folder: Folder, parts: Parts, record: Record | None = None) -> Iterator[FoundFile]:
        """Yield the files of a folder, and of those in it. Raises OSError and _TooMany."""
        entries = folder.entries()
        names = [entry.name for entry in entries if not entry.is_folder]
        folders = [entry.name for entry in entries if entry.is_folder]
        if self._until and ".git" in folders:
            yield from self._committed(Commits(folder.path, self._allowance), parts, self._until)
            return
        if ".git" in folders:
            own = Commits(folder.path, self._allowance)
            record = own if self._believed is Commits else record
            if text := _of_branches(own):
                yield trouble_at((*self._above, *parts), text)
        if self._believed is Stamp and Stamp.FILE in names:
            names.remove(Stamp.FILE)
            with suppress(OSError, UnicodeDecodeError):
                record = Stamp(folder.read(Stamp.FILE, limit=LONGEST_NAME).decode())
        self._count += len(names)
        if self._count > LIMITS.members:
            raise _TooMany
        for name in names if self._until is None else ():
            yield self._file((*parts, name), of_path(folder.path / name, record))
        for name in folders:
            if name not in IGNORED_FOLDERS and not name.startswith("."):
                yield from self._lower(folder, (*parts, name), record)

    def _committed(self, repository: Commits, parts: Parts, until: datetime) -> Iterator[FoundFile]:
        """Yield the files of the last commit until then, without what a walk leaves out. Raises _TooMany."""
        for inner, when, read in repository.as_of(until):
            if any(name in IGNORED_FOLDERS or name.startswith(".") for name in inner[:-1]):
                continue
            self._count += 1
            if self._count > LIMITS.members:
                raise _TooMany
            yield FoundFile((*self._above, *parts, *inner), read, time=lambda when=when: when)  # type: ignore[misc]

    def _lower(self, folder: Folder, parts: Parts, record: Record | None) -> Iterator[FoundFile]:
        if len(parts) > LIMITS.depth:
            yield self._file(parts)
            return
        before = self._count
        try:
            with folder.folder(parts[-1]) as lower:
                yield from self._below(lower, parts, record)
        except OSError as error:
            text = f"The folder {'/'.join(parts)} cannot be opened: {reason_of(error)}."
            yield trouble_at((*self._above, *parts), text)
        if self._count == before and parts[-1].endswith(SUFFIXES):  # an empty folder of a file's name
            yield self._file(parts)

    def _file(self, parts: Parts, time: Callable[[], HandedIn] = unknown_time) -> FoundFile:
        return FoundFile((*self._above, *parts), reader_of(self._root, parts), time=time)


def _of_branches(commits: Commits) -> str:
    """Return a sentence about answers that may be on other branches; "" if there are none."""
    try:
        others = commits.other_branches()
    except GitRefused as error:
        return f"Whether there is work on another branch is not known: {error}."
    return f"There is work on another branch than the graded one: {first_names(others)}." if others else ""


class _TooMany(Exception):
    """Raised if a submission holds more files than are looked at."""


def trouble_at(inner: Parts, text: str) -> FoundFile:
    """Return a place in which answers could not be looked for, with the reason."""
    return FoundFile(inner or (".",), bytes, trouble=text)


def reader_of(root: Path, inner: Parts) -> Callable[[], bytes]:
    """Return a function that reads a file below a folder."""
    return partial(read_bytes, root.joinpath(*inner), inner[-1], limit_of(inner[-1]), root=root)
