"""The course on disk: which katas there are, where their files lie, what can be known unopened.

A `Card` is read from a declaration's syntax alone, so that listing the katas, or noticing that one
needs PyTorch, imports neither the declaration nor PyTorch.
"""

from __future__ import annotations

import ast
import difflib
import importlib.util
import sys
import tomllib
import types
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from grader.kata import TRACKS, Kata, KataError


class CourseError(Exception):
    """A file or a name is wrong; the sentence says which, and what would be right."""


@dataclass(frozen=True)
class Card:
    """What a kata's declaration says of itself, read without running it."""

    name: str
    track: str
    title: str
    library: str
    points: float
    needs: tuple[str, ...]
    hints: tuple[str, ...]
    source: str
    entry_points: tuple[str, ...]
    ships_wrong_code: str
    path: Path

    @property
    def max_score(self) -> int:
        return round(self.points * 100)


class Course:
    """A folder with `exercises/`, `tests/katas/` and, for an instructor, `solutions/`."""

    def __init__(self, root: Path, exercises: Path | None = None) -> None:
        self.root = root
        self.exercises = exercises or root / "exercises"
        if not self.exercises.is_dir():
            raise CourseError(f"There is no exercises folder at {shorten(self.exercises)}.")

    @cached_property
    def cards(self) -> dict[str, Card]:
        """Every kata by name, in the order in which they are best learnt."""
        files = sorted((self.root / "tests" / "katas").glob("*/test_*.py"))
        cards = {card.name: card for card in map(read_card, files)}
        known = {name: index for index, name in enumerate(self.path)}
        for card in cards.values():
            if card.track not in TRACKS:
                known_ones = ", ".join(TRACKS)
                raise KataError(f"{shorten(card.path)}: no track is called `{card.track}`; say {known_ones}.")
        ranked = sorted(cards.values(), key=lambda c: (TRACKS.index(c.track), known.get(c.name, len(known))))
        return {card.name: card for card in ranked}

    @cached_property
    def path(self) -> list[str]:
        """The order of the katas, from `tests/katas/path.toml`."""
        file = self.root / "tests" / "katas" / "path.toml"
        if not file.is_file():
            return []
        try:
            tracks = tomllib.loads(file.read_text(encoding="utf-8"))["path"]
            return [name for names in tracks.values() for name in names]
        except (tomllib.TOMLDecodeError, KeyError, AttributeError, TypeError):
            raise CourseError(
                f"{shorten(file)} must hold a table [path] with a list of katas for each track."
            ) from None

    def card(self, name: str) -> Card:
        """The kata called `name`. Raises CourseError with the nearest name there is."""
        declared = list(self.root.glob(f"tests/katas/*/test_{name}.py")) if name.isidentifier() else []
        if len(declared) == 1 and "cards" not in vars(self):
            card = read_card(declared[0])  # reading all of them takes as long as importing NumPy
            if card.name == name and card.track in TRACKS:
                return card
        if name in self.cards:
            return self.cards[name]
        near = difflib.get_close_matches(name, self.cards, n=1, cutoff=0.5)
        hint = f" Did you mean `{near[0]}`?" if near else " `grade --list` shows all katas."
        raise CourseError(f"There is no kata called `{name}`.{hint}")

    def declaration(self, card: Card) -> Kata:
        """The kata as declared; imports PyTorch where the kata is one of PyTorch's."""
        module = load_file(f"dojo_{card.name}", card.path)
        kata = getattr(module, "KATA", None)
        if not isinstance(kata, Kata) or kata.name != card.name:
            raise KataError(f"{card.path.name} must bind KATA = Kata({card.name!r}, …).")
        return kata

    def stub(self, card: Card) -> Path:
        """Where the student's file for a kata lies."""
        return self.exercises / card.track / f"{card.name}.py"

    def solution(self, card: Card, part: str) -> Path:
        """Where the reference, the mistakes or the variants of a kata lie."""
        return self.folder(card) / f"{part}.py"

    def folder(self, card: Card) -> Path:
        """The folder of a kata's solutions."""
        return self.root / "solutions" / card.track / card.name


def find_course(start: Path) -> Path:
    """The nearest folder at or above `start` that holds `tests/katas`, else the one that ships the grader."""
    shipped = Path(__file__).resolve().parents[1]
    for folder in (start, *start.parents, shipped):
        if (folder / "tests" / "katas").is_dir():
            return folder
    raise CourseError("There is no course here: no folder `tests/katas` at or above this one.")


def read_card(path: Path) -> Card:
    """The literal arguments of `KATA = Kata(…)` in a declaration. Raises KataError."""
    call = _kata_call(ast.parse(path.read_text(encoding="utf-8"), filename=path.name))
    if call is None:
        raise KataError(f"{path.name} must bind KATA = Kata(…) at its top level.")
    found = {
        "library": "numpy",
        "points": 10,
        "needs": (),
        "hints": (),
        "ships_wrong_code": "",
        "name": ast.literal_eval(call.args[0]),
    }
    wanted = set(Card.__dataclass_fields__) - {"path", "name"}
    for keyword in call.keywords:
        if keyword.arg in wanted:
            found[keyword.arg] = _literal(keyword, path)
    missing = wanted - found.keys()
    if missing:
        raise KataError(f"{path.name}: Kata(…) lacks {', '.join(sorted(missing))}.")
    return Card(path=path, **found)


def _kata_call(tree: ast.Module) -> ast.Call | None:
    for node in tree.body:
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Call):
            names = [target.id for target in node.targets if isinstance(target, ast.Name)]
            if names == ["KATA"] and node.value.args:
                return node.value
    return None


def _literal(keyword: ast.keyword, path: Path) -> Any:
    try:
        return ast.literal_eval(keyword.value)
    except ValueError:
        raise KataError(f"{path.name}: {keyword.arg} must be a literal, so that it can be listed.") from None


def load_file(name: str, path: Path) -> types.ModuleType:
    """Import one of the course's own files under `name`. Never used for a submission."""
    if not path.is_file():
        raise CourseError(f"The file {shorten(path)} is missing.")
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


def shorten(path: Path) -> str:
    """The path relative to the current folder where it lies below it; its name otherwise."""
    try:
        return str(path.absolute().relative_to(Path.cwd()))
    except ValueError:
        return path.name
