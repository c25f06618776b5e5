"""Parse the signatures of a new kata, such as `moving_average(x, weights, eps=1e-6)` or `Queue.append(x)`.

A text in place of an annotation names the axes of an array: `moving_average(x: 'rows columns', eps=1e-6)`.
It may begin with what the array holds: `mask: 'bool rows columns'`.
"""

from __future__ import annotations

import ast
import re
from dataclasses import dataclass, field, replace
from typing import Literal

from grader.course.catalog import CourseError

Kind = Literal["array", "integers", "mask", "int", "float", "bool", "str", "list", "rng", "other"]
PARAMETER_KINDS: dict[str, Kind] = {"int": "int", "float": "float", "bool": "bool", "str": "str"}
ARRAYS: dict[str, Kind] = {"int": "integers", "float": "array", "bool": "mask"}
LIST = re.compile(r"list\[(int|float|bool|str)\]")
ANY_ARRAY = re.compile(r"ndarray|Tensor|Array")
COUNTS = re.compile(r"^(n|num|d|max)_|_(len|id|size)$")  # not `k`, which usually means keys
FRACTIONS = ("p", "eps", "temperature", "base", "theta")
RNGS = ("rng", "generator")
TAKEN = ("student", "expect", "np", "st", "torch", "nn")  # names that a declaration uses


@dataclass(frozen=True)
class Parameter:
    """One argument: its name, its default as source, the kind of value that is drawn for it, and the names of
    an array's axes if they were given."""

    name: str
    default: str | None
    kind: Kind
    annotation: str | None
    axes: tuple[str, ...] = ()

    @property
    def declared(self) -> str:
        return self.name if self.default is None else f"{self.name}={self.default}"


@dataclass(frozen=True)
class Callee:
    """A function, or one method of a class. `result` is its return annotation as source."""

    name: str
    parameters: tuple[Parameter, ...]
    result: str = ""

    @property
    def declared(self) -> str:
        return ", ".join(parameter.declared for parameter in self.parameters)

    @property
    def passed(self) -> str:
        return ", ".join(parameter.name for parameter in self.parameters)

    @property
    def axes(self) -> tuple[str, ...]:
        """The axes of the result, if a text in place of its annotation names them."""
        return _axes(self.result.strip("'\""))[1] if self.result[:1] in ("'", '"') else ()

    @property
    def returns_floats(self) -> bool:
        """False if the result is known to hold truth values or integers, by its annotation or by its name."""
        said = _axes(self.result.strip("'\""))[0] if self.axes else PARAMETER_KINDS.get(self.result)
        named = "mask" if self.name.startswith(("is_", "has_")) else _kind_of_array(self.name)
        return (said or named or "array") == "array"


@dataclass
class EntryPoint:
    """A function, or a class with its constructor and its methods."""

    callee: Callee
    is_class: bool = False
    methods: list[Callee] = field(default_factory=list)

    @property
    def name(self) -> str:
        return self.callee.name

    @property
    def callees(self) -> list[Callee]:
        """The function, or the constructor and the methods."""
        return [self.callee, *self.methods]


def read_signatures(texts: tuple[str, ...]) -> list[EntryPoint]:
    """Return the entry points in the given order. Raises CourseError for a wrong or repeated signature."""
    found: dict[str, EntryPoint] = {}
    for text in texts:
        owner, callee = _read(text)
        if owner is not None:
            holder = found.setdefault(owner, EntryPoint(Callee(owner, ()), is_class=True))
            holder.methods.append(callee)
        elif callee.name in found:
            raise CourseError(f"`{callee.name}` is given twice; each entry point has one signature.")
        else:
            found[callee.name] = EntryPoint(callee, callee.name[0].isupper())
    lacking = next((e.name for e in found.values() if e.is_class and not e.methods), None)
    if lacking is not None:
        raise CourseError(f"`{lacking}` is a class; give a method too: --signature '{lacking}.forward(x)'.")
    callees = [callee for entry in found.values() for callee in entry.callees]
    axes = {axis for callee in callees for p in callee.parameters for axis in p.axes}
    for entry in found.values():
        entry.callee = _with_sizes(entry.callee, axes)
        entry.methods = [_with_sizes(method, axes) for method in entry.methods]
    return list(found.values())


def _with_sizes(callee: Callee, axes: set[str]) -> Callee:
    """Return a callee whose arguments that are called as an axis, and of which no more is said, are sizes."""
    parameters = tuple(
        replace(p, kind="int") if p.name in axes and p.kind == "array" and p.annotation is None else p
        for p in callee.parameters
    )
    return replace(callee, parameters=parameters)


def read_questions(texts: tuple[str, ...]) -> list[EntryPoint]:
    """Return the questions of a page: the constant that answers each, and the numbers that it is about, as
    in `CAUSAL_PAIRS(tokens)`. Raises CourseError for another name, or if there are no numbers."""
    found: dict[str, EntryPoint] = {}
    for text in texts:
        owner, callee = _read(text)
        if owner is not None or not callee.name.isupper() or callee.name in ("STUDENT", "ROW"):
            raise CourseError(
                f"`{text}` is no question; write the constant that answers it, in capitals, and the numbers"
                " that it is about: --signature 'CAUSAL_PAIRS(tokens)'."
            )
        if callee.name in found:
            raise CourseError(f"`{callee.name}` is given twice; each question has one signature.")
        found[callee.name] = EntryPoint(callee)
    if all(p.name == "row" for entry in found.values() for p in entry.callee.parameters):
        raise CourseError("The questions are about no numbers; name one: --signature 'CAUSAL_PAIRS(tokens)'.")
    return list(found.values())


def _read(text: str) -> tuple[str | None, Callee]:
    """Return the class of a method signature or None, and the function. Raises CourseError."""
    match = re.fullmatch(r"\s*(?:([A-Za-z]\w*)\.)?([A-Za-z]\w*)\s*(\(.*\)(?:\s*->.*)?)\s*", text, re.DOTALL)
    try:
        if match is None:
            raise SyntaxError
        source = f"def {match[2]}{match[3]}: ..."
        node = ast.parse(source).body[0]
    except SyntaxError:
        raise CourseError(
            f"`{text}` is no signature; write it as in Python: --signature 'moving_average(x, eps=1e-6)'."
        ) from None
    assert isinstance(node, ast.FunctionDef)
    result = ast.unparse(node.returns) if node.returns else ""
    return match[1], Callee(match[2], _parameters(node, source, text), result)


def _parameters(node: ast.FunctionDef, source: str, text: str) -> tuple[Parameter, ...]:
    found = node.args
    if found.vararg or found.kwarg or found.kwonlyargs or found.posonlyargs:
        raise CourseError(f"`{text}`: a kata's arguments are passed by name; leave out *, ** and /.")
    arguments = [argument for argument in found.args if argument.arg != "self"]
    _require_free_names([argument.arg for argument in arguments], text)
    is_sampler = any(argument.arg in RNGS for argument in arguments)
    given = [
        ast.get_source_segment(source, default) for default in found.defaults
    ]  # as typed: 1e-6, not 1e-06
    defaults = [None] * (len(found.args) - len(given)) + given
    return tuple(
        _parameter(argument, default, is_sampler=is_sampler)
        for argument, default in zip(arguments, defaults[len(defaults) - len(arguments) :], strict=True)
    )


def _require_free_names(names: list[str], text: str) -> None:
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        raise CourseError(f"`{text}` has two arguments called `{twice}`; rename one of them.")
    taken = next((name for name in names if name in TAKEN), None)
    if taken is not None:
        raise CourseError(f"`{text}`: a declaration uses the name `{taken}` itself; rename the argument.")


def _parameter(argument: ast.arg, default: str | None, *, is_sampler: bool) -> Parameter:
    name, annotation = argument.arg, argument.annotation
    said = ast.unparse(annotation) if annotation else None
    if isinstance(annotation, ast.Constant) and isinstance(annotation.value, str):
        said = annotation.value.strip()
        kind, axes = _axes(said)
        if said not in PARAMETER_KINDS:
            return Parameter(name, default, kind or _kind_of_array(name) or "array", None, axes)
    counts = is_sampler and name == "k" and not said  # elsewhere `k` usually means keys
    return Parameter(name, default, "int" if counts else _kind(name, default, said), said)


def _axes(text: str) -> tuple[Kind | None, tuple[str, ...]]:
    """Return what an array holds, if a text such as `bool rows columns` says so, and its axes."""
    words = tuple(text.split())
    return (ARRAYS[words[0]], words[1:]) if words[:1] and words[0] in ARRAYS else (None, words)


def _kind_of_array(name: str) -> Kind | None:
    """Return what an array holds by the convention for its name, or None."""
    if name == "ids" or name.endswith("_ids"):
        return "integers"
    return "mask" if name == "mask" or name.endswith("_mask") else None


def _kind(name: str, default: str | None, annotation: str | None) -> Kind:
    """Infer the kind of an argument from its annotation, its default, or the conventions for its name."""
    if annotation in PARAMETER_KINDS:
        return PARAMETER_KINDS[annotation]
    if annotation and LIST.fullmatch(annotation):
        return "list"
    if default is not None:
        return (
            PARAMETER_KINDS.get(type(ast.literal_eval(default)).__name__, "other")
            if _is_literal(default)
            else "other"
        )
    if name in RNGS:
        return "rng"
    if annotation:
        return (_kind_of_array(name) or "array") if ANY_ARRAY.search(annotation) else "other"
    if COUNTS.search(name):
        return "int"
    return _kind_of_array(name) or ("float" if name in FRACTIONS else "array")


def _is_literal(source: str) -> bool:
    try:
        ast.literal_eval(source)
    except ValueError:
        return False
    return True
