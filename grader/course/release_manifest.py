"""Write and read the manifest of a release: its files with their digests.

A second release uses it to find the files that a student has changed. `grade --protect` uses it to find
changed files that decide about points.
"""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

from grader.course.catalog import CourseError

NAME = ".dojo-release.json"
OWN = "exercises/"  # the only files that a student may change


def digest(data: bytes) -> str:
    """Return the SHA-256 of a file's content; Windows and Unix line ends give the same digest."""
    return hashlib.sha256(data.replace(b"\r\n", b"\n")).hexdigest()


def to_text(files: dict[str, bytes]) -> str:
    """Return the manifest of these files as JSON."""
    listed = {name: digest(data) for name, data in sorted(files.items())}
    return json.dumps({"version": 1, "files": listed}, indent=1) + "\n"


def read_list(root: Path) -> dict[str, str]:
    """Return digests by file name, or an empty dict if there is no manifest. Raises CourseError if it is
    damaged."""
    file = root / NAME
    if not file.is_file():
        return {}
    try:
        return {str(name): str(value) for name, value in json.loads(file.read_text("utf-8"))["files"].items()}
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        raise CourseError(f"{NAME} is damaged: restore it from the release.") from None


def changed_files(root: Path) -> list[str]:
    """Return the files outside of `exercises/` that are missing or differ from the release. Raises
    CourseError if the folder is not a release."""
    listed = read_list(root)
    if not listed:
        raise CourseError("This folder is no release: there is no list of its files.")
    protected = {name: value for name, value in listed.items() if not name.startswith(OWN)}
    return sorted(name for name, value in protected.items() if _digest_of(root / name) != value)


def _digest_of(path: Path) -> str:
    return digest(path.read_bytes()) if path.is_file() else ""
