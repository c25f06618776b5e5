"""Draft the mistakes of an imported kata: a function for each wrong version that no test catches."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Mapping

from grader.authoring.audit.record import MutantFate

HEAD = '"""What goes wrong: drafts of mistakes, which no test of the homework catches."""'
DOCSTRING = (
    "TODO: say what goes wrong, and ask what would be right. Line {line}: `{now}`, where `{was}` is right."
)


def draft_mistakes(survivors: Iterable[MutantFate], sources: Mapping[str, str]) -> str:
    """Return a `mistakes.py` with the survivors that are in functions of a module, "" if there are none.

    Each is a public function with the signature of the right one; what it calls is there by a private name.
    """
    parts: dict[str, None] = {}
    mistakes, taken = [], set()
    for one in survivors:
        tree = ast.parse(one.source)
        functions = [node for node in tree.body if isinstance(node, ast.FunctionDef | ast.ClassDef)]
        wrong = next((node for node in functions if node.name == one.where), None)
        if not isinstance(wrong, ast.FunctionDef):
            continue
        private = _Private({node.name for node in functions})
        right = ast.parse(sources[one.file])
        support = [node for node in right.body if not _is_docstring(node)]
        parts |= dict.fromkeys(ast.unparse(private.visit(node)) for node in support)
        base = f"{one.where}_line_{one.line}"
        name = next(n for i in range(1, 99) if (n := base if i == 1 else f"{base}_{i}") not in taken)
        taken.add(name)
        wrong = private.visit(wrong)
        wrong.name = name
        said = DOCSTRING.format(line=one.line, was=_in_one_line(one.was), now=_in_one_line(one.now))
        body = wrong.body[1:] if _is_docstring(wrong.body[0]) else wrong.body
        wrong.body = [ast.Expr(ast.Constant(said)), *body]
        mistakes.append(ast.unparse(ast.fix_missing_locations(wrong)))
    return "\n\n\n".join([HEAD, *parts, *mistakes]) + "\n" if mistakes else ""


class _Private(ast.NodeTransformer):
    """Puts an underscore before the names of some functions and classes."""

    def __init__(self, names: set[str]) -> None:
        self.names = names

    def visit_Name(self, node: ast.Name) -> ast.AST:
        return ast.Name(f"_{node.id}", node.ctx) if node.id in self.names else node

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        self.generic_visit(node)
        node.name = f"_{node.name}" if node.name in self.names else node.name
        return node

    def visit_ClassDef(self, node: ast.ClassDef) -> ast.AST:
        self.generic_visit(node)
        node.name = f"_{node.name}" if node.name in self.names else node.name
        return node


def _is_docstring(node: ast.stmt) -> bool:
    return (
        isinstance(node, ast.Expr)
        and isinstance(node.value, ast.Constant)
        and isinstance(node.value.value, str)
    )


def _in_one_line(text: str) -> str:
    return "; ".join(line.strip() for line in text.splitlines())
