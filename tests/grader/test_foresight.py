"""What is learnt of a kata's calls, and that a grade does not depend on it."""

import dataclasses
from itertools import pairwise
from types import SimpleNamespace

import numpy as np
import pytest

from grader.arrays import in_leaves
from grader.authoring.answers import standalone_sources
from grader.catalog import Course
from grader.foresight import Listener, next_float, next_integer, scripts
from grader.grading import Grader
from grader.submission import Submission
from grader.worker.codec import Handle

GUARD = 'if isinstance(x, str): raise ValueError("text")'
RIGHT = f"def double(x):\n    {GUARD}\n    return 2 * x"
ANSWERS = {
    "right": RIGHT,
    "wrong": "def double(x): return 3 * x",
    "named": f"def double(x):\n    {GUARD}\n    return 3 * x",
    "raises": "def double(x): return x.nothing",
    "raises now and then": f"def double(x):\n    {GUARD}\n    return x + x if x.size > 2 else x.nothing",
    "counts": f"seen = []\ndef double(x):\n    {GUARD}\n    seen.append(x)\n    return x * len(seen)",
    "ends in the middle": "import os\nn = 0\ndef double(x):\n    global n\n    n += 1\n"
    "    return x + x if n < 30 else os._exit(0)",
    "prints": 'def double(x):\n    print("hm", x.shape)\n    return x',
    "returns an object": "def double(x): return object()",
    "changes x": f"def double(x):\n    {GUARD}\n    x += x\n    return x",
}


@pytest.fixture(scope="module")
def graders(numpy_source, tiny_course):
    """Two of them: one that never learns what will be asked, and one that knows."""
    plain, knowing = (Grader(tiny_course, numpy_source) for _ in range(2))
    plain._foresee = lambda _: None
    prepared = knowing.prepare(tiny_course.card("double"))
    prepared.graded = 1
    return plain, knowing


def judged(grader, name, source, label="double.py"):
    """The report but for its time, and whether it was known what would be asked."""
    card = grader.course.card(name)
    report = grader.grade(Submission(card, source, label))
    return dataclasses.replace(report, seconds=0.0), bool(grader.prepare(card).scripts)


@pytest.mark.parametrize("code", ANSWERS.values(), ids=ANSWERS)
def test_a_report_is_the_same_whether_calls_were_sent_ahead(graders, code):
    (one, foreseen), (other, known) = (judged(grader, "double", code) for grader in graders)
    assert (foreseen, known) == (False, True)
    assert one == other


@pytest.mark.slow
@pytest.mark.parametrize("name", ["causal_mask", "head_split_merge"])
def test_all_answers_of_a_kata_are_judged_alike(shipped, numpy_source, name):
    plain, knowing = (Grader(shipped, numpy_source, shrinks=False) for _ in range(2))
    plain._foresee = lambda _: None
    for part in ("variants", "mistakes"):
        for answer, source in standalone_sources(shipped, shipped.card(name), part).items():
            one, other = (judged(grader, name, source, answer)[0] for grader in (plain, knowing))
            assert one == other, answer


def test_a_first_submission_is_graded_without(numpy_source, tiny_course):
    grader = Grader(tiny_course, numpy_source)
    assert [judged(grader, "double", RIGHT)[1] for _ in range(3)] == [False, True, True]


def test_each_check_that_asks_anything_new_has_its_script(softmax_grader, tiny_course):
    checks = {"agrees_with_reference", "answers_the_same_again", "twice_is_a_sum", "refuses_text"}
    assert learnt(tiny_course, softmax_grader, "double").keys() == checks


@pytest.fixture(scope="module")
def shipped(softmax_grader):
    return Course(softmax_grader.course.root)


def learnt(course, grader, name):
    prepared = Grader(course, grader.source).prepare(course.card(name))
    return scripts(prepared.oracle, prepared.checks)


def test_every_case_of_a_check_is_in_its_script(shipped, softmax_grader):
    script = learnt(shipped, softmax_grader, "causal_mask")["agrees_with_reference"]
    assert all(len(steps) == 1 for steps in script.cases.values())
    numbers = [known.request.number for known in script.steps()]
    assert all(a < b for a, b in pairwise(numbers))


def test_an_answer_that_is_handed_on_stands_for_itself(shipped, softmax_grader):
    """`merge_heads(split_heads(x))`: what is merged is what the submission split, whatever that is."""
    script = learnt(shipped, softmax_grader, "head_split_merge")["merging_undoes_splitting"]
    for split, merge in script.cases.values():
        assert split.request.hands_on
        assert merge.request.args[0] == split.request.answer
        assert not merge.request.hands_on


@pytest.fixture
def listener():
    return Listener(SimpleNamespace(double=lambda x: 2 * x, size=len), lambda value: value)


def test_what_is_made_of_an_answer_does_not_stand_for_it(listener):
    heard = listener.begin()
    doubled = listener.double(np.ones(3))
    listener.double(doubled)
    listener.double(doubled[:2])
    listener.double(doubled + 0)
    doubled += 1
    listener.double(doubled)
    assert [isinstance(asked.args[0], Handle) for asked in heard] == [False, True, False, False, False]


def test_answers_of_another_case_are_not_handed_on(listener):
    listener.begin()
    doubled = listener.double(np.ones(3))
    heard = listener.begin()
    listener.double(doubled)
    assert heard[0].args[0] is doubled


def test_an_answer_may_be_handed_on_among_others(listener):
    heard = listener.begin()
    doubled = listener.double(np.ones(3))
    listener.size({"x": [doubled, 1]})
    assert heard[1].args == [{"x": [heard[0].answer, 1]}]


def test_every_number_of_an_answer_is_moved():
    answer = {"a": [1.0, 2, True, "x", None], "b": (3,)}
    floats = {"a": [np.nextafter(1, 2), 2, True, "x", None], "b": (3,)}
    assert in_leaves(next_float, answer) == floats
    assert in_leaves(next_integer, answer) == {"a": [1.0, 3, True, "x", None], "b": (2,)}


def test_arrays_are_moved_too():
    x = np.array([1.0, -0.0, np.inf], dtype=np.float32)
    assert (next_float(x)[:2] > x[:2]).all()
    assert next_float(x).dtype == next_integer(x).dtype == x.dtype
    assert next_integer(x) is x
    assert next_integer(np.arange(3, dtype=np.uint8)).tolist() == [1, 0, 3]
    assert next_integer(np.array([True, False])).tolist() == [False, True]
    assert next_float(np.arange(3)).tolist() == [0, 1, 2]


def test_tensors_are_moved_too():
    torch = pytest.importorskip("torch", reason="PyTorch is not installed")
    for dtype in (torch.float32, torch.float64, torch.bfloat16):
        x = torch.ones(3, dtype=dtype)
        assert (next_float(x) > x).all()
        assert next_integer(x) is x
    assert next_float(torch.arange(3)).tolist() == [0, 1, 2]
    assert next_integer(torch.arange(3)).tolist() == [1, 0, 3]
    assert next_integer(torch.tensor([True, False])).tolist() == [False, True]


def test_no_worker_knows_an_answer_by_heart(shipped, torch_source):
    """`going_on_is_going_through` goes on with half of what was generated: its question holds the tokens that
    are due. Nor may one of whom it is not known."""
    grader = Grader(shipped, torch_source)
    prepared = grader.prepare(shipped.card("greedy_generate"))
    assert "going_on_is_going_through" not in scripts(prepared.oracle, prepared.checks)
