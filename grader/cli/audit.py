"""Run `kata audit`: its options, its progress, its formats and its exit code."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import click

from grader.course.catalog import CourseError
from grader.errors import reason_of
from grader.extra.authoring.audit import record
from grader.extra.authoring.audit.homework import open_homework
from grader.extra.authoring.audit.pool import Pool
from grader.extra.authoring.audit.record import Audit
from grader.extra.authoring.audit.run import Auditor, Options
from grader.extra.authoring.audit.submissions import try_submissions
from grader.extra.authoring.audit.writing import draft_mistakes, write_tests
from grader.formats.account import one_line

MOST_SHOWN, MOST_TESTS = 10, 60  # survivors for which a test is written, to be shown or for a file
WIDEST = 78  # characters of a line of progress


@dataclass(frozen=True)
class AuditOptions:
    """The options of `kata audit`."""

    solution: tuple[Path, ...] = ()
    tests: str = ""
    replaces: Path | None = None
    submissions: Path | None = None
    names: bool = False
    mutants: int = 300
    seconds: float = 600.0
    isolation: str = "best"
    at_once: int = 0
    fresh: bool = False
    form: str = "terminal"
    output: Path | None = None
    at_least: float | None = None
    tests_file: Path | None = None
    mistakes_file: Path | None = None


def audit_homework(folder: Path, options: AuditOptions) -> int:
    """Audit a homework and print or write the report. Return the exit code: 1 if too few are caught."""
    for path in (options.output, options.tests_file, options.mistakes_file):
        if path is not None and not path.absolute().parent.is_dir():
            raise CourseError(f"{path} cannot be written: no such folder.")
    if options.submissions is not None and not options.submissions.exists():
        raise CourseError(f"There is no folder or zip file {options.submissions}.")
    homework = open_homework(folder, options.solution, options.tests, options.replaces)
    settings = Options(options.seconds, options.mutants, options.isolation, options.at_once, options.fresh)
    progress, code = _Progress(), ""
    with Pool(homework, options.isolation, options.at_once) as pool:
        auditor = Auditor(pool, settings, progress.say)
        with _stoppable(auditor):
            auditor.try_mutants()
            if options.submissions is not None:
                try_submissions(auditor, options.submissions)
            code = write_tests(auditor, MOST_SHOWN if options.tests_file is None else MOST_TESTS)
        audit = auditor.audit()
        progress.end()
        if options.tests_file is not None:
            _write(options.tests_file, code)
        if options.mistakes_file is not None:
            _write(options.mistakes_file, draft_mistakes(audit.survivors, homework.sources))
    _show(audit, options)
    return _exit_code(audit, options)


@contextmanager
def _stoppable(auditor: Auditor) -> Iterator[None]:
    """Keep what was found when Ctrl-C is pressed."""
    try:
        yield
    except KeyboardInterrupt:
        auditor.is_whole = False
        auditor.notes.append("Stopped. Run the same command again to go on.")


class _Progress:
    """One line on a terminal, which is written over; nothing elsewhere."""

    def __init__(self) -> None:
        self.is_shown = sys.stderr.isatty()

    def say(self, text: str) -> None:
        if self.is_shown:
            click.echo(f"\r{one_line(text, WIDEST):<{WIDEST}}", nl=False, err=True)

    def end(self) -> None:
        self.say("")
        if self.is_shown:
            click.echo("\r", nl=False, err=True)


def _show(audit: Audit, options: AuditOptions) -> None:
    if options.form == "terminal":
        text = record.terminal(audit, options.names)
    else:
        text = record.FORMATS[options.form](audit)
    if options.output is None:
        click.echo(text, nl=False)
        return
    _write(options.output, text)
    click.echo(record.headline(audit))


def _write(path: Path, text: str) -> None:
    try:
        path.write_text(text, encoding="utf-8")
    except OSError as error:
        raise CourseError(f"{path} cannot be written: {reason_of(error)}.") from None


def _exit_code(audit: Audit, options: AuditOptions) -> int:
    """Return 1 if fewer are caught than `--at-least` asks for, or if the audit was stopped before its end."""
    if options.at_least is None:
        return 0
    return 1 if 100 * audit.share < options.at_least or not audit.is_whole else 0
