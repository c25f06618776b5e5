"""Read files that somebody else may have written (answers, `.dojo`, rosters, keys), and write files whole."""

from __future__ import annotations

import errno
import os
import re
import stat
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path, PurePosixPath

try:
    import fcntl
except ModuleNotFoundError:  # Windows
    fcntl = None  # type: ignore[assignment]

Parts = tuple[str, ...]  # of a path

LARGEST = 16 << 20  # bytes of a roster, a manifest, or what is remembered of a course
#: Do not wait for the other end of a FIFO, and do not let a terminal become this process's own.
FLAGS = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_NOCTTY", 0) | getattr(os, "O_BINARY", 0)
NO_LINK = getattr(os, "O_NOFOLLOW", 0)
A_FOLDER = os.O_RDONLY | getattr(os, "O_DIRECTORY", 0)
#: Whether a folder can be held open, and names be looked up in it: everywhere but on Windows.
BY_DESCRIPTOR = fcntl is not None and {os.open, os.mkdir, os.rename, os.unlink, os.stat} <= os.supports_dir_fd
DRAFT = re.compile(r"\..+\.\d+\.dojo-draft")  # what `_draft_of` returns
PATIENCE = 10.0  # seconds to wait for another process that writes in the same folder


class NotReadable(OSError):
    """A path leads to something else than a regular file of limited size; `strerror` says to what."""

    def __init__(self, text: str) -> None:
        super().__init__(errno.EINVAL, text)


class TooLarge(NotReadable):
    """A file has more bytes than the reader takes."""


@contextmanager
def replacing(path: Path, private: bool = False) -> Iterator[Path]:
    """Yield a draft that replaces the file if the block ends well, so that a reader finds all of it or what
    was there before. Raises OSError."""
    path.parent.mkdir(parents=True, exist_ok=True)
    if not BY_DESCRIPTOR:
        draft = path.with_name(_draft_of(path.name))
        draft.unlink(missing_ok=True)
        try:
            draft.touch(0o600 if private else 0o666, exist_ok=False)
            yield draft
            draft.replace(path)
        finally:
            draft.unlink(missing_ok=True)
        return
    folder = os.open(path.parent, A_FOLDER)
    try:
        with _alone_in(folder):
            draft_file, name = _draft_in(folder, path.name, private)
        try:
            yield path.with_name(name)
            os.replace(name, path.name, src_dir_fd=folder, dst_dir_fd=folder)
        finally:
            with suppress(FileNotFoundError):
                os.unlink(name, dir_fd=folder)
            os.close(draft_file)
    finally:
        os.close(folder)


def write_whole(path: Path, data: bytes, private: bool = False) -> None:
    """Write a file and its folder. Raises OSError."""
    with replacing(path, private) as draft:
        draft.write_bytes(data)


def _draft_of(name: str) -> str:
    return f".{name}.{os.getpid()}.dojo-draft"


def _draft_in(folder: int, name: str, private: bool = False) -> tuple[int, str]:
    """Return a new draft for a file of a folder that is open, and its name. It stays locked while it is open,
    which tells it from the draft of a process that was killed."""
    draft = _draft_of(name)
    with suppress(FileNotFoundError):
        os.unlink(draft, dir_fd=folder)  # a student may have left a link of that name
    file = os.open(draft, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600 if private else 0o666, dir_fd=folder)
    with suppress(OSError):
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    return file, draft


@contextmanager
def _alone_in(folder: int) -> Iterator[None]:
    """Keep other processes from beginning to write in a folder that is open, and remove what those that were
    killed have left.

    Neither a process that is stopped nor a file system without locks holds this one up for longer than
    `PATIENCE`.
    """
    is_alone, ends = False, time.monotonic() + PATIENCE
    with suppress(OSError):  # a file system without locks
        while not (is_alone := _locks(folder)) and time.monotonic() < ends:
            time.sleep(0.002)
    try:
        for name in filter(DRAFT.fullmatch, os.listdir(folder) if is_alone else ()):
            _remove_if_left(folder, name)
        yield
    finally:
        if is_alone:
            fcntl.flock(folder, fcntl.LOCK_UN)


def _locks(file: int) -> bool:
    """Lock what is open, and return whether nobody else has. Raises OSError if it cannot be locked."""
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _remove_if_left(folder: int, name: str) -> None:
    with suppress(OSError):
        try:
            draft = os.open(name, FLAGS | NO_LINK, dir_fd=folder)
        except OSError as error:
            if error.errno == errno.ELOOP:
                os.unlink(name, dir_fd=folder)
            raise
        try:
            if _locks(draft):
                os.unlink(name, dir_fd=folder)
        finally:
            os.close(draft)


def read_file(path: Path, limit: int = LARGEST, follows_links: bool = False) -> bytes:
    """Return the content of a regular file of at most `limit` bytes.

    The path is opened once; what was opened is looked at and read. Follow links only where the person who
    runs the grader has named the file. Raises OSError, and NotReadable for a link, a folder, a FIFO, a
    socket, a device, and a file that is too large.
    """
    if not (follows_links or NO_LINK) and path.is_symlink():
        raise NotReadable("is a link")
    return _content_of(path, FLAGS if follows_links else FLAGS | NO_LINK, limit)


def _content_of(path: Path | str, flags: int, limit: int, folder: int | None = None) -> bytes:
    try:
        opened = os.open(path, flags, dir_fd=folder)
    except ValueError:
        raise NotReadable("has a name that no file can have") from None
    except OSError as error:
        if error.errno in (errno.ELOOP, errno.EMLINK):
            raise NotReadable("is a link") from None
        if error.errno == errno.ENXIO:
            raise NotReadable("is no regular file") from None
        raise
    try:
        mode = os.fstat(opened).st_mode
        if stat.S_ISDIR(mode):
            raise NotReadable("is a folder")
        if not stat.S_ISREG(mode):
            raise NotReadable("is no regular file")
        with open(opened, "rb", closefd=False) as file:
            data = file.read(limit + 1)
    finally:
        os.close(opened)
    if len(data) > limit:
        raise TooLarge(f"is larger than {limit >> 20} MiB")
    return data


class NotOwn(NotReadable):
    """A folder, or one on the way to a file in it, is a link or no folder."""


class Folder:
    """A folder that somebody else may have filled, such as `.dojo`. No link is followed: not the folder
    itself, and nothing in it. What leads to it is followed, since a person has named it.

    Files are named by their parts: `read("history", "softmax.json")`. Everything raises OSError. On Windows a
    folder cannot be held open: there the parts are looked at one by one, and two commands may write at once.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._is_alone = False

    def read(self, *inner: str, limit: int = LARGEST) -> bytes:
        """Return the content of a regular file."""
        if not BY_DESCRIPTOR:
            self._require_own(inner[:-1])
            return read_file(self.path.joinpath(*inner), limit)
        with self._opened(inner[:-1]) as folder:
            return _content_of(inner[-1], FLAGS | NO_LINK, limit, folder)

    def write(self, data: bytes, *inner: str) -> None:
        """Write a whole file and the folders that lead to it. What a killed process has left is removed."""
        if not BY_DESCRIPTOR:
            self._require_own(inner[:-1])
            write_whole(self.path.joinpath(*inner), data)
            return
        with ExitStack() as opened:
            opened.enter_context(self.alone())
            top, folder = (
                opened.enter_context(self._opened(parts, makes=True)) for parts in ((), inner[:-1])
            )
            file, draft = _draft_in(top, inner[-1])
            try:
                with open(file, "wb", closefd=False) as writable:
                    writable.write(data)
                os.replace(draft, inner[-1], src_dir_fd=top, dst_dir_fd=folder)
            finally:
                with suppress(FileNotFoundError):
                    os.unlink(draft, dir_fd=top)
                os.close(file)

    @contextmanager
    def alone(self) -> Iterator[None]:
        """Keep other processes from writing until the block ends, so that what is read in it stays true."""
        if self._is_alone or not BY_DESCRIPTOR:
            yield
            return
        with self._opened((), makes=True) as folder, _alone_in(folder):
            self._is_alone = True
            try:
                yield
            finally:
                self._is_alone = False

    def put_aside(self, *inner: str) -> None:
        """Give a damaged file a name that says so, which no file has."""
        name = f"{inner[-1]}.damaged-{time.time_ns()}"
        if not BY_DESCRIPTOR:
            self._require_own(inner[:-1])
            self.path.joinpath(*inner).rename(self.path.joinpath(*inner[:-1], name))
            return
        with self._opened(inner[:-1]) as folder:
            os.rename(inner[-1], name, src_dir_fd=folder, dst_dir_fd=folder)

    def names(self, *inner: str) -> list[str]:
        """Return the names in an inner folder, sorted; none if there is no such folder."""
        with suppress(OSError):
            if not BY_DESCRIPTOR:
                self._require_own(inner)
                return sorted(os.listdir(self.path.joinpath(*inner)))
            with self._opened(inner) as folder:
                return sorted(os.listdir(folder))
        return []

    @contextmanager
    def _opened(self, inner: Parts, makes: bool = False) -> Iterator[int]:
        """Yield the descriptor of an inner folder, which is made if `makes`."""
        if makes:
            self.path.parent.mkdir(parents=True, exist_ok=True)
        folder = os.open(self.path.parent, A_FOLDER)
        try:
            for name in (self.path.name, *inner):
                if makes:
                    with suppress(FileExistsError):
                        os.mkdir(name, dir_fd=folder)
                outer, folder = folder, _inside(folder, name)
                os.close(outer)
            yield folder
        finally:
            os.close(folder)

    def _require_own(self, inner: Parts) -> None:
        place = self.path
        for name in ("", *inner):
            place = place / name
            if place.is_symlink():
                raise NotOwn(f"leads through {name or self.path.name}, which is a link")


def _inside(folder: int, name: str) -> int:
    """Open a folder in one that is open. Raises OSError, and NotOwn for a link or another file."""
    try:
        return os.open(name, A_FOLDER | NO_LINK, dir_fd=folder)
    except OSError as error:
        if error.errno not in (errno.ELOOP, errno.EMLINK, errno.ENOTDIR):
            raise
        is_link = stat.S_ISLNK(os.stat(name, dir_fd=folder, follow_symlinks=False).st_mode)
        raise NotOwn(f"leads through {name}, which is {'a link' if is_link else 'no folder'}") from None


def safe_parts(name: str) -> Parts:
    """Return the parts of a relative path that a file names, such as an archive, a manifest or a roster;
    empty if it is absolute, leaves its folder or is malformed."""
    path = PurePosixPath(name.replace("\\", "/"))
    has_drive = len(path.parts) > 1 and path.parts[0].endswith(":")
    if path.is_absolute() or has_drive or ".." in path.parts or any("\0" in part for part in path.parts):
        return ()
    return path.parts


def text_of(path: Path) -> str:
    """Return the text of a file that somebody else may have written; empty if it cannot be read."""
    try:
        return read_file(path).decode(errors="replace")
    except OSError:
        return ""
