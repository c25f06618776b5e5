"""Find submitted files, student by student, in folders, repositories, nbgrader's tree or a platform's zip.

Only names are held in memory; a file is read when it is graded.

Lay out one submission as a folder of exercises, with the choice of files that a class gets.
"""

from __future__ import annotations

import os
import re
import shutil
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from functools import partial
from pathlib import Path, PurePosixPath
from types import MappingProxyType
from typing import NamedTuple

from dojo_classroom.platform_filenames import (
    EXACT,
    IGNORED_FOLDERS,
    SUFFIXES,
    FilePlace,
    KnownNames,
    Owned,
    Parts,
    StudentName,
    is_about,
    kata_at,
    may_be_an_answer,
    owner,
    place_of,
    resubmission,
)
from dojo_classroom.roster import gradescope_people
from dojo_classroom.times import (
    Commits,
    HandedIn,
    Stamp,
    of_file,
    of_member,
    of_path,
    unknown_time,
)
from grader.course import submission
from grader.course.archives import Zip
from grader.course.catalog import MANIFEST, Course, CourseError, KataInfo, shorten
from grader.course.files import CLASS_LIMITS, LIMITS, Folder, NotReadable, TooLarge
from grader.course.git import Allowance, GitRefused
from grader.course.release_manifest import digest, parse_list, read_list
from grader.course.submission import (
    MAX_BYTES,
    SUFFIX,
    SubmissionRejected,
    Unreadable,
    cell_of,
    katas_of,
    read_bytes,
    utf8,
)
from grader.errors import reason_of
from grader.reading.source import LARGEST_NOTEBOOK
from grader.texts.bounds import LONGEST_NAME, cut, listed

UPLOADED = "submitted"  # nbgrader's folder of what was handed in
METADATA = "submission_metadata.yml"  # of Gradescope's export
LARGEST_METADATA = 64 << 20  # bytes; it holds everybody's results as well
LARGEST_NESTED = 64 << 20  # bytes of a zip in a zip
GRADESCOPE = re.compile(r"submission_\d+")  # the folders of its export
#: Of one submission.
MOST_MANIFESTS = 4  # of releases
MOST_ZIPS = 8
MOST_FILES = 50  # for one kata
UNCLEAR = "Nobody knows whose {} is: its name fits the number {}."
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
        places = listed(["/".join(place) for place in self.duplicates])
        return f"{self.kata} is also in {places}; graded: {cut('/'.join(self.place), LONGEST_NAME)}."


class FoundFile(NamedTuple):
    """A file of a student: its path inside the submission, a function that reads it, what Canvas says, and a
    function that says when it was handed in. `trouble` is a sentence if there may be answers that could not
    be looked for, such as in a damaged zip; such a place is no file."""

    inner: Parts
    read: Callable[[], bytes]
    late: bool = False
    upload: int = 0
    time: Callable[[], HandedIn] = unknown_time
    trouble: str = ""


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
            self._read_people(_reader(folder, (METADATA,)))
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
                self._add(found.student, partial(_walk, path, found, believed, allowance))
                if believed is Commits and is_folder:
                    as_of = partial(_as_of, path, found, allowance)
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
                self._add(told, partial(iter, [_trouble((name,), text)]))

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
            self._read_people(partial(_read_member, archive, metadata))
        for parts in sorted(archive.members.keys() - {metadata}):
            found = owner(parts[above:]) if len(parts) > above else None
            if found and found.others:
                self._unclear.append((parts[above], found))
            elif found:
                read = partial(_read_member, archive, parts)
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
                f" Name the folder of the students: kata grade {folder}"
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


@dataclass(frozen=True)
class Collected:
    """What one student handed in: the best file for each kata, and what a person must look at."""

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
    for file in _with_zips_opened(files):
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
        troubles = [f"Handed in, and no answer by its name: {listed(named)}."] if named else []
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


def _with_zips_opened(files: Iterator[FoundFile]) -> Iterator[FoundFile]:
    """Yield the files; a zip file of a student is replaced by the files in it."""
    zips = 0
    for file in files:
        if file.trouble or len(file.inner) != 1 or not file.inner[0].casefold().endswith(".zip"):
            yield file
            continue
        zips += 1
        try:
            if zips > MOST_ZIPS:
                raise Unreadable(f"There are more than {MOST_ZIPS} zip files.")
            yield from _members(file)
        except SubmissionRejected as error:
            yield file._replace(trouble=str(error))


def _members(file: FoundFile) -> Iterator[FoundFile]:
    """Yield the files in a student's zip. Raises Unreadable."""
    label = file.inner[0]
    try:
        archive = Zip(file.read())
    except NotReadable as error:
        raise Unreadable(f"{label} {error.strerror}.") from None
    for inner in archive.members:
        yield FoundFile(inner, partial(_read_member, archive, inner), file.late, file.upload, file.time)
    if archive.unsafe:
        name = cut(archive.unsafe[0], LONGEST_NAME)
        raise Unreadable(f"{label} holds a file whose name is no place in it: {name}.")
    if not archive.members:
        raise Unreadable(f"{label} holds no file.")


def _read_member(archive: Zip, parts: Parts) -> bytes:
    """Return a file in a zip. Raises Unreadable."""
    try:
        return archive.read(parts, limit_of(parts[-1]))
    except NotReadable as error:
        raise Unreadable(f"{parts[-1]} {error.strerror}.") from None


def limit_of(name: str) -> int:
    """Return the largest number of bytes that is read of a file of that name."""
    if name == METADATA:
        return LARGEST_METADATA
    return {".zip": LARGEST_NESTED, SUFFIX: LARGEST_NOTEBOOK}.get(
        PurePosixPath(name).suffix.casefold(), MAX_BYTES
    )


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


def files_below(path: Path) -> Iterator[FoundFile]:
    """Yield the files of one submission, which is a folder or a zip file."""
    name = StudentName(path.name)
    return _walk(path, Owned(name, () if path.is_dir() else (path.name,)))


Record = Commits | Stamp


def _walk(
    path: Path, found: Owned, believed: type[Record] | None = None, allowance: Allowance | None = None
) -> Iterator[FoundFile]:
    """Yield every file below a path, or the path itself if it is a file; follow no link. `believed` are the
    records that say when a file was handed in, `allowance` is what Git may do for the student."""
    if path.is_symlink() or not path.is_dir():
        read = _reader(path.parent, (path.name,))
        yield FoundFile(found.inner, read, found.late, found.upload, of_path(path, None))
        return
    yield from _Walk(path, found.inner, believed, allowance or Allowance()).all_files()


def _as_of(path: Path, found: Owned, allowance: Allowance, until: datetime) -> Iterator[FoundFile]:
    """Yield the files of the repositories below a path, as they were at a moment."""
    yield from _Walk(path, found.inner, Commits, allowance, until).all_files()


class _Walk:
    """A way through a student's folder, by descriptors. `above` is what the platform's name says of it. With
    `until` it is a way through the commits of the repositories there, each as it was at that moment."""

    def __init__(
        self,
        root: Path,
        above: Parts,
        believed: type[Record] | None,
        allowance: Allowance,
        until: datetime | None = None,
    ) -> None:
        self._root, self._above, self._believed, self._until = root, above, believed, until
        self._allowance = allowance  # for all repositories below the folder
        self._count = 0  # of files

    def all_files(self) -> Iterator[FoundFile]:
        """Yield the files below the folder, at most `LIMITS.members`."""
        try:
            with Folder(self._root, follows_links=False) as folder:
                yield from self._below(folder, ())
        except _TooMany:
            text = f"It holds more than {LIMITS.members:,} files; those after the first were not looked at."
            yield _trouble(self._above, text)
        except OSError as error:
            yield _trouble(self._above, f"The folder cannot be opened: {reason_of(error)}.")

    def _below(self, folder: Folder, parts: Parts, record: Record | None = None) -> Iterator[FoundFile]:
        """Yield the files of a folder, and of those in it. Raises OSError and _TooMany."""
        entries = folder.entries()
        names = [entry.name for entry in entries if not entry.is_folder]
        folders = [entry.name for entry in entries if entry.is_folder]
        if self._until and ".git" in folders:
            yield from self._committed(Commits(folder.path, self._allowance), parts, self._until)
            return
        if ".git" in folders:
            own = Commits(folder.path, self._allowance)
            record = own if self._believed is Commits else record
            if text := _of_branches(own):
                yield _trouble((*self._above, *parts), text)
        if self._believed is Stamp and Stamp.FILE in names:
            names.remove(Stamp.FILE)
            with suppress(OSError, UnicodeDecodeError):
                record = Stamp(folder.read(Stamp.FILE, limit=LONGEST_NAME).decode())
        self._count += len(names)
        if self._count > LIMITS.members:
            raise _TooMany
        for name in names if self._until is None else ():
            yield self._file((*parts, name), of_path(folder.path / name, record))
        for name in folders:
            if name not in IGNORED_FOLDERS and not name.startswith("."):
                yield from self._lower(folder, (*parts, name), record)

    def _committed(self, repository: Commits, parts: Parts, until: datetime) -> Iterator[FoundFile]:
        """Yield the files of the last commit until then, without what a walk leaves out. Raises _TooMany."""
        for inner, when, read in repository.as_of(until):
            if any(name in IGNORED_FOLDERS or name.startswith(".") for name in inner[:-1]):
                continue
            self._count += 1
            if self._count > LIMITS.members:
                raise _TooMany
            yield FoundFile((*self._above, *parts, *inner), read, time=lambda when=when: when)  # type: ignore[misc]

    def _lower(self, folder: Folder, parts: Parts, record: Record | None) -> Iterator[FoundFile]:
        if len(parts) > LIMITS.depth:
            yield self._file(parts)
            return
        before = self._count
        try:
            with folder.folder(parts[-1]) as lower:
                yield from self._below(lower, parts, record)
        except OSError as error:
            text = f"The folder {'/'.join(parts)} cannot be opened: {reason_of(error)}."
            yield _trouble((*self._above, *parts), text)
        if self._count == before and parts[-1].endswith(SUFFIXES):  # an empty folder of a file's name
            yield self._file(parts)

    def _file(self, parts: Parts, time: Callable[[], HandedIn] = unknown_time) -> FoundFile:
        return FoundFile((*self._above, *parts), _reader(self._root, parts), time=time)


def _of_branches(commits: Commits) -> str:
    """Return a sentence about answers that may be on other branches; "" if there are none."""
    try:
        others = commits.other_branches()
    except GitRefused as error:
        return f"Whether there is work on another branch is not known: {error}."
    return f"There is work on another branch than the graded one: {listed(others)}." if others else ""


class _TooMany(Exception):
    """Raised if a submission holds more files than are looked at."""


def _trouble(inner: Parts, text: str) -> FoundFile:
    return FoundFile(inner or (".",), bytes, trouble=text)


def _reader(root: Path, inner: Parts) -> Callable[[], bytes]:
    return partial(read_bytes, root.joinpath(*inner), inner[-1], limit_of(inner[-1]), root=root)


MOST_NOTES = 20


class LaidOut(NamedTuple):
    """A course with a submission's files as its exercises, notes about files, and by kata why what was handed
    in could not be read."""

    course: Course
    notes: list[str]
    unread: dict[str, str]


@contextmanager
def laid_out(course: Course, submission: Path) -> Iterator[LaidOut]:
    """Yield the course with the submission's files as its exercises.

    A kata that was not handed in is its stub. Raises CourseError if there is no submission.
    """
    if not submission.exists():
        raise CourseError(f"There is no submission {shorten(submission)}.")
    with tempfile.TemporaryDirectory(prefix="dojo-submission-") as folder:
        exercises = Path(folder) / "exercises"
        shutil.copytree(course.exercises, exercises)
        laid = Course(course.root, exercises)
        yield _fill(laid, submission)


def _fill(course: Course, submission: Path) -> LaidOut:
    """Put the submission's answers into the folder of exercises."""
    notes, unread = list[str](), dict[str, str]()
    paths = {name: course.stub(info) for name, info in course.katas.items()}
    texts = {name: path.read_bytes() for name, path in paths.items() if path.is_file()}
    answers = answers_in(files_below(submission), KnownNames(course.katas), stubs_of(course.katas, texts))
    notes += answers.troubles
    for file in answers.files:
        path = course.stub(course.katas[file.kata])
        try:
            path.write_bytes(file.read())
        except SubmissionRejected as refused:
            path.unlink(missing_ok=True)
            notes.append(str(refused))
            unread[file.kata] = str(refused)
        if file.duplicates:
            notes.append(file.note)
    unclear = answers.troubles
    if answers.unrecognised:
        notes.append(f"Handed in, not recognised: {listed(answers.unrecognised)}.")
        if not unclear and not answers.files:
            unclear = notes[-1:]
    missing = course.katas.keys() - {file.kata for file in answers.files}
    unread |= dict.fromkeys(missing, unclear[0]) if unclear else {}  # the answers may be there
    left = len(notes) - MOST_NOTES
    if left > 0:
        notes = [*notes[:MOST_NOTES], f"{left:,} more notes of this kind are left out."]
    return LaidOut(course, notes, unread)
