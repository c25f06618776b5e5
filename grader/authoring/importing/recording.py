"""Run an exercise's tests with its reference, and record with which arguments they call it."""

from __future__ import annotations

import ast
import copy
import functools
import importlib.util
import inspect
import io
import re
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, redirect_stderr, redirect_stdout, suppress
from dataclasses import dataclass, field
from pathlib import Path
from types import ModuleType
from typing import Any

from grader.authoring.importing.exercise import (
    Exercise,
    ImportedTest,
    NotebookCell,
    chosen_function,
    definitions,
    is_fixture,
    joined,
    makers,
    needed,
    parse,
    read_cells,
    tests_in,
)
from grader.course.catalog import CourseError, shorten
from grader.grading.snippet import NotCode, code_of

Case = dict[str, Any]
Wrap = Callable[[Any], Any]
OWN = ("pytest", "unittest", "__future__")  # modules whose imports a law does not need


@dataclass
class Recording:
    """The arguments of the calls that returned, each once, and what they returned."""

    cases: list[Case] = field(default_factory=list)
    results: list[Any] = field(default_factory=list)
    _seen: set[str] = field(default_factory=set)
    _depth: int = 0

    def wrap(self, function: Any) -> Any:
        """Return the function, which now records the calls that tests make."""
        signature = inspect.signature(function)

        @functools.wraps(function)
        def recorded(*args: Any, **kwargs: Any) -> Any:
            bound = signature.bind(*args, **kwargs)
            bound.apply_defaults()
            case = copy.deepcopy(dict(bound.arguments))
            self._depth += 1
            try:
                result = function(*args, **kwargs)
            finally:
                self._depth -= 1
            if self._depth == 0:
                self._keep(case, result)
            return result

        return recorded

    def _keep(self, case: Case, result: Any) -> None:
        with suppress(NotCode):
            code = code_of(case)
            if code not in self._seen:
                self._seen.add(code)
                self.cases.append(case)
                self.results.append(result)


def read_pytest(path: Path, reference: Path | None, wanted: str | None) -> Exercise:
    """Return the exercise of a pytest or unittest file. Raises CourseError."""
    if importlib.util.find_spec("pytest") is None:
        raise CourseError("`kata import` of a pytest file needs pytest: pip install pytest")
    tree = parse(path)
    found = reference or _reference_beside(path, tree)
    module = parse(found)
    tests = list(tests_in(tree))
    function = chosen_function(definitions(module), tests, wanted)
    modules, aliases, support = _split_imports(tree, found.stem)
    statement = ast.get_docstring(module) or ""
    made = "".join(f"\n\n{ast.unparse(node)}\n" for node in makers(tree))
    return Exercise(
        function,
        needed(found.read_text("utf-8"), {function}),
        statement.split("\n")[0].rstrip("."),
        statement.partition("\n")[2].strip(),
        tests,
        joined(support, path.read_text("utf-8")) + made,
        "",
        lambda wrap: _run_pytest(path, found, modules, function, wrap),
        aliases,
    )


def _reference_beside(path: Path, tree: ast.Module) -> Path:
    """Return the file of a module that the tests import, in their folder or one beside or above it."""
    names = []
    for node in tree.body:
        if isinstance(node, ast.ImportFrom):
            names.append(node.module or "")
        elif isinstance(node, ast.Import):
            names += [alias.name for alias in node.names]
    above = path.resolve().parent
    folders = (above, above.parent, above.parent / "src", Path.cwd())
    places = (folder / f"{name.replace('.', '/')}.py" for name in names for folder in folders)
    found = next((place for place in places if place.is_file()), None)
    if found is None:
        raise CourseError(f"The reference of {shorten(path)} was not found; give its file with --reference.")
    return found


def _split_imports(tree: ast.Module, stem: str) -> tuple[list[str], frozenset[str], list[ast.stmt]]:
    """Return the names under which tests import the reference's module, the names that they give to it, and
    the statements of the test module that laws may need."""
    modules, aliases, support = [], set(), []
    for node in tree.body:
        if isinstance(node, ast.ImportFrom) and (node.module or "").rpartition(".")[2] == stem:
            modules.append(node.module or "")
        elif isinstance(node, ast.Import) and any(a.name.rpartition(".")[2] == stem for a in node.names):
            modules += [a.name for a in node.names]
            aliases |= {a.asname or a.name for a in node.names}
        elif not _is_own(node):
            support.append(node)
    return modules or [stem], frozenset(aliases), support


def _is_own(node: ast.stmt) -> bool:
    """Return whether a statement imports a testing library or is a test."""
    if isinstance(node, ast.Import):
        return all(alias.name.partition(".")[0] in OWN for alias in node.names)
    if isinstance(node, ast.ImportFrom):
        return (node.module or "").partition(".")[0] in OWN
    return isinstance(node, ast.FunctionDef) and (node.name.startswith("test") or is_fixture(node))


def _run_pytest(path: Path, reference: Path, modules: list[str], function: str, wrap: Wrap) -> list[str]:
    """Run a test file with the reference in place of the module that it imports; return what went wrong."""
    import pytest

    module = ModuleType(modules[0])
    exec(compile(reference.read_text("utf-8"), str(reference), "exec"), module.__dict__)
    setattr(module, function, wrap(getattr(module, function)))
    printed = io.StringIO()
    with (
        _modules(dict.fromkeys(modules, module), path.resolve().parent),
        redirect_stdout(printed),
        redirect_stderr(printed),
    ):
        options = ["-q", "--tb=line", "--color=no", "-p", "no:cacheprovider", "--import-mode=importlib"]
        code = pytest.main([str(path), *options, "-c", "/dev/null", "--rootdir", str(path.resolve().parent)])
    if code == 0:
        return []
    failed = re.findall(r"^(?:FAILED|ERROR) \S*?::(\S+)", printed.getvalue(), re.MULTILINE)
    return [f"{name} fails with the reference" for name in failed] or [
        f"{shorten(path)} cannot be run: {printed.getvalue().strip()[-300:]}"
    ]


@contextmanager
def _modules(given: dict[str, ModuleType], folder: Path) -> Iterator[None]:
    """Let imports of these names, and of the packages that they are in, find the given modules. What is
    imported from `folder` meanwhile is forgotten, since it holds them."""
    before = dict(sys.modules)
    names = {part for name in given for part in _with_parents(name)}
    sys.modules.update({name: given.get(name) or ModuleType(name) for name in names})
    try:
        yield
    finally:
        for name in sys.modules.keys() - before.keys():
            if str(getattr(sys.modules[name], "__file__", "")).startswith(str(folder)) or name in names:
                del sys.modules[name]
        sys.modules.update(before)


def _with_parents(name: str) -> list[str]:
    parts = name.split(".")
    return [".".join(parts[: n + 1]) for n in range(len(parts))]


def read_notebook(path: Path, wanted: str | None) -> Exercise:
    """Return the exercise of an nbgrader notebook that holds its solution. Raises CourseError."""
    cells = read_cells(path)
    code = "\n".join(cell.source for cell in cells if not cell.tests and not cell.is_text)
    tests = [_test_of(path, cell) for cell in cells if cell.tests]
    function = chosen_function(definitions(parse(path, code)), tests, wanted)
    texts = _texts_before(path, cells, function)
    heading = next((ln.lstrip("# ") for text in texts[::-1] for ln in text.split("\n") if ln[:1] == "#"), "")
    given = "\n".join(c.source for c in cells if not (c.tests or c.answers or c.is_text))
    tested = "\n".join(c.source for c in cells if c.tests)
    return Exercise(
        function,
        needed(code, {function}),
        heading,
        "\n\n".join(texts),
        tests,
        f"{given}\n{tested}",
        given,
        lambda wrap: _run_cells(path, function, wrap),
    )


def _test_of(path: Path, cell: NotebookCell) -> ImportedTest:
    """Return a cell of tests as one test; a string in its first line is its title."""
    words = re.sub(r"\W+", "_", cell.name)
    body = parse(path, cell.source).body
    title = f"What the cell {cell.name} asks for holds."
    if body and isinstance(body[0], ast.Expr) and isinstance(body[0].value, ast.Constant):
        title, body = str(body[0].value.value), body[1:]
    return ImportedTest(words if words.startswith("test") else f"test_{words}", body, title)


def _texts_before(path: Path, cells: list[NotebookCell], function: str) -> list[str]:
    """Return the texts that lead to the answer of a function: those behind the answer or test before it."""
    texts: list[str] = []
    for cell in cells:
        if cell.is_text:
            texts.append(cell.source)
        elif cell.answers and function in definitions(parse(path, cell.source)):
            return texts
        elif cell.answers or cell.tests:
            texts = []
    return texts


def _run_cells(path: Path, function: str, wrap: Wrap) -> list[str]:
    """Run the code cells in order, with `wrap` around the function; return what went wrong."""
    scope: dict[str, Any] = {"__name__": path.stem}
    original, wrong = None, []
    for cell in read_cells(path):
        if cell.is_text:
            continue
        try:
            with redirect_stdout(io.StringIO()), redirect_stderr(io.StringIO()):
                exec(compile(cell.source, cell.name, "exec"), scope)
        except Exception as error:
            wrong.append(f"the cell {cell.name} raises {type(error).__name__}: {error}")
        if function in scope and scope[function] is not original:
            original = scope[function] = wrap(scope[function])
    return wrong
