"""`kata import`, the last page of an audit: what tests call and what they miss become the draft of a kata."""

from __future__ import annotations

import ast
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import PurePosixPath

import msgspec

from dojo_audit.audit import Auditor
from dojo_audit.homework import Homework, defines
from dojo_audit.writing import draft_mistakes
from dojo_authoring.scaffold.imported import ImportedExercise
from grader.errors import CourseError

Calls = dict[str, list[dict[str, str]]]  # the arguments of calls as code, by function
MOST_CALLS = 24
CODE = (
    *(
        ast.Expression,
        ast.Constant,
        ast.List,
        ast.Tuple,
        ast.Set,
        ast.Dict,
        ast.Call,
        ast.keyword,
        ast.Attribute,
    ),
    *(ast.Name, ast.Load, ast.UnaryOp, ast.unaryop, ast.BinOp, ast.operator),
)


@dataclass(frozen=True)
class KataOfHomework:
    """The kata that is asked for: its place, and what the homework says if it is None."""

    track: str
    name: str
    function: str | None
    title: str | None
    source: str | None


def exercise_of(auditor: Auditor, wanted: KataOfHomework) -> ImportedExercise:
    """Return what becomes a kata of an audited homework: a function, the calls of it that the tests make, and
    the wrong versions of it that they miss. Raises CourseError if there is no such function."""
    homework = auditor.homework
    result = auditor.pool.run(auditor.search("calls", {}))
    try:
        calls = msgspec.convert(result.answer.get("calls"), Calls)
    except msgspec.ValidationError:
        calls = {}
    modules = {file: _module(homework, file) for file in homework.sources}
    defined = {name: file for file, text in homework.sources.items() for name in defines(text)}
    named = _chosen([name for name in calls if name in defined], list(defined), wanted.function)
    known = [call for call in calls[named] if all(map(_is_data, call.values()))][:MOST_CALLS]
    if not known:
        raise CourseError(f"No test calls `{named}` with values that can be written down.")
    text = modules[defined[named]]
    reference = needed(text, {named})
    _require_alone(homework, ast.parse(reference))
    statement = ast.get_docstring(ast.parse(text)) or ""
    missed = [one for one in auditor.audit().survivors if one.where == named]
    return ImportedExercise(
        named,
        wanted.title or statement.partition("\n")[0].rstrip(".") or named.replace("_", " ").capitalize(),
        wanted.source or f"Taken from {homework.label}",
        (f'"""{statement}\n"""\n\n' if statement and '"""' not in statement else "") + reference,
        tuple(known),
        draft_mistakes(missed, {**homework.sources, defined[named]: reference}),
    )


def _chosen(called: list[str], defined: list[str], wanted: str | None) -> str:
    """Return the wanted function, or the only one that the tests call. Raises CourseError."""
    listed = ", ".join(f"`{name}`" for name in called) or "none"
    if wanted is not None and wanted not in called:
        raise CourseError(
            f"The tests call no function `{wanted}` of the solution with plain values; they call {listed}."
        )
    if wanted is None and len(called) != 1:
        if not called:
            names = ", ".join(f"`{name}`" for name in defined) or "none"
            raise CourseError(f"No test calls a function of the solution with plain values; it has {names}.")
        raise CourseError(
            f"The tests call {listed}, and a kata is about one: say which, as in --function {called[0]}."
        )
    return wanted or called[0]


def _is_data(code: str) -> bool:
    """Return whether code only makes numbers, texts, arrays and containers: it comes out of the sandbox."""
    try:
        nodes = list(ast.walk(ast.parse(code, mode="eval")))
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return False
    names = {node.id for node in nodes if isinstance(node, ast.Name)}
    return all(isinstance(node, CODE) for node in nodes) and names <= {"np", "torch", "float"}


def _module(homework: Homework, file: str) -> str:
    """Return the source of which a file is a part: of a notebook all cells that do not test."""
    cells = homework.cells
    if cells is None or not cells.notebook:
        return homework.sources[file]
    return "\n\n".join(cells.texts[name] for name in cells.without_tests)


def _require_alone(homework: Homework, tree: ast.Module) -> None:
    """Raise CourseError if a module imports another file of the homework: a reference is one file."""
    for node in ast.walk(tree):
        names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
        if isinstance(node, ast.ImportFrom):
            names = ["." * node.level + (node.module or "")]
        for name in names:
            top = name.partition(".")[0]
            places = [homework.folder, *(homework.folder / _below(root, homework) for root in homework.roots)]
            if not top or any((p / f"{top}.py").is_file() or (p / top).is_dir() for p in places):
                raise CourseError(f"The function imports `{name}` of the homework: a reference is one file.")


def _below(root: str, homework: Homework) -> str:
    path = PurePosixPath(root)
    return (
        path.relative_to(homework.at).as_posix() if homework.at and path.is_relative_to(homework.at) else root
    )


def needed(source: str, wanted: set[str]) -> str:
    """Return the part of a module that the wanted names need: imports, definitions and assignments."""
    body, chosen = ast.parse(source).body, set[int]()
    while more := [i for i, node in enumerate(body) if i not in chosen and wanted & _bound([node])]:
        chosen |= set(more)
        wanted = wanted | {n.id for i in more for n in ast.walk(body[i]) if isinstance(n, ast.Name)}
    lines, text = source.split("\n"), ""
    before: ast.stmt | None = None
    for node in (node for i, node in enumerate(body) if i in chosen or _is_future(node)):
        is_apart = any(isinstance(n, ast.FunctionDef | ast.ClassDef) for n in (before, node))
        first = min([node.lineno, *(mark.lineno for mark in getattr(node, "decorator_list", []))])
        gap = "\n\n" if is_apart and before is not None else ""
        text += gap + "\n".join(lines[first - 1 : node.end_lineno]) + "\n"
        before = node
    return text


def _is_future(node: ast.stmt) -> bool:
    return isinstance(node, ast.ImportFrom) and node.module == "__future__"


def _bound(nodes: Iterable[ast.AST]) -> set[str]:
    """Return the names that statements define, outside of functions and classes."""
    found: set[str] = set()
    for node in nodes:
        if isinstance(node, ast.Import | ast.ImportFrom):
            found |= {(alias.asname or alias.name).partition(".")[0] for alias in node.names}
        elif isinstance(node, ast.FunctionDef | ast.ClassDef):
            found.add(node.name)
        else:
            found |= {
                n.id for n in ast.walk(node) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)
            }
    return found
