"""The katas' laws under plain pytest: in this process, with a debugger at hand.

pytest tests/katas/TRACK/test_NAME.py                               your own exercise
pytest tests/katas --student=reference                              the references
"""

from pathlib import Path

import pytest

from grader.cases import generation
from grader.course.catalog import Course, load_file
from grader.course.submission import read_submission
from grader.worker.in_process import LocalStudent

ROOT = Path(__file__).resolve().parents[2]


def pytest_addoption(parser):
    parser.addoption(
        "--student", default="exercises", help="whose answers: `exercises`, `reference`, or a Python file"
    )


@pytest.fixture(scope="session")
def for_all():
    """Runs a check on drawn cases; a failing case is shrunk and shown."""
    return generation.for_all


@pytest.fixture(scope="module")
def student(request):
    """The answer that the laws of this file are held against."""
    course = Course(ROOT)
    info = course.kata_info(request.module.KATA.name)
    whose = request.config.getoption("--student")
    path = {"exercises": course.stub(info), "reference": course.solution(info, "reference")}.get(whose)
    path = path or Path(whose)
    if whose == "exercises" and not read_submission(info, path).begun:
        pytest.skip(f"{info.name} is not started yet")
    return LocalStudent(load_file(f"student_{info.name}", path), str(path))
