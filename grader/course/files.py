"""The one door for files: read and list what somebody else wrote, and write below a folder that was opened.

Answers, `.dojo`, rosters, manifests, keys and releases come in here, and zips through `archives`. A folder is
opened once, by descriptor, and everything in it is reached from that descriptor: no link is followed, and
none that is put there later. `LIMITS` says how much is taken of one folder or one zip.

Read, parse and import the course's own files; errors name the file and the line.
"""

from __future__ import annotations

import ast
import errno
import importlib.util
import os
import re
import stat
import sys
import time
import types
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from types import TracebackType
from typing import Any, NamedTuple, Self

from grader.errors import CourseError, KataError, reason_of
from grader.reading.source import source_text
from grader.worker.child import kernels

try:
    import fcntl
except ModuleNotFoundError:  # Windows
    fcntl = None  # type: ignore[assignment]

Parts = tuple[str, ...]  # of a path

LARGEST_OWN_FILE = 16 << 20  # bytes of a roster, a manifest, or what is remembered of a course
#: Do not wait for the other end of a FIFO, and do not let a terminal become this process's own.
FLAGS = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_NOCTTY", 0) | getattr(os, "O_BINARY", 0)
NO_LINK = getattr(os, "O_NOFOLLOW", 0)
FOLDER = FLAGS | getattr(os, "O_DIRECTORY", 0)
#: Windows opens nothing relative to a folder; there each name on the way is looked at first.
BY_DESCRIPTOR = os.open in os.supports_dir_fd
DRAFT = re.compile(r"\..+\.\d+\.dojo-draft")  # a draft of any process
PATIENCE = 10.0  # seconds to wait for another process that writes in the same folder


@dataclass(frozen=True)
class Limits:
    """How much is taken of what one person hands in, as a folder or as a zip.

    `members` are files; `size` is that of all files unpacked; `ratio` is how many bytes one packed byte may
    become, in a zip that unpacks to more than `free` bytes; `name` is that of one part of a path.
    """

    members: int = 5_000
    size: int = 256 << 20  # bytes
    ratio: int = 200
    free: int = 64 << 20  # bytes
    depth: int = 8  # folders in folders
    name: int = 255  # bytes


LIMITS = Limits()
#: A platform's zip of a whole class, whose parts are the students'.
CLASS_LIMITS = Limits(members=200_000, size=1 << 40, ratio=2_000, depth=16)


class NotReadable(OSError):
    """A path leads to something else than a regular file of limited size; `strerror` says to what."""

    def __init__(self, text: str) -> None:
        super().__init__(errno.EINVAL, text)


class TooLarge(NotReadable):
    """A file has more bytes than the reader takes."""


@contextmanager
def replacing(path: Path, *, private: bool = False) -> Iterator[Path]:
    """Yield a draft that replaces the file if the block ends well, so that a reader finds all of it or what
    was there before. Raises OSError."""
    with Folder(path.parent, makes=True) as folder, folder.draft(path.name, private=private) as name:
        yield folder.path / name
        folder.rename(name, to=path.name)


def write_whole(path: Path, data: bytes, *, private: bool = False) -> None:
    """Write a file and its folder. Raises OSError."""
    with Folder(path.parent, makes=True) as folder:
        folder.write(path.name, data=data, private=private)


def read_file(path: Path, limit: int = LARGEST_OWN_FILE, *, follows_links: bool = False) -> bytes:
    """Return the content of a regular file of at most `limit` bytes.

    The path is opened once; what was opened is looked at and read. Follow links only where the person who
    runs the grader has named the file. Raises OSError, and NotReadable for a link, a folder, a FIFO, a
    socket, a device, and a file that is too large.
    """
    return _content(_opened(path, follows_links=follows_links), limit)


def _opened(path: str | Path, *, follows_links: bool = False, dir_fd: int | None = None) -> int:
    """Return a descriptor for reading. Raises OSError, and NotReadable for a link."""
    try:
        if not (follows_links or NO_LINK) and os.path.islink(path):
            raise NotReadable("is a link")
        return os.open(path, FLAGS if follows_links else FLAGS | NO_LINK, dir_fd=dir_fd)
    except ValueError:
        raise NotReadable("has a name that no file can have") from None
    except OSError as error:
        raise _named(error) from None


def _named(error: OSError) -> OSError:
    """Return the error, as NotReadable if it says that a path leads to a link or to a device."""
    if error.errno in (errno.ELOOP, errno.EMLINK):
        return NotReadable("is a link")
    return NotReadable("is no regular file") if error.errno == errno.ENXIO else error


def _content(opened: int, limit: int) -> bytes:
    """Return what a descriptor holds, and close it. Raises OSError, and NotReadable."""
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


class FolderEntry(NamedTuple):
    """A name in a folder. `is_folder` is False for a link to a folder."""

    name: str
    is_folder: bool


class Folder:
    """A folder that is opened once: what is in it is listed, read and written from there, over no link.

    `path` says where it was, for messages. Use it in a `with` statement. Paths are parts below the folder:
    names without a slash, and neither `.` nor `..`.
    """

    _is_alone = False

    def __init__(self, path: Path, *, makes: bool = False, follows_links: bool = True) -> None:
        """Open a folder that a person has named; `makes` it if there is none. Without `follows_links` the
        last part of the path must not be a link. Raises OSError, and NotReadable if it is no folder."""
        if makes:
            path.mkdir(parents=True, exist_ok=True)
        self.path = path
        self._fd = self._open(str(path), None, follows_links=follows_links)

    @classmethod
    def _below(cls, path: Path, name: str, fd: int) -> Self:
        folder = cls.__new__(cls)
        folder.path = path
        place, at = (name, fd) if BY_DESCRIPTOR else (str(path), None)
        folder._fd = folder._open(place, at, follows_links=False)
        return folder

    def _open(self, place: str, dir_fd: int | None, *, follows_links: bool) -> int:
        if not BY_DESCRIPTOR:  # Windows opens no folders
            if os.path.islink(place) and not follows_links:
                raise NotReadable("is a link")
            if not os.path.isdir(place):
                raise NotReadable("is no folder")
            return -1
        try:
            return os.open(place, FOLDER if follows_links else FOLDER | NO_LINK, dir_fd=dir_fd)
        except ValueError:
            raise NotReadable("has a name that no folder can have") from None
        except OSError as error:
            if error.errno == errno.ENOTDIR and _is_link(place, dir_fd):
                raise NotReadable("is a link") from None
            if error.errno == errno.ENOTDIR:
                raise NotReadable("is no folder") from None
            raise _named(error) from None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Close the folder; a second call does nothing."""
        if self._fd >= 0:
            os.close(self._fd)
        self._fd = -1

    def entries(self, most: int = LIMITS.members) -> list[FolderEntry]:
        """Return what is in the folder, sorted by name. Raises OSError, and NotReadable if it is too much."""
        found: list[FolderEntry] = []
        with os.scandir(self._fd if BY_DESCRIPTOR else self.path) as entries:
            for entry in entries:
                if len(found) >= most:
                    raise NotReadable(f"holds more than {most:,} files")
                found.append(FolderEntry(entry.name, entry.is_dir(follow_symlinks=False)))
        return sorted(found)

    def folder(self, *parts: str, makes: bool = False) -> Folder:
        """Open a folder below this one; `makes` those that are missing. Raises OSError, and NotReadable."""
        _require_inside(parts)
        here: Folder = self
        for name in parts:
            try:
                if makes:
                    with suppress(FileExistsError):
                        os.mkdir(*here._place(name), **here._at())
                below = Folder._below(here.path / name, name, here._fd)
            finally:
                if here is not self:
                    here.close()
            here = below
        return here

    def read(self, *parts: str, limit: int = LARGEST_OWN_FILE) -> bytes:
        """Return the content of a regular file below this folder. Raises OSError, and NotReadable."""
        _require_inside(parts)
        with self._parent(parts) as parent:
            (place,) = parent._place(parts[-1])
            return _content(_opened(place, dir_fd=parent._at().get("dir_fd")), limit)

    def write(self, *parts: str, data: bytes, private: bool = False) -> None:
        """Write a file below this folder, and the folders on its way, so that a reader finds all of it or
        what was there before. A link of that name is replaced, not followed. Raises OSError."""
        _require_inside(parts)
        with self._parent(parts, makes=True) as parent, self.draft(parts[-1], private=private) as name:
            flags = os.O_WRONLY | NO_LINK | getattr(os, "O_BINARY", 0)
            with open(os.open(*self._place(name), flags, **self._at()), "wb") as file:
                file.write(data)
            self._replace(name, parts[-1], parent)

    @contextmanager
    def draft(self, name: str, *, private: bool = False) -> Iterator[str]:
        """Yield the name of a new file in this folder, which is removed after the block unless it has another
        name by then. Raises OSError.

        It is locked meanwhile, which tells it from the draft of a process that was killed.
        """
        draft = os.fsdecode(os.fsencode(f".{name}")[:200]) + f".{os.getpid()}.dojo-draft"
        (place,), at = self._place(draft), self._at()
        flags = os.O_RDWR | os.O_CREAT | os.O_EXCL | NO_LINK
        with self.alone():
            with suppress(FileNotFoundError):  # a student may have left a link of that name
                os.unlink(place, **at)
            file = os.open(place, flags, 0o600 if private else 0o666, **at)
            with suppress(OSError):  # a file system without locks
                _locks(file)
        if fcntl is None:
            os.close(file)  # Windows renames no file that is open
        try:
            yield draft
        finally:
            if fcntl is not None:
                os.close(file)
            with suppress(FileNotFoundError):
                os.unlink(place, **at)

    @contextmanager
    def alone(self) -> Iterator[None]:
        """Keep other processes from writing in this folder until the block ends, so that what is read in it
        stays true, and remove the drafts of those that were killed.

        Neither a process that is stopped nor a system without locks holds this one up for longer than
        `PATIENCE`.
        """
        if self._is_alone or fcntl is None:
            yield
            return
        ends = time.monotonic() + PATIENCE
        with suppress(OSError):  # a file system without locks
            while not (is_alone := _locks(self._fd)) and time.monotonic() < ends:
                time.sleep(0.002)
            self._is_alone = is_alone
        try:
            for name in filter(DRAFT.fullmatch, os.listdir(self._fd) if self._is_alone else ()):
                self._remove_if_left(name)
            yield
        finally:
            if self._is_alone:
                fcntl.flock(self._fd, fcntl.LOCK_UN)
            self._is_alone = False

    def _remove_if_left(self, draft: str) -> None:
        with suppress(OSError):
            try:
                file = _opened(draft, dir_fd=self._fd)
            except NotReadable:  # a link
                os.unlink(draft, dir_fd=self._fd)
                return
            try:
                if _locks(file):
                    os.unlink(draft, dir_fd=self._fd)
            finally:
                os.close(file)

    def remove(self, *parts: str) -> None:
        """Remove a file or a link below this folder; nothing if there is none. Raises OSError."""
        _require_inside(parts)
        with suppress(FileNotFoundError), self._parent(parts) as parent:
            os.unlink(*parent._place(parts[-1]), **parent._at())

    def rename(self, *parts: str, to: str) -> None:
        """Give a file below this folder another name in the same folder. Raises OSError."""
        _require_inside((*parts, to))
        with self._parent(parts) as parent:
            parent._replace(parts[-1], to, parent)

    def _replace(self, name: str, by: str, folder: Folder) -> None:
        """Give a file of this folder another name in another one."""
        here, there = (self._fd, folder._fd) if BY_DESCRIPTOR else (None, None)
        os.replace(*self._place(name), *folder._place(by), src_dir_fd=here, dst_dir_fd=there)

    def _parent(self, parts: Parts, *, makes: bool = False) -> Folder:
        """Return the folder of a path, opened anew."""
        return self.folder(*parts[:-1], makes=makes) if len(parts) > 1 else self._again()

    def _again(self) -> Folder:
        copy = Folder.__new__(Folder)
        copy.path, copy._fd = self.path, os.dup(self._fd) if BY_DESCRIPTOR else -1
        return copy

    def _place(self, name: str) -> tuple[str]:
        return (name if BY_DESCRIPTOR else str(self.path / name),)

    def _at(self) -> dict[str, Any]:
        return {"dir_fd": self._fd} if BY_DESCRIPTOR else {}


def _locks(file: int) -> bool:
    """Lock what is open, and return whether nobody else has. Raises OSError if it cannot be locked."""
    if fcntl is None:
        return False
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _is_link(place: str, dir_fd: int | None) -> bool:
    with suppress(OSError):
        return stat.S_ISLNK(os.stat(place, dir_fd=dir_fd, follow_symlinks=False).st_mode)
    return False


def _require_inside(parts: Parts) -> None:
    """Raise NotReadable unless every part is the name of something in a folder."""
    if not parts or any(part in ("", ".", "..") or "/" in part or "\0" in part for part in parts):
        raise NotReadable("leads out of its folder")


def read_below(root: Path, parts: Parts, limit: int = LARGEST_OWN_FILE) -> bytes:
    """Return the content of a file below a folder that somebody else filled; no link on the way is followed.
    Raises OSError, and NotReadable."""
    with Folder(root, follows_links=False) as folder:
        return folder.read(*parts, limit=limit)


def safe_parts(name: str) -> Parts:
    """Return the parts of a relative path that a file names, such as an archive, a manifest or a roster;
    empty if it is absolute, leaves its folder or is malformed."""
    path = PurePosixPath(name.replace("\\", "/"))
    has_drive = len(path.parts) > 1 and path.parts[0].endswith(":")
    if path.is_absolute() or has_drive or ".." in path.parts or any("\0" in part for part in path.parts):
        return ()
    return path.parts


def text_of(path: Path) -> str:
    """Return the source in a file that somebody else may have written; empty if it cannot be read."""
    try:
        data = read_file(path)
    except OSError:
        return ""
    try:
        return source_text(data)
    except (UnicodeError, LookupError):
        return data.decode(errors="replace")


def parse(path: Path) -> ast.Module:
    """Return the syntax tree of one of the course's own files. Raises KataError, CourseError."""
    try:
        return ast.parse(read(path), filename=path.name)
    except SyntaxError as error:
        raise KataError(f"{shorten(path)} has a syntax error in line {error.lineno}: {error.msg}.") from None


def read(path: Path) -> str:
    """Return the text of one of the course's own files. Raises KataError, CourseError."""
    if not path.is_file():
        raise CourseError(f"The file {shorten(path)} is missing.")
    try:
        source = read_file(path, follows_links=True).decode()
    except UnicodeDecodeError:
        source = "\0"
    except OSError as error:
        raise CourseError(f"{shorten(path)} cannot be read: {reason_of(error)}.") from None
    if "\0" in source:
        raise KataError(f"{shorten(path)} cannot be read as Python: save it as UTF-8.")
    return source


def load_file(name: str, path: Path) -> types.ModuleType:
    """Import one of the course's own files, never a submission, as the module `name`. Raises CourseError if
    it is missing, and KataError if it cannot be imported."""
    source = read(path)
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    try:
        kernels.give_to(vars(module), source)
        spec.loader.exec_module(module)
    except SyntaxError:
        parse(path)  # raises a KataError with the line
        raise
    except KataError:
        raise
    except Exception as error:
        line = line_of(error, path)
        raise KataError(
            f"{shorten(path)} cannot be loaded: line {line} raises {message_of(error)}."
        ) from error
    return module


def line_of(error: BaseException, path: Path) -> int:
    """Return the last line of `path` in an error's traceback, or 0 if the file is not in it."""
    import traceback  # imported late, since `grade list` does not need it

    frames = traceback.extract_tb(error.__traceback__)
    return next((frame.lineno or 0 for frame in reversed(frames) if frame.filename == str(path)), 0)


def message_of(error: BaseException) -> str:
    """Return an error as `ValueError: its message`, on one line."""
    said = " ".join(str(error).split())
    return f"{type(error).__name__}: {said}".rstrip(": .")


def shorten(path: Path) -> str:
    """Return the path relative to the current folder if it lies below it, else the file's name."""
    try:
        return str(path.absolute().relative_to(Path.cwd()))
    except ValueError:
        return path.name


def from_here(path: Path) -> str:
    """Return the path from the current folder, or the absolute one if it lies more than two folders up."""
    relative = os.path.relpath(path)
    return str(path.absolute()) if relative.startswith(os.path.join("..", "..", "..")) else relative


def cache_folder() -> Path:
    """Return the cache folder: in `$XDG_CACHE_HOME` or `~/.cache`, or else among the temporary files."""
    chosen = os.environ.get("XDG_CACHE_HOME")
    try:
        return (Path(chosen) if chosen else Path.home() / ".cache") / "decoder-dojo"
    except RuntimeError:  # this user has no home folder
        import tempfile

        return Path(tempfile.gettempdir()) / "decoder-dojo"
