"""Add a kata to the text of path.toml, and change nothing else in it."""

from __future__ import annotations

import re
import tomllib
from typing import Any

from grader.course.catalog import CourseError
from grader.course.syllabus import SYLLABUS_FILE


def with_kata(text: str, track: str, name: str) -> str:
    """Return the text of path.toml with the kata added to its track, and nothing else changed.

    Raises CourseError if the layout of the file is not supported.
    """
    wanted = tomllib.loads(text)
    names = wanted.setdefault("path", {}).setdefault(track, [])
    if name in names:
        return text
    names.append(name)
    changed = _inserted(text, track, name)
    if _read(changed) != wanted:
        raise CourseError(
            f'{SYLLABUS_FILE.as_posix()}: add "{name}" to its list `{track}`, then say this again.'
        )
    return changed


def _read(text: str) -> dict[str, Any] | None:
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError:
        return None


def _with_track(text: str, line: str) -> str:
    """Return the text with a line at the end of its table [path], which is added if it is missing."""
    table = re.search(r"^\[path\]\n(?:(?!#|\[).*\n?)*", text, re.MULTILINE)
    if table is None:
        return f"{text.rstrip()}\n\n[path]\n{line}\n"
    rest = text[table.end() :]
    return f"{text[: table.end()].rstrip()}\n{line}\n" + (f"\n{rest}" if rest else "")


def _inserted(text: str, track: str, name: str) -> str:
    listed = re.search(rf"^{track}\s*=\s*\[([^\]]*)\]", text, re.MULTILINE)
    if listed is None:
        return _with_track(text, f'{track} = ["{name}"]')
    names = listed[1].rstrip()
    comma = "" if not names or names.endswith(",") else ","
    space = " " if names else ""
    return f'{text[: listed.start(1)]}{names}{comma}{space}"{name}"{text[listed.start(1) + len(names) :]}'
