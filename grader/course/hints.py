"""Show a kata's hints one at a time, and store in the cache folder how many were shown."""

from __future__ import annotations

import json
from contextlib import suppress

from grader.course.catalog import Course, KataInfo
from grader.course.loading import cache_folder


def next_hint(course: Course, info: KataInfo, again: str = "grade --hint") -> str:
    """Return the hint after the one shown last, with its number and the command for the next one. After the
    last hint comes the first again."""
    if not info.hints:
        return f"{info.name} has no hints: its statement says it all."
    seen = _read_seen()
    name = f"{course.root.resolve()}:{info.name}"
    number = seen.get(name, 0) % len(info.hints)
    _write_seen({**seen, name: number + 1})
    more = "" if number + 1 == len(info.hints) else f"\n\nOne more:  {again} {info.name}"
    return f"Hint {number + 1} of {len(info.hints)}: {info.hints[number]}{more}"


def _read_seen() -> dict[str, int]:
    try:
        found = json.loads((cache_folder() / "hints.json").read_text())
    except (OSError, ValueError):
        return {}
    return {str(k): v for k, v in found.items() if isinstance(v, int)} if isinstance(found, dict) else {}


def _write_seen(seen: dict[str, int]) -> None:
    with suppress(OSError):
        cache_folder().mkdir(parents=True, exist_ok=True, mode=0o700)
        (cache_folder() / "hints.json").write_text(json.dumps(seen))
