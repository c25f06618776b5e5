"""`grade --watch`: the verdict as soon as a file is saved. Workers stay warm between."""

from __future__ import annotations

import time
from contextlib import closing
from pathlib import Path
from typing import Any

import click
from watchfiles import watch as watch_files

from grader.cli.console import Console
from grader.course.catalog import Course, KataInfo
from grader.grading.prerequisites import Needs, open_needs
from grader.report import Report


def watch(
    course: Course, paths: list[tuple[KataInfo, Path]], console: Console, for_the_grader: dict[str, Any]
) -> int:
    """Grade at once and after every change, until Ctrl-C."""
    needs, source = open_needs(course, paths, **for_the_grader)
    with closing(source):
        try:
            _round(needs, paths, console)
            folders = {str(path.resolve().parent) for _, path in paths}
            for changes in watch_files(*folders, debounce=60, step=20, raise_interrupt=True):
                changed = {Path(name).resolve() for _, name in changes}
                touched = [(info, path) for info, path in paths if path.resolve() in changed]
                if touched:
                    _round(needs, touched, console)
        except KeyboardInterrupt:
            click.echo("\nStopped watching.")
    return 0


def _round(needs: Needs, paths: list[tuple[KataInfo, Path]], console: Console) -> None:
    began = time.monotonic()
    katas = []
    for info, path in paths:
        katas.append(needs.grade(info, path))
        console.done(katas[-1])
    grader = needs.grader
    console.end(Report(tuple(katas), grader.device, grader.isolation, grader.provenance))
    click.echo(f"{time.monotonic() - began:.2f} s. Watching; Ctrl-C ends.", err=True)
