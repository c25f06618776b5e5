"""A NumPy kata may be answered in PyTorch: the arrays arrive as tensors, and tensors come back."""

import textwrap
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest

from grader.course.catalog import Course, KataError
from grader.course.submission import Submission, read_submission
from grader.grading.startup import open_grader
from grader.worker.protocol.codec import ARRAYS, Handle, TensorOutline, decode, encode

ROOT = Path(__file__).resolve().parents[2]
COURSE = Course(ROOT)
IN_TORCH = sorted(ROOT.glob("solutions/*/*/in_torch.py"))


@pytest.fixture(scope="module")
def grader():
    grader, factories = open_grader(COURSE, [COURSE.kata_info("softmax")])
    with closing(factories):
        yield grader


def graded(grader, source, name="softmax"):
    return grader.grade(submission(source, name)).report


def submission(source, name="softmax"):
    return Submission(COURSE.kata_info(name), textwrap.dedent(source), f"{name}.py")


def failed(report):
    return {check.name for check in report.checks if check.status not in ("passed", "skipped")}


SOFTMAX = """
    import torch

    def softmax(x, axis=-1):
        x = x if x.is_floating_point() else x.double()
        powers = (x - x.amax(axis, keepdim=True)).exp()
        return powers / powers.sum(axis, keepdim=True)
"""


# --- which library a submission is in ---


@pytest.mark.parametrize(
    ("imports", "library"),
    [
        ("import torch", "torch"),
        ("import torch.nn.functional as F", "torch"),
        ("from torch import nn", "torch"),
        ("import numpy as np", "numpy"),
        ("import numpy as np, torch", "numpy"),
        ("import torch\nfrom numpy import exp", "numpy"),
        ("import importlib\ntorch = importlib.import_module('torch')", "numpy"),
        ("torch = __import__('torch')", "numpy"),
        ("import torchvision", "numpy"),
        ("# import torch", "numpy"),
        ("import math", "numpy"),
    ],
)
def test_a_submission_is_in_pytorch_if_it_imports_that_and_not_numpy(imports, library):
    assert submission(imports).library == library


def test_an_import_within_a_function_counts():
    assert submission("def softmax(x):\n    import torch\n").library == "torch"


def test_a_pytorch_kata_and_one_without_arrays_are_answered_in_their_own_library():
    for name, library in (("top_p", "torch"), ("warmup_schedule", "numpy"), ("debug_future_leak", "numpy")):
        assert COURSE.kata_info(name).libraries == (library,)
        assert submission("import torch", name).library == library


DECLARED = 'KATA = Kata("mine", track="t", title="T", source="S", hints=(), entry_points=("f",), {})\n'


@pytest.mark.parametrize(
    ("declared", "said"),
    [
        (
            'libraries=("jax", "numpy")',
            "libraries=('jax', 'numpy') has 'jax'; say numpy or torch.",
        ),
        ('libraries=("torch",)', "libraries=('torch',) lacks the kata's own, 'numpy'."),
        ('libraries=("numpy")', 'libraries is one text; write libraries=("…",), with a comma.'),
        (
            'library="torch", libraries=("numpy", "torch")',
            "a PyTorch kata is answered in PyTorch alone; leave out libraries.",
        ),
    ],
)
def test_a_declaration_of_other_libraries_is_refused(tmp_path, declared, said):
    from grader.course.catalog import read_kata_info

    path = tmp_path / "test_mine.py"
    path.write_text(DECLARED.format(declared))
    with pytest.raises(KataError) as error:
        read_kata_info(path)
    assert str(error.value) == f"test_mine.py: {said}"


# --- the border ---


@pytest.mark.parametrize(
    "dtype", ["bool", "int8", "uint8", "int64", "float16", "float32", "complex64", "uint16"]
)
def test_arrays_arrive_as_tensors_of_the_same_dtype_and_strides(dtype):
    import torch

    whole = np.arange(24).reshape(2, 3, 4).astype(dtype)
    for array in (whole, whole.swapaxes(0, 1), whole[:, ::2, 1::2], np.broadcast_to(whole[:1], (5, 3, 4))):
        header, buffers = encode({"x": [array]}, gaps=True, as_tensors=True)
        (tensor,) = decode(header, bytearray(b"".join(buffers)))["x"]
        assert tensor.dtype == getattr(torch, dtype)
        assert (tensor.numpy() == array).all()
        assert array.strides == tuple(step * array.itemsize for step in tensor.stride()) or 0 in array.strides


def test_a_negative_stride_arrives_as_a_contiguous_copy():
    array = np.arange(6.0).reshape(2, 3)[:, ::-1]
    header, buffers = encode({"x": array}, gaps=True, as_tensors=True)
    tensor = decode(header, bytearray(b"".join(buffers)))["x"]
    assert tensor.is_contiguous()
    assert tensor.tolist() == array.tolist()


def test_numbers_strings_and_lists_stay():
    message = {"x": [1, 2.5, "three", None, (True, {"four": 4})], "y": np.float32(0.5)}
    assert decode(encode(message, as_tensors=True)[0], bytearray()) == {**message, "y": 0.5}


def test_tensors_come_back_as_arrays():
    import torch

    answer = {"x": [torch.tensor([[1.0, 2.0]]).T, torch.tensor(3), torch.tensor(0.5)]}
    header, buffers = encode(answer)
    array, whole, half = decode(header, bytearray(b"".join(buffers)), ARRAYS)["x"]
    assert type(array) is np.ndarray
    assert array.tolist() == [[1.0], [2.0]]
    assert (type(whole), type(half)) == (np.int64, np.float32)


def test_a_tensor_without_values_or_of_bfloat16_comes_back_as_no_array():
    import torch

    answer = {"x": [torch.zeros(2, device="meta"), torch.zeros(2, dtype=torch.bfloat16)]}
    header, buffers = encode(answer)
    outline, handle = decode(header, bytearray(b"".join(buffers)), ARRAYS)["x"]
    assert outline == TensorOutline("float32", (2,), "meta", is_array=True)
    assert handle == Handle(0, "Tensor of dtype bfloat16")


# --- right and wrong answers ---

OVERFLOWS = """
    import numpy as np

    def softmax(x, axis=-1):
        powers = np.exp(x)
        return powers / powers.sum(axis, keepdims=True)
"""
OVERFLOWS_IN_TORCH = """
    import torch

    def softmax(x, axis=-1):
        powers = torch.exp(x)
        return powers / powers.sum(axis, keepdim=True)
"""


@pytest.mark.parametrize("path", IN_TORCH, ids=lambda path: path.parent.name)
def test_an_idiomatic_answer_in_pytorch_has_full_marks(grader, path):
    info = COURSE.kata_info(path.parent.name)
    report = grader.grade(read_submission(info, path)).report
    assert (report.status, report.score, failed(report)) == ("passed", report.max_score, set())


def test_every_numpy_kata_that_may_be_answered_in_pytorch_has_such_an_answer():
    answered = {path.parent.name for path in IN_TORCH}
    assert answered == {name for name, info in COURSE.katas.items() if len(info.libraries) > 1}


def test_the_marks_are_those_of_an_answer_in_numpy(grader):
    in_numpy = (ROOT / "solutions/attention/softmax/reference.py").read_text()
    reports = [graded(grader, source) for source in (in_numpy, SOFTMAX)]
    points = [{check.name: check.max_score for check in report.checks} for report in reports]
    assert points[1] == {**points[0], "stays_on_the_device": 0}


def test_a_mistake_has_the_same_name_in_both_libraries(grader):
    one, other = (graded(grader, source) for source in (OVERFLOWS, OVERFLOWS_IN_TORCH))
    assert one.mistake == other.mistake
    assert one.mistake.id == "forgets_to_subtract_the_max"
