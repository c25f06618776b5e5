"""The one folder that a worker may write to: made before it starts, removed when it has ended."""

from __future__ import annotations

import contextlib
import itertools
import os
import tempfile
from collections.abc import Iterator


def make_folder() -> str:
    """A fresh folder that only this user may enter."""
    return tempfile.mkdtemp(prefix="dojo-")


def remove_folder(folder: str) -> None:
    """The folder and all in it, however deep: each round lifts what lies one level down to the top, since
    a submission can nest folders deeper than anything that calls itself can follow."""
    if not folder:
        return
    unused = (os.path.join(folder, os.urandom(8).hex()) for _ in itertools.count())
    with contextlib.suppress(OSError):
        while names := os.listdir(folder):
            for name in names:
                _remove(os.path.join(folder, name), unused)
        os.rmdir(folder)


def _remove(path: str, unused: Iterator[str]) -> None:
    """A file, or a folder whose contents go up beside it."""
    if os.path.islink(path) or not os.path.isdir(path):
        os.unlink(path)
        return
    os.chmod(path, 0o700)  # it may have been closed
    for name in os.listdir(path):
        inner = os.path.join(path, name)
        if os.path.isdir(inner) and not os.path.islink(inner):
            os.chmod(inner, 0o700)  # a folder that is moved is written to
        os.rename(inner, next(unused))
    os.rmdir(path)
