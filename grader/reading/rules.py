"""Find the library functions that a kata asks students to build in a source.

This is a deterrent, as is the refusal while a submission runs: it can find ways around both.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator

#: PyTorch has most functions in several modules; a rule that names one of them applies to all.
PLACES = ("torch", "torch.nn.functional", "torch.special", "torch.Tensor")
LONGEST = 200  # characters of a dotted name of a library


def first_use(tree: ast.Module, names: Iterable[str], methods: bool = False) -> tuple[str, int] | None:
    """Return the first of the dotted names that the source uses, and its line, or None; `a.b.*` stands for
    all that is below `a.b`. Import aliases are resolved. With `methods`, `value.name` counts as a tensor
    method, unless value is `self` or a module, or a class of the source has a method of that name."""
    aliases = _aliases(tree)
    wanted = everywhere(names)
    classes = (node for node in ast.walk(tree) if isinstance(node, ast.ClassDef))
    own = {node.name for one in classes for node in one.body if isinstance(node, ast.FunctionDef)}
    uses = [
        (name, node.lineno)
        for node in ast.walk(tree)
        if isinstance(node, ast.Name | ast.Attribute)
        for name in (_dotted(node, aliases), _method(node, aliases, own) if methods else "")
        if name in wanted or any(f"{parent}.*" in wanted for parent in _parents(name))
    ]
    return min(uses, key=lambda use: use[1], default=None)


def shortcut_in(tree: ast.Module, names: Iterable[str], library: str) -> tuple[str, int] | None:
    """Return the first of a kata's shortcuts that a source uses, and its line, or None. Tensors arrive in a
    kata of PyTorch, and where the source imports that."""
    has_tensors = library == "torch" or any(
        name.partition(".")[0] == "torch" for name in _aliases(tree).values()
    )
    return first_use(tree, names, methods=has_tensors)


def _parents(name: str) -> Iterator[str]:
    """Yield `a.b` and `a` for `a.b.c`; nothing for a name that is longer than any of a library."""
    while len(name) <= LONGEST and "." in name:
        name = name.rpartition(".")[0]
        yield name


def _method(node: ast.expr, aliases: dict[str, str], own: set[str]) -> str:
    """Return `torch.Tensor.name` for `value.name` if the value may be a tensor, else an empty text."""
    if not isinstance(node, ast.Attribute) or node.attr in own:
        return ""
    if _dotted(node, aliases).startswith(("self.", "super.")):
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
