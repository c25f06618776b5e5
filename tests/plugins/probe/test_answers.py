"""How the answers of two functions differ."""

import numpy as np
import pytest

from dojo_probe.answers import CHANGES, DTYPES, RESULTS, FunctionAnswer, answer_of, difference
from grader.kata import Kata
from grader.worker.in_process import LocalStudent

KATA = Kata("double", track="t", entry_points=("double",), title="t", source="s", hints=())
CASE = {"x": np.array([1.0, 2.0], np.float32)}


def asked(body):
    source = f"import numpy as np\n\ndef double(x):\n    {body}\n"
    return answer_of(KATA, LocalStudent.from_source("double", source), CASE)


RIGHT = asked("return 2 * x")


@pytest.mark.parametrize(
    ("body", "differs", "said"),
    [
        ("return x + x", "", "[2.0, 4.0]"),
        ("return x + x * 1.0000001", "", "[2.0, 4.0]"),
        ("return 3 * x", RESULTS, "[3.0, 6.0]"),
        ("return 2 * x[:1]", RESULTS, "[2.0]"),
        ("return None", RESULTS, "None"),
        ("raise ValueError('no')", RESULTS, "ValueError: no"),
        ("raise ValueError", RESULTS, "ValueError"),
        ("return 2.0 * x.astype(np.float64)", DTYPES, "[2.0, 4.0], float64"),
        ("x *= 2; return x", CHANGES, "[2.0, 4.0], and changes x"),
    ],
)
def test_answers_differ_in_what_they_give_and_do(body, differs, said):
    answer = asked(body)
    assert difference(KATA, CASE, RIGHT, answer) == differs
    assert answer.said(differs) == said


def test_what_a_right_answer_does_to_its_arguments_is_said_too():
    assert RIGHT.said(CHANGES) == "[2.0, 4.0], and changes nothing"


def test_a_result_that_the_kata_cannot_take_apart_is_an_answer():
    kata = Kata("pair", track="t", entry_points=("pair",), title="t", source="s", hints=())

    @kata.observe
    def observe(student, x):
        first, second = student.pair(x)
        return {"first": first, "second": second}

    student = LocalStudent.from_source("pair", "def pair(x):\n    return (x,)\n")
    answer = answer_of(kata, student, CASE)
    assert answer.error == (
        "the result is of another form: ValueError: not enough values to unpack (expected 2, got 1)"
    )


def test_a_nan_is_found_in_any_value():
    assert FunctionAnswer({"a": [1.0], "b": [np.array([np.nan])]}).has_nan
    assert not FunctionAnswer({"a": [1.0], "b": "nan"}).has_nan
