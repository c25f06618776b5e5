"""Find submitted files, student by student, in folders, repositories, nbgrader's tree or a platform's zip.

Only names are held in memory; a file is read when it is graded.
"""

from __future__ import annotations

import io
import os
import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path, PurePosixPath
from types import MappingProxyType
from typing import NamedTuple

from grader.classroom import archive
from grader.classroom.identity import gradescope_people
from grader.classroom.kata_names import EXACT, KataNames, resubmission
from grader.classroom.platform_filenames import (
    IGNORED_FOLDERS,
    SUFFIXES,
    Owned,
    Parts,
    Place,
    StudentName,
    kata_at,
    may_be_an_answer,
    owner,
)
from grader.classroom.times import HandedIn, Repository, of_path, unknown_time
from grader.course.catalog import CourseError, shorten
from grader.course.notebook_cells import SUFFIX, answer_in, cells_in
from grader.course.release_manifest import NAME as MANIFEST
from grader.course.release_manifest import parse_list
from grader.course.submission import SubmissionRejected, decoded, read_bytes
from grader.report_texts import LONGEST_NAME, cut, listed

DEEPEST = 6  # folders below a student's
UPLOADED = "submitted"  # nbgrader's folder of what was handed in
MOST_MANIFESTS = 4  # of releases in one submission


@dataclass(frozen=True)
class SubmittedFile:
    """One student's file for one kata; `read` returns its source or raises SubmissionRejected."""

    kata: str
    place: Parts
    read: Callable[[], bytes]
    duplicates: tuple[Parts, ...] = ()  # other files that might have been meant
    late: bool = False
    time: Callable[[], HandedIn] = unknown_time
    upload: int = 0

    @property
    def note(self) -> str:
        """A sentence about the other files that might have been meant."""
        places = listed(["/".join(place) for place in self.duplicates])
        return f"{self.kata} is also in {places}; graded: {cut('/'.join(self.place), LONGEST_NAME)}."


class FoundFile(NamedTuple):
    """A file of a student: its path inside the submission, a function that reads it, what Canvas says, and a
    function that says when it was handed in."""

    inner: Parts
    read: Callable[[], bytes]
    late: bool = False
    upload: int = 0
    time: Callable[[], HandedIn] = unknown_time


class Collector:
    """All submitted files, grouped by student. Raises CourseError if there are none.

    With `believes_commits`, a repository says when its files were handed in, unless it is in an upload: then
    the student has sent the commits as well.
    """

    def __init__(self, path: Path, believes_commits: bool = True) -> None:
        self.label, self.believes_commits = shorten(path), believes_commits
        if not path.exists():
            raise CourseError(f"There is no folder or zip file {self.label}.")
        self._sources: dict[StudentName, list[Callable[[], Iterator[FoundFile]]]] = {}
        self._people: dict[str, list[StudentName]] = {}  # of Gradescope's folders
        if path.is_dir():
            self._add_folder(_folder_of_students(path))
        else:
            self._add_zip(path)
        if not self._sources:
            raise CourseError(
                f"No submission was found in {self.label}: a folder a student is expected,"
                " or a learning platform's zip."
            )

    def __len__(self) -> int:
        return len(self._sources)

    def _add_folder(self, folder: Path) -> None:
        metadata = folder / archive.METADATA
        if metadata.is_file():
            self._read_people(_reader(metadata))
        is_upload = metadata.is_file() or folder.name == UPLOADED
        for entry in sorted(os.scandir(folder), key=lambda entry: entry.name):
            is_folder = entry.is_dir(follow_symlinks=False)
            found = owner((entry.name, "") if is_folder else (entry.name,))
            if found:
                found = found._replace(inner=tuple(part for part in found.inner if part))
                may_be_clone = is_folder and not is_upload and not found.student.platform
                if may_be_clone and os.path.lexists(os.path.join(entry.path, ".git")):
                    found = found._replace(student=replace(found.student, platform="repository"))
                walk = partial(_walk, Path(entry.path), found, may_be_clone and self.believes_commits)
                self._add(found.student, walk)

    def _add(self, student: StudentName, source: Callable[[], Iterator[FoundFile]]) -> None:
        """Add files of a student, or of each student of a group in Gradescope's export."""
        for one in self._people.get(student.key, [student]):
            self._sources.setdefault(one, []).append(source)

    def _read_people(self, read: Callable[[], bytes]) -> None:
        """Read whose the folders of Gradescope's export are. Raises CourseError if the file is unreadable."""
        try:
            self._people = gradescope_people(decoded(read(), archive.METADATA, archive.LARGEST_METADATA))
        except SubmissionRejected as error:
            raise CourseError(str(error)) from None

    def _add_zip(self, path: Path) -> None:
        whole = list(archive.members(str(path), self.label))
        top = {parts: read for parts, read, _ in whole if parts[-1] == archive.METADATA and len(parts) <= 2}
        if top:
            self._read_people(top[min(top, key=len)])
            whole = [member for member in whole if member[0] not in top]
        has_common_folder = _has_common_folder([parts for parts, *_ in whole])
        for parts, read, time in sorted(whole, key=lambda member: member[0]):
            found = owner(parts[1:] if has_common_folder else parts)
            if found:
                one = partial(iter, [FoundFile(found.inner, read, found.late, found.upload, time)])
                self._add(found.student, one)

    @property
    def names(self) -> list[StudentName]:
        """The students, sorted by name."""
        return sorted(self._sources, key=lambda student: student.key)

    def students(self) -> Iterator[tuple[StudentName, Iterator[FoundFile]]]:
        """Yield the students, sorted by name, each with all submitted files."""
        for student in self.names:
            yield student, (file for source in self._sources[student] for file in source())

    def require_one_student_each(self, names: KataNames, is_member: Callable[[StudentName], bool]) -> None:
        """Raise CourseError if every submission holds the folders of several students.

        This happens if the folder above the submissions was named. A member of the roster is one student.
        """
        folder = ""
        for student, files in self.students():
            katas: dict[str, set[Parts]] = {}
            for found, place in ((kata_at(file.inner, names), file.inner) for file in files):
                if found:
                    katas.setdefault(found[1], set()).add(_folder_of(place))
            apart = next((places for places in katas.values() if _are_apart(places)), None)
            if is_member(student) or (katas and apart is None):
                return
            if apart is not None and not folder:
                above = os.path.commonpath(["/".join((student.key, *place)) for place in apart])
                folder = f"{self.label}/{above}"
        if folder:
            raise CourseError(
                f"{folder} holds one kata in several folders, as if each were a student's."
                f" Name the folder of the students: kata grade {folder}"
            )


def _folder_of(place: Parts) -> Parts:
    """Return the folder of a file, or that of the repository if it is one of its exercises."""
    return place[:-3] if place[-3:-2] == ("exercises",) else place[:-1]


def _are_apart(folders: set[Parts]) -> bool:
    """Return whether there are several folders, none of which is inside another."""
    within = [one for one in folders for other in folders if one != other and one[: len(other)] == other]
    return len(folders) > 1 and not within


@dataclass(frozen=True)
class Answers:
    """What one student handed in: the best file for each kata, and what a person must look at."""

    files: list[SubmittedFile]
    unrecognised: list[str]  # paths of files that may be answers
    declarations: Mapping[str, str] = field(default_factory=dict)  # digests by kata, of their release


def answers_in(
    files: Iterator[FoundFile],
    names: KataNames,
    note: Callable[[str], None] = lambda _: None,
    stubs: Mapping[str, bytes] = MappingProxyType({}),
) -> Answers:
    """Return the file in the best place for each kata, sorted by kata.

    `note` is called with a message for each nested zip that cannot be read. `stubs` holds the files that were
    handed out: an untouched one counts only if there is no other.
    """
    ranked: dict[str, list[tuple[Place, FoundFile]]] = {}
    others: list[Parts] = []
    manifests: list[FoundFile] = []
    for file in _with_zips_opened(files, note):
        found = kata_at(file.inner, names)
        if found:
            ranked.setdefault(found[1], []).append((found[0], file))
        elif file.inner[-1] == MANIFEST:
            manifests.append(file)
        elif may_be_an_answer(file.inner, names):
            others.append(file.inner)
    released = _released(manifests)
    unrecognised = ["/".join(place) for place in others if place not in released]
    best = [_best(kata, ranked[kata], stubs.get(kata)) for kata in sorted(ranked)]
    declared = {place[-1]: digest for place, digest in released.items() if place[-4:-2] == ("tests", "katas")}
    declarations = {kata: declared[f"test_{kata}.py"] for kata in ranked if f"test_{kata}.py" in declared}
    return Answers(best, unrecognised, declarations)


def _released(manifests: list[FoundFile]) -> dict[Parts, str]:
    """Return the places of the files that releases wrote, with their digests, as the manifests say.

    A student can change a manifest. It is asked only about files that answer no kata by their names, so it
    can turn a blank cell into a 0, and never hide an answer.
    """
    places: dict[Parts, str] = {}
    for file in manifests[:MOST_MANIFESTS]:
        with suppress(SubmissionRejected, CourseError):
            listed = parse_list(file.read().decode("utf-8", "replace"))
            places |= {(*file.inner[:-1], *name.split("/")): digest for name, digest in listed.items()}
    return places


def _best(kata: str, found: list[tuple[Place, FoundFile]], stub: bytes | None) -> SubmittedFile:
    """Return the file in the best place; of several in equal places the one that was handed in last."""
    begun = [one for one in found if not _is_stub(one[1], stub)] if len(found) > 1 else found
    found = begun or found
    place = min(place for place, _ in found)
    file = max((file for at, file in found if at == place), key=_recency)
    is_usual = place.exactness == EXACT and place.depth <= 1
    others = tuple(other.inner for at, other in found if other is not file and (at == place or not is_usual))
    read = file.read
    if place.suffix == SUFFIXES.index(SUFFIX):
        read = partial(_from_notebook, read, kata, file.inner[-1])
    return SubmittedFile(kata, file.inner, read, others, file.late, file.time, file.upload)


def _is_stub(file: FoundFile, stub: bytes | None) -> bool:
    try:
        return stub is not None and file.read().split() == stub.split()
    except SubmissionRejected:
        return False


def _recency(file: FoundFile) -> tuple[int, tuple[int, ...], list[tuple[int, str]]]:
    """Return a key that is larger for a later file: by Canvas's number, by `-2` in the name, by the path."""
    parts = re.findall(r"\d+|\D+", "/".join(file.inner))
    natural = [(int(part), "") if part.isdecimal() else (-1, part) for part in parts]
    return file.upload, resubmission(PurePosixPath(file.inner[-1]).stem), natural


def _from_notebook(read: Callable[[], bytes], kata: str, label: str) -> bytes:
    """Return the source of the kata's cell in a notebook. Raises SubmissionRejected if there is none."""
    return answer_in(cells_in(read(), label), kata, label).encode("utf-8", "replace")


def _with_zips_opened(files: Iterator[FoundFile], note: Callable[[str], None]) -> Iterator[FoundFile]:
    """Yield the files; a zip file of a student is replaced by the files in it."""
    for file in files:
        if len(file.inner) == 1 and file.inner[0].endswith(".zip"):
            try:
                for inner, read, _ in archive.members(io.BytesIO(file.read()), file.inner[0]):
                    yield FoundFile(inner, read, file.late, file.upload, file.time)
            except (CourseError, SubmissionRejected) as error:
                note(f"Nothing was found in it: {error}")
        else:
            yield file


def _has_common_folder(places: list[Parts]) -> bool:
    """Return whether the folders of all students are inside one common folder."""
    one_top = len({parts[0] for parts in places}) == 1 and all(len(parts) > 2 for parts in places)
    return one_top and not any(parts[1] == "exercises" for parts in places)


def _folder_of_students(folder: Path) -> Path:
    """Return the folder that contains the students' folders, which nbgrader names `submitted`."""
    if (folder / "exercises").is_dir():
        raise CourseError(
            f"{shorten(folder)} looks like one student's repository; name the folder that holds all of them."
        )
    return folder / UPLOADED if (folder / UPLOADED).is_dir() else folder


def files_below(path: Path) -> Iterator[FoundFile]:
    """Yield the files of one submission, which is a folder or a zip file."""
    name = StudentName(path.name)
    return _walk(path, Owned(name, () if path.is_dir() else (path.name,)))


def _walk(path: Path, found: Owned, believes_commits: bool = False) -> Iterator[FoundFile]:
    """Yield every file below a path, or the path itself if it is a file; do not follow links to folders."""
    if not path.is_dir():
        yield FoundFile(found.inner, _reader(path), found.late, found.upload, of_path(path, None))
        return
    repositories: dict[str, Repository] = {}
    for folder, folders, names in os.walk(path):
        if ".git" in folders and believes_commits:
            repositories[folder] = Repository(Path(folder))
        elif os.path.dirname(folder) in repositories:
            repositories[folder] = repositories[os.path.dirname(folder)]
        below = Path(folder).relative_to(path).parts
        kept = sorted(name for name in folders if name not in IGNORED_FOLDERS and not name.startswith("."))
        folders[:] = kept if len(below) < DEEPEST else []
        for name in sorted(names):
            file = Path(folder, name)
            time = of_path(file, repositories.get(folder))
            yield FoundFile((*found.inner, *below, name), _reader(file), time=time)


def _reader(path: Path) -> Callable[[], bytes]:
    return partial(read_bytes, path, path.name, archive.limit_of(path.name))
