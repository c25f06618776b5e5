"""Tests of the Python code that makes a failing call again."""

import numpy as np
import pytest

from grader.checks.runner import Failure
from grader.grading.snippet import snippet_of
from grader.worker.student import Call

ROWS = np.arange(6, dtype=np.float32).reshape(2, 3)


def snippet(case, *args, name="attend", **kwargs):
    trace = [Call("build", [], {}, helping=True), Call(name, list(args), kwargs)]
    return snippet_of(Failure(case, "failed", "", None, trace), "attention", ("attend",))


def rebuilt(code):
    """Run the code with a function that keeps its arguments, and return these."""
    seen = []
    code = code.replace("from attention import attend", "")
    exec(code, {"attend": lambda *args, **kwargs: seen.append((args, kwargs))})
    return seen[0]


def test_arguments_have_their_names_and_the_rest_is_written_out():
    assert snippet({"q": ROWS, "scale": 0.5}, ROWS, 0.5, causal=True) == (
        "import numpy as np\n"
        "from attention import attend\n"
        "\n"
        "q = np.array([[0.0, 1.0, 2.0], [3.0, 4.0, 5.0]], dtype=np.float32)\n"
        "print(attend(q, 0.5, causal=True))\n"
    )


@pytest.mark.parametrize(
    "array",
    [
        ROWS,
        ROWS.T,
        ROWS.reshape(1, 2, 3).transpose(2, 0, 1),
        np.array([np.nan, -np.inf, 0.1]),
        np.array([[True, False]]),
        np.array(3, dtype=np.int16),
        np.zeros((0, 2)),
        np.array([1j]),
    ],
    ids=repr,
)
def test_an_array_is_rebuilt_with_its_digits_its_dtype_and_its_strides(array):
    code = snippet({"x": array}, array)
    if array.dtype.kind == "c":
        assert code == ""
        return
    (found,), _ = rebuilt(code)
    np.testing.assert_array_equal(found, array)
    assert (found.dtype, found.shape) == (array.dtype, array.shape)
    assert array.size == 0 or found.strides == array.strides


def test_a_tensor_is_rebuilt_with_its_strides():
    torch = pytest.importorskip("torch")
    tensor = torch.arange(6, dtype=torch.bfloat16).reshape(2, 3).T
    (found,), _ = rebuilt(snippet({"x": tensor}, tensor))
    assert torch.equal(found, tensor)
    assert (found.dtype, found.stride()) == (tensor.dtype, tensor.stride())


def test_lists_dicts_and_infinite_numbers_are_written_out():
    value = {"a": [1, (2.5,)], "b": float("inf"), "c": None}
    assert rebuilt(snippet({}, value)) == ((value,), {})


@pytest.mark.parametrize(
    "value",
    [object(), len, np.zeros((30, 30)), np.zeros((4, 4))[:, ::2]],
    ids=["object", "function", "large", "gaps"],
)
def test_what_code_cannot_rebuild_has_no_snippet(value):
    assert snippet({"x": value}, value) == ""


def test_a_call_of_an_object_has_no_snippet():
    assert snippet({}, 1, name="forward") == ""
