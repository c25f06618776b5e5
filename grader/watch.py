"""`grade --watch`: the verdict as soon as a file is saved. Workers stay warm between."""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import click
from watchfiles import watch as watch_files

from grader.catalog import Card, Course
from grader.grading import Grader
from grader.opening import Reader, grade_file, open_grader
from grader.report import Report
from grader.speaker import Speaker


def watch(
    course: Course,
    paths: list[tuple[Card, Path]],
    say: Speaker,
    for_the_grader: dict[str, Any],
    reader_of: Callable[[Path], Reader],
) -> int:
    """Grade at once and after every change, until Ctrl-C."""
    grader, source = open_grader(course, [card for card, _ in paths], **for_the_grader)
    with closing(source):
        try:
            _round(grader, paths, say, reader_of)
            folders = {str(path.resolve().parent) for _, path in paths}
            for changes in watch_files(*folders, debounce=60, step=20, raise_interrupt=True):
                changed = {Path(name).resolve() for _, name in changes}
                touched = [(card, path) for card, path in paths if path.resolve() in changed]
                if touched:
                    _round(grader, touched, say, reader_of)
        except KeyboardInterrupt:
            click.echo("\nStopped watching.")
    return 0


def _round(
    grader: Grader, paths: list[tuple[Card, Path]], say: Speaker, reader_of: Callable[[Path], Reader]
) -> None:
    began = time.monotonic()
    katas = []
    for card, path in paths:
        katas.append(grade_file(grader, card, path, reader_of(path)))
        say.done(katas[-1])
    say.end(Report(tuple(katas), grader.device, grader.isolation, grader.provenance))
    click.echo(f"{time.monotonic() - began:.2f} s. Watching; Ctrl-C ends.", err=True)
