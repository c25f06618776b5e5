"""What known mistake computes the wrong numbers of a place."""

from pathlib import Path
from types import SimpleNamespace

import numpy as np

from grader.checks.context import CheckContext
from grader.checks.runner import run_check
from grader.course.catalog import Course
from grader.diagnosis.known_mistakes import known_mistakes
from grader.diagnosis.matcher import MistakeMatcher
from grader.diagnosis.parting import parting_of
from grader.diagnosis.wrong_numbers import mistake_at
from grader.grading.grader import Grader
from grader.worker.in_process import LocalStudent

from .test_parting import results

ROOT = Path(__file__).resolve().parents[3]
REFERENCE = """
import numpy as np

def f(x, y):
    scores = x * y
    powers = np.exp(scores - scores.max())
    return powers / powers.sum()
"""
SQUARED = "scores = (x * y) ** 2"
SUBMITTED = (
    f"def f(x, y):\n    scores = x * y\n    {SQUARED.replace('x * y', 'scores')}\n    return scores.mean()"
)


def mistake(name, change, changes=frozenset({1}), *, fails=True):
    source = REFERENCE.replace("scores = x * y", change)
    return SimpleNamespace(
        id=name, source=source, changes=changes, outcome=lambda *_: object() if fails else None
    )


def found(*mistakes, submitted=SUBMITTED):
    oracle = SimpleNamespace(kata=SimpleNamespace(graded_parts={}))

    def load(text, recorder=""):
        return CheckContext(oracle.kata, oracle, LocalStudent.from_source("answer", text, recorder))

    parting = parting_of(f"import numpy as np\n{submitted}\n", REFERENCE, results(), load)
    assert parting is not None
    named = mistake_at(parting, mistakes, oracle)
    return named and named.id


def test_it_is_the_one_that_computes_the_first_wrong_numbers():
    others = mistake("cubes", "scores = (x * y) ** 3"), mistake("takes_a_root", "scores = (x * y) ** 0.5")
    assert found(others[0], mistake("squares", SQUARED), others[1]) == "squares"
    assert found(*others) is None


def test_of_two_the_one_that_changes_less_is_said_and_else_none():
    less, other = mistake("squares", SQUARED), mistake("squares_too", SQUARED, frozenset({2}))
    assert found(less, mistake("squares_and_more", SQUARED, frozenset({1, 2}))) == "squares"
    assert found(less, other) is None


def test_a_mistake_that_passes_these_cases_is_no_reason():
    assert found(mistake("squares", SQUARED, fails=False)) is None


def test_a_mistake_without_code_is_no_reason():
    assert found(mistake("squares", SQUARED, changes=frozenset())) is None


def test_what_explains_all_together_with_a_known_one_is_named(numpy_source):
    course = Course(ROOT)
    prepared = Grader(course, {"numpy": numpy_source}).prepare(course.kata_info("softmax"))
    mistakes = {one.id: one for one in known_mistakes(course, prepared)}
    names = "forgets_to_subtract_the_max", "divides_by_the_sum_of_the_whole_array"
    both = mistakes[names[0]].with_another(mistakes[names[1]])
    student = LocalStudent.from_source("softmax", both.source)
    context = CheckContext(prepared.kata, prepared.oracle, student)
    with np.errstate(all="ignore"):
        judged = [run_check(check, context) for check in prepared.checks]
        naming = MistakeMatcher([*mistakes.values()]).naming(judged, both.source)
        naming.run_from(mistakes[names[1]])
    assert naming.is_explained
    assert {name for one in naming.found.values() for name in one.id.split(" and ")} == {*names}
