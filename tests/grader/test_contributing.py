"""CONTRIBUTING.md says what is true of the tree: the layers, where tests are, which violations are known."""

import ast
import io
import re
import tokenize
import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
CONTRACTS = {
    contract["id"]: contract
    for contract in tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"][
        "importlinter"
    ]["contracts"]
}
VIOLATIONS = PAGE.partition("\n## Known violations\n")[2].partition("\n## ")[0]
LONG = 400  # lines of code
SOURCES = [file for top in ("grader", "plugins", "see") for file in sorted((ROOT / top).rglob("*.py"))]
NO_TEXT = {
    tokenize.COMMENT,
    tokenize.NL,
    tokenize.NEWLINE,
    tokenize.INDENT,
    tokenize.DEDENT,
    tokenize.ENDMARKER,
}


def test_the_layers_are_those_of_the_contracts():
    block = re.search(r"## Layers\n.*?```\n(.*?)```", PAGE, re.DOTALL)[1]
    said = [set(re.findall(r"\w+", line.partition("   ")[0])) for line in block.splitlines()]
    layers = CONTRACTS["plugins"]["layers"][:-1] + CONTRACTS["layers"]["layers"]
    assert said == [{name.split(".")[0] for name in re.findall(r"[\w.]+", layer)} for layer in layers]


def test_a_dot_stands_between_parts_that_do_not_know_each_other():
    layers = CONTRACTS["plugins"]["layers"] + CONTRACTS["layers"]["layers"]
    apart = {tuple(layer.split(" | ")) for layer in layers if " | " in layer}
    assert {tuple(one.split(" · ")) for one in re.findall(r"^\w+(?: · \w+)+", PAGE, re.MULTILINE)} == apart


def test_each_folder_of_tests_has_the_name_of_a_package():
    for top, begin in (("grader", ""), ("plugins", "dojo_")):
        tests = {file.parent.name for file in (ROOT / "tests" / top).glob("*/test_*.py")}
        packages = {file.parent.name for file in (ROOT / top).glob("*/__init__.py")}
        assert {begin + name for name in tests} <= packages
    assert {begin + name for name in tests} == packages, "each plug-in has tests of its own"


def test_each_test_stands_in_one_of_these_folders():
    found = {file.relative_to(ROOT / "tests").parts[0] for file in (ROOT / "tests").rglob("test_*.py")}
    assert found == {"grader", "plugins", "course", "katas"}


def test_names_that_the_style_forbids_are_known():
    forbidden = re.findall(r"`(\w+)`", re.search(r"No (`utils`.*?)\.\n", PAGE)[1])
    found = [file for file in SOURCES if file.stem in forbidden]
    assert len(forbidden) == 5
    assert [file.relative_to(ROOT).as_posix() for file in found] == re.findall(
        r"`(\S+)` has a name that the style forbids", VIOLATIONS
    )


def lines_of_code(text):
    """Return how many lines of a module have code: no blank lines, comments and docstrings."""
    lines = set()
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type not in NO_TEXT:
            lines.update(range(token.start[0], token.end[0] + 1))
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            match node.body:
                case [ast.Expr(value=ast.Constant(value=str())) as docstring, *_]:
                    lines -= {*range(docstring.lineno, docstring.end_lineno + 1)}
    return len(lines)


def test_lines_of_code_are_counted_without_docstrings():
    assert lines_of_code('"""A.\n\nB.\n"""\n\nx = [\n    1,  # one\n]\n# no\n') == 3


def test_long_modules_are_known():
    long = [file for file in SOURCES if lines_of_code(file.read_text(encoding="utf-8")) > LONG]
    assert f"more than {LONG} lines" in VIOLATIONS
    assert [file.relative_to(ROOT).as_posix() for file in long] == re.findall(
        r"^    - `(\S+)`$", VIOLATIONS, re.MULTILINE
    )
