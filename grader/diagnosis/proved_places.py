"""Say where a result gets another dtype, where an argument is changed and where a call keeps something for
later ones, proved by runs of the submission.

None of them needs the reference, so they work with an answer key.
"""

from __future__ import annotations

import ast
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from grader.answer_keys.answers import Case
from grader.checks.context import Check, CheckContext
from grader.checks.runner import judge_case
from grader.diagnosis.recording import with_helper
from grader.edits.candidates import EditPlace
from grader.edits.context import name_of
from grader.values.arrays import dtype_name, float_dtype, leaves
from grader.worker.protocol.messages import CallFunction, Outcome, Request
from grader.worker.student import Student

CHANGES = "This line changes in place what the caller has passed."
MOST_ALONE = 4  # variables that are put back one by one
NAMING = ("id", "arg", "attr", "name")  # fields of a syntax tree that hold names
CAST = "_cast_by_the_grader"  # the function that the instrumented source calls
HELPER = """
def {name}(value):
    if str(getattr(value, "dtype", "")).removeprefix("torch.") != {have!r}:
        return value
    if hasattr(value, "astype"):
        return value.astype({expected!r})
    return value.to(getattr(__import__("torch"), {expected!r}))
"""
#: What a line has changed for later calls, by the kind of the variable.
KEPT = {
    "global": "This line changes the global `{name}`, and later calls depend on it.",
    "default": "This line changes the default value of `{name}`, which all calls share.",
    "attribute": "This line changes the attribute `{name}`, and later calls depend on it.",
    "closure": "This line changes the variable `{name}` of an outer function, and later calls depend on it.",
    "results": "This keeps the results of `{name}`, and a later call gets one that is not its own.",
    "random": "This line draws random numbers, so that the next call draws others.",
    "gradients": "This line switches gradients on or off, and leaves them so for the caller.",
    "dtype": "This line changes PyTorch's default dtype, and later calls depend on it.",
}
NAMELESS = "This line changes a value that outlives the call, and later calls depend on it."
Label = tuple[str, str]  # the kind of a variable, and its name


class Traced(Student):
    """A submission whose calls are traced, on the CPU; see `Outcome.trace`. One that raises returns None."""

    def __init__(self, student: Student) -> None:
        super().__init__()
        self._student, self.lines = student, set[int]()
        self.changed = 0  # the first line after which an argument of a call differs
        self.kept: dict[Label, int] = {}  # such lines of variables that outlive a call

    def perform(self, request: Request) -> Outcome:
        if isinstance(request, CallFunction):
            measure = request.options.measure if request.options.measure in ("flops", "tensors") else ""
            request.options = replace(request.options, trace=True, measure=measure)
        outcome = self._student.perform(request)
        if trace := outcome.trace:
            self.lines |= set(trace["lines"])
            self.changed = self.changed or trace["changed"]
            for kind, name, line in trace["kept"]:
                self.kept[kind, name] = self.kept.get((kind, name)) or line
        return outcome


class Undone(Student):
    """A submission, each of whose calls puts back what it has changed of some variables."""

    def __init__(self, student: Student, labels: list[Label]) -> None:
        super().__init__()
        self._student, self._labels = student, labels

    def perform(self, request: Request) -> Outcome:
        if isinstance(request, CallFunction):
            request.options = replace(request.options, undo=tuple(self._labels))
        return self._student.perform(request)


def traced(context: CheckContext, check: Check, case: Case) -> Traced:
    """Judge a case and return what its calls have run and changed. Raises CheckAborted."""
    student = Traced(context.student)
    judge_case(check, context, case, student)
    return student


def keeping(kept: dict[Label, int], passes: Callable[[list[Label]], bool]) -> list[Label]:
    """Return the variable whose change makes the checks fail, or all of them if none is enough alone.

    `passes` returns whether the checks pass if each call puts back some variables.
    """
    alone = [[label] for label in list(kept)[:MOST_ALONE]]
    together = [list(kept)] if len(kept) > 1 else []
    return next(filter(passes, [*alone, *together]), [])


def keeping_places(source: str, kept: dict[Label, int]) -> list[EditPlace]:
    """Return the lines that change variables for later calls, with the names that the source has."""
    words = {getattr(node, part, None) for node in ast.walk(ast.parse(source)) for part in NAMING}
    facts: dict[int, str] = {}
    for (kind, name), line in kept.items():
        fact = KEPT.get(name if kind == "mode" else kind, NAMELESS)
        is_own = name in words or "{name}" not in fact  # a worker can send any name
        facts[line] = fact.format(name=name) if is_own else NAMELESS
    return [EditPlace(line, None, "state", fact) for line, fact in facts.items() if line]


def changing_line(context: CheckContext, check: Check, case: Case) -> EditPlace | None:
    """Return the first line after which an argument of a call differs. Raises CheckAborted."""
    line = traced(context, check, case).changed
    return EditPlace(line, None, "an argument", CHANGES) if line else None


def widening_place(
    source: str, context: CheckContext, case: Case, keeps: Callable[[str], bool]
) -> EditPlace | None:
    """Return the expression that brings a wrong dtype into the result.

    `keeps` returns whether a source has the right dtype. The first expressions are cast in the order in which
    they run, as few as give the result its dtype: the last of them brings the wrong one.
    """
    expected = leaves(context.expected(case).native)
    pairs = zip(
        map(dtype_name, leaves(context.observe(case).observed)), map(dtype_name, expected), strict=False
    )
    have, wanted = next(((have, wanted) for have, wanted in pairs if have != wanted), ("", ""))
    found = _Casts(0)
    found.visit(ast.parse(source))
    low, high = 0, len(found.sites)
    if not have or not keeps(_with_casts(source, high, have, wanted)):
        return None
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if keeps(_with_casts(source, middle, have, wanted)) else (middle, high)
    site = found.sites[high - 1]
    ends_here = site.end_lineno == site.lineno
    columns = (site.col_offset, site.end_col_offset or 0) if ends_here else None
    given = float_dtype(case.arguments)
    this = f"For {given} arguments this" if given == wanted else "This"
    fact = f"{this} is {have}, and so is the result, which should be {wanted}."
    return EditPlace(site.lineno, columns, "a dtype", fact)


def _with_casts(source: str, most: int, have: str, expected: str) -> str:
    """Return the source with a cast around its first expressions, `most` in all."""
    tree = _Casts(most).visit(ast.parse(source))
    return with_helper(tree, HELPER.format(name=CAST, have=have, expected=expected))


class _Casts(ast.NodeTransformer):
    """Puts a cast around the first expressions that can hold an array, inner ones first. A function or a
    method comes where it is first called, as the numbers go."""

    def __init__(self, most: int) -> None:
        self.most = most
        self.sites: list[ast.expr] = []
        self._later: dict[str, ast.FunctionDef] = {}  # functions that others call, until they come

    def visit_Module(self, tree: ast.Module) -> ast.Module:
        inside = [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)]
        calls = [(one, node) for one in inside for node in ast.walk(one) if isinstance(node, ast.Call)]
        called = {name for one, call in calls if (name := _called(call)) != one.name}
        self._later = {node.name: node for node in inside if node.name in called}
        tree.body = [self.visit(node) for node in tree.body]
        while self._later:  # what calls only each other
            self._visit_function(next(iter(self._later)))
        return tree

    def _visit_function(self, name: str) -> None:
        if node := self._later.pop(name, None):
            self.visit(node)

    def visit(self, node: ast.AST) -> Any:
        if isinstance(node, ast.Module):
            return self.visit_Module(node)
        if isinstance(node, ast.JoinedStr | ast.arguments | ast.pattern):
            return node
        if isinstance(node, ast.FunctionDef) and self._later.get(node.name) is node:
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
        called = _called(node)
        if isinstance(node.func, ast.Attribute):
            node.func.value = self.visit(node.func.value)
        node.args = [self.visit(arg) for arg in node.args]
        for keyword in node.keywords:
            keyword.value = self.visit(keyword.value)
        self._visit_function(called)
        return node

    def _cast(self, node: ast.expr) -> ast.expr:
        self.sites.append(node)
        if len(self.sites) > self.most:
            return node
        call = ast.Call(ast.Name(CAST, ast.Load()), [node], [])
        return ast.copy_location(call, node)


def _called(node: ast.Call) -> str:
    """Return the name of the function or of the object's own method that is called; "" for others."""
    is_own = isinstance(node.func, ast.Attribute) and ast.unparse(node.func.value) == "self"
    return name_of(node) if is_own or isinstance(node.func, ast.Name) else ""
