"""Check that the optional packages for notebooks are installed."""

from __future__ import annotations

import importlib.util

from grader.course.catalog import CourseError
from grader.installing import install_command


def require(what: str, *packages: str) -> None:
    """Raise CourseError, with the command that installs it, if a package is missing."""
    missing = next((name for name in packages if importlib.util.find_spec(name) is None), None)
    if missing:
        raise CourseError(f"{what} needs {missing}: {install_command('decoder-dojo[notebooks]')}")
