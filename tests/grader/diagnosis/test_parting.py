"""Where the numbers part from the right ones is said only of what two cases show."""

from dataclasses import replace

import numpy as np
import pytest

from grader.answer_keys.answers import Case
from grader.checks.context import Check
from grader.checks.runner import CheckResult, Failure
from grader.diagnosis.parting import parting_place
from grader.worker.calls import Call
from grader.worker.in_process import LocalStudent

REFERENCE = """
import numpy as np

def f(x, y):
    secret = x * y
    return secret / np.sum(secret)
"""


def results(count=3, **options):
    generator = np.random.default_rng(0)
    given = [options or {"x": generator.random(5), "y": generator.random(5)} for _ in range(count)]
    calls = [Call("f", [], arguments, None) for arguments in given]
    cases = [Case(index, arguments) for index, arguments in enumerate(given)]
    failures = [Failure(case, "failed", "", None, [call]) for case, call in zip(cases, calls, strict=True)]
    return [CheckResult(Check("agrees", "It agrees.", 100, cases, lambda *_: None), failures, cases)]


def place(*lines, found=None):
    source = "import numpy as np\n\ndef f(x, y):\n    " + "\n    ".join(lines) + "\n"

    def load(text):
        return LocalStudent.from_source("answer", text)

    return parting_place(source, REFERENCE, found or results(), load)


def test_the_last_right_line_and_the_first_after_it_are_said():
    found = place("scores = y * x", "total = np.max(scores)", "weights = scores / total", "return weights")
    assert (found.line, found.fact) == (
        6,
        "At line 4 (`scores`) the numbers are still right; line 6 (`weights`) is the first after it whose"
        " numbers no step of the reference has. This alone does not make it wrong.",
    )
    assert "secret" not in found.fact


def test_a_result_without_a_name_is_said_by_its_line():
    found = place("scores = x * y", "return scores - scores.mean()")
    assert "the result of line 5 is the first after it" in found.fact


def test_what_comes_before_an_exception_counts():
    found = place("scores = x * y", "weights = scores - 1", "return weights[:, None, 9]")
    assert (found.line, "`scores`" in found.fact) == (5, True)


@pytest.mark.parametrize(
    "lines",
    [
        ["copied = x.copy()", "weights = copied - 1", "return weights"],  # an argument is nobody's step
        ["ones = np.ones(5)", "weights = x - ones", "return weights"],  # a constant tells nothing
        ["scores = x + y", "weights = scores - 1", "return weights"],  # no step has these numbers
        ["scores = x * y", "return scores / np.sum(scores)"],  # nothing is wrong behind it
    ],
)
def test_nothing_is_said_of_what_is_not_proved(lines):
    assert place(*lines) is None


def test_a_step_that_has_too_few_numbers_in_one_case_is_judged_by_the_others():
    found = results()
    found[0].failures[0].call.kwargs["y"] = np.ones(5)
    found[0].failures[0].call.kwargs["x"] = np.ones(5)
    assert (
        place("scores = x * y", "weights = scores / np.sum(scores)", "return weights * 2", found=found).line
        == 6
    )


def test_a_constant_of_the_answer_is_not_said_to_be_wrong():
    found = place("scores = x * y", "ones = np.linspace(0, 1, 5)", "return scores - ones")
    assert "the result of line 6 is the first after it" in found.fact


def test_the_function_is_said_if_calls_of_several_fail():
    found = results()
    found[0].failures.append(replace(found[0].failures[0], trace=[Call("g", [], {}, None)]))
    assert place("scores = x * y", "return scores - 1", found=found).fact.startswith(
        "In calls of `f`: At line"
    )


@pytest.mark.parametrize("found", [results(1), results(3, x=np.arange(1.0, 6.0), y=np.arange(2.0, 7.0))])
def test_one_case_and_cases_of_the_same_numbers_prove_nothing(found):
    assert place("scores = x * y", "weights = scores - 1", "return weights", found=found) is None
