"""Read the files in an untrusted zip archive.

Nothing is unpacked to disk, no path in it is followed, and the sizes that it claims are not trusted.
"""

from __future__ import annotations

import stat
import zipfile
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import PurePosixPath
from typing import IO

from grader.classroom.platform_filenames import Parts
from grader.classroom.times import HandedIn, of_member
from grader.course.catalog import CourseError
from grader.course.files import safe_parts
from grader.course.notebook_cells import LARGEST, SUFFIX
from grader.course.submission import MAX_BYTES, SubmissionRejected

MOST_MEMBERS = 1_000_000
METADATA = "submission_metadata.yml"  # of Gradescope's export
LARGEST_METADATA = 64 << 20  # bytes; it holds everybody's results as well
LARGEST_NESTED = 64 << 20  # bytes of a zip in a zip


def members(
    file: str | IO[bytes], label: str
) -> Iterator[tuple[Parts, Callable[[], bytes], Callable[[], HandedIn]]]:
    """Yield the path of every file, in the order of the archive, a function that reads it, and one that says
    when it was written.

    Raises CourseError if the archive is not a zip file.
    """
    try:
        archive = zipfile.ZipFile(file)
    except (zipfile.BadZipFile, OSError, ValueError, NotImplementedError) as error:
        raise CourseError(f"{label} cannot be read as a zip file: {error}.") from None
    if len(archive.infolist()) > MOST_MEMBERS:
        raise CourseError(f"{label} holds more than {MOST_MEMBERS} files; grade it in parts.")
    for info in archive.infolist():
        parts = safe_parts(info.filename)
        if parts and not info.is_dir():
            yield parts, partial(_read, archive, info), partial(of_member, info)


def limit_of(name: str) -> int:
    """Return the largest number of bytes that is read of a file of that name."""
    if PurePosixPath(name).name == METADATA:
        return LARGEST_METADATA
    return {".zip": LARGEST_NESTED, SUFFIX: LARGEST}.get(PurePosixPath(name).suffix, MAX_BYTES)


def _read(archive: zipfile.ZipFile, info: zipfile.ZipInfo) -> bytes:
    """Return a member's bytes, at most one more than allowed. Raises SubmissionRejected if unreadable."""
    name = PurePosixPath(info.filename).name
    if stat.S_ISLNK(info.external_attr >> 16):
        raise SubmissionRejected(f"{name} is a link; a Python file is needed.")
    if info.flag_bits & 1:
        raise SubmissionRejected(f"{name} is encrypted in its zip file.")
    try:
        with archive.open(info) as file:
            return file.read(limit_of(name) + 1)
    except (zipfile.BadZipFile, OSError, EOFError, NotImplementedError, RuntimeError, ValueError) as error:
        raise SubmissionRejected(f"{name} cannot be read from its zip file: {error}.") from None
    except Exception as error:  # zlib.error, lzma.LZMAError: each compression has its own
        raise SubmissionRejected(f"{name} is damaged in its zip file: {error}.") from None
