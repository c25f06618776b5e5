"""What holds of the sizes and the whole numbers of all cases of a kata has to hold of a new one."""

import numpy as np
import pytest

from grader.cases.relations import CaseRelations


def attention(heads, width, past, new, batch=1):
    """A case of attention with a cache: `heads` of `width`, and `new` tokens after `past` ones."""
    return {
        "x": np.zeros((batch, new, heads * width)),
        "cache": np.zeros((batch, past, heads * width)),
        "mask": np.ones((new, past + new), bool),
        "num_heads": heads,
        "pieces": [1] * new,
    }


CASES = [
    attention(heads, width, past, new, batch)
    for heads, width, past, new, batch in [(1, 2, 3, 1, 1), (2, 3, 2, 4, 2), (3, 1, 1, 3, 3), (2, 4, 4, 2, 1)]
]
RELATIONS = CaseRelations(CASES)


@pytest.mark.parametrize("case", CASES)
def test_what_is_learnt_holds_of_the_cases_themselves(case):
    assert RELATIONS.hold(case)


def test_a_new_case_of_the_same_kind_holds():
    assert RELATIONS.hold(attention(2, 2, 2, 2))


@pytest.mark.parametrize(
    "change",
    [
        {"mask": np.ones((2, 3), bool)},  # 2 before and 2 new tokens make 4
        {"cache": np.zeros((1, 2, 2))},  # other features than x
        {"num_heads": 3},  # does not divide 4
        {"pieces": [2]},  # another number of pieces
        {"pieces": [1, 2]},  # another sum
        {"x": np.zeros((5, 2, 4)), "cache": np.zeros((5, 2, 4))},  # a larger batch than any
    ],
    ids=str,
)
def test_a_case_that_breaks_what_holds_of_all_does_not(change):
    assert not RELATIONS.hold({**attention(2, 2, 2, 2), **change})


def test_ids_stay_below_the_size_that_they_stay_below_in_all_cases():
    ids = [np.array([0, size - 1]) for size in (3, 5, 8)]
    relations = CaseRelations({"table": np.zeros((each[1] + 1, 2)), "ids": each} for each in ids)
    assert relations.hold({"table": np.zeros((4, 2)), "ids": np.array([0, 3])})
    assert not relations.hold({"table": np.zeros((4, 2)), "ids": np.array([0, 4])})


def test_the_least_length_is_one_that_all_axes_of_a_size_can_have():
    cases = [{"x": np.zeros((1, 5)), "y": np.zeros(5)}, {"x": np.zeros((4, 2)), "y": np.zeros(3)}]
    relations = CaseRelations(cases)
    assert relations.least_length(cases[0], 5) == 3
    assert relations.least_length(cases[1], 4) == 1


def test_without_cases_everything_holds():
    assert CaseRelations([]).hold(CASES[0])
    assert CaseRelations([]).least_length(CASES[0], 2) == 1
