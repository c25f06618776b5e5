"""A course for nbgrader: notebooks in `source/`, its settings, and answer keys, so that it grades alone."""

from __future__ import annotations

from pathlib import Path

from grader.authoring.releasing import keys
from grader.authoring.releasing.release import core_files
from grader.catalog import Card, Course
from grader.cells import SUFFIX
from grader.key_file import write
from grader.notebooks.notebook import notebook_of

SETTINGS = Path(__file__).with_name("nbgrader_config.txt")
IN_ONE = "in-one"


def course_files(course: Course, cards: list[Card], seed: int, hidden_seed: int | None) -> dict[str, bytes]:
    """Every file by its path: what grades, at the top and beside the notebooks of each assignment."""
    core = core_files(course, cards, seed)
    files = {**core, "nbgrader_config.py": SETTINGS.read_bytes()}
    for track in dict.fromkeys(card.track for card in cards):
        own = [card for card in cards if card.track == track]
        beside = {name: data for card in own for name, data in core.items() if _belongs(name, card)}
        each = {card.name: notebook_of(course, [card]) for card in own}
        files |= _assignment(track, beside, each)
        whole = {track: notebook_of(course, own, f"The track {track}, all in one notebook")}
        files |= _assignment(f"{track}-{IN_ONE}", beside, whole)
    return files if hidden_seed is None else files | _keys(course, cards, hidden_seed)


def _assignment(name: str, beside: dict[str, bytes], notebooks: dict[str, str]) -> dict[str, bytes]:
    """The folder that nbgrader hands out: notebooks, and what `%grade` needs, which nbgrader copies along."""
    own = {f"{stem}{SUFFIX}": text.encode() for stem, text in notebooks.items()}
    return {f"source/{name}/{path}": data for path, data in {**beside, **own}.items()}


def _belongs(path: str, card: Card) -> bool:
    """Whether one of the core's files is about this kata: its stub, its declaration, its key."""
    return path in (
        f"exercises/{card.track}/{card.name}.py",
        f"tests/katas/{card.track}/{card.path.name}",
        f"keys/{card.name}.key",
    )


def _keys(course: Course, cards: list[Card], seed: int) -> dict[str, bytes]:
    """Keys of other cases, for the top of the course: students have those beside their notebooks alone."""
    entries = keys.told(keys.draw_entries(course, cards, seed))
    return {f"keys/{entry.name}.key": write([entry], seed, keys.made_by()) for entry in entries}
