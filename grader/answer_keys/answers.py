"""An answer key: cases, what the reference answers to them, and what each mistake would have answered."""

from __future__ import annotations

import hashlib
import sys
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

from grader.kata import Case

VERSION = 4


@dataclass
class Expected:
    """What the reference answers: `exact` in float64, `native` in the dtypes of the arguments."""

    exact: Any
    native: Any
    gradients: list[dict[str, Any]] = field(default_factory=list)


@dataclass
class AnswerKey:
    """Cases with their answers and the corners that they belong to, "" for plain ones; and the cases of the
    laws that draw their own."""

    cases: list[Case]
    expected: list[Expected]
    law_cases: dict[str, list[Case]]
    corners: list[str] = field(default_factory=list)

    def of_corner(self, name: str) -> list[Case]:
        """The cases of one corner; those of "" are the plain ones."""
        return [case for case, corner in zip(self.cases, self.corners, strict=True) if corner == name]


@dataclass(frozen=True)
class Answer:
    """What one call answered, as far as it tells mistakes apart: a value, or the class of an error."""

    value: Any
    error: str | None = None
    gradients: dict[str, Any] | None = None


@dataclass(frozen=True)
class Recorded:
    """How one case failed: the verdict, a digest of what was said, whether values differed, the answers."""

    status: str
    said: str
    differs: bool
    answers: tuple[Answer, ...]


@dataclass(frozen=True)
class RecordedMistake:
    """A mistake without its code: what its author is told and, check by check, how each case fails (None
    where it passes)."""

    id: str
    text: str
    outcomes: dict[str, list[Recorded | None]]


#: The grader's own files on which cases and answers rest.
DRAWING = (
    "answer_keys/answers.py",
    "cases/generation.py",
    "cases/oracle.py",
    "kata.py",
    "strategies.py",
    "worker/child/instrumentation.py",
)


def digest(files: Iterable[Path], *more: object) -> str:
    """Name one state of these files, of the grader's own drawing code and of the libraries that draw."""
    contents = [file.read_bytes() for file in files]
    libraries = ["hypothesis", *["torch"] * any(b"torch" in content for content in contents)]
    versions = (np.__version__, *map(_version, libraries), sys.version_info[:2])
    state = hashlib.sha256(repr((VERSION, *versions, *more)).encode())
    package = Path(__file__).parents[1]
    for content in (*(package.joinpath(name).read_bytes() for name in DRAWING), *contents):
        state.update(content)
    return state.hexdigest()[:24]


def _version(library: str) -> str:
    """The version of a library, without importing it; empty where it is not installed."""
    spec = find_spec(library)
    if spec is None or spec.origin is None:
        return ""
    # The metadata's folder beside the library names the version, and is read in less than a millisecond;
    # importing `importlib.metadata` takes 40.
    for folder in Path(spec.origin).parents[1].glob(f"{library}-*.dist-info"):
        return folder.name.removesuffix(".dist-info").partition("-")[2]
    from importlib.metadata import PackageNotFoundError, version

    with suppress(PackageNotFoundError):
        return version(library)
    return ""
