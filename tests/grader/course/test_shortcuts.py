"""What of a library does all of a kata: one table in path.toml, and the notes that follow from it."""

import ast
import importlib
import importlib.util
import textwrap
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest

from dojo_authoring.verify.static_checks import gaps
from grader.course.catalog import Course
from grader.course.submission import Submission
from grader.grading.session import open_grader
from grader.reading.rules import shortcut_in

ROOT = Path(__file__).resolve().parents[3]
COURSE = Course(ROOT)
TABLE = COURSE.syllabus.shortcuts
NAMES = sorted({name for listed in TABLE.values() if not isinstance(listed, str) for name in listed})


def test_every_kata_of_functions_has_shortcuts_or_a_reason_for_none():
    assert TABLE.keys() == {name for name, info in COURSE.katas.items() if info.kind.is_code}
    assert all(reason.endswith(".") for reason in TABLE.values() if isinstance(reason, str))


@pytest.mark.parametrize("package", sorted({name.partition(".")[0] for name in NAMES}))
def test_every_shortcut_exists(package):
    if importlib.util.find_spec(package) is None:
        pytest.skip(f"{package} is not installed")
    for name in (name for name in NAMES if name.partition(".")[0] == package):
        assert found(name.removesuffix(".*")) is not None, name


def found(dotted):
    """The module, function or class of a dotted name."""
    parts = dotted.split(".")
    for number in range(len(parts), 0, -1):
        try:
            value = importlib.import_module(".".join(parts[:number]))
        except ImportError:
            continue
        for part in parts[number:]:
            value = getattr(value, part)
        return value
    return None


@pytest.mark.parametrize("name", TABLE)
def test_no_right_answer_of_the_course_has_a_note(name):
    info = COURSE.kata_info(name)
    names = () if isinstance(TABLE[name], str) else tuple(TABLE[name])
    for part in ("reference", "variants", "in_torch"):
        path = COURSE.solution(info, part)
        if path.is_file():
            assert shortcut_in(ast.parse(path.read_text()), names, info.library) is None


MICROGRAD = '''
"""As torch.autograd.grad does."""
class Value:
    def backward(self):
        pass
def gradients(output, inputs):
    output.backward()
'''

FUNCTIONAL, SPECIAL = "torch.nn.functional.softmax", "scipy.special._logsumexp"
MODULE = "torch.nn.modules.activation.Softmax"


@pytest.mark.parametrize(
    ("name", "code", "used"),
    [
        ("softmax", "from scipy.special import softmax as s\ns(1)", "scipy.special.softmax"),
        (
            "softmax",
            "import torch\ntorch.nn.functional.log_softmax(1).exp()",
            "torch.nn.functional.log_softmax",
        ),
        ("softmax", "import torch as t\ndef softmax(x): return x.softmax(-1)", "torch.Tensor.softmax"),
        ("softmax", "import torch\ndef f(x): return (x - x.logsumexp(-1)).exp()", ""),
        (
            "layer_norm",
            "from torch.nn import functional as F\nF.group_norm(1, 1)",
            "torch.nn.functional.group_norm",
        ),
        ("cross_entropy", "from torch import nn\nnn.NLLLoss()", "torch.nn.NLLLoss"),
        ("cross_entropy", "import torch\ntorch.log_softmax(1, 1)", ""),
        ("autograd_scalar", "from torch import autograd\nautograd.grad(1, 2)", "torch.autograd.grad"),
        ("autograd_scalar", "from torch.func import jacrev as j\nj(1)", "torch.func.jacrev"),
        ("autograd_scalar", "import torch\ndef f(x): x.value.backward()", "torch.Tensor.backward"),
        ("autograd_scalar", MICROGRAD, ""),
        ("autograd_scalar", "import torch\n" + MICROGRAD, ""),
        ("autograd_scalar", "def f(x): x.backward()  # not torch.autograd", ""),
        ("softmax_cross_entropy_backward", "import torch\nclass F(torch.autograd.Function): pass", ""),
        ("softmax_cross_entropy_backward", "import torch\nwith torch.no_grad(): pass", ""),
        (
            "clip_gradients",
            "import torch\ntorch.nn.utils.clip_grads_with_norm_([], 1, 2)",
            "torch.nn.utils.clip_grads_with_norm_",
        ),
        (
            "clip_gradients",
            "from torch.nn.utils.clip_grad import clip_grad_norm_",
            "",  # imported, and not used
        ),
        (
            "clip_gradients",
            "from torch.nn.utils import clip_grad as c\nc.clip_grad_norm_([], 1)",
            "torch.nn.utils.clip_grad.clip_grad_norm_",
        ),
        ("adamw_step", "from torch import optim\noptim.AdamW([])", "torch.optim.AdamW"),
        ("adamw_step", "from torch.optim.adamw import adamw\nadamw()", "torch.optim.adamw.adamw"),
        ("muon_step", "import torch\ntorch.optim.Muon([])", "torch.optim.Muon"),
        (
            "warmup_schedule",
            "import torch\ntorch.optim.lr_scheduler.LambdaLR(1)",
            "torch.optim.lr_scheduler.LambdaLR",
        ),
        (
            "multi_head_attention",
            "import torch.nn as nn\nnn.MultiheadAttention(1, 1)",
            "torch.nn.MultiheadAttention",
        ),
        (
            "multi_head_attention",
            "import torch.nn as nn\nnn.functional.scaled_dot_product_attention(1, 1, 1)",
            "",
        ),
        ("decoder_stack", "import torch\ntorch.nn.Transformer()", "torch.nn.Transformer"),
        (
            "softmax",
            "from torch.nn.functional import *\n_s = softmax\ndef softmax(x): return _s(x)",
            FUNCTIONAL,
        ),
        ("softmax", "def softmax(x): pass\nfrom torch.nn.functional import *", FUNCTIONAL),
        ("softmax", "from torch import *\ndef softmax(x): return log_softmax(x, 1)", "torch.log_softmax"),
        ("softmax", "from torch import *\ndef softmax(x): return x.softmax(1)", "torch.Tensor.softmax"),
        ("softmax", "from torch.nn import *\nm = functional.softmax", FUNCTIONAL),
        ("softmax", "from torch import *\ndef softmax(x): return exp(x)\nsoftmax(1)", ""),
        ("softmax", "from scipy.special import softmax", "scipy.special.softmax"),
        ("softmax", "from scipy.special import softmax\ndef softmax(x): pass\nsoftmax(1)", ""),
        ("softmax", "from scipy.special._logsumexp import softmax as s\ns(1)", f"{SPECIAL}.softmax"),
        ("softmax", "import torch\nf = torch.nn.functional\ng = f\ng.softmax(1)", FUNCTIONAL),
        ("softmax", "import torch\ndef f(x): return getattr(x, 'softmax')(1)", "torch.Tensor.softmax"),
        ("softmax", "import torch as t\ngetattr(t.nn, 'functional').softmax(1)", FUNCTIONAL),
        ("softmax", "import torch as t\nvars(t)['softmax'](1)", "torch.softmax"),
        ("softmax", "import torch as t\nt.nn.functional.__dict__['softmax'](1)", FUNCTIONAL),
        ("softmax", "import importlib\nimportlib.import_module('torch').softmax(1)", "torch.softmax"),
        ("softmax", "m = __import__('torch.nn')\nm.nn.functional.softmax(1)", FUNCTIONAL),
        ("softmax", "import sys\nsys.modules['torch'].softmax(1)", "torch.softmax"),
        ("softmax", "import torch\ntorch.ops.aten._softmax.default(1)", "torch.ops.aten._softmax.default"),
        ("softmax", "import torch\ntorch._softmax(1)", "torch._softmax"),
        ("softmax", "import torch\ntorch._VF.softmax(1)", "torch._VF.softmax"),
        ("softmax", "from torch.nn.modules import activation as a\na.Softmax()", MODULE),
        ("softmax", "import numpy as np\nx = np.pi\ngetattr(x, 'softmax')", ""),
        ("temperature_sampling", "import torch\ntorch.multinomial(1, 1)", ""),
        ("top_k", "import torch\ntorch.topk(1, 1)", ""),
    ],
)
def test_what_does_all_of_a_kata_is_found_and_what_it_allows_is_not(name, code, used):
    info = COURSE.kata_info(name)
    names = COURSE.shortcuts(COURSE.declaration(info))
    got = shortcut_in(ast.parse(code), names, info.library, info.entry_points)
    assert (got[0] if got else "") == used


#: Right answers that leave all of it to PyTorch.
DELEGATED = {
    "autograd_scalar": """
        import torch

        class Value:
            def __init__(self, data):
                given = isinstance(data, torch.Tensor)
                self.t = data if given else torch.tensor(data, dtype=torch.float64, requires_grad=True)
                self.data = self.t.item()

            exp = lambda self: Value(self.t.exp())
            tanh = lambda self: Value(self.t.tanh())
            relu = lambda self: Value(self.t.relu())
            __neg__ = lambda self: Value(-self.t)
            __pow__ = lambda self, n: Value(self.t**n)
            __add__ = __radd__ = lambda self, y: Value(self.t + raw(y))
            __mul__ = __rmul__ = lambda self, y: Value(self.t * raw(y))
            __sub__ = lambda self, y: Value(self.t - raw(y))
            __rsub__ = lambda self, y: Value(raw(y) - self.t)
            __truediv__ = lambda self, y: Value(self.t / raw(y))
            __rtruediv__ = lambda self, y: Value(raw(y) / self.t)

        def raw(y):
            return y.t if isinstance(y, Value) else y

        def gradients(output, inputs):
            found = torch.autograd.grad(
                output.t, [x.t for x in inputs], retain_graph=True, allow_unused=True)
            return [0.0 if one is None else one.item() for one in found]
    """,
    "clip_gradients": """
        import math
        import torch

        def clip_gradients(gradients, max_norm):
            there = [g for g in gradients if g is not None]
            if max_norm <= 0:
                raise ValueError("max_norm")
            parameters = [torch.nn.Parameter(torch.zeros_like(g)) for g in there]
            for parameter, gradient in zip(parameters, there):
                parameter.grad = gradient.clone()
            norm = torch.nn.utils.get_total_norm([p.grad for p in parameters]).item() if there else 0.0
            if not math.isfinite(norm):
                raise ValueError("norm")
            if norm <= max_norm:
                return list(gradients), norm
            torch.nn.utils.clip_grads_with_norm_(parameters, max_norm, torch.tensor(norm))
            clipped = iter(parameters)
            return [None if g is None else next(clipped).grad for g in gradients], norm
    """,
}


@pytest.mark.slow
@pytest.mark.parametrize("name", DELEGATED)
def test_an_answer_that_leaves_all_to_pytorch_is_noted(name):
    course = Course(ROOT)
    info = course.kata_info(name)
    grader, factories = open_grader(course, [info])
    submission = Submission(info, textwrap.dedent(DELEGATED[name]), f"{name}.py")
    with closing(factories):
        agreement = grader.grade(submission).report.checks[0]
        grader.course.syllabus = replace(course.syllabus, by_hand=True)
        by_hand = grader.grade(submission).report.checks[0]
    assert agreement.status == "passed", agreement.message
    assert "which does what this kata is about. The points stand." in agreement.message
    assert (by_hand.status, by_hand.score) == ("failed", 0)
    assert by_hand.message.endswith("In this course it is built by hand.")


@pytest.fixture
def small(write, tmp_path, tiny_files):
    """A course with the kata `double`, whose declaration has shortcuts and whose syllabus has none."""
    course = Course(write(tmp_path, tiny_files))
    return course, course.kata_info("double")


def test_a_kata_that_the_table_lacks_is_reported(small):
    course, info = small
    assert gaps(course, info) == []  # without a table the declaration says it
    course.syllabus = replace(course.syllabus, shortcuts={"other": "None."})
    assert gaps(course, info) == [
        "tests/katas/path.toml: [shortcuts] lacks `double`; list what of a library does all of it, or"
        " write in a sentence why nothing does."
    ]
    course.syllabus = replace(course.syllabus, shortcuts={"double": "Nothing does."})
    assert gaps(course, info) == []
    assert course.shortcuts(course.declaration(info)) == ()


def test_a_right_answer_that_would_get_a_note_is_reported(small):
    course, info = small
    path = course.solution(info, "reference")
    path.write_text("import numpy as np\n\ndef double(x):\n    return np.add(x, x)\n")
    (told,) = gaps(course, info)
    assert told.endswith(
        "reference.py:4: numpy.add is a shortcut of this kata, and right answers that use it get a note;"
        " write this one without, or take it out of the shortcuts."
    )
