"""Grade files for the command `grade`: choose the files, print each report, return the exit code."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType

import click

from grader.cli.console import Console, linked, milestones, renamed_text, view_of
from grader.cli.due_reviews import due_line
from grader.cli.kata_list import welcome
from grader.cli.options import FAILED, NO_KATAS, PASSED, UNGRADABLE, GradeOptions, columns
from grader.cli.output import ReportOutput
from grader.cli.saved_files import POLL_SECONDS, SavedFiles
from grader.course.catalog import Course, CourseError, KataInfo, shorten
from grader.course.state import CourseState
from grader.course.submission import SubmissionRejected, is_notebook, katas_in
from grader.grading.grader import Graded, isolation_of
from grader.grading.session import Session, open_session, require_library
from grader.grading.standings import after_single_pass, first_needed, is_begun, next_kata, standings
from grader.plugins import PARTS_GROUP, load
from grader.report import Isolation, KataReport, Report
from grader.texts.bounds import bounded
from grader.texts.escaping import one_line
from grader.texts.wrapping import paragraphs
from grader.worker.client import Outdated


def grade_submission(course: Course, infos: list[KataInfo], options: GradeOptions) -> int:
    """Grade the files of a submission, however they are laid out, and return the exit code."""
    laid_out = load(PARTS_GROUP, "laid_out", "`--submission`")
    assert options.submission is not None
    if options.file or options.exercises or options.watch:
        raise CourseError("`--submission` goes without --file, --exercises and --watch.")
    with laid_out(course, options.submission) as laid:
        for note in laid.notes:
            click.echo(one_line(note), err=True)
        return grade_files(laid.course, infos, options, laid.notes, laid.unread)


def grade_files(
    course: Course,
    infos: list[KataInfo],
    options: GradeOptions,
    notes: Sequence[str] = (),
    unread: Mapping[str, str] = MappingProxyType({}),
) -> int:
    """Grade the named katas, or all that are begun, and return the exit code. `notes` are for the host;
    `unread` says by kata why what was handed in could not be read."""
    output = ReportOutput(options.forms, options.output)
    paths = _chosen_files(course, infos, options, unread)
    if not paths:
        return _show_welcome(course, options, output, notes)
    require_library([info for info, _ in paths] if infos or options.file else [], options.device)
    console = Console(output, len(paths), view_of(options))
    had_passed = len(paths) == 1 and options.remembers and _has_passed(course, paths[0][0])
    with open_session(
        course, paths, remembers=options.remembers, settings=options.grader_settings
    ) as session:
        if options.watch:
            return watch(session, paths, console, options.search_seconds)
        report = _grade_round(session, paths, console, options.search_seconds, notes, unread)
        if output.is_live and len(paths) == 1 and options.remembers:
            _say_what_is_next(course, paths[0][0], report, console, is_first=not had_passed)
        if output.is_live and options.remembers and (due := due_line(course, "Begin: grade review")):
            click.echo(paragraphs(due, console.view.width))
        return exit_code(report)


def _has_passed(course: Course, info: KataInfo) -> bool:
    return CourseState(course).kata(info.name).has_passed


def _say_what_is_next(
    course: Course, info: KataInfo, report: Report, console: Console, *, is_first: bool
) -> None:
    """After a single kata that passes, print what a first pass lets one see, and the kata that comes next."""
    if report.katas[0].status != "passed" or not console.separates:
        return
    seen: list[str] = []
    if is_first:
        known = CourseState(course).katas()
        seen = milestones(course, info.name, [name for name in known if known[name].has_passed])
    text, files = after_single_pass(course, info)
    text = "\n".join(paragraphs(line, console.view.width) for line in [*seen, text])
    click.echo(linked(text, console.view, files))


def _chosen_files(
    course: Course, infos: list[KataInfo], options: GradeOptions, unread: Mapping[str, str]
) -> list[tuple[KataInfo, Path]]:
    """Return the files to grade: the given one, those of the named katas, all, or all that are begun."""
    if options.file is not None:
        info = _only_info(course, infos, options.file)
        if not os.path.lexists(options.file):  # a link that leads nowhere is the student's file
            raise CourseError(f"There is no file {options.file}. {renamed_text(options.file)}".rstrip())
        return [(info, options.file)]
    if options.names:
        notebooks = [Path(name) for name in options.names if is_notebook(Path(name))]
        return [(info, course.stub(info)) for info in infos] + _katas_of_notebooks(course, notebooks)
    stubs = [(info, course.stub(info)) for info in course.katas.values()]
    if options.all_katas:
        return stubs
    return [
        (info, path)
        for info, path in stubs
        if info.name in unread or (os.path.lexists(path) and is_begun(info, path))
    ]


def _katas_of_notebooks(course: Course, notebooks: list[Path]) -> list[tuple[KataInfo, Path]]:
    """Return the katas that notebooks answer. Raises SubmissionRejected if a notebook answers none."""
    found = []
    for file in notebooks:
        names = katas_in(file, course.katas)
        if not names:
            text = f"{shorten(file)} answers no kata: no cell begins with %%kata and a name."
            raise SubmissionRejected(text)
        found += [(course.katas[name], file) for name in names]
    return found


def _only_info(course: Course, infos: list[KataInfo], file: Path) -> KataInfo:
    if len(infos) == 1:
        return infos[0]
    if not infos and file.stem in course.katas:
        return course.katas[file.stem]
    name = next(iter(course.katas), "NAME")
    raise CourseError(f"`--file` goes with the name of one kata: grade {name} --file my_{name}.py.")


def watch(
    session: Session, paths: list[tuple[KataInfo, Path]], console: Console, search_seconds: float
) -> int:
    """Grade all files now and each file after a change, until Ctrl-C; return the exit code."""
    saved, pending = SavedFiles(path for _, path in paths), paths
    try:
        while True:
            if pending:
                with suppress(Outdated):  # a file was saved meanwhile
                    began = time.monotonic()
                    console.begin_round()
                    _grade_round(
                        session, pending, console, search_seconds, is_outdated=lambda: saved.is_pending
                    )
                    click.echo(f"{time.monotonic() - began:.2f} s. Watching; Ctrl-C ends.", err=True)
                    pending = []
            time.sleep(POLL_SECONDS)
            changed = saved.take()
            pending = [one for one in paths if one in pending or one[1] in changed]
    except KeyboardInterrupt:
        click.echo("\nStopped watching.")
    return PASSED


def _grade_round(  # noqa: PLR0913  # a round that is watched has the first four alone
    session: Session,
    paths: list[tuple[KataInfo, Path]],
    console: Console,
    search_seconds: float,
    notes: Sequence[str] = (),
    unread: Mapping[str, str] = MappingProxyType({}),
    is_outdated: Callable[[], bool] = lambda: False,
) -> Report:
    """Grade each file, print each report as it is made, and write the whole report at the end. Raises
    Outdated."""
    grader, katas, found = session.grader, list[KataReport](), list[Graded]()
    for info, path in paths:
        console.start_kata(info)
        console.waits = first_needed(session.course, info) if path == session.course.stub(info) else ""
        graded = _unread(info, unread) or session.grade(info, path, is_outdated)
        found.append(graded)
        console.show_verdict(graded.report, path, is_searched=graded.is_searched and search_seconds > 0)
        kata = graded.locate(console.search(search_seconds, is_outdated)).report
        is_named = path != session.course.stub(info)
        katas.append(replace(kata, file=shorten(path)) if is_named else kata)
        console.finish_kata(graded.report, kata, path)
    isolation = isolation_of(found) or Isolation()
    report = Report(tuple(katas), grader.device, isolation, grader.provenance, tuple(notes))
    console.finish(report)
    return report


def _unread(info: KataInfo, unread: Mapping[str, str]) -> Graded | None:
    """Return the grading of a kata whose file could not be read; None if it could."""
    if info.name not in unread:
        return None
    return Graded(bounded(replace(info.unjudged("error", unread[info.name]), unread=True)))


def exit_code(report: Report) -> int:
    """Return 0 if all katas passed, 1 if one did not, 2 if a file could not be graded."""
    statuses = {kata.status for kata in report.katas}
    if "error" in statuses:
        return UNGRADABLE
    return PASSED if statuses <= {"passed"} else FAILED


def _show_welcome(course: Course, options: GradeOptions, output: ReportOutput, notes: Sequence[str]) -> int:
    """Print the welcome text, or write a report of unstarted katas if a file format was requested."""
    if output.forms:
        empty = [info.unjudged("not_started") for info in course.katas.values()]
        output.write(Report(tuple(empty), options.device, Isolation(), notes=tuple(notes)))
        return PASSED
    first = next(iter(course.katas.values()), None)
    if first is None:
        raise CourseError(NO_KATAS)
    following = next_kata(course, standings(course))
    click.echo(welcome(course, following.info if following else first, width=columns()), nl=False)
    return PASSED
