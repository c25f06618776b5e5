"""A report shows the failing call, with arguments by the names of their parameters."""

import numpy as np
import pytest

from grader.answer_keys.answers import Case
from grader.checks.context import Check
from grader.checks.runner import CheckResult, Failure
from grader.grading.report_builder import QuotedAnswer, as_check
from grader.kata import Kata
from grader.values.comparison import Difference
from grader.worker.calls import Call
from grader.worker.protocol.codec import Handle
from grader.worker.proxies import RemoteObject

ONE = np.eye(2)
KATA = Kata(
    "attend", track="attention", entry_points=("attend",), title="T", source="S", hints=("a", "b", "c")
)


def test_what_the_grader_asks_of_its_own_objects_is_not_shown():
    case = Case(0, {"steps": 3})
    plan = Check("holds", "It holds.", 100, [case], lambda *_: None, None)
    trace = [Call("train", [3], {}), Call("sizes", [0.02], {}, helping=True)]
    found = as_check(
        CheckResult(plan, [Failure(case, "failed", "", None, trace)]), KATA, None, QuotedAnswer()
    )
    assert found.call == "from attend import train\ntrain(3)"


SOURCE = "def attend(q, k, v=None): ..."


def call_shown(*args, **kwargs):
    plan = Check("holds", "It holds.", 100, [case := Case(0, {})], lambda *_: None, None)
    failure = Failure(case, "failed", "", None, [Call("attend", list(args), kwargs)])
    found = as_check(CheckResult(plan, [failure]), KATA, None, QuotedAnswer(SOURCE))
    return found.call.splitlines()[-1], list(found.counterexample or {})


@pytest.mark.parametrize(
    ("args", "shown", "values"),
    [
        ((ONE, np.eye(3)), "attend(q, k)", ["q", "k"]),
        ((ONE, ONE), "attend(q, k)", ["q", "k"]),
        ((ONE, 3, None), "attend(q, 3, None)", ["q"]),
        (("text", [1, 2]), "attend('text', [1, 2])", []),
        ((list(range(30)),), "attend(q)", ["q"]),
        (({"a": ONE},), "attend(q)", ["q['a']"]),
        ((1, 2, 3, ONE), "attend(1, 2, 3, value)", ["value"]),
        ((RemoteObject(None, Handle(1, "Model")), 3), "attend(…, 3)", []),
    ],
)
def test_arguments_go_by_the_names_of_their_parameters(args, shown, values):
    assert call_shown(*args) == (shown, values)


def test_keyword_arguments_say_both_names():
    assert call_shown(q=ONE, k=-1) == ("attend(q=q, k=-1)", ["q"])


def came(value, expected, got, where):
    """What a report says of a difference of types or shapes in what a call returned."""
    difference = Difference("shape", lambda: (expected, got), where)
    plan = Check("holds", "It holds.", 100, [case := Case(0, {})], lambda *_: None, None)
    failure = Failure(case, "failed", "", difference, [Call("attend", [], {}, value)])
    return as_check(CheckResult(plan, [failure]), KATA, None, QuotedAnswer(SOURCE)).came


def test_a_part_that_looks_like_another_one_has_the_name_that_the_kata_gives_it():
    none, one = np.zeros(0, np.int64), np.ones(1, np.int64)
    texts = "int64 (1): [1]", "int64 (0): []"
    assert came((one, none), *texts, "accepted").startswith("result[1]: int64 (0): [], expected int64 (1)")
    assert came((none, none), *texts, "accepted").startswith("accepted: int64 (0): [], expected int64 (1)")
    texts_and_ends = [[[2], [1]], [1, 3]]  # `result[1][0]` is an end, and looks like the text's first token
    assert came(texts_and_ends, "3", "1", "texts[1][0]") == "texts[1][0]: 1, expected 3"
