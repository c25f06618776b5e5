"""Right answers in the styles of public code get full marks, except for the corners that they name."""

import ast
import re
from pathlib import Path

import pytest

from grader.course.catalog import Course
from grader.course.submission import read_submission
from grader.diagnosis.matcher import MistakeMatcher
from grader.grading.grader import Grader
from grader.worker.fork_server import WorkerFactories

HERE = Path(__file__).parent
COURSE = Course(HERE.parents[1])
FILES = sorted(HERE.glob("public_styles/*/*.py"))


@pytest.fixture(scope="module")
def grader():
    sources = WorkerFactories(["numpy", "torch"])
    opened = Grader(COURSE, sources)
    opened.matchers = {name: MistakeMatcher([]) for name in COURSE.katas}  # recording mistakes takes minutes
    yield opened
    sources.close()


def expected_to_fail(file):
    """The checks that the file's docstring names behind `Fails:`."""
    text = " ".join(ast.get_docstring(ast.parse(file.read_text("utf-8"))).split())
    named = re.search(r"Fails: ([\w, ]+)\.$", text)
    return set(named[1].split(", ")) if named else set()


@pytest.mark.every(2)
@pytest.mark.slow
@pytest.mark.parametrize("file", FILES, ids=lambda file: f"{file.parent.name}-{file.stem}")
def test_public_code_is_right(grader, file):
    info = COURSE.kata_info(file.parent.name)
    report = grader.grade(read_submission(info, file)).report
    failed = {
        check.name: check.message or check.got
        for check in report.checks
        if check.status not in ("passed", "skipped")
    }
    assert failed.keys() == expected_to_fail(file), failed


def test_every_module_kata_has_one():
    modules = {info.name for info in COURSE.katas.values() if info.track == "modules"}
    assert modules <= {file.parent.name for file in FILES}
