"""One answer out of a module of many: what it needs of the module, and nothing else."""

from __future__ import annotations

import ast

Definition = ast.FunctionDef | ast.ClassDef


def excerpt(source: str, name: str) -> str:
    """The source without the functions and classes that `name` does not need."""
    tree = ast.parse(source)
    definitions = [node for node in tree.body if isinstance(node, Definition)]
    needed = _needed(name, tree, definitions)
    lines = source.splitlines(keepends=True)
    for node in reversed(definitions):
        if node.name not in needed:
            first = min([node.lineno, *(decorator.lineno for decorator in node.decorator_list)])
            del lines[first - 1 : node.end_lineno]
    return "".join(lines)


def _needed(name: str, tree: ast.Module, definitions: list[Definition]) -> set[str]:
    """The names that are met on the way from `name`, and from what runs when the module is imported."""
    needed: set[str] = set()
    ahead = {name}.union(*(_names(node) for node in tree.body if not isinstance(node, Definition)))
    while ahead:
        needed |= ahead
        met = (_names(node) for node in definitions if node.name in ahead)
        ahead = set().union(*met) - needed
    return needed


def _names(node: ast.AST) -> set[str]:
    return {inner.id for inner in ast.walk(node) if isinstance(inner, ast.Name)}
