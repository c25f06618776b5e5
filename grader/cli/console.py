"""What `grade` says: reports on standard output, progress on standard error."""

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
    """Says what is going on: reports on standard output, progress on standard error."""

    def __init__(self, delivery: ReportOutput, total: int, shows_output: bool = False) -> None:
        self.delivery, self.total, self.number = delivery, total, 0
        self.shows_output = shows_output
        self.live = delivery.is_live
        self.colour = sys.stdout.isatty() and "NO_COLOR" not in os.environ
        self.shows_progress = sys.stderr.isatty()

    def beginning(self, info: KataInfo) -> None:
        self.number += 1
        if self.shows_progress:
            click.echo(f"\r\x1b[K{self.number}/{self.total} {info.name} …", nl=False, err=True)

    def done(self, kata: KataReport) -> None:
        if self.shows_progress:
            click.echo("\r\x1b[K", nl=False, err=True)
        if kata.status == "error":
            click.echo(harmless(kata.message, one_line=True), err=True)
        elif self.live:
            click.echo(terminal.render_kata(kata, self.colour, self.shows_output), color=self.colour)

    def end(self, report: Report) -> None:
        if self.live and len(report.katas) > 1:
            click.echo(terminal.render_summary(report, self.colour), color=self.colour, nl=False)
        self.delivery.deliver(report, self.shows_output)
