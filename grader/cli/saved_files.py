"""Notice saved files by their times and sizes, which works on every file system."""

from __future__ import annotations

import time
from collections.abc import Iterable
from pathlib import Path

POLL_SECONDS = 0.01  # between two looks at the files; one look takes 0.2 ms
LOOK_SECONDS = 0.25  # between two looks for files that are missing
GONE_SECONDS = 0.5  # an editor that writes a new file and renames it takes less
PAUSE_SECONDS = 0.01  # seconds between two looks while files are being saved

FileVersion = tuple[int, int, int]


class SavedFiles:
    """Notices which of these files were saved. A file that does not exist at the moment is not saved yet:
    many editors write a new file and rename it."""

    def __init__(self, paths: Iterable[Path]) -> None:
        self._paths = tuple(paths)
        self._known = self._versions()
        self._missing: dict[Path, float] = {}  # since when
        self._told: set[Path] = set()
        self._looked = time.monotonic()

    @property
    def is_pending(self) -> bool:
        """True if a file was saved since the last call of `take`."""
        return bool(self._news())

    def take(self) -> list[Path]:
        """Return the files that were saved since the last call. A burst of saves is one save: they are
        returned when no more follow."""
        news = self._news()
        while news:
            time.sleep(PAUSE_SECONDS)
            before, news = news, self._news()
            if news == before:
                break
        self._known |= news
        return list(news)

    def take_missing(self) -> list[Path]:
        """Return the files that do not exist for a while now, each of them once."""
        now = time.monotonic()
        if now - self._looked < LOOK_SECONDS:
            return []
        self._looked, there = now, self._versions()
        self._missing = {path: self._missing.get(path, now) for path in self._paths if path not in there}
        gone = {path for path, since in self._missing.items() if now - since >= GONE_SECONDS}
        news, self._told = gone - self._told, gone
        for path in news:
            self._known.pop(path, None)  # so that the same file is noticed when it is back
        return [path for path in self._paths if path in news]

    def _news(self) -> dict[Path, FileVersion]:
        return {path: now for path, now in self._versions().items() if self._known.get(path) != now}

    def _versions(self) -> dict[Path, FileVersion]:
        return {path: found for path in self._paths if (found := _version(path))}


def _version(path: Path) -> FileVersion | None:
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_mtime_ns, found.st_size, found.st_ino
