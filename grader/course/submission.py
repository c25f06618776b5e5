"""A student's file for one kata: it is opened here, and read by a child process.

What this process holds of it is the text and a record of what was read. It parses none of it.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from grader.course.catalog import KataInfo, shorten
from grader.course.files import NotReadable, TooLarge, read_below, read_file
from grader.errors import reason_of
from grader.kata import Kata
from grader.reading import source as reading
from grader.reading.rules import everywhere
from grader.reading.source import LARGEST_NOTEBOOK, Refused
from grader.reading.source import MAX_BYTES as MAX_BYTES
from grader.report import Isolation

if TYPE_CHECKING:
    from grader.values.exchange import ArrayExchange
    from grader.worker.reader import Reader, Record

SUFFIX = ".ipynb"
Found = TypeVar("Found")


class SubmissionRejected(Exception):
    """The file cannot be graded; the message is one sentence that says why and where. `excerpt` is the line
    in question, with a caret below the place, or empty. `isolation` holds the protections that were in force
    if a worker had begun to run the file."""

    def __init__(self, message: str, excerpt: str = "", isolation: Isolation | None = None) -> None:
        super().__init__(message)
        self.excerpt, self.isolation = excerpt, isolation


class Unreadable(SubmissionRejected):
    """What was handed in could not be read, which says nothing about the code in it: it is not judged, and
    must not count as 0."""


@dataclass(frozen=True)
class Submission:
    """One student's file for one kata; `known` is what was read of it."""

    info: KataInfo
    source: str
    label: str
    known: Record | None = field(default=None, compare=False, repr=False)

    @property
    def filename(self) -> str:
        """The file name in tracebacks and warnings: the file's own, or the kata's for a notebook."""
        name = self.label.replace("\\", "/").rpartition("/")[2]
        return name if name.endswith(".py") else f"{self.info.name}.py"

    @cached_property
    def record(self) -> Record:
        """What is known of the source. Raises SubmissionRejected if it is not valid Python."""
        return self.known or parse(self.info, self.source, self.label).record

    @property
    def library(self) -> str:
        """The library that the submission is judged in."""
        return self.record.library

    @property
    def as_tensors(self) -> bool:
        """True if the kata's arrays arrive as tensors."""
        return self.library != self.info.library

    @property
    def exchange(self) -> ArrayExchange:
        """How the kata's arrays reach the submission, and come back from it."""
        from grader.values.exchange import ArrayExchange  # imports NumPy, which most commands do without

        return ArrayExchange(self.library, as_tensors=self.as_tensors)

    @property
    def touched(self) -> bool:
        """True if the student wrote anything, or changed the code that the stub ships."""
        return self.record.touched

    @property
    def begun(self) -> bool:
        """False if no entry point does anything but raise NotImplementedError, or no question is answered."""
        return self.record.begun


def library_of(info: KataInfo, source: str) -> str:
    """Return the library that a source is judged in; the kata's own for a source that is no Python."""
    if len(info.libraries) < 2 or "torch" not in source:
        return info.library
    try:
        return Submission(info, source, info.name).library
    except SubmissionRejected:
        return info.library


def encoded(text: str) -> bytes:
    """Return a text as a reader takes it."""
    return text.encode("utf-8", "surrogatepass")


def ask(
    question: str, kind: type[Found], data: bytes, by: Reader | None = None, **given: Any
) -> tuple[Found, str]:
    """Return what `Reader.ask` returns. Raises SubmissionRejected, and Unreadable."""
    from grader.worker import reader  # most commands read no answer

    try:
        return (by or reader.reader()).ask(question, kind, data, **given)
    except Refused as refused:
        raise _rejected(refused) from None


def _rejected(refused: Refused) -> SubmissionRejected:
    return (Unreadable if refused.unread else SubmissionRejected)(str(refused), refused.excerpt)


def read(info: KataInfo, data: bytes, label: str, by: Reader | None = None, **given: Any) -> Submission:
    """Return the submission in a Python file, or in what `given` says of `grader.reading.answers.read`.
    Raises SubmissionRejected if it is not valid Python, and Unreadable if it cannot be read."""
    from grader.worker.reader import Record

    facts = {"answer": info.kind.answer, **{name: getattr(info, name) for name in FACTS}}
    record, source = ask("read", Record, data, by, label=label, kata=facts, **given)
    name = f"{label} (cell {info.name})" if given.get("notebook") else label
    return Submission(info, source, name, record)


#: What a reader has to know of a kata.
FACTS = ("name", "library", "libraries", "entry_points", "written", "ships_wrong_code")


def parse(info: KataInfo, source: str, label: str, by: Reader | None = None) -> Submission:
    """Return a source text as a submission. Raises SubmissionRejected if it is not valid Python."""
    return read(info, encoded(source), label, by, text=True)


def read_submission(info: KataInfo, path: Path, by: Reader | None = None) -> Submission:
    """Read the answer to a kata in a Python file or a notebook. Raises SubmissionRejected."""
    label, is_cell = shorten(path), is_notebook(path)
    data = read_bytes(path, label, *((LARGEST_NOTEBOOK, "a notebook") if is_cell else ()))
    return read(info, data, label, by, notebook=is_cell)


def read_text(info: KataInfo, text: str, path: Path, by: Reader | None = None) -> Submission:
    """Return the text that an editor holds of a file as a submission. Raises SubmissionRejected, also if the
    text declares an encoding that Python does not know: the file could not be read."""
    return parse(info, text, shorten(path), by)


def read_bytes(
    path: Path, label: str, limit: int = MAX_BYTES, what: str = "a Python file", root: Path | None = None
) -> bytes:
    """Return the content of a student's file, which must be a regular file of at most `limit` bytes. With
    `root`, a folder that the student filled, no folder on the way may be a link. Raises Unreadable."""
    try:
        return read_below(root, path.relative_to(root).parts, limit) if root else read_file(path, limit)
    except FileNotFoundError:
        raise Unreadable(f"There is no file {label}.") from None
    except TooLarge as error:
        raise Unreadable(f"{label} {error.strerror}.") from None
    except NotReadable as error:  # a link could point to the solution
        raise Unreadable(f"{label} {error.strerror}; {what} is needed.") from None
    except OSError as error:
        raise Unreadable(f"{label} cannot be read: {reason_of(error)}.") from None


def decoded(data: bytes, label: str) -> str:
    """Return the source in a Python file, as Python decodes it. Raises Unreadable if it cannot be decoded, is
    too large, or is what Git LFS leaves in place of a file."""
    try:
        return reading.decoded(data, label)
    except Refused as refused:
        raise _rejected(refused) from None


def utf8(data: bytes, label: str, limit: int = MAX_BYTES) -> str:
    """Return a text in UTF-8. Raises Unreadable, as `decoded` does."""
    try:
        return reading.utf8(data, label, limit)
    except Refused as refused:
        raise _rejected(refused) from None


def is_notebook(file: Path) -> bool:
    return file.suffix == SUFFIX


def katas_in(path: Path, known: Iterable[str]) -> list[str]:
    """Return the katas among `known` that a notebook answers, in the order of `known`. Raises
    SubmissionRejected if the file is not a notebook."""
    label = shorten(path)
    return katas_of(read_bytes(path, label, LARGEST_NOTEBOOK, "a notebook"), label, known)


def katas_of(data: bytes, label: str, known: Iterable[str]) -> list[str]:
    """Return the same of a notebook given as bytes. Raises SubmissionRejected."""
    return ask("katas", list[str], data, label=label, names=[*known])[0]


def cell_of(data: bytes, label: str, kata_name: str) -> str:
    """Return the code of the cell of a notebook that answers a kata. Raises Unreadable if there is none."""
    return ask("cell", dict[str, str], data, label=label, name=kata_name)[1]


def statement_of(source: str) -> tuple[str, int] | None:
    """Return the docstring of a source and its last line; None if it has none, is no Python or cannot be
    read."""
    try:
        found, _ = ask("statement", list[tuple[str, int]], encoded(source))
    except SubmissionRejected:
        return None
    return found[0] if found else None


def is_unwritten(source: str) -> bool:
    """True if all functions and classes of a source text are unwritten, or if it has no code at all."""
    try:
        return ask("blank", bool, encoded(source))[0]
    except SubmissionRejected:
        return False


def first_use(
    submission: Submission, names: Iterable[str], by: Reader | None = None
) -> tuple[str, int] | None:
    """Return the first of the library functions that a submission uses, and its line, or None. Raises
    Unreadable."""
    data = encoded(submission.source)
    found, _ = ask(
        "uses", list[tuple[str, int]], data, by, names=[*names], entry_points=submission.info.entry_points
    )
    return found[0] if found else None


def shortcut_in(
    submission: Submission, names: Iterable[str], library: str, by: Reader | None = None
) -> tuple[str, int] | None:
    """Return the first of the shortcuts of a kata in a library that a submission uses, and its line, or None.
    Raises Unreadable."""
    data = encoded(submission.source)
    given = {"names": [*names], "library": library, "entry_points": submission.info.entry_points}
    found, _ = ask("delegates", list[tuple[str, int]], data, by, **given)
    return found[0] if found else None


def forbidden_names(kata: Kata) -> list[str]:
    """Return the dotted names of all functions that the kata's rules forbid."""
    return sorted(everywhere(name for rule in kata.rules for name in rule.forbidden))
