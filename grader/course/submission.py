"""A submission's source: read, parsed and looked at without running it."""

from __future__ import annotations

import ast
import hashlib
from dataclasses import dataclass
from pathlib import Path

from grader.course.catalog import KataInfo, shorten

MAX_BYTES = 1 << 20


class SubmissionRejected(Exception):
    """The file cannot be graded; the sentence says why and where."""


@dataclass(frozen=True)
class Submission:
    """One student's file for one kata."""

    info: KataInfo
    source: str
    label: str

    @property
    def filename(self) -> str:
        """What tracebacks and warnings call the file: its own name, for a notebook the kata's."""
        name = self.label.replace("\\", "/").rpartition("/")[2]
        return name if name.endswith(".py") else f"{self.info.name}.py"

    @property
    def touched(self) -> bool:
        """Whether anything was written: for a stub that ships code, whether that was changed."""
        if self.info.ships_wrong_code:
            return digest(self.source) != self.info.ships_wrong_code
        return self.begun

    @property
    def begun(self) -> bool:
        """False as long as every entry point is the stub's: a docstring and NotImplementedError."""
        wanted = set(self.info.entry_points)
        found = [node for node in ast.parse(self.source).body if getattr(node, "name", None) in wanted]
        return not found or not all(map(_is_stub, found))


def digest(source: str) -> str:
    """Names one state of a file, whatever its line ends."""
    return hashlib.sha256("\n".join(source.split()).encode()).hexdigest()[:12]


def read_submission(info: KataInfo, path: Path) -> Submission:
    """Read and parse a file. Raises SubmissionRejected with one sentence."""
    label = shorten(path)
    return parse(info, decoded(read_bytes(path, label), label), label)


def parse(info: KataInfo, source: str, label: str) -> Submission:
    """A source as a submission, wherever it came from. Raises SubmissionRejected where it is no Python."""
    try:
        if "\0" in source:
            raise ValueError
        ast.parse(source)
    except SyntaxError as error:
        raise SubmissionRejected(f"{label} has a syntax error in line {error.lineno}: {error.msg}.") from None
    except (ValueError, RecursionError, MemoryError):
        raise SubmissionRejected(
            f"{label} cannot be read as Python: it holds a null byte or is nested too deeply."
        ) from None
    return Submission(info, source, label)


def read_bytes(path: Path, label: str, limit: int = MAX_BYTES, what: str = "a Python file") -> bytes:
    """Return what a regular file holds, at most one byte more than the limit. Raises SubmissionRejected if it
    is no regular file."""
    if path.is_dir():
        raise SubmissionRejected(f"{label} is a folder; {what} is needed.")
    if not path.exists():
        raise SubmissionRejected(f"There is no file {label}.")
    if path.is_symlink():  # it could lead to the solution
        raise SubmissionRejected(f"{label} is a link; {what} is needed.")
    if not path.is_file():
        raise SubmissionRejected(f"{label} is no regular file.")
    try:
        with path.open("rb") as file:
            return file.read(limit + 1)
    except OSError as error:
        raise SubmissionRejected(
            f"{label} cannot be read: {(error.strerror or 'unknown error').lower()}."
        ) from None


def decoded(data: bytes, label: str, limit: int = MAX_BYTES) -> str:
    """The text that these bytes are. Raises SubmissionRejected where they are none, or too many."""
    if len(data) > limit:
        raise SubmissionRejected(f"{label} is larger than {limit >> 20} MiB.")
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise SubmissionRejected(
            f"{label} is not UTF-8: byte {error.start} cannot be read. Save it as UTF-8."
        ) from None


def _is_stub(node: ast.stmt) -> bool:
    """A docstring, annotations and `raise NotImplementedError`, in functions and methods alike."""
    if isinstance(node, ast.ClassDef):
        return all(_is_stub(inner) for inner in node.body)
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
        return all(_is_stub(inner) for inner in node.body) and any(_is_refusal(n) for n in node.body)
    if isinstance(node, ast.Expr):
        return isinstance(node.value, ast.Constant)
    return isinstance(node, ast.Import | ast.ImportFrom | ast.Pass | ast.AnnAssign) or _is_refusal(node)


def _is_refusal(node: ast.stmt) -> bool:
    if not isinstance(node, ast.Raise) or node.exc is None:
        return False
    raised = node.exc.func if isinstance(node.exc, ast.Call) else node.exc
    return isinstance(raised, ast.Name) and raised.id == "NotImplementedError"
