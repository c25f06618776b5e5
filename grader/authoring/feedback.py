"""`kata feedback DIR`: what a student would read for each mistake, a page a kata, for a reviewer."""

from __future__ import annotations

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

HEAD = "# `{name}`: what each mistake is told\n"


def write_feedback(course: Course, folder: Path, names: tuple[str, ...]) -> None:
    """Write the pages of the named katas, or of all, into the folder."""
    cards = keys.chosen(course, names)
    keys.require_solutions(course, cards, "Feedback is")
    folder.mkdir(parents=True, exist_ok=True)
    for card, text in for_each(course, cards, feedback):
        page = folder / f"{card.name}.md"
        page.write_text(text, encoding="utf-8")
        click.echo(shorten(page))


def feedback(course: Course, card: Card, most: int | None = None) -> str:
    """The page of one kata: each mistake with its report; of the first `most` where that is given."""
    grader, source = open_grader(course, [card], seed=SEED)
    parts = [HEAD.format(name=card.name)]
    with closing(source):
        for name, text in list(standalone_sources(course, card, "mistakes").items())[:most]:
            report = grader.grade(Submission(card, text, f"{name}.py"))
            told = render_kata(replace(report, output=""))  # what was printed has paths of a machine
            parts.append(f"## {name}\n\n```\n{told}```\n")
    return "\n".join(parts)
