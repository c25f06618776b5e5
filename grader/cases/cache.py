"""The user's cache of cases, answers and what was judged: files of answer keys, named by what they rest on.

A file is read as data, never executed or unpickled; one that is damaged is made anew. Where the folder cannot
be written, nothing is cached. The files that were not used for longest are deleted.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from grader.answer_keys.file import Entry, KataKey, KeyFile, KeyUnusable, write
from grader.course.files import read_file, write_whole
from grader.course.loading import cache_folder

LARGEST_FILE = 64 * 2**20
LARGEST_CACHE = 256 * 2**20  # bytes of all files; those of seventy katas take a tenth
LOCK = ".lock"


def cached(kata: str, digest: str, make: Callable[[], Entry]) -> KataKey:
    """Return the cached answers to `kata` under this digest; if there are none, cache what `make` returns."""
    name = f"{kata}-{digest}.key"
    key = read_entry(name, kata)
    if key is None:
        with locked(kata):
            key = read_entry(name, kata)  # another process may have written it meanwhile
            if key is None:
                key = KataKey(KeyFile(write_entry(name, make()), name), kata)
    return key


def folder() -> Path:
    """Return the folder of the cache."""
    return cache_folder() / "judged"


def read_entry(name: str, kata: str) -> KataKey | None:
    """Return the entry of `kata` in a file of the cache; None if there is none or the file is damaged."""
    path = folder() / name
    try:
        key = KataKey(KeyFile(read_file(path, LARGEST_FILE), name), kata)
    except (OSError, KeyUnusable):
        return None
    with suppress(OSError):
        os.utime(path)  # it was used now
    return key


def write_entry(name: str, entry: Entry) -> bytes:
    """Write a file of the cache atomically and return its content. If it cannot be written, do nothing."""
    data = write([entry], 0, "")
    with suppress(OSError):
        folder().mkdir(parents=True, exist_ok=True, mode=0o700)
        write_whole(folder() / name, data, private=True)
        _delete_oldest(name)
    return data


def _delete_oldest(kept: str) -> None:
    """Delete the files that were not used for longest until the cache is small enough. A time in the future
    is wrong, and counts as the oldest."""
    files = [entry for entry in os.scandir(folder()) if not entry.name.endswith(LOCK)]
    found = [(file.stat(follow_symlinks=False), file) for file in files]
    size, now = sum(stat.st_size for stat, _ in found), time.time() + 1
    for stat, file in sorted(found, key=lambda one: one[0].st_mtime if one[0].st_mtime < now else 0.0):
        if size <= LARGEST_CACHE:
            return
        if file.name != kept:
            os.unlink(file)
            size -= stat.st_size


@contextmanager
def locked(name: str) -> Iterator[None]:
    """Let only one process of this machine make an entry; the others wait and read it."""
    try:
        import fcntl

        folder().mkdir(parents=True, exist_ok=True, mode=0o700)
        file = (folder() / f"{name}{LOCK}").open("w")
    except (ImportError, OSError):  # without file locks or a cache folder, each process works for itself
        yield
        return
    with file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield
