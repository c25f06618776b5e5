"""The katas' laws under plain pytest: in this process, with a debugger at hand.

pytest tests/katas/attention/test_softmax.py                        your own exercise
pytest tests/katas --student=reference                              the references
"""

from pathlib import Path

import pytest

from grader.catalog import Course, load_file
from grader.submission import read_submission
from grader.worker.local import LocalStudent

ROOT = Path(__file__).resolve().parents[2]


def pytest_addoption(parser):
    parser.addoption(
        "--student", default="exercises", help="whose answers: `exercises`, `reference`, or a Python file"
    )


@pytest.fixture(scope="module")
def student(request):
    """The answer that the laws of this file are held against."""
    course = Course(ROOT)
    card = course.card(request.module.KATA.name)
    whose = request.config.getoption("--student")
    path = {"exercises": course.stub(card), "reference": course.solution(card, "reference")}.get(whose)
    path = path or Path(whose)
    if whose == "exercises" and not read_submission(card, path).begun:
        pytest.skip(f"{card.name} is not started yet")
    return LocalStudent(load_file(f"student_{card.name}", path), str(path))
