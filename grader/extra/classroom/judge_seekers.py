"""Find the lines in which an answer looks at what judges it. The instructor reads them; nothing follows."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass

from grader.extra.classroom.store import Store

MODULES = {"grader", "gc", "ctypes", "faulthandler", "_ctypes", "torch._C", "torch.utils._python_dispatch"}
#: Attributes through which code comes to its callers, to all objects, or to what runs beside it.
ATTRIBUTES = {
    *(
        "_getframe",
        "_current_frames",
        "currentframe",
        "f_back",
        "f_globals",
        "f_locals",
        "tb_frame",
        "gi_frame",
    ),
    *("settrace", "setprofile", "get_objects", "get_referrers", "__subclasses__", "_python_dispatch"),
    *("_disable_current_modes", "_DisableTorchDispatch", "_get_current_dispatch_mode_stack"),
}
FILES = "/proc/"
#: A file without one of these words is not parsed.
WORDS = re.compile(
    "|".join([*map(re.escape, (*MODULES, *ATTRIBUTES, FILES)), r"sys\b", r"\+=", r"\bcount\b"])
)


@dataclass(frozen=True)
class JudgeSeeker:
    """A student's answer that looks at the judge, and the lines with what they use."""

    student: str
    kata: str
    lines: tuple[tuple[int, str], ...]


def judge_seekers(store: Store, katas: list[str]) -> list[JudgeSeeker]:
    """Return the answers of a run that look at the judge."""
    query = "SELECT student, kata, source FROM handed_in WHERE run = :run ORDER BY student, kata"
    known: dict[str, tuple[tuple[int, str], ...]] = {}
    found = []
    for student, kata, digest in store.rows(query):
        if kata in katas:
            if digest not in known:
                known[digest] = tuple(looks(store.source(digest) or b""))
            found += [JudgeSeeker(student, kata, known[digest])] if known[digest] else []
    return found


def looks(source: bytes) -> list[tuple[int, str]]:
    """Return the lines in which a source looks at the judge, each with what it uses, sorted."""
    text = source.decode("utf-8", "replace")
    if not WORDS.search(text):
        return []
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return []
    return sorted({*_reaches(tree), *_counters(tree)})


def _reaches(tree: ast.Module) -> Iterator[tuple[int, str]]:
    docstrings = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Import | ast.ImportFrom):
            yield from ((node.lineno, name) for name in _imported(node))
        elif isinstance(node, ast.Attribute):
            if node.attr in ATTRIBUTES:
                yield node.lineno, node.attr
            elif ast.unparse(node) in ("sys.modules", "torch._C"):
                yield node.lineno, ast.unparse(node)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in docstrings:
            named = FILES if FILES in node.value else node.value
            if named in (FILES, *ATTRIBUTES):
                yield node.lineno, named


def _imported(node: ast.Import | ast.ImportFrom) -> Iterator[str]:
    """Yield what an import takes of MODULES, of `sys.modules` or of ATTRIBUTES."""
    origin = node.module or "" if isinstance(node, ast.ImportFrom) else ""
    for alias in node.names:
        whole = f"{origin}.{alias.name}" if origin else alias.name
        if alias.name in ATTRIBUTES or whole == "sys.modules":
            yield whole
        else:
            yield from (m for m in sorted(MODULES) if whole == m or whole.startswith(f"{m}."))


def _counters(tree: ast.Module) -> Iterator[tuple[int, str]]:
    """Yield where a function counts its calls: in a global, in an attribute of a function, or by a counter of
    the module."""
    functions = {node.name for node in tree.body if isinstance(node, ast.FunctionDef)}
    made = [node for node in tree.body if isinstance(node, ast.Assign) and _makes_counter(node.value)]
    counters = {name.id for node in made for name in node.targets if isinstance(name, ast.Name)}
    for function in (node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)):
        own = {name for node in ast.walk(function) if isinstance(node, ast.Global) for name in node.names}
        for node in ast.walk(function):
            if isinstance(node, ast.AugAssign) and _is_one(node.value):
                target = node.target
                is_global = isinstance(target, ast.Name) and target.id in own
                is_attribute = isinstance(target, ast.Attribute) and _name(target.value) in functions
                if is_global or is_attribute:
                    yield node.lineno, "counts calls"
            elif isinstance(node, ast.Call) and _name(node.func) == "next":
                yield from ((node.lineno, "counts calls") for arg in node.args[:1] if _name(arg) in counters)


def _makes_counter(value: ast.expr) -> bool:
    return isinstance(value, ast.Call) and ast.unparse(value.func) in ("count", "itertools.count")


def _is_one(value: ast.expr) -> bool:
    return isinstance(value, ast.Constant) and value.value == 1


def _name(node: ast.expr) -> str:
    return node.id if isinstance(node, ast.Name) else ""
