"""A mistake behind an exception is named only if a change that keeps all numbers shows it."""

import ast
from pathlib import Path
from types import SimpleNamespace

import pytest

from grader.answer_keys.answers import Case
from grader.checks.context import Check
from grader.checks.runner import CheckResult, Failure
from grader.course.catalog import Course
from grader.course.submission import Submission
from grader.diagnosis.hidden import LineMend, hidden_mistakes, keeps_numbers
from grader.diagnosis.search_options import SearchOptions
from grader.edits.walk import Edit
from grader.formats import account
from grader.grading.grader import Grader
from grader.report import Mistake
from grader.worker.calls import Call

ROOT = Path(__file__).resolve().parents[3]
SOFTMAX = """
import numpy as np

def softmax(x, axis=-1):
    e = np.exp(x)
    return e / e.sum(axis=axis, keepdim=True)
"""
POSITIONS = """
import numpy as np

def sinusoidal_positions(seq_len, d_model):
    table = np.zeros((seq_len, d_model))
    for pos in range(seq_len):
        for i in range(0, d_model, 2):
            angle = pos / 10000 ** (i / d_model)
            table[pos, i] = np.cos(angle)
            table[pos, i + 1] = np.sin(angle)
    return table
"""
FACT = (
    "Changing only this spot stops the exception: {}. What still fails then has another reason, which is"
    " named."
)


@pytest.fixture
def located(numpy_source):
    """`located(kata, code)` returns the report after a search."""
    course = Course(ROOT)

    def run(kata, code):
        grader = Grader(course, {"numpy": numpy_source})
        graded = grader.grade(Submission(course.kata_info(kata), code, f"{kata}.py"))
        return graded.locate(SearchOptions(10)).report

    return run


def said(report):
    return {(m.id, m.certain, m.partial) for check in report.checks if (m := check.mistake)}


@pytest.mark.slow
def test_a_mistake_is_named_behind_an_exception_that_comes_first_everywhere(located):
    report = located("softmax", SOFTMAX)
    found = {check.mistake for check in report.checks if check.mistake}
    assert {(one.id, one.certain, one.partial) for one in found} == {
        ("forgets_to_subtract_the_max", True, True)
    }
    assert [repair.place.line for repair in report.repairs] == [6]
    assert account.repair_text(report) == FACT.format("whether an axis is kept")


@pytest.mark.slow
def test_wrong_values_beside_an_exception_have_the_whole_name(located):
    report = located("sinusoidal_positions", POSITIONS)
    named = {check.status for check in report.checks if check.mistake}
    assert named == {"failed"}
    assert said(report) == {("begins_with_the_cosine", True, False)}
    assert account.repair_text(report) == FACT.format("a condition")
    assert "The code raised IndexError" in account.told(report).others[0]


def test_an_exception_alone_has_its_place_and_no_other_name(located):
    lines = "x = x * 1.0\n    e = np.exp(x - x.max(axis=axis, keepdims=True))"
    report = located("softmax", SOFTMAX.replace("e = np.exp(x)", lines))
    assert not any(check.mistake for check in report.checks)
    assert account.repair_text(report) == (
        "Changing only this spot makes every check pass: whether an axis is kept."
    )


@pytest.mark.parametrize(
    ("old", "new", "keeps"),
    [
        ("x.sum(-1, keepdim=True)", "x.sum(-1, keepdims=True)", True),
        ("x.view(3)", "x.reshape(3)", True),
        ("k", "k.swapaxes(-1, -2)", True),
        ("mask", "mask[:, None]", True),
        ("x[2]", "x[1]", True),
        ("f(x)", "np.asarray(f(x))", False),  # may be of another length
        ("x.sum(-1, keepdim=True)", "x.sum(-1)", False),  # the sum would have lost its axis
        ("x.masked_fill(~mask, 0)", "x", False),
        ("mask", "mask[0]", False),  # the other rows would seem to be ignored
        ("x", "x.sum()", False),
        ("x", "x + 1", False),
        ("x", "y", False),
        ("x.mean(dim=-1)", "x.std(axis=-1)", False),
    ],
)
def test_a_change_that_leaves_out_or_computes_something_shows_nothing(old, new, keeps):
    before, after = (ast.parse(text, mode="eval").body for text in (old, new))
    assert keeps_numbers(Edit("f", ast.Expr(before), "value", before, after)) is keeps


def test_a_statement_that_is_moved_shows_nothing():
    body = ast.parse("x.bad()\nreturn_it(x)").body
    assert not keeps_numbers(Edit("f", ast.Module(body, []), "body", body, body[::-1]))


CASE = Case(0, {"x": 1})
CHECK = Check("agrees", "It agrees.", 100, [CASE], lambda *_: None)


def failed(status="failed", calls=1):
    failure = Failure(CASE, status, "", None, [Call("f", [], {}, None)] * calls)
    return [CheckResult(CHECK, [failure], [CASE])]


def found(left, own=None):
    """Return what is found where changes leave these results and names."""
    turn = iter(left)
    namings = {}

    def judged(source):
        results, name = next(turn)
        namings[source] = SimpleNamespace(
            run=lambda: None, found={"agrees": Mistake(name, "Text.")}, is_explained=bool(name)
        )
        return results

    matcher = SimpleNamespace(mistakes=[], naming=lambda _, source: namings[source])
    before = ast.parse("x", mode="eval").body
    edit = Edit("f", ast.Expr(before), "value", before, ast.parse("x.T", mode="eval").body)
    mends = [LineMend(edit, str(number), ()) for number in range(len(left))]
    return hidden_mistakes(mends, matcher, own or failed("error"), judged)


def test_the_fewest_mistakes_are_said():
    assert found([(failed(), "a and b"), (failed(), "c")]).names == {"c"}


@pytest.mark.parametrize(
    "left",
    [
        [(failed(), "a"), (failed(), "b")],  # two changes leave different mistakes
        [(failed("error"), "a")],  # another exception
        [(failed(calls=0), "a")],  # it fails before the call that raised
        [(failed(), "")],  # what is left has no name
        [(None, "a")],  # it could not be judged
    ],
)
def test_nothing_is_said_where_changes_disagree_or_come_less_far(left):
    assert found(left) is None


def test_a_change_that_fails_what_was_right_shows_nothing():
    assert found([(failed(), "a")], [CheckResult(CHECK, [], [CASE])]) is None
