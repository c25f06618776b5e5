"""The katas' laws under plain pytest: in this process, with a debugger at hand.

pytest tests/katas/TRACK/test_NAME.py                               your own exercise
pytest tests/katas --student=reference                              the references
pytest tests/katas --student=reference --fresh                      also those that have passed before
"""

from pathlib import Path

import pytest

from grader.authoring.verify.judged import Records
from grader.cases import generation
from grader.course.catalog import Course, load_file
from grader.course.submission import read_submission
from grader.worker.in_process import LocalStudent, LocalTensorStudent

ROOT = Path(__file__).resolve().parents[2]


def pytest_addoption(parser):
    parser.addoption(
        "--student", default="exercises", help="whose answers: `exercises`, `reference`, or a Python file"
    )
    parser.addoption(
        "--fresh", action="store_true", help="run also the laws that the references have passed before"
    )


@pytest.fixture(scope="module", autouse=True)
def records(request):
    """The laws that the reference has passed before, with the same files and the same grader; else None."""
    if request.config.getoption("--student") != "reference":
        yield None
        return
    course = Course(ROOT)
    info = course.kata_info(request.module.KATA.name)
    found = Records(course, info, generation.SEED)
    yield found
    found.save()


@pytest.hookimpl(tryfirst=True)
def pytest_pyfunc_call(pyfuncitem):
    """Leave out a law that the reference has passed before: its cases would be the same."""
    found = pyfuncitem.funcargs["records"]
    fresh = pyfuncitem.config.getoption("--fresh")
    return (found and not fresh and found.has_passed("pytest", pyfuncitem.name)) or None


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item):
    """Note a law that the reference passes."""
    result = yield
    found = item.funcargs["records"]
    if found and not found.has_passed("pytest", item.name):
        found.note_passed("pytest", item.name)
    return result


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
    submission = read_submission(info, path)
    if whose == "exercises" and not submission.begun:
        pytest.skip(f"{info.name} is not started yet")
    kind = LocalTensorStudent if submission.as_tensors else LocalStudent
    return kind(load_file(f"student_{info.name}", path), str(path))
