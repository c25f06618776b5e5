"""`grade --watch`: grade a file whenever it is saved, with workers that stay open in between."""

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
    course: Course, paths: list[tuple[KataInfo, Path]], console: Console, grader_options: dict[str, Any]
) -> int:
    """Grade all files now and each file after a change, until Ctrl-C; return the exit code."""
    needs, source = open_needs(course, paths, **grader_options)
    with closing(source):
        try:
            _grade_round(needs, paths, console)
            folders = {str(path.resolve().parent) for _, path in paths}
            for changes in watch_files(*folders, debounce=60, step=20, raise_interrupt=True):
                changed = {Path(name).resolve() for _, name in changes}
                touched = [(info, path) for info, path in paths if path.resolve() in changed]
                if touched:
                    _grade_round(needs, touched, console)
        except KeyboardInterrupt:
            click.echo("\nStopped watching.")
    return 0


def _grade_round(needs: Needs, paths: list[tuple[KataInfo, Path]], console: Console) -> None:
    began = time.monotonic()
    katas = []
    console.begin_round()
    for info, path in paths:
        katas.append(needs.grade(info, path))
        console.finish_kata(katas[-1], path)
    grader = needs.grader
    console.finish(Report(tuple(katas), grader.device, grader.isolation, grader.provenance))
    click.echo(f"{time.monotonic() - began:.2f} s. Watching; Ctrl-C ends.", err=True)
