"""What holds of all cases of a kata is what its functions may get; anything else gets a sentence."""

import numpy as np
import pytest

from grader.cases.domain import Domain, known_cases, numbers_in
from grader.kata import Kata

KATA = Kata("filter", track="t", entry_points=("filter",), title="t", source="s", hints=())


def filtered(rows, vocab, p, kind, mask=None, bias=0.0):
    """A case of a filter: probabilities, a threshold, token ids, a flag, a text, weights and a mask."""
    shares = np.arange(1.0, vocab + 1) * np.ones((rows, 1))
    return {
        "probs": (shares / shares.sum(-1, keepdims=True)).astype(np.float32),
        "logits": np.linspace(-1.5, 3.0, vocab, dtype=np.float32),
        "ids": np.arange(vocab)[::-1],
        "p": p,
        "keep": rows,
        "kind": kind,
        "mask": mask,
        "steps": [1, 2][:rows],
        "weights": {"scale": np.full(vocab, 1.0 + bias, np.float32)},
    }


SETTINGS = [(1, 3, 0.1, "top"), (2, 5, 0.5, "min"), (2, 4, 0.9, "top"), (1, 4, 0.3, "min")]
CASES = [
    filtered(rows, vocab, p, kind, mask, rows / 10)
    for rows, vocab, p, kind in SETTINGS * 8
    for mask in (None, np.tri(rows, dtype=bool))
]  # fmt: skip
DOMAIN = Domain(KATA, CASES)
UNLIKE = "has a row unlike those of all cases, whose rows"
APART = "The sizes do not go together:"
F32 = np.float32
TEN = "numbers from -10 to 10 are allowed."
IS_3 = "axis -1 of `probs` is 4, and axis -1 of `logits` is 3."
LEGAL = filtered(2, 4, 0.4, "min")


@pytest.mark.parametrize("case", [*CASES[:8], LEGAL], ids=lambda case: f"{case['p']} {case['kind']}")
def test_what_is_learnt_allows_the_cases_and_those_between(case):
    assert not DOMAIN.complaint(case)


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"p": 0.95}, "`p` is 0.95; numbers from 0.1 to 0.9 are allowed."),
        ({"p": float("nan")}, "`p` holds nan, which no case has."),
        ({"p": "0.5"}, "`p` is a text; a number is allowed."),
        ({"kind": "max"}, "`kind` is 'max'; 'min' or 'top' is allowed."),
        ({"mask": True}, "`mask` is a flag; None or an array is allowed."),
        ({"mask": np.zeros((2, 2), bool)}, f"`mask` {UNLIKE} hold a number or a True."),
        ({"keep": 3}, "`keep` is 3; numbers from 1 to 2 are allowed."),
        pytest.param({"keep": object()}, "`keep` is an object; an integer is allowed.", id="an object"),
        ({"logits": np.zeros(4)}, "`logits` is float64; float32 is allowed."),
        ({"logits": np.zeros((2, 4), F32)}, "`logits` has 2 axes; 1 is allowed."),
        ({"logits": np.zeros(4, F32)}, f"`logits` {UNLIKE} hold different entries."),
        ({"logits": np.arange(4, dtype=F32) * 40}, f"`logits` holds 40.0; {TEN}"),
        ({"logits": np.array([1, 2, 3, np.inf], F32)}, "`logits` holds inf, which no case has."),
        ({"logits": np.array([4, 3, 2, 1], F32)}, f"`logits` {UNLIKE} are sorted."),
        ({"logits": np.arange(3, dtype=F32)}, f"{APART} {IS_3}"),
        ({"probs": np.full((2, 4), 0.2, F32)}, f"`probs` {UNLIKE} hold probabilities that sum to 1."),
        ({"probs": np.zeros((0, 4), F32)}, "`probs` has 0 entries along an axis; 1 to 5 are allowed."),
        ({"ids": np.array([3, 2, 1, -1])}, "`ids` holds -1; numbers from 0 to 4 are allowed."),
        ({"ids": np.array([4, 2, 1, 0])}, f"{APART} axis -1 of `probs` is 4, and the largest of `ids` is 4."),
        ({"steps": [1, 2, 3]}, "`steps` has 3 items; 1 to 2 are allowed."),
        ({"steps": (1, 2)}, "`steps` is a tuple; a list is allowed."),
        ({"steps": [1, [2]]}, "`steps[…]` is a list; an integer is allowed."),
        ({"weights": {"shift": np.ones(4, F32)}}, "`weights` has the key 'shift', which no case has."),
        ({"more": 1}, "There is no argument `more`."),
    ],
    ids=str,
)  # fmt: skip
def test_what_no_case_has_gets_a_sentence(change, sentence):
    assert DOMAIN.complaint({**LEGAL, **change}) == sentence


def test_a_missing_argument_gets_a_sentence():
    assert DOMAIN.complaint({}) == "`probs` is missing."


def test_dtypes_that_are_equal_in_all_cases_have_to_be():
    cases = [{"q": np.ones(2, dtype), "k": np.ones(2, dtype)} for dtype in ("float32", "float64")]
    mixed = {"q": np.ones(2, "float32"), "k": np.ones(2)}
    sentence = "`q` is float32 and `k` is float64; all cases have one dtype."
    assert Domain(KATA, cases).complaint(mixed) == sentence


def test_what_follows_from_other_arguments_has_to_follow():
    kata = Kata("sum", track="t", entry_points=("sum",), title="t", source="s", hints=())
    kata.derived(lambda counts: {"total": float(counts.sum())})
    domain = Domain(kata, [{"counts": np.array([n, 2.0 * n]), "total": 3.0 * n} for n in range(1, 5)])
    assert not domain.complaint({"counts": np.array([2.0, 4.0]), "total": 6.0})
    sentence = "`total` does not follow from the others; it must be 6.0."
    assert domain.complaint({"counts": np.array([2.0, 4.0]), "total": 7.0}) == sentence


def test_floats_of_both_signs_may_be_larger_than_those_of_the_cases():
    domain = Domain(KATA, [{"x": np.array([-2.0, n])} for n in (1.0, 3.0)])
    assert not domain.complaint({"x": np.array([-9.0, 9.0])})
    assert domain.complaint({"x": np.array([-9.0, 11.0])})


def test_positive_floats_stay_positive():
    domain = Domain(KATA, [{"x": np.array([2.0, n])} for n in (1.0, 30.0)])
    assert not domain.complaint({"x": np.array([90.0, 1.5])})
    assert domain.complaint({"x": np.array([0.0, 1.5])})
    assert domain.complaint({"x": np.array([-1.0, 1.5])})


def test_a_domain_is_learnt_from_more_cases_than_those_of_the_bank():
    kata = Kata("half", track="t", entry_points=("half",), title="t", source="s", hints=())

    @kata.cases
    def cases(draw):
        from grader import strategies as st

        return {"n": draw(st.integers(0, 40))}

    assert Domain(kata, [{"n": 3}]).complaint({"n": 30})
    assert not Domain(kata, known_cases(kata, [{"n": 3}])).complaint({"n": 30})


def test_entries_of_arrays_and_numbers_by_themselves_are_counted():
    assert (
        numbers_in({"x": np.zeros((2, 3)), "n": 1, "p": 0.5, "on": True, "k": None, "s": "1", "l": [1, 2]})
        == 10
    )
