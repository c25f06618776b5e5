"""The nbgrader metadata of a cell, in version 3 of its schema."""

from __future__ import annotations

from typing import Any

SCHEMA = 3


def cell_metadata(
    name: str, solution: bool = False, points: float | None = None, locked: bool = True, task: bool = False
) -> dict[str, Any]:
    """Return the metadata of an answer (`solution`), a score (`points`), or both for manual grading."""
    metadata: dict[str, Any] = {
        "schema_version": SCHEMA,
        "grade_id": name,
        "solution": solution,
        "grade": points is not None and not task,
        "locked": locked and not solution,
        "task": task,
    }
    return metadata if points is None else {**metadata, "points": points}
