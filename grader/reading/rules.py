"""Find the library functions that a kata asks students to build in a source.

This is a deterrent, as is the refusal while a submission runs: it can find ways around both.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable

#: PyTorch has most functions in several modules; a rule that names one of them applies to all.
PLACES = ("torch", "torch.nn.functional", "torch.special", "torch.Tensor")


def first_use(tree: ast.Module, names: Iterable[str], methods: bool = False) -> tuple[str, int] | None:
    """Return the first of the dotted names that the source uses, and its line, or None. Import aliases are
    resolved. With `methods`, `value.name` counts as a tensor method unless value is `self` or a module."""
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
