"""Tests of what is said about raw error messages: the messages are those that NumPy and PyTorch raise."""

import numpy as np
import pytest

from grader.checks.error_words import in_words
from grader.expect import SubmissionFailed


def raised(call):
    try:
        call()
    except Exception as error:
        return in_words(SubmissionFailed((type(error).__name__,), str(error)))
    raise AssertionError("nothing was raised")


@pytest.mark.parametrize(
    ("call", "told"),
    [
        (lambda: np.ones((2, 4)) @ np.ones((3, 5)),
         "The last axis of the first, 4, is not the next-to-last of the second, 3; in a product of matrices"
         " they are equal."),
        (lambda: np.ones((2, 3)) + np.ones((2, 4, 3))[:, :, :2],
         "On axis -1 the sizes are 3 and 2; they must be equal, or one of them 1."),
        (lambda: np.ones((1, 5, 3)) + np.ones((4, 3)),
         "On axis -2 the sizes are 5 and 4; they must be equal, or one of them 1."),
        (lambda: np.ones((2, 3)).sum(axis=2), "Its axes are 0 to 1, or -1 to -2."),
        (lambda: np.ones((2, 3)) - np.ones((2, 3)).max(axis=-1),
         "On axis -1 the sizes are 3 and 2; they must be equal, or one of them 1. Is `keepdims=True` missing"
         " where the axis was summed up?"),
        (lambda: np.ones(3)[5], ""),
    ],
)  # fmt: skip
def test_numpys_sentences_are_said_in_words(call, told):
    assert raised(call) == told


AND = "`and`, `or`, `not` and `if` ask for one truth value"
AXIS = "NumPy calls it `axis` and `keepdims`."
ARRAY = "An array stands where one number belongs."


@pytest.mark.parametrize(
    ("call", "told"),
    [
        (lambda: np.ones(2) > 0 and np.ones(2) < 2, AND),
        (lambda: np.ones((2, 3)).sum(dim=1), AXIS),
        (lambda: np.sum(np.ones((2, 3)), dim=1), AXIS),
        (lambda: np.ones((2, 3)).max(axis=-1, keepdim=True), AXIS),
        (lambda: np.max(0, np.ones((2, 3))), ARRAY),
        (lambda: [1.0].shape, "A list is no array"),
    ],
)
def test_an_everyday_slip_in_numpy_is_said_in_words(call, told):
    assert raised(call).startswith(told)


def test_everyday_slips_in_pytorch_are_said_in_words():
    torch = pytest.importorskip("torch")
    x = torch.ones(2, 3)
    pair = "With `dim`, `max`, `min`, `sort` and `topk` of PyTorch return values and indices"
    assert raised(lambda: x - x.max(dim=-1)).startswith(pair)
    assert raised(lambda: x.max(dim=-1).exp()).startswith(pair)
    assert raised(lambda: x > 0 and x < 2).startswith(AND)
    ids = torch.zeros(2, dtype=torch.int32)
    assert raised(lambda: torch.nn.functional.cross_entropy(x, ids)).startswith("The ids may be of any")


def test_pytorchs_product_is_said_in_words():
    torch = pytest.importorskip("torch")
    assert raised(lambda: torch.ones(2, 4) @ torch.ones(3, 5)).startswith("The last axis of the first, 4,")


def test_a_debugger_and_input_are_explained():
    assert in_words(SubmissionFailed(("BdbQuit",), "")).startswith("`breakpoint()` needs a keyboard")
    assert in_words(SubmissionFailed(("EOFError",), "EOF when reading a line")).startswith("`input()` finds")
