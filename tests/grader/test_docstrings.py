"""What course authors import is documented in full; ruff's pydocstyle rules check the form."""

import ast
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
AUTHORS_IMPORT = ["kata", "expect", "strategies", "report"]


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
