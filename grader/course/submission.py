"""Read and parse a submission's source without running it.

Read the cells of a notebook that answer a kata, as plain JSON: without Jupyter and without running code.

A cell answers a kata if it begins with `%%kata NAME`, also below magics that run a cell, such as `%%time`; if
it has no such line, the name is its `grade_id` for nbgrader. Of several such cells the last written one
counts, as when all cells are run; without one, the last stub. Its source is what the kernel runs: `code_of`
takes out the magics for the magic `%grade`, for `grade FILE` and for `nbgrader autograde` alike.

Find the library functions that a kata asks students to build in a source.

This is a deterrent, as is the refusal while a submission runs: it can find ways around both.

Say in PyTorch's words what a NumPy kata says, for those who answer it in PyTorch: its stub, its hints and
the messages of a report.
"""

from __future__ import annotations

import ast
import hashlib
import json
import re
import tokenize
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property, lru_cache
from io import StringIO
from itertools import pairwise
from pathlib import Path
from typing import Any

from grader.course.catalog import KataInfo, shorten
from grader.course.files import NotReadable, TooLarge, read_below, read_file, source_text
from grader.errors import reason_of
from grader.kata import Kata
from grader.report import Isolation

NAMES = {"numpy": "NumPy", "torch": "PyTorch"}
WIDTH = 88  # characters of a line in a statement
#: What is written in NumPy, and the same in PyTorch.
WORDS = (
    (r"\bnp\.ndarray\b", "torch.Tensor"),
    (r"\b[Aa] Python or NumPy (float|int)\b", r"a Python \1 or a tensor of no axes"),
    (r"\b([Aa])n array\b", r"\1 tensor"),
    (r"\barray(s?)\b", r"tensor\1"),
    (r"\bArray(s?)\b", r"Tensor\1"),
    (r"\bNumPy\b", "PyTorch"),
    (r"\bany integer dtype\b", "int32 or int64"),
)
#: The same in texts that are not the statement, which names no arguments of library functions.
ARGUMENTS = ((r"\bkeepdims\b", "keepdim"), (r"\baxis=", "dim="), (r"\bnp\.", "torch."))
OF_NUMPY = re.compile(r"\s+\(in\s+NumPy\b[^()]*(?:\([^()]*\)[^()]*)*\)")
DESCRIBED = re.compile(r"\b(bool|u?int\d+|b?float\d+|complex\d+) (?=\((?:[a-z_]+=)?\d|\(\))")
SENTENCE = re.compile(r"(?<=\.) +(?=[A-Z])")


def stub_in_torch(source: str) -> str:
    """Return the stub of a NumPy kata as a stub in PyTorch: its import, its types and the words of its
    statement are changed. A stub in PyTorch stays as it is."""
    found = ast.parse(source).body[:1]
    end = (found[0].end_lineno or 0) if found and ast.get_docstring(ast.parse(source)) else 0
    lines = source.splitlines(keepends=True)
    code = re.sub(r"(?m)^import numpy as np$", "import torch", "".join(lines[end:]))
    return statement_in_torch("".join(lines[:end])) + _in_torch(code, WORDS)


def statement_in_torch(statement: str) -> str:
    """Return a statement in PyTorch's words, without the sentences on single functions of NumPy."""
    return "\n\n".join(
        _filled(_in_torch(_without_functions(part), WORDS)) for part in statement.split("\n\n")
    )


def text_in_torch(text: str) -> str:
    """Return a hint, a sentence on a mistake or one of the grader's messages in PyTorch's words. What stands
    in brackets that begin with `in NumPy` is left out."""
    return shape_in_torch(_in_torch(OF_NUMPY.sub("", text), (*WORDS, *ARGUMENTS)))


def shape_in_torch(text: str) -> str:
    """Return a text with `float32 tensor (2, 3)` in place of `float32 (2, 3)`."""
    return DESCRIBED.sub(r"\1 tensor ", text)


def _in_torch(text: str, words: tuple[tuple[str, str], ...]) -> str:
    for pattern, replacement in words:
        text = re.sub(pattern, replacement, text)
    return text


def _without_functions(paragraph: str) -> str:
    """Return a paragraph without the sentences that name a function of NumPy, which hold there alone."""
    if not re.search(r"\bnp\.(?!ndarray\b)", paragraph):
        return paragraph
    kept = [text for text in SENTENCE.split(" ".join(paragraph.split())) if "np." not in text]
    return " ".join(kept)


def _filled(paragraph: str) -> str:
    """Return a paragraph of prose in lines that are not too long; one with columns as it is."""
    lines = paragraph.splitlines()
    if all(len(line) <= WIDTH for line in lines) or any(line.startswith(" ") for line in lines):
        return paragraph
    import textwrap  # takes milliseconds, and few stubs need it

    return textwrap.fill(" ".join(lines), WIDTH, break_on_hyphens=False) + "\n" * paragraph.endswith("\n")


#: PyTorch has most functions in several modules; a rule that names one of them applies to all.
PLACES = ("torch", "torch.nn.functional", "torch.special", "torch.Tensor")


def forbidden_names(kata: Kata) -> list[str]:
    """Return the dotted names of all functions that the kata's rules forbid."""
    return sorted(everywhere(name for rule in kata.rules for name in rule.forbidden))


def first_use(source: str, names: tuple[str, ...], methods: bool = False) -> tuple[str, int] | None:
    """Return the first of the dotted names that the source uses, and its line, or None. Import aliases are
    resolved. With `methods`, `value.name` counts as a tensor method unless value is `self` or a module."""
    tree = ast.parse(source)
    aliases = _aliases(tree)
    wanted = everywhere(names)
    uses = [
        (name, node.lineno)
        for node in ast.walk(tree)
        if isinstance(node, ast.Name | ast.Attribute)
        for name in (_dotted(node, aliases), _method(node, aliases) if methods else "")
        if name in wanted
    ]
    return min(uses, key=lambda use: use[1], default=None)


def _method(node: ast.expr, aliases: dict[str, str]) -> str:
    """Return `torch.Tensor.name` for `value.name` if the value may be a tensor, else an empty text."""
    if not isinstance(node, ast.Attribute) or _dotted(node, aliases).startswith(("self.", "super.")):
        return ""
    return "" if _chain(node)[0] in aliases else f"torch.Tensor.{node.attr}"


def _aliases(tree: ast.AST) -> dict[str, str]:
    """Return the full dotted name of each imported name."""
    aliases: dict[str, str] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for name in node.names:
                top = name.name.split(".")[0]
                aliases[name.asname or top] = name.name if name.asname else top
        elif isinstance(node, ast.ImportFrom) and node.module:
            aliases.update({a.asname or a.name: f"{node.module}.{a.name}" for a in node.names})
    return aliases


def _dotted(node: ast.expr, aliases: dict[str, str]) -> str:
    """Return the full dotted name of `a.b.c`, or an empty text if the chain starts with no name."""
    root, attributes = _chain(node)
    return ".".join([aliases.get(root, root), *attributes]) if root else ""


def _chain(node: ast.expr) -> tuple[str, list[str]]:
    """Return `a` and `["b", "c"]` for `a.b.c`; the first is empty if the chain starts with no name."""
    attributes: list[str] = []
    while isinstance(node, ast.Attribute):
        attributes.append(node.attr)
        node = node.value
    return (node.id if isinstance(node, ast.Name) else ""), attributes[::-1]


def everywhere(forbidden: Iterable[str]) -> frozenset[str]:
    """Return the names, and those of the same functions in PyTorch's other modules."""
    names = set(forbidden)
    for dotted in tuple(names):
        place, _, name = dotted.rpartition(".")
        if place in PLACES:
            names |= {f"{other}.{name}" for other in PLACES}
    return frozenset(names)


LIBRARIES = ("numpy", "torch")
MAX_BYTES = 1 << 20
MOST_IN_STRINGS = 1_000_000_000  # characters times expressions of f-strings: a second of parsing, or less
LFS = b"version https://git-lfs.github.com/spec/"  # how a pointer of Git LFS begins
LONGEST_LINE = 100  # characters that are shown of a line with a syntax error


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
    """Return PyTorch if a source uses that and not NumPy, and the kata may be answered in it; else the kata's
    own library, also for a source that is no Python. One of the two that is imported and never named is not
    used, if the other one is."""
    if len(info.libraries) < 2 or "torch" not in source:
        return info.library
    try:
        tree = ast.parse(source)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return info.library
    imported = {name: package for name, package in _imported(tree).items() if package in LIBRARIES}
    named = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}
    used = {package for name, package in imported.items() if name in named} or {*imported.values()}
    return "torch" if "torch" in used and "numpy" not in used else info.library


def _imported(tree: ast.Module) -> dict[str, str]:
    """Return the names that a module binds by imports, with the package that each comes from."""
    found = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Import | ast.ImportFrom):
            for alias in node.names:
                path = (getattr(node, "module", None) or alias.name).partition(".")[0]
                found[alias.asname or alias.name.partition(".")[0]] = path
    return found


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


def read_text(info: KataInfo, text: str, path: Path) -> Submission:
    """Return the text that an editor holds of a file as a submission. Raises SubmissionRejected, also if the
    text declares an encoding that Python does not know: the file could not be read."""
    label = shorten(path)
    decoded(text.encode("ascii", "replace"), label)
    return parse(info, text, label)


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
    too large, takes minutes to parse, or is what Git LFS leaves in place of a file."""
    text = _decoded(data, label, MAX_BYTES, source_text)
    _require_quick_to_parse(text, label)
    return text


def _require_quick_to_parse(source: str, label: str) -> None:
    """Raise Unreadable if the f-strings of a source would take minutes to parse: for each expression in one,
    Python before 3.12 searches the whole string again."""
    if len(source) * source.count("{") <= MOST_IN_STRINGS:
        return
    steps = 0
    with suppress(tokenize.TokenError, SyntaxError):  # Python reads no further either
        for token in tokenize.generate_tokens(StringIO(source).readline):
            if token.type == tokenize.STRING and "f" in token.string.partition(token.string[-1])[0].lower():
                steps += len(token.string) * token.string.count("{")
    if steps > MOST_IN_STRINGS:
        raise Unreadable(f"{label} has f-strings with too many expressions; write them as several strings.")


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


SUFFIX = ".ipynb"
LARGEST = 32 * MAX_BYTES  # the outputs in a notebook may contain images
MOST_VALUES = 1_000_000  # in a notebook, which takes a hundred bytes of memory for each
MOST_CELLS = 10_000
MOST_SOURCE = 256 << 10  # bytes of all cells that answer one kata
LARGEST_STUB = 64 << 10  # bytes; a longer cell is no stub
OPENING = re.compile(r"%%kata[ \t]+(\w+)[ \t]*(?:\r?\n|$)")
#: Cell magics whose cell the kernel runs as code.
RUNNING = re.compile(r"%%(?:time|timeit|capture|prun)\b.*(?:\n|$)")
BLANK = re.compile(r"[ \t]*\r?\n")
#: Lines that only a kernel can run: `%magic`, `!command`, `?name`, `name?`; those assigned; those with code.
LINE_MAGIC = re.compile(r"[ \t]*(?:%%?[A-Za-z_]|!|\?+[A-Za-z_]|[A-Za-z_][\w.]*\?{1,2}[ \t]*$)")
ASSIGNED = re.compile(r"([ \t]*[A-Za-z_][\w., \t]*=[ \t]*)(?:!|%[A-Za-z_])")
TIMED = re.compile(r"([ \t]*)%time[ \t]+(?!-)")
#: What a line holds besides code: comments, strings, and brackets that join lines.
TOKEN = re.compile(
    r"""#.*|\\.|(?P<quote>\'{3}|"{3})|'(?:\\.|[^'\\\n])*'|"(?:\\.|[^"\\\n])*"|(?P<bracket>[][(){}])"""
)

OPENED, CLOSED = tuple("([{"), tuple(")]}")

WITH_VALUE = ("--key", "--device")  # options of %grade

Cell = Mapping[str, Any]


def is_notebook(file: Path) -> bool:
    return file.suffix == SUFFIX


def score_id(kata_name: str) -> str:
    """Return nbgrader's `grade_id` of the cell that shows a kata's score; the answer's is the kata's name."""
    return f"{kata_name}-score"


def source_of(path: Path, kata_name: str) -> str:
    """Return the code of the cell that answers a kata, with the line numbers of the cell. Raises
    SubmissionRejected if there is none."""
    return answer_in(read_cells(path), kata_name, shorten(path))


def answer_in(cells: list[Cell], kata_name: str, label: str) -> str:
    """Return the code of the cell that answers a kata. Raises SubmissionRejected if there is none."""
    return require_answer(answer_to(kata_name, cells), kata_name, label)


def require_answer(answer: str | None, kata_name: str, label: str) -> str:
    """Return `answer`. Raises Unreadable if it is None: what the cells hold is not known to be an answer."""
    if answer is None:
        raise Unreadable(f"{label} holds no answer: no cell begins with %%kata {kata_name}.")
    return answer


def read_from_notebook(info: KataInfo, path: Path) -> Submission:
    """Return a notebook's answer to one kata as a submission. Raises SubmissionRejected."""
    return parse(info, source_of(path, info.name), f"{shorten(path)} (cell {info.name})")


def katas_in(path: Path, known: Iterable[str]) -> list[str]:
    """Return the katas among `known` that a notebook answers, in the order of `known`. Raises
    SubmissionRejected if the file is not a notebook."""
    label = shorten(path)
    return katas_of(read_bytes(path, label, LARGEST, "a notebook"), label, known)


def katas_of(data: bytes, label: str, known: Iterable[str]) -> list[str]:
    """Return the same of a notebook given as bytes. Raises SubmissionRejected."""
    cells = cells_in(data, label)
    return [name for name in known if answer_to(name, cells) is not None]


def answer_to(kata_name: str, cells: Iterable[Cell]) -> str | None:
    """Return the code of the cell that counts, without its magic, or None if no cell answers the kata."""
    opened = (
        (grade_id(cell), *opening_of(text_of(cell))) for cell in cells if cell.get("cell_type") == "code"
    )
    own = [code for marked, named, code in opened if kata_name == (named or marked)]
    if sum(map(len, own)) > MOST_SOURCE:
        raise Unreadable(f"The cells of {kata_name} hold more than {MOST_SOURCE >> 10} KiB of code.")
    for code in own:
        _require_quick_to_parse(code, f"The cell of {kata_name}")
    answers = list(map(code_of, own))
    written = [answer for answer in answers if len(answer) > LARGEST_STUB or not is_unwritten(answer)]
    return next(iter((written or answers)[-1:]), None)


def grade_id(cell: Cell) -> str:
    """Return nbgrader's `grade_id` of a cell, or an empty text if it has none."""
    metadata = cell.get("metadata")
    marks = metadata.get("nbgrader") if isinstance(metadata, Mapping) else None
    name = marks.get("grade_id") if isinstance(marks, Mapping) else None
    return name if isinstance(name, str) else ""


def text_of(cell: Cell) -> str:
    """Return a cell's source, which a notebook stores as a text or as a list of lines."""
    source = cell.get("source", "")
    lines = source if isinstance(source, list) else [source]
    return "".join(line for line in lines if isinstance(line, str))


def opening_of(source: str) -> tuple[str, str]:
    """Return the kata that a cell names by `%%kata`, or "", and its code, with an empty line in place of each
    magic above it, so that line numbers stay the same. Magics that run the cell may stand above or below."""
    name, at, above = "", 0, ""
    while found := BLANK.match(source, at) or RUNNING.match(source, at) or OPENING.match(source, at):
        if found.re is OPENING and name:
            break
        name = found[1] if found.re is OPENING else name
        at, above = found.end(), above + "\n"
    return (name, above + source[at:]) if name else ("", source)


def code_of(source: str) -> str:
    """Return the code of a cell that the kernel runs, without what only a kernel can run.

    `%time f(x)` becomes `f(x)`, what is assigned from a magic or a command is None, and any other such line
    is `pass` and a comment. A source without such lines, and valid Python, stays as it is.
    """
    source = opening_of(f"%%kata _\n{source}")[1][1:] if source.lstrip().startswith("%%") else source
    lines, within, depth = source.split("\n"), "", 0
    is_code = is_joined = False  # by a backslash at the end of a line of code, or of a magic
    for number, line in enumerate(lines):
        begins = not within and depth <= 0 and not is_code
        if is_joined or (begins and (LINE_MAGIC.match(line) or ASSIGNED.match(line))):
            lines[number] = "" if is_joined else _as_code(line)
            is_joined = line.endswith("\\")
        else:
            within, depth = _state_after(line, within, depth)
            is_code = line.endswith("\\")
    changed = "\n".join(lines)
    return changed if changed != source and not _is_python(source) else source


def _as_code(line: str) -> str:
    """Return a line with a magic as Python."""
    if timed := TIMED.match(line):
        return timed[1] + line[timed.end() :]
    if assigned := ASSIGNED.match(line):
        return f"{assigned[1]}None  # {line.strip()}"
    return f"{line[: len(line) - len(line.lstrip())]}pass  # {line.strip()}"


def _state_after(line: str, within: str, depth: int) -> tuple[str, int]:
    """Return the quotes of the text that is open after a line, or "", and how many brackets are."""
    at = 0
    while at < len(line):
        if within:
            end = re.compile(rf"(?:\\.|(?!{within}).)*{within}").match(line, at)
            if end is None:
                return within, depth
            at, within = end.end(), ""
        elif found := TOKEN.search(line, at):
            at, within = found.end(), found["quote"] or ""
            depth += (found["bracket"] in OPENED) - (found["bracket"] in CLOSED)
        else:
            break
    return within, depth


def _is_python(source: str) -> bool:
    try:
        ast.parse(source)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return False
    return True


def katas_asked(source: str) -> list[str]:
    """Return the katas that a cell grades with `%grade`."""
    words = [line.split() for line in source.splitlines() if line.startswith("%grade")]
    pairs = [pair for line in words for pair in pairwise(line)]
    return [word for before, word in pairs if not word.startswith("-") and before not in WITH_VALUE]


def read_cells(path: Path) -> list[Cell]:
    """Return all cells of a notebook. Raises SubmissionRejected if the file is not a notebook."""
    label = shorten(path)
    return cells_in(read_bytes(path, label, LARGEST, "a notebook"), label)


@lru_cache(maxsize=1)  # a notebook with forty katas is asked for each
def cells_in(data: bytes, label: str) -> list[Cell]:
    """Return all cells of a notebook given as bytes. Raises Unreadable if it is not a notebook, or holds so
    many values that reading them would take all memory."""
    text = utf8(data, label, LARGEST)
    if sum(map(text.count, "{[,")) > MOST_VALUES:
        raise Unreadable(f"{label} holds more than {MOST_VALUES:,} values; clear its outputs and save it.")
    try:
        found = json.loads(text)
    except (ValueError, RecursionError, MemoryError):
        raise Unreadable(f"{label} is no notebook, or a damaged one: it cannot be read as JSON.") from None
    cells = found.get("cells") if isinstance(found, dict) else None
    if not isinstance(cells, list):
        raise Unreadable(
            f"{label} holds no cells; open it in Jupyter and save it as a notebook of version 4."
        )
    if len(cells) > MOST_CELLS:
        raise Unreadable(f"{label} holds more than {MOST_CELLS:,} cells.")
    return [cell for cell in cells if isinstance(cell, dict)]
