"""The user's cache of cases and answers: one file of answer keys for each state of a kata's files."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress

from grader.answer_keys.file import Entry, KataKey, KeyFile, KeyUnusable, write
from grader.course.loading import cache_folder


def cached(kata: str, digest: str, make: Callable[[], Entry]) -> KataKey:
    """Return the cached answers to `kata` under this digest; if there are none, cache what `make` returns."""
    name = f"{kata}-{digest}.key"
    key = _read(name, kata)
    if key is None:
        with _locked(kata):
            key = _read(name, kata)  # another process may have written it meanwhile
            if key is None:
                data = write([make()], 0, "")
                _write_file(name, data)
                key = KataKey(KeyFile(data, name), kata)
    return key


def _read(name: str, kata: str) -> KataKey | None:
    """Return the cached answers; None if there are none or the file is damaged."""
    try:
        return KataKey(KeyFile((cache_folder() / name).read_bytes(), name), kata)
    except (OSError, KeyUnusable):
        return None


def _write_file(name: str, data: bytes) -> None:
    """Write the file atomically. If the folder cannot be written, do nothing."""
    with suppress(OSError):
        cache_folder().mkdir(parents=True, exist_ok=True, mode=0o700)
        with tempfile.NamedTemporaryFile(dir=cache_folder(), delete=False) as temporary:
            temporary.write(data)
        os.replace(temporary.name, cache_folder() / name)


@contextmanager
def _locked(kata: str) -> Iterator[None]:
    """Let only one process of this machine draw the cases of a kata; the others wait and read them."""
    try:
        import fcntl

        cache_folder().mkdir(parents=True, exist_ok=True, mode=0o700)
        file = (cache_folder() / f"{kata}.lock").open("w")
    except (ImportError, OSError):  # without file locks or a cache folder, each process draws for itself
        yield
        return
    with file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield
