"""`kata audit` says what it can prove: no right answer is blamed, and no percentage stands for nothing."""

import json
import os
import re
import sys
import textwrap
from pathlib import Path

import pytest

from dojo_audit.audit import mutants
from dojo_audit.homework import cells_of, open_homework

from .test_audit import audit, audited, needs_linux

pytestmark = pytest.mark.slow  # each audits a homework in forks

COUNTER = """
class Counter:
    def __init__(self):
        self.seen = []

    def add(self, number):
        self.seen.append(number)

    def total(self):
        return sum(self.seen)
"""
COUNTED = """
from solution import Counter

def test_total():
    counter = Counter()
    for number in (1, 2, 3):
        counter.add(number)
    assert counter.total() == 6
"""
MADE = """
class Account:
    def __init__(self, balance):
        self.balance = balance

    def deposit(self, amount):
        self.balance += amount
        return self.balance

def opened(gift):
    return Account(gift)
"""
LOSS = """
import numpy as np

def loss(scores, labels):
    shifted = scores - scores.max(axis=-1, keepdims=True)
    shares = np.exp(shifted) / np.exp(shifted).sum(axis=-1, keepdims=True)
    return -np.mean(np.log(shares[np.arange(len(labels)), labels]))
"""
PICK = """
import numpy as np

def pick(weights, top):
    order = np.argsort(-weights)
    shares = weights[order] / weights.sum()
    shares[top:] = 0
    return int(np.random.choice(order, p=shares / shares.sum()))
"""
LAYER = """
import numpy as np

def forward(x, w):
    out = x @ w
    return out, (x, w)

def backward(grad, cache):
    x, w = cache
    return grad @ w.T, x.T @ grad
"""
NORM = """
import numpy as np

def scaled(x, gain, eps=1e-6):
    if gain.shape != x.shape[-1:]:
        raise ValueError("one gain for each feature")
    size = np.sqrt((x ** 2).mean(axis=-1, keepdims=True) + eps)
    return x / size * gain
"""
WORDS = """
def counts(words):
    found = {}
    for word in words:
        found[word] = found.get(word, 0) + 1
    return found

def longest(words):
    if not words:
        raise ValueError("no word")
    return max(words, key=len)
"""
#: Homeworks with right answers in other styles, by name: the solution, the tests, the answers.
RIGHT = {
    "counter": (
        COUNTER,
        COUNTED,
        [
            COUNTER.replace("seen", "_numbers"),
            COUNTER.replace("self.seen = []", "self.running = 0")
            .replace("self.seen.append(number)", "self.running += number")
            .replace("sum(self.seen)", "self.running"),
            COUNTER.replace("sum(self.seen)", "sum(n for n in self.seen)"),
            COUNTER.replace("self, number", "self, value").replace("(number)", "(value)"),
            COUNTER.replace("self.seen = []", "self.seen = ()").replace(
                "self.seen.append(number)", "self.seen = (*self.seen, number)"
            ),
            "from dataclasses import dataclass, field\n"
            + COUNTER.replace("class", "@dataclass\nclass").replace(
                "def __init__(self):\n        self.seen = []", "seen: list = field(default_factory=list)"
            ),
        ],
    ),
    "account": (
        MADE,
        """
        from solution import opened

        def test_deposits():
            account = opened(10)
            assert account.deposit(5) == 15
            assert account.deposit(7) == 22
        """,
        [
            MADE.replace("balance", "_money"),
            MADE.replace("self.balance += amount", "self.balance = amount + self.balance"),
            MADE.replace("gift", "present"),
            MADE.replace("return Account(gift)", "made = Account(0)\n    made.deposit(gift)\n    return made"),
            MADE.replace("class Account", "class Konto").replace("return Account", "return Konto"),
            MADE.replace("balance", "total").replace("self, total", "self, start=0").replace("= total", "= start"),
        ],
    ),
    "loss": (
        LOSS,
        """
        import numpy as np
        from solution import loss

        def test_equal():
            assert np.isclose(loss(np.zeros((2, 4)), np.array([0, 3])), np.log(4))

        def test_figures():
            scores = np.array([[1.0, 2.0, 3.0], [0.5, -1.0, 2.0]])
            assert np.isclose(loss(scores, np.array([0, 2])), 1.32446, atol=1e-3)
        """,
        [
            """
            import numpy as np

            def loss(scores, labels):
                top = scores.max(axis=-1)
                sums = top + np.log(np.exp(scores - top[:, None]).sum(axis=-1))
                return np.mean(sums - scores[np.arange(len(labels)), labels])
            """,
            LOSS.replace("-np.mean(np.log(", "np.mean(-np.log("),
            LOSS.replace("np.mean", "sum").replace("[np.arange(len(labels)), labels]))", "[np.arange(len(labels)), labels])) / len(labels)"),
            LOSS.replace("scores, labels", "logits, targets").replace("scores", "logits").replace("labels", "targets"),
            LOSS.replace("return -", "return 0.0 - "),
            """
            import math

            def loss(scores, labels):
                total = 0.0
                for row, label in zip(scores.tolist(), labels.tolist()):
                    top = max(row)
                    total += top + math.log(sum(math.exp(x - top) for x in row)) - row[label]
                return total / len(labels)
            """,
        ],
    ),
    "layer": (
        LAYER,
        """
        import numpy as np
        from solution import backward, forward

        def test_layer():
            out, cache = forward(np.ones((2, 3)), np.ones((3, 4)))
            assert out.shape == (2, 4) and (out == 3).all()
            dx, dw = backward(np.ones((2, 4)), cache)
            assert (dx == 4).all() and (dw == 2).all()
        """,
        [
            LAYER.replace("(x, w)\n\n", "{'x': x, 'w': w}\n\n").replace("= cache", "= cache['x'], cache['w']"),
            LAYER.replace("(x, w)\n\n", "(w, x)\n\n").replace("x, w = cache", "w, x = cache"),
            LAYER.replace("(x, w)\n\n", "(x.copy(), w.copy(), out)\n\n").replace("x, w =", "x, w, _ ="),
            LAYER.replace("x @ w\n", "np.einsum('ij,jk->ik', x, w)\n"),
            LAYER.replace("x @ w\n", "np.dot(x, w)\n"),
            LAYER.replace("(x, w)\n\n", "[x, w]\n\n"),
        ],
    ),
    "norm": (
        NORM,
        """
        import numpy as np
        import pytest
        from solution import scaled

        def test_rows():
            out = scaled(np.array([[1.0, 2.0, 2.0], [0.5, 1.0, -1.0]]), np.ones(3))
            np.testing.assert_allclose((out**2).mean(-1), 1.0, rtol=1e-4)

        def test_refused():
            with pytest.raises(ValueError):
                scaled(np.ones((2, 3)), np.ones(2))
        """,
        [
            NORM.replace("x / size * gain", "gain * (x / size)"),
            NORM.replace("x / size * gain", "(x / size * gain).tolist()").replace("return", "return np.array(") + "    )\n",
            NORM.replace("(x ** 2).mean(axis=-1, keepdims=True)", "np.mean(np.square(x), -1, keepdims=True)"),
            NORM.replace("gain.shape != x.shape[-1:]", "len(gain) != x.shape[-1] or gain.ndim != 1"),
            NORM.replace("if gain", "if not np.isfinite(x).all():\n        raise ValueError\n    if gain"),
            NORM.replace(", eps=1e-6", "").replace("+ eps", "+ 1e-6"),
        ],
    ),
    "words": (
        WORDS,
        """
        import pytest
        from solution import counts, longest

        def test_counts():
            assert counts(["a", "b", "a"]) == {"a": 2, "b": 1}

        def test_longest():
            assert longest(["of", "the"]) == "the"
            with pytest.raises(ValueError):
                longest([])
        """,
        [
            WORDS.replace("found = {}", "from collections import Counter\n    return dict(Counter(words))"),
            WORDS.replace("found = {}", "from collections import Counter\n    return Counter(words)"),
            WORDS.replace("found = {}", "return {word: words.count(word) for word in words}"),
            WORDS.replace("max(words, key=len)", "sorted(words, key=len, reverse=True)[0]"),
            WORDS.replace("words", "texts"),
            WORDS.replace("found = {}", "found = dict()").replace("found.get(word, 0)", "(found[word] if word in found else 0)"),
        ],
    ),
}  # fmt: skip
# ruff: noqa: E501


def homework(folder, solution, tests, name="test_it.py"):
    """Write a homework and return its folder."""
    folder.mkdir(exist_ok=True)
    (folder / "solution.py").write_text(textwrap.dedent(solution))
    (folder / name).write_text(textwrap.dedent(tests))
    return folder


def handed_in(folder, answers, name="solution.py"):
    for number, answer in enumerate(answers):
        (folder / f"s{number}").mkdir(parents=True)
        (folder / f"s{number}" / name).write_text(textwrap.dedent(answer))
    return folder


@pytest.mark.parametrize("name", RIGHT)
def test_right_answers_in_other_styles_do_not_differ(name, tmp_path):
    solution, tests, answers = RIGHT[name]
    folder = homework(tmp_path / "hw", solution, tests)
    assert len({*answers, solution}) == 7
    classes = handed_in(tmp_path / "class", answers)
    found = audited(folder, "--mutants", 0, "--submissions", classes)
    assert [one["passes"] for one in found["submissions"]] == [True] * 6, found["notes"]
    differing = [(one["path"], one["witness"]) for one in found["submissions"] if one["differs"]]
    assert differing == []


def test_a_submission_that_differs_is_shown_and_not_judged(tmp_path):
    solution, tests, _ = RIGHT["words"]
    folder = homework(tmp_path / "hw", solution, tests)
    handed_in(tmp_path / "class", [WORDS.replace("+ 1", "+ 1 if len(word) < 3 else 5")])
    printed = audit(folder, "--mutants", 0, "--submissions", tmp_path / "class")
    assert "1 of these answer a call differently from the solution. Look which is right." in printed
    assert "wrong" not in printed.partition("\n")[2]


def test_a_random_function_gets_no_witness_and_no_test(tmp_path):
    tests = """
        import numpy as np
        from solution import pick

        def test_range():
            for _ in range(5):
                assert 0 <= pick(np.array([1.0, 2.0, 3.0]), 2) < 3
        """
    by_hand = """
        import numpy as np

        def pick(weights, top):
            order = list(np.argsort(-weights)[:top])
            edges = np.cumsum(weights[order]) / weights[order].sum()
            return int(order[int(np.searchsorted(edges, np.random.rand()))])
        """
    by_another = """
        import random
        import numpy as np

        def pick(weights, top):
            order = np.argsort(-weights)[:top]
            return int(random.choices(order.tolist(), weights[order].tolist())[0])
        """
    folder = homework(tmp_path / "hw", PICK, tests)
    handed_in(tmp_path / "class", [by_hand, by_another])
    found = audited(folder, "--mutants", 16, "--submissions", tmp_path / "class")
    assert [(one["passes"], one["differs"]) for one in found["submissions"]] == [(True, False)] * 2
    assert [one for one in found["mutants"] if "random" in str(one["witness"])] == []


FEW = "from solution import twice\n\ndef test_it():\n    assert twice(3) == 6\n"


def test_few_wrong_versions_give_no_percentage(tmp_path):
    folder = homework(tmp_path / "hw", "def twice(x):\n    return 2 * x\n", FEW)
    printed = audit(folder, "--at-least", 10, code=1)
    assert "too few for a percentage, which needs 20." in printed.splitlines()[0]
    assert "%" not in printed.splitlines()[0]
    found = audited(folder, "--at-least", 10, code=1)
    assert found["share"] is None


def test_only_functions_that_a_test_reaches_are_mutated(tmp_path):
    solution = """
        def mean(numbers):
            return sum(numbers) / len(numbers)

        def scaled(numbers, factor=2):
            return [number * factor for number in numbers]
        """
    tests = "from solution import mean\n\ndef test_mean():\n    assert mean([1, 2, 6]) == 3\n"
    found = audited(homework(tmp_path / "hw", solution, tests))
    assert {one["where"] for one in found["mutants"]} == {"mean"}


@pytest.mark.parametrize("runs", ["in_a_fork", "in_a_shell"])
def test_tests_that_stand_beside_the_solution_are_not_mutated(tmp_path, runs, monkeypatch):
    solution = """
        import numpy as np

        def scaled(x, factor):
            return factor * x / np.abs(x).max()

        def test_scaled():
            assert scaled(np.array([1.0, 2.0]), 4).shape == (2,)

        def test_all():
            test_scaled()
            assert scaled(np.array([2.0, -4.0, 1.0]), 2)[0] == 1
        """
    folder = homework(tmp_path / "hw", solution, "")
    (folder / "test_it.py").unlink()
    own = Path(sys.executable).parent  # the first pytest on the path is another one on many machines
    monkeypatch.setenv("PATH", f"{own}:{os.environ['PATH']}")
    order = {"in_a_fork": "", "in_a_shell": " && true"}[runs]
    found = audited(folder, "--tests", f"pytest -q {folder}/solution.py{order}", "--mutants", 24)
    assert {one["where"] for one in found["mutants"]} == {"scaled"}
    assert [one for one in found["mutants"] if one["witness"]]


LAYER = """
import torch

class Layer(torch.nn.Module):
    def __init__(self, width):
        super().__init__()
        self.inner = torch.nn.Linear(width, width)

    def forward(self, x):
        return torch.softmax(self.inner(x), dim=-1) * 2.0
"""
SHAPED = """
import torch
from solution import Layer

def test_shape():
    layer = Layer(4)
    assert layer(torch.ones(2, 4)).shape == (2, 4)
"""


@pytest.mark.rest  # it searches for minutes
def test_modules_get_the_same_parameters_in_every_version(tmp_path):
    folder = homework(tmp_path / "hw", LAYER, SHAPED)
    by_hand = LAYER.replace("self.inner = torch.nn.Linear(width, width)", "self.weight = torch.nn.Parameter("
        "torch.randn(width, width))\n        self.bias = torch.nn.Parameter(torch.zeros(width))"
    ).replace("self.inner(x)", "x @ self.weight.T + self.bias")  # fmt: skip
    wrong = LAYER.replace("dim=-1", "dim=0")
    handed_in(tmp_path / "class", [by_hand, wrong, LAYER.replace("2.0", "2")])
    written = folder / "test_more.py"
    words = ["--mutants", 12, "--submissions", tmp_path / "class", "--write-tests", written]
    found = audited(folder, *words)
    assert [(one["passes"], one["differs"]) for one in found["submissions"]] == [
        (True, False),
        (True, True),
        (True, False),
    ]
    assert [one for one in found["mutants"] if one["test_code"]]
    assert "for n, p in enumerate(made.parameters()):\n        p.data = " in written.read_text()
    assert audited(folder, "--mutants", 12)["counts"]["survived"] == 0


def test_columns_that_are_even_in_every_test_stay_even(tmp_path):
    solution = """
        import numpy as np

        def halves(x):
            pairs = np.arange(0, x.shape[-1], 2)
            return x[..., pairs]
        """
    calls = [f"assert halves(np.ones((3, {n})))[0].sum() == {n // 2}" for n in (2, 4, 6)]
    tests = "import numpy as np\nfrom solution import halves\n\ndef test_it():\n    " + "\n    ".join(calls)
    folder = homework(tmp_path / "hw", solution, tests)
    odd = solution.replace("x.shape[-1], 2", "x.shape[-1] - 1, 2")
    wrong = solution.replace("pairs]", "pairs] ** 2")
    handed_in(tmp_path / "class", [odd, wrong])
    found = audited(folder, "--mutants", 0, "--submissions", tmp_path / "class")
    assert [(one["passes"], one["differs"]) for one in found["submissions"]] == [(True, False), (True, True)]


def test_no_mutant_keeps_state_or_a_buffer():
    source = "import numpy as np\n\n\ndef f(x):\n    table = np.ones(x.shape)\n    return table * x\n"
    found = list(mutants("f.py", source))
    assert found
    assert not [one for one in found if "setdefault" in one.source or "globals" in one.source]


def notebook(path, *cells, metadata=None):
    made = [
        {"cell_type": kind, "source": source, "metadata": {"nbgrader": marks} if marks else {},
         **({"outputs": [{"output_type": "execute_result", "data": {"text/plain": output}}]} if output else {})}
        for kind, source, marks, output in cells
    ]  # fmt: skip
    path.write_text(
        json.dumps({"cells": made, "metadata": metadata or {}, "nbformat": 4, "nbformat_minor": 5})
    )
    return path


ANSWER = {"solution": True, "grade_id": "double"}
GRADED = {"grade": True, "grade_id": "test-double", "points": 2}


def test_a_cell_under_main_is_run_as_jupyter_does(tmp_path):
    path = notebook(
        tmp_path / "a.ipynb",
        ("code", "def double(x):\n    return 2 * x\n", ANSWER, ""),
        (
            "code",
            "def test():\n    assert double(3) == 6\n\nif __name__ == '__main__':\n    test()",
            GRADED,
            "",
        ),
    )
    found = audited(path)
    assert found["counts"]["caught"] == len(found["mutants"]) > 0


def test_a_cell_that_tests_nothing_is_told(tmp_path):
    path = notebook(
        tmp_path / "a.ipynb",
        ("code", "def double(x):\n    return 2 * x\n", ANSWER, ""),
        ("code", "if __name__ == 'main':\n    assert double(3) == 6", GRADED, ""),
    )
    assert "never run a line of a function of" in audit(path, "--at-least", 90, code=4)


def test_a_cell_that_fails_outside_of_the_tests_is_named(tmp_path):
    path = notebook(
        tmp_path / "a.ipynb",
        ("code", "import no_such_module", None, ""),
        ("code", "def double(x):\n    return 2 * x\n", ANSWER, ""),
        ("code", "assert double(3) == 6", GRADED, ""),
    )
    printed = audit(path, code=4)
    assert "The first that fails: a_cells/01_cell_1.py." in printed
    assert 'File "' in printed
    assert "driver.py" not in printed
    assert "kata-audit-" not in printed


def test_generated_tests_of_nbgrader_compare_with_the_solution(tmp_path):
    path = notebook(
        tmp_path / "a.ipynb",
        ("code", "def double(x):\n    return 2 * x\n", ANSWER, ""),
        ("code", "### AUTOTEST double(3); double(0.5)\n### HASHED AUTOTEST double([1])", GRADED, ""),
    )
    found = audited(path)
    assert found["counts"]["caught"] == len(found["mutants"]) > 0


DOUBLE_SPEC = {"name": "q1", "suites": [{"type": "doctest", "cases": [{"code": ">>> double(x)\n6"}]}]}


def test_tests_in_the_metadata_of_otter_run_where_a_cell_asks_for_them(tmp_path):
    path = notebook(
        tmp_path / "a.ipynb",
        ("code", "import otter\ngrader = otter.Notebook()", None, ""),
        (
            "code",
            '""" # BEGIN PROMPT\n...\n""" # END PROMPT\ndef double(x):\n    return 2 * x # SOLUTION',
            None,
            "",
        ),
        ("code", "x = 3", None, ""),
        ("code", 'grader.check("q1")', None, ""),
        ("code", "x = 'used again'", None, ""),
        metadata={"otter": {"OK_FORMAT": True, "tests": {"q1": DOUBLE_SPEC}}},
    )
    found = audited(path)
    assert found["counts"]["caught"] == len(found["mutants"]) > 0


def test_a_variable_that_is_used_again_behind_a_test_of_otter_is_told(tmp_path):
    path = notebook(
        tmp_path / "a.ipynb",
        ("code", "def double(x):\n    return 2 * x", None, ""),
        ("code", "x = 3", None, ""),
        ("code", "x = 'used again'", None, ""),
        metadata={"otter": {"OK_FORMAT": True, "tests": {"q1": DOUBLE_SPEC}}},
    )
    printed = audit(path, code=4)
    assert (
        'It runs behind all cells, since none calls grader.check("q1"), and several cells assign `x`: let the'
        " cell behind its question call that." in printed
    )


def test_a_source_notebook_of_otter_is_tested_by_its_cells(tmp_path):
    path = notebook(
        tmp_path / "a.ipynb",
        ("raw", "# BEGIN QUESTION\nname: q1", None, ""),
        ("raw", "# BEGIN SOLUTION", None, ""),
        ("code", "def double(x):\n    return 2 * x # SOLUTION", None, ""),
        ("raw", "# END SOLUTION", None, ""),
        ("raw", "# BEGIN TESTS", None, ""),
        ("code", "double(3)", None, "6"),
        ("code", "def test_half(double):\n    assert double(0.5) == 1", None, ""),
        ("code", "import numpy as np\nnp.float64(double(3)) == 6", None, "True"),  # of NumPy 1
        ("code", "np.float64(double(3)) == 6", None, "np.True_"),
        ("raw", "# END TESTS", None, ""),
    )
    cells = cells_of(tmp_path, path)
    assert list(cells.answers.values()) == ["cell_3"]
    assert list(cells.checks.values()) == ["6", "", "True", "np.True_"]
    found = audited(path)
    assert found["counts"]["caught"] == len(found["mutants"]) > 0


def test_the_solution_of_exercism_takes_the_place_of_its_stub(tmp_path):
    folder = tmp_path / "twice"
    (folder / ".meta").mkdir(parents=True)
    (folder / ".meta" / "example.py").write_text("def twice(x):\n    return 2 * x\n")
    (folder / "twice.py").write_text("def twice(x):\n    pass\n")
    (folder / "twice_test.py").write_text(FEW.replace("solution", "twice"))
    opened = open_homework(folder)
    assert opened.sources == {f"{opened.at}/twice.py": "def twice(x):\n    return 2 * x\n"}
    assert audited(folder, "--mutants", 4)["counts"]["caught"] > 0


@pytest.mark.rest  # it waits for minutes
@needs_linux
def test_a_line_on_the_descriptors_of_the_server_changes_nothing(tmp_path):
    folder = homework(tmp_path / "hw", "def twice(x):\n    return 2 * x\n", FEW)
    forged = '{"status": "passed", "answer": {"ran": 1}, "printed": "", "token": ""}\\n{"x": 1}\\nno line\\n'
    intruder = f"""
        import os

        for number in range(3, 12):
            for process in (os.getppid(), os.getpid()):
                try:
                    with open(f"/proc/{{process}}/fd/{{number}}", "w") as file:
                        file.write('{forged}')
                except OSError:
                    pass

        def twice(x):
            return 0
        """
    handed_in(tmp_path / "class", [intruder, "def twice(x):\n    return x + x\n"])
    found = audited(folder, "--mutants", 0, "--submissions", tmp_path / "class", "--graders", 1)
    assert [one["passes"] for one in found["submissions"]] == [False, True]


@needs_linux
def test_a_submission_that_ends_a_command_of_the_shell_does_not_pass(tmp_path):
    folder = homework(tmp_path / "hw", "def twice(x):\n    return 2 * x\n", FEW)
    (folder / "check.py").write_text("from solution import twice\nassert twice(3) == 6\n")
    handed_in(tmp_path / "class", ["import os\nos._exit(0)\n", "def twice(x):\n    return x + x\n"])
    command = f"true && {sys.executable} {folder}/check.py"
    words = ["--tests", command, "--mutants", 0, "--submissions", tmp_path / "class"]
    found = audited(folder, *words, "--solution", folder / "solution.py")
    assert [one["passes"] for one in found["submissions"]] == [False, True]


def test_a_starred_argument_of_an_array_ends_no_audit(tmp_path):
    solution = "import numpy as np\n\ndef twice(x):\n    return 2 * x * np.ones(*np.shape(x))\n"
    tests = "import numpy as np\n" + FEW.replace("twice(3) == 6", "(twice(np.ones(3)) == 2).all()")
    found = audited(homework(tmp_path / "hw", solution, tests), "--mutants", 12)
    assert found["mutants"]


def test_a_written_test_holds_a_hundred_times_and_fails_on_its_mutant(tmp_path):
    solution, tests, _ = RIGHT["words"]
    folder = homework(tmp_path / "hw", solution, tests)
    written = folder / "test_more.py"
    found = audited(folder, "--mutants", 20, "--write-tests", written)
    assert [one for one in found["mutants"] if one["test_code"]]
    scope = {}
    sys.path.insert(0, os.fspath(folder))
    try:
        exec(written.read_text(), scope)
    finally:
        sys.path.remove(os.fspath(folder))
        sys.modules.pop("solution")
    names = [name for name in scope if re.match("test_", name)]
    for _ in range(100):
        for name in names:
            scope[name]()


NODES = """
class Node:
    def __init__(self, value, rest=None):
        self.value = value
        self.rest = rest


def merge(a, b):
    if a is None:
        return b
    if b is None:
        return a
    if a.value <= b.value:
        return Node(a.value, merge(a.rest, b))
    return Node(b.value, merge(a, b.rest))


def total(head):
    result, place = 0, 1
    while head is not None:
        result += place * head.value
        place += 1
        head = head.rest
    return result
"""
OF_NODES = """
from solution import Node, merge, total


def values(head):
    return [] if head is None else [head.value, *values(head.rest)]


def test_merge():
    assert values(merge(Node(1), None)) == [1]
    assert values(merge(Node(1), Node(1))) == [1, 1]


def test_total():
    assert total(Node(5)) == 5
    assert total(None) == 0
"""


@pytest.mark.rest  # it searches for minutes
def test_objects_of_the_homework_are_arguments_of_witnesses_and_written_tests(tmp_path):
    folder = homework(tmp_path / "hw", NODES, OF_NODES)
    found = audited(folder, "--mutants", 30, "--write-tests", tmp_path / "test_more.py")
    missed = [one for one in found["mutants"] if one["fate"] == "survived"]
    assert {one["where"] for one in missed} == {"merge", "total"}
    assert found["counts"]["equal"] <= 3
    assert "Node(" in "".join(one["witness"]["code"] for one in missed)
    written = (tmp_path / "test_more.py").read_text()
    assert written.startswith("from solution import Node, merge, total\n")
    assert "    assert answer.value == " in written
    for one in missed:  # lists that are not sorted are none that `merge` is made for
        for first, rest in re.findall(r"Node\((\d+), Node\((\d+)", one["witness"]["code"]):
            assert first <= rest


def test_objects_that_tests_build_by_attributes_and_methods_are_arguments(tmp_path):
    solution = """
        from dataclasses import dataclass

        class Stack:
            def __init__(self):
                self.items = []

            def push(self, item):
                self.items.append(item)

        @dataclass
        class Box:
            width: int
            height: int

        class Bag:
            limit = 0

        def largest(stack):
            return max(stack.items)

        def area(box):
            return box.width * box.height

        def room(bag, used):
            return bag.limit - used
        """
    tests = """
        from solution import Bag, Box, Stack, area, largest, room

        def test_all():
            stack = Stack()
            stack.push(3)
            stack.push(3)
            assert largest(stack) == 3
            assert area(Box(1, 1)) == 1
            bag = Bag()
            bag.limit = 4
            assert room(bag, 0) == 4
        """
    found = audited(homework(tmp_path / "hw", solution, tests))
    missed = {one["where"] for one in found["mutants"] if one["fate"] == "survived"}
    assert {"area", "room"} <= missed


def test_attributes_that_a_doctest_reads_are_compared(tmp_path):
    solution = """
        class Point:
            def __init__(self, x, y):
                self.x, self.y = x, y

        def moved(point, by):
            '''Return the point further right.

            >>> moved(Point(1, 1), 0).x
            1
            >>> moved(Point(1, 1), 0).y
            1
            '''
            return Point(point.x + by, point.y)
        """
    folder = homework(tmp_path / "hw", solution, "")
    command = f"{sys.executable} -m doctest {folder / 'solution.py'}"
    found = audited(folder, "--solution", folder / "solution.py", "--tests", command)
    assert [one for one in found["mutants"] if one["fate"] == "survived"]


def test_what_an_assert_of_the_solution_refuses_is_no_gap(tmp_path):
    solution = """
        def root(x):
            assert x >= 0
            return x ** 0.5
        """
    tests = "from solution import root\n\ndef test_root():\n    assert [root(4), root(9)] == [2, 3]\n"
    found = audited(homework(tmp_path / "hw", solution, tests))
    assert [one for one in found["mutants"] if "assert" in one["was"]] == []
    named = tests.replace("def", "import pytest\n\ndef") + (
        "    with pytest.raises(AssertionError):\n        root(-1)\n"
    )
    found = audited(homework(tmp_path / "other", solution, named))
    assert [one for one in found["mutants"] if "assert" in one["was"]]


def test_a_call_whose_arguments_all_have_names_ends_no_audit(tmp_path):
    solution = """
        import numpy as np

        def double(x):
            y = np.asarray(x).astype(dtype=np.float64)
            return 2 * y
        """
    tests = "from solution import double\n\ndef test_it():\n    assert double([1, 2]).tolist() == [2, 4]\n"
    assert audited(homework(tmp_path / "hw", solution, tests))["mutants"]


def test_nothing_to_write_is_said_and_a_file_stays(tmp_path):
    folder = homework(tmp_path / "hw", "def twice(x):\n    return 2 * x\n", FEW)
    (tmp_path / "more.py").write_text("mine")
    printed = audit(folder, "--write-tests", tmp_path / "more.py", "--write-mistakes", tmp_path / "wrong.py")
    why = "nothing is written, since no wrong version is shown to be missed; there is no"
    assert f"more.py: {why} test.\n" in printed
    assert f"wrong.py: {why} mistake.\n" in printed
    assert (tmp_path / "more.py").read_text() == "mine"
    assert not (tmp_path / "wrong.py").exists()
