"""An answer that a student can give without solving the kata is told from one that shows work."""

import numpy as np
import pytest

from grader.cases.trivial import is_trivial


@pytest.mark.parametrize(
    ("expected", "given", "is_so"),
    [
        (np.zeros((2, 3)), {}, True),
        (np.full(3, -np.inf), {}, True),
        (np.full((2, 2), 0.25), {}, True),
        (np.array([0.25, 0.75]), {}, False),
        (np.array([[0.25, 0.75]]), {"x": np.float32([[0.25, 0.75]])}, True),
        (np.array([[0.25, 0.75]]), {"x": np.array([0.25, 0.75])}, False),
        (np.array([True, True]), {}, True),
        (np.array([True, False]), {"x": np.array([1, 0])}, False),
        (np.empty((0, 2)), {}, True),
        (1.0, {}, True),
        (float("nan"), {}, True),
        (3.5, {}, False),
        (3.5, {"weights": {"a": 3.5}}, True),
        ([3, 1], {"ids": [3, 1]}, True),
        ([3, 1, 0], {"ids": [3, 1]}, False),
        (np.array([[3.0, 5.0]]), {"x": np.array([[1.0, 2.0], [3.0, 5.0]])}, True),
        (np.array([[2.0, 5.0]]), {"x": np.array([[1.0, 2.0], [3.0, 5.0]])}, False),
        (np.array([False, True]), {"mask": np.array([[True, False, True]])[0]}, True),
        (np.array([-np.inf, 5.0]), {"x": np.array([1.0, -np.inf, 5.0])}, True),
        (np.array([np.nan, 5.0]), {"x": np.array([1.0, np.nan, 5.0])}, True),
        (np.array([1.0, 5.0]), {"x": np.array([np.inf, 5.0])}, False),
        (np.array([[2.0]]), {"x": np.array([[1.0, 2.0], [3.0, 5.0]])}, False),
        ([0, 1], {}, False),
        ((np.zeros(2), np.ones(2)), {}, True),
        ((np.zeros(2), np.arange(2)), {}, False),
        (None, {}, True),
        ("ab", {"text": "ab"}, True),
        ("ab", {"text": "a"}, False),
    ],
)
def test_what_takes_no_thought_is_trivial(expected, given, is_so):
    assert is_trivial(expected, given) is is_so
