"""Write a release into a folder or a student's repository, where what the student has changed is kept."""

from __future__ import annotations

import re
from collections.abc import Container, Iterable
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath

from grader.course import release_manifest, renaming
from grader.course.catalog import CourseError, is_release, shorten
from grader.course.files import Folder, read_below, read_file, safe_parts, text_of
from grader.course.submission import (
    SubmissionRejected,
    is_unwritten,
    read_bytes,
)
from grader.errors import reason_of
from grader.reading.shape import text_digest

LARGEST_FILE = release_manifest.LARGEST_PART
WRONG_CODE = re.compile(rb'ships_wrong_code="(\w{12})"')


@dataclass
class ReleaseOutcome:
    """The files that a release wrote, kept because the student changed them, or removed."""

    written: list[str] = field(default_factory=list)
    kept: list[str] = field(default_factory=list)
    removed: list[str] = field(default_factory=list)

    def notes(self, whole: str = "release") -> list[str]:
        """Return a line for each file that was kept or removed; `whole` is what a removed one belonged to."""
        kept = [f"kept, since it was changed: {name}" for name in self.kept]
        return kept + [f"removed, since it is no longer part of the {whole}: {name}" for name in self.removed]


def write_release(folder: Path, files: dict[str, bytes], **about: object) -> ReleaseOutcome:
    """Write the files, except those that were changed since the last release, and the manifest with the
    facts in `about`. An exercise is replaced or removed only if it is a stub that is known. Raises
    CourseError."""
    if (folder / "solutions").exists():
        raise CourseError(f"{shorten(folder)} holds solutions; a release goes into a folder of its own.")
    before, outcome = release_manifest.read_list(folder), ReleaseOutcome()
    files = {**files, **_corrected_statements(folder, files, before)}
    files |= _moved(folder, files, before, about.get("renamed"))
    wrong_code = _wrong_code(files.values()) | _wrong_code(map(_content, _declarations(folder)))
    try:
        with Folder(folder, makes=True) as theirs:
            for name, data in files.items():
                kept = release_manifest.digest_of(folder / name)
                is_theirs = kept not in (before.get(name), release_manifest.digest(data)) or (
                    kept != release_manifest.digest(data) and not _is_ours(folder, name, wrong_code)
                )
                # in a student's repository a link may lead anywhere
                if _has_link(folder, name) or ((folder / name).is_file() and is_theirs):
                    outcome.kept.append(name)
                    continue
                theirs.write(*safe_parts(name), data=data)
                outcome.written.append(name)
            for name, value in before.items():
                if name in files or _has_link(folder, name):
                    continue
                is_known = release_manifest.digest_of(folder / name) == value
                if is_known and _is_ours(folder, name, wrong_code):
                    theirs.remove(*safe_parts(name))
                    outcome.removed.append(name)
            theirs.write(release_manifest.NAME, data=release_manifest.to_text(files, **about).encode())
    except OSError as error:
        raise CourseError(f"{shorten(folder)} cannot be written: {reason_of(error)}.") from None
    return outcome


def update(release: Path, folder: Path) -> ReleaseOutcome:
    """Bring a release into a student's repository. Raises CourseError, also if the first folder differs from
    its own list of files, as a student's does."""
    listed = release_manifest.read_list(release)
    if not listed or not is_release(folder):
        raise CourseError(
            f"{shorten(folder if listed else release)} is no release: it has no list of its files."
        )
    try:
        files = {name: read_below(release, safe_parts(name), LARGEST_FILE) for name in listed}
    except OSError as error:
        raise CourseError(f"{shorten(release)} is not whole: {reason_of(error)}; release again.") from None
    changed = next((name for name in listed if release_manifest.digest(files[name]) != listed[name]), None)
    if changed is not None:
        raise CourseError(
            f"{shorten(release)} is no release as it was written: {changed} was changed. Name the release"
            f" first, then the student's folder: kata update RELEASE FOLDER"
        )
    return write_release(folder, files, **release_manifest.read_about(release))


def _is_ours(folder: Path, name: str, wrong_code: Container[str]) -> bool:
    """Return whether a file is none of a student's: no exercise, a stub, or the wrong code of a kata that is
    to be repaired. A list of files may say anything."""
    if not name.startswith(release_manifest.OWN) or not name.endswith(".py"):
        return True
    text = text_of(folder / name)
    return is_unwritten(text) or text_digest(text) in wrong_code


def _wrong_code(files: Iterable[bytes]) -> set[str]:
    """Return the digests of wrong code that declarations name."""
    return {found.decode() for data in files for found in WRONG_CODE.findall(data)}


def _declarations(folder: Path) -> list[Path]:
    return sorted((folder / "tests" / "katas").glob("*/test_*.py"))


def _content(path: Path) -> bytes:
    with suppress(OSError):
        return read_file(path)
    return b""


def _has_link(folder: Path, name: str) -> bool:
    """Return whether a name leads out of the folder, or over a link in it."""
    parts = safe_parts(name)
    places = [folder.joinpath(*parts[: end + 1]) for end in range(len(parts))]
    return not parts or any(place.is_symlink() for place in places)


def _corrected_statements(folder: Path, files: dict[str, bytes], before: dict[str, str]) -> dict[str, bytes]:
    """Return the statements that were corrected since a student began, as files beside the student's code."""
    found = {}
    for name, data in files.items():
        note = f"{name.removesuffix('.py')}{renaming.STATEMENT_SUFFIX}"
        is_stub = name.startswith(release_manifest.OWN) and name.endswith(".py")
        is_new = before.get(name) not in (None, release_manifest.digest(data)) or note in before
        if not (is_stub and is_new) or _has_link(folder, name):
            continue
        try:
            theirs = read_bytes(folder / name, name)
        except SubmissionRejected:
            continue
        statement = renaming.statement_of(data.decode("utf-8", "replace"))
        known = renaming.statement_of(theirs.decode("utf-8", "replace")) or ""
        is_begun = release_manifest.digest(theirs) not in (before.get(name), release_manifest.digest(data))
        if is_begun and statement and renaming.is_changed(known, statement):
            kata = PurePosixPath(name).stem
            found[note] = renaming.to_text(kata, statement, known).encode("utf-8", "replace")
    return found


def _moved(
    folder: Path, files: dict[str, bytes], before: dict[str, str], renamed: object
) -> dict[str, bytes]:
    """Return a file beside the begun code of each renamed kata that says where its new place is."""
    stubs = {PurePosixPath(name).stem: name for name in files if name.startswith(release_manifest.OWN)}
    found = {}
    for known in before:
        name = known.replace(renaming.STATEMENT_SUFFIX, ".py")
        old = PurePosixPath(name).stem
        new = str(renamed.get(old)) if isinstance(renamed, dict) else ""
        is_exercise = name.startswith(release_manifest.OWN) and name.endswith(".py")
        if not is_exercise or name in files or new not in stubs or _has_link(folder, name):
            continue
        with suppress(SubmissionRejected):
            if release_manifest.digest(read_bytes(folder / name, name)) != before.get(name):
                note = f"{name.removesuffix('.py')}{renaming.STATEMENT_SUFFIX}"
                found[note] = renaming.moved(old, new, stubs[new]).encode()
    return found
