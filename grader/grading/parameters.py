"""Name the arguments of a call by the parameters of the student's function, or of the stub's."""

from __future__ import annotations

import ast
from collections.abc import Iterable
from typing import Any

from grader.checks.runner import Failure
from grader.worker.calls import Call
from grader.worker.protocol.codec import Handle

LOADED = "weights"  # the argument of `load_state_dict`
UNNAMED = "value"  # an argument without a parameter
Signatures = dict[str, list[str]]  # the parameters of functions and classes, and of methods as `Class.method`


def signatures_of(source: str) -> Signatures:
    """Return the names of the parameters of every function and class at the top of a source text; none if it
    is not Python, as the file in place of a stub may be."""
    found: Signatures = {}
    try:
        tree = ast.parse(source)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return found
    for node in tree.body:
        if isinstance(node, ast.FunctionDef):
            found[node.name] = _names(node)
        for method in node.body if isinstance(node, ast.ClassDef) else ():
            if isinstance(node, ast.ClassDef) and isinstance(method, ast.FunctionDef):
                found[f"{node.name}.{method.name}"] = _names(method)[1:]
    return found


def with_parameters(message: str, failure: Failure, names: Signatures) -> str:
    """Return the message with the names of parameters in place of `argument 1 of attend`."""
    classes = classes_of(failure.history)
    for call in failure.trace:
        for index, (name, _) in enumerate(named_arguments(call, names, classes)):
            if name != UNNAMED:
                message = message.replace(f"argument {index + 1} of {call.name}", name)
    return message


def classes_of(calls: Iterable[Call]) -> dict[int, str]:
    """Return the name of the class of every object that a call has made."""
    made = ((call, call.value) for call in calls if isinstance(call.value, Handle))
    return {value.id: value.type_name if call.target else call.name for call, value in made}


def named_arguments(call: Call, signatures: Signatures, classes: dict[int, str]) -> list[tuple[str, Any]]:
    """Return the arguments of a call, each with the name of its parameter."""
    key = call.name if call.target is None else f"{classes.get(call.target.id, '')}.{call.name}"
    own = {"__call__": "forward"}.get(call.name, "__init__" if call.target is None else call.name)
    names = signatures.get(key) or signatures.get(f"{key.partition('.')[0]}.{own}", [])
    if call.name == "load_state_dict":
        names = [LOADED]
    unnamed = [UNNAMED] * (len(call.args) - len(names))
    return [*zip([*names, *unnamed], call.args, strict=False), *call.kwargs.items()]


def _names(node: ast.FunctionDef) -> list[str]:
    return [argument.arg for argument in (*node.args.posonlyargs, *node.args.args)]
