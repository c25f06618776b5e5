"""Mutation operators for expressions, for limits of size and for numerical stability.

Each operator takes one node and yields nodes that could replace it. They make the mistakes of array code: an
axis, a sign, a transposition, a bound off by one, a keyword left out, the wrong one of two names, a power
that overflows.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator
from typing import Any

from grader.edits.context import (
    COMPARISONS,
    IGNORED_KEYWORDS,
    MODULES,
    OPERATIONS,
    PARTNERS,
    SMALLEST_SIZE,
    SYMMETRIC,
    ExpressionContext,
    Family,
    expression,
    first_argument,
    is_maximum,
    name_of,
    names_in,
    with_part,
)

FAMILY = "expressions"


def expression_mutations(node: ast.AST, around: ExpressionContext) -> Iterator[tuple[str, ast.AST]]:
    """Yield every node that could replace an expression, and the family of its operator."""
    for operator in _operators_of(node):
        family = LIMITS.name if operator in OF_LIMITS else FAMILY
        yield from ((family, other) for other in operator(node, around))


def slips(node: ast.AST, around: ExpressionContext) -> Iterator[ast.AST]:
    """Yield the nodes that differ by a slip, which another slip takes back."""
    for operator in _operators_of(node):
        yield from operator(node, around)


def _operators_of(node: ast.AST) -> Iterator[Callable[[Any, ExpressionContext], Iterator[ast.AST]]]:
    for kind, operators in OPERATORS.items():
        if isinstance(node, kind):
            yield from operators


def _of_operation(node: ast.BinOp, _: ExpressionContext) -> Iterator[ast.AST]:
    yield node.left
    yield node.right
    other = OPERATIONS.get(type(node.op))
    if other:
        yield ast.BinOp(node.left, other(), node.right)
    if not isinstance(node.op, ast.Add | ast.Mult | ast.BitAnd | ast.BitOr):
        yield ast.BinOp(node.right, node.op, node.left)


def _of_sign(node: ast.UnaryOp, _: ExpressionContext) -> Iterator[ast.AST]:
    if not is_negative(node) or node.operand.value == 1:  # type: ignore[attr-defined]
        yield node.operand
    if is_negative(node):
        yield from (_number(1 - node.operand.value), _number(-1 - node.operand.value))  # type: ignore[attr-defined]


def _of_comparison(node: ast.Compare, _: ExpressionContext) -> Iterator[ast.AST]:
    for index, op in enumerate(node.ops):
        for other in COMPARISONS[type(op)]:
            yield ast.Compare(
                node.left, [*node.ops[:index], other(), *node.ops[index + 1 :]], node.comparators
            )
    if len(node.ops) > 1:
        yield ast.Compare(node.left, node.ops[:-1], node.comparators[:-1])
        yield ast.Compare(node.comparators[0], node.ops[1:], node.comparators[1:])


def _of_condition(node: ast.BoolOp, _: ExpressionContext) -> Iterator[ast.AST]:
    yield ast.BoolOp(ast.Or() if isinstance(node.op, ast.And) else ast.And(), node.values)
    if len(node.values) == 2:
        yield from node.values


def _of_choice(node: ast.IfExp, _: ExpressionContext) -> Iterator[ast.AST]:
    yield node.body
    yield node.orelse


def _of_constant(node: ast.Constant, _: ExpressionContext) -> Iterator[ast.AST]:
    value = node.value
    if isinstance(value, bool):
        yield ast.Constant(not value)
    elif isinstance(value, int):
        near = (value + 1, value - 1) if value < SMALLEST_SIZE else (value * 2, value // 2)
        yield from map(_number, near)
    elif isinstance(value, float):
        yield from (ast.Constant(value * 2 or 1.0), ast.Constant(0.0 if value else -1.0))
    elif value == "-inf":
        yield from (ast.Constant("inf"), ast.Constant("0"), ast.Constant("-1"))


def _of_look_up(node: ast.Subscript, around: ExpressionContext) -> Iterator[ast.AST]:
    if isinstance(node.ctx, ast.Load):
        yield node.value
    if isinstance(node.slice, ast.Constant) and node.slice.value in around.keys:
        for other in _neighbours(around.keys, node.slice.value):
            yield ast.Subscript(node.value, ast.Constant(other), node.ctx)


def _of_slice(node: ast.Slice, _: ExpressionContext) -> Iterator[ast.AST]:
    for part in ("lower", "upper", "step"):
        bound = getattr(node, part)
        if bound is None or (isinstance(bound, ast.Constant) and (part, bound.value) == ("lower", 0)):
            continue
        yield with_part(node, part, None)
        if not isinstance(bound, ast.Constant) and not is_negative(bound):
            yield from (with_part(node, part, shifted) for shifted in _off_by_one(bound))


def _of_call(node: ast.Call, _: ExpressionContext) -> Iterator[ast.AST]:
    for i, keyword in enumerate(node.keywords):
        if keyword.arg not in IGNORED_KEYWORDS:
            yield with_part(node, "keywords", node.keywords[:i] + node.keywords[i + 1 :])
    name = getattr(node.func, "attr", getattr(node.func, "id", ""))
    swapped = list(_swaps(node.args))
    yield from (with_part(node, "args", args) for args in (swapped[:-1] if name in SYMMETRIC else swapped))
    if len(node.args) > 1:
        yield with_part(node, "args", node.args[:-1])
    yield from (arg for arg in node.args if not isinstance(arg, ast.Starred | ast.GeneratorExp))
    if isinstance(node.func, ast.Attribute) and not _is_module(node.func.value):
        yield node.func.value
    if name in PARTNERS:
        part = "attr" if isinstance(node.func, ast.Attribute) else "id"
        yield with_part(node, "func", with_part(node.func, part, PARTNERS[name]))


def _of_range(node: ast.Call, _: ExpressionContext) -> Iterator[ast.AST]:
    if name_of(node) not in ("range", "arange"):
        return
    for index, arg in enumerate(node.args):
        if not isinstance(arg, ast.Constant):
            for shifted in _off_by_one(arg):
                yield with_part(node, "args", [*node.args[:index], shifted, *node.args[index + 1 :]])


def _of_attribute(node: ast.Attribute, around: ExpressionContext) -> Iterator[ast.AST]:
    if node.attr in ("T", "mT", "data"):
        yield node.value
    if isinstance(node.ctx, ast.Load) and isinstance(node.value, ast.Name) and node.value.id == "self":
        for other in _neighbours(around.members.get(node.attr, []), node.attr):
            yield with_part(node, "attr", other)


def _of_name(node: ast.Name, around: ExpressionContext) -> Iterator[ast.AST]:
    if isinstance(node.ctx, ast.Load):
        bound = [name for name, line in around.names.items() if line < node.lineno]
        yield from (ast.Name(other, node.ctx) for other in _neighbours(bound, node.id))


def _of_sequence(node: ast.Tuple | ast.List, _: ExpressionContext) -> Iterator[ast.AST]:
    if all(isinstance(item, ast.Constant) and isinstance(item.value, str) for item in node.elts):
        return  # a collection of names, whose order does not matter
    if all(isinstance(item, ast.Attribute) for item in node.elts) and isinstance(node.ctx, ast.Store):
        return  # attributes that are unpacked, whose order does not matter
    yield from (with_part(node, "elts", swapped) for swapped in _swaps(node.elts))
    if isinstance(node.ctx, ast.Load) and len(node.elts) > 1:
        yield from (with_part(node, "elts", node.elts[:i] + node.elts[i + 1 :]) for i in _indices(node.elts))


def _of_dict(node: ast.Dict, _: ExpressionContext) -> Iterator[ast.AST]:
    yield from (with_part(node, "values", swapped) for swapped in _swaps(node.values))


def _of_loop(node: ast.comprehension, _: ExpressionContext) -> Iterator[ast.AST]:
    yield from (with_part(node, "ifs", node.ifs[:i] + node.ifs[i + 1 :]) for i in _indices(node.ifs))


OPERATORS: dict[Any, tuple[Callable[[Any, ExpressionContext], Iterator[ast.AST]], ...]] = {
    ast.BinOp: (_of_operation,),
    ast.UnaryOp: (_of_sign,),
    ast.Compare: (_of_comparison,),
    ast.BoolOp: (_of_condition,),
    ast.IfExp: (_of_choice,),
    ast.Constant: (_of_constant,),
    ast.Subscript: (_of_look_up,),
    ast.Slice: (_of_slice,),
    ast.Call: (_of_call, _of_range),
    ast.Attribute: (_of_attribute,),
    ast.Name: (_of_name,),
    ast.Tuple | ast.List: (_of_sequence,),
    ast.Dict: (_of_dict,),
    ast.comprehension: (_of_loop,),
}
#: The operators for a limit of size.
OF_LIMITS = (_of_comparison, _of_slice, _of_range)


def is_negative(node: ast.AST) -> bool:
    """Return whether the node is a negative integer literal, which is mutated as one constant."""
    return (
        isinstance(node, ast.UnaryOp)
        and isinstance(node.op, ast.USub)
        and isinstance(node.operand, ast.Constant)
        and type(node.operand.value) is int
    )


def _is_module(node: ast.AST) -> bool:
    return (
        node.id in MODULES
        if isinstance(node, ast.Name)
        else (isinstance(node, ast.Attribute) and _is_module(node.value))
    )


def _number(value: int) -> ast.expr:
    return ast.Constant(value) if value >= 0 else ast.UnaryOp(ast.USub(), ast.Constant(-value))


def _off_by_one(node: Any) -> Iterator[ast.BinOp]:
    yield ast.BinOp(node, ast.Add(), ast.Constant(1))
    yield ast.BinOp(node, ast.Sub(), ast.Constant(1))


def _indices(items: list[Any]) -> range:
    return range(len(items))


def _swaps(items: list[Any]) -> Iterator[list[Any]]:
    """Yield the list with two adjacent items swapped, for each pair."""
    for index in range(len(items) - 1):
        yield [*items[:index], items[index + 1], items[index], *items[index + 2 :]]


def _neighbours(names: list[str], name: str) -> list[str]:
    """Return the names beside `name` in the list, which are most easily confused with it."""
    if name not in names:
        return []
    index = names.index(name)
    return list(dict.fromkeys(other for other in names[max(index - 1, 0) : index + 2] if other != name))


#: A comparison with a bound, and the step of the bound that `<` in place of `<=` does not give.
STEPS: dict[type[ast.cmpop], type[ast.operator]] = {
    **{ast.Gt: ast.Add, ast.LtE: ast.Add, ast.GtE: ast.Sub, ast.Lt: ast.Sub}
}


def moved_by_one(node: ast.Compare, _: ExpressionContext) -> Iterator[ast.AST]:
    """Move the bound of a comparison by one, such as the length from which a check raises."""
    step, bound = STEPS.get(type(node.ops[0])), node.comparators[0]
    if step and len(node.ops) == 1 and not isinstance(bound, ast.Constant):
        yield with_part(node, "comparators", [ast.BinOp(bound, step(), ast.Constant(1))])


def range_without_its_first(node: ast.Call, _: ExpressionContext) -> Iterator[ast.AST]:
    """Leave the first number of a range out."""
    if name_of(node) in ("range", "arange") and len(node.args) == 1:
        yield with_part(node, "args", [ast.Constant(1), *node.args])


def positions_from_one(node: ast.Call, _: ExpressionContext) -> Iterator[ast.AST]:
    """Count positions from one."""
    if name_of(node) == "arange" and len(node.args) == 1:
        yield with_part(node, "args", [ast.Constant(1), ast.BinOp(node.args[0], ast.Add(), ast.Constant(1))])


def loop_from_one(node: ast.For | ast.comprehension, _: ExpressionContext) -> Iterator[ast.AST]:
    """Count the steps of a loop from one."""
    call = node.iter
    if not (isinstance(call, ast.Call) and ast.unparse(call.func) == "range" and first_argument(call)):
        return
    if ast.unparse(node.target) != "_":
        *first, end = call.args[:2]
        shifted = [first[0] if first else ast.Constant(0), end]
        added = [ast.BinOp(bound, ast.Add(), ast.Constant(1)) for bound in shifted]
        yield with_part(node, "iter", with_part(call, "args", [*added, *call.args[2:]]))


LIMITS = Family(
    "limits",
    (
        (ast.Compare, moved_by_one),
        (ast.Call, range_without_its_first),
        (ast.Call, positions_from_one),
        (ast.For, loop_from_one),
        (ast.comprehension, loop_from_one),
    ),
)


BOUNDS = "-50, 50"
LARGE = "-10000.0"
#: Spellings of minus infinity.
INFINITIES = {"-np.inf", "-math.inf", "-torch.inf", "float('-inf')"}


def maximum_of_a_softmax(node: ast.Call, around: ExpressionContext) -> Iterator[ast.AST]:
    """Replace the maximum in a softmax by that of the whole array, or by the mean."""
    if not is_maximum(node) or not around.takes_powers:
        return
    if ast.unparse(getattr(node.func, "value", node.func)) == "np" and first_argument(node) is None:
        return  # the array has a name, or is unpacked
    scores, along = _scores_and_axis(node)
    yield expression(f"{ast.unparse(scores)}.max()")
    yield expression(f"{ast.unparse(scores)}.mean({along})")


def no_maximum(node: ast.Assign, around: ExpressionContext) -> Iterator[ast.AST]:
    """Replace the maximum of a softmax by 0."""
    if around.takes_powers and is_maximum(node.value):
        yield with_part(node, "value", ast.Constant(0))


def clipped_scores(node: ast.BinOp, around: ExpressionContext) -> Iterator[ast.AST]:
    """Clip the scores instead of subtracting their maximum."""
    if isinstance(node.op, ast.Sub) and (is_maximum(node.right) or names_in(node.right) & around.maxima):
        yield expression(f"({ast.unparse(node.left)}).clip({BOUNDS})")


def plain_softmax(node: ast.Call, _: ExpressionContext) -> Iterator[ast.AST]:
    """Replace a softmax by one that clips its scores, or by one without a maximum."""
    if name_of(node) == "softmax" and isinstance(node.func, ast.Attribute) and node.keywords:
        scores = f"({ast.unparse(node.func.value)})"
        yield expression(f"{scores}.clip({BOUNDS}).softmax(dim=-1)")
        yield expression(f"{scores}.exp() / {scores}.exp().sum(dim=-1, keepdim=True)")


def large_for_infinite(node: ast.expr, _: ExpressionContext) -> Iterator[ast.AST]:
    """Replace minus infinity, or the minimum of a dtype, by a large negative number."""
    text = ast.unparse(node)
    if text in INFINITIES or (text.startswith("np.finfo(") and text.endswith(".min")):
        yield expression(LARGE)


def multiplied_probabilities(node: ast.BinOp, _: ExpressionContext) -> Iterator[ast.AST]:
    """Replace a sum of logarithms by the logarithm of a product."""
    left, right = ast.unparse(node.left), ast.unparse(node.right)
    if isinstance(node.op, ast.Sub) and left.startswith("log_"):
        yield expression(f"-np.log(np.exp({right}) / np.exp({left}))")
    elif isinstance(node.op, ast.Add) and isinstance(node.left, ast.Name) and node.left.id == "total":
        yield expression(f"(torch.tensor({left}).exp() * torch.tensor({right}).exp()).log().item()")


EXTREMES = Family(
    "extremes",
    (
        (ast.Call, maximum_of_a_softmax),
        (ast.Assign, no_maximum),
        (ast.BinOp, clipped_scores),
        (ast.Call, plain_softmax),
        (ast.Call, large_for_infinite),
        (ast.UnaryOp, large_for_infinite),
        (ast.Attribute, large_for_infinite),
        (ast.BinOp, multiplied_probabilities),
    ),
)


def _scores_and_axis(node: ast.Call) -> tuple[ast.expr, str]:
    """Return the array of a maximum and its axis arguments as source."""
    kept = [keyword for keyword in node.keywords if keyword.arg not in ("where", "initial")]
    receiver = node.func.value if isinstance(node.func, ast.Attribute) else node.func
    if ast.unparse(receiver) == "np":
        return node.args[0], ", ".join(map(ast.unparse, kept))
    return receiver, ", ".join(map(ast.unparse, [*node.args, *kept]))
