"""Write and read the manifest of a release: its files with their digests.

A second release uses it to find the files that a student has changed. `grade protect` uses it to find
files that decide about points and were changed or added.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from fnmatch import fnmatch
from pathlib import Path
from typing import Any

from grader.course.catalog import MANIFEST, CourseError, is_release
from grader.course.files import read_file, safe_parts
from grader.errors import too_new
from grader.texts.escaping import harmless

NAME, VERSION = MANIFEST, 1
DAMAGED = f"{NAME} is damaged: restore it from the release."
LARGEST_PART = 256 << 20  # bytes of one file of a release
OWN = "exercises/"  # the only files that a student may change
#: Where an added file can change a verdict, and the names of such files in the top folder.
FOLDERS = ("tests", "keys", "vendor", "solutions", "grader", ".github")
PATTERNS = ("*.py", "*.pth", "*.toml", "*.ini", "*.cfg", "requirements*.txt")


def digest(data: bytes) -> str:
    """Return the SHA-256 of a file's content; Windows and Unix line ends give the same digest."""
    return hashlib.sha256(data.replace(b"\r\n", b"\n")).hexdigest()


def to_text(files: dict[str, bytes], **about: object) -> str:
    """Return the manifest of these files as JSON, with the facts in `about`."""
    listed = {name: digest(data) for name, data in sorted(files.items())}
    return json.dumps({"version": VERSION, **about, "files": listed}, indent=1) + "\n"


def read_list(root: Path) -> dict[str, str]:
    """Return digests by file name, or an empty dict if there is no manifest. Raises CourseError if it cannot
    be used."""
    return parse_list(_text_in(root)) if is_release(root) else {}


def parse_list(text: str) -> dict[str, str]:
    """Return digests by file name from the text of a manifest. Raises CourseError if it cannot be used."""
    found = {str(name): str(value) for name, value in _parsed(text)["files"].items()}
    outside = next((name for name in found if not safe_parts(name)), None)
    if outside is not None:
        named = harmless(outside[:80], one_line=True)
        raise CourseError(f"{NAME} is damaged: it names {named}, which is not in this folder.")
    return found


def read_options(root: Path) -> dict[str, object]:
    """Return the options of the last release into a folder; empty if the manifest has none."""
    found = read_about(root).get("options")
    return found if isinstance(found, dict) else {}


def read_about(root: Path) -> dict[str, object]:
    """Return what a manifest says beside its list of files. Raises CourseError if it cannot be used."""
    found = _parsed(_text_in(root)) if is_release(root) else {}
    return {name: value for name, value in found.items() if name not in ("version", "files")}


def _text_in(root: Path) -> str:
    try:
        return read_file(root / NAME).decode()
    except (OSError, ValueError):
        raise CourseError(DAMAGED) from None


def _parsed(text: str) -> dict[str, Any]:
    """Return a manifest with its list of files. Raises CourseError for another version or a damaged one."""
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        raise CourseError(DAMAGED) from None
    version = found.get("version") if isinstance(found, dict) else None
    if type(version) is int and version == VERSION and isinstance(found.get("files"), dict):
        return dict(found)
    raise CourseError(too_new(NAME, version, VERSION) or DAMAGED)


def differences(root: Path, against: Path | None = None) -> list[str]:
    """Return what differs from the release among the files that can judge: `changed: …`, `missing: …`,
    `added: …`.

    The release is the instructor's folder `against`, or else what the folder says about itself, which a
    student can change as well. Raises CourseError if there is no release.
    """
    listed = read_list(against or root)
    if not listed:
        raise CourseError("This folder is no release: there is no list of its files.")
    if against is not None:
        listed = {name: digest_of(against / name) for name in (*listed, NAME)}
    protected = {name: value for name, value in listed.items() if not name.startswith(OWN)}
    found = {
        name: "changed" if (root / name).is_file() else "missing"
        for name, value in protected.items()
        if digest_of(root / name) != value
    }
    found |= {name: "added" for name in _that_can_judge(root) if name not in listed and name != NAME}
    return [f"{what}: {name}" for name, what in sorted(found.items())]


def _that_can_judge(root: Path) -> Iterator[str]:
    """Yield the files that could change a verdict if they were added."""
    inside = (path for folder in FOLDERS for path in (root / folder).rglob("*"))
    for path in (*root.iterdir(), *inside):
        name = path.relative_to(root).as_posix()
        matches = "/" in name or any(fnmatch(name, pattern) for pattern in PATTERNS)
        if matches and (path.is_symlink() or path.is_file()) and not _is_own_bytecode(path):
            yield name


def _is_own_bytecode(path: Path) -> bool:
    """Return whether Python made this file itself and checks that it belongs to its source.

    Python never checks bytecode with a flag in its second word, so such a file can stand in for its source.
    """
    if path.suffix != ".pyc" or path.parent.name != "__pycache__" or path.is_symlink():
        return False
    try:
        return read_file(path)[4:8] == bytes(4)
    except OSError:
        return False


def digest_of(path: Path) -> str:
    """Return the digest of a file; empty if there is none that can be read."""
    try:
        return digest(read_file(path, LARGEST_PART))
    except OSError:
        return ""
