"""The secret seed of a course, from which the cases of the run that counts are drawn.

It lies in `solutions/seed.toml`, with those that it has replaced and since when each of them holds, so that a
verdict can be repeated with the cases of its day. Nothing that students get holds the file or a number in it.
"""

from __future__ import annotations

import secrets
import tomllib
from datetime import UTC, datetime
from pathlib import Path
from typing import NamedTuple

from grader.course.catalog import Course, CourseError
from grader.course.files import read_file, write_whole
from grader.errors import reason_of

PLACE = Path("solutions", "seed.toml")
SEEDS = 2**62  # too many to try them all against one case that a student has seen
HEAD = """\
# The secret seed: `kata grade`, sealed keys and hosts draw their cases from the last one. Who has it can make
# a table of all answers, so it goes wherever the solutions go, and nowhere else. New: `kata seed --new`.
"""


class Seed(NamedTuple):
    """A secret seed, and when it was made."""

    seed: int
    since: datetime


def seeds(course: Course) -> list[Seed]:
    """Return the secret seeds of a course, the newest last; none if it has not made one. Raises
    CourseError."""
    path = course.root / PLACE
    try:
        listed = tomllib.loads(read_file(path).decode())["seeds"]
        found = [Seed(one["seed"], one["since"]) for one in listed]
        if not found or any(type(one.seed) is not int or one.since.tzinfo is None for one in found):
            raise ValueError
    except FileNotFoundError:
        return []
    except OSError as error:
        raise CourseError(f"The secret seed, {PLACE}, cannot be read: {reason_of(error)}.") from None
    except (ValueError, KeyError, TypeError, AttributeError):
        raise CourseError(
            f"The secret seed, {PLACE}, is damaged: restore the file, or delete it, and the next run"
            " draws other cases."
        ) from None
    return found


def seed_or_new(course: Course) -> int:
    """Return the secret seed of a course, which is made now if there is none. Raises CourseError."""
    known = seeds(course)
    return known[-1].seed if known else new_seed(course)


def new_seed(course: Course) -> int:
    """Make a new secret seed; the file keeps those before it. Raises CourseError."""
    made = Seed(secrets.randbelow(SEEDS), datetime.now(UTC).replace(microsecond=0))
    path = course.root / PLACE
    listed = (
        f"\n[[seeds]]\nsince = {one.since.isoformat()}\nseed = {one.seed}\n" for one in [*seeds(course), made]
    )
    try:
        write_whole(path, (HEAD + "".join(listed)).encode(), private=True)
    except OSError as error:
        raise CourseError(
            f"The secret seed, {PLACE}, cannot be written: {reason_of(error)}. Without it no run"
            " counts, since students hold the cases of the public one."
        ) from None
    return made.seed


def seed_of(course: Course, moment: datetime) -> int | None:
    """Return the secret seed that held at a moment; None if there was none yet. Raises CourseError."""
    return next((one.seed for one in reversed(seeds(course)) if one.since <= moment), None)
