"""Tests of `kata import`: what it takes over from pytest files and notebooks, and what not."""

import json
from contextlib import closing
from pathlib import Path

import pytest
from click.testing import CliRunner

from grader.cases import generation
from grader.cli.kata import kata as run_kata
from grader.course.catalog import Course
from grader.extra.authoring.verify.katas import verify_course
from grader.grading.session import grade_file, open_grader

pytestmark = pytest.mark.slow  # each imports an exercise, judges it, and takes half a second or more

REFERENCE = '''"""Softmax over the last axis.

Subtract the maximum of each row first.
"""
import numpy as np

UNUSED = 3


def _shifted(x, axis):
    return x - x.max(axis=axis, keepdims=True)  # [..., n]


def softmax(x: np.ndarray, axis: int = -1) -> np.ndarray:
    """Return the softmax of x along axis."""
    if x.ndim == 0:
        raise ValueError("a number has no axis")
    e = np.exp(_shifted(x, axis))
    return e / e.sum(axis=axis, keepdims=True)
'''
TESTS = '''import math
import numpy as np
import pytest
from softmax import softmax

EXPECTED = np.array([0.0900, 0.2447, 0.6652])


def noise(n):
    return np.random.default_rng(n).normal(size=(n, 3))


def checked(x):
    return softmax(x)


@pytest.fixture
def rng():
    return np.random.default_rng(1)


@pytest.fixture
def x(rng):
    return rng.normal(size=(2, 2)) * 0 + 1


@pytest.fixture
def closed():
    yield np.ones(2)


def test_figures():
    np.testing.assert_allclose(softmax(np.array([1.0, 2.0, 3.0])), EXPECTED, atol=1e-4)


@pytest.mark.parametrize("n", [2, 4])
def test_rows_sum_to_one(n):
    """Every row sums to one."""
    assert np.allclose(softmax(noise(n)).sum(-1), math.cos(0)) and softmax(noise(n)).shape == (n, 3)


@pytest.mark.parametrize("n, axis", [(2, 0), (4, 1)])
def test_axis(n, axis):
    out = softmax(noise(n), axis=axis)
    assert (out >= 0).all(), "No probability is negative."


def test_a_number():
    with pytest.raises(ValueError, match="axis"):
        softmax(np.float64(3.0))


def test_fixture(x):
    assert softmax(x)[0, 0] == pytest.approx(0.5)


def test_closed(closed):
    assert softmax(closed)[0] == 0.5


def test_try():
    try:
        softmax(np.float64(1.0))
    except ValueError:
        pass
    else:
        raise AssertionError("a number was accepted")


def test_no_argument():
    with pytest.raises(TypeError):
        softmax()


def test_helper():
    assert checked(np.ones(2))[0] == 0.5


@pytest.mark.skip(reason="later")
def test_later():
    assert softmax(None) is None


def test_fails():
    assert softmax(np.ones(2))[0] == 1
'''


def exercise_in(folder):
    """Write an exercise into `hw` of a folder."""
    (folder / "hw").mkdir()
    (folder / "hw/softmax.py").write_text(REFERENCE)
    (folder / "hw/test_softmax.py").write_text(TESTS)
    return folder


@pytest.fixture(scope="module", autouse=True)
def _few_cases(tmp_path_factory):
    """Draw fewer cases than an imported kata has, and keep them in a cache of their own."""
    draw_cases = generation.draw_cases
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CACHE_HOME", str(tmp_path_factory.mktemp("cache")))
        patch.setattr(generation, "draw_cases", lambda draw, size, seed: draw_cases(draw, size // 4, seed))
        yield


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """The current folder: somebody's exercise in `hw`."""
    monkeypatch.chdir(tmp_path)
    return exercise_in(tmp_path)


@pytest.fixture(scope="module")
def imported(tmp_path_factory):
    """The folder into which the exercise was imported as the kata `theirs`, and what the command printed."""
    folder = exercise_in(tmp_path_factory.mktemp("imported"))
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        code, said = run("attention/theirs", "hw/test_softmax.py")
    assert code == 0, said
    return folder, said


def run(*arguments):
    done = CliRunner().invoke(run_kata, ["import", *arguments, "--course", "my"])
    return done.exit_code, done.output


def laws(course: Path, name: str) -> str:
    return next(course.glob(f"my/tests/katas/*/test_{name}.py")).read_text()


def test_a_pytest_file_becomes_a_kata(imported):
    folder, said = imported
    assert said.splitlines() == [
        "wrote solutions/attention/theirs/reference.py",
        "wrote tests/katas/attention/test_theirs.py",
        "wrote exercises/attention/theirs.py",
        "wrote tests/katas/conftest.py",
        "wrote tests/katas/path.toml",
        "taken over from hw/test_softmax.py: 7 calls of `softmax`, 7 laws",
        "note: test_fails fails with the reference",
        "note: test_closed is not taken over: it asks for the fixture `closed`",
        "note: test_no_argument is not taken over: it asks for TypeError; a kata refuses by ValueError",
        "note: test_later is not taken over: it is marked skip",
        "note: test_fails is not taken over: the reference itself does not keep it as the grader compares",
        "It is a draft: its checks are unproven until it has mistakes. See: kata verify theirs --course my",
    ]
    assert verify_course(Course(folder / "my"), ("theirs",)) == 0


def test_assertions_become_expectations(imported):
    declared = laws(imported[0], "theirs")
    assert (
        "expect.decimals(student.softmax(np.array([1.0, 2.0, 3.0])), EXPECTED, 4, "
        '"softmax(np.array([1.0, 2.0, 3.0]))")'
    ) in declared
    assert (
        "    for n in [2, 4]:\n"
        '        expect.close(student.softmax(noise(n)).sum(-1), math.cos(0), "softmax(noise(n)).sum(-1)")\n'
        '        expect.equal(student.softmax(noise(n)).shape, (n, 3), "softmax(noise(n)).shape")\n'
    ) in declared
    assert 'expect.true((out >= 0).all(), "No probability is negative.")' in declared
    assert 'expect.refuses(student.softmax, np.float64(3.0), why="these arguments are not valid")' in declared
    assert 'expect.refuses(student.softmax, np.float64(1.0), why="these arguments are not valid")' in declared
    assert "    x = make_x(make_rng())\n" in declared
    assert '"""Every row sums to one."""' in declared
    assert declared.count("import numpy as np") == 1
    assert "import math\n" in declared


def test_the_reference_keeps_its_comments_and_loses_what_it_does_not_use(imported):
    written = (imported[0] / "my/solutions/attention/theirs/reference.py").read_text()
    assert "# [..., n]" in written
    assert "UNUSED" not in written


def test_an_axis_is_the_one_of_the_tests(folder):
    (folder / "hw/softmax.py").write_text(REFERENCE.replace(": int = -1) -> np.ndarray", ")"))
    (folder / "hw/test_softmax.py").write_text(
        "import numpy as np\nfrom softmax import softmax\n\n\ndef test_half():\n"
        "    assert softmax(np.ones((2, 2)), 1)[0, 0] == 0.5\n"
    )
    code, said = run("attention/axis", "hw/test_softmax.py")
    assert code == 0, said
    assert '        "axis": 1,\n' in laws(folder, "axis")
    assert "note: `axis` is 1 in all drawn cases; draw it too\n" in said


def test_a_wrong_answer_fails_the_imported_kata(imported, tmp_path):
    stub = (imported[0] / "my/exercises/attention/theirs.py").read_text()
    assert "Subtract the maximum of each row first." in stub
    wrong = tmp_path / "theirs.py"
    wrong.write_text(stub.replace("raise NotImplementedError", "return np.exp(x)"))
    course = Course(imported[0] / "my")
    grader, workers = open_grader(course, [course.kata_info("theirs")])
    with closing(workers):
        report = grade_file(grader, course.kata_info("theirs"), wrong).report
    failed = {check.name for check in report.checks if check.status == "failed"}
    assert {"agrees_with_reference", "figures", "rows_sum_to_one"} <= failed


def test_where_drawn_arguments_do_not_fit_the_calls_of_the_tests_are_the_cases(folder):
    (folder / "hw/pairs.py").write_text(
        "def pairs(words):\n    return {a + b: 1 for a, b in zip(words, words[1:])}\n"
    )
    (folder / "hw/test_pairs.py").write_text(
        "import pairs as p\n\n\ndef test_two():\n    assert p.pairs(['a', 'b']) == {'ab': 1}\n"
    )
    code, said = run("training/pairs", "hw/test_pairs.py")
    assert code == 0, said
    assert "the cases are the calls of the tests alone" in said
    declared = laws(folder, "pairs")
    assert 'RECORDED = [\n    {"words": ["a", "b"]},\n]' in declared
    assert 'expect.equal(student.pairs(["a", "b"]), {"ab": 1}' in declared
    assert verify_course(Course(folder / "my"), ("pairs",)) == 0


def test_unittest_is_understood(folder):
    (folder / "hw/test_unit.py").write_text(
        "import unittest\nimport numpy as np\nfrom softmax import softmax\n\n\n"
        "class TestSoftmax(unittest.TestCase):\n"
        "    def test_half(self):\n        self.assertAlmostEqual(softmax(np.zeros(2))[0], 0.5)\n\n"
        "    def test_finite(self):\n        self.assertTrue(np.isfinite(softmax(np.zeros(2))).all())\n\n"
        "    def test_number(self):\n        self.assertRaises(ValueError, softmax, np.float64(1))\n\n"
        "    def test_own(self):\n        self.assertCountEqual(softmax(np.zeros(1)), [1])\n"
    )
    code, said = run("attention/unit", "hw/test_unit.py", "--reference", "hw/softmax.py")
    assert code == 0, said
    assert "3 laws" in said
    assert "note: test_own is not taken over: nothing in it asserts anything about the function" in said
    law = 'expect.close(student.softmax(np.zeros(2))[0], 0.5, "softmax(np.zeros(2))[0]")'
    assert law in laws(folder, "unit")


PREPARED = """
import unittest
import numpy as np
from softmax import softmax

x = np.zeros(3)


class Base(unittest.TestCase):
    EPS = 1e-6
    sizes = [2, 3]

    @classmethod
    def setUpClass(cls):
        cls.ones = np.ones(4)

    def setUp(self):
        super().setUp()
        np.random.seed(0)
        self.x = np.random.normal(size=3)
        self.unused = 1

    def total(self, z):
        return softmax(z).sum()

    @staticmethod
    def check(z):
        assert softmax(z).shape == z.shape


class TestPrepared(Base):
    def test_own(self):
        self.assertLess(abs(self.total(self.x) - 1), self.EPS)
        self.assertEqual(softmax(x)[0], softmax(self.ones[:3])[0])

    def test_sizes(self):
        for n in self.sizes:
            with self.subTest(n=n):
                self.check(np.ones(n))
                self.assertAlmostEqual(softmax(np.ones(n))[0], 1 / n, 5)
"""


def test_a_prepared_class_becomes_laws(folder):
    (folder / "hw/test_more.py").write_text(PREPARED)
    code, said = run("attention/more", "hw/test_more.py", "--reference", "hw/softmax.py")
    assert (code, "2 laws" in said) == (0, True), said
    assert "is not taken over" not in said
    declared = laws(folder, "more")
    assert declared[declared.index('    """Own."""') :].startswith('''    """Own."""
    EPS = 1e-06
    def total(z):
        return student.softmax(z).sum()
    ones = np.ones(4)
    np.random.seed(0)
    own_x = np.random.normal(size=3)
    expect.true(abs(total(own_x) - 1) < EPS, "`abs(total(own_x) - 1) < EPS` must hold.")
''')
    assert 'expect.decimals(student.softmax(np.ones(n))[0], 1 / n, 5, "softmax(np.ones(n))[0]")' in declared
    assert "unused" not in declared
    assert verify_course(Course(folder / "my"), ("more",)) == 0


def test_parameters_may_have_ids_and_no_marks(folder):
    (folder / "hw/test_more.py").write_text(
        "import numpy as np\nimport pytest\nfrom softmax import softmax\n\n\n"
        "@pytest.mark.parametrize('n', [pytest.param(2, id='two'), 4])\n"
        "def test_named(n):\n    assert softmax(np.ones(n))[0] == 1 / n\n\n\n"
        "@pytest.mark.parametrize('n', [pytest.param(2, marks=pytest.mark.slow)])\n"
        "def test_marked(n):\n    assert softmax(np.ones(n))[0] == 0.5\n"
    )
    code, said = run("attention/more", "hw/test_more.py", "--reference", "hw/softmax.py")
    assert code == 0, said
    assert "    for n in [2, 4]:\n" in laws(folder, "more")
    reason = "its parameters have marks, or are not written out"
    assert f"note: test_marked is not taken over: {reason}\n" in said


def test_an_alias_a_helper_and_assertions_of_the_module_come_over(folder):
    (folder / "hw/helpers.py").write_text(
        "import numpy as np\n\nSCALE = 2.0\n\n\ndef noise(n):\n"
        "    return SCALE * np.random.default_rng(n).normal(size=n)\n"
    )
    (folder / "hw/test_softmax.py").write_text(
        "import numpy as np\nimport helpers as h\nfrom helpers import noise as drawn\n"
        "from softmax import softmax as run_softmax\n\nx = drawn(3)\n\n"
        "out = run_softmax(x)\nassert out.shape == (3,)\n"
        "assert np.allclose(out.sum(), 1)\n\n"
        "out = run_softmax(np.zeros(2))\nassert out[0] == 0.5\n\n\n"
        "def test_noise():\n    assert (run_softmax(h.noise(4)) > 0).all()\n"
    )
    code, said = run("attention/more", "hw/test_softmax.py")
    assert (code, "3 calls of `softmax`, 3 laws" in said) == (0, True), said
    declared = laws(folder, "more")
    first = '"""Part 1 of the tests holds."""\n    out = student.softmax(x)\n    expect.equal(out.shape, '
    assert first in declared
    assert "    out = student.softmax(np.zeros(2))\n" in declared
    assert "expect.true((student.softmax(noise(4)) > 0).all()" in declared
    assert "SCALE = 2.0\n" in declared
    assert verify_course(Course(folder / "my"), ("more",)) == 0


PACKAGE = {
    "pyproject.toml": "[project]\nname = 'basics'\n",
    "basics/__init__.py": "from .nn import gelu\n",
    "basics/shapes.py": "def last(x):\n    return x.shape[-1]  # the width\n",
    "basics/nn.py": (
        "import numpy as np\n\nfrom basics import shapes\nfrom .shapes import last as width\n\n\n"
        "def gelu(x):\n    return x * (x > 0)\n\n\n"
        "def mean(x):\n    return np.asarray(x).sum(-1) / width(x)\n\n\n"
        "def scaled(x):\n    return x / shapes.last(x)\n"
    ),
    "tests/__init__.py": "",
    "tests/adapters.py": (
        "from __future__ import annotations\n\n\n"
        "def run_mean(x: Array) -> Array:\n    from basics.nn import mean\n\n    return mean(x)\n\n\n"
        "def run_scaled(x: Array) -> Array:\n    import basics.nn\n\n    return basics.nn.scaled(x)\n"
    ),
    "tests/conftest.py": (
        "import numpy as np\nimport pytest\n\n\n@pytest.fixture\ndef x():\n    return np.array([1.0, 3.0])\n"
    ),
    "tests/test_nn.py": (
        "import numpy as np\n\nfrom .adapters import run_mean, run_scaled\n\n\n"
        "def test_mean(x):\n    np.testing.assert_allclose(actual=run_mean(x), desired=2.0)\n\n\n"
        "def test_scaled(x):\n    np.testing.assert_allclose(run_scaled(x), [0.5, 1.5])\n"
    ),
    "tests/test_gelu.py": "from basics import gelu\n\n\ndef test_it(x):\n    assert gelu(x)[0] == 1.0\n",
}


@pytest.fixture
def package(folder):
    for name, text in PACKAGE.items():
        (folder / "hw" / name).parent.mkdir(exist_ok=True)
        (folder / "hw" / name).write_text(text)
    return folder


@pytest.mark.parametrize(
    ("tests", "function", "reference"),
    [
        ("nn", "run_mean", "import numpy as np\n\n\ndef last(x):\n    return x.shape[-1]  # the width\n\n\n"
         "def mean(x):\n    return np.asarray(x).sum(-1) / last(x)\n\n\n"
         "def run_mean(x: Array) -> Array:\n\n    return mean(x)\n"),
        ("nn", "run_scaled", "def last(x):\n    return x.shape[-1]  # the width\n\n\n"
         "def scaled(x):\n    return x / last(x)\n\n\n"
         "def run_scaled(x: Array) -> Array:\n\n    return scaled(x)\n"),
        ("gelu", "gelu", "def gelu(x):\n    return x * (x > 0)\n"),
    ],
)  # fmt: skip
def test_a_package_with_adapters_becomes_a_kata(package, tests, function, reference):
    arguments = ("--function", function) if tests == "nn" else ()
    code, said = run(f"basics/{function}", f"hw/tests/test_{tests}.py", *arguments)
    assert (code, "1 law\n" in said) == (0, True), said
    written = (package / f"my/solutions/basics/{function}/reference.py").read_text()
    assert written.endswith(reference)
    assert verify_course(Course(package / "my"), (function,)) == 0


@pytest.mark.usefixtures("package")
def test_of_several_adapters_one_is_asked_for():
    code, said = run("basics/nn", "hw/tests/test_nn.py")
    why = "The tests call `run_mean`, `run_scaled`, and a kata is about one: say which, as in --function"
    assert (code, why in said) == (4, True), said


def test_one_name_in_two_files_is_refused(package):
    (package / "hw/basics/shapes.py").write_text(
        "def last(x):\n    return mean(x)\n\ndef mean(x):\n    return 2\n"
    )
    code, said = run("basics/nn", "hw/tests/test_nn.py", "--function", "run_mean")
    why = "`mean` is defined in shapes.py and in nn.py: a reference is one file, so rename one of them."
    assert (code, why in said.replace("hw/basics/", "")) == (4, True), said


def test_without_a_law_the_exit_code_is_1(folder):
    (folder / "hw/test_softmax.py").write_text(
        "import numpy as np\nfrom softmax import softmax\n\n\ndef test_it():\n"
        "    print(softmax(np.ones(2)))\n"
    )
    code, said = run("attention/more", "hw/test_softmax.py")
    assert (code, "No test came over: the kata compares with the reference alone.\n" in said) == (1, True), (
        said
    )


def test_without_calls_nothing_is_written(folder):
    (folder / "hw/softmax.py").write_text("def f(x): return x\n")
    (folder / "hw/test_softmax.py").write_text(
        "from softmax import f\n\ndef test_a():\n    assert f(object())\n"
    )
    code, said = run("attention/f", "hw/test_softmax.py")
    last = "Nothing came over: no test calls `f` with values to take over."
    assert (code, said.splitlines()[-1]) == (1, last)
    assert not (folder / "my").exists()


CALLS = "from ref import f\n\n\ndef test_a():\n    assert f(1) == 1\n"
RIGHT = "def f(x):\n    return x\n"


@pytest.mark.parametrize(
    ("reference", "tests", "code"),
    [
        ("import sys\nsys.exit(3)\n\n\n" + RIGHT, CALLS, 4),
        ("1 / 0\n\n\n" + RIGHT, CALLS, 4),
        ("from nowhere import g\n\n\n" + RIGHT, CALLS, 4),
        (RIGHT, "\0" + CALLS, 4),
        (RIGHT, "\ufeff" + CALLS, 4),
        ("x = " + "(" * 300 + ")" * 300 + "\n" + RIGHT, CALLS, 4),
        (RIGHT, CALLS + "\n\nraise SystemExit(0)\n", 1),
        (RIGHT, CALLS + "\n\n1 / 0\n", 1),
        (RIGHT, CALLS + "    from ref import *\n", 1),
        (RIGHT, CALLS + "\n\ndef test_b():\n    raise KeyboardInterrupt\n", 0),
        (RIGHT, "import unittest\n" + CALLS + "\n\nclass T(unittest.TestCase):\n"
         "    def test_x(self):\n        self.assertEqual(f(1))\n        self.assertRaises()\n", 0),
        (RIGHT, "import pytest\n" + CALLS + "\n\n@pytest.mark.parametrize()\ndef test_p():\n    f(2)\n", 1),
        (RIGHT, "import numpy as np\n" + CALLS + "    np.testing.assert_allclose()\n", 1),
        ("f = lambda x: x\n", CALLS, 4),
        ("class f:\n    pass\n", CALLS, 4),
        ("def f(x):\n    return f\n", CALLS.replace("== 1", ""), 1),
        ("def f(x):\n    raise SystemExit\n", CALLS, 1),
        ("async def f(x):\n    return x\n", CALLS, 4),
    ],
)  # fmt: skip
def test_a_file_of_theirs_is_never_our_fault(folder, reference, tests, code):
    (folder / "hw/ref.py").write_text(reference)
    (folder / "hw/test_ref.py").write_text(tests)
    got, said = run("attention/f", "hw/test_ref.py")
    assert "our fault" not in said
    assert got == code, said
    assert len(said.splitlines()) < 12


@pytest.mark.parametrize(
    "text", ["[]", "{", '{"cells": 3}', '{"cells": [3]}', '{"cells": [{"cell_type": "code"}]}']
)
def test_a_damaged_notebook_is_never_our_fault(folder, text):
    (folder / "ps.ipynb").write_text(text)
    code, said = run("attention/f", "ps.ipynb")
    assert (code, "our fault" in said) == (4, False), said


def test_even_sizes_are_drawn_where_others_do_not_fit(folder):
    (folder / "hw/halves.py").write_text(
        "import numpy as np\n\n\ndef halves(x):\n    return x.reshape(2, -1).sum(axis=0)\n"
    )
    (folder / "hw/test_halves.py").write_text(
        "import numpy as np\nfrom halves import halves\n\n\n"
        "def test_four():\n    np.testing.assert_allclose(halves(np.ones(4)), [2.0, 2.0])\n"
    )
    code, said = run("training/halves", "hw/test_halves.py")
    assert code == 0, said
    assert "note: sizes are drawn even, since others do not fit (" in said
    assert " = 2 * draw(st.integers(" in laws(folder, "halves")


def cell(kind, source, **marks):
    metadata = {"nbgrader": marks} if marks else {}
    return {"cell_type": kind, "source": source, "metadata": metadata}


def notebook(path, *cells):
    path.write_text(json.dumps({"cells": list(cells), "metadata": {}, "nbformat": 4, "nbformat_minor": 5}))


SOLUTION = (
    "def causal_mask(n):\n    '''Return the mask.'''\n    ### BEGIN SOLUTION\n"
    "    return np.tril(np.ones((n, n), bool))\n    ### END SOLUTION\n"
)


def test_an_nbgrader_notebook_becomes_a_kata(folder):
    notebook(
        folder / "ps1.ipynb",
        cell("markdown", "# Causal mask\n\nEntry (q, k) is True where q may see k."),
        cell("code", "%matplotlib inline\nimport numpy as np\n"),
        cell("code", SOLUTION, grade_id="mask", solution=True, grade=False),
        cell("code", "assert causal_mask(1).shape == (1, 1)\n### BEGIN HIDDEN TESTS\n"
             "assert not causal_mask(3)[0, 1]\n### END HIDDEN TESTS", grade_id="mask-test", grade=True),
    )  # fmt: skip
    code, said = run("attention/mask", "ps1.ipynb")
    assert code == 0, said
    assert "taken over from ps1.ipynb: 2 calls of `causal_mask`, 1 law" in said
    stub = (folder / "my/exercises/attention/mask.py").read_text()
    assert stub.startswith('"""Causal mask.\n')
    assert "Entry (q, k) is True where q may see k." in stub
    assert "np.tril" not in stub
    assert "def test_mask_test(student):" in laws(folder, "mask")
    assert verify_course(Course(folder / "my"), ("mask",)) == 0


ROTATE = "def rotate(x):\n    ### BEGIN SOLUTION\n    return flipped(x) * [-1, 1]\n    ### END SOLUTION\n"
TWICE = "def twice(x):\n    ### BEGIN SOLUTION\n    return rotate(rotate(x))\n    ### END SOLUTION\n"


def test_of_a_notebook_with_several_answers_one_becomes_a_kata(folder):
    notebook(
        folder / "ps2.ipynb",
        cell("markdown", "# Homework 2\n\nName: ____"),
        cell("code", "import numpy as np\n\ndef flipped(x):\n    return x[::-1]\n"),
        cell("code", "def first(x):\n    return x[0]\n", grade_id="first", solution=True),
        cell("markdown", "## Problem 2\n\nRotate $\\theta$ by a right angle."),
        cell("code", ROTATE, grade_id="rotate", solution=True),
        cell("code", "x = np.array([1.0, 2.0])\nassert rotate(x)[0] == -2.0", grade_id="test-a", grade=True),
        cell("code", "assert rotate(x).shape == x.shape", grade_id="test-b", grade=True),
        cell("markdown", "Because rotations compose.", grade_id="why", solution=True, grade=True),
        cell("code", TWICE, grade_id="twice", solution=True),
        cell("code", "assert (twice(x) == -x).all()", grade_id="test-c", grade=True),
    )
    code, said = run("attention/rotate", "ps2.ipynb", "--function", "rotate")
    assert code == 0, said
    assert "2 laws" in said
    assert "note: not about `rotate`: test_c" in said
    stub = (folder / "my/exercises/attention/rotate.py").read_text()
    assert stub.startswith('r"""Problem 2.\n')
    assert "Rotate $\\theta$ by a right angle." in stub
    assert "def flipped(x):\n    return x[::-1]\n" in stub
    everything = stub + laws(folder, "rotate")
    assert [t for t in ("Homework", "compose", "[-1, 1]", "SOLUTION", "twice") if t in everything] == []
    assert "def test_a(student):" in laws(folder, "rotate")
    assert verify_course(Course(folder / "my"), ("rotate",)) == 0


def test_a_tolerance_does_not_become_stricter(folder):
    (folder / "hw/test_two.py").write_text(
        "import numpy as np\nfrom softmax import softmax\n\n\ndef test_two():\n"
        "    np.testing.assert_allclose(softmax(np.array([0.0, 1.0])), [0.26894142, 0.73105858], atol=1e-5)\n"
        "    np.testing.assert_array_almost_equal(softmax(np.zeros(2)), [0.5, 0.5], decimal=3)\n"
    )
    run("attention/two", "hw/test_two.py", "--reference", "hw/softmax.py")
    assert "np.array([0.26894142, 0.73105858]), 5, " in laws(folder, "two")
    assert "np.array([0.5, 0.5]), 3, " in laws(folder, "two")


def test_the_students_notebook_is_refused(folder):
    notebook(
        folder / "ps1.ipynb",
        cell("code", "def f(x):\n    # YOUR CODE HERE\n    raise NotImplementedError()", grade_id="f",
             solution=True),
        cell("code", "assert f(1) == 1", grade_id="t", grade=True),
    )  # fmt: skip
    code, said = run("attention/f", "ps1.ipynb")
    assert code == 4
    assert "ps1.ipynb holds no solution: it is the students' version. Give the one in `source`." in said
    assert not (folder / "my").exists()


@pytest.mark.parametrize(
    ("reference", "tests", "why"),
    [
        ("x = 1\n", "from ref import x\n\ndef test_a():\n    assert x\n",
         "No test calls a function of the reference; it has none."),
        ("def f(x): return x\ndef g(x): return x\n",
         "from ref import f, g\n\ndef test_a():\n    assert f(1) == g(1)\n",
         "The tests call `f`, `g`, and a kata is about one: say which, as in --function f."),
        ("def f(x) return x\n", "from ref import f\n\ndef test_a():\n    assert f(1)\n",
         "hw/ref.py is no Python: expected ':' (line 1)."),
        ("def f(*x): return x\n", "from ref import f\n\ndef test_a():\n    assert f(1)\n",
         "leave out *, ** and /."),
    ],
)  # fmt: skip
def test_what_cannot_be_imported_is_said_in_a_sentence(folder, reference, tests, why):
    (folder / "hw/ref.py").write_text(reference)
    (folder / "hw/test_ref.py").write_text(tests)
    code, said = run("attention/f", "hw/test_ref.py")
    assert (code, why in said) == (4, True), said
    assert not (folder / "my").exists()


def test_a_missing_reference_is_asked_for(folder):
    (folder / "hw/softmax.py").unlink()
    code, said = run("attention/f", "hw/test_softmax.py")
    assert code == 4
    assert "The reference of hw/test_softmax.py was not found; give its file with --reference." in said
