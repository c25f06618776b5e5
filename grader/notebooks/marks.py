"""What nbgrader is told of a cell, in version 3 of its metadata."""

from __future__ import annotations

from typing import Any

SCHEMA = 3


def marks(
    name: str, solution: bool = False, points: float | None = None, locked: bool = True, task: bool = False
) -> dict[str, Any]:
    """A student's answer, a score where there are points, or both: what is written and graded by hand."""
    told: dict[str, Any] = {
        "schema_version": SCHEMA,
        "grade_id": name,
        "solution": solution,
        "grade": points is not None and not task,
        "locked": locked and not solution,
        "task": task,
    }
    return told if points is None else {**told, "points": points}
