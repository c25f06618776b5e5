"""The user's cache: answers that were drawn once for a state of a kata's files, as files of answer keys."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress

from grader.answer_keys.file import Entry, KataKey, KeyFile, KeyUnusable, write
from grader.course.loading import cache_folder


def cached(kata: str, digest: str, make: Callable[[], Entry]) -> KataKey:
    """Return the entry kept under this digest; where there is none, keep what `make` returns."""
    name = f"{kata}-{digest}.key"
    found = _read(name, kata)
    if found is None:
        with _alone(kata):
            found = _read(name, kata)  # another process may have made it meanwhile
            if found is None:
                data = write([make()], 0, "")
                _keep(name, data)
                found = KataKey(KeyFile(data, name), kata)
    return found


def _read(name: str, kata: str) -> KataKey | None:
    """None where there is none, or where it is damaged: it is then made anew."""
    try:
        return KataKey(KeyFile((cache_folder() / name).read_bytes(), name), kata)
    except (OSError, KeyUnusable):
        return None


def _keep(name: str, data: bytes) -> None:
    """Write the file, whole or not at all; a folder that cannot be written is no error."""
    with suppress(OSError):
        cache_folder().mkdir(parents=True, exist_ok=True, mode=0o700)
        with tempfile.NamedTemporaryFile(dir=cache_folder(), delete=False) as draft:
            draft.write(data)
        os.replace(draft.name, cache_folder() / name)


@contextmanager
def _alone(kata: str) -> Iterator[None]:
    """One process of this machine at a time, so that a kata is drawn once and read by all."""
    try:
        import fcntl

        cache_folder().mkdir(parents=True, exist_ok=True, mode=0o700)
        file = (cache_folder() / f"{kata}.lock").open("w")
    except (ImportError, OSError):  # no such lock here, or nothing can be kept: everybody draws alone
        yield
        return
    with file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield
