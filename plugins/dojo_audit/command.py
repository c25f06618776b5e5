"""Run `kata audit` and `kata import`: their options, progress, formats and exit codes."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import click

from dojo_audit import report
from dojo_audit.audit import Auditor, Options
from dojo_audit.homework import open_homework
from dojo_audit.pool import ServerPool
from dojo_audit.report import Audit
from dojo_audit.writing import draft_mistakes, write_tests
from grader.errors import CourseError, reason_of
from grader.texts.escaping import one_line
from grader.texts.phrases import counted

if TYPE_CHECKING:
    from dojo_audit.drafting import KataOfHomework  # imports what writes katas, which an audit does without

MOST_SHOWN, MOST_TESTS = 10, 60  # survivors for which a test is written, to be shown or for a file
WIDEST_PROGRESS = 78  # characters of a line of progress


def audit_homework(folder: Path, options: Options) -> int:
    """Audit a homework and print or write the report. Return the exit code: 1 if too few are caught."""
    for path in (options.output, options.tests_file, options.mistakes_file):
        if path is not None and not path.absolute().parent.is_dir():
            raise CourseError(f"{path} cannot be written: no such folder.")
    if options.submissions is not None and not options.submissions.exists():
        raise CourseError(f"There is no folder or zip file {options.submissions}.")
    homework = open_homework(folder, options.solution, options.tests, options.replaces)
    progress, code = _Progress(), ""
    with ServerPool(homework, options.isolation, options.at_once) as pool:
        auditor = Auditor(pool, options, progress.say)
        with _stoppable(auditor):
            auditor.try_mutants()
            if options.submissions is not None:
                auditor.try_submissions(options.submissions)
            code = write_tests(auditor, MOST_SHOWN if options.tests_file is None else MOST_TESTS)
        audit = auditor.audit()
        progress.end()
        if options.tests_file is not None:
            _write_or_say(options.tests_file, code, "test", audit)
        if options.mistakes_file is not None:
            drafts = draft_mistakes(audit.survivors, homework.sources)
            _write_or_say(options.mistakes_file, drafts, "mistake", audit)
    _show(audit, options)
    return _exit_code(audit, options)


def import_homework(root: Path, folder: Path, options: Options, wanted: KataOfHomework) -> None:
    """Audit a homework, write a function of it into a course as the draft of a kata, and print what was
    taken over. Raises CourseError, before anything is written, if that cannot be graded."""
    from dojo_audit.drafting import exercise_of
    from dojo_authoring.scaffold.imported import write_imported_kata

    homework = open_homework(folder, options.solution, options.tests, options.replaces)
    progress = _Progress()
    with ServerPool(homework, options.isolation, options.at_once) as pool:
        auditor = Auditor(pool, options, progress.say)
        auditor.try_mutants()
        exercise = exercise_of(auditor, wanted)
        progress.end()
    for path in write_imported_kata(root, wanted.track, wanted.name, exercise):
        click.echo(f"wrote {path}")
    calls = counted(len(exercise.calls), "call")
    click.echo(f"taken over from {homework.label}: {calls} of `{exercise.function}`")
    click.echo(report.headline(auditor.audit()))
    for note in auditor.notes:
        click.echo(f"note: {note}")


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
            click.echo(f"\r{one_line(text, WIDEST_PROGRESS):<{WIDEST_PROGRESS}}", nl=False, err=True)

    def end(self) -> None:
        self.say("")
        if self.is_shown:
            click.echo("\r", nl=False, err=True)


def _show(audit: Audit, options: Options) -> None:
    if options.form == "terminal":
        text = report.terminal(audit, names=options.names)
    else:
        text = report.FORMATS[options.form](audit)
    if options.output is None:
        click.echo(text, nl=False)
        return
    _write(options.output, text)
    click.echo(report.headline(audit))


def _write_or_say(path: Path, code: str, what: str, audit: Audit) -> None:
    """Write a file, or say on standard error why there is nothing to write; a file that is there stays."""
    if code:
        _write(path, code)
        return
    missed = audit.count("survived")
    shown = counted(missed, "wrong version")
    why = "no wrong version is shown to be missed" if not missed else f"none could be made of {shown} missed"
    click.echo(f"{path}: nothing is written, since {why}; there is no {what}.", err=True)


def _write(path: Path, text: str) -> None:
    try:
        path.write_text(text, encoding="utf-8")
    except OSError as error:
        raise CourseError(f"{path} cannot be written: {reason_of(error)}.") from None


def _exit_code(audit: Audit, options: Options) -> int:
    """Return 1 if fewer are caught than `--at-least` asks for, if too few were tried to say, or if the audit
    was stopped before its end. Where much is undecided, the lower end of the interval counts, and a line on
    standard error says so."""
    if options.at_least is None:
        return 0
    if audit.interval:
        low, high = audit.interval
        click.echo(
            f"--at-least {options.at_least:g} is compared with {low:.0%}, the lower end of {low:.0%} to"
            f" {high:.0%}: {audit.undecided} of {len(audit.mutants)} are undecided.",
            err=True,
        )
    return 1 if audit.least is None or 100 * audit.least < options.at_least or not audit.is_whole else 0
