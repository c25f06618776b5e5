"""`kata preview`: show what students read of a kata, in the terminal, on a page and in a notebook."""

from __future__ import annotations

import ast
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import click

from dojo_authoring.statement import to_markdown
from dojo_authoring.verify.static_checks import missing_files
from grader.answer_keys.answers import spread
from grader.course.catalog import Course, CourseError, KataInfo, shorten
from grader.course.files import parse, write_whole
from grader.course.known_solutions import standalone_sources
from grader.course.submission import Submission, SubmissionRejected, decoded, read_bytes
from grader.formats import html, terminal
from grader.grading.session import open_grader
from grader.report import KataReport, Report

SHOWN = 3  # mistakes whose reports are shown: the first, the middle and the last one of the file


def preview(course: Course, info: KataInfo, folder: Path) -> None:
    """Print the statement and the reports on some mistakes, and write page and notebook into the folder."""
    if missing := missing_files(course, info):
        raise CourseError(missing[0])
    stub = _stub(course, info)
    click.echo(f"{shorten(course.stub(info))} is what a student opens:\n\n{stub}")
    reports = _reports(course, info)
    for name, report in reports.items():
        click.echo(f"\n{name} would read:\n\n{terminal.render_kata(report)}", nl=False)
    for path in _write(course, info, stub, folder, list(reports.values())):
        click.echo(f"wrote {shorten(path)}")


def _reports(course: Course, info: KataInfo) -> dict[str, KataReport]:
    """Return the reports on SHOWN mistakes by the mistake's name; none if there are no mistakes yet."""
    if not course.mistakes(info):
        return {}
    grader, source = open_grader(course, [info])
    with closing(source):
        sources = standalone_sources(course, info, "mistakes")
        shown = {name: Submission(info, sources[name], f"{name}.py") for name in spread(list(sources), SHOWN)}
        graded = {name: grader.grade(submission).report for name, submission in shown.items()}
    return {name: replace(report, output="") for name, report in graded.items()}


def _stub(course: Course, info: KataInfo) -> str:
    """Return the file that students begin with. Raises CourseError, and KataError for a syntax error."""
    path = course.stub(info)
    try:
        stub = decoded(read_bytes(path, shorten(path)), shorten(path))
    except SubmissionRejected as error:
        raise CourseError(str(error)) from None
    parse(path)
    return stub


def _write(course: Course, info: KataInfo, stub: str, folder: Path, reports: list[KataReport]) -> list[Path]:
    """Write the statement as Markdown, the page of the reports and, with nbformat, the notebook."""
    statement = to_markdown(ast.get_docstring(ast.parse(stub)) or info.title)
    texts = {f"{info.name}.md": statement, f"{info.name}.ipynb": _notebook(course, info)}
    texts |= {f"{info.name}.html": html.render(Report(tuple(reports)))} if reports else {}
    for name, text in texts.items():
        if text:
            write_whole(folder / name, text.encode())
    return [folder / name for name, text in texts.items() if text]


def _notebook(course: Course, info: KataInfo) -> str:
    """Return the notebook as students get it, without solutions; empty if nbformat is not installed."""
    try:
        from dojo_notebooks.notebook import notebook_of

        return notebook_of(course, [info], solved=False)
    except ImportError:
        return ""
