"""Make the folder that a worker may write to, and delete it with what a submission has put there."""

from __future__ import annotations

import contextlib
import itertools
import os
import tempfile
from collections.abc import Iterator


def make_folder() -> str:
    """Create a temporary folder that only this user can access, and return its path."""
    return tempfile.mkdtemp(prefix="dojo-")


def remove_folder(folder: str) -> None:
    """Delete a folder and its contents without recursion, because a submission can nest folders deeper than
    Python can recurse. Each round moves everything one level up."""
    if not folder:
        return
    unused = (os.path.join(folder, os.urandom(8).hex()) for _ in itertools.count())
    with contextlib.suppress(OSError):
        while names := os.listdir(folder):
            for name in names:
                _remove(os.path.join(folder, name), unused)
        os.rmdir(folder)


def _remove(path: str, unused: Iterator[str]) -> None:
    """Delete a file, or move the contents of a folder to the unused paths and delete the folder."""
    if os.path.islink(path) or not os.path.isdir(path):
        os.unlink(path)
        return
    os.chmod(path, 0o700)  # the submission may have removed the permissions
    for name in os.listdir(path):
        inner = os.path.join(path, name)
        if os.path.isdir(inner) and not os.path.islink(inner):
            os.chmod(inner, 0o700)  # moving a folder needs permission to write to it
        os.rename(inner, next(unused))
    os.rmdir(path)
