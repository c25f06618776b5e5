"""`kata import`: the last page of an audit becomes a draft that can be graded, or nothing is written."""

import json
from contextlib import closing

import pytest
from click.testing import CliRunner

from dojo_authoring.verify.katas import verify_course
from grader.cli.kata import kata as run_kata
from grader.course.catalog import Course
from grader.grading.session import grade_file, open_grader

pytestmark = pytest.mark.slow  # each audits a homework in forks, and judges a kata

REFERENCE = '''"""Softmax over the last axis.

Subtract the maximum of each row first.
"""
import numpy as np

UNUSED = 3


def _normalised(x, axis):
    return x / x.sum(axis=axis, keepdims=True)  # [..., n]


def softmax(x: np.ndarray, axis: int = -1) -> np.ndarray:
    """Return the softmax of x along axis."""
    return _normalised(np.exp(x - x.max(axis=axis, keepdims=True)), axis)
'''
TESTS = """import numpy as np
from softmax import softmax


def test_figures():
    np.testing.assert_allclose(softmax(np.array([1.0, 2.0, 3.0])), [0.0900, 0.2447, 0.6652], atol=1e-4)


def test_rows():
    assert np.allclose(softmax(np.array([[1.0, 0.5], [0.0, 4.0]])).sum(-1), 1)
"""


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """The current folder: somebody's exercise in `hw`."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "hw").mkdir()
    (tmp_path / "hw/softmax.py").write_text(REFERENCE)
    (tmp_path / "hw/test_softmax.py").write_text(TESTS)
    return tmp_path


def run(*arguments):
    done = CliRunner().invoke(run_kata, ["import", *map(str, arguments), "--course", "my"])
    return done.exit_code, done.output


def test_a_homework_becomes_a_kata_with_cases_and_mistakes(folder):
    code, said = run("attention/theirs", "hw", "--mutants", 16)
    assert code == 0, said
    lines = said.splitlines()
    assert lines[:4] == [
        "wrote solutions/attention/theirs/reference.py",
        "wrote tests/katas/attention/test_theirs.py",
        "wrote exercises/attention/theirs.py",
        "wrote solutions/attention/theirs/mistakes.py",
    ]
    assert "taken over from hw: 2 calls of `softmax`" in lines
    assert lines[-1].startswith("It is a draft: its checks are unproven until it has mistakes.")
    declared = (folder / "my/tests/katas/attention/test_theirs.py").read_text()
    assert '    {"x": np.array([1.0, 2.0, 3.0]), "axis": -1},\n' in declared
    reference = (folder / "my/solutions/attention/theirs/reference.py").read_text()
    assert "# [..., n]" in reference
    assert "UNUSED" not in reference
    mistakes = (folder / "my/solutions/attention/theirs/mistakes.py").read_text()
    assert "def softmax_line_" in mistakes
    assert "TODO: say what goes wrong" in mistakes
    stub = (folder / "my/exercises/attention/theirs.py").read_text()
    assert "Subtract the maximum of each row first." in stub
    assert "np.exp" not in stub
    course = Course(folder / "my")
    assert verify_course(course, ("theirs",)) == 0
    wrong = folder / "theirs.py"
    wrong.write_text(stub.replace("raise NotImplementedError", "return np.exp(x)"))
    grader, workers = open_grader(course, [course.kata_info("theirs")])
    with closing(workers):
        report = grade_file(grader, course.kata_info("theirs"), wrong).report
    assert "agrees_with_reference" in {c.name for c in report.checks if c.status == "failed"}


def test_the_solution_runs_and_not_the_stub_beside_the_tests(folder):
    (folder / "solved").mkdir()
    (folder / "hw/softmax.py").rename(folder / "solved/example.py")
    (folder / "hw/softmax.py").write_text("def softmax(x, axis=-1):\n    raise NotImplementedError\n")
    code, said = run("attention/theirs", "hw", "--solution", "solved/example.py", "--mutants", 0)
    assert (code, "2 calls of `softmax`" in said) == (0, True), said


#: What cannot become a kata: the solution, the tests, and what is said.
REFUSED = {
    "a missing library": (
        "import no_such_library\n" + REFERENCE,
        TESTS,
        "The tests fail for the solution",
    ),
    "annotations of another file": (
        "from shapes import Rows\n\n\ndef f(x: Rows) -> Rows:\n    return x\n",
        "from softmax import f\n\n\ndef test_it():\n    assert f(1) == 1\n",
        "imports `shapes` of the homework: a reference is one file.",
    ),
    "arguments without names": (
        "def f(*x):\n    return x\n",
        "from softmax import f\n\n\ndef test_it():\n    assert f(1) == (1,)\n",
        "leave out *, ** and /.",
    ),
    "another answer each time": (
        "import random\n\n\ndef f(x):\n    return random.random() + x\n",
        "from softmax import f\n\n\ndef test_it():\n    assert f(1) >= 1\n",
        "The kata cannot be graded, so nothing is written: ",
    ),
    "two functions": (
        "def f(x):\n    return x\n\n\ndef g(x):\n    return x\n",
        "from softmax import f, g\n\n\ndef test_it():\n    assert f(1) == g(1)\n",
        "The tests call `f`, `g`, and a kata is about one: say which, as in --function f.",
    ),
    "an object": (
        "def f(x):\n    return x\n\n\nclass X:\n    pass\n",
        "from softmax import X, f\n\n\ndef test_it():\n    assert f(X())\n",
        "No test calls `f` with values that can be written down.",
    ),
}


@pytest.mark.parametrize("kind", REFUSED)
def test_what_cannot_be_graded_is_told_and_leaves_nothing(kind, folder):
    solution, tests, said = REFUSED[kind]
    (folder / "hw/softmax.py").write_text(solution)
    (folder / "hw/shapes_helper.py").write_text("")
    if "shapes" in solution:
        (folder / "hw/shapes.py").write_text("Rows = list\n")
    (folder / "hw/test_softmax.py").write_text(tests)
    words = ["--solution", "hw/softmax.py", "--mutants", 0]
    code, printed = run("attention/theirs", "hw", *words)
    assert (code, said in printed) == (4, True), printed
    assert not (folder / "my").exists()


def test_a_notebook_of_nbgrader_becomes_a_kata(folder):
    def cell(source, **marks):
        return {"cell_type": "code", "source": source, "metadata": {"nbgrader": marks} if marks else {}}

    solution = "def mask(n):\n    '''Return the mask.'''\n    return np.tril(np.ones((n, n), bool))\n"
    cells = [
        cell("%matplotlib inline\nimport numpy as np\n"),
        cell(solution, grade_id="mask", solution=True, grade=False),
        cell("assert mask(1).shape == (1, 1)\nassert not mask(3)[0, 1]", grade_id="test", grade=True),
    ]
    (folder / "ps1.ipynb").write_text(json.dumps({"cells": cells, "metadata": {}, "nbformat": 4}))
    code, said = run("attention/mask", "ps1.ipynb", "--mutants", 4)
    assert code == 0, said
    assert "2 calls of `mask`" in said
    assert verify_course(Course(folder / "my"), ("mask",)) == 0
