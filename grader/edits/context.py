"""The context of a node, on which mutation operators depend, and functions that build new nodes."""

from __future__ import annotations

import ast
import copy
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

#: Names of modules; `np.f(x)` cannot be replaced by `np`, as `x.f()` can by `x`.
MODULES = {"np", "torch", "math", "F", "nn", "numpy", "functional"}
#: Pairs of functions that are confused, in either direction.
PAIRS = """
    sum mean, var std, exp exp2, log log2, cumsum cumprod, min max, amin amax, minimum maximum, argmin argmax,
    any all, sin cos, tril triu, tril_indices triu_indices, zeros ones, zeros_like ones_like, zeros_ ones_,
    floor ceil, isneginf isposinf, softmax log_softmax, relu gelu, ReLU GELU, train eval, AdamW Adam,
    normal_ uniform_, logical_and logical_or, no_grad enable_grad, repeat tile, endswith startswith,
    unsqueeze squeeze, reversed list, add_ sub_
"""
PARTNERS = {one: other for a, b in map(str.split, PAIRS.split(",")) for one, other in ((a, b), (b, a))}
#: Numbers from here on are sizes, which are doubled and halved, since one more makes no difference.
SMALLEST_SIZE = 100
#: Keywords that do not change the result.
IGNORED_KEYWORDS = {"persistent", "strict"}
#: Functions for which the order of the last two arguments does not matter.
SYMMETRIC = {"swapaxes", "transpose", "minimum", "maximum", "min", "max"}
OPERATIONS: dict[type[ast.operator], type[ast.operator]] = {
    **{ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Div, ast.Div: ast.Mult, ast.Pow: ast.Mult},
    **{ast.FloorDiv: ast.Mod, ast.Mod: ast.FloorDiv, ast.BitAnd: ast.BitOr, ast.BitOr: ast.BitAnd},
}
COMPARISONS: dict[type[ast.cmpop], tuple[type[ast.cmpop], ...]] = {
    **{ast.Lt: (ast.LtE, ast.Gt), ast.LtE: (ast.Lt, ast.GtE), ast.Gt: (ast.GtE, ast.Lt)},
    **{ast.GtE: (ast.Gt, ast.LtE), ast.Eq: (ast.NotEq,), ast.NotEq: (ast.Eq,), ast.Is: (ast.IsNot,)},
    **{ast.IsNot: (ast.Is,), ast.In: (ast.NotIn,), ast.NotIn: (ast.In,)},
}


@dataclass(frozen=True)
class Family:
    """Mutation operators of one kind: for the nodes of a type, and for the statements of a body."""

    name: str
    of_nodes: tuple[tuple[type[ast.AST], Callable[..., Iterator[ast.AST]]], ...]
    of_bodies: tuple[Callable[..., Iterator[list[ast.stmt]]], ...] = ()


@dataclass
class ExpressionContext:
    """Facts about the code around a node: names in scope, the enclosing function and class."""

    where: str = ""  # qualified name of the function or method
    names: dict[str, int] = field(
        default_factory=dict
    )  # parameters and locals, with the line that binds them
    keys: list[str] = field(default_factory=list)  # string keys used in subscripts
    members: dict[str, list[str]] = field(
        default_factory=dict
    )  # for each attribute, those made by the same call
    parameters: frozenset[str] = frozenset()  # of the function, without `self`
    takes_powers: bool = False  # the function calls `exp`
    maxima: frozenset[str] = frozenset()  # variables that hold a maximum
    in_module: bool = False  # inside a subclass of `nn.Module`
    is_entry: bool = False  # not called anywhere in the file
    called: frozenset[str] = frozenset()  # functions and classes that the file itself calls

    @property
    def method(self) -> str:
        return self.where.rpartition(".")[2]

    @property
    def runs_in_a_mode(self) -> bool:
        """Whether the code can read `self.training`."""
        return self.in_module and self.method != "__init__"


def inside(node: ast.AST, around: ExpressionContext) -> ExpressionContext:
    """Return the context inside `node`: functions add names and keys, classes add members."""
    if isinstance(node, ast.Module):
        return ExpressionContext(called=_called(node))
    if isinstance(node, ast.ClassDef):
        in_module = any(ast.unparse(base).endswith("Module") for base in node.bases)
        where, entry = _qualified(around.where, node.name), node.name not in around.called
        members = _attributes_by_call(node)
        return ExpressionContext(
            where, members=members, in_module=in_module, is_entry=entry, called=around.called
        )
    return _in_function(node, around) if isinstance(node, ast.FunctionDef) else around


def _in_function(node: ast.FunctionDef, around: ExpressionContext) -> ExpressionContext:
    names = {arg.arg: 0 for arg in node.args.args if arg.arg != "self"}
    parameters = frozenset(names)
    for stored in (n for n in ast.walk(node) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)):
        names.setdefault(stored.id, stored.lineno)
    looked_up = [n.slice for n in ast.walk(node) if isinstance(n, ast.Subscript)]
    keys = [k.value for k in looked_up if isinstance(k, ast.Constant) and isinstance(k.value, str)]
    return ExpressionContext(
        _qualified(around.where, node.name),
        names,
        list(dict.fromkeys(keys)),
        around.members,
        parameters,
        any(name_of(call) == "exp" for call in ast.walk(node) if isinstance(call, ast.Call)),
        _maxima(node),
        around.in_module,
        node.name not in around.called and (around.is_entry or not around.where),
        around.called,
    )


def _qualified(where: str, name: str) -> str:
    return f"{where}.{name}" if where else name


def _called(tree: ast.Module) -> frozenset[str]:
    """Return the functions that the file calls by name, and the methods that it calls on `self`."""
    functions = (node.func for node in ast.walk(tree) if isinstance(node, ast.Call))
    own = (f for f in functions if isinstance(f, ast.Name) or ast.unparse(f).startswith("self."))
    return frozenset(f.id if isinstance(f, ast.Name) else ast.unparse(f)[len("self.") :] for f in own)


def _attributes_by_call(node: ast.ClassDef) -> dict[str, list[str]]:
    """Map each attribute of `self` to those made by the same call, which could replace it."""
    made: dict[str, list[str]] = {}
    for assign in (n for n in ast.walk(node) if isinstance(n, ast.Assign)):
        target, value = assign.targets[0], assign.value
        if isinstance(target, ast.Attribute) and isinstance(value, ast.Call):
            made.setdefault(ast.unparse(value.func), []).append(target.attr)
    return {name: group for group in made.values() for name in group}


def _maxima(node: ast.FunctionDef) -> frozenset[str]:
    """Return the variables that hold a maximum."""
    assigns = (n for n in ast.walk(node) if isinstance(n, ast.Assign) and is_maximum(n.value))
    return frozenset(target.id for n in assigns for target in n.targets if isinstance(target, ast.Name))


def is_maximum(node: ast.AST) -> bool:
    return isinstance(node, ast.Call) and name_of(node) in ("max", "amax")


def name_of(call: ast.Call) -> str:
    """Return the last part of the called name, such as `max` for `x.max()`."""
    return str(getattr(call.func, "attr", getattr(call.func, "id", "")))


def first_argument(call: ast.Call) -> ast.expr | None:
    """Return the first argument by position, or None if there is none, or if it is unpacked: `*sizes`."""
    first = next(iter(call.args), None)
    return None if isinstance(first, ast.Starred) else first


def names_in(*nodes: ast.AST) -> set[str]:
    return {n.id for node in nodes for n in ast.walk(node) if isinstance(n, ast.Name)}


def expression(text: str) -> ast.expr:
    """Parse one expression."""
    return ast.parse(text, mode="eval").body


def expressions(texts: Iterable[str]) -> Iterator[ast.expr]:
    """Parse the texts as expressions; skip those that are no valid expression."""
    for text in texts:
        with suppress(SyntaxError):
            yield expression(text)


def statements(text: str) -> list[ast.stmt]:
    """Parse statements."""
    return ast.parse(text).body


def with_part(node: Any, part: str, value: Any) -> Any:
    """Return a copy of the node with one field changed."""
    return type(node)(**{**dict(ast.iter_fields(node)), part: value})


def each(body: list[ast.stmt]) -> Iterator[tuple[list[ast.stmt], Any, list[ast.stmt]]]:
    """Yield every statement with the statements before it and after it."""
    for index, statement in enumerate(body):
        yield body[:index], statement, body[index + 1 :]


class NodeReplacer(ast.NodeTransformer):
    """Replaces nodes, identified by their source, in a copy of a tree."""

    def __init__(self, others: dict[str, ast.AST]) -> None:
        self._others = others

    def of(self, node: ast.AST) -> ast.AST:
        return ast.fix_missing_locations(self.visit(copy.deepcopy(node)))

    def visit(self, node: ast.AST) -> ast.AST:
        other = self._others.get(ast.unparse(node)) if isinstance(node, ast.expr | ast.stmt) else None
        return copy.deepcopy(other) if other is not None else self.generic_visit(node)
