"""What was handed in, a student at a time: folders, repositories, nbgrader's tree, a platform's zip.

Nothing is read before it is graded, and nothing but names is held.
"""

from __future__ import annotations

import io
import os
from collections.abc import Callable, Container, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from grader.classroom import archive
from grader.classroom.platform_filenames import PASSED_OVER, Parts, StudentName, kata_at, owner
from grader.course.catalog import CourseError, shorten
from grader.course.notebook_cells import SUFFIX, answer_in, cells_in
from grader.course.submission import SubmissionRejected, read_bytes

DEEPEST = 6


@dataclass(frozen=True)
class HandedIn:
    """One student's file for one kata; `read` brings its source and may raise SubmissionRejected."""

    kata: str
    place: Parts
    read: Callable[[], bytes]
    passed_over: tuple[Parts, ...] = ()  # as good a place as this one


Found = tuple[Parts, Callable[[], bytes]]


class Collector:
    """All that was handed in, grouped by student. Raises CourseError where there is nothing."""

    def __init__(self, path: Path) -> None:
        self.label = shorten(path)
        if not path.exists():
            raise CourseError(f"There is no folder or zip file {self.label}.")
        self._piles: dict[StudentName, list[Callable[[], Iterator[Found]]]] = {}
        if path.is_dir():
            self._sort_folder(_inside(path))
        else:
            self._sort_zip(path)
        if not self._piles:
            raise CourseError(
                f"No submission was found in {self.label}: a folder a student is expected,"
                " or a learning platform's zip."
            )

    def __len__(self) -> int:
        return len(self._piles)

    def _sort_folder(self, folder: Path) -> None:
        for entry in sorted(os.scandir(folder), key=lambda entry: entry.name):
            is_folder = entry.is_dir(follow_symlinks=False)
            found = owner((entry.name, "") if is_folder else (entry.name,))
            if found:
                whose, inner = found
                walk = partial(_walk, Path(entry.path), tuple(part for part in inner if part))
                self._piles.setdefault(whose, []).append(walk)

    def _sort_zip(self, path: Path) -> None:
        whole = list(archive.members(str(path), self.label))
        wrapped = _wrapped([parts for parts, _ in whole])
        for parts, read in sorted(whole, key=lambda member: member[0]):
            found = owner(parts[1:] if wrapped else parts)
            if found:
                one = partial(iter, [(found[1], read)])
                self._piles.setdefault(found[0], []).append(one)

    def students(self) -> Iterator[tuple[StudentName, Iterator[Found]]]:
        """Everybody, in the order of their names, with all files that they handed in."""
        for student in sorted(self._piles, key=lambda student: student.key):
            yield student, (file for pile in self._piles[student] for file in pile())


def chosen(
    files: Iterator[Found], katas: Container[str], note: Callable[[str], None] = lambda _: None
) -> list[HandedIn]:
    """Of what one student handed in the file of each kata, that in the best place; by name. What cannot be
    looked into is told to `note`."""
    ranked: dict[str, list[tuple[int, Parts, Callable[[], bytes]]]] = {}
    for inner, read in _unwrapped(files, note):
        found = kata_at(inner)
        if found and found[1] in katas:
            ranked.setdefault(found[1], []).append((found[0], inner, read))
    return [_best(kata, ranked[kata]) for kata in sorted(ranked)]


def _best(kata: str, places: list[tuple[int, Parts, Callable[[], bytes]]]) -> HandedIn:
    """Of two in places equally good the last by name: platforms count up what is handed in again."""
    places.sort(key=lambda place: (-place[0], place[1]))
    rank, inner, read = places[-1]
    others = tuple(place[1] for place in places[:-1] if place[0] == rank)
    if inner[-1].endswith(SUFFIX):
        read = partial(_from_notebook, read, kata, inner[-1])
    return HandedIn(kata, inner, read, others)


def _from_notebook(read: Callable[[], bytes], kata: str, label: str) -> bytes:
    """The source that a notebook holds for the kata. Raises SubmissionRejected."""
    return answer_in(cells_in(read(), label), kata, label).encode("utf-8", "replace")


def _unwrapped(files: Iterator[Found], note: Callable[[str], None]) -> Iterator[Found]:
    """The files, those in a student's own zip instead of the zip."""
    for inner, read in files:
        if len(inner) == 1 and inner[0].endswith(".zip"):
            try:
                yield from archive.members(io.BytesIO(read()), inner[0])
            except (CourseError, SubmissionRejected) as error:
                note(f"Nothing was found in it: {error}")
        else:
            yield inner, read


def _wrapped(places: list[Parts]) -> bool:
    """Whether one folder lies around the folders of all students."""
    one_top = len({parts[0] for parts in places}) == 1 and all(len(parts) > 2 for parts in places)
    return one_top and not any(parts[1] == "exercises" for parts in places)


def _inside(folder: Path) -> Path:
    """The folder that holds the students: nbgrader keeps them in `submitted`."""
    if (folder / "exercises").is_dir():
        raise CourseError(
            f"{shorten(folder)} looks like one student's repository; name the folder that holds all of them."
        )
    return folder / "submitted" if (folder / "submitted").is_dir() else folder


def _walk(path: Path, inner: Parts) -> Iterator[Found]:
    """Every file below a student's folder, or the file itself; links to folders are not followed."""
    if not path.is_dir():
        yield inner, _reader(path)
        return
    for folder, folders, names in os.walk(path):
        below = Path(folder).relative_to(path).parts
        kept = sorted(name for name in folders if name not in PASSED_OVER and not name.startswith("."))
        folders[:] = kept if len(below) < DEEPEST else []
        for name in sorted(names):
            yield (*inner, *below, name), _reader(Path(folder, name))


def _reader(path: Path) -> Callable[[], bytes]:
    return partial(read_bytes, path, path.name, archive.limit_of(path.name))
