"""Find the answer keys: in the file or folder given, or in the course's folder `keys`."""

from __future__ import annotations

import hashlib
from pathlib import Path

from grader.answer_keys.file import MAGIC, KataKey, KeyFile, KeyUnusable
from grader.course.catalog import Course, KataInfo, shorten
from grader.course.files import read_file
from grader.course.release_manifest import is_release
from grader.errors import reason_of

FOLDER = "keys"
SUFFIX = ".key"
LARGEST_FILE = 64 * 2**20


class Keyring:
    """The files of answer keys that a grading uses, in the order in which they are searched."""

    def __init__(self, files: list[KeyFile], label: str) -> None:
        self.files, self.label = files, label

    @property
    def digest(self) -> str:
        """A digest of the contents of all files."""
        return hashlib.sha256("".join(file.digest for file in self.files).encode()).hexdigest()[:16]

    def kata(self, info: KataInfo) -> KataKey:
        """Return the key of a kata. Raises KeyUnusable if there is none, or none for this declaration."""
        for file in self.files:
            if info.name in file.katas:
                if file.katas[info.name].get("declaration") != declaration_digest(info):
                    raise KeyUnusable(
                        f"{file.label}: its answers to `{info.name}` belong to another state of"
                        f" {shorten(info.path)}; restore that file, or get a new key."
                    )
                return KataKey(file, info.name)
        raise KeyUnusable(f"{self.label} holds no answers to `{info.name}`.")


def declaration_digest(info: KataInfo) -> str:
    """Return a digest of a kata's declaration, the same for Windows and Unix line ends."""
    text = info.path.read_bytes().replace(b"\r\n", b"\n")
    return hashlib.sha256(text).hexdigest()[:32]


def open_keyring(
    course: Course, infos: list[KataInfo], path: Path | None, secret: Path | None
) -> Keyring | None:
    """Open the keys at `path`; without a path, those of a course that has no solutions, otherwise none.

    Solutions in a student's copy are not the course's: its keys count. Raises KeyUnusable if one of the katas
    cannot be graded with the keys.
    """
    if not has_keys(course, infos, path):
        return None
    if path is None:
        path = course.root / FOLDER
        if not path.exists():
            raise KeyUnusable(_neither(course, (_unanswered(course, infos) or infos)[0]))
    ring = Keyring([_open(file, secret) for file in _files(path)], shorten(path))
    for info in infos:
        ring.kata(info)
    return ring


def has_keys(course: Course, infos: list[KataInfo], path: Path | None) -> bool:
    """Return whether these katas are graded with keys and not with the solutions; see `open_keyring`."""
    return path is not None or bool(_unanswered(course, infos)) or is_release(course.root)


def _unanswered(course: Course, infos: list[KataInfo]) -> list[KataInfo]:
    return [info for info in infos if not course.solution(info, "reference").is_file()]


def _neither(course: Course, info: KataInfo) -> str:
    reference = course.solution(info, "reference").relative_to(course.root).as_posix()
    return (
        f"`{info.name}` has no reference, {reference}, and the course has no answer keys; write one of them."
    )


def _files(path: Path) -> list[Path]:
    if path.is_dir():
        return sorted(path.glob(f"*{SUFFIX}"))
    return [path]


def _open(path: Path, secret: Path | None) -> KeyFile:
    label = shorten(path)
    try:
        data = read_file(path, LARGEST_FILE, follows_links=True)
    except OSError as error:
        raise KeyUnusable(f"The key {label} cannot be read: {reason_of(error)}.") from None
    if data[: len(MAGIC)] != MAGIC:
        from grader.answer_keys.encryption import (
            is_sealed,
            unseal,
        )  # imported late, since few courses have sealed keys

        if is_sealed(data):
            data = unseal(data, label, secret)
    return KeyFile(data, label)
