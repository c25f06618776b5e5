"""A small input is found on which two functions differ."""

import numpy as np
import pytest

from dojo_probe.smallest import smallest
from grader.cases.domain import Domain, numbers_in
from grader.kata import Kata

KATA = Kata("total", track="t", entry_points=("total",), title="t", source="s", hints=())
SIZES = [(1, 2), (2, 2), (3, 4), (4, 3), (2, 5), (5, 4)]


def case(rows, columns):
    return {
        "x": np.linspace(-1.7, 2.3, rows * columns).reshape(rows, columns),
        "rows": rows,
        "ids": [1] * rows,
    }


CASES = [case(*size) for size in SIZES] * 5
DOMAIN = Domain(KATA, CASES)


@pytest.mark.parametrize(
    ("differs", "numbers"),
    [
        (lambda **_: True, 4),  # one row of two numbers, the number of rows and one id
        (lambda x, **_: x.shape[0] > 1, 7),
        (lambda x, **_: x.shape[1] > 2, 5),
        (lambda ids, **_: len(ids) > 2, 10),
    ],
)  # fmt: skip
def test_axes_are_shortened_as_far_as_the_difference_stays(differs, numbers):
    found = smallest(DOMAIN, CASES[2:], lambda arguments: differs(**arguments))
    assert numbers_in(found) == numbers
    assert not DOMAIN.complaint(found)


def test_numbers_are_made_plain():
    cases = [{"x": np.linspace(top - 1.3, top, n)} for top, n in [(1.7, 2), (0.7, 3), (2.1, 4)]]
    found = smallest(Domain(KATA, cases), cases, lambda arguments: bool((arguments["x"] > 0.5).any()))
    assert found["x"].tolist() == [0.0, 2.0]


def test_the_arguments_of_the_cases_stay_as_they_are():
    cases = [case(3, 4)]
    smallest(DOMAIN, cases, lambda arguments: bool((arguments["x"] > 0.5).any()))
    assert np.array_equal(cases[0]["x"], case(3, 4)["x"])


def test_without_a_difference_there_is_none():
    assert smallest(DOMAIN, CASES, lambda _: False) is None


def test_tensors_are_shortened_too():
    torch = pytest.importorskip("torch")
    cases = [{"x": torch.linspace(-1.7, 2.3, rows * 2).reshape(rows, 2)} for rows in (1, 2, 3, 4)] * 6
    found = smallest(Domain(KATA, cases), cases[3:], lambda arguments: len(arguments["x"]) > 1)
    assert found["x"].shape == (2, 2)
    assert found["x"].dtype == torch.float32
