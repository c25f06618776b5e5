"""Hints, one at a time: how many a student has seen is remembered beside the caches."""

from __future__ import annotations

import json
from contextlib import suppress

from grader.cache import cache_folder
from grader.catalog import Card, Course


def next_hint(course: Course, card: Card, again: str = "grade --hint") -> str:
    """The hint after the last one shown, with its number and how to ask again; after the last, the first."""
    if not card.hints:
        return f"{card.name} has no hints: its statement says it all."
    seen = _seen()
    name = f"{course.root.resolve()}:{card.name}"
    number = seen.get(name, 0) % len(card.hints)
    _remember({**seen, name: number + 1})
    more = "" if number + 1 == len(card.hints) else f"\n\nOne more:  {again} {card.name}"
    return f"Hint {number + 1} of {len(card.hints)}: {card.hints[number]}{more}"


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
