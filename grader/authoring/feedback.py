"""`kata feedback`: what a student would read for each mistake, kept next to the kata for a reviewer to read.

A page is made from the kata's own files and names their digest, so that a page that is older than they are
is told without grading anything.
"""

from __future__ import annotations

import hashlib
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import click

from grader.authoring.answers import standalone_sources
from grader.authoring.releasing import keys
from grader.authoring.side_by_side import for_each
from grader.bank import SEED
from grader.catalog import Card, Course, shorten
from grader.formats.terminal import render_kata
from grader.opening import open_grader
from grader.submission import Submission

PAGE = "feedback.md"
HEAD = """\
# `{name}`: what each mistake is told

`kata feedback {name}` writes this page anew. Made from the files with the digest {digest}.
"""


def write_feedback(course: Course, names: tuple[str, ...]) -> None:
    """Write the pages of the named katas, or of all."""
    cards = keys.chosen(course, names)
    keys.require_solutions(course, cards, "Feedback is")
    for card, text in for_each(course, cards, feedback):
        _page(course, card).write_text(text, encoding="utf-8")
        click.echo(f"{shorten(_page(course, card))}")


def verify_feedback(course: Course, names: tuple[str, ...]) -> int:
    """Name the pages that are missing, or older than their katas. 0 if there are none, else 1."""
    cards = keys.chosen(course, names)
    keys.require_solutions(course, cards, "Feedback is")
    stale = [card.name for card in cards if is_stale(course, card)]
    for name in stale:
        click.echo(f"✗ The feedback of {name} is older than the kata: kata feedback {name}")
    click.echo(f"{len(cards) - len(stale)} of {len(cards)} pages are as new as their katas.")
    return 1 if stale else 0


def is_stale(course: Course, card: Card) -> bool:
    """Whether the page is missing, or made from other files than those that are there."""
    page = _page(course, card)
    return not page.is_file() or _head(course, card) not in page.read_text(encoding="utf-8")


def feedback(course: Course, card: Card, most: int | None = None) -> str:
    """The page of one kata: each mistake with its report; of the first `most` where that is given."""
    grader, source = open_grader(course, [card], seed=SEED)
    parts = [_head(course, card)]
    with closing(source):
        for name, text in list(standalone_sources(course, card, "mistakes").items())[:most]:
            report = grader.grade(Submission(card, text, f"{name}.py"))
            told = render_kata(replace(report, output=""))  # what was printed has paths of a machine
            parts.append(f"## {name}\n\n```\n{told}```\n")
    return "\n".join(parts)


def _head(course: Course, card: Card) -> str:
    return HEAD.format(name=card.name, digest=_digest(course, card))


def _digest(course: Course, card: Card) -> str:
    files = (card.path, course.solution(card, "reference"), course.solution(card, "mistakes"))
    return hashlib.sha256(b"\0".join(file.read_bytes() for file in files)).hexdigest()[:12]


def _page(course: Course, card: Card) -> Path:
    return course.folder(card) / PAGE
