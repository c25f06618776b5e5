"""The optional packages that notebooks need, asked for before anything is begun."""

from __future__ import annotations

import importlib.util

from grader.course.catalog import CourseError


def require(what: str, *packages: str) -> None:
    """Raises CourseError, with what to install, where a package is missing."""
    missing = next((name for name in packages if importlib.util.find_spec(name) is None), None)
    if missing:
        raise CourseError(f"{what} needs {missing}: pip install 'decoder-dojo[notebooks]'")
