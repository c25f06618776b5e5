"""What a release consists of: its files with their digests, written beside them.

So a second release knows which files a student has changed, and `grade --protect` which of those that
judge are no longer as they came.
"""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

from grader.course.catalog import CourseError

NAME = ".dojo-release.json"
OWN = "exercises/"  # what is the student's to change


def digest(data: bytes) -> str:
    """Names one state of a file, whatever the ends of its lines."""
    return hashlib.sha256(data.replace(b"\r\n", b"\n")).hexdigest()


def to_text(files: dict[str, bytes]) -> str:
    """The list as JSON."""
    listed = {name: digest(data) for name, data in sorted(files.items())}
    return json.dumps({"version": 1, "files": listed}, indent=1) + "\n"


def read_list(root: Path) -> dict[str, str]:
    """Digests by name; none where there is no list. Raises CourseError where it is damaged."""
    file = root / NAME
    if not file.is_file():
        return {}
    try:
        return {str(name): str(value) for name, value in json.loads(file.read_text("utf-8"))["files"].items()}
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        raise CourseError(f"{NAME} is damaged: restore it from the release.") from None


def changed_files(root: Path) -> list[str]:
    """Files of the release that judge, and are missing or not as they came. Raises CourseError."""
    listed = read_list(root)
    if not listed:
        raise CourseError("This folder is no release: there is no list of its files.")
    judging = {name: value for name, value in listed.items() if not name.startswith(OWN)}
    return sorted(name for name, value in judging.items() if _digest_of(root / name) != value)


def _digest_of(path: Path) -> str:
    return digest(path.read_bytes()) if path.is_file() else ""
