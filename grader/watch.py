"""`grade --watch`: the verdict as soon as a file is saved. Workers stay warm between."""

from __future__ import annotations

import time
from contextlib import closing
from pathlib import Path

import click
from watchfiles import watch as watch_files

from grader.catalog import Card, Course
from grader.grading import Grader
from grader.report import Report
from grader.session import PASSED, Speaker, Wishes, grade_file, open_grader


def watch(course: Course, paths: list[tuple[Card, Path]], wishes: Wishes) -> int:
    """Grade at once and after every change, until Ctrl-C."""
    grader, source = open_grader(course, [card for card, _ in paths], wishes.device)
    with closing(source):
        try:
            _round(grader, paths, wishes)
            folders = {str(path.resolve().parent) for _, path in paths}
            for changes in watch_files(*folders, debounce=60, step=20, raise_interrupt=True):
                changed = {Path(name).resolve() for _, name in changes}
                touched = [(card, path) for card, path in paths if path.resolve() in changed]
                if touched:
                    _round(grader, touched, wishes)
        except KeyboardInterrupt:
            click.echo("\nStopped watching.")
    return PASSED


def _round(grader: Grader, paths: list[tuple[Card, Path]], wishes: Wishes) -> None:
    say = Speaker(wishes, len(paths))
    began = time.monotonic()
    katas = []
    for card, path in paths:
        katas.append(grade_file(grader, card, path))
        say.done(katas[-1])
    say.end(Report(tuple(katas), wishes.device, grader.isolation))
    click.echo(f"{time.monotonic() - began:.2f} s. Watching; Ctrl-C ends.", err=True)
