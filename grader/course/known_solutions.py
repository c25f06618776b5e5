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

from grader.course import general_mistakes
from grader.course.catalog import Course, KataInfo, load_file
from grader.course.general_mistakes import GENERAL
from grader.course.loading import read
from grader.kata import Kata, KataError
from grader.mistakes import LEVELS, level_of


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


Definition = ast.FunctionDef | ast.ClassDef
OTHER_WAY = "Another way: "  # begins the docstring of a variant that students read about after a pass


def other_way(course: Course, info: KataInfo) -> str:
    """Return the first line of the first variant's docstring that is written for students; "" if none is."""
    path = course.solution(info, "variants")
    return next((title for title, _ in other_ways(read(path) if path.is_file() else "")), "")


def other_ways(variants: str) -> Iterator[tuple[str, str]]:
    """Yield the variants that are written for students, from the source of them all: the first line of the
    docstring, and the code that the variant needs."""
    for node in ast.parse(variants).body:
        text = ast.get_docstring(node) or "" if isinstance(node, Definition) else ""
        if text.startswith(OTHER_WAY) and isinstance(node, Definition):
            yield text.splitlines()[0], excerpt(variants, node.name)


class Answers:
    """All public answers in the file `mistakes` or `variants` of one kata, and the general mistakes, of which
    one with the name of an answer in the file gives way to it."""

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

    def general(self, kata: Kata) -> list[str]:
        """Return the names of the general mistakes that can show in the kata."""
        entries = [getattr(self.reference, entry) for entry in self.info.entry_points]
        return [
            name
            for name, mistake in GENERAL.items()
            if name not in self.names and not kata.questions and mistake.when(kata)
            if any(mistake.in_place_of(entry) is not entry for entry in entries)
        ]

    def _definition(self, name: str) -> Any:
        return self.answer(name) if name in self.names else GENERAL[name].answer

    def text(self, name: str) -> str:
        """Return an answer's docstring as one paragraph."""
        return " ".join((self._definition(name).__doc__ or "").split())

    def level(self, name: str) -> str:
        """Return how far from right a mistake is; the general ones are subtle."""
        return level_of(self._definition(name)) if name in self.names else "subtle"

    def fresh(self, name: str) -> types.SimpleNamespace:
        """Return an answer as a new module with all entry points, without state from earlier calls."""
        entries = {entry: getattr(self.reference, entry) for entry in self.info.entry_points}
        if name in self.names:
            answer = getattr(self._module(name), name)
            replaced = replaced_by(answer, self.reference, self.info.entry_points)
        else:
            replaced = {entry: GENERAL[name].in_place_of(right) for entry, right in entries.items()}
        return types.SimpleNamespace(**{**entries, **replaced}, __name__=self.info.name)

    def code(self, name: str) -> str:
        """Return what the outcome of an answer rests on: the code that it needs, without comments and level.
        A general mistake has no code of the kata's."""
        if name not in self.names:
            return name
        return ast.dump(ast.parse(_excerpt(self.source, self.tree, name)))

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
    """Return the source without the functions and classes that `name` does not need, and without the level:
    a worker cannot import the grader."""
    return _excerpt(source, ast.parse(source), name)


def _excerpt(source: str, tree: ast.Module, name: str) -> str:
    lines = source.splitlines(keepends=True)
    left_out: list[ast.stmt | ast.expr] = [*_unneeded(tree, name), *_of_levels(tree)]
    for node in left_out:
        first = min([node.lineno, *(decorator.lineno for decorator in getattr(node, "decorator_list", []))])
        last = node.end_lineno or node.lineno
        lines[first - 1 : last] = [""] * (last - first + 1)
    return "".join(lines)


def _of_levels(tree: ast.Module) -> list[ast.stmt | ast.expr]:
    """Return the imports of `grader.mistakes` and the decorators of levels."""
    imports: list[ast.stmt | ast.expr] = [
        n for n in tree.body if isinstance(n, ast.ImportFrom) and n.module == "grader.mistakes"
    ]
    definitions = [node for node in tree.body if isinstance(node, Definition)]
    return imports + [d for n in definitions for d in n.decorator_list if ast.unparse(d) in LEVELS]


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
            answers=_excerpt(self._answers.source, self._answers.tree, name),
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


def general_source(course: Course, info: KataInfo, name: str) -> str:
    """Return the source of a file with all entry points that makes a general mistake."""
    binding = "{0} = _answers.GENERAL[{1!r}].in_place_of(_reference.{0})"
    return STANDALONE.format(
        name=name,
        part="mistakes",
        reference=course.solution(info, "reference").read_text(encoding="utf-8"),
        answers=inspect.getsource(general_mistakes),
        bindings="\n".join(binding.format(entry, name) for entry in info.entry_points),
    )


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
