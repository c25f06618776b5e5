"""What an operator knows of the place where a node stands, and how it writes a new node."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any


@dataclass
class ExpressionContext:
    """What else is known where a node stands: names that could be mistaken for one another."""

    where: str = ""  # the function or method, with its class
    names: dict[str, int] = field(default_factory=dict)  # parameters and locals, and from which line on
    keys: list[str] = field(default_factory=list)  # texts by which something is looked up
    members: dict[str, list[str]] = field(default_factory=dict)  # attributes made alike
    parameters: frozenset[str] = frozenset()  # of the function, without `self`
    takes_powers: bool = False  # by `exp`
    peaks: frozenset[str] = frozenset()  # names of maxima
    in_module: bool = False  # in a class derived from `nn.Module`
    is_entry: bool = False  # not called from anywhere in the file
    called: frozenset[str] = frozenset()  # functions and classes that the file itself calls

    @property
    def method(self) -> str:
        return self.where.rpartition(".")[2]

    @property
    def runs_in_a_mode(self) -> bool:
        """Whether `self.training` can be asked while something is computed."""
        return self.in_module and self.method != "__init__"


def inside(node: ast.AST, around: ExpressionContext) -> ExpressionContext:
    """What is known inside `node`: a function has names and keys, a class has members."""
    if isinstance(node, ast.Module):
        return ExpressionContext(called=_called(node))
    if isinstance(node, ast.ClassDef):
        in_module = any(ast.unparse(base).endswith("Module") for base in node.bases)
        where, entry = _joined(around.where, node.name), node.name not in around.called
        members = _alike(node)
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
        _joined(around.where, node.name),
        names,
        list(dict.fromkeys(keys)),
        around.members,
        parameters,
        any(name_of(call) == "exp" for call in ast.walk(node) if isinstance(call, ast.Call)),
        _peaks(node),
        around.in_module,
        node.name not in around.called and (around.is_entry or not around.where),
        around.called,
    )


def _joined(where: str, name: str) -> str:
    return f"{where}.{name}" if where else name


def _called(tree: ast.Module) -> frozenset[str]:
    """Functions by their name, methods where they are called on `self`."""
    functions = (node.func for node in ast.walk(tree) if isinstance(node, ast.Call))
    own = (f for f in functions if isinstance(f, ast.Name) or ast.unparse(f).startswith("self."))
    return frozenset(f.id if isinstance(f, ast.Name) else ast.unparse(f)[len("self.") :] for f in own)


def _alike(node: ast.ClassDef) -> dict[str, list[str]]:
    """For each attribute of `self` those that are made by the same call, and so fit in its place."""
    made: dict[str, list[str]] = {}
    for assign in (n for n in ast.walk(node) if isinstance(n, ast.Assign)):
        target, value = assign.targets[0], assign.value
        if isinstance(target, ast.Attribute) and isinstance(value, ast.Call):
            made.setdefault(ast.unparse(value.func), []).append(target.attr)
    return {name: group for group in made.values() for name in group}


def _peaks(node: ast.FunctionDef) -> frozenset[str]:
    """The names of maxima."""
    assigns = (n for n in ast.walk(node) if isinstance(n, ast.Assign) and is_maximum(n.value))
    return frozenset(target.id for n in assigns for target in n.targets if isinstance(target, ast.Name))


def is_maximum(node: ast.AST) -> bool:
    return isinstance(node, ast.Call) and name_of(node) in ("max", "amax")


def name_of(call: ast.Call) -> str:
    """The last part of what is called."""
    return str(getattr(call.func, "attr", getattr(call.func, "id", "")))


def names_in(*nodes: ast.AST) -> set[str]:
    return {n.id for node in nodes for n in ast.walk(node) if isinstance(n, ast.Name)}


def expression(text: str) -> ast.expr:
    """The syntax tree of one expression."""
    return ast.parse(text, mode="eval").body


def statements(text: str) -> list[ast.stmt]:
    """The syntax trees of statements."""
    return ast.parse(text).body


def with_part(node: Any, part: str, value: Any) -> Any:
    """A copy of the node with one part changed."""
    return type(node)(**{**dict(ast.iter_fields(node)), part: value})


def each(body: list[ast.stmt]) -> Iterator[tuple[list[ast.stmt], Any, list[ast.stmt]]]:
    """Every statement, between those before it and those after it."""
    for index, statement in enumerate(body):
        yield body[:index], statement, body[index + 1 :]
