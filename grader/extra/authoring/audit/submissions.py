"""Last year's submissions: which of them pass the tests and differ from the solution on some input."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING

from grader.course.catalog import CourseError, shorten
from grader.course.files import read_file
from grader.course.submission import SubmissionRejected, decoded, text_of
from grader.errors import reason_of
from grader.extra.authoring.audit import homework as notebooks
from grader.extra.authoring.audit.homework import Homework
from grader.extra.authoring.audit.pool import Job
from grader.extra.authoring.audit.record import SubmissionFate, witness_of
from grader.extra.classroom.collector import Collector, FoundFile, answers_in
from grader.extra.classroom.platform_filenames import KataNames, owner

if TYPE_CHECKING:
    from grader.extra.authoring.audit.run import Auditor

SUFFIXES = (".py", ".ipynb")


@dataclass(frozen=True)
class Submitted:
    """What one student handed in: the path, and the texts in place of the homework's sources."""

    path: str
    student: str
    texts: dict[str, str]


def try_submissions(auditor: Auditor, folder: Path) -> None:
    """Run the tests on every submission, and look for an input on which it differs. Raises CourseError."""
    found = list(read_submissions(auditor.homework, folder, auditor.notes))
    if not found:
        raise CourseError(f"{shorten(folder)} holds no submission with {_wanted(auditor.homework)}.")
    ended = {}
    tests = ((one, Job(files=one.texts, **auditor.trace.limits)) for one in found)
    for n, (one, result) in enumerate(auditor.pool.run_all(tests), 1):
        ended[one.path] = auditor.status_of(result)
        auditor.say(f"{n} of {len(found)} submissions are tested")
    groups: dict[tuple[str, str], int] = {}
    searches = ((one, auditor.search(one.texts, [])) for one in found)
    fates = {}
    for n, (one, result) in enumerate(auditor.pool.run_all(searches), 1):
        witness, status = witness_of(result.answer), ended[one.path]
        if witness is None and result.status != "passed":
            auditor.notes.append(f"{one.path}: the search for an input did not end.")
        passes = status == "passed"
        fates[one.path] = SubmissionFate(one.path, one.student, passes, status, witness is not None, witness)
        auditor.say(
            f"{n} of {len(found)} submissions are compared ({time.monotonic() - auditor.began:.0f} s)"
        )
    for one in found:
        fate = fates[one.path]
        if fate.passes and fate.witness:
            key = fate.witness.code, fate.witness.got
            fate = replace(fate, group=groups.setdefault(key, len(groups) + 1))
        auditor.submissions.append(fate)


def _wanted(homework: Homework) -> str:
    return (
        homework.cells.notebook if homework.cells and homework.cells.notebook else ", ".join(homework.sources)
    )


def read_submissions(homework: Homework, folder: Path, notes: list[str]) -> Iterator[Submitted]:
    """Yield the submissions of a folder or a zip, in the layouts of all platforms; a folder may also hold one
    Python file or notebook for each student. Raises CourseError."""
    flat = _flat(folder)
    if flat:
        for path in flat:
            yield from _read(homework, path.name, path.stem, [_whole(path)], notes)
        return
    places = _places(folder)
    for student, files in Collector(folder).students():
        place = places.get(student.key, student.key)
        yield from _read(homework, place, student.key, list(files), notes)


def _flat(folder: Path) -> list[Path]:
    """Return the files of a folder in which each file is a submission and no name is a platform's."""
    if not folder.is_dir():
        return []
    files = [path for path in sorted(folder.iterdir()) if path.suffix in SUFFIXES and not path.is_dir()]
    return [path for path in files if owner((path.name,)) is None and not path.name.startswith(".")]


def _whole(path: Path) -> FoundFile:
    return FoundFile((path.name,), lambda: read_file(path))


def _places(folder: Path) -> dict[str, str]:
    """Return what a folder's entries are called, by student: platforms put the names into those of files."""
    places = {}
    for path in sorted(folder.iterdir()) if folder.is_dir() else ():
        found = owner((path.name, "") if path.is_dir() else (path.name,))
        if found:
            places[found.student.key] = path.name
    return places


def _read(
    homework: Homework, place: str, student: str, files: list[FoundFile], notes: list[str]
) -> Iterator[Submitted]:
    """Yield a student's submission; a note says why there is none."""
    try:
        chosen = _chosen(homework, files)
        texts: dict[str, str] = {}
        for name, file in chosen.items():
            label = "/".join(file.inner)
            data = file.read()
            if homework.cells and homework.cells.notebook:
                texts |= _cells(homework, Path(label), data)
            else:
                texts[name] = decoded(data, label)
    except (CourseError, SubmissionRejected) as error:
        notes.append(f"{place} cannot be read: {error}")
        return
    except OSError as error:
        notes.append(f"{place} cannot be read: {reason_of(error)}.")
        return
    if not texts:
        notes.append(f"{place} holds no {_wanted(homework)}.")
        return
    path = place
    if len(chosen) == 1 and (inner := next(iter(chosen.values())).inner) != (place,):
        path = "/".join((place, *inner)) if PurePosixPath(place).suffix not in SUFFIXES else place
    yield Submitted(path, student, texts)


def _chosen(homework: Homework, files: list[FoundFile]) -> dict[str, FoundFile]:
    """Return which file stands for which source: by its name, or the only one there is."""
    notebook = homework.cells.notebook if homework.cells else ""
    wanted = [notebook] if notebook else list(homework.sources)
    suffix = ".ipynb" if notebook else ".py"
    found = {}
    by_place = {file.inner: file for file in files}
    for name in wanted:
        stem = PurePosixPath(name).stem
        for answer in answers_in(iter(files), KataNames([stem])).files:
            with suppress(KeyError):
                found[name] = by_place[answer.place]
    fitting = [file for file in files if file.inner[-1].endswith(suffix)]
    if not found and len(wanted) == len(fitting) == 1:
        found[wanted[0]] = fitting[0]
    return found


def _cells(homework: Homework, path: Path, data: bytes) -> dict[str, str]:
    """Return the files of a homework's notebook with a student's cells in place of the solution's. A cell
    takes the place of the one with its name, or of the one that defines the same functions."""
    assert homework.cells is not None
    own = notebooks.read(path, data)
    named = {notebooks.name_of(cell, n): text_of(cell) for n, cell in enumerate(own, 1)}
    texts = {}
    for file, name in homework.cells.answers.items():
        place = f"{homework.at}/{file}".lstrip("/")
        wanted = set(notebooks.defines(homework.sources[place]))
        defining = [text for text in named.values() if wanted & set(notebooks.defines(notebooks.plain(text)))]
        found = named.get(name) if not name.startswith("cell_") else None
        texts[place] = notebooks.plain(found if found is not None else "\n\n".join(defining))
    return texts
