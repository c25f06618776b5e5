"""Two wrong answers are close if they share wrong numbers, and one has no other wrong numbers."""

import numpy as np
import pytest

from grader.answer_keys.answers import Answer
from grader.diagnosis.closeness import closeness

NAN = float("nan")


@pytest.mark.parametrize(
    ("theirs", "mine", "right", "expected"),
    [
        ([1.0, 2.0, 9.0], [1.0, 2.0, 9.0], [1.0, 2.0, 3.0], 1),
        ([1.0, 8.0, 9.0], [1.0, 7.0, 9.0], [1.0, 2.0, 3.0], 1),  # the other number has a second reason
        ([1.0, 8.0, 9.0], [0.0, 8.0, 9.0], [1.0, 2.0, 3.0], 1),  # and a right number is wrong here
        ([1.0, 2.0, 9.0], [0.0, 0.0, 9.0], [1.0, 2.0, 3.0], -1),
        ([1.0, 2.0, NAN], [1.0, 2.0, NAN], [1.0, 2.0, 3.0], 1),
        ([1.0, 2.0], [1.0, 2.0], [1.0, 2.0], 0),
        ([1.0, 2.0], [1.0, 2.0], [1.0, 2.0, 3.0], 2),  # the same wrong shape
        ([1.0, 2.0], [1.0, 5.0], [1.0, 2.0, 3.0], 0),
        ([1.0, 2.0], [1.0], [1.0, 2.0, 3.0], 0),
    ],
)
def test_wrong_numbers_that_are_shared_count_less_those_that_are_wrong_in_one(theirs, mine, right, expected):
    answers = ([Answer(np.array(values))] for values in (theirs, mine, right))
    assert closeness(*answers) == expected


def test_all_that_a_call_returns_counts_with_the_gradients():
    right = Answer({"loss": np.array(1.0), "names": ["a", "b"]}, gradients={"x": np.array([0.5, 0.5])})
    wrong = Answer({"loss": np.array(2.0), "names": ["a", "c"]}, gradients={"x": np.array([0.5, 0.0])})
    assert closeness([wrong], [wrong], [right]) == 3


def test_what_numpy_cannot_hold_is_compared_too():
    torch = pytest.importorskip("torch")
    right, wrong = (Answer(torch.tensor([1.0, x], dtype=torch.bfloat16)) for x in (2.0, 3.0))
    assert closeness([wrong], [wrong], [right]) == 1
    outline, other = Answer(torch.zeros(2, device="meta")), Answer("text")
    assert closeness([outline], [outline], [other]) == closeness([other], [other], [outline]) == 1


def test_an_exception_ends_the_answers_that_are_compared():
    right, wrong, error = Answer(np.zeros(2)), Answer(np.ones(2)), Answer(None, "ValueError")
    assert closeness([wrong, error, wrong], [wrong, error, wrong], [right, right, right]) == 2


def test_answers_of_other_forms_are_not_close():
    assert closeness([Answer([np.ones(2)])], [Answer(np.ones(2))], [Answer([np.zeros(2), 1])]) == 0
