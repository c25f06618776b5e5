"""Find the lines in which an answer looks at what judges it. The instructor reads them; nothing follows."""

from __future__ import annotations

import ast
from collections.abc import Iterator

MODULES = {"grader", "gc", "ctypes", "faulthandler", "_ctypes", "torch._C", "torch.utils._python_dispatch"}
#: Attributes through which code comes to its callers, to all objects, or to what runs beside it.
ATTRIBUTES = {
    *("_getframe", "_current_frames", "currentframe", "f_back", "f_globals", "f_locals", "tb_frame"),
    *("gi_frame", "settrace", "setprofile", "get_objects", "get_referrers", "__subclasses__"),
    *(
        "_python_dispatch",
        "_disable_current_modes",
        "_DisableTorchDispatch",
        "_get_current_dispatch_mode_stack",
    ),
}
REACHED = ("sys.modules", "torch._C")
FILES = "/proc/"
#: A file without one of these words is not parsed.
WORDS = [word.encode() for word in (*sorted(MODULES | ATTRIBUTES), FILES, "sys", "+=", "count")]


def looks(tree: ast.Module) -> list[tuple[int, str]]:
    """Return the lines in which a source looks at the judge, each with what it uses, sorted."""
    return sorted({*_reaches(tree), *_counters(tree)})


def _reaches(tree: ast.Module) -> Iterator[tuple[int, str]]:
    docstrings = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Import | ast.ImportFrom):
            yield from ((node.lineno, name) for name in _imported(node))
        elif isinstance(node, ast.Attribute):
            if node.attr in ATTRIBUTES:
                yield node.lineno, node.attr
            elif (dotted := _dotted(node)) in REACHED:
                yield node.lineno, dotted
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
    return isinstance(value, ast.Call) and _dotted(value.func) in ("count", "itertools.count")


def _is_one(value: ast.expr) -> bool:
    return isinstance(value, ast.Constant) and value.value == 1


def _dotted(node: ast.expr) -> str:
    """Return `a` or `a.b` as it is written, and "" for any other expression."""
    if isinstance(node, ast.Attribute):
        return f"{node.value.id}.{node.attr}" if isinstance(node.value, ast.Name) else ""
    return _name(node)


def _name(node: ast.expr) -> str:
    return node.id if isinstance(node, ast.Name) else ""
