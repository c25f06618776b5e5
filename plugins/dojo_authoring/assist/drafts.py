"""Write drafts below the folder of one kata: entries of `mistakes.edits`, and `variants.drafts`.

Nothing here runs or parses Python. Each file is read and written from a folder that is opened without
following a link, and a draft is written whole or not at all.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from dojo_authoring.drafted_mistakes.entries import HEAD, wrapped, written
from grader.course.catalog import Course, CourseError, KataInfo
from grader.course.files import Folder, NotReadable
from grader.course.mistake_edits import DRAFT, EditedMistake, LineEdit, parse_edits
from grader.errors import reason_of

MISTAKES = "mistakes.edits"
VARIANT_DRAFTS = "variants.drafts"
MARK_OF_VARIANT = f"# {DRAFT}"  # the line above a variant
LARGEST_FILE = 256 << 10  # bytes of a file of drafts
MOST_DRAFTS = 100  # mistakes of one kata that no author has read
HEAD_OF_VARIANTS = (
    "# Drafts of right answers in other styles. No command runs them: move those that you keep into\n"
    "# variants.py."
)
TOO_LARGE = f"{{name}} would be larger than {LARGEST_FILE >> 10} KiB; an author has to read its drafts first."
TOO_MANY = f"The kata has {MOST_DRAFTS} drafts of mistakes; an author has to read them first."


def entry(name: str, level: str, sentence: str, edits: list[tuple[str, str]]) -> str:
    """Return a draft in the form of `mistakes.edits`: its name, what the student reads, and for each edit the
    lines that go and the lines that come."""
    changes = [LineEdit(0, old.splitlines(), new.splitlines()) for old, new in edits]
    return written(EditedMistake(name, level, Path(), 0, sentence.split(), changes, is_draft=True))


def add_mistakes(course: Course, info: KataInfo, entries: list[str]) -> None:
    """Add entries at the end of the kata's `mistakes.edits`. Raises CourseError if the file cannot be
    written, and KataError if a name is taken by now."""

    def added(text: str) -> str:
        every = "\n".join([f"{(text or HEAD.format(name=info.name)).rstrip()}\n", *entries])
        drafts = [mistake for mistake in parse_edits(every, course.edits(info)) if mistake.is_draft]
        if len(drafts) > MOST_DRAFTS:
            raise CourseError(TOO_MANY)
        return every

    change(course, info, MISTAKES, added)


def mend_sentence(course: Course, info: KataInfo, name: str, sentence: str) -> None:
    """Replace what a student would read of a draft. Raises CourseError and KataError."""

    def mended(text: str) -> str:
        draft = draft_of(parse_edits(text, course.edits(info)), name)
        lines = text.splitlines()
        last = next(at for at in range(draft.line, len(lines)) if _is_edit(lines[at]))
        comments = [line for line in lines[draft.line : last] if line.startswith("#")]
        return "\n".join([*lines[: draft.line], *comments, *wrapped(sentence), *lines[last:], ""])

    change(course, info, MISTAKES, mended)


def draft_of(mistakes: list[EditedMistake], name: str) -> EditedMistake:
    """Return the draft of a name. Raises CourseError if there is none, or if an author has read it."""
    found = next((mistake for mistake in mistakes if mistake.name == name), None)
    if found is None:
        raise CourseError("There is no draft of this name; read the mistakes of the kata.")
    if not found.is_draft:
        raise CourseError(f"`{name}` is no draft: an author has read it, and it stays as it is.")
    return found


def _is_edit(line: str) -> bool:
    return line in ("-", "+") or line.startswith(("- ", "+ "))


def add_variant(course: Course, info: KataInfo, code: str) -> None:
    """Add a right answer in another style at the end of the kata's `variants.drafts`. Raises CourseError."""
    lines = f"{MARK_OF_VARIANT}\n{code.strip()}\n"
    change(
        course,
        info,
        VARIANT_DRAFTS,
        lambda text: f"{text.rstrip() or HEAD_OF_VARIANTS.rstrip()}\n\n\n{lines}",
    )


def read_part(course: Course, path: Path) -> str:
    """Return a file of the course, which is in none of the folders that links lead to; "" if there is none.
    Raises CourseError if it cannot be read."""
    parts = path.relative_to(course.root).parts
    with _told(parts), Folder(course.root) as root:
        try:
            return root.read(*parts, limit=LARGEST_FILE).decode()
        except FileNotFoundError:
            return ""


def change(course: Course, info: KataInfo, name: str, changed: Callable[[str], str]) -> None:
    """Write what `changed` makes of a file in the folder of a kata's solutions, or of "" if there is none.
    Raises CourseError if it cannot be read or written, or is too large, and what `changed` raises."""
    where = "solutions", info.track, info.name
    with (
        _told((*where, name)),
        Folder(course.root) as root,
        root.folder(*where) as folder,
        folder.alone(),
    ):
        try:
            text = folder.read(name, limit=LARGEST_FILE).decode()
        except FileNotFoundError:
            text = ""
        data = changed(text).encode()
        if len(data) > LARGEST_FILE:
            raise CourseError(TOO_LARGE.format(name=name))
        folder.write(name, data=data)


@contextmanager
def _told(parts: tuple[str, ...]) -> Iterator[None]:
    """Raise CourseError where the block raises what says that this file cannot be read or written."""
    place = "/".join(parts)
    try:
        yield
    except NotReadable as error:
        raise CourseError(f"{place}: it, or a folder on its way, {error.strerror}.") from None
    except OSError as error:
        raise CourseError(f"{place}: {reason_of(error)}.") from None
    except UnicodeError:
        raise CourseError(f"{place}: it is no UTF-8.") from None
