"""The contents of an answer key: cases, the reference's answers, and the answers of known mistakes."""

from __future__ import annotations

import hashlib
import sys
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cached_property
from importlib.util import find_spec
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from grader.kata import Arguments
from grader.values.arrays import weight
from grader.values.comparison import Precision, precision_of

VERSION = 4
FEWEST_CASES = 8  # the smallest number of cases that `half` returns, if there are as many

Item = TypeVar("Item")


@dataclass(frozen=True, eq=False)
class Case:
    """The arguments of one call, and the position of the case among those of its kata or of its law."""

    index: int
    arguments: Arguments

    @property
    def is_shared(self) -> bool:
        """Whether the cases of every seed have this one; those between them are the seed's own."""
        return self.index % 2 == 0

    @cached_property
    def weight(self) -> tuple[int, float]:
        """How hard the arguments are to read."""
        return weight(self.arguments)

    @cached_property
    def precision(self) -> Precision:
        """The precision that answers can have."""
        return precision_of(self.arguments)


def numbered(arguments: Iterable[Arguments]) -> list[Case]:
    """Return the cases with these arguments."""
    return [Case(index, given) for index, given in enumerate(arguments)]


def half(cases: list[Item]) -> list[Item]:
    """Return half of the cases, at least FEWEST_CASES: for checks that call the submission for each case."""
    return spread_pairs(cases, max(FEWEST_CASES, len(cases) // 2))


def spread_pairs(cases: list[Item], size: int) -> list[Item]:
    """Return about `size` of the cases in pairs at even distances, so that shared cases and those of the seed
    take turns."""
    pairs = [cases[at : at + 2] for at in range(0, len(cases), 2)]
    return [case for pair in spread(pairs, (size + 1) // 2) for case in pair]


def spread(cases: list[Item], size: int) -> list[Item]:
    """Return `size` of the cases at even distances, with the first and the last, which are the smallest and
    the largest."""
    if len(cases) <= size:
        return cases
    return [cases[round(i * (len(cases) - 1) / max(size - 1, 1))] for i in range(size)]


@dataclass
class Expected:
    """What the reference answers to a case: `exact` in float64, `native` in the dtypes of the arguments."""

    exact: Any
    native: Any
    gradients: list[dict[str, Any]] = field(default_factory=list)


@dataclass
class ReferenceCost:
    """What the reference needs for the case at `position`: floating-point operations, and the elements of the
    largest tensor that it makes."""

    position: int
    flops: int
    elements: int


@dataclass
class AnsweredCases:
    """Cases with their answers and corners ("" for plain ones), the cases of laws that draw their own, and
    what one case costs if it was measured."""

    cases: list[Case]
    expected: list[Expected]
    law_cases: dict[str, list[Case]]
    corners: list[str] = field(default_factory=list)
    cost: ReferenceCost | None = None

    def of_corner(self, name: str) -> list[Case]:
        """Return the cases of a corner, or the plain cases for the empty name."""
        return [case for case, corner in zip(self.cases, self.corners, strict=True) if corner == name]


@dataclass(frozen=True)
class Answer:
    """The answer to one call: a value with its gradients if they were recorded, or an exception's class."""

    value: Any
    error: str | None = None
    gradients: dict[str, Any] | None = None


@dataclass(frozen=True)
class Recorded:
    """How a known mistake fails a case.

    `said` is a digest of the message; `differs` is true if a value differs from the expected one.
    """

    status: str
    said: str
    differs: bool
    answers: tuple[Answer, ...]


@dataclass(frozen=True)
class RecordedMistake:
    """A known mistake without its code: its explanation and, for each check, how each case fails.

    A case that passes is None.
    """

    id: str
    text: str
    outcomes: dict[str, list[Recorded | None]]


#: Files of the grader that determine which cases are drawn and what is expected.
DRAWING = (
    "answer_keys/answers.py",
    "cases/generation.py",
    "cases/oracle.py",
    "cases/state.py",
    "kata.py",
    "strategies.py",
    "values/arrays.py",
    "worker/child/instrumentation.py",
)


def digest(files: Iterable[Path], *more: object) -> str:
    """Return a digest of the files, of the grader's code that draws cases and of the libraries' versions."""
    contents = [file.read_bytes() for file in files]
    uses_torch = any(b"torch" in content for content in contents)
    libraries = ["hypothesis", "torch"] if uses_torch else ["hypothesis"]
    versions = (np.__version__, *map(_version, libraries), sys.version_info[:2])
    state = hashlib.sha256(repr((VERSION, *versions, *more)).encode())
    package = Path(__file__).parents[1]
    for content in (*(package.joinpath(name).read_bytes() for name in DRAWING), *contents):
        state.update(content)
    return state.hexdigest()[:24]


def _version(library: str) -> str:
    """Return the version of a library without importing it; the empty string if it is not installed."""
    spec = find_spec(library)
    if spec is None or spec.origin is None:
        return ""
    # The name of the metadata folder next to the library contains the version. Listing it takes less than a
    # millisecond; importing `importlib.metadata` takes 40.
    for folder in Path(spec.origin).parents[1].glob(f"{library}-*.dist-info"):
        return folder.name.removesuffix(".dist-info").partition("-")[2]
    from importlib.metadata import PackageNotFoundError, version

    with suppress(PackageNotFoundError):
        return version(library)
    return ""
