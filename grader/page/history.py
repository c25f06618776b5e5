"""The versions of a file that were judged, each with its score, in the folder of the state."""

from __future__ import annotations

import hashlib
import time
from contextlib import suppress
from pathlib import Path

import msgspec

from grader.course.files import put_aside, read_file, write_whole
from grader.report import KataReport, KataStatus

MOST = 100  # versions of a file
LARGEST = 4 << 20  # bytes of all of them


class Version(msgspec.Struct):
    """A judged version: when, the outcome, the score in hundredths, and the text."""

    when: float
    status: KataStatus
    score: int
    max_score: int
    source: str


class History:
    """The judged versions of one kata's file, the first one first."""

    def __init__(self, folder: Path, kata: str) -> None:
        self._file = folder / "history" / f"{kata}.json"

    def versions(self) -> list[Version]:
        """Return the versions; none if the file cannot be read, which then gets another name."""
        try:
            return msgspec.json.decode(read_file(self._file), type=list[Version])
        except FileNotFoundError:
            return []
        except (OSError, msgspec.DecodeError, RecursionError):
            with suppress(OSError):
                put_aside(self._file)
            return []

    def damaged(self) -> list[Path]:
        """Return the files that could not be read, under the names that they have now."""
        return sorted(self._file.parent.glob(f"{self._file.name}.damaged-*"))

    def add(self, report: KataReport, source: str) -> None:
        """Keep the text that was judged, unless it is the one kept last or not the one of the report."""
        if report.digest != hashlib.sha256(source.encode()).hexdigest():
            return
        found = self.versions()
        if found and found[-1].source == source:
            return
        found = [*found, Version(time.time(), report.status, report.score, report.max_score, source)][-MOST:]
        data = msgspec.json.encode(found)
        while len(data) > LARGEST and len(found) > 1:
            del found[0]
            data = msgspec.json.encode(found)
        with suppress(OSError):  # a full disk costs nothing but the history
            write_whole(self._file, data)
