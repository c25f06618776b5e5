"""A report shows the failing call, with arguments by their names in the case."""

import numpy as np
import pytest

from grader.checks import base
from grader.checks.base import Check
from grader.checks.runner import CheckResult, Failure
from grader.grading.report_builder import as_check
from grader.kata import Kata
from grader.worker.protocol.codec import Handle
from grader.worker.proxies import RemoteObject
from grader.worker.student import Call

ONE = np.eye(2)
KATA = Kata(
    "attend", track="attention", entry_points=("attend",), title="T", source="S", hints=("a", "b", "c")
)
LIST = [1, 2]


def test_what_the_grader_asks_of_its_own_objects_is_not_shown():
    case = {"steps": 3}
    plan = Check("holds", "It holds.", 100, [case], lambda *_: None, None)
    trace = [Call("train", [3], {}), Call("sizes", [0.02], {}, helping=True)]
    assert (
        as_check(CheckResult(plan, [Failure(case, "failed", "", None, trace)]), KATA, None).call == "train(3)"
    )


def call_shown(case, *args, **kwargs):
    plan = Check("holds", "It holds.", 100, [case], lambda *_: None, None)
    failure = Failure(case, "failed", "", None, [Call("attend", list(args), kwargs)])
    return as_check(CheckResult(plan, [failure]), KATA, None).call


@pytest.mark.parametrize(
    ("case", "args", "shown"),
    [
        ({"q": ONE, "k": LIST}, (ONE, LIST), "attend(q, k)"),
        ({"q": ONE, "k": LIST}, (LIST, ONE), "attend(k, q)"),
        ({"q": ONE}, (ONE, ONE), "attend(q, q)"),
        ({"q": ONE, "k": ONE, "v": ONE}, (ONE, ONE, ONE), "attend(q, k, v)"),
        ({"q": ONE, "k": ONE}, (ONE, 3, ONE, ONE), "attend(q, 3, k, k)"),
        ({"q": ONE}, (np.eye(3), "text", None), "attend(…, 'text', None)"),
        ({"n": 3}, (3,), "attend(3)"),
        ({"n": 3}, (RemoteObject(None, Handle(1, "Model")), 3), "attend(<Model>, 3)"),
    ],
)
def test_arguments_go_by_their_names_and_one_array_by_each_of_its_names(case, args, shown):
    assert call_shown(case, *args) == shown


def test_keyword_arguments_say_both_names():
    assert call_shown({"x": ONE, "axis": -1}, x=ONE, axis=-1) == "attend(x=x, axis=axis)"
    assert call_shown({"q": ONE, "k": ONE}, a=ONE, b=ONE) == "attend(a=q, b=k)"


@pytest.mark.parametrize(
    ("name", "index", "told"),
    [("argument 1", 0, "x"), ("argument 2", 1, "argument 2 of f"), ("mask", 1, "mask")],
)
def test_a_changed_argument_has_its_name_in_the_case_or_its_place_in_the_call(name, index, told):
    x = np.zeros(2)
    values = x, np.zeros(2)
    call = Call("f", list(values), {})
    assert base._name_of({"n": 2, "x": x}, call, name, values[index]) == told
