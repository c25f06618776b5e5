"""Where the numbers part from the right ones is said only of what two cases show."""

from types import SimpleNamespace

import numpy as np
import pytest

from grader.answer_keys.answers import Case
from grader.checks.context import Check, CheckContext
from grader.checks.runner import CheckResult, Failure
from grader.diagnosis.parting import parting_of
from grader.worker.calls import Call, KeptCalls
from grader.worker.in_process import LocalStudent

REFERENCE = """
import numpy as np

def f(x, y):
    secret = x * y
    return secret / np.sum(secret)
"""
COMPARED = "In the cases compared,"
UNPROVED = "No step of the reference has those that are computed here. This alone does not make it wrong."


def results(count=3, **options):
    generator = np.random.default_rng(0)
    given = [options or {"x": generator.random(5), "y": generator.random(5)} for _ in range(count)]
    calls = [Call("f", [], arguments, None) for arguments in given]
    cases = [Case(index, arguments) for index, arguments in enumerate(given)]
    failures = [Failure(case, "failed", "", None, [call]) for case, call in zip(cases, calls, strict=True)]
    return [CheckResult(Check("agrees", "It agrees.", 100, cases, judge), failures, cases)]


def judge(context, case):
    with KeptCalls(context.student):
        context.student.f(**case.arguments)


def place(*lines, found=None, reference=REFERENCE, before=""):
    """Return the marked text of the place, and the sentence; None if nothing is said."""
    source = f"import numpy as np\n{before}\ndef f(x, y):\n    " + "\n    ".join(lines) + "\n"

    def load(text, recorder=""):
        kata = SimpleNamespace(graded_parts={})
        student = LocalStudent.from_source("answer", text, recorder)
        return CheckContext(kata, SimpleNamespace(kata=kata), student)

    parting = parting_of(source, reference, found or results(), load)
    if parting is None:
        return None
    at = parting.place
    assert "secret" not in at.fact
    line = source.splitlines()[at.line - 1].encode()
    return line[slice(*at.columns)].decode() if at.columns else line.decode().strip(), at.fact


def test_the_first_wrong_result_of_right_numbers_is_said():
    found = place("scores = y * x", "total = np.max(scores)", "return scores / total")
    assert found == (
        "np.max(scores)",
        f"{COMPARED} `scores` still has the right numbers. {UNPROVED}",
    )


def test_several_right_numbers_are_listed():
    found = place("scores = x * y", "total = scores / scores.sum()", "return total - 2 * scores - scores")
    assert found == ("2 * scores", f"{COMPARED} `scores` still has the right numbers. {UNPROVED}")
    found = place("scores = x * y", "total = scores / scores.sum()", "return total - scores")
    said = f"{COMPARED} `total` and `scores` still have the right numbers. {UNPROVED}"
    assert found == ("total - scores", said)


def test_numbers_in_another_order_are_right_too():
    found = place("scores = (x * y)[::-1]", "return scores - scores.mean()")
    said = f"{COMPARED} `scores` still has the right numbers, maybe in another order. {UNPROVED}"
    assert found == ("scores.mean()", said)


def test_what_comes_before_an_exception_counts():
    assert place("scores = x * y", "weights = scores - 1", "return weights[:, None, 9]")[0] == "scores - 1"


def test_another_way_to_right_numbers_is_not_said_to_be_wrong():
    assert (
        place("logs = np.log(x) + np.log(y)", "scores = np.exp(logs)", "return scores - 1")[0] == "scores - 1"
    )


@pytest.mark.parametrize(
    "lines",
    [
        ["scores = x * y", "return scores / np.sum(scores)"],  # nothing is wrong
        ["return np.linspace(0, 1, 5)"],  # it reads no array
        ["copied = x.copy()", "return copied - y"],  # it reads what the call was given, and nothing else
        ["return [1.0, 2.0]"],  # it has no array
    ],
)
def test_nothing_is_said_of_what_is_not_proved(lines):
    assert place(*lines) is None


def test_an_array_that_is_changed_in_place_is_followed():
    found = place("scores = x * y", "scores[1:3] = 0", "return scores / scores.sum()")
    assert found == (
        "scores[1:3] = 0",
        f"{COMPARED} `scores` still has the right numbers. {UNPROVED}",
    )
    found = place("scores = x * y", "scores /= np.sum(scores)", "scores -= 1", "return scores")
    assert found[0] == "scores -= 1"


def test_only_the_execution_of_a_loop_that_is_wrong_is():
    reference = "def f(x, y):\n    for step in range(3):\n        x = x * y\n    return x\n"
    lines = ["for step in range(3):", "    x = x * y", "    if step: x = x ** 3", "return x"]
    assert place(*lines, reference=reference)[0] == "x ** 3"


def test_numbers_are_followed_through_functions_and_objects():
    before = "class Half:\n    def __call__(self, scores):\n        return scores * 0.5\n\n"
    assert place("parts = [x * y]", "return Half()(parts[0])", before=before)[0] == "scores * 0.5"


def test_a_function_that_is_right_in_another_call_was_given_the_wrong_thing():
    reference = """
import numpy as np
def half(a):
    squares = a * a
    return squares / squares.sum()
def f(x, y):
    return half(x * y) + half(x * y + y)
"""
    before = "def half(a):\n    squares = a * a\n    return squares / squares.sum()\n\n"
    lines = ["scores = x * y", "others = scores + y", "return half(scores) + half(others[:-1]).sum()"]
    assert place(*lines, reference=reference, before=before)[0] == "half(others[:-1])"
    lines = ["scores = x * y", "return half(scores) + half(np.stack([scores, scores]))[0]"]
    assert place(*lines, reference=reference, before=before)[0] == "np.stack([scores, scores])"


def test_a_factor_or_a_term_of_each_row_is_another_style():
    reference = """
import numpy as np
def f(x, y):
    scores = np.outer(x, y)
    powers = np.exp(scores - scores.max(-1, keepdims=True))
    return powers / powers.sum(-1, keepdims=True)
"""
    lines = ["scores = np.outer(x, y)", "powers = np.exp(scores)", "return powers / powers.sum()"]
    assert place(*lines, reference=reference)[0] == "powers.sum()"
    lines = ["scores = np.outer(x, y)", "powers = np.exp(2 * scores)", "return powers / powers.sum(-1)"]
    assert place(*lines, reference=reference)[0] == "np.exp(2 * scores)"


def test_a_large_negative_number_stands_for_minus_infinity():
    reference = (
        "import numpy as np\ndef f(x, y):\n    kept = np.where(x > 0.1, x, -np.inf)\n    return kept * 2\n"
    )
    assert place("kept = np.where(x > 0.1, x, -1e9)", "return kept * 3", reference=reference)[0] == "kept * 3"


def test_an_array_of_one_number_is_not_said_to_be_wrong():
    found = place("scores = x * y", "filled = np.full_like(scores, -3)", "return scores + filled")
    assert found == (
        "scores + filled",
        f"{COMPARED} `scores` still has the right numbers. {UNPROVED}",
    )


def test_an_array_that_is_made_like_another_one_reads_no_numbers():
    lines = [
        "scores = x * y",
        "sums = np.empty_like(scores)",
        "sums[:] = scores - scores.mean()",
        "return sums",
    ]
    assert place(*lines)[0] == "scores.mean()"


def test_a_count_is_not_said_to_be_wrong():
    assert place("scores = x * y", "count = np.argmax(scores)", "return scores / scores.sum() + count")[
        0
    ] == ("scores / scores.sum() + count")


def test_too_few_numbers_in_one_case_are_judged_by_the_others():
    found = results()
    found[0].failures[0].call.kwargs["y"] = np.ones(5)
    found[0].failures[0].call.kwargs["x"] = np.ones(5)
    lines = ["scores = x * y", "weights = scores / np.sum(scores)", "return weights * 2"]
    assert place(*lines, found=found)[0] == "weights * 2"


@pytest.mark.parametrize("found", [results(1), results(3, x=np.arange(1.0, 6.0), y=np.arange(2.0, 7.0))])
def test_one_case_and_cases_of_the_same_numbers_prove_nothing(found):
    assert place("scores = x * y", "weights = scores - 1", "return weights", found=found) is None


class TestPrograms:
    """What is right in one program of a kernel is wrong in another one."""

    REFERENCE = """
import numpy as np
import triton

def program(n, x, y):
    secret, other = np.cos(x + n), np.sin(y + n)
    return np.dot(secret, other)

def f(x, y):
    return [program(n, x, y) for n in range(3)]
"""

    def found(self, body, reference=REFERENCE):
        helper = f"def program(n, x, y):\n    {body}\n"
        return place("return [program(n, x, y) for n in range(3)]", before=helper, reference=reference)

    def test_numbers_of_two_programs_are_said_to_be(self):
        said = (
            f"{COMPARED} `a` and `b` have the right numbers, but of different programs: one of them is what"
            " another program should have. No step of the reference has what is computed of them here."
        )
        body = "a, b = np.cos(x + n), np.sin(y); return np.dot(a, b)"
        assert self.found(body) == ("np.dot(a, b)", said)

    def test_numbers_of_one_program_are_right(self):
        body = "a, b = np.cos(x + n), np.sin(y + n); return np.sum(a + b)"
        assert self.found(body) == (
            "a + b",
            f"{COMPARED} `a` and `b` still have the right numbers. {UNPROVED}",
        )

    def test_calls_that_are_no_programs_are_not_compared(self):
        body = "a, b = np.cos(x + n), np.sin(y); return np.dot(a, b)"
        found = self.found(body, self.REFERENCE.replace("import triton", ""))
        assert found == (
            "np.dot(a, b)",
            f"{COMPARED} `a` and `b` still have the right numbers. {UNPROVED}",
        )
