"""Hints, one at a time: how many a student has seen is remembered beside the caches."""

from __future__ import annotations

import json
from contextlib import suppress

from grader.course.catalog import Course, KataInfo
from grader.course.loading import cache_folder


def next_hint(course: Course, info: KataInfo, again: str = "grade --hint") -> str:
    """The hint after the last one shown, with its number and how to ask again; after the last, the first."""
    if not info.hints:
        return f"{info.name} has no hints: its statement says it all."
    seen = _seen()
    name = f"{course.root.resolve()}:{info.name}"
    number = seen.get(name, 0) % len(info.hints)
    _remember({**seen, name: number + 1})
    more = "" if number + 1 == len(info.hints) else f"\n\nOne more:  {again} {info.name}"
    return f"Hint {number + 1} of {len(info.hints)}: {info.hints[number]}{more}"


def _seen() -> dict[str, int]:
    try:
        found = json.loads((cache_folder() / "hints.json").read_text())
    except (OSError, ValueError):
        return {}
    return {str(k): v for k, v in found.items() if isinstance(v, int)} if isinstance(found, dict) else {}


def _remember(seen: dict[str, int]) -> None:
    with suppress(OSError):
        cache_folder().mkdir(parents=True, exist_ok=True, mode=0o700)
        (cache_folder() / "hints.json").write_text(json.dumps(seen))
