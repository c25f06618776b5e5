"""The answers that a course knows: mistakes and variants, each standing in for entry points."""

from __future__ import annotations

import inspect
import sys
import types
from typing import Any

from grader.catalog import Card, Course, load_file
from grader.excerpt import excerpted
from grader.kata import KataError
from grader.loading import parse


def public_names(module: types.ModuleType) -> list[str]:
    """Functions and classes that a module defines itself, in the order in which they stand."""
    found = [
        (name, value)
        for name, value in vars(module).items()
        if not name.startswith("_") and getattr(value, "__module__", None) == module.__name__
    ]
    return [name for name, value in found if callable(value)]


def replaced_by(answer: Any, reference: Any, entry_points: tuple[str, ...]) -> dict[str, Any]:
    """Which entry points an answer stands in for: a class those that it has as members, anything
    else the one whose parameters it has. Raises KataError where that is not clear."""
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


class Answers:
    """Every public answer in `mistakes` or `variants` of one kata."""

    def __init__(self, course: Course, card: Card, part: str) -> None:
        self.card, self.file = card, course.solution(card, part)
        self.reference = load_file(f"dojo_reference_{card.name}", course.solution(card, "reference"))
        self._part = f"dojo_{part}_{card.name}"
        self._first = load_file(self._part, self.file)
        self._tree = parse(self.file)
        self._codes: dict[str, types.CodeType] = {}

    @property
    def names(self) -> list[str]:
        """In the order in which they stand in the file."""
        return public_names(self._first)

    def text(self, name: str) -> str:
        """The docstring, as one paragraph."""
        return " ".join((getattr(self._first, name).__doc__ or "").split())

    def fresh(self, name: str) -> types.SimpleNamespace:
        """The answer as a module with all entry points, and with nothing left over from earlier calls."""
        answer = getattr(self._module(name), name)
        entries = {entry: getattr(self.reference, entry) for entry in self.card.entry_points}
        replaced = replaced_by(answer, self.reference, self.card.entry_points)
        return types.SimpleNamespace(**{**entries, **replaced}, __name__=self.card.name)

    def _module(self, name: str) -> types.ModuleType:
        """What the answer needs of its file, executed anew: the file may hold sixty others."""
        if name not in self._codes:
            self._codes[name] = compile(
                excerpted(self._tree, name), str(self.file), "exec", dont_inherit=True
            )
        module = types.ModuleType(self._part)
        module.__file__ = str(self.file)
        sys.modules[self._part] = module
        exec(self._codes[name], vars(module))
        return module
