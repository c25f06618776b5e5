"""The katas of inputs: what the statements show, how small an input can be, and what hostile ones become."""

import ast
import inspect
import textwrap
from pathlib import Path

import pytest

from grader.course.catalog import Course
from grader.course.submission import SubmissionRejected, parse
from grader.grading.grader import Grader
from grader.inputs import Versions

ROOT = Path(__file__).resolve().parents[2]
COURSE = Course(ROOT)
NAMES = [info.name for info in COURSE.katas.values() if info.track == "inputs"]


def versions_of(name):
    judge = COURSE.declaration(COURSE.kata_info(name)).judge
    assert isinstance(judge.__self__, Versions)
    return judge.__self__


@pytest.mark.parametrize("name", NAMES)
def test_the_statement_shows_the_wrong_functions_as_they_are(name):
    stub = COURSE.stub(COURSE.kata_info(name)).read_text()
    versions = versions_of(name)
    assert len(versions.wrong) == 3
    for function in versions.wrong.values():
        assert textwrap.indent(inspect.getsource(function), "    ") in stub
    assert inspect.getsource(versions.right) not in stub


@pytest.mark.parametrize("name", NAMES)
def test_the_example_of_the_statement_is_of_the_right_form_and_tells_little(name):
    """It is allowed, and no answer to all three."""
    text = ast.get_docstring(ast.parse(COURSE.stub(COURSE.kata_info(name)).read_text()))
    example = ast.literal_eval(text[text.index('{"') : text.index("}") + 1])
    versions = versions_of(name)
    said = [versions.complaint(wrong, _as_tuples(example)) for wrong in versions.wrong]
    assert any("both give" in one for one in said)
    assert all(not one or "both give" in one for one in said)


def _as_tuples(value):
    if isinstance(value, dict):
        return {name: _as_tuples(item) for name, item in value.items()}
    return tuple(map(_as_tuples, value)) if isinstance(value, list) else value


ENDS = "softmax_inputs.py"
FORM = "NO_SHIFT must hold numbers and lists of numbers up to 1,000,000, and nothing else."
SAME = "NO_SHIFT: both give [1.0]. For which scores is exp(x) no finite number?"
DICT = 'NO_SHIFT must be a dict of the arguments: {"x": …, "axis": …}.'
NUDGE = "For which scores is exp(x) no finite number?"


@pytest.mark.parametrize(
    ("code", "sentence"),
    [
        ('{"x": [1000.0], "axis": 0}', ""),
        ('{"x": np.array([1000.0], np.float32), "axis": np.int64(0)}', ""),
        ('{"x": np.random.default_rng().standard_normal(3) + 900, "axis": 0}', ""),
        ('{"x": [1.0], "axis": 0}', SAME),
        ('{"x": np.zeros(10**5), "axis": 0}', f"NO_SHIFT has 100001 numbers, and may have 12. {NUDGE}"),
        ('{"x": [float("nan")], "axis": 0}', f"{FORM} {NUDGE}"),
        ('{"x": [1e300], "axis": 0}', f"{FORM} {NUDGE}"),
        ('{"x": "1000", "axis": 0}', f"{FORM} {NUDGE}"),
        ('{"x": (n for n in [1000.0]), "axis": 0}', f"{FORM} {NUDGE}"),
        ('{"x": sys._getframe(), "axis": 0}', f"{FORM} {NUDGE}"),
        ('{"x": [Lie()], "axis": 0}', f"{FORM} {NUDGE}"),
        ("Lie()", f"{DICT} {NUDGE}"),
        (
            "type('D', (dict,), {'__eq__': lambda *_: True})(x=[1.0], axis=0)",
            SAME,
        ),
        ("'x' * 2**20", f"{DICT} {NUDGE}"),
        ("{}", f"{DICT} {NUDGE}"),
        ("lambda **_: {'x': [1000.0], 'axis': 0}", ""),
    ],
)
def test_a_value_is_judged_as_plain_numbers(numpy_source, code, sentence):
    lie = "class Lie:\n    __eq__ = lambda *_: True\n    __array__ = lambda *_: [1000.0]\n"
    text = f"import sys\nimport numpy as np\n\n{lie}\nNO_SHIFT = {code}\nONE_SUM = ...\nONE_SHIFT = ...\n"
    info = COURSE.kata_info("softmax_inputs")
    report = Grader(COURSE, {"numpy": numpy_source}).grade(parse(info, text, ENDS)).report
    assert report.status == "failed"
    check = report.checks[0]
    assert (check.message, check.status) == (sentence, "failed" if sentence else "passed")
    assert [one.score for one in report.checks[1:]] == [0, 0]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("code", "why"),
    [
        ("[0] * 10**9", "MemoryError"),
        ("open('/etc/passwd').read()", "PermissionError"),
        ("[1 for _ in iter(int, 1)]", "MemoryError"),
    ],
)
def test_code_that_cannot_run_gets_one_sentence(numpy_source, code, why):
    info = COURSE.kata_info("softmax_inputs")
    text = f"NO_SHIFT = {code}\nONE_SUM = ...\nONE_SHIFT = ...\n"
    grader = Grader(COURSE, {"numpy": numpy_source})
    with pytest.raises(SubmissionRejected, match=f"^softmax_inputs.py fails in line 1 .*: {why}"):
        grader.grade(parse(info, text, ENDS))
