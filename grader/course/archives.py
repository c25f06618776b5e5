"""Read zip archives that somebody else made.

Nothing is unpacked to disk, no path in one is followed, and what it says about itself is counted before it is
believed. Of two entries of one name the last counts, as for the tools that unpack.
"""

from __future__ import annotations

import stat
import zipfile
from io import BufferedReader, BytesIO
from pathlib import Path
from typing import IO

from grader.course.files import LIMITS, Limits, NotReadable, Parts, TooLarge, safe_parts

ENTRY = 46  # bytes of the shortest entry in the directory of a zip, without its name
UNREADABLE = "is encrypted in its zip file"


class Zip:
    """A zip archive: `members` are its files by path. `limits` say what is taken of it."""

    def __init__(self, source: Path | bytes, limits: Limits = LIMITS) -> None:
        """Read the archive's directory. Raises NotReadable, whose text says what is wrong with it."""
        self.limits = limits
        opened = BytesIO(source) if isinstance(source, bytes) else source.open("rb", buffering=0)
        try:
            self._zip = zipfile.ZipFile(bounded := _Bounded(opened, limits))
            bounded.is_open = True
        except TooLarge:
            raise
        except Exception as error:  # BadZipFile, and what a damaged directory leads to
            raise NotReadable(f"cannot be read as a zip file: {_one_clause(error)}") from None
        infos = self._zip.infolist()
        if len(infos) > limits.members:
            raise _too_many(limits)
        whole, packed = sum(info.file_size for info in infos), sum(info.compress_size for info in infos)
        if whole > limits.size:
            raise TooLarge(f"unpacks to more than {limits.size >> 20:,} MiB")
        if whole > limits.free and whole > packed * limits.ratio:
            raise TooLarge(f"unpacks to {whole >> 20:,} MiB, more than {limits.ratio:,} times its size")
        self.members: dict[Parts, zipfile.ZipInfo] = {}
        self.unsafe: list[str] = []  # names that lead out of a folder, are too long or too deep
        for info in infos:
            parts = safe_parts(info.filename)
            is_fit = len(parts) <= limits.depth and all(
                len(part.encode("utf-8", "replace")) <= limits.name for part in parts
            )
            if not parts or not is_fit:
                self.unsafe.append(info.filename)
            elif not info.is_dir():
                self.members[parts] = info

    def read(self, parts: Parts, limit: int) -> bytes:
        """Return the content of a file. Raises NotReadable."""
        info = self.members[parts]
        if stat.S_ISLNK(info.external_attr >> 16):
            raise NotReadable("is a link")
        if info.flag_bits & 1:
            raise NotReadable(UNREADABLE)
        try:
            with self._zip.open(info) as file:
                data = file.read(limit + 1)
        except Exception as error:  # each compression has its own: zlib.error, lzma.LZMAError
            raise NotReadable(f"is damaged in its zip file: {_one_clause(error)}") from None
        if len(data) > limit:
            raise TooLarge(f"is larger than {limit >> 20} MiB")
        return data


class _Bounded(BufferedReader):
    """The bytes of an archive. Its directory, which `zipfile` reads in one piece, is limited: `zipfile` holds
    each entry in memory before anything can be counted."""

    def __init__(self, raw: IO[bytes], limits: Limits) -> None:
        super().__init__(raw)  # type: ignore[arg-type]  # typeshed wants a RawIOBase, and BytesIO will do
        self._limits, self.is_open = limits, False

    def read(self, size: int | None = -1, /) -> bytes:
        most = max(self._limits.members * 2 * ENTRY, 1 << 20)
        if not self.is_open and size is not None and size > most:
            raise _too_many(self._limits)
        return super().read(size)


def _too_many(limits: Limits) -> TooLarge:
    return TooLarge(f"holds more than {limits.members:,} files")


def _one_clause(error: Exception) -> str:
    """Return an error's text without a full stop, on one line."""
    return " ".join(str(error).split()).rstrip(".") or type(error).__name__
