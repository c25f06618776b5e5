"""Remember how far a student is: `.dojo/state.json` beside the exercises, and copies of the student's files.

The file is safe to commit and safe to lose. A kata passes only as long as the digest of its file and of its
declaration is the one that was graded. A course that cannot be written to has its state in the cache folder.
A file that cannot be read is kept: one of a newer grader stays as it is, a damaged one gets another name.

Show a kata's hints one at a time; the course's state holds how many were shown.

What changes in a term: a kata has another name (`solutions/renamed.toml`), or a corrected statement, which
comes beside the code of a student who has begun: `heap.statement.md`.

Find the stub of a kata: a copy that was kept, the installed course, the last one in Git.
"""

from __future__ import annotations

import dataclasses
import hashlib
import json
import os
import time
import tomllib
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from grader.course import submission
from grader.course.catalog import INSTALLED, Course, CourseError, KataInfo, shorten
from grader.course.files import Folder, cache_folder, read_below, read_file, text_of
from grader.course.git import NoAnswer, Repository
from grader.course.submission import SubmissionRejected, decoded, library_of, parse, read_bytes
from grader.course.torch_words import statement_in_torch, stub_in_torch, text_in_torch
from grader.errors import reason_of, too_new

if TYPE_CHECKING:
    from grader.report import KataReport

SUFFIX = ".statement.md"
MOST_LINES = 6  # of changes, in a note
LONGEST_STATEMENT = 20_000  # characters that are compared
FENCE = "~~~~"


def statement_of(source: str) -> str | None:
    """Return the docstring of a file; None if it has none or is no Python."""
    found = submission.statement_of(source)
    return found[0] if found else None


def beside(path: Path) -> Path:
    """Return where the corrected statement of an exercise lies."""
    return path.with_name(path.stem + SUFFIX)


def to_text(kata: str, statement: str, before: str) -> str:
    """Return the file: what changed, and the whole statement as it is now."""
    changes = "\n".join(_changes(before, statement))
    changed = f"What changed:\n\n{FENCE}diff\n{changes}\n{FENCE}\n\n" if before else ""
    return (
        f"# The statement of `{kata}` was corrected\n\nYour code is as you left it."
        f" `grade` judges by this statement. Copy it into\n`{kata}.py`, if you like.\n\n{changed}"
        f"The statement now:\n\n{FENCE}text\n{statement}\n{FENCE}\n"
    )


def moved(old: str, new: str, place: str) -> str:
    """Return the file that says where a renamed kata is now."""
    return (
        f"# `{old}` is called `{new}` now\n\nIts new file is `{place}`. Copy your code there:"
        " `grade` judges the\nnew file. Your instructor's `kata grade` takes either.\n"
    )


def note_for(path: Path) -> list[str]:
    """Return the lines that tell of a corrected statement beside an exercise, and what is different in it.

    There are none without such a file, or if the exercise has that statement already.
    """
    note = beside(path)
    _, opened, rest = _read(note).rpartition(f"{FENCE}text\n")
    if not opened:  # as almost always: a reader would be another process
        return []
    statement = rest.removesuffix(f"\n{FENCE}\n")
    before = (statement_of(_read(path)) or "")[:LONGEST_STATEMENT]
    if not is_changed(before, statement):
        return []
    changes = _changes(before, statement) if before else []
    more = [f"… {len(changes) - MOST_LINES} more lines"] if len(changes) > MOST_LINES else []
    return [f"The statement was corrected: {note.name} says what it is now.", *changes[:MOST_LINES], *more]


def is_changed(before: str, now: str) -> bool:
    """Return whether two statements differ in more than the library that they speak of."""
    return statement_in_torch(before) != statement_in_torch(now)


def _changes(before: str, now: str) -> list[str]:
    """Return the lines that went, with a minus, and those that came, with a plus."""
    import difflib  # few files have a corrected statement

    lines = difflib.unified_diff(before.splitlines(), now.splitlines(), n=0, lineterm="")
    return [line for line in list(lines)[2:] if not line.startswith("@@") and line[1:].strip()]


def _read(path: Path) -> str:
    try:
        return decoded(read_bytes(path, path.name), path.name)
    except SubmissionRejected:
        return ""


STATEMENTS_FILE = Path("solutions", "renamed.toml")


def renamed(course: Course) -> dict[str, str]:
    """Return the new name of each old one, of katas that exist. Raises CourseError if the file is damaged."""
    path = course.root / STATEMENTS_FILE
    if not path.is_file():
        return {}
    try:
        found = tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        raise CourseError(
            f'{STATEMENTS_FILE.as_posix()} is damaged: it has a line old = "new" for each kata.'
        ) from None
    return {old: new for old, new in found.items() if isinstance(new, str) and old != new}


FOLDER, FILE, VERSION = ".dojo", "state.json", 1
DAY = "%Y-%m-%d"
MOST_MISTAKES = 8  # of a kata that are remembered
NUMBERS = range(100_000)  # that are remembered: hundredths of points, and counts


@dataclass(frozen=True)
class KataState:
    """What is remembered about one kata: the digest and the outcome of the last grading, the best score in
    hundredths, the mistake that was named, how many hints were shown, the mistake whose hint was shown last,
    the digest that was known then, whether any version has passed, and the library of the last answer if it
    is not the kata's own.

    For reviews: the day of the first pass, the mistakes that were named, oldest first, how many reviews in a
    row went well, the day of the next one, and how the last one ended. A day is text, such as 2026-03-14."""

    digest: str = ""
    status: str = ""
    score: int = 0
    best: int = 0
    mistake: str = ""
    checks: dict[str, str] = field(default_factory=dict)
    hints: int = 0
    hinted: str = ""
    hint_digest: str = ""
    passed: bool = False
    library: str = ""
    passed_on: str = ""
    mistakes: list[str] = field(default_factory=list)
    reviews: int = 0
    review_on: str = ""
    reviewed: str = ""

    @property
    def has_passed(self) -> bool:
        """True if this or an earlier version has passed."""
        return self.passed or self.status == "passed"

    @property
    def was_tried_since_hint(self) -> bool:
        """True if no hint was shown yet, or another version was graded since the last one."""
        return not (self.hints or self.hinted) or self.digest != self.hint_digest


class CourseState:
    """The state of all katas of one course. Every change is written at once. It reads the file again while no
    other command may write it, so that commands which run side by side keep each other's changes."""

    def __init__(self, course: Course) -> None:
        self.folder = _folder(course)

    def katas(self) -> dict[str, KataState]:
        """Return what is remembered, by kata; nothing if the file cannot be read."""
        return self._read()[0]

    def trouble(self) -> str:
        """Return why the file cannot be read and what becomes of it, as sentences; "" if it can."""
        _, keeps, damaged = self._read()
        name = shorten(self.folder / FILE)
        if keeps:
            return f"{keeps} It stays as it is, and no score is remembered until then."
        anew = f"{name} is damaged: it is kept under another name, and scores are remembered anew."
        return anew if damaged else ""

    def _read(self) -> tuple[dict[str, KataState], str, bool]:
        """Return what is remembered, by kata; why the file stays as it is; and whether it is damaged."""
        try:
            with Folder(self.folder, follows_links=False) as folder:
                return self._read_in(folder)
        except FileNotFoundError:
            return {}, "", False
        except OSError as error:
            return {}, f"{shorten(self.folder)} {reason_of(error)}: make it a folder of its own.", False

    def _read_in(self, folder: Folder) -> tuple[dict[str, KataState], str, bool]:
        file = self.folder / FILE
        try:
            found = json.loads(folder.read(FILE))
        except FileNotFoundError:
            return {}, "", False
        except (OSError, ValueError, RecursionError):
            return {}, "", True
        version, katas = (found.get("version"), found.get("katas")) if isinstance(found, dict) else (0, 0)
        if newer := too_new(shorten(file), version, VERSION):
            return {}, newer, False
        if type(version) is not int or version != VERSION or not isinstance(katas, dict):
            return {}, "", True
        return {name: _of_kata(kata) for name, kata in katas.items()}, "", False

    def kata(self, name: str) -> KataState:
        return self.katas().get(name, KataState())

    def change(self, name: str, **changes: Any) -> KataState:
        """Remember these facts about a kata and return all that are now known."""
        return self._change(name, lambda known: dataclasses.replace(known, **changes))

    def _change(self, name: str, changed: Callable[[KataState], KataState]) -> KataState:
        try:
            with Folder(self.folder, makes=True, follows_links=False) as folder, folder.alone():
                katas, keeps, damaged = self._read_in(folder)
                now = katas[name] = changed(katas.get(name, KataState()))
                record = {"version": VERSION, "katas": {name: asdict(kata) for name, kata in katas.items()}}
                text = json.dumps(record, indent=1, sort_keys=True) + "\n"
                with suppress(OSError):  # a full disk costs no points
                    if damaged:
                        put_aside(folder, FILE)
                    if not keeps:
                        folder.write(FILE, data=text.encode())
        except OSError:
            return changed(KataState())
        return now

    def record(self, report: KataReport, digest: str) -> KataState:
        """Remember the outcome of a grading of the file with this digest."""
        mistake = report.mistake.id if report.mistake else ""
        has_passed = report.status == "passed"
        return self._change(
            report.name,
            lambda known: dataclasses.replace(
                known,
                digest=digest,
                status=report.status,
                score=report.score,
                best=max(report.score, known.best),
                mistake=mistake,
                checks={check.name: check.status for check in report.checks},
                passed=known.has_passed or has_passed,
                library=report.library,
                passed_on=known.passed_on or (time.strftime(DAY) if has_passed else ""),
                mistakes=list(dict.fromkeys([*known.mistakes, *filter(None, [mistake])]))[-MOST_MISTAKES:],
            ),
        )


def file_digest(info: KataInfo, path: Path) -> str:
    """Return a digest of a file and of its kata's declaration; "" if one of them cannot be read."""
    try:
        parts = [read_file(file).replace(b"\r\n", b"\n") for file in (info.path, path)]
    except OSError:
        return ""
    return hashlib.sha256(b"\0".join(hashlib.sha256(part).digest() for part in parts)).hexdigest()[:24]


def _folder(course: Course) -> Path:
    beside = Path(os.path.abspath(course.exercises)).parent  # not where a link leads
    if os.access(beside, os.W_OK):
        return beside / FOLDER
    return cache_folder() / "courses" / hashlib.sha256(str(beside).encode()).hexdigest()[:16]


def _of_kata(found: Any) -> KataState:
    """Return the fields that hold what the grader writes; the others are as if they were not there."""
    found = found if isinstance(found, dict) else {}
    blank = asdict(KataState())
    right = {name: found[name] for name in blank if _is_like(found.get(name), blank[name])}
    right["checks"] = {str(name): str(status) for name, status in right.get("checks", {}).items()}
    right["mistakes"] = [name for name in right.get("mistakes", []) if _is_like(name, "")][:MOST_MISTAKES]
    return KataState(**right)


def _is_like(value: Any, blank: Any) -> bool:
    """Return whether the grader may have written a value where `blank` stands in a new state: it has the same
    type, and is no number out of range and no text that cannot be printed."""
    if type(value) is not type(blank):
        return False
    if type(value) is str:
        return value.isprintable()
    return type(value) is not int or value in NUMBERS


STUBS, BEST, REPLACED = "stubs", "best", "replaced"


def put_aside(folder: Folder, *parts: str) -> None:
    """Give a damaged file a name that says so, which no file has. Raises OSError."""
    folder.rename(*parts, to=f"{parts[-1]}.damaged-{time.time_ns()}")


class Versions:
    """The copies in one folder, a subfolder for each kind."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def keep(self, kind: str, info: KataInfo, path: Path, keeps_old: bool = False) -> None:
        """Copy the file, unless the same bytes are kept already; put the old copy aside if `keeps_old`."""
        with suppress(OSError):
            data, old = read_file(path), self.kept(kind, info)
            if old is not None and old != data and keeps_old:
                self.put_aside(info, old)
            if data != old:
                self._write(kind, f"{info.name}.py", data)

    def kept(self, kind: str, info: KataInfo) -> bytes | None:
        """Return the copy of this kind, or None if there is none."""
        try:
            return read_below(self.folder, (kind, f"{info.name}.py"))
        except OSError:
            return None

    def holds(self, path: Path, data: bytes) -> bool:
        """Return whether a student's file holds these bytes."""
        try:
            return read_file(path) == data
        except OSError:
            return False

    def replace(self, info: KataInfo, path: Path, data: bytes) -> Path | None:
        """Write `data` to the file, and return where a copy of what it held is; None if there was no file.
        Raises OSError."""
        try:
            copy = self.put_aside(info, read_file(path))
        except FileNotFoundError:
            copy = None
        with Folder(path.parent, makes=True, follows_links=False) as folder:
            folder.write(path.name, data=data)
        return copy

    def put_aside(self, info: KataInfo, data: bytes) -> Path:
        """Keep what a student's file held, and return where. Raises OSError."""
        name = f"{info.name}-{hashlib.sha256(data).hexdigest()[:8]}.py"
        self._write(REPLACED, name, data)
        return self.folder / REPLACED / name

    def _write(self, kind: str, name: str, data: bytes) -> None:
        with Folder(self.folder, makes=True, follows_links=False) as folder:
            folder.write(kind, name, data=data)


MOST_COMMITS = 20  # of a file, that are searched for its stub


def stub_source(course: Course, info: KataInfo, versions: Versions, library: str = "") -> bytes | None:
    """Return the stub of a kata: the copy that was kept, the one in the installed wheel, or the last one that
    was committed to Git; the one in `library`, or in PyTorch for a file in PyTorch. None if there is none."""
    now = library_of(info, text_of(course.stub(info)))
    library = library or (now if now != info.library else "")
    found = (stub_in(library, info, data) for data in _stubs(course, info, versions) if data)
    return next((data for data in found if library in ("", library_of(info, data.decode()))), None)


def _stubs(course: Course, info: KataInfo, versions: Versions) -> Iterator[bytes | None]:
    yield versions.kept(STUBS, info)
    yield _in_wheel(info)
    yield _in_git(info, course.stub(info))


def stub_in(library: str, info: KataInfo, data: bytes) -> bytes:
    """Return a stub in `library`, if that is PyTorch and the kata may be answered in it; else as it is."""
    if library != "torch" or library == info.library or library not in info.libraries:
        return data
    found = submission.statement_of(data.decode())
    return stub_in_torch(data.decode(), found[1] if found else 0).encode()


def is_untouched(info: KataInfo, data: bytes) -> bool:
    with suppress(SubmissionRejected):
        return not parse(info, decoded(data, info.name), info.name).touched
    return False


def _in_wheel(info: KataInfo) -> bytes | None:
    import zipfile  # the loop starts without it

    with suppress(OSError, KeyError, zipfile.BadZipFile), zipfile.ZipFile(INSTALLED) as archive:
        return archive.read(f"exercises/{info.track}/{info.name}.py")
    return None


def _in_git(info: KataInfo, path: Path) -> bytes | None:
    """Return the last committed version of the file that is a stub."""
    with suppress(OSError, NoAnswer):
        repository = Repository.around(path)
        head, place = repository.head(), Path(os.path.abspath(path)).relative_to(repository.root).as_posix()
        words = ("rev-list", f"--max-count={MOST_COMMITS}", head, "--", f":(literal){place}")
        for commit in repository.ask(head, *words).decode().split():
            with suppress(NoAnswer):  # the commit has removed the file
                data = repository.ask(head, "cat-file", "blob", f"{commit}:{place}")
                if is_untouched(info, data):
                    return data
    return None


def course_statement(course: Course, info: KataInfo, versions: Versions) -> str:
    """Return the statement of the stub that was kept, of the course's own one, or else of the file."""
    kept = versions.kept(STUBS, info)
    sources = (kept, None if kept else stub_source(course, info, versions))
    texts = [data.decode(errors="replace") for data in sources if data]
    texts.append(text_of(course.stub(info)))
    return next(filter(None, map(statement_of, texts)), info.title)


def next_hint(course: Course, info: KataInfo, again: str = "grade hint") -> str:
    """Return a hint with its number and the command for the next one: first the hint that speaks of the
    mistake in the file, once, then the one after those shown in order. After the last one it says so, and
    begins again."""
    if not info.hints:
        return f"{info.name} has no hints: its statement says it all."
    state = CourseState(course)
    known = state.kata(info.name)
    number = next_number(info, known)
    if not number:
        state.change(info.name, hints=0)
        total = len(info.hints)
        shown = f"all {total} hints" if total > 1 else "the only hint"
        return f"You have seen {shown} of {info.name}. The first comes next."
    if _speaks_of_mistake(info, known):
        seen = number if number == known.hints + 1 else known.hints  # so that it is not shown twice in a row
        state.change(info.name, hinted=known.mistake, hints=seen, hint_digest=known.digest)
    else:
        state.change(info.name, hints=number, hint_digest=known.digest)
    more = "" if number == len(info.hints) or not again else f"\n\nOne more:  {again} {info.name}"
    text = info.hints[number - 1]
    if library_of(info, text_of(course.stub(info))) != info.library:
        text = text_in_torch(text)
    return f"Hint {number} of {len(info.hints)}: {text}{more}"


def next_number(info: KataInfo, known: KataState) -> int:
    """Return the number of the hint that comes next, from 1; 0 after the last."""
    if _speaks_of_mistake(info, known):
        return info.hint_for[known.mistake]
    return known.hints + 1 if known.hints < len(info.hints) else 0


def _speaks_of_mistake(info: KataInfo, known: KataState) -> bool:
    """Return whether a hint speaks of the mistake that was named last and was not shown for it yet."""
    return known.mistake in info.hint_for and known.mistake != known.hinted
