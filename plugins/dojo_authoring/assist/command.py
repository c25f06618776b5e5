"""Serve the katas of a course to an author's assistant: `kata assist`."""

from __future__ import annotations

import asyncio
import sys

import click

from grader.cli.options import NO_KATAS, PASSED
from grader.cli.serving import serve_until_interrupted
from grader.course.catalog import Course, CourseError, is_release
from grader.plugins import libraries_told
from grader.processes.confinement import available

MISSING = "The assistant of an author needs the package mcp, which is not installed"
PACKAGE = "mcp>=2.3"
OF_A_STUDENT = "This is a student's copy of the course. An assistant of authors works in the course itself."
NO_SOLUTIONS = "No kata has a reference here. An assistant of authors works where the solutions are."
AT_A_TERMINAL = "An assistant starts this command and talks to it; docs/assist.md says how. Ctrl-C ends it."
NO_SANDBOX = (
    "This system has no sandbox to run drafts in; --isolation none runs them with your rights, in limits of"
    " time and memory alone."
)


def run_assistant(course: Course, isolation: str) -> int:
    """Serve until the client closes standard input, and return the exit code. Raises CourseError if the
    course is empty, is a student's or has no solutions, if the SDK is missing, and if there is no sandbox for
    drafts although `isolation` requires one."""
    if not course.katas:
        raise CourseError(NO_KATAS)
    if is_release(course.root):
        raise CourseError(OF_A_STUDENT)
    if not any(course.solution(info, "reference").is_file() for info in course.katas.values()):
        raise CourseError(NO_SOLUTIONS)
    if isolation != "none" and not available().is_whole:
        raise CourseError(NO_SANDBOX)
    with libraries_told(MISSING, PACKAGE):
        from dojo_authoring.assist.server import Assistant
    if sys.stdin.isatty():
        click.echo(AT_A_TERMINAL, err=True)

    async def serve() -> None:
        assistant = Assistant(course.root, isolation)
        await serve_until_interrupted(assistant.server().run_stdio_async(), assistant.end)

    asyncio.run(serve())
    return PASSED
