"""A source that records answers as it did before, and says which array each expression gave."""

from pathlib import Path

import numpy as np
import pytest

from grader.checks.context import CheckContext
from grader.checks.runner import judge_case
from grader.course.catalog import Course
from grader.course.files import read
from grader.diagnosis.recording import RECORD, recording, steps_of
from grader.grading.grader import Grader
from grader.worker.in_process import LocalStudent

ROOT = Path(__file__).resolve().parents[3]
COURSE = Course(ROOT)
KATAS = [name for name, info in COURSE.katas.items() if info.kind.is_code]
SOURCE = '''"""A file."""

from __future__ import annotations

import numpy as np


class Half:
    def __init__(self):
        self.sums = [0, 0]

    def __call__(self, x, *, by: int = 2):
        self.sums[0] += 1
        return x / by


def f(x, y):
    n, (first, *rest) = len(x), x
    table: np.ndarray = np.zeros((2, n))
    table[0, :], table[1, 1:] = x, y[1:]
    table[1][0] = first
    if (top := table.max()) > 1:
        table /= top
    rows = [row * 2 for row in table[:, ::-1] if isinstance(row, (np.ndarray, float))]
    try:
        table[5]
    except (IndexError, ValueError):
        rows.sort(key=lambda row: -row.sum())
    total = sum(row.sum() for row in rows)
    return Half()(np.stack(rows), by=4), f"{total:.3f}", x if x is not None and len(y) else y
'''


def test_a_source_answers_as_before():
    x, y = np.arange(1.0, 5), np.arange(4.0, 0, -1)
    expected = LocalStudent.from_source("plain", SOURCE).f(x.copy(), y.copy())
    found = LocalStudent.from_source("recorded", recording(SOURCE)[0]).f(x.copy(), y.copy())
    assert found[1:2] == expected[1:2]
    assert [np.array_equal(found[at], expected[at]) for at in (0, 2)] == [True, True]


def recorded(source, *args):
    """Return what a call records: the line, the text and the array, without the names that are read."""
    changed, sites = recording(source)
    student = LocalStudent.from_source("recorded", changed)
    student.f(*args)
    steps = [(sites[step.site], step.array) for step in steps_of(student)]
    assert steps_of(student) == []
    return [(site.line, site.text, array) for site, array in steps if array is not None and site.computes]


def test_each_expression_is_recorded_with_its_line():
    found = recorded("import numpy as np\ndef f(x):\n    return np.exp(\n        x - x.max())\n", np.zeros(2))
    assert [(line, text) for line, text, _ in found] == [(4, "x.max()"), (4, "x - x.max()"), (3, "")]


def test_an_array_that_is_changed_in_place_keeps_the_numbers_of_each_step():
    found = recorded("def f(x):\n    y = x + 1\n    y[0] = 5\n    y *= 2\n    return y\n", np.zeros(2))
    assert [array.tolist() for _, _, array in found] == [[1, 1], [5, 1], [10, 2]]


def test_a_method_that_changes_its_array_is_recorded():
    found = recorded("def f(x):\n    y = x + 1\n    y.fill(7)\n    return y\n", np.zeros(2))
    assert [(line, array.tolist()) for line, _, array in found] == [(2, [1, 1]), (3, [7, 7])]


def test_an_expression_knows_what_it_reads():
    _, sites = recording("def f(x, y):\n    return x[:, 1:].sum() * y\n")
    texts = [(site.text, [sites[one].text for one in site.inputs]) for site in sites]
    assert texts == [
        ("x", []),
        ("x[:, 1:]", ["x"]),
        ("x[:, 1:].sum()", ["x[:, 1:]"]),
        ("y", []),
        ("x[:, 1:].sum() * y", ["x[:, 1:].sum()", "y"]),
    ]


def test_lines_are_counted_as_python_counts_them():
    found = recorded("def f(x):\r    \x0c\r\n    return x + 1\r", np.zeros(2))
    assert [(line, text) for line, text, _ in found] == [(3, "x + 1")]


def test_long_arrays_and_endless_loops_are_not_recorded_whole():
    assert recorded("def f(x):\n    return x + 1\n", np.zeros(5000)) == []
    found = recorded("def f(x):\n    for _ in range(9000): x, *y = [x + 1, *[x] * 40]\n", np.zeros(3))
    assert 20 < len(found) < 2000
    found = recorded("def f(x):\n    for _ in range(9000): x = x + 1\n", np.zeros(4096))
    assert 20 < len(found) < 250


@pytest.mark.slow
@pytest.mark.every(4)
@pytest.mark.parametrize("name", KATAS)
def test_a_reference_that_records_is_right(name):
    info = COURSE.kata_info(name)
    prepared = Grader(COURSE, {}).prepare(info)
    source = recording(read(COURSE.solution(info, "reference")))[0]
    student = LocalStudent.from_source("recorded", source, RECORD)
    context = CheckContext(prepared.kata, prepared.oracle, student)
    (check,) = (one for one in prepared.checks if one.name == "agrees_with_reference")
    failures = [judge_case(check, context, case, student).failure for case in check.cases[:5]]
    assert failures == [None] * len(failures)
