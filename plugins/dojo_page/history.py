"""The versions of a file that were judged, each with its score, in the folder of the state."""

from __future__ import annotations

import hashlib
import json
import time
from contextlib import suppress
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any

from grader.course.files import Folder
from grader.course.state import put_aside
from grader.report import KataReport

MOST_VERSIONS = 100  # versions of a file
LARGEST_HISTORY = 4 << 20  # bytes of all of them


@dataclass(frozen=True)
class JudgedVersion:
    """A judged version: when, the outcome, the score in hundredths, and the text."""

    when: float
    status: str
    score: int
    max_score: int
    source: str

    @property
    def number(self) -> int:
        """What tells it from the others: when it was judged, in milliseconds."""
        return int(self.when * 1000)


class History:
    """The judged versions of one kata's file, the first one first."""

    def __init__(self, folder: Path, kata: str) -> None:
        self._folder, self._file = folder, ("history", f"{kata}.json")

    def versions(self) -> list[JudgedVersion]:
        """Return the versions; none if the file cannot be read, which then gets another name."""
        with suppress(OSError), Folder(self._folder, follows_links=False) as folder:
            return self._versions(folder)
        return []

    def damaged(self) -> list[Path]:
        """Return the files that could not be read, under the names that they have now."""
        kind, name = self._file
        with (
            suppress(OSError),
            Folder(self._folder, follows_links=False) as kept,
            kept.folder(kind) as folder,
        ):
            found = [entry.name for entry in folder.entries()]
            return [folder.path / one for one in found if one.startswith(f"{name}.damaged-")]
        return []

    def add(self, report: KataReport, source: str) -> None:
        """Keep the text that was judged, unless it is the one kept last or not the one of the report."""
        if report.digest != hashlib.sha256(source.encode()).hexdigest():
            return
        with (
            suppress(OSError),  # a full disk costs nothing but the history
            Folder(self._folder, makes=True, follows_links=False) as folder,
            folder.alone(),
        ):
            found = self._versions(folder)
            if found and found[-1].source == source:
                return
            new = JudgedVersion(time.time(), report.status, report.score, report.max_score, source)
            found = [*found, new][-MOST_VERSIONS:]
            while len(data := _encoded(found)) > LARGEST_HISTORY and len(found) > 1:
                del found[0]
            folder.write(*self._file, data=data)

    def _versions(self, folder: Folder) -> list[JudgedVersion]:
        try:
            return [_version(one) for one in json.loads(folder.read(*self._file))]
        except FileNotFoundError:
            return []
        except (OSError, ValueError, TypeError, RecursionError):
            with suppress(OSError):
                put_aside(folder, *self._file)
            return []


def _encoded(versions: list[JudgedVersion]) -> bytes:
    return json.dumps([asdict(one) for one in versions], ensure_ascii=False, separators=(",", ":")).encode()


def _version(found: dict[str, Any]) -> JudgedVersion:
    """Return a version as it was written. Raises ValueError, TypeError."""
    version = JudgedVersion(**found)
    kinds = {"float": float | int, "int": int, "str": str}
    if not all(isinstance(getattr(version, one.name), kinds[str(one.type)]) for one in fields(version)):
        raise ValueError("a field is of another type")
    return version
