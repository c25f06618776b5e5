"""Make the draft of a mistake of a wrong answer: the code that its functions reach, without what would run
when it is imported."""

from __future__ import annotations

import ast
import copy

LIBRARIES, MODULES = ("numpy", "torch"), ("nn.Module", "torch.nn.Module", "Module")
DECORATORS = ("staticmethod", "classmethod", "property")


def draft(tree: ast.Module, entry_points: list[str], name: str, todo: str) -> tuple[str, str]:
    """Return what the entry points reach as code, with `name` as a pattern for their names and `todo` as
    their docstring; and what is left out."""
    kept, left = _reached(tree.body, set(entry_points))
    for node in kept:
        if isinstance(node, ast.FunctionDef | ast.ClassDef) and node.name in entry_points:
            node.name = name.format(node.name)
            statements = node.body[ast.get_docstring(node) is not None :]
            node.body = [ast.Expr(ast.Constant(todo)), *statements]
    plain = ast.unparse(ast.fix_missing_locations(ast.Module(kept, [])))
    return plain, "\n".join(["Left out:", *map(ast.unparse, left)]) if left else ""


def _reached(body: list[ast.stmt], names: set[str]) -> tuple[list[ast.stmt], list[ast.stmt]]:
    """Return the harmless definitions and imports that the names reach, and all other statements."""
    harmless = {name: node for node in map(_without_side_effects, body) if node for name in _bound(node)}
    reached, new = set[str](), names & harmless.keys()
    while new:
        reached |= new
        named = {n.id for name in new for n in ast.walk(harmless[name]) if isinstance(n, ast.Name)}
        new = (named & harmless.keys()) - reached
    kept = list(dict.fromkeys(harmless[name] for name in harmless if name in reached))
    taken = {ast.unparse(node) for node in kept}
    return kept, [node for node in body if ast.unparse(node) not in taken and not _is_text(node)]


def _bound(node: ast.stmt) -> list[str]:
    """Return the names that a statement binds."""
    if isinstance(node, ast.FunctionDef | ast.ClassDef):
        return [node.name]
    if isinstance(node, ast.Import | ast.ImportFrom):
        return [(alias.asname or alias.name).partition(".")[0] for alias in node.names]
    return [target.id for target in getattr(node, "targets", []) if isinstance(target, ast.Name)]


def _without_side_effects(node: ast.stmt) -> ast.stmt | None:
    """Return a definition without what would run when it is imported; None for any other statement."""
    if isinstance(node, ast.Import | ast.ImportFrom):
        modules = [node.module or ""] if isinstance(node, ast.ImportFrom) else [a.name for a in node.names]
        is_array_library = all(module.partition(".")[0] in LIBRARIES for module in modules)
        return node if is_array_library and not getattr(node, "level", 0) else None
    if isinstance(node, ast.Assign):
        is_plain = _is_literal(node.value) and all(isinstance(target, ast.Name) for target in node.targets)
        return node if is_plain else None
    node = copy.deepcopy(node)
    if isinstance(node, ast.FunctionDef):
        return _plain_function(node)
    if isinstance(node, ast.ClassDef):
        node.decorator_list, node.keywords = [], []
        node.bases = [base for base in node.bases if ast.unparse(base) in MODULES]
        inner = [one for one in node.body if isinstance(one, ast.FunctionDef | ast.Assign)]
        node.body = [*filter(None, map(_without_side_effects, inner))] or [ast.Pass()]
        return node
    return None


def _plain_function(node: ast.FunctionDef) -> ast.FunctionDef:
    """Return a function without decorators, annotations and defaults that would run something."""
    node.decorator_list = [one for one in node.decorator_list if ast.unparse(one) in DECORATORS]
    node.returns, given = None, node.args
    for argument in [*given.posonlyargs, *given.args, *given.kwonlyargs, given.vararg, given.kwarg]:
        if argument is not None:
            argument.annotation = None
    given.defaults = [one if _is_literal(one) else ast.Constant(None) for one in given.defaults]
    given.kw_defaults = [
        one if one is None or _is_literal(one) else ast.Constant(None) for one in given.kw_defaults
    ]
    return node


def _is_literal(node: ast.expr) -> bool:
    try:
        ast.literal_eval(node)
    except (ValueError, TypeError, MemoryError, RecursionError):
        return False
    return True


def _is_text(node: ast.stmt) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
