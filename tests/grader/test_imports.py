"""Who may import whom: the contracts of pyproject.toml, and what waits until it is needed."""

import ast
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SOURCES = sorted((ROOT / "grader").rglob("*.py"))
PYTORCH_ITSELF = ROOT / "grader/worker/elsewhere.py"  # subclasses of what PyTorch has

#: Libraries that a grading can do without, and what importing them would cost every run.
LATE = {
    "torch": "a NumPy kata is graded where PyTorch is not installed",
    "hypothesis": "a submission that passes is judged on ready-made cases",
}


def imported_at_once(tree: ast.AST) -> Iterator[tuple[str, int]]:
    """Top packages imported when a module is, with their lines: all but those inside functions."""
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


@pytest.mark.parametrize(
    "path", [path for path in SOURCES if path != PYTORCH_ITSELF], ids=lambda path: str(path.relative_to(ROOT))
)
def test_heavy_libraries_are_imported_late(path):
    at_once = dict(imported_at_once(ast.parse(path.read_text(encoding="utf-8"))))
    early = [
        f"line {at_once[name]}: import {name} inside a function, since {LATE[name]}"
        for name in LATE
        if name in at_once
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
    "module", ["grader.cli", "grader.session", "grader.kata", "grader.strategies", "grader.worker.child"]
)
def test_what_students_start_loads_no_heavy_library(module):
    """The same claim for what is imported on the way, which no syntax shows."""
    question = f"import sys, {module}; print(*sorted({set(LATE)!r} & set(sys.modules)))"
    found = subprocess.run(
        [sys.executable, "-c", question], cwd=ROOT, capture_output=True, text=True, timeout=60
    )
    assert found.stdout.split() == [], found.stderr
