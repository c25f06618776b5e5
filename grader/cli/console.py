"""The terminal output of `grade`: reports on standard output, progress on standard error."""

from __future__ import annotations

import os
import shutil
import sys
from dataclasses import replace

import click

from grader.cli.options import GradeOptions
from grader.cli.output import ReportOutput
from grader.course.catalog import KataInfo
from grader.formats import terminal
from grader.formats.terminal import View
from grader.report import KataReport, Report
from grader.report_texts import harmless

NARROWEST, WIDEST = 60, 110  # columns


def view_of(options: GradeOptions) -> View:
    """Return how reports are shown on this terminal, or in 80 columns without colour if it is none."""
    is_terminal = sys.stdout.isatty()
    width = shutil.get_terminal_size().columns if is_terminal else View.width
    return View(
        width=max(NARROWEST, min(width, WIDEST)),
        colour=is_terminal and "NO_COLOR" not in os.environ,
        ascii_only=options.ascii_only or "utf" not in (sys.stdout.encoding or "utf-8").lower(),
        detail=options.detail,
        shows_output=options.show_output,
    )


class Console:
    """Prints reports and progress while `grade` runs."""

    def __init__(self, output: ReportOutput, total: int, view: View) -> None:
        self.output, self.total, self.number = output, total, 0
        self.view = view
        self.live = output.is_live
        self.separates = view.detail not in ("brief", "snippet")  # whether an empty line follows a report
        self.shows_progress = sys.stderr.isatty()

    def start_kata(self, info: KataInfo) -> None:
        self.number += 1
        if self.shows_progress:
            click.echo(f"\r\x1b[K{self.number}/{self.total} {info.name} …", nl=False, err=True)

    def finish_kata(self, kata: KataReport) -> None:
        if self.shows_progress:
            click.echo("\r\x1b[K", nl=False, err=True)
        if kata.status == "error":
            click.echo(harmless(kata.message, one_line=True), err=True)
        elif self.live:
            click.echo(terminal.render_kata(kata, self.view), color=self.view.colour, nl=self.separates)

    def finish(self, report: Report) -> None:
        if self.live and len(report.katas) > 1:
            click.echo(terminal.render_summary(report, self.view), color=self.view.colour, nl=False)
        self.output.write(report, replace(self.view, colour=False))
