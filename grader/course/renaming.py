"""What changes in a term: a kata has another name (`solutions/renamed.toml`), or a corrected statement, which
comes beside the code of a student who has begun: `heap.statement.md`.
"""

from __future__ import annotations

import tomllib
from pathlib import Path

from grader.course import submission
from grader.course.catalog import Course, CourseError
from grader.course.submission import SubmissionRejected, decoded, read_bytes
from grader.course.torch_words import statement_in_torch

STATEMENT_SUFFIX = ".statement.md"
MOST_CHANGES = 6  # lines of changes that a note shows
LONGEST_COMPARED = 20_000  # characters that are compared
FENCE = "~~~~"


def statement_of(source: str) -> str | None:
    """Return the docstring of a file; None if it has none or is no Python."""
    found = submission.statement_of(source)
    return found[0] if found else None


def beside(path: Path) -> Path:
    """Return where the corrected statement of an exercise lies."""
    return path.with_name(path.stem + STATEMENT_SUFFIX)


def to_text(kata: str, statement: str, before: str) -> str:
    """Return the file: what changed, and the whole statement as it is now."""
    changes = "\n".join(_changes(before, statement))
    changed = f"What changed:\n\n{FENCE}diff\n{changes}\n{FENCE}\n\n" if before else ""
    return (
        f"# The statement of `{kata}` was corrected\n\nYour code is as you left it."
        f" `grade` judges by this statement. Copy it into\n`{kata}.py`, if you like.\n\n{changed}"
        f"The statement now:\n\n{FENCE}text\n{statement}\n{FENCE}\n"
    )


def moved(old: str, new: str, place: str) -> str:
    """Return the file that says where a renamed kata is now."""
    return (
        f"# `{old}` is called `{new}` now\n\nIts new file is `{place}`. Copy your code there:"
        " `grade` judges the\nnew file. Your instructor's `kata grade` takes either.\n"
    )


def note_for(path: Path) -> list[str]:
    """Return the lines that tell of a corrected statement beside an exercise, and what is different in it.

    There are none without such a file, or if the exercise has that statement already.
    """
    note = beside(path)
    _, opened, rest = _read(note).rpartition(f"{FENCE}text\n")
    if not opened:  # as almost always: a reader would be another process
        return []
    statement = rest.removesuffix(f"\n{FENCE}\n")
    before = (statement_of(_read(path)) or "")[:LONGEST_COMPARED]
    if not is_changed(before, statement):
        return []
    changes = _changes(before, statement) if before else []
    more = [f"… {len(changes) - MOST_CHANGES} more lines"] if len(changes) > MOST_CHANGES else []
    return [f"The statement was corrected: {note.name} says what it is now.", *changes[:MOST_CHANGES], *more]


def is_changed(before: str, now: str) -> bool:
    """Return whether two statements differ in more than the library that they speak of."""
    return statement_in_torch(before) != statement_in_torch(now)


def _changes(before: str, now: str) -> list[str]:
    """Return the lines that went, with a minus, and those that came, with a plus."""
    import difflib  # few files have a corrected statement

    lines = difflib.unified_diff(before.splitlines(), now.splitlines(), n=0, lineterm="")
    return [line for line in list(lines)[2:] if not line.startswith("@@") and line[1:].strip()]


def _read(path: Path) -> str:
    try:
        return decoded(read_bytes(path, path.name), path.name)
    except SubmissionRejected:
        return ""


RENAMED_FILE = Path("solutions", "renamed.toml")


def renamed(course: Course) -> dict[str, str]:
    """Return the new name of each old one, of katas that exist. Raises CourseError if the file is damaged."""
    path = course.root / RENAMED_FILE
    if not path.is_file():
        return {}
    try:
        found = tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        raise CourseError(
            f'{RENAMED_FILE.as_posix()} is damaged: it has a line old = "new" for each kata.'
        ) from None
    return {old: new for old, new in found.items() if isinstance(new, str) and old != new}
