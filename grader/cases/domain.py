"""Learn from the cases of a kata which arguments its functions may get, and say why others are not allowed.

How a kata draws its cases is code, which does not say whether it could have drawn a certain case. So what
holds of all its cases is taken as meant: the types and dtypes, the numbers of axes, the ranges, the options,
how the sizes are related, and that the rows of an array are probabilities, distinct or sorted. Ranges of
floats are widened to the next power of ten where they have both signs.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from grader.cases import generation
from grader.cases.relations import KnownRelations
from grader.kata import Arguments, Kata
from grader.values.arrays import dtype_name, leaves, to_numpy
from grader.values.comparison import Tolerance, first_difference
from grader.values.formatting import show

DRAWS = 300  # cases besides those of the bank: with the bank alone, one of seven that can be drawn is refused
SEED = generation.SEED + 1
FEWEST = 20  # cases that have to show a relation of two sizes
LONGEST_SHOWN = 40  # characters of a value in a sentence
MOST_OPTIONS = 12  # that a sentence lists
EXACT = 1e-6  # how far the sum of probabilities may be from 1
FOLLOWS = Tolerance(64)  # how far an argument may be from what follows from the others
Array = np.ndarray[Any, Any]


def _hold_probabilities(array: Array) -> bool:
    return array.dtype.kind == "f" and bool((array >= 0).all() and (abs(array.sum(-1) - 1) < EXACT).all())


def _are_distinct(array: Array) -> bool:
    ordered = np.sort(array, -1)
    return bool((ordered[..., 1:] != ordered[..., :-1]).all())


def _are_sorted(array: Array) -> bool:
    return array.dtype.kind in "iuf" and bool((array[..., 1:] >= array[..., :-1]).all())


def _hold_something(array: Array) -> bool:
    """Whether each row has a number, or a True: one that is all -inf or all False shows nothing."""
    shown = array if array.dtype.kind == "b" else np.isfinite(array)
    return bool(shown.any(-1).all())


#: What the rows of an array may be: in all cases of a kata or not.
ROWS: Mapping[str, Callable[[Array], bool]] = {
    "hold probabilities that sum to 1": _hold_probabilities,
    "hold different entries": _are_distinct,
    "are sorted": _are_sorted,
    "hold a number or a True": _hold_something,
}


@dataclass
class Allowed:
    """What the values of an argument are in all cases, with those in a list of it or under a key of it."""

    types: set[str] = field(default_factory=set)
    dtypes: set[str] = field(default_factory=set)
    axes: set[int] = field(default_factory=set)
    lengths: set[int] = field(default_factory=set)  # of axes, or of lists
    options: set[Any] = field(default_factory=set)  # texts, True, False and None
    keys: set[Any] = field(default_factory=set)
    extremes: set[str] = field(default_factory=set)  # nan, inf and -inf
    least: float = math.inf
    largest: float = -math.inf
    rows: set[str] = field(default_factory=lambda: set(ROWS))
    has_fractions: bool = False

    def learn(self, value: Any) -> None:
        """Take a value as allowed."""
        kind = _type_of(value)
        self.types.add(kind)
        if kind in ("a list", "a tuple"):
            self.lengths.add(len(value))
        elif kind == "a dict":
            self.keys |= set(value)
        elif kind in _OPTIONS:
            self.options.add(value)
        elif (array := _entries(value)) is not None:
            self._learn_numbers(array)
            if kind in _ARRAYS:
                self.dtypes.add(dtype_name(value))
                self.axes.add(array.ndim)
                self.lengths |= set(array.shape)
                self.rows &= {name for name, is_so in ROWS.items() if not array.ndim or is_so(array)}

    def _learn_numbers(self, array: Array) -> None:
        finite = array[np.isfinite(array)] if array.dtype.kind in "fc" else array
        self.extremes |= _extremes(array)
        if finite.size and finite.dtype.kind in "biuf":
            self.least = min(self.least, float(finite.min()))
            self.largest = max(self.largest, float(finite.max()))
            self.has_fractions = self.has_fractions or array.dtype.kind == "f"

    @cached_property
    def range(self) -> tuple[float, float]:
        """The least and the largest number that is allowed. Floats of both signs mean nothing by themselves,
        so larger ones are allowed, up to the next power of ten; positive ones likewise down to the one below.
        """
        if not self.has_fractions or not _ARRAYS & self.types:
            return self.least, self.largest
        if self.least >= 0 and self.largest <= 1:
            return (0.0 if self.least == 0 else _below(self.least)), 1.0
        most = _above(max(-self.least, self.largest))
        if self.least < 0 < self.largest:
            return -most, most
        return (_below(self.least) if self.least > 0 else self.least), max(self.largest, 0) and most

    def complaint(self, value: Any) -> str:
        """Return what a value is and what is allowed, to be said after the name of its argument; "" if it is
        allowed."""
        kind = _type_of(value)
        if kind not in self.types and not (kind == "an integer" and "a number" in self.types):
            return f"is {kind}; {_either(sorted(self.types))} is allowed."
        if kind in ("a list", "a tuple"):
            return _outside("items", len(value), self.lengths)
        if kind == "a dict" and not set(value) <= self.keys:
            return f"has the key {_short(sorted(set(value) - self.keys, key=str)[0])}, which no case has."
        if kind in _OPTIONS:
            options = _either(sorted(map(show, self.options)))
            return "" if value in self.options else f"is {_short(value)}; {options} is allowed."
        array = _entries(value)
        return "" if array is None else self._of_numbers(value, array, kind)

    def _of_numbers(self, value: Any, array: Array, kind: str) -> str:
        if kind in _ARRAYS:
            if dtype_name(value) not in self.dtypes:
                return f"is {dtype_name(value)}; {_either(sorted(self.dtypes))} is allowed."
            if array.ndim not in self.axes:
                return _outside("axes", array.ndim, self.axes)
            for length in array.shape:
                if wrong := _outside("entries along an axis", length, self.lengths):
                    return wrong
        for extreme in sorted(_extremes(array) - self.extremes):
            return f"holds {extreme}, which no case has."
        finite = array[np.isfinite(array)] if array.dtype.kind == "f" else array
        low, high = self.range
        beyond = finite[(finite < low) | (finite > high)] if finite.dtype.kind in "iuf" else finite[:0]
        if beyond.size:
            verb = "holds" if kind in _ARRAYS else "is"
            return f"{verb} {_short(beyond.flat[0])}; numbers from {low:.6g} to {high:.6g} are allowed."
        if kind in _ARRAYS and array.ndim:
            for name in ROWS:
                if name in self.rows and not ROWS[name](array):
                    return f"has a row unlike those of all cases, whose rows {name}."
        return ""


_ARRAYS = {"an array", "a tensor"}
_OPTIONS = {"a text", "a flag", "None"}
_TYPES: dict[type, str] = {
    bool: "a flag",
    str: "a text",
    type(None): "None",
    int: "an integer",
    float: "a number",
}
_TREES: dict[type, str] = {list: "a list", tuple: "a tuple", dict: "a dict"}


def _type_of(value: Any) -> str:
    if isinstance(value, np.ndarray):
        return "an array"
    if isinstance(value, np.generic):
        value = value.item()
    if type(value).__module__ == "torch" and hasattr(value, "detach"):
        return "a tensor"
    return _TYPES.get(type(value)) or _TREES.get(type(value)) or "an object"


def _entries(value: Any) -> Array | None:
    array = to_numpy(value)
    return array if array is not None and array.dtype.kind in "biufc" else None


def _extremes(array: Array) -> set[str]:
    if array.dtype.kind not in "fc":
        return set()
    tests = {"nan": np.isnan(array), "inf": np.isposinf(array.real), "-inf": np.isneginf(array.real)}
    return {name for name, is_so in tests.items() if is_so.any()}


def _above(number: float) -> float:
    return float(10.0 ** math.ceil(math.log10(number))) if number > 0 else 0.0


def _below(number: float) -> float:
    return float(10.0 ** math.floor(math.log10(number))) if number > 0 else 0.0


def _outside(what: str, number: int, allowed: set[int]) -> str:
    least, largest = min(allowed, default=0), max(allowed, default=0)
    if least <= number <= largest:
        return ""
    those = f"{least} is" if least == largest else f"{least} to {largest} are"
    return f"has {number} {what}; {those} allowed."


def _either(words: Sequence[str]) -> str:
    shown = [*words[:MOST_OPTIONS], *(["…"] if len(words) > MOST_OPTIONS else [])]
    return " or ".join([", ".join(shown[:-1]), shown[-1]] if len(shown) > 1 else shown)


def _short(value: Any) -> str:
    text = show(value)
    return text if len(text) <= LONGEST_SHOWN else text[: LONGEST_SHOWN - 1] + "…"


def _parts(value: Any, path: str) -> Iterator[tuple[str, Any]]:
    """Yield a value and all that it holds, with the path to each; all items of a list have the same one."""
    yield path, value
    if isinstance(value, dict):
        for key, item in value.items():
            yield from _parts(item, f"{path}[{key!r}]")
    elif isinstance(value, list | tuple):
        for item in value:
            yield from _parts(item, f"{path}[…]")


def known_cases(kata: Kata, bank: Sequence[Arguments]) -> list[Arguments]:
    """Return the cases from which a domain is learnt: those of the bank, and as many again as make it rare
    that one which can be drawn is not allowed. Raises KataError."""
    more = generation.drawn(kata.draw, DRAWS, SEED) if kata.draw else []
    return [*bank, *(one.case for one in more)]


class Domain:
    """The arguments that the functions of a kata may get, as far as its cases tell."""

    def __init__(self, kata: Kata, cases: Sequence[Arguments]) -> None:
        self.kata, self.relations = kata, KnownRelations(cases, FEWEST)
        self.names = list(cases[0]) if cases else []
        self.allowed: dict[str, Allowed] = {}
        for case in cases:
            for name, value in case.items():
                for path, part in _parts(value, name):
                    self.allowed.setdefault(path, Allowed()).learn(part)
        self.alike = _alike(cases)

    def complaint(self, arguments: Arguments) -> str:
        """Return why the arguments are not allowed, as a sentence; "" if they are."""
        for name in self.names:
            if name not in arguments:
                return f"`{name}` is missing."
        for name, value in arguments.items():
            if name not in self.names:
                return f"There is no argument `{name}`."
            for path, part in _parts(value, name):
                if wrong := self._of_part(path, part):
                    return f"`{path}` {wrong}"
        return self._of_all(arguments)

    def _of_part(self, path: str, part: Any) -> str:
        known = self.allowed.get(path)
        return known.complaint(part) if known else "is more than any case has there."

    def _of_all(self, arguments: Arguments) -> str:
        """Return why arguments do not go together; "" if they do."""
        dtypes = _dtypes(arguments)
        for one, other in self.alike:
            if dtypes.get(one, "") != dtypes.get(other, dtypes.get(one, "")):
                return f"`{one}` is {dtypes[one]} and `{other}` is {dtypes[other]}; all cases have one dtype."
        if broken := self.relations.broken(arguments):
            return f"The sizes do not go together: {broken}."
        with suppress(Exception):  # what does not fit raises in the kata's own function, or in the answer
            completed = self.kata.completed(arguments)
            for name, value in completed.items():
                if first_difference(value, arguments[name], FOLLOWS):
                    return f"`{name}` does not follow from the others; it must be {_short(value)}."
        return ""


def _alike(cases: Sequence[Arguments]) -> list[tuple[str, str]]:
    """Return the pairs of arguments that have the same dtype in all cases that have both."""
    rows = [_dtypes(case) for case in cases]
    names = list(dict.fromkeys(name for row in rows for name in row))
    return [
        (one, other)
        for at, one in enumerate(names)
        for other in names[at + 1 :]
        if all(row[one] == row[other] for row in rows if one in row and other in row)
    ]


def _dtypes(arguments: Arguments) -> dict[str, str]:
    parts = (pair for name, value in arguments.items() for pair in _parts(value, name))
    return {path: dtype_name(part) for path, part in parts if hasattr(part, "shape")}


def numbers_in(arguments: Arguments) -> int:
    """Return how many numbers the arguments have: the entries of arrays, and numbers by themselves."""
    found = 0
    for leaf in leaves(arguments):
        if hasattr(leaf, "shape"):
            found += math.prod(leaf.shape)
        elif isinstance(leaf, int | float) and not isinstance(leaf, bool):
            found += 1
    return found
