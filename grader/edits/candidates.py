"""The candidates of a search: the edits of a submission in the order in which they are tried.

An edit gives a source. It has a place in it, and a kind, which a short noun phrase says.

On which lines of a source the values of other lines depend.
"""

from __future__ import annotations

import ast
import textwrap
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from heapq import heapify, heappop, heapreplace
from typing import Any

from grader.edits.additions import Additions, in_reading_order
from grader.edits.context import name_of, names_in
from grader.edits.walk import Edit, Spot, slips_at, spots


@dataclass(frozen=True)
class _Step:
    """The lines of a statement without its body, and the names that it reads and binds.

    A variable is written `f:x` with its function, a member `self.x`, what a function returns `return f`, its
    header `def f`, its calls `call f`, and a condition `test 3` with its line.
    """

    lines: range
    reads: set[str]
    binds: set[str]


def distances(tree: ast.Module, lines: Collection[int]) -> dict[int, int]:
    """Return the lines on which some lines depend, with the number of statements on the way: 0 for the lines
    themselves. A variable depends on all statements of its function that bind it, a call on what the function
    returns, a parameter on all calls, and a statement on the condition around it."""
    left = list(_steps(tree, "", set()))
    near = [step for step in left if not set(lines).isdisjoint(step.lines)]
    found: dict[int, int] = {}
    distance = 0
    while near:
        for line in (line for step in near for line in step.lines):
            found.setdefault(line, distance)
        left = [step for step in left if step not in near]
        read = set().union(*(step.reads for step in near))
        near = [step for step in left if not read.isdisjoint(step.binds)]
        distance += 1
    return found


def _steps(node: ast.AST, where: str, tests: set[str]) -> Iterator[_Step]:
    """Yield the statements inside a node. `where` is the function, `tests` what decides whether they run."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.FunctionDef):
            parameters = {f"{child.name}:{arg.arg}" for arg in child.args.args}
            first = min([child.lineno, *(one.lineno for one in child.decorator_list)])
            header = f"def {child.name}"
            yield _Step(range(first, child.lineno + 1), {f"call {child.name}"}, {*parameters, header})
            yield from _steps(child, child.name, {header})
        elif isinstance(child, ast.stmt) and not isinstance(child, ast.ClassDef):
            inner = {f"test {child.lineno}"} if hasattr(child, "body") else set[str]()
            yield _step(child, where, tests, inner)
            yield from _steps(child, where, inner or tests)
        else:
            yield from _steps(child, where, tests)


def _step(node: ast.stmt, where: str, tests: set[str], inner: set[str]) -> _Step:
    parts = [part for part in ast.iter_child_nodes(node) if not isinstance(part, ast.stmt)]
    nodes = [one for part in parts for one in ast.walk(part)]
    own = [n for n in nodes if isinstance(n, ast.Attribute) and getattr(n.value, "id", "") == "self"]
    called = {name for n in nodes if isinstance(n, ast.Call) for name in _called(n)}
    reads = {f"{where}:{n.id}" for n in nodes if isinstance(n, ast.Name)} | {f"self.{n.attr}" for n in own}
    bound = {id(n) for target in _targets(node) for n in ast.walk(target)}
    binds = {f"{where}:{n.id}" for n in nodes if isinstance(n, ast.Name) and id(n) in bound}
    binds |= {f"self.{n.attr}" for n in own if id(n) in bound}
    binds |= {f"call {name}" for name in called} | inner
    binds |= {f"return {where}"} if isinstance(node, ast.Return) else set()
    last = max((getattr(part, "end_lineno", 0) for part in parts), default=node.lineno)
    lines = range(node.lineno, max(last, node.lineno) + 1)
    return _Step(lines, reads | tests | {f"return {name}" for name in called}, binds)


def _targets(node: ast.stmt) -> list[ast.AST]:
    """Return what a statement binds or changes; a call that stands alone may change all that it reads."""
    if isinstance(node, ast.Assign):
        return [*node.targets]
    if isinstance(node, ast.AugAssign | ast.AnnAssign | ast.For):
        return [node.target]
    return [node] if isinstance(node, ast.Expr) else []


def _called(node: ast.Call) -> set[str]:
    """Return the functions that a call may run; a call of a member may run its `forward`."""
    if isinstance(node.func, ast.Attribute):
        return {node.func.attr, "forward"} if ast.unparse(node.func).startswith("self.") else {node.func.attr}
    return {node.func.id} if isinstance(node.func, ast.Name) else set()


UNREAD_STEP = 0.2  # of the cost of an edit that uses a name which is bound and never read; of others 1
NOT_RUN = 40  # how many candidates go before the edits of a line that does not run in the failing call
FAR = 20  # how many go before those of a line on which the lines that raised do not depend
STEP = 4  # how many go before those of a line on which they depend, for each statement on the way


@dataclass(frozen=True)
class CallTrace:
    """The lines that ran in a failing call, those that raised exceptions in one, the name that was unbound if
    this was the reason, and the keys of the dictionaries among the arguments."""

    lines: frozenset[int] = frozenset()
    raised: frozenset[int] = frozenset()
    unbound: str = ""
    keys: tuple[str, ...] = ()


class Sources:
    """The sources of a tree's edits. The file is written once, and only the statement of an edit anew."""

    def __init__(self, tree: ast.Module) -> None:
        self.tree, self.plain = tree, ast.unparse(tree)
        self._lines = self.plain.splitlines()
        self._statement_of: dict[int, tuple[ast.stmt, ast.stmt]] = {}  # in the tree, and as it is written
        for own, written in zip(_statements(tree), _statements(ast.parse(self.plain)), strict=True):
            is_elif = self._lines[written.lineno - 1].lstrip().startswith("elif ")
            if not isinstance(own, ast.FunctionDef | ast.ClassDef) and not is_elif:
                self._statement_of |= {id(node): (own, written) for node in ast.walk(own)}

    def of(self, edit: Edit) -> str:
        """Return the source of the file with an edit."""
        if id(edit.owner) not in self._statement_of:
            return edit.source(self.tree)
        own, written = self._statement_of[id(edit.owner)]
        changed = textwrap.indent(edit.source(own), " " * written.col_offset)
        end = written.end_lineno or written.lineno
        return "\n".join([*self._lines[: written.lineno - 1], changed, *self._lines[end:]])


def _statements(tree: ast.Module) -> list[ast.stmt]:
    """Return the statements of a tree, the outer ones first."""
    return [node for node in ast.walk(tree) if isinstance(node, ast.stmt)]


def _delay(line: int, trace: CallTrace, distance: dict[int, int]) -> int:
    """Return how many candidates go before an edit of this line: more where a mistake is less likely."""
    if trace.lines and line not in trace.lines:
        return NOT_RUN
    return min(STEP * distance.get(line, FAR), FAR) if distance else 0


def ranked(tree: ast.Module, library: str, trace: CallTrace) -> Iterator[Edit]:
    """Yield the edits, one of each place in turn; places that the trace makes less likely come later."""
    additions = Additions(tree, library, trace.lines, trace.keys, trace.unbound, raises=bool(trace.raised))
    distance = distances(tree, trace.raised)
    queue: list[tuple[float, int, Iterator[Any], Spot, float]] = []
    for spot in spots(tree):
        line = getattr(spot.node, "lineno", getattr(spot.owner, "lineno", 0))
        start, is_body = _delay(line, trace, distance), isinstance(spot.node, list)
        if trace.unbound and not is_body and trace.unbound not in names_in(spot.node):
            continue
        kinds = [
            (0.0, 1.0, slips_at(spot)),
            (0.5, UNREAD_STEP, additions.with_unread_names(spot)),
            (0.5, UNREAD_STEP, additions.of_statements(spot)),
            (1.0, 1.0, additions.at(spot)),
        ]
        is_more = not is_body and not isinstance(spot.node, ast.Name)  # additions would keep the unbound name
        for delay, step, others in kinds[:1] if trace.unbound and is_more else kinds:
            queue.append((start + delay, len(queue), others, spot, step))
    heapify(queue)
    while queue:
        cost, number, others, spot, step = queue[0]
        try:
            other: Any = next(others)
            edit = spot.edit(other)
            heapreplace(queue, (cost + step, number, others, spot, step))
        except StopIteration:
            heappop(queue)
            continue
        if not trace.unbound or isinstance(spot.node, list) or trace.unbound not in names_in(other):
            yield edit


AXES = {"axis", "dim", "axes", "dims", "dim0", "dim1"}
KEPT_AXES = {"keepdims", "keepdim"}
ALONG_AXES = {
    *("sum", "mean", "max", "min", "amax", "amin", "argmax", "argmin", "var", "std", "softmax", "cumsum"),
    *("log_softmax", "logsumexp", "swapaxes", "transpose", "permute", "squeeze", "unsqueeze", "flatten"),
}
#: Functions that change the order of axes, the dtype or the object, by the kind of an edit with one of them.
TURNS = "a transpose", {"T", "mT", "swapaxes", "transpose", "permute", "moveaxis", "t"}
CASTS = "a cast", {"astype", "to", "float", "double", "int", "long", "type_as", "bool", "dtype"}
COPIES = "a copy", {"copy", "clone", "contiguous", "detach", "array", "deepcopy"}
MASKS = "a mask", {"masked_fill", "where", "tril", "triu"}
MAXIMA = "a maximum", {"max", "amax"}
OPERATIONS: dict[type[ast.operator], str] = {
    **{ast.Add: "a term", ast.Sub: "a term", ast.Mult: "a factor", ast.Div: "a factor", ast.Pow: "a power"},
    **{ast.MatMult: "a matrix product", ast.BitAnd: "a condition", ast.BitOr: "a condition"},
}


@dataclass(frozen=True)
class EditPlace:
    """Where an edit stands: a line from 1, and the columns of an expression in bytes, None if it has more
    lines; and the kind of the edit. `fact` says what a run has shown there, if the place is no edit's."""

    line: int
    columns: tuple[int, int] | None
    kind: str
    fact: str = ""

    def overlaps(self, other: EditPlace) -> bool:
        """Return whether both are one place: expressions of one line that share characters."""
        if bool(self.fact) != bool(other.fact):
            return False
        if self.line != other.line or not self.columns or not other.columns:
            return self.line == other.line
        return self.columns[0] < other.columns[1] and other.columns[0] < self.columns[1]


@dataclass(frozen=True)
class _Change:
    """The smallest part of an edit: what is replaced, by what, in which field of which node, and the node
    around that has a position."""

    old: Any
    new: Any
    owner: ast.AST
    part: str
    around: ast.AST
    within: tuple[str, ...]  # fields and keywords on the way


def place_of_edit(edit: Edit) -> EditPlace:
    """Return where an edit stands, and its kind."""
    within = edit.part, str(getattr(edit.owner, "arg", ""))
    change = _narrowed(_Change(edit.old, edit.new, edit.owner, edit.part, edit.owner, within))
    node: Any = change.around
    if isinstance(change.old, list) and change.part in ("body", "orelse"):
        pairs = zip(change.old, [*change.new, None], strict=False)
        node = next((old for old, new in pairs if old is not new), [change.owner, *change.old][-1])
    elif hasattr(change.old, "lineno"):
        node = change.old
    line = getattr(node, "lineno", 1)
    ends_here = getattr(node, "end_lineno", None) == line
    columns = (node.col_offset, node.end_col_offset) if ends_here else None
    return EditPlace(line, columns, _kind(change))


def _narrowed(change: _Change) -> _Change:
    """Return the smallest part of the nodes that differs."""
    old, new = change.old, change.new
    around = old if hasattr(old, "lineno") else change.around
    if isinstance(old, list) and isinstance(new, list) and len(old) == len(new):
        pairs = [(a, b) for a, b in zip(old, new, strict=True) if a is not b]
        if len(pairs) == 1:
            return _narrowed(_Change(*pairs[0], change.owner, change.part, change.around, change.within))
    elif isinstance(old, ast.AST) and type(old) is type(new):
        parts = [name for name in old._fields if not _same(getattr(old, name), getattr(new, name, None))]
        if len(parts) == 1 and not isinstance(old, ast.Constant | ast.Name):
            part = parts[0]
            within = (*change.within, part, str(getattr(old, "arg", "")))
            return _narrowed(_Change(getattr(old, part), getattr(new, part, None), old, part, around, within))
    return _Change(old, new, change.owner, change.part, around, change.within)


def _same(old: Any, new: Any) -> bool:
    if isinstance(old, list) and isinstance(new, list):
        return len(old) == len(new) and all(map(_same, old, new))
    return old is new or isinstance(old, ast.expr_context) or (not isinstance(old, ast.AST) and old == new)


def _kind(change: _Change) -> str:
    old, new = change.old, change.new
    if isinstance(old, list) and isinstance(new, list):
        return _kind_of_lists(old, new, change.part)
    if isinstance(old, ast.operator):
        return "a sign" if isinstance(old, ast.Add | ast.Sub) else OPERATIONS.get(type(old), "an operator")
    if isinstance(old, ast.cmpop) or ast.Compare in (type(old), type(new)):
        return "a comparison"
    if KEPT_AXES & set(change.within):
        return "whether an axis is kept"
    if AXES & set(change.within) or _is_positional_axis(change):
        return "an axis"
    if change.part == "exc":
        return "an exception"
    if isinstance(old, ast.Slice) or change.part in ("lower", "upper", "step"):
        return "a bound"
    return _kind_of_nodes(old, new) or _kind_by_position(change)


def _is_positional_axis(change: _Change) -> bool:
    """Return whether the change replaces a number among the arguments of a function along an axis."""
    is_number = isinstance(change.old, ast.Constant | ast.UnaryOp)
    return is_number and isinstance(change.owner, ast.Call) and name_of(change.owner) in ALONG_AXES


def _kind_of_lists(old: list[Any], new: list[Any], part: str) -> str:
    is_order = sorted(map(id, old)) == sorted(map(id, new))
    if part in ("body", "orelse"):
        longer = "a step too many" if len(new) < len(old) else "a statement"
        added = [node for node in new if all(node is not other for other in old)]
        if len(new) > len(old) and any(isinstance(node, ast.Return) for node in added):
            return "a missing `return`"
        return "a statement's place" if is_order else "a missing step" if len(new) > len(old) else longer
    if part == "keywords":
        names = {k.arg for k in old} ^ {k.arg for k in new}
        if names & KEPT_AXES:
            return "whether an axis is kept"
        return "an axis" if names & AXES else "a keyword argument"
    if part == "args":
        return "the order of two arguments" if is_order else "an argument"
    return "the order of two items" if is_order else "an item"


def _kind_of_nodes(old: Any, new: Any) -> str:
    """Return the kind of an edit that wraps a node or takes it out, or that replaces a name."""
    pairs = ((new, old), (old, new))
    if isinstance(new, ast.Try):  # what runs only where it can
        return "a condition"
    for outer, inner in pairs:
        if isinstance(outer, ast.BinOp) and inner in (outer.left, outer.right):
            other = outer.left if inner is outer.right else outer.right
            is_maximum = isinstance(other, ast.Call) and name_of(other) in MAXIMA[1]
            return MAXIMA[0] if is_maximum else OPERATIONS.get(type(outer.op), "an operator")
        if isinstance(outer, ast.UnaryOp) and outer.operand is inner:
            return "a sign" if isinstance(outer.op, ast.USub) else "a negation"
        if isinstance(outer, ast.BoolOp | ast.IfExp):
            return "a condition"
    if _is_bracketed_otherwise(old, new):
        return "where brackets stand"
    if isinstance(old, ast.BinOp) and isinstance(new, ast.BinOp) and old.left is new.right:
        return "the order of two operands"
    if isinstance(old, ast.Name) and isinstance(new, ast.Name):
        return "the name that is used"
    for outer, inner in pairs:
        if isinstance(outer, ast.Call | ast.Attribute) and not _is_inside(outer, inner):
            name = outer.attr if isinstance(outer, ast.Attribute) else name_of(outer)
            for kind, names in (TURNS, CASTS, COPIES, MASKS):
                if name in names:
                    return kind
    return ""


def _is_inside(node: ast.AST, other: Any) -> bool:
    """Return whether another node holds one, which an edit then keeps; or a name, which holds nothing."""
    same = ast.dump(node)
    return not isinstance(other, ast.AST) or any(ast.dump(one) == same for one in ast.walk(other))


def _is_bracketed_otherwise(old: Any, new: Any) -> bool:
    if not (isinstance(old, ast.BinOp) and isinstance(new, ast.BinOp)):
        return False
    parts, others = in_reading_order(old), in_reading_order(new)
    return [*map(id, parts)] == [*map(id, others)]


def _kind_by_position(change: _Change) -> str:
    old, new = change.old, change.new
    if ast.Subscript in (type(old), type(new)) or change.part == "slice":
        return "an index"
    if isinstance(old, ast.List | ast.Tuple):
        return "an item"
    if ast.Call in (type(old), type(new)):
        return "a call"
    if isinstance(old, str) and change.part in ("attr", "id"):
        return "the name that is used"
    if isinstance(old, ast.Constant) and isinstance(old.value, bool):
        return "a flag"
    if isinstance(old, ast.Constant | ast.UnaryOp):
        return "a number"
    return "an expression"
