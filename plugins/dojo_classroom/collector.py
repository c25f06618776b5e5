"""Find submitted files, student by student, in folders, repositories, nbgrader's tree or a platform's zip.

Only names are held in memory; a file is read when it is graded.
"""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import replace
from datetime import UTC, datetime
from functools import partial
from pathlib import Path

from dojo_classroom.found_files import (
    LARGEST_METADATA,
    METADATA,
    FoundFile,
    files_as_of,
    read_member,
    reader_of,
    trouble_at,
    walk,
)
from dojo_classroom.platform_filenames import KnownNames, Owned, Parts, StudentName, kata_at, owner
from dojo_classroom.roster import gradescope_people
from dojo_classroom.times import Commits, Stamp, of_file, of_member
from grader.course.archives import Zip
from grader.course.catalog import CourseError, shorten
from grader.course.files import CLASS_LIMITS, Folder, NotReadable, TooLarge
from grader.course.git import Allowance
from grader.course.release_manifest import read_list
from grader.course.submission import SubmissionRejected, utf8

UPLOADED = "submitted"  # nbgrader's folder of what was handed in
GRADESCOPE = re.compile(r"submission_\d+")  # the folders of its export
UNCLEAR = "Nobody knows whose {} is: its name fits the number {}."


class Collector:
    """All submitted files, grouped by student. Raises CourseError if there are none.

    With `believes_commits`, a repository says when its files were handed in, unless it is in an upload: then
    the student has sent the commits as well.
    """

    def __init__(self, path: Path, *, believes_commits: bool = True) -> None:
        self.label, self.believes_commits = shorten(path), believes_commits
        if not path.exists():
            raise CourseError(f"There is no folder or zip file {self.label}.")
        self._sources: dict[StudentName, list[Callable[[], Iterator[FoundFile]]]] = {}
        self._commits: dict[StudentName, list[Callable[[datetime], Iterator[FoundFile]]]] = {}
        self._people: dict[str, list[StudentName]] = {}  # of Gradescope's folders
        self._unclear: list[tuple[str, Owned]] = []  # names that fit several students
        self.handed_out: dict[Parts, str] = {}  # digests of the files that nbgrader's students got
        if path.is_dir():
            self._add_folder(_folder_of_students(path))
        else:
            self._add_zip(path)
        self._tell_unclear()
        if not self._sources:
            raise CourseError(
                f"No submission was found in {self.label}: a folder a student is expected,"
                " or a learning platform's zip."
            )

    def __len__(self) -> int:
        return len(self._sources)

    def _add_folder(self, folder: Path) -> None:
        metadata = folder / METADATA
        if folder.name == UPLOADED:
            self.handed_out = _beside_notebooks(folder.parent)
        if metadata.is_file():
            self._read_people(reader_of(folder, (METADATA,)))
        is_stamped = folder.name == UPLOADED
        is_upload = metadata.is_file() or is_stamped
        with Folder(folder) as opened:
            entries = opened.entries(CLASS_LIMITS.members)
        for name, is_folder in entries:
            path = folder / name
            found = owner((name, "") if is_folder else (name,))
            if found:
                found = found._replace(inner=tuple(part for part in found.inner if part))
                if found.others:
                    self._unclear.append((name, found))
                    continue
                may_be_clone = is_folder and not is_upload and not found.student.platform
                if may_be_clone and os.path.lexists(path / ".git"):
                    found = found._replace(student=replace(found.student, platform="repository"))
                believed = (
                    Stamp if is_stamped else Commits if may_be_clone and self.believes_commits else None
                )
                allowance = Allowance()
                self._add(found.student, partial(walk, path, found, believed, allowance))
                if believed is Commits and is_folder:
                    as_of = partial(files_as_of, path, found, allowance)
                    self._commits.setdefault(found.student, []).append(as_of)

    def _add(self, student: StudentName, source: Callable[[], Iterator[FoundFile]]) -> None:
        """Add files of a student, or of each student of a group in Gradescope's export."""
        for one in self._people.get(student.key, [student]):
            self._sources.setdefault(one, []).append(source)

    def _tell_unclear(self) -> None:
        """Tell each student whose number is in the name of a file that fits several of them."""
        for name, found in self._unclear:
            known = {student.platform_id: student for student in self._sources}
            students = (found.student, *found.others)
            text = UNCLEAR.format(name, " or ".join(student.platform_id for student in students))
            for student in students:
                told = known.get(student.platform_id, student)
                self._add(told, partial(iter, [trouble_at((name,), text)]))

    def _read_people(self, read: Callable[[], bytes]) -> None:
        """Read whose the folders of Gradescope's export are. Raises CourseError if the file is unreadable."""
        try:
            self._people = gradescope_people(utf8(read(), METADATA, LARGEST_METADATA))
        except SubmissionRejected as error:
            raise CourseError(str(error)) from None

    def _add_zip(self, path: Path) -> None:
        try:
            archive = Zip(path, CLASS_LIMITS)
        except TooLarge as error:
            raise CourseError(f"{self.label} {error.strerror}; grade it in parts.") from None
        except NotReadable as error:
            raise CourseError(f"{self.label} {error.strerror}.") from None
        archived = of_file(path).at or datetime.now(UTC)
        places = [parts for parts in archive.members if parts[-1] != METADATA or len(parts) > 2]
        above = 1 if places and _has_common_folder(places) else 0
        metadata = _metadata_at([*archive.members], above)
        if metadata:
            self._read_people(partial(read_member, archive, metadata))
        for parts in sorted(archive.members.keys() - {metadata}):
            found = owner(parts[above:]) if len(parts) > above else None
            if found and found.others:
                self._unclear.append((parts[above], found))
            elif found:
                read = partial(read_member, archive, parts)
                time = partial(of_member, archive.members[parts], archived)
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

    def as_of(self, student: StudentName, until: datetime) -> Iterator[FoundFile]:
        """Yield the files that a student had committed until a moment, if there are later commits."""
        return (file for source in self._commits.get(student, ()) for file in source(until))

    def require_one_student_each(self, names: KnownNames, is_member: Callable[[StudentName], bool]) -> None:
        """Raise CourseError if every submission holds the folders of several students.

        This happens if the folder above the submissions was named. A member of the roster is one student, and
        so is each in the folders of a course that `kata notebooks` has written.
        """
        if self.handed_out:
            return
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
                f" Name the folder of the students: kata grade {shlex.quote(str(folder))}"
            )


def _beside_notebooks(course: Path) -> dict[Parts, str]:
    """Return the digests of what `kata notebooks` wrote beside the notebooks of its assignments, by the place
    in a student's folder; empty if that course is not here."""
    with suppress(CourseError):
        listed = ((name.split("/"), value) for name, value in read_list(course).items())
        return {tuple(parts[1:]): value for parts, value in listed if parts[0] == "source"}
    return {}


def _folder_of(place: Parts) -> Parts:
    """Return the folder of a file, or that of the repository if it is one of its exercises."""
    return place[:-3] if place[-3:-2] == ("exercises",) else place[:-1]


def _are_apart(folders: set[Parts]) -> bool:
    """Return whether there are several folders, none of which is inside another."""
    within = [one for one in folders for other in folders if one != other and one[: len(other)] == other]
    return len(folders) > 1 and not within


def _metadata_at(places: list[Parts], above: int) -> Parts | None:
    """Return where Gradescope's metadata are in a zip: at the top of its export, beside nothing but folders
    as it names them. A student's folder may hold such a file too."""
    found = [parts for parts in places if parts[-1] == METADATA and len(parts) == above + 1]
    beside = {parts[above] for parts in places if len(parts) > above + 1}
    return found[0] if len(found) == 1 and all(map(GRADESCOPE.fullmatch, beside)) else None


def _has_common_folder(places: list[Parts]) -> bool:
    """Return whether the folders of all students are inside one common folder."""
    one_top = len({parts[0] for parts in places}) == 1 and all(len(parts) > 2 for parts in places)
    return one_top and not any(parts[1] == "exercises" for parts in places)


def _folder_of_students(folder: Path) -> Path:
    """Return the folder that contains the students' folders, which nbgrader names `submitted`. It lies beside
    the course's own exercises in what `kata notebooks` writes."""
    if (folder / UPLOADED).is_dir():
        return folder / UPLOADED
    if (folder / "exercises").is_dir():
        raise CourseError(
            f"{shorten(folder)} looks like one student's repository; name the folder that holds all of them."
        )
    return folder
