"""`kata key`: write the answers of the solutions to files, so that grading needs no solutions."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import Path

import click

import grader
from dojo_authoring.parallel import for_each
from dojo_authoring.verify.judged import key_entry
from dojo_authoring.verify.record import described, require_verified
from grader.answer_keys.file import SUFFIX, VARIABLE, Entry, new_secret, read_secret, seal, write
from grader.cases.oracle import Oracle
from grader.checks.context import PreparedKata
from grader.checks.kata_checks import checks_of
from grader.course.catalog import Course, CourseError, KataInfo, shorten
from grader.course.files import write_whole
from grader.course.known_solutions import other_way
from grader.course.secret_seed import seed_or_new
from grader.errors import reason_of

UNSAID = 0  # a key of hidden cases does not say from which seed they are drawn
AT_ONCE = 2


def write_keys(
    course: Course, infos: list[KataInfo], seed: int, output: Path, *, unverified: bool = False
) -> None:
    """Write one file per kata into a folder, or all katas into one file that ends in `.key`."""
    require_solutions(course, infos)
    require_verified(course, infos, allows_unverified=unverified)
    drawn = with_progress(draw_entries(course, infos, seed))
    if output.suffix == SUFFIX:
        save(output, write(list(drawn), seed, grader.__version__))
        return
    for entry in drawn:
        save(output / f"{entry.name}{SUFFIX}", write([entry], seed, grader.__version__))


def write_sealed(
    course: Course, infos: list[KataInfo], output: Path, secret_file: Path | None, *, unverified: bool = False
) -> str:
    """Write an encrypted key with cases from the secret seed, and return a message about its secret.

    The secret is read from `secret_file` if that exists; otherwise a new one is written there, or beside the
    key if no file is given.
    """
    require_solutions(course, infos)
    require_verified(course, infos, allows_unverified=unverified)
    file = secret_file or secret_beside(output)
    kept = secret_file is not None and file.exists()
    secret = read_secret(file) if kept else new_secret()
    seal(b"", secret)  # fail for a missing package or a bad secret before minutes of drawing
    entries = list(with_progress(draw_entries(course, infos, seed_or_new(course))))
    save(output, seal(write(entries, UNSAID, grader.__version__), secret))
    if kept:
        return f"{shorten(output)} is sealed anew; its secret is still that of {shorten(file)}."
    save(file, f"{secret}\n".encode(), private=True)
    return (
        f"{shorten(output)} is sealed. Its secret is in {shorten(file)}: give it to the workflow as"
        f" {VARIABLE}, and to nobody else."
    )


def sealed(entries: list[Entry], secret_file: Path) -> bytes:
    """Return an encrypted key; its secret is read from the file, or made and written there."""
    is_new = not secret_file.exists()
    secret = new_secret() if is_new else read_secret(secret_file)
    data = seal(write(entries, UNSAID, grader.__version__), secret)
    if is_new:
        save(secret_file, f"{secret}\n".encode(), private=True)
    return data


def secret_beside(key: Path) -> Path:
    """Return the file where `kata key --seal` writes the secret of a key."""
    return key.with_name(f"{key.name}.secret")


def chosen_katas(course: Course, names: Iterable[str]) -> list[KataInfo]:
    """Return the named katas, or all, in course order. Raises CourseError if there are none."""
    wanted = {course.kata_info(name).name for name in names}
    infos = [info for info in course.katas.values() if not wanted or info.name in wanted]
    if not infos:
        raise CourseError("The course has no katas yet.")
    return infos


def require_solutions(course: Course, infos: list[KataInfo], what: str = "A key is") -> None:
    """Raise CourseError if a kata has no reference in this course."""
    lacking = next((c for c in infos if not course.solution(c, "reference").is_file()), None)
    if lacking is not None:
        raise CourseError(f"{what} made from the solutions, and `{lacking.name}` has none here.")


def with_progress(entries: Iterable[Entry]) -> Iterator[Entry]:
    """Yield the entries, and print each kata's name to standard error."""
    for entry in entries:
        click.echo(f"{entry.name} …", err=True)
        yield entry


def draw_entries(course: Course, infos: list[KataInfo], seed: int) -> Iterator[Entry]:
    """Yield the entries of the katas, NumPy first, each drawn in its own process. Raises KataError.

    Entries are packed bytes, since shared tensors would be lost when their process ends.
    """
    for _, entry in for_each(course, infos, entry_of, seed, at_once=min(AT_ONCE, len(infos))):
        yield entry


def entry_of(course: Course, info: KataInfo, seed: int) -> Entry:
    """Return a kata's cases with the answers of the reference and every mistake. Raises KataError."""
    kata = course.declaration(info)
    oracle = Oracle(kata, course, info, seed)
    entry = key_entry(course, PreparedKata(info, kata, oracle, checks_of(kata, oracle)))
    return replace(entry, way=other_way(course, info), verified=described(course, info))


def key_files(entries: Iterable[Entry], seed: int = UNSAID) -> dict[str, bytes]:
    """Return a key file for each entry, by its path in a course."""
    return {f"keys/{entry.name}{SUFFIX}": write([entry], seed, grader.__version__) for entry in entries}


def save(path: Path, data: bytes, *, private: bool = False) -> None:
    """Write a file atomically. Raises CourseError if it cannot be written."""
    try:
        write_whole(path, data, private=private)
    except OSError as error:
        raise CourseError(f"{shorten(path)} cannot be written: {reason_of(error)}.") from None
