"""The answer key: cases and what the reference answers, as plain arrays.

Drawn once for each state of a kata's files and kept in the user's cache folder, so that a grading
that passes neither imports Hypothesis nor opens the solutions.
"""

from __future__ import annotations

import hashlib
import os
import struct
import sys
import tempfile
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from grader.kata import Case
from grader.worker.channel import PREFIX
from grader.worker.codec import Malformed, decode, encode

MAGIC = b"DOJK"
VERSION = 2
SHA256 = 32  # bytes of checksum at the end of the file


@dataclass
class Expected:
    """What the reference answers: `exact` in float64, `native` in the dtypes of the arguments."""

    exact: Any
    native: Any
    gradients: list[dict[str, Any]] = field(default_factory=list)


@dataclass
class AnswerKey:
    """Cases with their answers, and the cases of the laws that draw their own."""

    cases: list[Case]
    expected: list[Expected]
    law_cases: dict[str, list[Case]]


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


class RecordedKata(Protocol):
    """One kata out of a file of answer keys; each part is read when it is asked for."""

    @property
    def answers(self) -> AnswerKey:
        """The cases and what the reference answers."""

    @property
    def mistakes(self) -> list[RecordedMistake]:
        """What each mistake would have answered."""


def digest(files: Iterable[Path], *more: object) -> str:
    """Name one state of these files, of the grader's own drawing code and of the libraries that draw."""
    contents = [file.read_bytes() for file in files]
    libraries = ["hypothesis", *["torch"] * any(b"torch" in content for content in contents)]
    versions = (np.__version__, *map(_version, libraries), sys.version_info[:2])
    state = hashlib.sha256(repr((VERSION, *versions, *more)).encode())
    here = Path(__file__).parent
    own = [here / name for name in ("answer_key.py", "bank.py", "strategies.py", "kata.py", "oracle.py")]
    for content in (*map(Path.read_bytes, (*own, here / "worker" / "measures.py")), *contents):
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


def cache_folder() -> Path:
    """Where banks are kept: `$XDG_CACHE_HOME` or `~/.cache`, else a folder of the system's for this user."""
    chosen = os.environ.get("XDG_CACHE_HOME")
    with suppress(RuntimeError):
        return (Path(chosen) if chosen else Path.home() / ".cache") / "decoder-dojo"
    return Path(tempfile.gettempdir()) / "decoder-dojo"


def save(key: AnswerKey, file: Path) -> None:
    """Write the key, whole or not at all; a folder that cannot be written is no error."""
    message = {
        "cases": key.cases,
        "expected": [vars(expected) for expected in key.expected],
        "law_cases": key.law_cases,
    }
    header, buffers = encode(message)
    data = b"".join((PREFIX.pack(MAGIC, len(header), sum(map(len, buffers)), VERSION), header, *buffers))
    data += hashlib.sha256(data).digest()
    with suppress(OSError):
        file.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        with tempfile.NamedTemporaryFile(dir=file.parent, delete=False) as draft:
            draft.write(data)
        os.replace(draft.name, file)


def load(file: Path) -> AnswerKey | None:
    """Read a key; None where there is none, or where it is damaged (it is then drawn again)."""
    try:
        whole = file.read_bytes()
        data, checksum = whole[:-SHA256], whole[-SHA256:]
        if hashlib.sha256(data).digest() != checksum:
            return None
        magic, header_size, body_size, version = PREFIX.unpack_from(data)
        body = bytearray(data[PREFIX.size + header_size :])
        if magic != MAGIC or version != VERSION or len(body) != body_size:
            return None
        message = decode(data[PREFIX.size : PREFIX.size + header_size], body)
        expected = [Expected(**entry) for entry in message["expected"]]
        return AnswerKey(message["cases"], expected, message["law_cases"])
    except (OSError, Malformed, KeyError, TypeError, struct.error):
        return None
