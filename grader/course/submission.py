"""Read and parse a submission's source without running it."""

from __future__ import annotations

import ast
import hashlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from grader.course.catalog import KataInfo, shorten
from grader.course.files import NotReadable, TooLarge, read_below, read_file, source_text
from grader.errors import reason_of

MAX_BYTES = 1 << 20
LFS = b"version https://git-lfs.github.com/spec/"  # how a pointer of Git LFS begins
LONGEST_LINE = 100  # characters that are shown of a line with a syntax error


class SubmissionRejected(Exception):
    """The file cannot be graded; the message is one sentence that says why and where. `excerpt` is the line
    in question, with a caret below the place, or empty."""

    def __init__(self, message: str, excerpt: str = "") -> None:
        super().__init__(message)
        self.excerpt = excerpt


class Unreadable(SubmissionRejected):
    """What was handed in could not be read, which says nothing about the code in it: it is not judged, and
    must not count as 0."""


@dataclass(frozen=True)
class Submission:
    """One student's file for one kata."""

    info: KataInfo
    source: str
    label: str

    @property
    def filename(self) -> str:
        """The file name in tracebacks and warnings: the file's own, or the kata's for a notebook."""
        name = self.label.replace("\\", "/").rpartition("/")[2]
        return name if name.endswith(".py") else f"{self.info.name}.py"

    @cached_property
    def library(self) -> str:
        """The library that the submission is judged in."""
        return library_of(self.info, self.source)

    @property
    def as_tensors(self) -> bool:
        """True if the kata's arrays arrive as tensors."""
        return self.library != self.info.library

    @property
    def touched(self) -> bool:
        """True if the student wrote anything, or changed the code that the stub ships."""
        if self.info.ships_wrong_code:
            return digest(self.source) != self.info.ships_wrong_code
        return self.begun

    @property
    def begun(self) -> bool:
        """False if every entry point raises NotImplementedError, or every question lacks an answer."""
        if self.info.questions:
            wanted = {*self.info.entry_points, *self.info.written}
            return not wanted <= set(open_questions(ast.parse(self.source)))
        return not set(self.info.entry_points) <= unwritten_parts(self.source, self.info.entry_points).keys()


def library_of(info: KataInfo, source: str) -> str:
    """Return PyTorch if a source imports that and not NumPy, and the kata may be answered in it; else the
    kata's own library, also for a source that is no Python."""
    if len(info.libraries) < 2 or "torch" not in source:
        return info.library
    try:
        imported = _imported(ast.parse(source))
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return info.library
    return "torch" if "torch" in imported and "numpy" not in imported else info.library


def _imported(tree: ast.Module) -> set[str]:
    """Return the names of the packages that a module imports by statements."""
    names = [a.name for node in ast.walk(tree) if isinstance(node, ast.Import) for a in node.names]
    names += [node.module or "" for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)]
    return {name.partition(".")[0] for name in names}


def unwritten_parts(source: str, names: Sequence[str]) -> dict[str, range]:
    """Return the lines of the functions and classes with these names that raise NotImplementedError whatever
    they are called with. Where the source does not prove that, a part counts as written, and is judged."""
    tree = ast.parse(source)
    bound, mentioned = list(_bound(tree)), _mentioned(tree)
    return {
        node.name: range(node.lineno, (node.end_lineno or node.lineno) + 1)
        for node in tree.body
        if isinstance(node, ast.FunctionDef | ast.ClassDef) and node.name in names
        if bound.count(node.name) == 1 and node.name not in mentioned and _always_raises(node, set(bound))
    }


def _always_raises(node: ast.stmt, bound: set[str]) -> bool:
    """Return whether each call of a function, or of each method that a class defines, raises
    NotImplementedError. Decorators and bases that the module binds itself may do anything."""
    if not isinstance(node, ast.FunctionDef | ast.ClassDef) or node.decorator_list:
        return False
    if isinstance(node, ast.FunctionDef):
        return all(map(_does_nothing, node.body)) and any(map(_raises_not_implemented, node.body))
    methods = [inner for inner in node.body if isinstance(inner, ast.FunctionDef)]
    bases = {name.id for base in node.bases for name in ast.walk(base) if isinstance(name, ast.Name)}
    is_plain = all(isinstance(inner, ast.FunctionDef) or _does_nothing(inner) for inner in node.body)
    return is_plain and bool(methods) and not bases & bound and all(_always_raises(m, bound) for m in methods)


def _bound(tree: ast.Module) -> Iterator[str]:
    """Yield each name that the module defines or assigns, or imports over a name of its own, as often as it
    does."""
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            yield node.name
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            yield node.id


def _mentioned(tree: ast.Module) -> set[str]:
    """Return the names in the imports of a module, and in its statements outside of definitions."""
    definitions = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef
    found = {name.asname or name.name for name in ast.walk(tree) if isinstance(name, ast.alias)}
    for statement in (node for node in tree.body if not isinstance(node, definitions)):
        found |= {node.id for node in ast.walk(statement) if isinstance(node, ast.Name)}
    return found


def is_unwritten(source: str) -> bool:
    """True if all functions and classes of a source text are unwritten, or if it has no code at all."""
    try:
        nodes = ast.parse(source).body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return False
    if definitions := [node.name for node in nodes if isinstance(node, ast.FunctionDef | ast.ClassDef)]:
        return len(unwritten_parts(source, definitions)) == len(definitions)
    asked = [node for node in nodes if isinstance(node, ast.Assign) and not _is_about_the_student(node)]
    return all(map(_does_nothing, asked or nodes))


def open_questions(tree: ast.Module) -> list[str]:
    """Return the names of the constants that are `...`, which stands for an answer."""
    return [ast.unparse(node.targets[0]) for node in tree.body if _is_open(node)]  # type: ignore[attr-defined]


def written_answer(source: str, name: str) -> str:
    """Return the text in the line `name = …` of a source; its code if that is no plain text or there are
    several such lines; empty if there is no answer. The source is not run: this is what stands there."""
    nodes = [node for node in ast.parse(source).body if _binds(node, name) and not _is_open(node)]
    value = getattr(nodes[0], "value", None) if len(nodes) == 1 else None
    if isinstance(value, ast.Constant) and isinstance(value.value, str):
        return value.value.strip()
    return "\n".join(ast.get_source_segment(source, node) or "" for node in nodes)


def _binds(node: ast.stmt, name: str) -> bool:
    names = (part for part in ast.walk(node) if isinstance(part, ast.Name))
    return any(part.id == name and isinstance(part.ctx, ast.Store) for part in names)


def _is_open(node: ast.stmt) -> bool:
    return isinstance(node, ast.Assign) and isinstance(node.value, ast.Constant) and node.value.value is ...


def _is_about_the_student(node: ast.Assign) -> bool:
    return ast.unparse(node.targets[0]) in ("STUDENT", "ROW")


def digest(source: str) -> str:
    """Return a short digest of a source text that ignores differences in whitespace."""
    return hashlib.sha256("\n".join(source.split()).encode()).hexdigest()[:12]


def read_submission(info: KataInfo, path: Path) -> Submission:
    """Read and parse a submitted file. Raises SubmissionRejected."""
    label = shorten(path)
    return parse(info, decoded(read_bytes(path, label), label), label)


def parse(info: KataInfo, source: str, label: str) -> Submission:
    """Return a source text as a submission. Raises SubmissionRejected if it is not valid Python."""
    try:
        if "\0" in source:
            raise ValueError
        ast.parse(source)
    except SyntaxError as error:
        text = f"{label} has a syntax error in line {error.lineno}: {error.msg}."
        raise SubmissionRejected(text, _excerpt(error)) from None
    except (ValueError, RecursionError, MemoryError):
        raise SubmissionRejected(
            f"{label} cannot be read as Python: it holds a null byte or is nested too deeply."
        ) from None
    return Submission(info, source, label)


def _excerpt(error: SyntaxError) -> str:
    """Return the line of a syntax error, and a caret below the place."""
    line = (error.text or "").rstrip("\n")
    code = line.lstrip()
    at = (error.offset or 0) - 1 - len(line) + len(code)
    lead = f"  {error.lineno} │ "
    caret = f"\n{'│':>{len(lead) - 1}} {'^':>{at + 1}}" if 0 <= at <= len(code[:LONGEST_LINE]) else ""
    return f"{lead}{code[:LONGEST_LINE]}{caret}" if code else ""


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
    return _decoded(data, label, MAX_BYTES, source_text)


def utf8(data: bytes, label: str, limit: int = MAX_BYTES) -> str:
    """Return a text in UTF-8. Raises Unreadable, as `decoded` does."""
    return _decoded(data, label, limit, lambda data: data.decode("utf-8-sig"))


def _decoded(data: bytes, label: str, limit: int, decode: Callable[[bytes], str]) -> str:
    if len(data) > limit:
        raise Unreadable(f"{label} is larger than {limit >> 20} MiB.")
    if data.startswith(LFS):
        raise Unreadable(f"{label} is a pointer of Git LFS, without the file's content: run `git lfs pull`.")
    try:
        return decode(data)
    except UnicodeDecodeError as error:
        name = "UTF-8" if error.encoding.startswith("utf") else error.encoding
        raise Unreadable(
            f"{label} is not {name}: byte {error.start} cannot be read. Save it as UTF-8."
        ) from None
    except LookupError as error:
        raise Unreadable(f"{label} cannot be decoded: {error}. Save it as UTF-8.") from None


def _does_nothing(node: ast.stmt) -> bool:
    """True for a constant, `pass`, an import, an annotation, an open question and the raise of a stub."""
    if isinstance(node, ast.Expr | ast.AnnAssign):
        return node.value is None or isinstance(node.value, ast.Constant)
    is_idle = isinstance(node, ast.Import | ast.ImportFrom | ast.Pass)
    return is_idle or _is_open(node) or _raises_not_implemented(node)


def _raises_not_implemented(node: ast.stmt) -> bool:
    if not isinstance(node, ast.Raise) or node.exc is None:
        return False
    raised = node.exc.func if isinstance(node.exc, ast.Call) else node.exc
    return isinstance(raised, ast.Name) and raised.id == "NotImplementedError"
