"""A header that is remembered is the header that would have been put together."""

import numpy as np
import pytest

from grader.worker.codec import Malformed, encode
from grader.worker.headers import Headers
from grader.worker.requests import Outcome

ARRAY = np.arange(6.0).reshape(2, 3)
ANSWERS = {
    "an array": Outcome(ARRAY),
    "another of its shape": Outcome(ARRAY + 1),
    "of another dtype": Outcome(ARRAY.astype("float32")),
    "of another shape": Outcome(ARRAY.reshape(3, 2)),
    "with axes in another order": Outcome(ARRAY.T),
    "without axes": Outcome(np.array(2.5)),
    "without elements": Outcome(np.zeros((0, 3))),
    "a number of NumPy's": Outcome(np.float64(2.5)),
    "of bools": Outcome(ARRAY > 2),
    "two arrays": Outcome((ARRAY, ARRAY)),
    "with its arguments": Outcome(ARRAY, arguments=[[ARRAY], {}]),
    "with its work": Outcome(ARRAY, flops=12),
    "with gradients": Outcome(ARRAY, gradients={"x": ARRAY}),
    "nothing": Outcome(None),
}


@pytest.mark.parametrize("name", ANSWERS)
def test_the_same_bytes_the_first_time_and_the_second(name):
    headers, answer = Headers(), ANSWERS[name]
    for _ in range(2):
        assert headers.encode(answer) == encode({"ok": answer.message()})


def test_no_header_is_taken_for_another():
    headers = Headers()
    for _ in range(2):
        for answer in ANSWERS.values():
            assert headers.encode(answer) == encode({"ok": answer.message()})


def test_tensors_and_arrays_are_told_apart():
    torch = pytest.importorskip("torch", reason="what tensors are is PyTorch's to say")
    tensor = torch.arange(6.0, dtype=torch.float64).reshape(2, 3)
    answers = {
        "plain": tensor,
        "of bfloat16": tensor.bfloat16(),
        "transposed": tensor.T,
        "conjugated": torch.complex(tensor, tensor).conj(),
        "negated": torch._neg_view(tensor),
        "differentiated": tensor.clone().requires_grad_(),
        "none at all": ARRAY,
    }
    headers = Headers()
    for _ in range(2):
        for answer in map(Outcome, answers.values()):
            assert headers.encode(answer) == encode({"ok": answer.message()})


def test_what_may_not_travel_does_not():
    headers = Headers()
    foreign = Outcome(ARRAY.astype(">f8"))
    for _ in range(2):
        with pytest.raises(Malformed, match="dtype"):
            headers.encode(foreign)
