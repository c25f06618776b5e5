"""The command line of `grade`, as one record, and its exit codes."""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

PASSED, FAILED, WRONG_INPUT = range(3)


class Wishes(NamedTuple):
    """What was asked for on the command line of `grade`."""

    names: tuple[str, ...] = ()
    file: Path | None = None
    course: Path | None = None
    exercises: Path | None = None
    list_katas: bool = False
    hint: bool = False
    watch: bool = False
    device: str = "cpu"
    forms: tuple[str, ...] = ("terminal",)
    output: str | None = None
    isolation: str = "best"
    show_output: bool = False
    all_katas: bool = False
    protect: bool = False
    key: Path | None = None
    secret: Path | None = None

    @property
    def for_the_grader(self) -> dict[str, Any]:
        """The arguments of `open_grader`."""
        return {name: getattr(self, name) for name in ("device", "isolation", "key", "secret")}
