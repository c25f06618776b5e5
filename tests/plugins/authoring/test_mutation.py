"""Tests of the mutants of a reference: which mutations are made, each once, and how they are described."""

import ast
import textwrap

import pytest

from grader.edits.mutants import mutants
from grader.edits.walk import FAMILIES


def changes(code, **options):
    """Return the set of `(was, now)` of every mutant of one function."""
    return {(m.was, m.now) for m in mutants(textwrap.dedent(code), **options)}


def versions_of(expression, parameters="x, y"):
    """Return the expressions that replace this one in the mutants of a function that returns it."""
    found = changes(f"def f({parameters}):\n    return {expression}")
    return {now.removeprefix("return ") for _, now in found if now.startswith("return ")}


@pytest.mark.parametrize(
    ("expression", "mutation"),
    [
        ("x / y", "x"),
        ("x / y", "x * y"),
        ("x / y", "y / x"),
        ("x @ y", "y @ x"),
        ("-x", "x"),
        ("~x", "x"),
        ("x <= y", "x < y"),
        ("x is None", "x is not None"),
        ("0 <= x < y", "0 <= x"),
        ("0 <= x < y", "x < y"),
        ("x and y", "x or y"),
        ("x.sum(axis=-1)", "x.sum(axis=-2)"),
        ("x.sum(axis=-1)", "x.sum()"),
        ("x.sum(axis=-1)", "x.mean(axis=-1)"),
        ("x.max(axis=1, keepdims=True)", "x.max(axis=1)"),
        ("x.max(axis=1, keepdims=True)", "x.min(axis=1, keepdims=True)"),
        ("x.transpose(0, 2, 1, 3)", "x"),
        ("x.transpose(0, 2, 1, 3)", "x.transpose(0, 1, 2, 3)"),
        ("x[:, 1:]", "x[:, :]"),
        ("x[:, 1:]", "x[:, 2:]"),
        ("x[:, None]", "x[None, :]"),
        ("x[-y:]", "x[-y + 1:]"),
        ("list(range(y))", "list(range(y + 1))"),
        ("x if y else 0", "x"),
        ("float('-inf')", "float('0')"),
        ("x.T", "x"),
        ("[i for i in x if i > y]", "[i for i in x]"),
        ("{'a': x, 'b': y}", "{'a': y, 'b': x}"),
        ("x + 1e-05", "x + 2e-05"),
        ("x ** y", "y ** y"),
    ],
)
def test_a_mutation_of_array_code_is_among_the_mutants(expression, mutation):
    assert mutation in versions_of(expression)


@pytest.mark.parametrize(
    ("body", "was", "now"),
    [
        ("x = x + y\nreturn x", "x = x + y", "x += y"),
        ("if x:\n    raise ValueError(y)\nreturn x", "raise ValueError(y)", "raise RuntimeError()"),
        ("if x:\n    y = 1\nreturn y", "if x:", "if not x:"),
        ("if x:\n    y = 1\nreturn y", "if x:\ny = 1", ""),
        ("for i in x:\n    y += i\nreturn y", "", "break"),
        ("with x:\n    y = 1\nreturn y", "with x:\ny = 1", "y = 1"),
        ("return x['a'] + y['b']", "return x['a'] + y['b']", "return x['b'] + y['b']"),
    ],
)
def test_a_mutation_of_a_statement_is_among_the_mutants(body, was, now):
    assert (was, now) in changes("def f(x, y):\n" + textwrap.indent(body, "    "))


def test_attributes_made_by_the_same_call_replace_each_other():
    found = changes(
        """
        class Block(Module):
            def __init__(self):
                self.norm1 = LayerNorm(4)
                self.norm2 = LayerNorm(4)

            def forward(self, x):
                return self.norm1(x)
        """
    )
    assert ("return self.norm1(x)", "return self.norm2(x)") in found


def test_gradients_are_detached_only_if_they_are_graded_and_flow():
    code = """
    class Sum(Module):
        def __init__(self, x):
            self.x = f(x)

        def forward(self, x):
            return x + self.x
    """
    cut = {change for change in changes(code, detaches=True) if ".detach()" in change[1]}
    assert cut == {("return x + self.x", "return (x + self.x).detach()")}
    assert not [change for change in changes(code) if ".detach()" in change[1]]


def test_code_that_does_not_change_the_result_is_not_mutated():
    code = """
    def f(self, x, y):
        self.q, self.k = g(x, strict=True)
        x += y.new_zeros(min(2, self.n))
        return x.to(y.device).reshape(2, -1)
    """
    found = {now for _, now in changes(code)}
    assert not found & {"x = x + y.new_zeros(min(2, self.n))", "x += x.new_zeros(min(2, self.n))"}
    assert "x += y.new_zeros(min(self.n, 2))" not in found
    assert "x += y.new_zeros(max(2, self.n))" in found
    assert not found & {"self.k, self.q = g(x, strict=True)", "self.q, self.k = g(x)"}
    assert not found & {"return x.to(x.device).reshape(2, -1)", "return x.to(y.device).reshape(2, -2)"}
    assert "return x.to(y.device).reshape(3, -1)" in found


def test_docstrings_annotations_and_messages_are_not_mutated():
    code = '''
    def f(x: "int" = None) -> "str":
        """Twice 1."""
        if x:
            raise ValueError(f"{x + 1} is odd.")
    '''
    texts = [m.source for m in mutants(textwrap.dedent(code))]
    assert all("Twice 1." in text and "x: 'int'=None" in text for text in texts)
    assert not [text for text in texts if "is odd" in text and "x + 1} is odd." not in text]


def test_every_mutant_is_a_valid_and_different_program():
    code = "def f(x, y):\n    for i in range(2):\n        x = x[i:] - y[0]\n    return x, -1"
    texts = [m.source for m in mutants(code)]
    assert len(set(texts)) == len(texts) > 20
    assert ast.unparse(ast.parse(code)) not in texts
    assert all(ast.parse(text) for text in texts)


@pytest.mark.parametrize(
    ("code", "family"),
    [
        ("return x", "statements"),
        ("return x + 1", "expressions"),
        ("return x[:y]", "limits"),
        ("return x < y", "limits"),
        ("return np.arange(y)", "buffers"),
        ("n = len(x)\n    return n", "state"),
        ("return x - x.max()", "extremes"),
        ("return x.clone()", "expressions"),
    ],
)
def test_a_mutant_has_the_family_of_its_operator(code, family):
    before = "x = np.exp(x)\n    "
    assert family in {m.family for m in mutants(f"def f(x, y):\n    {before}{code}")}
    assert {m.family for m in mutants(f"def f(x, y):\n    {before}{code}")} <= set(FAMILIES)


def test_a_mutant_has_its_method_and_its_diff():
    found = next(
        m for m in mutants("class A:\n    def f(self, x):\n        return x + 1") if m.now == "return x"
    )
    assert found.where == "A.f"
    assert found.diff == "- return x + 1\n+ return x"
