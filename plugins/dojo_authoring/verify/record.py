"""Remember with which content `kata verify` found each kata ready, in `solutions/verified.toml`.

The file belongs into the course's repository, so that whoever releases the course knows what a colleague or a
workflow has verified. A verification holds for all versions of the grader that judge alike: a patch version
changes no verdict on a right answer or a known mistake, so major and minor number say which they are.
"""

from __future__ import annotations

import hashlib
import json
import tomllib
from collections.abc import Iterable
from dataclasses import dataclass, fields
from datetime import date
from pathlib import Path

import grader
from grader.course.catalog import Course, CourseError, KataInfo
from grader.course.files import write_whole
from grader.errors import reason_of

VERIFIED_FILE = "verified.toml"
HEAD = "# Written by `kata verify`: when each kata was found ready, with which content, by which grader.\n"
UNVERIFIED = "unverified"


@dataclass(frozen=True)
class Verification:
    """The digest of a kata's files that were found ready, the day, and the version of the grader."""

    digest: str
    day: str
    grader: str

    def holds_like(self, other: Verification) -> bool:
        """Return whether both say the same: of the same files, by graders that judge alike."""
        return self.digest == other.digest and judge_alike(self.grader, other.grader)

    def __str__(self) -> str:
        return f"{self.day} {self.digest} {self.grader}"


def judge_alike(version: str, other: str) -> bool:
    """Return whether two versions of the grader have the same major and minor number."""
    return version.split(".")[:2] == other.split(".")[:2]


def record_path(course: Course) -> Path:
    return course.root / "solutions" / VERIFIED_FILE


def digest_of(course: Course, info: KataInfo) -> str:
    """Return a digest of the kata's stub, declaration and solutions, with LF line ends."""
    paths = [course.stub(info), info.path, *sorted(course.folder(info).rglob("*.py"))]
    paths += [course.edits(info)]
    paths += [course.solution(info, part) for part in info.kind.shared]
    texts = [path.read_bytes().replace(b"\r\n", b"\n") for path in paths if path.is_file()]
    parts = b"".join(hashlib.sha256(text).digest() for text in texts)
    return hashlib.sha256(parts).hexdigest()[:16]


def read_record(course: Course) -> dict[str, Verification]:
    """Return what was verified, by kata. Raises CourseError if the file is damaged."""
    path = record_path(course)
    if not path.is_file():
        return {}
    try:
        found = tomllib.loads(path.read_text(encoding="utf-8"))
        return {
            name: Verification(*(str(one[key.name]) for key in fields(Verification)))
            for name, one in found.items()
        }
    except (OSError, ValueError, TypeError, KeyError):
        raise CourseError(
            f"solutions/{VERIFIED_FILE} is damaged: delete it, and run `kata verify` again."
        ) from None


def write_record(course: Course, ready: list[KataInfo], others: Iterable[KataInfo] = ()) -> None:
    """Remember that the katas in `ready` are verified as they are; forget `others`. Raises CourseError."""
    known = read_record(course)
    for info in others:
        known.pop(info.name, None)
    for info in ready:
        now, before = _as_verified_now(course, info), known.get(info.name)
        if before is None or not before.holds_like(now):  # else the file would have needless changes
            known[info.name] = now
    lines = [
        f"{name} = {{ digest = {json.dumps(one.digest)}, day = {json.dumps(one.day)},"
        f" grader = {json.dumps(one.grader)} }}\n"
        for name, one in sorted(known.items())
        if name in course.katas
    ]
    text = HEAD + "".join(lines)
    path = record_path(course)
    try:
        if lines or path.is_file():
            write_whole(path, text.encode())
    except OSError as error:
        raise CourseError(f"solutions/{VERIFIED_FILE} cannot be written: {reason_of(error)}.") from None


def _as_verified_now(course: Course, info: KataInfo) -> Verification:
    return Verification(digest_of(course, info), date.today().isoformat(), grader.__version__)


def verification(course: Course, info: KataInfo) -> Verification | None:
    """Return the verification of the kata as it is now, by a grader that judges alike; None if there is
    none."""
    return _current(read_record(course), course, info)


def unverified(course: Course, infos: Iterable[KataInfo]) -> list[KataInfo]:
    """Return the katas that are not verified as they are now, by a grader that judges alike."""
    known = read_record(course)
    return [info for info in infos if _current(known, course, info) is None]


def _current(known: dict[str, Verification], course: Course, info: KataInfo) -> Verification | None:
    """Return what a record says of a kata, if that holds of the kata as it is now; else None."""
    found = known.get(info.name)
    return found if found and found.holds_like(_as_verified_now(course, info)) else None


def part_of(course: Course, part: int, parts: int) -> tuple[str, ...]:
    """Return the names of the katas that are not verified as they are now, and of every `parts`-th kata of
    the course from number `part` on, in the course's order. Numbers count from 1. Raises CourseError if there
    is no such part."""
    if not 1 <= part <= parts:
        raise CourseError(f"There is no part {part} of {parts}: parts are numbered from 1.")
    infos = list(course.katas.values())
    due = {info.name for info in (*infos[part - 1 :: parts], *unverified(course, infos))}
    return tuple(name for name in course.katas if name in due)


def described(course: Course, info: KataInfo) -> str:
    """Return when the kata was verified, on which content and by which grader, or `unverified`."""
    return str(verification(course, info) or UNVERIFIED)


def require_verified(course: Course, infos: list[KataInfo], *, allows_unverified: bool) -> None:
    """Raise CourseError if a kata is not verified as it is now."""
    lacking = [] if allows_unverified else unverified(course, infos)
    if lacking:
        name, known = lacking[0].name, read_record(course).get(lacking[0].name)
        text = "is not verified"
        if known is not None and not judge_alike(known.grader, grader.__version__):
            text = f"was verified by version {known.grader} of the grader, and this is {grader.__version__}"
        elif known is not None:
            text = f"was changed since it was verified on {known.day}"
        more = f" (and {len(lacking) - 1} more)" if len(lacking) > 1 else ""
        names = " ".join(info.name for info in lacking) if len(lacking) < 6 else ""
        command = f"kata verify {names}".rstrip()
        raise CourseError(f"`{name}` {text}{more}: run `{command}`, or hand it out with --unverified.")
