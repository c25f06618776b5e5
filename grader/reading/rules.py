"""Find the library functions that a kata asks students to build in a source.

This is a deterrent, as is the refusal while a submission runs: it can find ways around both.
"""

from __future__ import annotations

import ast
from collections.abc import Container, Iterable, Iterator
from functools import cache, partial
from itertools import chain

#: PyTorch has most functions in several modules; a rule that names one of them applies to all.
PLACES = ("torch", "torch.nn.functional", "torch.special", "torch.Tensor")
LONGEST_DOTTED_NAME = 200  # characters of a dotted name of a library
MOST_PARTS = 20  # of a chain that is followed, which is more than any name of a library has
MOST_STARS = 10  # modules of `import *`, in each of which every name is looked for


def first_use(
    tree: ast.Module, names: Iterable[str], entry_points: Iterable[str] = (), *, methods: bool = False
) -> tuple[str, int] | None:
    """Return the first of the dotted names that the source uses, and its line, or None; `a.b.*` stands for
    all that is below `a.b`. Resolved are aliases, `import *`, and the usual detours: `getattr`, `__dict__`,
    `import_module`, private modules. An entry point that is imported is a use. With `methods`, `value.name`
    counts as a tensor method, unless value is `self` or a module, or a class of the source has one of that
    name."""
    wanted = everywhere(names)
    known = _Names(tree, {name.partition(".")[0] for name in wanted})
    uses = chain(known.imported(entry_points), _uses(tree, known, methods=methods))
    is_wanted = cache(partial(_is_among, wanted))
    return min((use for use in uses if is_wanted(use[0])), key=lambda use: use[1], default=None)


def _uses(tree: ast.Module, known: _Names, *, methods: bool) -> Iterator[tuple[str, int]]:
    """Yield the dotted names that a source may use, and the lines; see `first_use`."""
    classes = (node for node in ast.walk(tree) if isinstance(node, ast.ClassDef))
    own = {node.name for one in classes for node in one.body if isinstance(node, ast.FunctionDef)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Name | ast.Attribute | ast.Call | ast.Subscript):
            root, attributes = _chain(node)
            for start in known.meant(root, node.lineno):
                yield ".".join([start, *attributes]), node.lineno
            if methods and attributes and attributes[-1] not in own and known.is_value(root):
                yield f"torch.Tensor.{attributes[-1]}", node.lineno


def shortcut_in(
    tree: ast.Module, names: Iterable[str], library: str, entry_points: Iterable[str] = ()
) -> tuple[str, int] | None:
    """Return the first of a kata's shortcuts that a source uses, and its line, or None. Tensors arrive in a
    kata of PyTorch, and where the source imports that."""
    has_tensors = library == "torch" or "torch" in _Names(tree, {"torch"}).packages
    return first_use(tree, names, entry_points, methods=has_tensors)


def _is_among(wanted: frozenset[str], name: str) -> bool:
    """Return whether a dotted name, or what it stands for in a private module, is wanted."""
    if len(name) > LONGEST_DOTTED_NAME:  # longer than any of a library
        return False
    return any(
        one in wanted or any(f"{parent}.*" in wanted for parent in _parents(one))
        for one in (name, _public(name))
    )


def _parents(name: str) -> Iterator[str]:
    """Yield `a.b` and `a` for `a.b.c`."""
    while "." in name:
        name = name.rpartition(".")[0]
        yield name


def _public(name: str) -> str:
    """Return the public name of what a library has in a private module or as an operation: `torch.sort`
    for `torch._VF.sort`, for `torch.ops.aten.sort.default` and for `torch._sort`."""
    top, *parts = name.split(".")
    if parts[:2] == ["ops", "aten"]:
        parts = parts[2:3]  # without the overload
    elif parts[:2] == ["nn", "modules"]:
        parts = ["nn", *parts[3:]]
    modules = [part for part in parts[:-1] if not part.startswith("_")]
    return ".".join([top, *modules, *(part.lstrip("_") for part in parts[-1:])])


class _Names:
    """What the names of a source mean."""

    def __init__(self, tree: ast.Module, packages: Container[str]) -> None:
        """An `import *` counts if it is of one of the `packages`."""
        self._looked_for = packages
        self._aliases: dict[str, str] = {}  # the full dotted name of each imported name
        self._stars: dict[str, int] = {}  # the modules of `import *`, with the last line
        lines: dict[str, list[int]] = {}  # in which the source itself binds a name
        self._imports: dict[str, int] = {}  # the line of each import
        assigned = []
        for node in ast.walk(tree):
            if isinstance(node, ast.Import | ast.ImportFrom):
                self._import(node)
            elif isinstance(node, ast.Assign):
                assigned.append(node)
            elif isinstance(node, ast.Call | ast.Subscript) and (name := _module(node)):
                self._aliases.setdefault(name, name)
            for name, line in _bound_by(node):
                lines.setdefault(name, []).append(line)
        self._first = {name: min(own) for name, own in lines.items()}
        self._last = {name: max(own) for name, own in lines.items()}
        self._bound_once = {name for name, own in lines.items() if len(own) == 1}
        self._inside = {
            inner
            for node in tree.body
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef)
            for inner in range(node.lineno, (node.end_lineno or node.lineno) + 1)
        }
        for node in sorted(assigned, key=lambda node: node.lineno):
            self._assign(node)

    @property
    def packages(self) -> set[str]:
        """The packages that the source imports."""
        modules = [*self._aliases.values(), *self._stars]
        return {name.partition(".")[0] for name in modules}

    def meant(self, root: str, line: int) -> list[str]:
        """Return the dotted names that a name may stand for in a line; none for an empty one."""
        if not root:
            return []
        is_own = root in self._first and (line in self._inside or line >= self._first[root])
        if root in self._aliases and not (is_own and self._last[root] > self._imports.get(root, 0)):
            return [self._aliases[root]]
        return [root] if is_own else [root, *(f"{module}.{root}" for module in self._stars)]

    def is_value(self, root: str) -> bool:
        """Return whether a name may be a tensor, or an expression has none."""
        return root not in self._aliases and root not in ("self", "super")

    def imported(self, names: Iterable[str]) -> Iterator[tuple[str, int]]:
        """Yield the dotted names that an import binds to these names at the top, and the lines."""
        for name in names:
            own = self._last.get(name, 0)
            found = [(f"{module}.{name}", line) for module, line in self._stars.items()]
            if name in self._imports:
                found.append((self._aliases[name], self._imports[name]))
            yield from ((path, line) for path, line in found if line > own and line not in self._inside)

    def _import(self, node: ast.Import | ast.ImportFrom) -> None:
        module = (node.module or "") if isinstance(node, ast.ImportFrom) else ""
        for alias in node.names:
            top = alias.name.partition(".")[0]
            name = alias.asname or (alias.name if module else top)
            if alias.name == "*":
                is_room = module.partition(".")[0] in self._looked_for and len(self._stars) < MOST_STARS
                if is_room or module in self._stars:
                    self._stars[module] = max(node.lineno, self._stars.get(module, 0))
            elif module or isinstance(node, ast.Import):
                path = f"{module}.{alias.name}" if module else alias.name if alias.asname else top
                self._aliases[name], self._imports[name] = path, node.lineno

    def _assign(self, node: ast.Assign) -> None:
        """Take `F = torch.nn.functional` for an import, if nothing else binds the name."""
        root, attributes = _chain(node.value)
        if root not in self._aliases:
            return
        path = ".".join([self._aliases[root], *attributes])
        if len(path) > LONGEST_DOTTED_NAME:  # aliases of aliases
            return
        for target in node.targets:
            if isinstance(target, ast.Name) and target.id in self._bound_once:
                self._aliases[target.id], self._imports[target.id] = path, node.lineno


def _bound_by(node: ast.AST) -> Iterator[tuple[str, int]]:
    """Yield the name that a node binds, other than by an import, and its line."""
    if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
        yield node.id, node.lineno
    elif isinstance(node, ast.arg):
        yield node.arg, node.lineno
    elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        yield node.name, node.lineno


def _chain(node: ast.expr) -> tuple[str, list[str]]:
    """Return `a` and `["b", "c"]` for `a.b.c`, also where `getattr` or `__dict__` looks a part up, and a
    module for one that `import_module` gives. The first is empty if the chain starts with anything else."""
    attributes: list[str] = []
    while len(attributes) < MOST_PARTS and (found := _looked_up(node)):
        node, name = found
        attributes.append(name)
    return _name(node) or _module(node), attributes[::-1]


def _looked_up(node: ast.expr) -> tuple[ast.expr, str] | None:
    """Return the value and the name if an expression looks up an attribute of a value."""
    if isinstance(node, ast.Attribute):
        return node.value, node.attr
    if isinstance(node, ast.Call) and _name(node.func) == "getattr" and len(node.args) > 1:
        return (node.args[0], name) if (name := _text(node.args[1])) else None
    if isinstance(node, ast.Subscript) and (name := _text(node.slice)):
        if isinstance(node.value, ast.Attribute) and node.value.attr == "__dict__":
            return node.value.value, name
        if isinstance(node.value, ast.Call) and _name(node.value.func) == "vars" and node.value.args:
            return node.value.args[0], name
    return None


def _module(node: ast.expr) -> str:
    """Return the name of the module that `import_module("a.b")`, `__import__("a")` or `sys.modules["a.b"]`
    gives; an empty text for any other expression."""
    if isinstance(node, ast.Call) and node.args:
        name, function = _text(node.args[0]), node.func
        if _name(function) == "__import__":
            return name.partition(".")[0]
        called = function.attr if isinstance(function, ast.Attribute) else _name(function)
        return name if called == "import_module" else ""
    if isinstance(node, ast.Subscript) and isinstance(node.value, ast.Attribute):
        return _text(node.slice) if node.value.attr == "modules" else ""
    return ""


def _name(node: ast.expr) -> str:
    return node.id if isinstance(node, ast.Name) else ""


def _text(node: ast.expr) -> str:
    """Return the text of a constant, and an empty one for any other expression."""
    return node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else ""


def everywhere(forbidden: Iterable[str]) -> frozenset[str]:
    """Return the names, and those of the same functions in PyTorch's other modules."""
    names = set(forbidden)
    for dotted in tuple(names):
        place, _, name = dotted.rpartition(".")
        if place in PLACES:
            names |= {f"{other}.{name}" for other in PLACES}
    return frozenset(names)
