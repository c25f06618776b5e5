"""Read and write the syllabus: the course's title, its tracks and the order of its katas.

It is the file `tests/katas/path.toml`:

    title = "Decoder Dojo"
    about = "Build the decoder of a Transformer by hand, one kata at a time."
    by_hand = true      # a library function that does all of a kata earns nothing for agreement

    [path]
    attention = ["softmax", "token_embedding"]
    blocks = ["layer_norm"]
"""

from __future__ import annotations

import json
import tomllib
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from grader.errors import CourseError as CourseError

FILE = Path("tests", "katas", "path.toml")
TITLE = "the dojo"


@dataclass(frozen=True)
class Syllabus:
    """The course's title, one sentence about it, and its katas by track. Without the file, `path` is empty,
    and each folder of declarations is a track, in alphabetical order."""

    title: str = TITLE
    about: str = ""
    path: dict[str, list[str]] = field(default_factory=dict)
    by_hand: bool = False

    @property
    def order(self) -> list[str]:
        """The names of all listed katas, track by track."""
        return [name for names in self.path.values() for name in names]

    def rank(self, track: str, name: str) -> tuple[int, str, int, str]:
        """Return the sort key of a kata; katas that are not listed come last in their track, by name."""
        tracks, order = list(self.path), self.order
        at_track = tracks.index(track) if track in tracks else len(tracks)
        return at_track, track, order.index(name) if name in order else len(order), name


def read_syllabus(root: Path) -> Syllabus:
    """Return the syllabus of the course in `root`. Raises CourseError if the file is not valid."""
    file = root / FILE
    if not file.is_file():
        return Syllabus()
    try:
        found = tomllib.loads(file.read_text(encoding="utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise CourseError(f"{FILE.as_posix()} cannot be read as TOML: {error}.") from None
    _require_valid(found)
    return Syllabus(**found)


def _require_valid(found: dict[str, Any]) -> None:
    unknown = found.keys() - {"title", "about", "by_hand", "path"}
    if unknown:
        raise CourseError(
            f"{FILE.as_posix()}: nothing is called `{min(unknown)}`;"
            " there are title, about, by_hand and [path]."
        )
    for name in ("title", "about"):
        if not isinstance(found.get(name, ""), str):
            raise CourseError(f'{FILE.as_posix()}: {name} is a text in quotes: {name} = "…".')
    if not isinstance(found.get("by_hand", False), bool):
        raise CourseError(f"{FILE.as_posix()}: by_hand is true or false, without quotes.")
    path = found.get("path")
    if not isinstance(path, dict) or not all(map(_is_list_of_names, path.values())):
        raise CourseError(f"{FILE.as_posix()} must hold a table [path] with a list of katas for each track.")
    names = [name for listed in path.values() for name in listed]
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        raise CourseError(f"{FILE.as_posix()} lists `{twice}` twice; take one of them out.")


def _is_list_of_names(names: object) -> bool:
    return isinstance(names, list) and all(isinstance(name, str) for name in names)


def to_text(syllabus: Syllabus) -> str:
    """Return the syllabus as the text of its TOML file."""
    said = {"title": syllabus.title, "about": syllabus.about}
    lines = [f"{name} = {_quoted(text)}" for name, text in said.items() if text]
    lines += ["by_hand = true"] * syllabus.by_hand
    lines += ["", "# The order in which the katas are best learnt, track by track.", "[path]"]
    lines += [f"{track} = {_quoted(names)}" for track, names in syllabus.path.items()]
    return "\n".join([*lines, ""])


def _quoted(value: str | list[str]) -> str:
    """Return a text or a list of texts as TOML, which uses the same notation as JSON."""
    return json.dumps(value, ensure_ascii=False)
