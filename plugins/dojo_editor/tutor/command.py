"""Serve the course to an assistant: `grade mcp`."""

from __future__ import annotations

import asyncio
import sys

import click

from dojo_page.judges import Judges
from dojo_page.messages import JudgeTerms
from grader.cli.options import NO_KATAS, PASSED, GradeOptions
from grader.cli.serving import serve_until_interrupted
from grader.course.catalog import Course, CourseError
from grader.course.syllabus import SYLLABUS_FILE
from grader.plugins import libraries_told

MISSING = "The tutor needs the package mcp, which is not installed"
PACKAGE = "mcp>=2.3"
FORBIDDEN = f'This course allows no assistant: {SYLLABUS_FILE.as_posix()} says assistants = "none".'
AT_A_TERMINAL = "An assistant starts this command and talks to it; docs/tutor.md says how. Ctrl-C ends it."


def run_tutor(course: Course, options: GradeOptions) -> int:
    """Serve until the client closes standard input, and return the exit code. Raises CourseError if the
    course is empty or allows no assistant, or the SDK is missing."""
    if not course.katas:
        raise CourseError(NO_KATAS)
    if course.syllabus.assistants == "none":
        raise CourseError(FORBIDDEN)
    with libraries_told(MISSING, PACKAGE):
        from dojo_editor.tutor.server import Tutor
    if sys.stdin.isatty():
        click.echo(AT_A_TERMINAL, err=True)

    async def serve() -> None:
        judges = Judges(JudgeTerms.of(course, options))
        await serve_until_interrupted(Tutor(course, judges).server().run_stdio_async(), judges.end)

    asyncio.run(serve())
    return PASSED
