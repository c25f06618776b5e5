"""Load the mistakes and variants of a kata; each replaces one or more entry points of the reference.

Their files may import the reference: `from reference import heap as _heap`.
"""

from __future__ import annotations

import ast
import inspect
import sys
import types
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from grader.course.catalog import Course, KataInfo, load_file
from grader.course.loading import parse, read
from grader.kata import KataError


def public_names(module: types.ModuleType) -> list[str]:
    """Return the names of the functions and classes that a module defines itself, in their order."""
    found = [
        (name, value)
        for name, value in vars(module).items()
        if not name.startswith("_") and getattr(value, "__module__", None) == module.__name__
    ]
    return [name for name, value in found if callable(value)]


def replaced_by(answer: Any, reference: Any, entry_points: tuple[str, ...]) -> dict[str, Any]:
    """Return the entry points that an answer replaces, with what replaces them. A class replaces those that
    it has as members, a function the one with the same parameters. Raises KataError if this is ambiguous."""
    if inspect.isclass(answer):
        members = {name: getattr(answer, name) for name in entry_points if name in vars(answer)}
        if members:
            return members
        classes = [name for name in entry_points if inspect.isclass(getattr(reference, name))]
        return {classes[0]: answer} if classes else {}
    same = [
        name
        for name in entry_points
        if list(inspect.signature(getattr(reference, name)).parameters)
        == list(inspect.signature(answer).parameters)
    ]
    if len(same) != 1:
        raise KataError(
            f"`{answer.__name__}` has the parameters of no single entry point ({', '.join(entry_points)});"
            " give it those of the one that it stands in for."
        )
    return {same[0]: answer}


@contextmanager
def importable(reference: types.ModuleType) -> Iterator[None]:
    """Let the code in the block import the kata's reference under the name `reference`."""
    before = sys.modules.get("reference")
    sys.modules["reference"] = reference
    try:
        yield
    finally:
        del sys.modules["reference"]
        if before is not None:
            sys.modules["reference"] = before


#: How far from right a mistake is. A file of mistakes lists the first and the last in CRUDE and SUBTLE.
LEVELS = ("crude", "ordinary", "subtle")


Definition = ast.FunctionDef | ast.ClassDef
OTHER_WAY = "Another way: "  # begins the docstring of a variant that students read about after a pass


def other_way(course: Course, info: KataInfo) -> str:
    """Return the first line of the first variant's docstring that is written for students; "" if none is."""
    path = course.solution(info, "variants")
    nodes = parse(path).body if path.is_file() else []
    docstrings = [ast.get_docstring(node) or "" for node in nodes if isinstance(node, Definition)]
    return next((text.splitlines()[0] for text in docstrings if text.startswith(OTHER_WAY)), "")


class Answers:
    """All public answers in the file `mistakes` or `variants` of one kata."""

    def __init__(self, course: Course, info: KataInfo, part: str) -> None:
        self.info, self.file = info, course.solution(info, part)
        self.reference = load_file(f"dojo_reference_{info.name}", course.solution(info, "reference"))
        self._part = f"dojo_{part}_{info.name}"
        with importable(self.reference):
            self._first = load_file(self._part, self.file)
        self.source = read(self.file)
        self.tree = ast.parse(self.source)  # it could be loaded, so it has no syntax error
        self._codes: dict[str, types.CodeType] = {}

    @property
    def names(self) -> list[str]:
        """The answers' names in the order of the file."""
        return public_names(self._first)

    def answer(self, name: str) -> Any:
        """Return an answer as the file defines it."""
        return getattr(self._first, name)

    def text(self, name: str) -> str:
        """Return an answer's docstring as one paragraph."""
        return " ".join((getattr(self._first, name).__doc__ or "").split())

    def level(self, name: str) -> str:
        """Return how far from right a mistake is, one of LEVELS."""
        lists = {level: getattr(self._first, level.upper(), ()) for level in ("crude", "subtle")}
        return next((level for level, names in lists.items() if name in names), "ordinary")

    def fresh(self, name: str) -> types.SimpleNamespace:
        """Return an answer as a new module with all entry points, without state from earlier calls."""
        answer = getattr(self._module(name), name)
        entries = {entry: getattr(self.reference, entry) for entry in self.info.entry_points}
        replaced = replaced_by(answer, self.reference, self.info.entry_points)
        return types.SimpleNamespace(**{**entries, **replaced}, __name__=self.info.name)

    def excerpt(self, name: str) -> ast.Module:
        """Return the part of the file that the answer needs."""
        return excerpted(self.tree, name)

    def _module(self, name: str) -> types.ModuleType:
        """Execute the part of the file that the answer needs; the file may contain sixty other answers."""
        if name not in self._codes:
            self._codes[name] = compile(excerpted(self.tree, name), str(self.file), "exec", dont_inherit=True)
        module = types.ModuleType(self._part)
        module.__file__ = str(self.file)
        sys.modules[self._part] = module
        with importable(self.reference):
            exec(self._codes[name], vars(module))
        return module


def excerpt(source: str, name: str) -> str:
    """Return the source without the functions and classes that `name` does not need."""
    return _without(source, _unneeded(ast.parse(source), name))


def _without(source: str, nodes: list[Definition]) -> str:
    lines = source.splitlines(keepends=True)
    for node in reversed(nodes):
        first = min([node.lineno, *(decorator.lineno for decorator in node.decorator_list)])
        del lines[first - 1 : node.end_lineno]
    return "".join(lines)


def excerpted(tree: ast.Module, name: str) -> ast.Module:
    """Return a syntax tree without the definitions that `name` does not need; line numbers stay."""
    unneeded = _unneeded(tree, name)
    return ast.Module([node for node in tree.body if node not in unneeded], tree.type_ignores)


def _unneeded(tree: ast.Module, name: str) -> list[Definition]:
    definitions = [node for node in tree.body if isinstance(node, Definition)]
    needed = _needed(name, tree, definitions)
    return [node for node in definitions if node.name not in needed]


def _needed(name: str, tree: ast.Module, definitions: list[Definition]) -> set[str]:
    """Return every name that `name`, or code that runs at import, refers to directly or indirectly."""
    needed: set[str] = set()
    pending = {name}.union(*(_names(node) for node in tree.body if not isinstance(node, Definition)))
    while pending:
        needed |= pending
        used = (_names(node) for node in definitions if node.name in pending)
        pending = set().union(*used) - needed
    return needed


def _names(node: ast.AST) -> set[str]:
    return {inner.id for inner in ast.walk(node) if isinstance(inner, ast.Name)}


STANDALONE = '''\
"""{name}, made from the course's solutions."""
import sys, types

def _load(name, source):
    module = types.ModuleType(name)
    sys.modules[name] = module
    exec(compile(source, name + ".py", "exec"), module.__dict__)
    return module

_reference = sys.modules["reference"] = _load("answer_reference", {reference!r})
_answers = _load("answer_{part}", {answers!r})
{bindings}
'''


class _StandaloneSources(Mapping[str, str]):
    """The sources by the names of the answers; each is made on request."""

    def __init__(self, course: Course, info: KataInfo, part: str) -> None:
        self._answers, self._info, self._part = Answers(course, info, part), info, part
        self._reference = read(course.solution(info, "reference"))
        self._names = self._answers.names

    def __getitem__(self, name: str) -> str:
        if name not in self._names:
            raise KeyError(name)
        entry_points, answer = self._info.entry_points, self._answers.answer(name)
        return STANDALONE.format(
            name=name,
            part=self._part,
            reference=self._reference,
            answers=_without(self._answers.source, _unneeded(self._answers.tree, name)),
            bindings=_bindings(answer, name, self._answers.reference, entry_points)
            + "\nSTUDENT = None" * bool(self._info.questions),  # questions are then judged on all rows
        )

    def __iter__(self) -> Iterator[str]:
        return iter(self._names)

    def __len__(self) -> int:
        return len(self._names)


def standalone_sources(course: Course, info: KataInfo, part: str) -> Mapping[str, str]:
    """Return, for each answer in `mistakes` or `variants`, the source of a file with all entry points."""
    return _StandaloneSources(course, info, part)


def _bindings(answer: object, name: str, reference: object, entry_points: tuple[str, ...]) -> str:
    replaced = replaced_by(answer, reference, entry_points)
    lines = []
    for entry in entry_points:
        if entry not in replaced:
            lines.append(f"{entry} = _reference.{entry}")
        elif replaced[entry] is answer:
            lines.append(f"{entry} = _answers.{name}")
        else:
            lines.append(f"{entry} = _answers.{name}.{entry}")
    return "\n".join(lines)
