"""A notebook's answer to a kata: the seam to the reader of notebooks, which works on files."""

from __future__ import annotations

import importlib
import tempfile
from collections.abc import Callable
from pathlib import Path

from grader.catalog import CourseError
from grader.submission import MAX_BYTES, Refused


def source(read: Callable[[], bytes], kata: str) -> bytes:
    """The source that a notebook holds for the kata. Raises Refused where it cannot be read as one."""
    data = read()
    if len(data) > MAX_BYTES:
        raise Refused(f"{kata}.ipynb is larger than 1 MiB.")
    try:
        cells = importlib.import_module("grader.notebooks.cells")
    except ModuleNotFoundError:
        raise Refused(f"{kata}.ipynb is a notebook, and this grader reads Python files alone.") from None
    with tempfile.TemporaryDirectory(prefix="dojo-") as folder:
        file = Path(folder) / f"{kata}.ipynb"
        file.write_bytes(data)
        try:
            text: str = cells.source_of(file, kata)
        except (CourseError, ValueError, RecursionError, OSError) as error:
            raise Refused(f"{kata}.ipynb cannot be read: {error}") from None
    return text.encode("utf-8", "replace")
