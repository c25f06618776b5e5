"""`expect.frequency` accepts what a right answer draws and refuses what a wrong one draws."""

import random

import pytest

from grader import expect


@pytest.mark.parametrize(
    ("hits", "n", "p"), [(120, 400, 0.3), (180, 400, 0.3), (0, 9, 0.0), (9, 9, 1.0), (0, 5, 0.3)]
)
def test_shares_within_the_bound_are_accepted(hits, n, p):
    expect.frequency(hits, n, p)


@pytest.mark.parametrize(
    ("hits", "n", "p", "sentence"),
    [
        (
            190,
            400,
            0.3,
            "often: 190 times in 400 draws, where about 120 are expected and 64 to 182 are accepted.",
        ),
        (
            60,
            400,
            0.3,
            "rarely: 60 times in 400 draws, where about 120 are expected and 64 to 182 are accepted.",
        ),
        (1, 9, 0.0, "often: 1 time in 9 draws, where about 0 are expected and nothing else is accepted."),
        (8, 9, 1.0, "rarely: 8 times in 9 draws, where about 9 are expected and nothing else is accepted."),
    ],
)
def test_shares_beyond_the_bound_are_refused_with_the_numbers(hits, n, p, sentence):
    with pytest.raises(expect.ExpectationFailed) as refused:
        expect.frequency(hits, n, p, "heads")
    assert refused.value.message == f"Heads came up too {sentence}"


def test_a_fair_generator_is_never_refused():
    rng = random.Random(5)
    for _ in range(500):
        expect.frequency(sum(rng.random() < 0.2 for _ in range(100)), 100, 0.2)


@pytest.mark.parametrize("p", [0.02, 0.1, 0.3, 0.5, 0.9])
@pytest.mark.parametrize("n", [50, 400])
def test_the_chance_of_a_false_alarm_is_below_the_bound(n, p):
    from math import comb

    chance = 0.0
    for hits in range(n + 1):
        try:
            expect.frequency(hits, n, p)
        except expect.ExpectationFailed:
            chance += comb(n, hits) * p**hits * (1 - p) ** (n - hits)
    assert chance <= expect.FALSE_ALARM
