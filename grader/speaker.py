"""What `grade` says: reports on standard output, progress on standard error, the board of the katas."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import click

from grader.catalog import Card, Course, CourseError, shorten
from grader.formats import json as json_format
from grader.formats import terminal
from grader.opening import is_begun
from grader.report import KataReport, Report


class Speaker:
    """Says what is going on: reports on standard output, progress on standard error."""

    def __init__(self, form: str, output: Path | None, total: int) -> None:
        self.form, self.output, self.total, self.number = form, output, total, 0
        self.live = form == "terminal" and output is None
        self.colour = sys.stdout.isatty() and "NO_COLOR" not in os.environ
        self.shows_progress = sys.stderr.isatty()

    def beginning(self, card: Card) -> None:
        self.number += 1
        if self.shows_progress:
            click.echo(f"\r\x1b[K{self.number}/{self.total} {card.name} …", nl=False, err=True)

    def done(self, kata: KataReport) -> None:
        if self.shows_progress:
            click.echo("\r\x1b[K", nl=False, err=True)
        if kata.status == "error":
            click.echo(kata.message, err=True)
        elif self.live:
            click.echo(terminal.render_kata(kata, self.colour), color=self.colour)

    def end(self, report: Report) -> None:
        if self.live:
            if len(report.katas) > 1:
                click.echo(terminal.render_summary(report, self.colour), color=self.colour, nl=False)
            return
        text = json_format.render(report) if self.form == "json" else terminal.render(report)
        if self.output is None:
            click.echo(text, nl=False)
        else:
            _write(self.output, text)


def require_writable(path: Path | None) -> None:
    """A report that cannot be written is refused before anything is graded."""
    if path is not None and (path.is_dir() or not path.absolute().parent.is_dir()):
        raise CourseError(f"The report cannot be written to {path}: no such folder, or a folder itself.")


def _write(path: Path, text: str) -> None:
    try:
        path.write_text(text, encoding="utf-8")
    except OSError as error:
        raise CourseError(f"The report cannot be written to {path}: {error.strerror}.") from None


def board(course: Course) -> str:
    """All katas on their path, those begun marked."""
    lines, track = [], ""
    for card in course.cards.values():
        if card.track != track:
            track = card.track
            lines += ["", f"  {track}"]
        path = course.stub(card)
        mark = "▸" if path.exists() and is_begun(card, path) else "·"
        lines.append(f"    {mark} {card.name:<28}{card.title}")
    return "\n".join(lines[1:]) + "\n\n  · not started   ▸ begun\n"


def welcome(course: Course, first: Card) -> str:
    """The board, and what to open first."""
    return (
        "Welcome to the dojo. You will build a Transformer decoder by hand, one kata at a time.\n\n"
        f"{board(course)}\n"
        f"Start with {shorten(course.stub(first))}: its docstring is the statement.\n"
        f"Then run:  grade {first.name}      stuck?  grade --hint {first.name}\n"
    )
