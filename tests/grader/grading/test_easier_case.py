"""A report shows an easier case than the smallest of the bank, if the submission fails it in the same way."""

from dataclasses import replace

import numpy as np
import pytest

from grader.answer_keys.answers import Case
from grader.checks.builtin import stays_on_the_device
from grader.checks.runner import Failure, run_check
from grader.course.submission import parse
from grader.grading.easier_case import MOST_TRIES, EasierCases, OneCase, is_extreme
from grader.grading.grader import Grader
from grader.grading.submission_run import SubmissionRun
from grader.kata import Kata
from grader.values.seeded import seed_of, seeded
from grader.worker.in_process import LocalStudent

KATA = Kata("attend", track="t", entry_points=("attend",), title="T", source="S", hints=("a", "b", "c"))
LARGE = np.linspace(-1, 1, 60).reshape(3, 4, 5)


def failing(arguments, message="It is wrong."):
    return Failure(Case(-1, arguments), "failed", message, None, [])


def shown(arguments, fails=lambda _: True, message="It is wrong."):
    """Return the arguments of the last case that is yielded, and of all that were tried."""
    tried = []

    def retry(new):
        tried.append(new)
        return failing(new, message) if fails(new) else None

    found = list(EasierCases(KATA).failures(failing(arguments), retry))
    return (found[-1].case.arguments if found else None), tried


def test_a_large_array_is_replaced_by_a_seeded_one_and_its_axes_are_shortened():
    found, tried = shown({"x": LARGE})
    assert seed_of(tried[0]["x"]) == 0
    np.testing.assert_array_equal(found["x"], seeded(np.empty((1, 1, 2)), 0))


def test_an_axis_that_the_mistake_needs_stays():
    found, _ = shown({"x": LARGE}, lambda new: new["x"].shape[1] == 4)
    assert found["x"].shape == (1, 4, 2)


def test_masks_probabilities_and_ids_keep_their_numbers():
    chances = np.full((5, 6), 1 / 6)
    given = {"mask": np.ones((5, 6), bool), "chances": chances, "ids": np.arange(30), "x": LARGE}
    _, tried = shown(given)
    assert all(tried[0][name] is given[name] for name in ("mask", "chances", "ids"))
    assert seed_of(tried[0]["x"]) == 0


def test_two_arrays_differ_and_one_array_in_two_places_stays_one():
    other = LARGE + 0.5
    _, tried = shown({"q": LARGE, "k": LARGE, "v": other})
    assert tried[0]["q"] is tried[0]["k"]
    assert seed_of(tried[0]["v"]) == 1


def test_extreme_integers_become_small_ones_wherever_they_stand():
    given = {"ids": np.array([[2**53, 3, 2**53]]), "pad_id": 2**53}
    assert is_extreme(given)
    _, tried = shown(given, lambda _: False)
    assert tried[0]["ids"].tolist() == [[5, 3, 5]]
    assert tried[0]["pad_id"] == 5


def test_a_case_that_the_kata_would_not_draw_is_not_tried():
    bank = [Case(n, {"x": LARGE, "num_heads": heads}) for n, heads in enumerate((5, 1))]
    tried = []
    list(EasierCases(KATA, bank).failures(failing(bank[0].arguments), tried.append))
    assert {new["x"].shape for new in tried} == {LARGE.shape}


@pytest.mark.parametrize(
    ("name", "array"),
    [
        ("probabilities", np.full((2, 7), 1 / 7)),
        ("a permutation", np.array([[6, 5, 4, 3, 2, 1, 0]])),
        ("a mask that shows something", np.eye(7, dtype=bool)[[6, 5]]),
    ],
)
def test_a_shortened_array_stays_what_it_is(name, array):
    _, tried = shown({"a": array}, lambda _: False)
    assert all(new["a"].shape[-1] == 7 for new in tried), name


def test_a_number_of_numpy_beside_an_array_is_kept():
    _, tried = shown(
        {"a": np.random.default_rng(0).normal(size=(2, 70)), "p": np.float32(0.5)}, lambda _: False
    )
    assert any(new["a"].shape != (2, 70) for new in tried)
    assert all(new["p"] == np.float32(0.5) for new in tried)


def test_an_answer_is_steady_if_it_hardly_changes_where_the_numbers_do(tiny_course):
    oracle = Grader(tiny_course, {}).prepare(tiny_course.kata_info("double")).oracle
    case = {"x": np.array([0.5, -1.0])}
    assert OneCase(oracle, case).is_steady
    oracle.reference = LocalStudent.from_source("double", "def double(x):\n    return (x > -1).astype(int)\n")
    assert not OneCase(oracle, case).is_steady
    assert OneCase(oracle, {"x": np.array([0.5, -2.0])}).is_steady


def test_arguments_that_follow_from_others_are_computed_anew():
    kata = replace(KATA)
    kata.derived(lambda x: {"total": float(x.sum())})
    tried = []
    list(EasierCases(kata).failures(failing({"x": LARGE, "total": float(LARGE.sum())}), tried.append))
    assert len(tried) > 1
    assert all(case["total"] == float(case["x"].sum()) for case in tried)


def test_a_case_without_what_others_follow_from_stays_as_it_is():
    kata = replace(KATA)
    kata.derived(lambda x: {"total": float(x.sum())})
    assert kata.completed({"y": 1}) == {"y": 1}


def test_the_check_of_the_device_has_no_easier_case_for_an_answer_in_pytorch(tiny_course, torch_source):
    info = tiny_course.kata_info("double")
    source = "import torch\n\ndef double(x):\n    return torch.tensor((2 * x).tolist(), dtype=x.dtype)\n"
    prepared = Grader(tiny_course, {}).prepare(info, "torch")
    run = SubmissionRun({"torch": torch_source}, "cpu", prepared, parse(info, source, "double.py"))
    try:
        [check] = [check for check in prepared.checks if check.judge is stays_on_the_device]
        assert run.retried(check, {"x": np.ones((2, 2), np.float32)}) is None
        assert run_check(check, run.context).failures
    finally:
        run.close()


def test_a_case_that_fails_with_another_finding_is_not_shown():
    assert shown({"x": LARGE}, message="Something else.")[0] is None
    assert shown({"x": LARGE}, message="It is wrong.")[0] is not None


def test_the_tries_for_one_submission_are_limited():
    easier, tried = EasierCases(KATA), []
    for _ in range(10):
        list(easier.failures(failing({"x": LARGE + 0.0}), tried.append))
    assert len(tried) == MOST_TRIES


def test_a_case_found_for_one_check_is_tried_first_for_the_next():
    easier, first = EasierCases(KATA), failing({"x": LARGE})
    found = list(easier.failures(first, failing))[-1].case.arguments
    assert [failure.case.arguments for failure in easier.failures(first, failing)] == [found]


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_the_seed_of_a_seeded_array_is_found_in_every_float_dtype(dtype):
    assert seed_of(seeded(np.empty((3, 4), dtype), 17)) == 17
    assert seed_of(LARGE.astype(dtype)) is None
    assert seed_of(seeded(np.empty((3, 4), dtype), 17).T) is None


def test_a_seeded_value_may_have_no_axes():
    torch = pytest.importorskip("torch")
    for value in (np.array(2.5, np.float32), torch.tensor(2.5)):
        found = seeded(value, 0)
        assert (type(found), found.dtype, tuple(found.shape)) == (type(value), value.dtype, ())
