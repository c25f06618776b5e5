"""One answer out of a module of many: what it needs of the module, and nothing else."""

from __future__ import annotations

import ast

Definition = ast.FunctionDef | ast.ClassDef


def excerpt(source: str, name: str) -> str:
    """The source without the functions and classes that `name` does not need."""
    lines = source.splitlines(keepends=True)
    for node in reversed(_unneeded(ast.parse(source), name)):
        first = min([node.lineno, *(decorator.lineno for decorator in node.decorator_list)])
        del lines[first - 1 : node.end_lineno]
    return "".join(lines)


def excerpted(tree: ast.Module, name: str) -> ast.Module:
    """The same of a syntax tree, whose lines keep their numbers."""
    unneeded = _unneeded(tree, name)
    return ast.Module([node for node in tree.body if node not in unneeded], tree.type_ignores)


def _unneeded(tree: ast.Module, name: str) -> list[Definition]:
    definitions = [node for node in tree.body if isinstance(node, Definition)]
    needed = _needed(name, tree, definitions)
    return [node for node in definitions if node.name not in needed]


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
