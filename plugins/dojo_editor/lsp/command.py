"""Serve an editor over standard input and output: `grade lsp`."""

from __future__ import annotations

import io
import os
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

from grader.cli.options import GradeOptions
from grader.course.catalog import CourseError, open_course
from grader.plugins import libraries_told

MISSING = "The language server needs pygls, which is not installed"
PACKAGE = "pygls>=2.1"
BY_HAND = "An editor starts `grade lsp` and talks to it; docs/editors.md says how to set one up."


def run_server(options: GradeOptions) -> int:
    """Serve until the editor ends, and return the exit code. Raises CourseError if pygls is missing, or if
    a person has started it in a terminal."""
    if sys.stdin.isatty():
        raise CourseError(BY_HAND)
    if options.course:
        open_course(options.course, options.exercises)  # raises CourseError before an editor waits for it
    with libraries_told(MISSING, PACKAGE):
        from dojo_editor.lsp.connection import BoundedInput
        from dojo_editor.lsp.server import new_server
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # so that nothing else is printed between two answers
    with TemporaryDirectory(prefix="decoder-dojo-") as folder:
        server = new_server(options, Path(folder))
        server.start_io(BoundedInput(io.FileIO(sys.stdin.fileno(), closefd=False)), answers)
    return server.exit_code
