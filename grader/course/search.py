"""Find katas by what people call them: by name, title, alias and track.

The page ranks in the same way, in its `front/search.js`; both are tested on one table of queries.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import TYPE_CHECKING, NamedTuple

from grader.texts.phrases import listed

if TYPE_CHECKING:
    from grader.course.catalog import Course, KataInfo

WORD = re.compile(r"[^\W_]+")
MOST_SUGGESTED = 3  # names in a sentence
LEAST_SIMILAR = 0.5  # of a name with a typing error, from 0 to 1
WORD_BY_WORD = 7  # is added to a rank if the words of a query match in different places


class Words(NamedTuple):
    """What a kata is found by, each text folded."""

    name: str
    title: str
    aliases: tuple[str, ...]
    track: str


def folded(text: str) -> str:
    """Return the words of a text in small letters, with one space between them: `top-p` as `top p`."""
    return " ".join(WORD.findall(text.lower()))


def words_of(course: Course, info: KataInfo) -> Words:
    """Return what a kata of the course is found by."""
    aliases = [alias for alias, name in course.syllabus.aliases.items() if name == info.name]
    return Words(folded(info.name), folded(info.title), tuple(map(folded, aliases)), folded(info.track))


def found(course: Course, text: str) -> list[KataInfo]:
    """Return the katas that a text may mean, the best first, equally good ones in course order; all of them
    for a text without a letter or digit."""
    query = folded(text)
    ranked = [(rank(words_of(course, info), query), info) for info in course.katas.values()]
    kept = [(place, info) for place, info in ranked if place is not None]
    return [info for _, info in sorted(kept, key=lambda one: one[0])]


def named(course: Course, text: str) -> KataInfo | None:
    """Return the kata that has this name or alias, in any spelling; None if there is none."""
    best = found(course, text)[:1] if folded(text) else []
    return next((info for info in best if rank(words_of(course, info), folded(text)) == 0), None)


def rank(words: Words, query: str) -> int | None:
    """Return how well a folded query fits a kata, 0 for its name or an alias; None if it does not."""
    whole = _rank_of_phrase(words, query)
    parts = query.split()
    if whole is not None or len(parts) < 2:
        return whole
    places = [place for part in parts if (place := _rank_of_phrase(words, part)) is not None]
    return WORD_BY_WORD + max(places) if len(places) == len(parts) else None


def _rank_of_phrase(words: Words, phrase: str) -> int | None:
    """Return the first of these that is true: it is a name; it begins the name, one of its words; it is in
    the name, and no single letter; it begins a word of the title, of an alias, of the track."""
    name = _joined(words.name)
    fits = (
        _joined(phrase) in (name, *map(_joined, words.aliases)),
        name.startswith(_joined(phrase)),
        _begins_word(words.name, phrase),
        phrase in words.name and len(phrase) > 1,
        _begins_word(words.title, phrase),
        any(_begins_word(alias, phrase) for alias in words.aliases),
        _begins_word(words.track, phrase),
    )
    return fits.index(True) if True in fits else None


def _joined(text: str) -> str:
    return text.replace(" ", "")


def _begins_word(text: str, phrase: str) -> bool:
    return f" {phrase}" in f" {text}"


def similar(word: str, names: Iterable[str], cutoff: float = 0.6) -> str:
    """Return the name that a word with a typing error is most like, from 0 to 1 at least `cutoff`; "" if
    there is none."""
    import difflib  # few words have errors

    near = difflib.get_close_matches(word.lower(), list(names), n=1, cutoff=cutoff)
    return near[0] if near else ""


def suggestion(course: Course, text: str) -> str:
    """Return which katas may be meant by a text that names none, as a question; "" if none is like it."""
    names = [info.name for info in found(course, text)[:MOST_SUGGESTED]] if folded(text) else []
    near = "" if names else similar(text, course.katas, LEAST_SIMILAR)
    choice = listed((f"`{name}`" for name in names or [near] if name), "or")
    return f"Did you mean {choice}?" if choice else ""
