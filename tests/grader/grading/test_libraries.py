"""A NumPy kata may be answered in PyTorch: the arrays arrive as tensors, and tensors come back."""

import textwrap
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest

from grader.course.catalog import Course, KataError, load_file
from grader.course.submission import Submission, read_submission
from grader.diagnosis.matcher import MistakeMatcher
from grader.grading.session import open_grader
from grader.worker.in_process import LocalTensorStudent
from grader.worker.protocol.codec import ARRAYS, Handle, TensorOutline, decode, encode

from ...grader.translated_mistakes import compared

ROOT = Path(__file__).resolve().parents[3]
COURSE = Course(ROOT)
IN_TORCH = sorted(ROOT.glob("solutions/*/*/in_torch.py"))


@pytest.fixture(scope="module")
def grader():
    grader, factories = open_grader(COURSE, [COURSE.kata_info("softmax")])
    # Names of mistakes are compared for softmax alone; recording those of the others takes half a minute.
    grader.matchers = {name: MistakeMatcher([]) for name in COURSE.katas if name != "softmax"}
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
        ("import numpy as np, torch\ny = torch.ones(1)", "torch"),
        ("import numpy as np, torch\ny = np.ones(1)", "numpy"),
        ("import numpy as np, torch\ny = torch.ones(np.int64(1))", "numpy"),
        ("from torch.nn import functional as F\nimport numpy\ny = F.relu", "torch"),
        ("import importlib\ntorch = importlib.import_module('torch')", "numpy"),
        ("torch = __import__('torch')", "numpy"),
        ("import torchvision", "numpy"),
        ("# import torch", "numpy"),
        ("import math", "numpy"),
    ],
)
def test_a_submission_is_in_pytorch_if_it_uses_that_and_not_numpy(imports, library):
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


@pytest.mark.every(4)
@pytest.mark.slow
@pytest.mark.parametrize("path", IN_TORCH, ids=lambda path: path.parent.name)
def test_an_idiomatic_answer_in_pytorch_has_full_marks(grader, path):
    info = COURSE.kata_info(path.parent.name)
    report = grader.grade(read_submission(info, path)).report
    assert (report.status, report.score, failed(report)) == ("passed", report.max_score, set())


def test_every_numpy_kata_that_may_be_answered_in_pytorch_has_such_an_answer():
    answered = {path.parent.name for path in IN_TORCH}
    assert answered == {name for name, info in COURSE.katas.items() if len(info.libraries) > 1}


def test_laws_hold_for_an_answer_in_pytorch_in_this_process():
    info = COURSE.kata_info("translation_loop")
    path = COURSE.solution(info, "in_torch")
    student = LocalTensorStudent(load_file("translation_in_torch", path), str(path))
    assert student.translate(lambda ids: np.eye(4)[len(ids)], 0, 3) == [0, 1, 2, 3]


def test_the_marks_are_those_of_an_answer_in_numpy(grader):
    in_numpy = (ROOT / "solutions/attention/softmax/reference.py").read_text()
    reports = [graded(grader, source) for source in (in_numpy, SOFTMAX)]
    points = [{check.name: check.max_score for check in report.checks} for report in reports]
    assert points[1] == {**points[0], "stays_on_the_device": 0}


def test_a_mistake_has_the_same_name_in_both_libraries(grader):
    one, other = (graded(grader, source) for source in (OVERFLOWS, OVERFLOWS_IN_TORCH))
    assert one.mistake == other.mistake
    assert one.mistake.id == "forgets_to_subtract_the_max"


# --- messages, snippets and hints ---


def test_messages_speak_of_tensors(grader):
    source = SOFTMAX.replace("return powers", "return powers[..., None]")
    report = graded(grader, source)
    shape = next(check for check in report.checks if check.name == "agrees_with_reference")
    assert shape.message == "The result is float32 tensor (1, 1, 1); it must be float32 tensor (1, 1)."
    assert (report.title, report.library) == ("softmax in PyTorch", "torch")
    assert "torch.tensor(" in shape.snippet
    assert "np." not in shape.snippet


def test_what_the_code_raised_is_left_as_it_is(grader):
    source = SOFTMAX.replace("    return", "    raise KeyError('an array of NumPy')\n        return")
    told = graded(grader, source).checks[0].message
    assert told == "The code raised KeyError: 'an array of NumPy' (line 7)."


# --- what PyTorch raises ---

SPLITS = """
    import torch

    def split_heads(x, num_heads):
        batch, tokens, width = x.shape
        {}
        return x.reshape(batch, tokens, num_heads, width // num_heads).transpose(1, 2)

    def merge_heads(x):
        return x.transpose(1, 2).flatten(start_dim=2)
"""


@pytest.mark.parametrize(
    ("line", "fails"),
    [
        ("if width % num_heads: raise ValueError", set()),
        ("pass", set()),  # reshape raises RuntimeError
        ("if width % num_heads: x.sum().backward()", set()),
        ("if width % num_heads: raise RuntimeError", {"refuses_a_remainder"}),
        ("if width % num_heads: raise IndexError", {"refuses_a_remainder"}),
    ],
)
def test_a_runtime_error_of_pytorch_counts_as_the_value_error_of_numpy(grader, line, fails):
    assert failed(graded(grader, SPLITS.format(line), "head_split_merge")) == fails


# --- shortcuts ---


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "source", "used"),
    [
        (
            "softmax",
            """
            import torch
            import torch.nn.functional as F

            def softmax(x, axis=-1):
                return F.softmax(x if x.is_floating_point() else x.double(), dim=axis)
            """,
            "Line 6 uses torch.nn.functional.softmax",
        ),
        (
            "scaled_dot_product_attention",
            """
            import torch
            from torch.nn import functional as F

            def scaled_dot_product_attention(q, k, v, mask=None):
                keys = k.shape[-2]
                eye = torch.eye(keys, dtype=q.dtype, device=q.device).expand(*k.shape[:-1], keys)
                attended = (F.scaled_dot_product_attention(q, k, x, attn_mask=mask) for x in (v, eye))
                return tuple(attended)
            """,
            "Line 8 uses torch.nn.functional.scaled_dot_product_attention",
        ),
        (
            "layer_norm",
            """
            import torch
            import torch.nn.functional as F

            def layer_norm(x, gamma, beta, eps=1e-5):
                return F.layer_norm(x, x.shape[-1:], gamma, beta, eps)
            """,
            "Line 6 uses torch.nn.functional.layer_norm",
        ),
    ],
)
def test_a_function_of_pytorch_that_does_it_all_is_noted_as_a_shortcut(grader, name, source, used):
    report = graded(grader, source, name)
    assert (report.status, report.score) == ("passed", report.max_score)
    assert report.checks[0].message == f"{used}, which does what this kata is about. The points stand."


# --- attacks: the choice of library gains nothing ---

#: Ends of a right softmax, and the checks that fail.
WRAPPED = {
    "requires gradients": ("return answer.requires_grad_()", False),
    "carries a hook": ("answer.requires_grad_().register_hook(print)\n        return answer", False),
    "is negated when it is read": ("return torch._neg_view(-answer)", False),
    "is a parameter": ("return torch.nn.Parameter(answer)", False),
    "is a subclass": ("return answer.as_subclass(Liar)", False),
    "is a wrong subclass that says it is equal": ("return (answer * 0).as_subclass(Liar)", True),
    "has no values": ("return answer.to('meta')", True),
    "is sparse": ("return answer.to_sparse()", True),
    "is bfloat16": ("return answer.bfloat16()", True),
    "is float8": ("return answer.to(torch.float8_e4m3fn)", True),
    "is quantized": ("return torch.quantize_per_tensor(answer.float(), 0.1, 0, torch.qint8)", True),
    "is nested": ("return torch.nested.nested_tensor([answer])", True),
    "is a future": ("return torch.futures.Future()", True),
}
LIAR = """
    import torch

    class Liar(torch.Tensor):
        @classmethod
        def __torch_function__(cls, function, types, args=(), kwargs=None):
            return True

    def softmax(x, axis=-1):
        x = x if x.is_floating_point() else x.double()
        answer = (x - x.logsumexp(axis, keepdim=True)).exp()
        {}
"""


@pytest.mark.slow
@pytest.mark.parametrize("what", WRAPPED)
def test_a_tensor_in_disguise_is_judged_by_its_values(grader, what):
    end, is_refused = WRAPPED[what]
    report = graded(grader, LIAR.format(end))
    agreement = report.checks[0]
    assert (agreement.status == "failed", report.score == 0) == (is_refused, is_refused)


@pytest.mark.parametrize(
    ("dtype", "is_judged"), [("uint8", False), ("int8", False), ("int32", True), ("int64", True)]
)
def test_integers_that_pytorch_takes_as_an_index_are_judged(grader, dtype, is_judged):
    source = SOFTMAX.replace("    x = x if", f"    if x.dtype is torch.{dtype}: return x\n        x = x if")
    assert ("integer_scores_count" in failed(graded(grader, source))) is is_judged


def test_bytes_are_judged_where_the_statement_asks_for_them(grader):
    right = COURSE.solution(COURSE.kata_info("int4_groups"), "in_torch").read_text()
    assert graded(grader, right, "int4_groups").score == 1000
    wrong = right.replace("codes[:, 1::2] << 4", "codes[:, 1::2] << 3")
    assert {"agrees_with_reference", "packing_loses_nothing"} <= failed(graded(grader, wrong, "int4_groups"))


def test_gradients_switched_off_for_all_are_noticed(grader):
    source = SOFTMAX.replace("    powers =", "    torch.set_grad_enabled(True)\n        powers =")
    assert failed(graded(grader, source)) == {"earlier_calls_change_nothing"}


def test_an_answer_that_leaves_the_device_does_not_pass(grader):
    source = SOFTMAX.replace("    x = x if", "    x = x.cpu()\n        x = x if")
    report = graded(grader, source)
    assert failed(report) == {"stays_on_the_device"}
    assert (report.status, report.score) == ("failed", report.max_score)


# --- the known mistakes, translated ---


@pytest.mark.every(3)
@pytest.mark.slow
@pytest.mark.parametrize("name", ["layer_norm", "cross_attention", "decoder_layer"])
def test_a_mistake_is_caught_by_the_same_checks_with_the_same_marks(grader, name):
    for mistake, (one, other) in compared(grader, COURSE.kata_info(name), 4).items():
        assert one.failed, mistake
        assert (one.failed, one.score) == (other.failed, other.score), mistake


@pytest.mark.slow
def test_a_tensor_from_a_file_that_uses_numpy_too_is_explained(grader):
    source = "import numpy as np, torch\ndef softmax(x, axis=-1):\n    return torch.tensor(np.exp(x))\n"
    messages = {check.name: check.message for check in graded(grader, source).checks}
    assert messages["agrees_with_reference"].endswith("is judged in NumPy, whose arrays are no tensors.")
    assert "RemoteObject" not in " ".join(messages.values())
    assert "gives another answer" not in messages["answers_the_same_again"]
