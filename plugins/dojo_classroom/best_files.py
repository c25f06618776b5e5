"""Choose the file that answers each kata among those of one student."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from pathlib import PurePosixPath
from types import MappingProxyType
from typing import NamedTuple

from dojo_classroom.found_files import FoundFile, with_zips_opened
from dojo_classroom.platform_filenames import (
    EXACT,
    SUFFIXES,
    FilePlace,
    KnownNames,
    Parts,
    is_about,
    kata_at,
    may_be_an_answer,
    place_of,
    resubmission,
)
from dojo_classroom.times import HandedIn, unknown_time
from grader.course import submission
from grader.course.catalog import MANIFEST, CourseError, KataInfo
from grader.course.release_manifest import digest, parse_list
from grader.course.submission import SUFFIX, SubmissionRejected, Unreadable, cell_of, katas_of
from grader.texts.bounds import LONGEST_NAME, cut, first_names

MOST_MANIFESTS = 4  # of releases, in one submission
MOST_FILES = 50  # of one submission, for one kata
SECONDS = 120.0  # of the clock, to look through what one student has handed in
SLOW = f"it took more than {SECONDS:.0f} seconds to look through what was handed in"
MOST_NAMED = 3  # of the files that answer nothing, in a message


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
        places = first_names(["/".join(place) for place in self.duplicates])
        return f"{self.kata} is also in {places}; graded: {cut('/'.join(self.place), LONGEST_NAME)}."


@dataclass(frozen=True)
class Collected:
    """The files of one student: the one that counts for each kata, and those that a person has to look at."""

    files: list[SubmittedFile]
    unrecognised: list[str]  # paths of files that may be answers
    troubles: list[str]  # sentences about places in which answers could not be looked for
    declarations: Mapping[str, str] = field(default_factory=dict)  # digests by kata, of their release
    upload: int = 0  # Canvas's number of a file, of the graded ones if there are any


class Stub(NamedTuple):
    """A kata, and the file that students get for it now; empty if there is none."""

    info: KataInfo
    text: str = ""

    def is_begun(self, source: bytes) -> bool:
        """Return whether anything is written in a file, also if it cannot be read."""
        try:
            return submission.read(self.info, source, self.info.name, stub=self.text).touched
        except SubmissionRejected:
            return True


def stubs_of(infos: Mapping[str, KataInfo], texts: Mapping[str, bytes]) -> dict[str, Stub]:
    """Return the stubs of katas, whose files are `texts`."""
    return {name: Stub(info, texts.get(name, b"").decode("utf-8", "replace")) for name, info in infos.items()}


def answers_in(
    files: Iterator[FoundFile],
    names: KnownNames,
    stubs: Mapping[str, Stub] = MappingProxyType({}),
    handed_out: Mapping[Parts, str] = MappingProxyType({}),
) -> Collected:
    """Return the file in the best place for each kata, sorted by kata.

    A notebook answers the katas that its cells name. Of the katas of `stubs`, an untouched stub counts only
    if there is nothing else. `handed_out` has the digests of files that students got, besides those that a
    student's own manifest lists.
    """
    ranked: dict[str, list[tuple[FilePlace, FoundFile]]] = {}
    others: list[Parts] = []
    rest: list[Parts] = []  # which answer nothing
    manifests: list[FoundFile] = []
    troubles: list[str] = []
    upload, until = 0, time.monotonic() + SECONDS
    for file in with_zips_opened(files):
        if time.monotonic() > until:
            troubles.append(f"What lies behind {'/'.join(file.inner)} was not looked at: {SLOW}.")
            break
        upload = max(upload, file.upload)
        if file.trouble:
            troubles.append(file.trouble)
        elif found := _places(file, names):
            for place, kata in found:
                ranked.setdefault(kata, []).append((place, file))
        elif file.inner[-1] == MANIFEST:
            manifests.append(file)
        elif may_be_an_answer(file.inner, names):
            others.append(file.inner)
        elif not is_about(file.inner):
            rest.append(file.inner)
    released = {**handed_out, **_released(manifests)}
    unrecognised = ["/".join(place) for place in others if place not in released]
    best = [_best(kata, ranked[kata], stubs.get(kata), released, until) for kata in sorted(ranked)]
    declared = {place[-1]: digest for place, digest in released.items() if place[-4:-2] == ("tests", "katas")}
    declarations = {kata: declared[f"test_{kata}.py"] for kata in ranked if f"test_{kata}.py" in declared}
    if rest and not (best or unrecognised or troubles):
        named = ["/".join(place) for place in rest if place not in released][:MOST_NAMED]
        troubles = [f"Handed in, and no answer by its name: {first_names(named)}."] if named else []
    uploads = [file.upload for file in best] or [upload]
    return Collected(best, unrecognised, troubles, declarations, max(uploads))


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


def _places(file: FoundFile, names: KnownNames) -> list[tuple[FilePlace, str]]:
    """Return the katas that a file answers, each with its place: that of the file's name, and for a notebook
    those that its cells name."""
    named = kata_at(file.inner, names)
    found = [named] if named else []
    if file.inner[-1].casefold().endswith(SUFFIX) and (named or may_be_an_answer(file.inner, names)):
        with suppress(SubmissionRejected):
            cells = katas_of(file.read(), file.inner[-1], sorted(names.names))
            place = place_of(file.inner)
            found += [(place, names.current(kata)) for kata in cells if not named or kata != named[1]]
    return found


def _best(
    kata: str,
    found: list[tuple[FilePlace, FoundFile]],
    stub: Stub | None,
    released: Mapping[Parts, str],
    until: float,
) -> SubmittedFile:
    """Return the file in the best place; of several in equal places the one that was handed in last."""
    if len(found) > 1 and time.monotonic() > until:
        return SubmittedFile(kata, found[0][1].inner, partial(_refuse_slow, kata))
    if len(found) > MOST_FILES:
        return SubmittedFile(kata, found[0][1].inner, partial(_refuse_many, kata, len(found)))
    begun = [one for one in found if not _is_stub(one[1], stub, released)] if len(found) > 1 else found
    place = min(place for place, _ in begun or found)
    file = max((file for at, file in begun or found if at == place), key=_recency)
    is_usual = place.exactness == EXACT and place.depth <= 1
    others = tuple(other.inner for at, other in begun if other is not file and (at == place or not is_usual))
    read = file.read
    if place.suffix == SUFFIXES.index(SUFFIX):
        read = partial(_from_notebook, read, kata, file.inner[-1])
    return SubmittedFile(kata, file.inner, read, others, file.late, file.time, file.upload)


def _refuse_slow(kata: str) -> bytes:
    raise Unreadable(f"Several files answer {kata}, and they were not compared: {SLOW}.")


def _refuse_many(kata: str, files: int) -> bytes:
    raise Unreadable(f"{files:,} files answer {kata}; nobody knows which one was meant.")


def _is_stub(file: FoundFile, stub: Stub | None, released: Mapping[Parts, str]) -> bool:
    """Return whether a file is as a release wrote it, or nothing of the kata is begun in its code. A file
    that cannot be read may hold an answer."""
    if stub is None:
        return False
    label = file.inner[-1]
    try:
        data = file.read()
        if released.get(file.inner) == digest(data):
            return True
        if label.casefold().endswith(SUFFIX):
            data = _from_notebook(lambda: data, stub.info.name, label)
    except SubmissionRejected:
        return False
    return not stub.is_begun(data)


def _recency(file: FoundFile) -> tuple[int, tuple[int, ...], list[tuple[int, str]]]:
    """Return a key that is larger for a later file: by Canvas's number, by `-2` in the name, by the path."""
    parts = re.findall(r"\d+|\D+", "/".join(file.inner))
    natural = [(int(part), "") if part.isdecimal() else (-1, part) for part in parts]
    return file.upload, resubmission(PurePosixPath(file.inner[-1]).stem), natural


def _from_notebook(read: Callable[[], bytes], kata: str, label: str) -> bytes:
    """Return the source of the kata's cell in a notebook. Raises Unreadable if there is none."""
    return cell_of(read(), label, kata).encode("utf-8", "replace")
