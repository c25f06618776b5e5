"""What course authors import is documented in full; ruff's pydocstyle rules check the form."""

import ast
import inspect
import pydoc
import re
import textwrap
from pathlib import Path

import pytest

from grader import expect, kata, kernels, ranks, strategies
from grader.worker.child.executor import Executor
from grader.worker.in_process import LocalStudent
from grader.worker.protocol.codec import Malformed, encode
from grader.worker.student import Student

ROOT = Path(__file__).parents[2]
AUTHORS_IMPORT = ["kata", "expect", "inputs", "ranks", "kernels", "strategies", "mistakes", "report"]


def undocumented(source):
    """Return the public functions of a module that lack a section, each with the section."""
    return [
        f"{function.name}: {section}"
        for function in public_functions(ast.parse(source))
        for section in sections_due(function)
        if f"\n{section}:\n" not in (ast.get_docstring(function) or "")
    ]


def public_functions(tree):
    for node in tree.body:
        if isinstance(node, ast.ClassDef):
            yield from public_functions(node)
        elif isinstance(node, ast.FunctionDef) and not node.name.startswith("_"):
            yield node


def sections_due(function):
    """Pydocstyle checks an Args section for completeness, but requires neither it nor Returns."""
    decorators = {ast.unparse(decorator) for decorator in function.decorator_list}
    if "property" in decorators:
        return
    arguments = function.args
    names = [a.arg for a in (*arguments.args, *arguments.kwonlyargs) if a.arg != "self"]
    if names or arguments.vararg or arguments.kwarg:
        yield "Args"
    if ast.unparse(function.returns) != "None" and "contextmanager" not in decorators:
        yield "Returns"


@pytest.mark.parametrize("name", AUTHORS_IMPORT)
def test_every_public_function_documents_its_arguments_and_its_result(name):
    assert undocumented((ROOT / f"grader/{name}.py").read_text(encoding="utf-8")) == []


def test_a_missing_section_is_named():
    source = 'def double(x: int) -> int:\n    """Return twice the number."""\n'
    assert undocumented(source) == ["double: Args", "double: Returns"]


INTERNAL = {
    "kata": {"observed", "corner_of", "completed"},
    "expect": {"precision_limit"},
    "ranks": set(),
    "kernels": set(),
    "strategies": set(),
    "student": {"perform", "perform_all", "call", "telling", "read"},
}
OWNERS = {
    "kata": kata.Kata,
    "expect": expect,
    "ranks": ranks.Ranks,
    "kernels": kernels.Device,
    "strategies": strategies,
    "student": Student,
}


def words(page):
    """Return the public functions that a reference page documents, by name."""
    owner = OWNERS[page]
    home = owner.__name__ if inspect.ismodule(owner) else owner.__module__
    return {
        name: value
        for name, value in vars(owner).items()
        if inspect.isfunction(value)
        and not name.startswith("_")
        and value.__module__ == home
        and name not in INTERNAL[page]
    }


EVERY_WORD = [(page, name) for page in OWNERS for name in words(page)]


@pytest.mark.parametrize(("page", "name"), EVERY_WORD)
def test_every_word_of_the_reference_has_an_example_a_place_and_help(page, name):
    value = words(page)[name]
    example = (value.__doc__ or "").partition("Example:\n")[2]
    assert ast.parse(textwrap.dedent(example)).body
    assert f".{name}\n" in (ROOT / "docs" / "reference" / f"{page}.md").read_text("utf-8")
    assert "Example:" in pydoc.render_doc(value)


def test_the_reference_has_all_words():
    assert {
        "cases",
        "law",
        "corner",
        "example",
        "observe",
        "graded_part",
        "for_laws",
        "judges",
        "derived",
    } == set(words("kata"))
    names = {"true", "close", "decimals", "equal", "frequency", "frequencies", "curve", "refuses", "loads"}
    assert names == set(words("expect"))
    assert {"build", "anatomy", "counting_flops", "recording_gradients"} < set(words("student"))
    assert "arrays" in words("strategies")
    assert {"scatter", "run", "alone", "calls"} == set(words("ranks"))
    assert {"array", "empty", "run", "bytes_by_array", "require_stores_in_rows"} == set(words("kernels"))


def test_help_and_dir_show_the_strategies():
    assert set(strategies.__all__) == set(words("strategies"))
    shown = pydoc.render_doc(strategies, renderer=pydoc.plaintext)
    assert [name for name in strategies.__all__ if f"    {name}(" not in shown] == []
    assert {*strategies.__all__, "integers", "sampled_from"} <= set(dir(strategies))
    assert not hasattr(strategies, "__path__")


LISTED = re.compile(r"^\| `(\w+)` \| [A-Z][^|]+\.? \|$", re.MULTILINE)


@pytest.mark.parametrize("page", ["expect", "strategies"])
def test_a_reference_page_begins_with_a_list_of_all_words(page):
    above = (ROOT / "docs" / "reference" / f"{page}.md").read_text("utf-8").partition("\n::: ")[0]
    assert sorted(LISTED.findall(above)) == sorted(words(page))


def test_help_works_on_a_student_in_hand():
    student = LocalStudent(Executor)
    assert "Run a source text of the course" in pydoc.render_doc(student.build)
    assert "Example:" in pydoc.render_doc(kata.Rule)


@pytest.mark.parametrize("value", [None, 1, 10**300 - 1, "text", [1, (2, {"a": 3, 4: 5})], {"x": True}])
def test_what_the_reference_says_may_travel(value):
    encode({"value": value})


@pytest.mark.parametrize("value", [{1, 2}, object(), 10**301, {(1,): 2}, [0] * 20_001, "x" * (2**20 + 1)])
def test_what_the_reference_says_may_not_travel(value):
    with pytest.raises(Malformed):
        encode({"value": value})
