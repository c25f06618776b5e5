"""Say where a result gets another dtype and where an argument is changed, proved by runs of the submission.

Neither needs the reference, so both work with an answer key.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator
from typing import Any

from grader.checks.base import CheckContext
from grader.checks.builtin import keeps_the_dtype, leaves_arguments_unchanged
from grader.checks.runner import CheckResult
from grader.diagnosis.edits.places import EditPlace
from grader.kata import Case
from grader.values.arrays import dtype_name, leaves

LOCATED = (keeps_the_dtype, leaves_arguments_unchanged)
CHANGES = "This line changes in place what the caller has passed."
CAST = "_cast_by_the_grader"  # the function that the instrumented source calls
HELPER = """
def {name}(value):
    if str(getattr(value, "dtype", "")).removeprefix("torch.") != {have!r}:
        return value
    if hasattr(value, "astype"):
        return value.astype({due!r})
    return value.to(getattr(__import__("torch"), {due!r}))
"""


def changing_line(context: CheckContext, case: Case) -> EditPlace | None:
    """Return the first line after which an argument of a call differs. Raises WorkerLost."""
    with context.student.tracing() as traced:
        try:
            context.kata.observed(context.student, case)
        except Exception as error:  # a call has raised, and the kata cannot use its None
            if type(error).__name__ == "WorkerLost":
                raise
    line = next((int(trace["changed"]) for trace in traced.traces if trace.get("changed")), 0)
    return EditPlace(line, None, "an argument", CHANGES) if line else None


def widening_place(
    source: str, context: CheckContext, case: Case, keeps: Callable[[str], bool]
) -> EditPlace | None:
    """Return the expression that brings a wrong dtype into the result.

    `keeps` returns whether a source has the right dtype. The first expressions of the file are cast, as few
    as give the result its dtype: the last of them brings the wrong one.
    """
    expected = leaves(context.expected(case).native)
    pairs = zip(
        map(dtype_name, leaves(context.observe(case).observed)), map(dtype_name, expected), strict=False
    )
    have, due = next(((have, due) for have, due in pairs if have != due), ("", ""))
    found = _Casts(0)
    found.visit(ast.parse(source))
    low, high = 0, len(found.sites)
    if not have or not keeps(_with_casts(source, high, have, due)):
        return None
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if keeps(_with_casts(source, middle, have, due)) else (middle, high)
    site = found.sites[high - 1]
    ends_here = site.end_lineno == site.lineno
    columns = (site.col_offset, site.end_col_offset or 0) if ends_here else None
    return EditPlace(site.lineno, columns, "a dtype", f"This is {have}, and so is the result; {due} is due.")


def unlocated(findings: list[CheckResult]) -> list[CheckResult]:
    """Return the failing checks that these locators do not explain."""
    return [finding for finding in findings if finding.plan.judge not in LOCATED]


def _with_casts(source: str, most: int, have: str, due: str) -> str:
    """Return the source with a cast around its first expressions, `most` in all."""
    tree = _Casts(most).visit(ast.parse(source))
    at = sum(1 for _ in _leading(tree))
    tree.body[at:at] = ast.parse(HELPER.format(name=CAST, have=have, due=due)).body
    return ast.unparse(ast.fix_missing_locations(tree))


def _leading(tree: ast.Module) -> Iterator[ast.stmt]:
    """Yield the docstring and the imports from `__future__`, which stay first."""
    for node in tree.body:
        is_text = isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
        if not is_text and not (isinstance(node, ast.ImportFrom) and node.module == "__future__"):
            return
        yield node


class _Casts(ast.NodeTransformer):
    """Puts a cast around the first expressions that can hold an array, inner ones first."""

    def __init__(self, most: int) -> None:
        self.most = most
        self.sites: list[ast.expr] = []

    def visit(self, node: ast.AST) -> Any:
        if isinstance(node, ast.JoinedStr | ast.arguments | ast.pattern):
            return node
        if isinstance(node, ast.FunctionDef | ast.ClassDef | ast.AsyncFunctionDef):
            node.body = [self.visit(part) for part in node.body]
            return node
        if isinstance(node, ast.AnnAssign):
            node.value = node.value and self.visit(node.value)
            return node
        if isinstance(node, ast.Call):
            return self._cast(self._call(node))
        self.generic_visit(node)
        is_read = isinstance(getattr(node, "ctx", ast.Load()), ast.Load)
        kinds = ast.BinOp | ast.UnaryOp | ast.Name | ast.Attribute | ast.Subscript | ast.IfExp
        return self._cast(node) if is_read and isinstance(node, kinds) else node

    def _call(self, node: ast.Call) -> ast.Call:
        """Visit a call, but not the name of its function."""
        if isinstance(node.func, ast.Attribute):
            node.func.value = self.visit(node.func.value)
        node.args = [self.visit(arg) for arg in node.args]
        for keyword in node.keywords:
            keyword.value = self.visit(keyword.value)
        return node

    def _cast(self, node: ast.expr) -> ast.expr:
        self.sites.append(node)
        if len(self.sites) > self.most:
            return node
        call = ast.Call(ast.Name(CAST, ast.Load()), [node], [])
        return ast.copy_location(call, node)
