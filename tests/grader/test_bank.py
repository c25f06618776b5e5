"""A bank is drawn alike every time, smallest first; a failing case is shrunk."""

import numpy as np
import pytest

from grader import bank
from grader import strategies as st


def draw_case(draw):
    shape = draw(st.shapes(2, 4))
    return {"x": draw(st.arrays(shape, "float64")), "n": draw(st.integers(0, 100))}


def prints(cases):
    return [bank.fingerprint(case) for case in cases]


def test_the_same_seed_draws_the_same_bank():
    assert prints(bank.draw_bank(draw_case, 20, seed=1)) == prints(bank.draw_bank(draw_case, 20, seed=1))


def test_another_seed_draws_another():
    assert prints(bank.draw_bank(draw_case, 20, seed=1)) != prints(bank.draw_bank(draw_case, 20, seed=2))


def test_cases_are_distinct_and_smallest_first():
    cases = bank.draw_bank(draw_case, 20)
    weights = [bank.weight(case) for case in cases]
    assert len(set(prints(cases))) == len(cases)
    assert weights == sorted(weights)


def test_no_more_cases_come_than_were_asked_for():
    assert len(bank.draw_bank(draw_case, 7)) == 7


def test_a_strategy_with_few_cases_gives_those():
    cases = bank.draw_bank(lambda draw: {"n": draw(st.integers(0, 2))}, 20)
    assert [case["n"] for case in cases] == [0, 1, 2]


def test_large_cases_stay_in_the_bank():
    assert max(case["x"].size for case in bank.draw_bank(draw_case, 10)) > 6


def test_shrinking_finds_the_smallest_case():
    found = bank.shrink(draw_case, lambda case: case["n"] >= 37, size=30)
    assert found["n"] == 37
    assert found["x"].shape == (1, 1)
    assert found["x"].tolist() == [[0]]


def test_shrinking_finds_the_shape_that_matters():
    found = bank.shrink(draw_case, lambda case: case["x"].shape[0] > 1 and case["x"].shape[1] > 2, size=30)
    assert found["x"].shape == (2, 3)


def test_where_nothing_fails_nothing_is_found():
    assert bank.shrink(draw_case, lambda case: False, size=10) is None  # noqa: ARG005


def test_shrinking_gives_up_after_a_number_of_tries(monkeypatch):
    monkeypatch.setattr(bank, "SHRINK_CALLS", 5)
    asked = []

    def fails(case):
        asked.append(case)
        return True

    assert bank.shrink(draw_case, fails, size=10) is not None
    assert len(asked) <= 7


def test_what_a_failing_case_raises_goes_through():
    class Lost(Exception):
        pass

    def fails(case):  # noqa: ARG001 - the signature is fixed
        raise Lost

    with pytest.raises(Lost):
        bank.shrink(draw_case, fails, size=5)


def test_plain_pytest_sees_the_smallest_failure():
    seen = []

    def check(case):
        seen.append(case["n"])
        assert case["n"] < 5

    with pytest.raises(AssertionError):
        bank.for_all(draw_case, check)
    assert seen[-1] == 5


def test_more_numbers_weigh_more_and_uneven_ones_too():
    assert bank.weight({"x": np.zeros(3)}) > bank.weight({"x": np.ones(2)})
    assert bank.weight(np.array([0.3])) > bank.weight(np.array([1.0])) > bank.weight(np.array([0.0]))
    assert bank.weight([1, (2, 3)]) == (3, 6.0)
    assert bank.weight({"x": np.array([np.inf, np.nan])}) == (2, 0.0)


def test_tensors_weigh_what_arrays_weigh():
    torch = pytest.importorskip("torch", reason="PyTorch is not installed")
    assert bank.weight(torch.ones(2)) == bank.weight(np.ones(2))


def test_equal_weights_are_ordered_by_their_bytes():
    cases = [{"n": n} for n in (-1, 1)]
    assert bank.smallest_first(cases) == bank.smallest_first(cases[::-1])
