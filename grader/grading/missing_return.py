"""Say once that a function returns None in each call: a `return` is missing."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from grader.checks.runner import CheckResult, Failure
from grader.grading.report_builder import place_of
from grader.report import CheckReport, Place
from grader.worker.calls import Call
from grader.worker.protocol.codec import Handle

LONGEST_CODE = 40  # characters that a message shows of an expression
Named = tuple[str, ast.FunctionDef]


@dataclass(frozen=True)
class MissingReturn:
    """A function that returns None in each call, what its report says, and the line that it speaks of."""

    name: str
    text: str
    place: Place | None


def missing_return(results: Sequence[CheckResult], source: str) -> MissingReturn | None:
    """Return the function that is why no answer agrees with the reference: it returns None in each call,
    where something else is due. None if there is no such function."""
    agreement = results[0]
    if not agreement.failures or len(agreement.failures) < len(agreement.asked):
        return None
    tree = ast.parse(source)
    found = [_function_of(failure, tree) for failure in agreement.failures]
    if found[0] is None or any(one is None or one[1] is not found[0][1] for one in found):
        return None
    name, function = found[0]
    said, node = _what_is_lost(function)
    columns = (node.col_offset, node.end_col_offset or 0) if node.lineno == node.end_lineno else None
    return MissingReturn(name, f"`{name}` returns None: {said}", place_of(source, node.lineno, columns))


def reported_once(checks: list[CheckReport], missing: MissingReturn) -> list[CheckReport]:
    """Return the checks with this one finding for all failures: the first says it, the others refer to it."""
    texts = iter([missing.text])
    short = f"`{missing.name}` returns None: see the first check that fails."
    return [
        check
        if check.status in ("passed", "skipped")
        else _as_finding(check, next(texts, short), short, missing.place)
        for check in checks
    ]


def _as_finding(check: CheckReport, text: str, short: str, place: Place | None) -> CheckReport:
    found = replace(check, status="failed", message=text, expected=None, got=None, difference=None)
    found = replace(found, mistake=None, pictures=(), place=place)
    return replace(found, call=None, counterexample=None, snippet="", printed="") if text == short else found


def _function_of(failure: Failure, tree: ast.Module) -> Named | None:
    """Return the function that returned None in each call of a failing case, where that is what differs."""
    if failure.status != "failed" or failure.line is not None:
        return None
    calls = [call for call in failure.trace if not call.helping]
    difference = failure.difference
    if difference is None:
        calls = calls[-1:] if calls and calls[-1].value is None else []
    elif difference.kind != "type" or difference.got != "None":
        return None
    named = ((call, _definition(call, failure.trace, tree)) for call in reversed(calls))
    last = next(((c, found) for c, found in named if found and c.value is None and not c.error), None)
    if last is None:
        return None
    alike = [call for call in failure.trace if call.name == last[0].name and call.target == last[0].target]
    return last[1] if all(call.value is None and not call.error for call in alike) else None


def _definition(call: Call, trace: Sequence[Call], tree: ast.Module) -> Named | None:
    """Return the function that a call runs, and how a report names it; None if the source does not say."""
    if call.target is None:
        return next(((f.name, f) for f in _functions(tree) if f.name == call.name), None)
    makers = [c.name for c in trace if isinstance(c.value, Handle) and c.value.id == call.target.id]
    kinds = {node.name: node for node in tree.body if isinstance(node, ast.ClassDef)}
    kind, seen = kinds.get(next(iter(makers), "")), set[str]()
    while kind is not None and kind.name not in seen:
        seen.add(kind.name)
        names = ("__call__", "forward") if call.name == "__call__" else (call.name,)
        for function in _functions(kind):
            if function.name in names:
                return f"{makers[0]}.{function.name}", function
        kind = next(
            (kinds[base.id] for base in kind.bases if isinstance(base, ast.Name) and base.id in kinds), None
        )
    return None


def _functions(node: ast.Module | ast.ClassDef) -> list[ast.FunctionDef]:
    return [inner for inner in node.body if isinstance(inner, ast.FunctionDef)][::-1]


def _what_is_lost(function: ast.FunctionDef) -> tuple[str, ast.stmt]:
    """Return in words what becomes of the last value that a function computes, and the statement."""
    statements = sorted(_statements(function), key=lambda node: node.lineno)
    last = function.body[-1]
    if isinstance(last, ast.Return) and last.value is not None and not _is_constant(last.value):
        return f"line {last.lineno} returns {_code(last.value)}, which is None.", last
    returns = [node.value for node in statements if isinstance(node, ast.Return) and node.value is not None]
    lost = "no `return` is reached" if not all(map(_is_constant, returns)) else "nothing is returned"
    computed = [node for node in statements if _is_computed(node)]
    if not computed:
        return f"{lost}." if returns else "its body computes nothing.", function
    return f"line {computed[-1].lineno} computes {_code(_computed(computed[-1]))}, {lost}.", computed[-1]


def _statements(node: ast.AST) -> Iterator[ast.stmt]:
    """Yield the statements of a function without those of functions and classes inside it."""
    for inner in ast.iter_child_nodes(node):
        if not isinstance(inner, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef | ast.Lambda):
            if isinstance(inner, ast.stmt):
                yield inner
            yield from _statements(inner)


def _is_computed(node: ast.stmt) -> bool:
    if isinstance(node, ast.Expr):
        shows = isinstance(node.value, ast.Call) and ast.unparse(node.value.func) == "print"
        return not isinstance(node.value, ast.Constant) and not shows
    return isinstance(node, ast.Assign | ast.AugAssign) or (
        isinstance(node, ast.AnnAssign) and bool(node.value)
    )


def _computed(node: ast.stmt) -> ast.expr:
    """Return the expression that says what a statement computes: the variable, if it has one."""
    if isinstance(node, ast.Assign):
        return node.targets[0]
    return node.target if isinstance(node, ast.AugAssign | ast.AnnAssign) else node.value  # type: ignore[attr-defined]  # `_is_computed` admits no other kind


def _is_constant(node: ast.expr | None) -> bool:
    return isinstance(node, ast.Constant) and node.value is None


def _code(node: ast.expr) -> str:
    text = ast.unparse(node)
    return f"`{text}`" if len(text) <= LONGEST_CODE else f"`{text[:LONGEST_CODE]}…`"
