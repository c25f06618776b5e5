"""Read files that somebody else may have written (answers, `.dojo`, rosters, keys), and write files whole."""

from __future__ import annotations

import errno
import os
import stat
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path, PurePosixPath

Parts = tuple[str, ...]  # of a path

LARGEST = 16 << 20  # bytes of a roster, a manifest, or what is remembered of a course
#: Do not wait for the other end of a FIFO, and do not let a terminal become this process's own.
FLAGS = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_NOCTTY", 0) | getattr(os, "O_BINARY", 0)
NO_LINK = getattr(os, "O_NOFOLLOW", 0)


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
    draft = path.with_name(f".{path.name}.{os.getpid()}.draft")
    try:
        draft.unlink(missing_ok=True)  # a student may have left a link of that name
        draft.touch(0o600 if private else 0o666, exist_ok=False)
        yield draft
        draft.replace(path)
    finally:
        draft.unlink(missing_ok=True)


def write_whole(path: Path, data: bytes, private: bool = False) -> None:
    """Write a file and its folder. Raises OSError."""
    with replacing(path, private) as draft:
        draft.write_bytes(data)


def read_file(path: Path, limit: int = LARGEST, follows_links: bool = False) -> bytes:
    """Return the content of a regular file of at most `limit` bytes.

    The path is opened once; what was opened is looked at and read. Follow links only where the person who
    runs the grader has named the file. Raises OSError, and NotReadable for a link, a folder, a FIFO, a
    socket, a device, and a file that is too large.
    """
    try:
        if not (follows_links or NO_LINK) and path.is_symlink():
            raise NotReadable("is a link")
        opened = os.open(path, FLAGS if follows_links else FLAGS | NO_LINK)
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


def put_aside(path: Path) -> None:
    """Give a damaged file a name that says so, which no file has. Raises OSError."""
    path.rename(path.with_name(f"{path.name}.damaged-{time.time_ns()}"))


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
