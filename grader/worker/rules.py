"""Rules of a kata: library calls that it asks to build are refused, in the source and while it runs.

A deterrent, not a proof: a determined submission finds a way round. The broken rule is reported
with its line.
"""

from __future__ import annotations

import ast
import functools
import importlib
from typing import Any


class RuleBroken(Exception):
    """The submission calls what it was asked to build."""


def broken_in_source(source: str, forbidden: tuple[str, ...]) -> tuple[str, int] | None:
    """The first forbidden dotted name that the source uses, and its line; aliases are followed."""
    tree = ast.parse(source)
    aliases: dict[str, str] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            aliases.update(
                {
                    a.asname or a.name.split(".")[0]: (a.asname and a.name) or a.name.split(".")[0]
                    for a in node.names
                }
            )
        elif isinstance(node, ast.ImportFrom) and node.module:
            aliases.update({a.asname or a.name: f"{node.module}.{a.name}" for a in node.names})
    uses = [
        (name, node.lineno)
        for node in ast.walk(tree)
        if isinstance(node, ast.Name | ast.Attribute)
        for name in [_dotted(node, aliases)]
        if name in forbidden
    ]
    return min(uses, key=lambda use: use[1], default=None)


def _dotted(node: ast.expr, aliases: dict[str, str]) -> str:
    if isinstance(node, ast.Name):
        return aliases.get(node.id, node.id)
    if isinstance(node, ast.Attribute):
        return f"{_dotted(node.value, aliases)}.{node.attr}"
    return ""


def refuse_while_running(forbidden: tuple[str, ...]) -> None:
    """Replace every forbidden function, where its library is installed, by one that raises."""
    for dotted in forbidden:
        path, _, name = dotted.rpartition(".")
        try:
            owner: Any = importlib.import_module(path)
            original = getattr(owner, name)
        except (ImportError, AttributeError):
            continue
        setattr(owner, name, _refusal(dotted, original))


def _refusal(dotted: str, original: Any) -> Any:
    @functools.wraps(original, updated=())
    def refuse(*_args: Any, **_kwargs: Any) -> Any:
        raise RuleBroken(f"{dotted} is what this kata asks you to build")

    return refuse
