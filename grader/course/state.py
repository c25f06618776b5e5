"""Remember how far a student is: `.dojo/state.json` beside the exercises.

The file is safe to commit and safe to lose. A kata passes only as long as the digest of its file and of its
declaration is the one that was graded. A course that cannot be written to has its state in the cache folder.
A file that cannot be read is kept: one of a newer grader stays as it is, a damaged one gets another name.
"""

from __future__ import annotations

import dataclasses
import hashlib
import json
import os
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from grader.course.catalog import Course, KataInfo, shorten
from grader.course.files import Folder, cache_folder, read_file
from grader.errors import reason_of, too_new

if TYPE_CHECKING:
    from grader.report import KataReport


STATE_FOLDER, STATE_FILE, STATE_VERSION = ".dojo", "state.json", 1
DAY_FORMAT, TIME_FORMAT = "%Y-%m-%d", "%Y-%m-%dT%H:%M:%S"
LONGEST_PAUSE = 15 * 60  # seconds between two gradings that count as work
MOST_MISTAKES = 8  # of a kata that are remembered
STATE_NUMBERS = range(100_000)  # that are remembered: hundredths of points, and counts


@dataclass(frozen=True)
class KataState:
    """What is remembered about one kata: the digest and the outcome of the last grading, the best score in
    hundredths, the mistake that was named, how many hints were shown, the mistake whose hint was shown last,
    the digest that was known then, whether any version has passed, and the library of the last answer if it
    is not the kata's own.

    For reviews: the day of the first pass, the mistakes that were named, oldest first, how many reviews in a
    row went well, the day of the next one, and how the last one ended. A day is text, such as 2026-03-14.
    `due_told` is the day on which it was said last that the review is due.

    For the choice of the next kata: when it was graded last, such as 2026-03-14T15:09:26. And until the first
    pass how many versions were graded because a student asked for it, which is not so while somebody types;
    how often such a version had the same mistake as the one before; how many hints had been shown; and the
    seconds of work between the gradings.

    For puzzles: whether a version that was written after a hint has failed, and the mistakes whose lines are
    in the puzzle that was shown, if one was."""

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
    due_told: str = ""
    graded_at: str = ""
    attempts: int = 0
    repeats: int = 0
    helped: int = 0
    seconds: int = 0
    failed_after_hint: bool = False
    puzzle: list[str] = field(default_factory=list)

    @property
    def has_passed(self) -> bool:
        """True if this or an earlier version has passed."""
        return self.passed or self.status == "passed"

    @property
    def most_hints(self) -> int:
        """How many hints were shown before the first pass; after one that an older grader has judged, how
        many were shown in all."""
        return self.helped if self.has_passed and self.graded_at else max(self.helped, self.hints)

    @property
    def was_hinted(self) -> bool:
        """True if a hint was shown."""
        return bool(self.helped or self.hints or self.hinted)

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
        name = shorten(self.folder / STATE_FILE)
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
        file = self.folder / STATE_FILE
        try:
            found = json.loads(folder.read(STATE_FILE))
        except FileNotFoundError:
            return {}, "", False
        except (OSError, ValueError, RecursionError):
            return {}, "", True
        version, katas = (found.get("version"), found.get("katas")) if isinstance(found, dict) else (0, 0)
        if newer := too_new(shorten(file), version, STATE_VERSION):
            return {}, newer, False
        if type(version) is not int or version != STATE_VERSION or not isinstance(katas, dict):
            return {}, "", True
        return {name: _of_kata(kata) for name, kata in katas.items()}, "", False

    def kata(self, name: str) -> KataState:
        return self.katas().get(name, KataState())

    def passed(self) -> set[str]:
        """Return the katas of which any version has passed."""
        return {name for name, state in self.katas().items() if state.has_passed}

    def change(self, name: str, **changes: Any) -> KataState:
        """Remember these facts about a kata and return all that are now known."""
        return self._change(name, lambda known: dataclasses.replace(known, **changes))

    def _change(self, name: str, changed: Callable[[KataState], KataState]) -> KataState:
        try:
            with Folder(self.folder, makes=True, follows_links=False) as folder, folder.alone():
                katas, keeps, damaged = self._read_in(folder)
                now = katas[name] = changed(katas.get(name, KataState()))
                record = {
                    "version": STATE_VERSION,
                    "katas": {name: asdict(kata) for name, kata in katas.items()},
                }
                text = json.dumps(record, indent=1, sort_keys=True) + "\n"
                with suppress(OSError):  # a full disk costs no points
                    if damaged:
                        put_aside(folder, STATE_FILE)
                    if not keeps:
                        folder.write(STATE_FILE, data=text.encode())
        except OSError:
            return changed(KataState())
        return now

    def record(self, report: KataReport, digest: str, *, is_typed: bool = False) -> KataState:
        """Remember the outcome of a grading of the file with this digest. `is_typed` says that it was graded
        while somebody types, and not because somebody asked."""
        mistake = report.mistake.id if report.mistake else ""
        has_passed = report.status == "passed"

        def fails_after_hint(known: KataState) -> bool:
            is_new = known.was_hinted and digest not in (known.digest, known.hint_digest)
            return known.failed_after_hint or (is_new and not has_passed)

        return self._change(
            report.name,
            lambda known: dataclasses.replace(
                _worked_on(known, mistake, is_new=digest != known.digest and not is_typed),
                digest=digest,
                status=report.status,
                score=report.score,
                best=max(report.score, known.best),
                mistake=mistake,
                checks={check.name: check.status for check in report.checks},
                passed=known.has_passed or has_passed,
                library=report.library,
                passed_on=known.passed_on or (time.strftime(DAY_FORMAT) if has_passed else ""),
                mistakes=list(dict.fromkeys([*known.mistakes, *filter(None, [mistake])]))[-MOST_MISTAKES:],
                failed_after_hint=fails_after_hint(known),
            ),
        )


def _worked_on(known: KataState, mistake: str, *, is_new: bool) -> KataState:
    """Return the state with what is remembered of the way to the first pass. `is_new` says that another
    version is graded because a student asked."""
    now = datetime.now().replace(microsecond=0)
    if known.has_passed:  # what an older grader has not counted is not known any more
        return dataclasses.replace(
            known,
            graded_at=now.strftime(TIME_FORMAT),
            helped=known.most_hints,
        )
    most = STATE_NUMBERS[-1]
    return dataclasses.replace(
        known,
        graded_at=now.strftime(TIME_FORMAT),
        attempts=min(known.attempts + is_new, most),
        repeats=min(known.repeats + (is_new and mistake != "" and mistake == known.mistake), most),
        helped=known.most_hints,
        seconds=min(known.seconds + _seconds_of_work(known.graded_at, now), most),
    )


def _seconds_of_work(before: str, now: datetime) -> int:
    """Return the seconds since a grading, at most those of the longest pause; 0 if there was none, or the
    clock has been set back."""
    try:
        passed = int((now - datetime.strptime(before, TIME_FORMAT)).total_seconds())
    except ValueError:
        return 0
    return min(max(passed, 0), LONGEST_PAUSE)


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
        return beside / STATE_FOLDER
    return cache_folder() / "courses" / hashlib.sha256(str(beside).encode()).hexdigest()[:16]


def _of_kata(found: Any) -> KataState:
    """Return the fields that hold what the grader writes; the others are as if they were not there."""
    found = found if isinstance(found, dict) else {}
    blank = asdict(KataState())
    right = {name: found[name] for name in blank if _is_like(found.get(name), blank[name])}
    right["checks"] = {str(name): str(status) for name, status in right.get("checks", {}).items()}
    for names in ("mistakes", "puzzle"):
        right[names] = [name for name in right.get(names, []) if _is_like(name, "")][:MOST_MISTAKES]
    return KataState(**right)


def _is_like(value: Any, blank: Any) -> bool:
    """Return whether the grader may have written a value where `blank` stands in a new state: it has the same
    type, and is no number out of range and no text that cannot be printed."""
    if type(value) is not type(blank):
        return False
    if type(value) is str:
        return value.isprintable()
    return type(value) is not int or value in STATE_NUMBERS


def put_aside(folder: Folder, *parts: str) -> None:
    """Give a damaged file a name that says so, which no file has. Raises OSError."""
    folder.rename(*parts, to=f"{parts[-1]}.damaged-{time.time_ns()}")
