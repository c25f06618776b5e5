"""An advice that can be followed costs no points, and is given where it can be followed."""

import re
from contextlib import closing
from pathlib import Path

import pytest

from grader.course.catalog import Course
from grader.course.submission import SubmissionRejected, parse
from grader.diagnosis.matcher import MistakeMatcher
from grader.formats import account
from grader.grading.grader import Grader
from grader.grading.report_builder import fitting
from grader.worker.fork_server import WorkerFactories

ROOT = Path(__file__).resolve().parents[3]
HEAD = "import numpy as np\n\n\n"
SUMS = HEAD + "def softmax(x, axis=-1):\n    powers = np.exp(x)\n    return powers / powers.sum(axis=axis)\n"
NOTHING_IS_SUMMED = """\
import numpy as np


def embed(ids, token_table, position_table):
    return token_table[ids] + position_table[: len(ids)]
"""
MASKS = """\
import torch


def padding_mask(ids, pad_id):
    return ids != pad_id


def decoder_self_mask(ids, pad_id):
    real = padding_mask(ids, pad_id)
    past = torch.ones(ids.shape[1], ids.shape[1]).tril().bool()
    return real[:, None, None, :] & real[:, None, :, None] & past


def cross_mask(tgt_ids, src_ids, pad_id):
    tgt, src = padding_mask(tgt_ids, pad_id), padding_mask(src_ids, pad_id)
    return src[:, None, None, :] & tgt[:, None, :, None]
"""
IN_TORCH = "import torch\n\n\ndef softmax(x, axis=-1):\n    return torch.softmax(x, dim=axis)\n"


COURSE = Course(ROOT)


@pytest.fixture(scope="module")
def report_on():
    """`report_on(name, source)` returns the report of an answer to a kata; no mistake is named in it."""
    infos = COURSE.katas
    with closing(WorkerFactories(["numpy", "torch"])) as sources:
        grader = Grader(COURSE, sources)
        grader.matchers = {name: MistakeMatcher([]) for name in infos}  # recording mistakes takes minutes
        yield lambda name, source: grader.grade(parse(infos[name], source, f"{name}.py")).report


@pytest.mark.slow
def test_an_axis_that_a_sum_has_lost_is_asked_for_and_found(report_on):
    first = report_on("softmax", SUMS)
    assert any("`keepdims=True`" in account.fails(check) for check in account.wrong(first))
    mended = report_on("softmax", SUMS.replace("axis=axis)", "axis=axis, keepdims=True)"))
    assert mended.score > first.score


def test_where_nothing_is_summed_no_axis_is_asked_for(report_on):
    wrong = account.wrong(report_on("token_embedding", NOTHING_IS_SUMMED))
    assert any("the sizes are" in check.message for check in wrong)
    assert not any("keepdims" in check.message for check in wrong)


def test_the_device_is_that_of_an_argument_of_the_function_in_the_line(report_on):
    pytest.importorskip("torch", reason="PyTorch is not installed")
    first = report_on("padding_mask", MASKS)
    (check,) = account.wrong(first)
    advice = re.search(r"device=\w+\.device", check.message)[0]
    assert (check.name, advice) == ("stays_on_the_device", "device=ids.device")
    mended = report_on("padding_mask", MASKS.replace("ids.shape[1])", f"ids.shape[1], {advice})"))
    assert (mended.status, mended.score) == ("passed", first.max_score)


def test_a_name_that_the_function_does_not_have_is_not_advised():
    told = "A tensor on the CPU meets one on the inputs' device (line 5). Create tensors on that device{}."
    source = "def masks(ids):\n    return past(3)\n\ndef past(n):\n    return torch.ones(n)\n"
    assert fitting(told.format(": device=ids.device"), source) == told.format("")
    assert fitting(told.format(": device=n.device"), source) == told.format(": device=n.device")


def test_what_pytorch_does_not_implement_is_not_called_unwritten(report_on):
    pytest.importorskip("torch", reason="PyTorch is not installed")
    (check,) = account.wrong(report_on("softmax", IN_TORCH))
    assert check.message.startswith("The code raised NotImplementedError: ")
    assert "`.double()` makes float64 of them" in check.message
    floats = "x if x.is_floating_point() else x.double()"
    mended = report_on("softmax", IN_TORCH.replace("torch.softmax(x,", f"torch.softmax({floats},"))
    assert mended.status == "passed"


SOFTMAX = """\
import numpy as np


def softmax(x, axis=-1):
    x = x if x.dtype.kind == "f" else x.astype(np.float64)
    powers = np.exp(x - x.max(axis=axis, keepdims=True))
    return powers / powers.sum(axis=axis, keepdims=True)
"""
SOFTMAX_IN_TORCH = """\
import torch


def softmax(x, axis=-1):
    x = x if x.is_floating_point() else x.double()
    powers = torch.exp(x - x.max(dim=axis, keepdim=True).values)
    return powers / powers.sum(dim=axis, keepdim=True)
"""
EMBED_IN_TORCH = """\
import torch


def embed(ids, token_table, position_table):
    if bool((ids < 0).any() | (ids >= len(token_table)).any()) or ids.shape[-1] > len(position_table):
        raise ValueError("no such row")
    rows = torch.nn.functional.one_hot(ids.long(), len(token_table)).to(token_table.dtype)
    return rows @ token_table + position_table[: ids.shape[-1]]
"""


@pytest.mark.slow
@pytest.mark.parametrize(
    ("kata", "right", "mended", "faulty", "advice"),
    [
        ("softmax", SOFTMAX, "sum(axis=axis,", "sum(dim=axis,", "NumPy calls it `axis` and `keepdims`."),
        (
            "softmax",
            SOFTMAX,
            "np.exp(x -",
            "list(np.exp(x -",
            "`np.array` or `torch.tensor` makes one of it.",
        ),
        ("softmax", SOFTMAX_IN_TORCH, ".values", "", "take `.values`, or use `amax` and `amin`."),
        ("token_embedding", EMBED_IN_TORCH, "ids.long()", "ids", "`.long()` makes int64 of them"),
    ],
    ids=["axis", "list", "values", "long"],
)
def test_who_follows_an_advice_has_all_points(report_on, kata, right, mended, faulty, advice):
    if "torch" in right:
        pytest.importorskip("torch", reason="PyTorch is not installed")
    wrong = right.replace(mended, faulty, 1)
    wrong = wrong.replace("keepdims=True))\n", "keepdims=True)))\n", 1) if "list(" in faulty else wrong
    first = report_on(kata, wrong)
    assert first.status == "failed"
    assert any(advice in " ".join([account.fails(check), check.message]) for check in account.wrong(first))
    assert report_on(kata, right).status == "passed"


MADE_ON_A_DEVICE = re.compile(r", device=\w+\.device")
REFERENCES = sorted(ROOT.glob("solutions/*/*/reference.py"))
MAKING_TENSORS = [file.parent.name for file in REFERENCES if MADE_ON_A_DEVICE.search(file.read_text("utf-8"))]


@pytest.mark.every(5)
@pytest.mark.slow
@pytest.mark.parametrize("kata", MAKING_TENSORS)
def test_a_tensor_made_on_the_advised_device_costs_no_points(report_on, kata):
    pytest.importorskip("torch", reason="PyTorch is not installed")
    right = COURSE.solution(COURSE.katas[kata], "reference").read_text(encoding="utf-8")
    advices = 0
    for made in MADE_ON_A_DEVICE.finditer(right):
        before, after = right[: made.start()], right[made.end() :]
        wrong = account.wrong(report_on(kata, before + after))
        told = " ".join(check.message for check in wrong if check.name == "stays_on_the_device")
        advices += "Create tensors on that device" in told
        if advised := re.search(r"device=\w+\.device", told):
            assert report_on(kata, f"{before}, {advised[0]}{after}").status == "passed", told
    assert advices


def test_quotes_in_an_f_string_that_need_a_newer_python_are_told_so():
    source = 'def softmax(x):\n    return f"{x["a"]}"\n'
    if not (broken := _refused(source)):
        pytest.skip("this Python takes such strings")
    assert broken.startswith("softmax.py has a syntax error in line 2: f-string: ")
    assert " Its quotes may be those of the string from Python 3.12 on; this is 3." in broken


def _refused(source):
    try:
        parse(COURSE.kata_info("softmax"), source, "softmax.py")
    except SubmissionRejected as refused:
        return str(refused)
    return ""
