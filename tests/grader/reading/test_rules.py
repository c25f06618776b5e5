"""A forbidden call is found in the source under any alias, and raises an error at run time."""

import ast
import types

import numpy as np
import pytest

from grader.reading.rules import first_use
from grader.worker.child import main
from grader.worker.child.main import RuleBroken

NORM = ("numpy.linalg.norm",)
SOFTMAX = ("torch.softmax", "torch.nn.functional.softmax")


@pytest.mark.parametrize(
    ("source", "forbidden", "found"),
    [
        ("import numpy\nnumpy.linalg.norm(x)", NORM, (NORM[0], 2)),
        ("import numpy as np\n\nnp.linalg.norm(x)", NORM, (NORM[0], 3)),
        ("import numpy.linalg\nnumpy.linalg.norm(x)", NORM, (NORM[0], 2)),
        ("import numpy.linalg as la\nla.norm(x)", NORM, (NORM[0], 2)),
        ("from numpy import linalg\nlinalg.norm(x)", NORM, (NORM[0], 2)),
        ("from numpy.linalg import norm\nnorm(x)", NORM, (NORM[0], 2)),
        ("from numpy.linalg import norm as n\nn(x)", NORM, (NORM[0], 2)),
        ("import numpy as np\nf = np.linalg.norm", NORM, (NORM[0], 2)),
        ("import torch\nimport torch.nn.functional as F\nF.softmax(x)", SOFTMAX, (SOFTMAX[1], 3)),
        ("def f(x):\n    import torch\n    return torch.softmax(x, 0)", SOFTMAX, (SOFTMAX[0], 3)),
    ],
)
def test_a_forbidden_name_is_found_with_its_line(source, forbidden, found):
    assert first_use(ast.parse(source), forbidden) == found


@pytest.mark.parametrize(
    "source",
    [
        "",
        "import numpy as np\nnp.exp(x)",
        "def softmax(x): return x\nsoftmax(1)",
        "# torch.softmax(x)\n'torch.softmax'",
        "import torch\nx.softmax(-1)\nmine.torch.softmax(1)",
        "from . import softmax\nsoftmax(1)",
    ],
)
def test_what_only_looks_alike_is_allowed(source):
    assert first_use(ast.parse(source), SOFTMAX) is None


@pytest.mark.parametrize(
    ("source", "line"),
    [
        ("y = x.softmax(-1)", 1),
        ("y = 1\ny = (x @ w).softmax(-1)", 2),
        ("y = x.to(w).softmax(-1)", 1),
        ("import torch\ny = torch.Tensor.softmax(x, -1)", 2),
    ],
)
def test_a_method_of_a_tensor_is_found_where_methods_count(source, line):
    assert first_use(ast.parse(source), SOFTMAX, methods=True) == ("torch.Tensor.softmax", line)


@pytest.mark.parametrize(
    "source",
    ["self.softmax(x)", "import mine\nmine.softmax(x)", "import mine.layers as own\nown.deep.softmax(x)"],
)
def test_a_method_of_something_else_is_no_method_of_a_tensor(source):
    assert first_use(ast.parse(source), SOFTMAX, methods=True) is None


def test_the_first_line_is_named():
    source = "import torch\nif 1:\n    torch.nn.functional.softmax(x)\ntorch.softmax(x)"
    assert first_use(ast.parse(source), SOFTMAX) == (SOFTMAX[1], 3)


def test_a_long_chain_of_attributes_is_looked_through():
    assert first_use(ast.parse("x = a" + ".b" * 1500), NORM) is None


def test_a_function_of_pytorch_is_found_in_every_place_that_has_it():
    source = "import torch.nn.functional as F\nF.softmax(x)"
    assert first_use(ast.parse(source), ("torch.softmax",)) == ("torch.nn.functional.softmax", 2)


@pytest.fixture
def library(monkeypatch):
    """A library with one function and one class, which a test may change."""
    module = types.ModuleType("lent")
    module.solve = lambda x: x
    module.Tensor = type("Tensor", (), {"solve": lambda self: self})
    monkeypatch.setitem(__import__("sys").modules, "lent", module)
    return module


def test_a_forbidden_function_raises_while_running(library):
    refusals = main.Refusals(("lent.solve",))
    refusals.hold()
    with pytest.raises(RuleBroken, match=r"lent\.solve is what this kata asks you to build"):
        library.solve(1)
    refusals.lift()
    assert library.solve(1) == 1


def test_a_forbidden_method_raises_while_running(library):
    main.Refusals(("lent.Tensor.solve",)).hold()
    with pytest.raises(RuleBroken):
        library.Tensor().solve()


def test_what_is_not_installed_needs_no_refusal():
    assert main.Refusals(("no_such_library.f", "numpy.no_such_function"))._found == []


def test_a_detour_by_getattr_is_refused_in_the_worker(connect):
    from grader.expect import SubmissionFailed

    code = "import numpy as np\ndef f(x): return getattr(np.linalg, 'no' + 'rm')(x)"
    student = connect(code, forbidden=NORM)
    with pytest.raises(SubmissionFailed) as caught:
        student.f(np.ones(2))
    assert caught.value.kinds[0] == "RuleBroken"
    assert np.linalg.norm(np.ones(1)) == 1  # the grader's own NumPy is unchanged


def test_a_detour_taken_at_import_is_refused_too(connect):
    from grader.expect import SubmissionFailed

    code = "import numpy as np\nnorm = getattr(np.linalg, 'no' + 'rm')\ndef f(x): return norm(x)"
    with pytest.raises(SubmissionFailed):
        connect(code, forbidden=NORM).f(np.ones(2))


@pytest.mark.parametrize(
    "call", ["x.softmax(-1)", "torch.nn.Softmax(-1)(x)", "F.softmax(x, -1)", "getattr(x, 'soft' + 'max')(-1)"]
)
def test_a_rule_for_a_function_of_pytorch_holds_for_methods_and_modules(connect, call):
    from grader.expect import SubmissionFailed

    torch = pytest.importorskip("torch", reason="PyTorch is not installed")
    code = f"import torch\nimport torch.nn.functional as F\ndef f(x): return {call}"
    with pytest.raises(SubmissionFailed, match=r"softmax is what this kata asks you to build"):
        connect(code, library="torch", forbidden=("torch.softmax",)).f(torch.ones(2))


def test_a_rule_broken_by_the_import_itself_is_refused(connect):
    from grader.expect import SubmissionFailed

    with pytest.raises(SubmissionFailed, match=r"numpy\.linalg\.norm is what this kata asks you to build"):
        connect("import numpy as np\nnp.linalg.__dict__['no' + 'rm'](np.ones(2))", forbidden=NORM)
