"""Find submitted files, student by student, in folders, repositories, nbgrader's tree or a platform's zip.

Only names are held in memory; a file is read when it is graded.
"""

from __future__ import annotations

import io
import os
from collections.abc import Callable, Container, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from grader.classroom import archive
from grader.classroom.platform_filenames import IGNORED_FOLDERS, Parts, StudentName, kata_at, owner
from grader.course.catalog import CourseError, shorten
from grader.course.notebook_cells import SUFFIX, answer_in, cells_in
from grader.course.submission import SubmissionRejected, read_bytes

DEEPEST = 6  # folders below a student's


@dataclass(frozen=True)
class SubmittedFile:
    """One student's file for one kata; `read` returns its source or raises SubmissionRejected."""

    kata: str
    place: Parts
    read: Callable[[], bytes]
    duplicates: tuple[Parts, ...] = ()  # other files of the same rank


Found = tuple[Parts, Callable[[], bytes]]


class Collector:
    """All submitted files, grouped by student. Raises CourseError if there are none."""

    def __init__(self, path: Path) -> None:
        self.label = shorten(path)
        if not path.exists():
            raise CourseError(f"There is no folder or zip file {self.label}.")
        self._sources: dict[StudentName, list[Callable[[], Iterator[Found]]]] = {}
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
        for entry in sorted(os.scandir(folder), key=lambda entry: entry.name):
            is_folder = entry.is_dir(follow_symlinks=False)
            found = owner((entry.name, "") if is_folder else (entry.name,))
            if found:
                whose, inner = found
                walk = partial(_walk, Path(entry.path), tuple(part for part in inner if part))
                self._sources.setdefault(whose, []).append(walk)

    def _add_zip(self, path: Path) -> None:
        whole = list(archive.members(str(path), self.label))
        has_common_folder = _has_common_folder([parts for parts, _ in whole])
        for parts, read in sorted(whole, key=lambda member: member[0]):
            found = owner(parts[1:] if has_common_folder else parts)
            if found:
                one = partial(iter, [(found[1], read)])
                self._sources.setdefault(found[0], []).append(one)

    def students(self) -> Iterator[tuple[StudentName, Iterator[Found]]]:
        """Yield the students, sorted by name, each with all submitted files."""
        for student in sorted(self._sources, key=lambda student: student.key):
            yield student, (file for source in self._sources[student] for file in source())


def best_files(
    files: Iterator[Found], katas: Container[str], note: Callable[[str], None] = lambda _: None
) -> list[SubmittedFile]:
    """Return the file in the best place for each kata, sorted by kata.

    `note` is called with a message for each nested zip that cannot be read.
    """
    ranked: dict[str, list[tuple[int, Parts, Callable[[], bytes]]]] = {}
    for inner, read in _with_zips_opened(files, note):
        found = kata_at(inner)
        if found and found[1] in katas:
            ranked.setdefault(found[1], []).append((found[0], inner, read))
    return [_best(kata, ranked[kata]) for kata in sorted(ranked)]


def _best(kata: str, places: list[tuple[int, Parts, Callable[[], bytes]]]) -> SubmittedFile:
    """Return the best file; of two of equal rank the last by name, since platforms number resubmissions."""
    places.sort(key=lambda place: (-place[0], place[1]))
    rank, inner, read = places[-1]
    others = tuple(place[1] for place in places[:-1] if place[0] == rank)
    if inner[-1].endswith(SUFFIX):
        read = partial(_from_notebook, read, kata, inner[-1])
    return SubmittedFile(kata, inner, read, others)


def _from_notebook(read: Callable[[], bytes], kata: str, label: str) -> bytes:
    """Return the source of the kata's cell in a notebook. Raises SubmissionRejected if there is none."""
    return answer_in(cells_in(read(), label), kata, label).encode("utf-8", "replace")


def _with_zips_opened(files: Iterator[Found], note: Callable[[str], None]) -> Iterator[Found]:
    """Yield the files; a zip file of a student is replaced by the files in it."""
    for inner, read in files:
        if len(inner) == 1 and inner[0].endswith(".zip"):
            try:
                yield from archive.members(io.BytesIO(read()), inner[0])
            except (CourseError, SubmissionRejected) as error:
                note(f"Nothing was found in it: {error}")
        else:
            yield inner, read


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
    return folder / "submitted" if (folder / "submitted").is_dir() else folder


def _walk(path: Path, inner: Parts) -> Iterator[Found]:
    """Yield every file below a path, or the path itself if it is a file; do not follow links to folders."""
    if not path.is_dir():
        yield inner, _reader(path)
        return
    for folder, folders, names in os.walk(path):
        below = Path(folder).relative_to(path).parts
        kept = sorted(name for name in folders if name not in IGNORED_FOLDERS and not name.startswith("."))
        folders[:] = kept if len(below) < DEEPEST else []
        for name in sorted(names):
            yield (*inner, *below, name), _reader(Path(folder, name))


def _reader(path: Path) -> Callable[[], bytes]:
    return partial(read_bytes, path, path.name, archive.limit_of(path.name))
