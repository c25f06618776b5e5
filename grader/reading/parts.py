"""Which parts of a source are written, which questions are open, what stands as an answer, which library."""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Collection, Iterator, Sequence

LIBRARIES = ("numpy", "torch")


def library_of(tree: ast.Module, library: str, libraries: Collection[str]) -> str:
    """Return PyTorch if a source uses that and not NumPy, and it is one of the `libraries` that the kata may
    be answered in; else the kata's own `library`. One of the two that is imported and never named is not
    used, if the other one is."""
    if len(libraries) < 2:
        return library
    imported = {name: package for name, package in _imported(tree).items() if package in LIBRARIES}
    named = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}
    used = {package for name, package in imported.items() if name in named} or {*imported.values()}
    return "torch" if "torch" in used and "numpy" not in used else library


def _imported(tree: ast.Module) -> dict[str, str]:
    """Return the names that a module binds by imports, with the package that each comes from."""
    found = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Import | ast.ImportFrom):
            for alias in node.names:
                path = (getattr(node, "module", None) or alias.name).partition(".")[0]
                found[alias.asname or alias.name.partition(".")[0]] = path
    return found


def unwritten_parts(tree: ast.Module, names: Sequence[str]) -> dict[str, range]:
    """Return the lines of the functions and classes with these names that raise NotImplementedError whatever
    they are called with. Where the source does not prove that, a part counts as written, and is judged."""
    return {
        node.name: range(node.lineno, (node.end_lineno or node.lineno) + 1)
        for node in _idle(tree, names)
        if all(any(map(_raises_not_implemented, function.body)) for function in _functions(node))
    }


def is_begun(tree: ast.Module, names: Sequence[str]) -> bool:
    """Return whether any of the functions and classes with these names is written: one whose body is a
    docstring, `pass`, `...` or NotImplementedError is not. The stub of an older release may lack some of the
    names; a source that has none of them is begun."""
    idle = {node.name for node in _idle(tree, names)}
    there = {*_bound(tree), *_mentioned(tree)}
    return not idle or "*" in there or any(name in there for name in names if name not in idle)


def is_idle(tree: ast.Module) -> bool:
    """True if all functions and classes of a source do nothing, or if it has no code at all."""
    return _has_none(tree, [node.name for node in _idle(tree, _definitions(tree))])


def _idle(tree: ast.Module, names: Sequence[str]) -> list[ast.FunctionDef | ast.ClassDef]:
    """Return the functions and classes with these names that do nothing but raise NotImplementedError."""
    bound, mentioned, meant = Counter(_bound(tree)), _mentioned(tree), set(names)
    return [
        node
        for node in tree.body
        if isinstance(node, ast.FunctionDef | ast.ClassDef) and node.name in meant
        if bound[node.name] == 1 and node.name not in mentioned and _is_idle(node, bound.keys())
    ]


def _functions(node: ast.FunctionDef | ast.ClassDef) -> list[ast.FunctionDef]:
    """Return a function, or the methods that a class defines."""
    inside = [node] if isinstance(node, ast.FunctionDef) else node.body
    return [function for function in inside if isinstance(function, ast.FunctionDef)]


def _is_idle(node: ast.stmt, bound: Collection[str]) -> bool:
    """Return whether each call of a function, or of each method that a class defines, does nothing, or raises
    NotImplementedError. Decorators and bases that the module binds itself may do anything."""
    if not isinstance(node, ast.FunctionDef | ast.ClassDef) or node.decorator_list:
        return False
    if isinstance(node, ast.FunctionDef):
        return all(map(_does_nothing, node.body))
    methods = [inner for inner in node.body if isinstance(inner, ast.FunctionDef)]
    bases = {name.id for base in node.bases for name in ast.walk(base) if isinstance(name, ast.Name)}
    is_plain = all(isinstance(inner, ast.FunctionDef) or _does_nothing(inner) for inner in node.body)
    is_own = any(base in bound for base in bases)
    return is_plain and bool(methods) and not is_own and all(_is_idle(m, bound) for m in methods)


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


def is_unwritten(tree: ast.Module) -> bool:
    """True if all functions and classes of a source are unwritten, or if it has no code at all."""
    return _has_none(tree, unwritten_parts(tree, _definitions(tree)))


def _definitions(tree: ast.Module) -> list[str]:
    """Return the names of the functions and classes of a source."""
    return [node.name for node in tree.body if isinstance(node, ast.FunctionDef | ast.ClassDef)]


def _has_none(tree: ast.Module, without: Collection[str]) -> bool:
    """Return whether all functions and classes are among those `without` code, or if there are none, whether
    a source has no code at all."""
    if definitions := _definitions(tree):
        return len(without) == len(definitions)
    asked = [node for node in tree.body if isinstance(node, ast.Assign) and not _is_about_the_student(node)]
    return all(map(_does_nothing, asked or tree.body))


def open_questions(tree: ast.Module) -> list[str]:
    """Return the names of the constants that are `...`, which stands for an answer."""
    return [name for node in tree.body if _is_open(node) for name in _names(node)]


def is_answered(tree: ast.Module, names: Sequence[str]) -> bool:
    """Return whether any of the constants with these names has an answer. A source that has none of them open
    is answered; the page of an older release may lack some."""
    bound, left = Counter(_bound(tree)), Counter(open_questions(tree))
    return not any(map(left.__getitem__, names)) or any(bound[name] > left[name] for name in names)


def _names(node: ast.stmt) -> list[str]:
    """Return the names that an assignment binds by themselves; `a.b` and `a, b` are none."""
    return [target.id for target in getattr(node, "targets", []) if isinstance(target, ast.Name)]


def written_answer(tree: ast.Module, source: str, name: str) -> str:
    """Return the text in the line `name = …` of a source; its code if that is no plain text or there are
    several such lines; empty if there is no answer. The source is not run: this is what stands there."""
    nodes = [node for node in tree.body if _binds(node, name) and not _is_open(node)]
    value = getattr(nodes[0], "value", None) if len(nodes) == 1 else None
    if isinstance(value, ast.Constant) and isinstance(value.value, str):
        return value.value.strip()
    lines = source.encode().splitlines(keepends=True) if nodes else []
    return "\n".join(segment(lines, node) for node in nodes)


def segment(lines: list[bytes], node: ast.stmt | ast.expr) -> str:
    """Return the code of a node. `ast.get_source_segment` splits the whole source again for each."""
    first, last = node.lineno - 1, (node.end_lineno or node.lineno) - 1
    if first == last:
        return lines[first][node.col_offset : node.end_col_offset].decode()
    code = [lines[first][node.col_offset :], *lines[first + 1 : last], lines[last][: node.end_col_offset]]
    return b"".join(code).decode()


def _binds(node: ast.stmt, name: str) -> bool:
    names = (part for part in ast.walk(node) if isinstance(part, ast.Name))
    return any(part.id == name and isinstance(part.ctx, ast.Store) for part in names)


def _is_open(node: ast.stmt) -> bool:
    return isinstance(node, ast.Assign) and isinstance(node.value, ast.Constant) and node.value.value is ...


def _is_about_the_student(node: ast.Assign) -> bool:
    return bool({"STUDENT", "ROW"} & set(_names(node)[:1]))


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
