"""Imports obey the contracts of pyproject.toml, and heavy libraries are imported only when needed."""

import ast
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SOURCES = sorted((ROOT / "grader").rglob("*.py"))
PYTORCH_ITSELF = ROOT / "grader/worker/child/fake_device.py"  # it defines subclasses of PyTorch's classes

#: Libraries that may only be imported inside functions, and the reasons.
LATE = {
    "torch": "a NumPy kata is graded where PyTorch is not installed",
    "hypothesis": "a submission that passes is judged on ready-made cases",
}


def imported_at_once(tree: ast.AST) -> Iterator[tuple[str, int]]:
    """Yield the top-level packages that a module imports outside of functions, with their lines."""
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.Import):
            yield from ((alias.name.partition(".")[0], node.lineno) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield (node.module or "").partition(".")[0], node.lineno
        elif not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
            yield from imported_at_once(node)


def test_the_contracts_hold():
    command = [sys.executable, "-c", "from importlinter.cli import lint_imports_command as main; main()"]
    found = subprocess.run(
        [*command, "--no-cache", "--no-logo"], cwd=ROOT, capture_output=True, text=True, timeout=60
    )
    assert found.returncode == 0, found.stdout + found.stderr


def test_heavy_libraries_are_imported_late():
    early = [
        f"{path.relative_to(ROOT)}:{line}: import {name} inside a function, since {LATE[name]}"
        for path in SOURCES
        if path != PYTORCH_ITSELF
        for name, line in imported_at_once(ast.parse(path.read_text(encoding="utf-8")))
        if name in LATE
    ]
    assert not early, "\n".join(early)


@pytest.mark.parametrize(
    "source",
    [
        "import torch",
        "from torch import nn",
        "import numpy, torch.nn",
        "if True:\n    import torch",
        "class A:\n    import torch",
    ],
)
def test_an_early_import_is_seen(source):
    assert "torch" in dict(imported_at_once(ast.parse(source)))


def test_an_import_inside_a_function_is_late():
    assert not dict(imported_at_once(ast.parse("def f():\n    import torch")))


@pytest.mark.parametrize(
    "module",
    ["grader.cli.grade", "grader.kata", "grader.strategies", "grader.worker.child.main"],
)
def test_what_students_start_loads_no_heavy_library(module):
    """This also covers indirect imports, which the syntax tree does not show."""
    question = f"import sys, {module}; print(*sorted({ {*LATE, 'jinja2'}!r} & set(sys.modules)))"
    found = subprocess.run(
        [sys.executable, "-c", question], cwd=ROOT, capture_output=True, text=True, timeout=60
    )
    assert found.stdout.split() == [], found.stderr


@pytest.fixture
def imported(tmp_path):
    """`imported(*arguments)` runs `grade` in a process of its own and returns the names of all modules that
    are then loaded."""

    def run(*arguments):
        code = (
            "import sys\n"
            "from grader.cli.grade import grade\n"
            "try:\n"
            "    grade(sys.argv[1:])\n"
            "finally:\n"
            "    print(*sys.modules, file=sys.stderr)\n"
        )
        environment = {**os.environ, "XDG_CACHE_HOME": str(tmp_path)}
        command = [sys.executable, "-c", code, *map(str, arguments)]
        found = subprocess.run(
            command, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=120
        )
        assert found.returncode == 0, found.stdout + found.stderr
        return set(found.stderr.split())

    return run


@pytest.mark.parametrize(
    "arguments", [["list"], ["hint", "softmax"], ["--list"], ["--help"]], ids=["list", "hint", "old", "help"]
)
def test_listing_and_hints_import_nothing_that_judges(imported, arguments):
    modules = imported(*arguments)
    assert ("importlib.metadata" in modules) == (arguments == ["--help"])
    assert not {"numpy", "hypothesis", "torch", "multiprocessing"} & modules
    assert (
        not {"grader.grading.grader", "grader.cases.oracle", "grader.expect", "grader.worker.client"}
        & modules
    )


def test_an_unknown_kata_is_told_without_numpy():
    code = (
        "import sys; from grader.cli.grade import grade\n"
        "try: grade(['nope'])\n"
        "finally: print('numpy' in sys.modules)"
    )
    found = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, timeout=60)
    assert (found.returncode, found.stdout) == (4, "False\n")


@pytest.mark.slow
def test_an_answer_that_passes_is_graded_without_hypothesis_and_pytorch(imported, tiny_course):
    answer = tiny_course.root / "solutions" / "attention" / "double" / "reference.py"
    arguments = ["double", "--course", tiny_course.root, "--file", answer]
    assert "hypothesis" in imported(*arguments), "the first grading draws the cases"
    commands = {"grader.cli.commands", "importlib.metadata"}
    assert not {"hypothesis", "torch", "multiprocessing", "jinja2", *commands} & imported(*arguments)
