"""Write one text about several mistakes, and shorten a text to its first sentences."""

from __future__ import annotations

import re
from collections.abc import Sequence

END = re.compile(r"(?<=[.?!]) ")  # of a sentence
#: What stands before the text of each mistake, by how many there are.
MARKS = {2: ("One:", "The other:"), 3: ("One:", "Another:", "The third:")}
NUMBERS = {2: "two", 3: "three"}


def at_once(texts: Sequence[str]) -> str:
    """Return the texts of two or three mistakes as one."""
    begin = f"There are {NUMBERS[len(texts)]} mistakes at once, each described as if it were the only one."
    return " ".join([begin, *(f"{mark} {text}" for mark, text in zip(MARKS[len(texts)], texts, strict=True))])


def first_sentence(text: str) -> str:
    """Return the first sentence of a text."""
    return END.split(text, maxsplit=1)[0]


def in_brief(text: str) -> str:
    """Return the first sentence of a text, and of each mistake if it tells of several at once."""
    first, *rest = END.split(text)
    marks = tuple(f"{mark} " for every in MARKS.values() for mark in every)
    return " ".join([first, *(sentence for sentence in rest if sentence.startswith(marks))])
