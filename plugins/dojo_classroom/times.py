"""Find out when a file was handed in: by the platform's own record, by the commit, or by the file.

An archive of a platform has the moment of its download, or nothing, as the time of every file. Such a time is
never the time at which work was handed in.

The commit comes from the student's repository, which is not trusted (`grader.course.git`). The time of a
commit is what the student's clock said, and can be set at will. A commit counts only for the content that it
holds.
"""

from __future__ import annotations

import hashlib
import os
import re
import zipfile
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from datetime import UTC, datetime, tzinfo
from functools import cached_property, partial
from pathlib import Path
from typing import NamedTuple

from grader.course.files import Parts, read_below
from grader.course.git import GitRefused, NoAnswer, Repository
from grader.course.submission import Unreadable

MOST_COMMITS = 5000
LATEST = 4_102_444_800  # the year 2100, in seconds since 1970
COMMIT = re.compile(rb"@(\d{1,12})")
CHANGE = re.compile(rb":\d+ \d+ [0-9a-f]+ ([0-9a-f]+) [A-Z]\d*")
ENTRY = re.compile(rb"100\d+ blob ([0-9a-f]+)\t(.+)", re.DOTALL)
ANSWERS = ("*.py", "*.ipynb", "*.zip")
MOST_BRANCHES = 10


SHOWN = "%Y-%m-%d %H:%M"  # how a time is written for people
#: Who tells a time that changes when a file is copied.
COPIED = ("the file", "the zip file")
COPYING = 60.0  # seconds between the first and the last file of a copy, at most
#: How Moodle writes a time in English, without the commas and the day of the week.
OF_MOODLE = ("%d %B %Y %I:%M %p", "%d %B %Y %H:%M", "%B %d %Y %I:%M %p", "%B %d %Y %H:%M", "%Y-%m-%d %H:%M")


class HandedIn(NamedTuple):
    """When a file was handed in, and who says so; `at` is None if nobody knows."""

    at: datetime | None
    source: str


def unknown_time() -> HandedIn:
    """Return that nobody knows."""
    return HandedIn(None, "no record")


class Commits(Repository):
    """What the commits of a student's repository say."""

    def handed_in(self, file: Path) -> HandedIn | None:
        """Return the time of the last commit that changed a file; None if no commit holds it as it is."""
        seconds, blob = self._changed.get(os.fsencode(file.relative_to(self.root).as_posix()), (0, ""))
        try:
            data = read_below(self.root, file.relative_to(self.root).parts)
        except OSError:
            return None
        form = hashlib.sha256 if len(blob) == 64 else hashlib.sha1  # as Git names what it holds
        versions = (data, data.replace(b"\r\n", b"\n"))  # a clone may have the line ends of its system
        if blob not in (form(b"blob %d\0" % len(one) + one).hexdigest() for one in versions):
            return None
        return HandedIn(moment(seconds), "the commit")

    @cached_property
    def _changed(self) -> Mapping[bytes, tuple[int, str]]:
        """The seconds since 1970 of the last commit that changed each file, and the hash of what it holds."""
        changed: dict[bytes, tuple[int, str]] = {}
        with suppress(OSError, NoAnswer):
            seconds, blob = 0, ""
            for part in self._log(self.head()).split(b"\0"):
                if found := COMMIT.fullmatch(part.strip(b"\n")):
                    seconds = int(found[1])
                elif found := CHANGE.fullmatch(part.lstrip(b"\n")):
                    blob = found[1].decode()
                elif part:
                    changed.setdefault(part, (seconds, blob))
        return changed

    def as_of(self, until: datetime) -> Iterator[tuple[Parts, HandedIn, Callable[[], bytes]]]:
        """Yield the files of the last commit until a moment, each with the time of that commit and a function
        that reads it. Yield none if that commit is checked out, or Git does not find one."""
        with suppress(OSError, NoAnswer):
            head = self.head()
            words = ["rev-list", "--first-parent", "--max-count=1", "--timestamp"]
            found = self.ask(head, *words, f"--min-age={int(until.timestamp())}", head).decode().split()
            if len(found) != 2 or found[1] == head:
                return
            when = HandedIn(moment(int(found[0])), "the commit")
            for entry in self.ask(head, "ls-tree", "-r", "-z", found[1]).split(b"\0"):
                if listed := ENTRY.fullmatch(entry):
                    read = partial(self._blob, head, listed[1].decode())
                    yield tuple(os.fsdecode(listed[2]).split("/")), when, read

    def _blob(self, head: str, blob: str) -> bytes:
        """Return the content of a file in a commit. Raises Unreadable."""
        try:
            return self.ask(head, "cat-file", "blob", blob)
        except (OSError, NoAnswer):
            raise Unreadable("Git cannot read the file as it was in time.") from None

    def other_branches(self) -> list[str]:
        """Return the branches with answers that the graded commit does not have. Raises Refused if Git cannot
        compare them within its limits."""
        found: list[str] = []
        try:
            tips: dict[str, str] = {}  # one name of each
            for name, tip in self.branches().items():
                tips.setdefault(tip, name)
            try:
                head = self.head()
            except GitRefused:
                raise
            except (OSError, NoAnswer):  # nothing is checked out
                head = ""
            tips.pop(head, None)
            for tip, name in list(tips.items())[:MOST_BRANCHES]:
                known = [f"^{head}"] if head else []
                new = self.ask(tip, "rev-list", "--max-count=1", tip, *known, "--", *ANSWERS)
                found += [name] if new.strip() else []
        except GitRefused:
            raise
        except (OSError, NoAnswer):  # it is damaged, or has no commits
            pass
        return found

    def _log(self, head: str) -> bytes:
        """Return what Git says of the commits before `head`, the files of each after its time."""
        words = ["log", "-z", "--format=@%ct", "--raw", "--no-abbrev", "--no-renames", "-m", "--first-parent"]
        return self.ask(head, *words, f"--max-count={MOST_COMMITS}", head, "--", *ANSWERS)


def moment(seconds: float) -> datetime:
    """Return seconds since 1970 as a date, which is at most LATEST: a clock may say anything."""
    return datetime.fromtimestamp(min(max(seconds, 0), LATEST), UTC)


def of_file(path: Path) -> HandedIn:
    """Return when a file was written last."""
    with suppress(OSError):
        return HandedIn(moment(path.lstat().st_mtime), "the file")
    return unknown_time()


def of_path(path: Path, record: Commits | Stamp | None) -> Callable[[], HandedIn]:
    """Return a function that says when a file was handed in, by a record or else by the file's own time."""
    return lambda: (record and record.handed_in(path)) or of_file(path)


def of_member(info: zipfile.ZipInfo, archived: datetime) -> HandedIn:
    """Return when a file in a zip was written, which has no time zone: that of this machine is assumed. No
    file is written after its archive, whose own time is `archived`."""
    with suppress(ValueError, OverflowError, OSError):
        at = datetime(*info.date_time).astimezone()
        late = "its time is after that of the zip file"
        return HandedIn(at, "the zip file") if at <= archived else HandedIn(None, late)
    return unknown_time()


def are_copied(times: Iterable[datetime]) -> bool:
    """Return whether more than half of some times of files, one a student, lie so close together that they
    are the moment of a copy or a download. One time alone may be any."""
    seconds = sorted(time.timestamp() for time in times)
    most = len(seconds) // 2  # so many others are near a time
    near = (later - at <= COPYING for at, later in zip(seconds, seconds[most:], strict=False))
    return len(seconds) > 1 and any(near)


class Stamp:
    """The time that nbgrader writes into a file beside what a student submits to it."""

    FILE = "timestamp.txt"

    def __init__(self, text: str) -> None:
        self._time = of_text(text, "nbgrader")

    def handed_in(self, _: Path) -> HandedIn | None:
        """Return the time; None if there is none in the file."""
        return self._time


def of_worksheet(text: str, zone: tzinfo | None) -> datetime | None:
    """Return the time in a cell of Moodle's grading worksheet, `Thursday, 19 November 2026, 12:00 PM`; None
    if it is none. It is in `zone`, or else in that of this machine."""
    words = text.replace(",", " ").split()
    if words and words[0].lower().endswith("day"):
        del words[0]
    for form in OF_MOODLE:
        with suppress(ValueError, OverflowError, OSError):
            found = datetime.strptime(" ".join(words), form)
            return found.replace(tzinfo=zone) if zone else found.astimezone()
    return None


def of_text(text: str, source: str) -> HandedIn | None:
    """Return a platform's time, such as `2026-11-20 21:03:11.5 -0800`; None if it is no time with a zone."""
    found = re.match(
        r"(\d{4}-\d\d-\d\d)[ T](\d\d:\d\d:\d\d)(?:\.\d+)? ?(Z|UTC|[+-]\d\d:?\d\d)$", text.strip()
    )
    if not found:
        return None
    offset = "+0000" if found[3] in ("Z", "UTC") else found[3].replace(":", "")
    with suppress(ValueError):
        return HandedIn(datetime.strptime(f"{found[1]} {found[2]} {offset}", "%Y-%m-%d %H:%M:%S %z"), source)
    return None
