"""`kata key`: the solutions' answers, written down so that a grading needs no solutions."""

from __future__ import annotations

import os
import secrets
from collections.abc import Iterable, Iterator
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

import click

from grader.answer_keys import encryption
from grader.answer_keys.file import Entry, write
from grader.answer_keys.lookup import SUFFIX
from grader.authoring.parallel import for_each
from grader.cases.oracle import Oracle
from grader.checks.base import PreparedKata
from grader.checks.builtin import plan
from grader.course.catalog import Course, CourseError, KataInfo, shorten
from grader.diagnosis import recording

SEEDS = 2**31
AT_ONCE = 2


def write_keys(course: Course, infos: list[KataInfo], seed: int, output: Path) -> None:
    """One file a kata into a folder, or all into one file that ends in `.key`."""
    require_solutions(course, infos)
    drawn = told(draw_entries(course, infos, seed))
    if output.suffix == SUFFIX:
        save(output, write(list(drawn), seed, made_by()))
        return
    for entry in drawn:
        save(output / f"{entry.name}{SUFFIX}", write([entry], seed, made_by()))


def write_sealed(course: Course, infos: list[KataInfo], output: Path, secret_file: Path | None) -> str:
    """A sealed file with cases from a fresh seed. The secret is that of the file named, where it exists;
    else it is new and written there, beside the key by default. Returns what to tell."""
    require_solutions(course, infos)
    file = secret_file or output.with_name(output.name + ".secret")
    kept = secret_file is not None and file.exists()
    secret = encryption.read_secret(file) if kept else encryption.new_secret()
    encryption.seal(
        b"", secret
    )  # a missing package, or a secret that is none, is told before minutes of drawing
    seed = secrets.randbelow(SEEDS)
    save(
        output, encryption.seal(write(list(told(draw_entries(course, infos, seed))), seed, made_by()), secret)
    )
    if kept:
        return f"{shorten(output)} is sealed anew; its secret is still that of {shorten(file)}."
    save(file, f"{secret}\n".encode(), private=True)
    return (
        f"{shorten(output)} is sealed. Its secret is in {shorten(file)}: give it to the workflow as"
        f" {encryption.VARIABLE}, and to nobody else."
    )


def chosen(course: Course, names: Iterable[str]) -> list[KataInfo]:
    """The named katas, or all, in the order of the path. Raises CourseError where there are none."""
    wanted = {course.kata_info(name).name for name in names}
    infos = [info for info in course.katas.values() if not wanted or info.name in wanted]
    if not infos:
        raise CourseError("The course has no katas yet.")
    return infos


def require_solutions(course: Course, infos: list[KataInfo], what: str = "A key is") -> None:
    """Raises CourseError where a kata has no reference here."""
    lacking = next((c for c in infos if not course.solution(c, "reference").is_file()), None)
    if lacking is not None:
        raise CourseError(f"{what} made from the solutions, and `{lacking.name}` has none here.")


def told(entries: Iterable[Entry]) -> Iterator[Entry]:
    """The same, each kata's name said when it is there."""
    for entry in entries:
        click.echo(f"{entry.name} …", err=True)
        yield entry


def draw_entries(course: Course, infos: list[KataInfo], seed: int) -> Iterator[Entry]:
    """The katas one by one, NumPy's first, each drawn in a process of its own. They come back packed:
    tensors would be shared between processes, and their process ends. Raises KataError."""
    for _, entry in for_each(course, infos, entry_of, seed, at_once=min(AT_ONCE, len(infos))):
        yield entry


def entry_of(course: Course, info: KataInfo, seed: int) -> Entry:
    """A kata's cases, with what the reference and every mistake answer; cached. Raises KataError."""
    kata = course.declaration(info)
    oracle = Oracle(kata, course, info, seed)
    return recording.entry_of(course, PreparedKata(info, kata, oracle, plan(kata, oracle)))


def made_by() -> str:
    """The version of the grader that writes a key."""
    try:
        return version("decoder-dojo")
    except PackageNotFoundError:
        return "unknown"


def save(path: Path, data: bytes, private: bool = False) -> None:
    """Write a file, whole or not at all. Raises CourseError."""
    draft = path.with_name(f".{path.name}.draft")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        draft.touch(mode=0o600 if private else 0o644)
        draft.write_bytes(data)
        os.replace(draft, path)
    except OSError as error:
        told_ = (error.strerror or "unknown error").lower()
        raise CourseError(f"{shorten(path)} cannot be written: {told_}.") from None
