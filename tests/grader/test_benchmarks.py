"""Every file of the benchmarks can be imported: what it needs is where it says."""

import ast
import importlib
from pathlib import Path

import pytest

FOLDER = Path(__file__).resolve().parents[2] / "benchmarks"
OWN = ("grader", "dojo_", "see")


def names_imported(path):
    """Yield the module and the names of every import from this project in a file, those in functions too."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith(OWN):
            yield node.module, [alias.name for alias in node.names]


@pytest.mark.parametrize("path", sorted(FOLDER.glob("*.py")), ids=lambda path: path.stem)
def test_what_a_benchmark_imports_from_the_project_is_there(path):
    for module, names in names_imported(path):
        found = importlib.import_module(module)
        for name in names:
            if not hasattr(found, name):
                importlib.import_module(f"{module}.{name}")


@pytest.mark.parametrize("path", sorted(FOLDER.glob("*.py")), ids=lambda path: path.stem)
def test_a_benchmark_can_be_imported(path, monkeypatch):
    monkeypatch.syspath_prepend(str(FOLDER))
    monkeypatch.delitem(importlib.sys.modules, path.stem, raising=False)
    importlib.import_module(path.stem)
