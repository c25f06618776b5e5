"""`grade --watch`: grade a file whenever it is saved, with workers that stay open in between."""

from __future__ import annotations

import time
from contextlib import closing
from pathlib import Path

import click

from grader.cli.console import Console
from grader.cli.options import GradeOptions
from grader.cli.saved_files import POLL_SECONDS, SavedFiles
from grader.course.catalog import Course, KataInfo
from grader.grading.prerequisites import Needs, open_needs
from grader.report import Report
from grader.worker.client import Outdated


def watch(course: Course, paths: list[tuple[KataInfo, Path]], console: Console, options: GradeOptions) -> int:
    """Grade all files now and each file after a change, until Ctrl-C; return the exit code."""
    saved, due = SavedFiles(path for _, path in paths), paths
    needs, source = open_needs(course, paths, **options.grader_options)
    needs.grader.is_outdated = lambda: saved.is_pending
    with closing(source):
        try:
            while True:
                if due and _grade_round(needs, due, console, options.search_seconds):
                    due = []
                time.sleep(POLL_SECONDS)
                changed = saved.take()
                due = [one for one in paths if one in due or one[1] in changed]
        except KeyboardInterrupt:
            click.echo("\nStopped watching.")
    return 0


def _grade_round(needs: Needs, paths: list[tuple[KataInfo, Path]], console: Console, seconds: float) -> bool:
    """Grade the files and print the reports; return False if a file was saved meanwhile."""
    began = time.monotonic()
    katas = []
    console.begin_round()
    try:
        for info, path in paths:
            kata = needs.grade(info, path)
            katas.append(needs.grader.locate(kata, console.search(seconds, needs.grader.is_outdated)))
            console.finish_kata(katas[-1], path)
    except Outdated:
        return False
    grader = needs.grader
    console.finish(Report(tuple(katas), grader.device, grader.isolation, grader.provenance))
    click.echo(f"{time.monotonic() - began:.2f} s. Watching; Ctrl-C ends.", err=True)
    return True
