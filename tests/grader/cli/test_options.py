"""Tests of the exit codes for wrong input and for a fault of the grader."""

import errno
import os

import click
import pytest
from click.testing import CliRunner

from grader.cli.grade import grade
from grader.cli.kata import kata
from grader.cli.options import GradeOptions, GuardedCommand
from grader.course.submission import SubmissionRejected
from grader.errors import CourseError
from grader.grading.session import COMPLAINTS

FAULT = (
    "This is our fault, not yours; your points are unchanged."
    " (ZeroDivisionError: no; DOJO_DEBUG=1 shows where.)"
)


@pytest.fixture
def answer(monkeypatch):
    """`answer(error)` runs a command that raises this error; the result has exit_code and stderr."""
    monkeypatch.delenv("DOJO_DEBUG", raising=False)

    def run(error):
        @click.command(cls=GuardedCommand)
        def command():
            raise error

        return CliRunner().invoke(command, [])

    return run


@pytest.mark.parametrize("kind", COMPLAINTS, ids=lambda kind: kind.__name__)
def test_wrong_input_is_one_sentence_and_exit_code_4(answer, kind):
    result = answer(kind("Do this."))
    assert (result.exit_code, result.stderr, result.stdout) == (4, "Do this.\n", "")


def test_exit_code_2_is_for_a_submission_that_cannot_be_graded_alone(answer):
    result = answer(SubmissionRejected("It is a link."))
    assert (result.exit_code, result.stderr) == (2, "It is a link.\n")
    for main, words in ((grade, ["--no-such-option"]), (kata, ["no-such-command"]), (kata, ["release"])):
        assert CliRunner().invoke(main, words).exit_code == 4


def test_a_fault_of_the_grader_is_reported_with_exit_code_3(answer):
    result = answer(ZeroDivisionError("no"))
    assert (result.exit_code, result.stderr, result.stdout) == (3, FAULT + "\n", "")


@pytest.mark.parametrize(
    ("number", "reason"),
    [(errno.ENAMETOOLONG, "file name too long"), (errno.ENOSPC, "no space left on device"),
     (errno.EROFS, "read-only file system"), (errno.EACCES, "permission denied")],
)  # fmt: skip
def test_a_path_or_a_disk_that_cannot_be_used_is_no_fault_of_the_grader(answer, number, reason):
    result = answer(OSError(number, os.strerror(number), "notes/a.py"))
    assert (result.exit_code, result.stderr) == (4, f"notes/a.py cannot be used: {reason}.\n")
    assert answer(OSError(number, os.strerror(number))).stderr == f"A file cannot be used: {reason}.\n"
    assert answer(OSError(errno.EBADF, "Bad file descriptor")).exit_code == 3


@pytest.mark.parametrize("kind", [CourseError, SubmissionRejected])
def test_a_name_in_a_complaint_commands_neither_terminal_nor_host(answer, kind):
    result = answer(kind("a\x1b[31mb.py is a link.\n::error::no"))
    assert "\x1b" not in result.stderr
    assert "\n::" not in result.stderr
    assert "b.py is a link." in result.stderr


def test_a_fault_is_raised_with_its_traceback_for_debugging(answer, monkeypatch):
    monkeypatch.setenv("DOJO_DEBUG", "1")
    assert isinstance(answer(ZeroDivisionError("no")).exception, ZeroDivisionError)


def test_a_search_can_be_shortened_or_left_out():
    assert GradeOptions().search_seconds == 2.0
    assert GradeOptions(search=0.5).search_seconds == 0.5
    assert GradeOptions(search=0.5, no_search=True).search_seconds == 0.0
    assert GradeOptions(detail="brief").search_seconds == 0.0
    assert GradeOptions(detail="brief", forms=("terminal", "json")).search_seconds == 2.0
