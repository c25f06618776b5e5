"""Show what the course demonstrates with the student's functions, for `grade --see`."""

from __future__ import annotations

from pathlib import Path

import click

from grader.cli.console import view_of
from grader.cli.options import PAGE, PASSED, GradeOptions
from grader.course.catalog import Course, CourseError, KataInfo
from grader.course.files import Folder, NotReadable, write_whole
from grader.course.loading import from_here
from grader.course.state import CourseState
from grader.errors import reason_of
from grader.see import page, text
from grader.see.answers import open_answers
from grader.see.demonstration import Demonstration, open_demonstration
from grader.see.recording import read_recording
from grader.see.sections import Section


def see(course: Course, options: GradeOptions) -> int:
    """Write the page, and print the text if it is asked for; return the exit code. Raises CourseError for a
    course that shows nothing, a section that does not exist and a file that cannot be written."""
    demonstration = open_demonstration(course)
    names = options.names or tuple(demonstration.titles)
    unknown = [name for name in names if name not in demonstration.titles]
    if unknown:
        there = ", ".join(demonstration.titles)
        raise CourseError(f"There is no section `{unknown[0]}` to see; say {there}.")
    whole = _run(course, demonstration, options)
    sections = [section for section in whole if section.id in names]
    if options.text:
        view = view_of(options)
        shown = text.render(sections, view.width, view.paint, view.ascii_only)
        click.echo(shown, nl=False, color=view.colour)
    else:
        click.echo("\n".join(whole[0].texts))
    if options.output or not options.text:
        path = write_page(course, options.output, page.render(demonstration, sections).encode())
        click.echo(f"Written to {from_here(path)}; open it in a browser.", err=options.text)
    return PASSED


def _run(course: Course, demonstration: Demonstration, options: GradeOptions) -> list[Section]:
    """Run the student's functions and return all sections."""
    katas = demonstration.katas
    mine, settings = options.mine, options.grader_settings
    with open_answers(course, katas, mine, options.remembers, show_start, settings) as answers:
        return demonstration.show(answers, read_recording(demonstration), options.tokens)


def show_start(info: KataInfo) -> None:
    """Say which file is graded before it is used."""
    click.echo(f"grading {info.name} …", err=True)


def write_page(course: Course, output: str | None, page: bytes) -> Path:
    """Write the page where a person wants it, or beside what is remembered, and return where it is."""
    path = Path(output) if output else CourseState(course).folder / PAGE
    try:
        if output:
            write_whole(path, page)
        else:
            with Folder(path.parent, makes=True, follows_links=False) as folder:
                folder.write(path.name, data=page)
    except NotReadable as error:
        raise CourseError(f"The page cannot be written: {path.parent.name} {error.strerror}.") from None
    except OSError as error:
        raise CourseError(f"The page cannot be written to {path}: {reason_of(error)}.") from None
    return path
