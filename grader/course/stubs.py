"""Find the stub of a kata: a copy that was kept, the installed course, the last one in Git."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from grader.course.catalog import Course, KataInfo
from grader.course.files import text_of
from grader.course.libraries import stub_in_torch
from grader.course.state import STUBS, Versions
from grader.course.submission import Submission, SubmissionRejected, decoded, library_of

#: The course in the package; only in wheels that `kata wheel` builds.
INSTALLED = Path(__file__).resolve().parents[1] / "starter.zip"
MOST_COMMITS = 20  # of a file, that are searched for its stub


def stub_source(course: Course, info: KataInfo, versions: Versions, library: str = "") -> bytes | None:
    """Return the stub of a kata: the copy that was kept, the one in the installed wheel, or the last one that
    was committed to Git; the one in `library`, or in PyTorch for a file in PyTorch. None if there is none."""
    now = library_of(info, text_of(course.stub(info)))
    library = library or (now if now != info.library else "")
    found = (stub_in(library, info, data) for data in _stubs(course, info, versions) if data)
    return next((data for data in found if library in ("", library_of(info, data.decode()))), None)


def _stubs(course: Course, info: KataInfo, versions: Versions) -> Iterator[bytes | None]:
    yield versions.kept(STUBS, info)
    yield _in_wheel(info)
    yield _in_git(info, course.stub(info))


def stub_in(library: str, info: KataInfo, data: bytes) -> bytes:
    """Return a stub in `library`, if that is PyTorch and the kata may be answered in it; else as it is."""
    if library != "torch" or library == info.library or library not in info.libraries:
        return data
    return stub_in_torch(data.decode()).encode()


def is_untouched(info: KataInfo, data: bytes) -> bool:
    with suppress(SubmissionRejected, SyntaxError, ValueError, RecursionError, MemoryError):
        return not Submission(info, decoded(data, info.name), info.name).touched
    return False


def _in_wheel(info: KataInfo) -> bytes | None:
    import zipfile  # the loop starts without it

    with suppress(OSError, KeyError, zipfile.BadZipFile), zipfile.ZipFile(INSTALLED) as archive:
        return archive.read(f"exercises/{info.track}/{info.name}.py")
    return None


def _in_git(info: KataInfo, path: Path) -> bytes | None:
    """Return the last committed version of the file that is a stub."""
    commits = (
        _git(path, "log", f"--max-count={MOST_COMMITS}", "--format=%H", "--", path.name).decode().split()
    )
    versions = (_git(path, "show", f"{commit}:./{path.name}") for commit in commits)
    return next((data for data in versions if data and is_untouched(info, data)), None)


def _git(path: Path, *words: str) -> bytes:
    """Return what Git prints in the folder of a file; nothing if it fails or is missing."""
    with suppress(OSError):
        return subprocess.run(["git", "-C", str(path.parent), *words], capture_output=True).stdout
    return b""
