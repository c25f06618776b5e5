"""Read which katas were renamed: `solutions/renamed.toml`, which `kata rename` writes."""

from __future__ import annotations

import tomllib
from pathlib import Path

from grader.course.catalog import Course, CourseError

FILE = Path("solutions", "renamed.toml")


def renamed(course: Course) -> dict[str, str]:
    """Return the new name of each old one, of katas that exist. Raises CourseError if the file is damaged."""
    path = course.root / FILE
    if not path.is_file():
        return {}
    try:
        found = tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        raise CourseError(f'{FILE.as_posix()} is damaged: it has a line old = "new" for each kata.') from None
    return {old: new for old, new in found.items() if isinstance(new, str) and old != new}
