"""The terminal output of `grade`: reports on standard output, progress on standard error."""

from __future__ import annotations

import os
import sys

import click

from grader.cli.output import ReportOutput
from grader.course.catalog import KataInfo
from grader.formats import terminal
from grader.report import KataReport, Report
from grader.report_texts import harmless


class Console:
    """Prints reports and progress while `grade` runs."""

    def __init__(self, output: ReportOutput, total: int, shows_output: bool = False) -> None:
        self.output, self.total, self.number = output, total, 0
        self.shows_output = shows_output
        self.live = output.is_live
        self.colour = sys.stdout.isatty() and "NO_COLOR" not in os.environ
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
            click.echo(terminal.render_kata(kata, self.colour, self.shows_output), color=self.colour)

    def finish(self, report: Report) -> None:
        if self.live and len(report.katas) > 1:
            click.echo(terminal.render_summary(report, self.colour), color=self.colour, nl=False)
        self.output.write(report, self.shows_output)
