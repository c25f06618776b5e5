"""Run an exercise's tests with its reference, and record with which arguments they call it."""

from __future__ import annotations

import ast
import copy
import functools
import importlib
import importlib.util
import inspect
import io
import re
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, redirect_stderr, redirect_stdout, suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import ModuleType
from typing import Any

from grader.authoring.importing.exercise import (
    Exercise,
    ImportedTest,
    NotebookCell,
    bound,
    chosen_function,
    definitions,
    needed,
    parse,
    read_cells,
)
from grader.authoring.importing.found_tests import is_fixture, makers, tests_in
from grader.authoring.importing.sources import Joiner, LocalImport, Places, module_name
from grader.course.catalog import CourseError, shorten
from grader.course.loading import message_of
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
    path, places = path.resolve(), Places.of(path, reference)
    imported = list(places.imports_of(parse(path), path))
    answers = {
        file: Joiner(places, lambda file: file != path) for file in _answers(path, imported, reference)
    }
    texts = {file: joiner.joined(file) for file, joiner in answers.items()}
    known = {file for joiner in answers.values() for file in joiner.files}
    helpers = Joiner(
        places, lambda file: file not in known and file.is_relative_to(path.parent), known.__contains__
    )
    source = "\n\n".join(helpers.joined(file) for file in (*_conftests(path, places), path))
    tree = ast.parse(source)
    tests = list(tests_in(tree))
    support = _without([node for node in tree.body if _is_own(node)], source)
    support += "".join(f"\n\n{ast.unparse(node)}\n" for node in makers(tree))
    defined = {name: file for file in reversed(texts) for name in definitions(ast.parse(texts[file]))}
    function = chosen_function(defined, tests, source, wanted)
    answer = needed(texts[defined[function]], {function})
    joiner = answers[defined[function]]
    joiner.require_one_owner({n for s in ast.parse(answer).body for n in bound(s)})
    return Exercise(
        function,
        "from __future__ import annotations\n\n" * joiner.has_late_annotations + answer,
        *_statement(parse(defined[function])),
        tests,
        support,
        "",
        lambda wrap: _run_pytest(path, defined[function], imported, places, function, wrap),
    )


#: The names of files that are no answers.
HELPER = re.compile(r"helper|util|common|fixture|conftest|^test_|_test$")


def _answers(path: Path, imported: list[LocalImport], reference: Path | None) -> list[Path]:
    """Return the files that may hold the right answer: the one that is given, the one after which the tests
    are called, or all that they import and whose name is not that of a helper. Raises CourseError."""
    if reference is not None:
        return [reference.resolve()]
    found = list(dict.fromkeys(one.file for one in imported))
    named = [file for file in found if not HELPER.search(file.stem)] or found
    if not named:
        raise CourseError(f"The reference of {shorten(path)} was not found; give its file with --reference.")
    words = path.stem.removeprefix("test_").removesuffix("_test")
    return [file for file in named if file.stem == words] or named


def _conftests(path: Path, places: Places) -> list[Path]:
    """Return the files of fixtures that pytest reads for a test file, the outermost first."""
    above = [folder for folder in path.parents if folder in places.folders]
    return [folder / "conftest.py" for folder in above[::-1] if (folder / "conftest.py").is_file()]


def _statement(module: ast.Module) -> tuple[str, str]:
    """Return the title and the text of a module's docstring."""
    title, _, text = (ast.get_docstring(module) or "").partition("\n")
    return title.rstrip("."), text.strip()


def _without(nodes: list[ast.stmt], source: str) -> str:
    """Return a source in which the lines of some statements are empty, so that the others keep theirs."""
    lines = source.split("\n")
    for node in nodes:
        marks = getattr(node, "decorator_list", [])
        for line in range(min(n.lineno for n in (node, *marks)), (node.end_lineno or 0) + 1):
            lines[line - 1] = ""
    return "\n".join(lines)


def _is_own(node: ast.stmt) -> bool:
    """Return whether a statement imports a testing library or is a test."""
    if isinstance(node, ast.Import):
        return all(alias.name.partition(".")[0] in OWN for alias in node.names)
    if isinstance(node, ast.ImportFrom):
        return (node.module or "").partition(".")[0] in OWN
    return isinstance(node, ast.FunctionDef) and (node.name.startswith("test") or is_fixture(node))


def _run_pytest(
    path: Path, reference: Path, imported: list[LocalImport], places: Places, function: str, wrap: Wrap
) -> list[str]:
    """Run a test file with the reference, wrapped, wherever the tests import it; return what went wrong."""
    import pytest

    folder, name = module_name(reference)
    names = {one.module for one in imported if one.file == reference and one.module} | {name}
    printed = io.StringIO()
    with (
        _importable([folder, *places.folders], {*names, module_name(path)[1]}),
        redirect_stdout(printed),
        redirect_stderr(printed),
    ):
        module = _loaded(reference, name)
        for other in names:
            sys.modules.setdefault(other, module)
        original = getattr(module, function)
        wrapped = wrap(original)
        for each in [module, *sys.modules.values()]:  # a package may have imported it from the module
            for known, value in list(vars(each).items()) if isinstance(each, ModuleType) else []:
                if value is original:
                    setattr(each, known, wrapped)
        options = ["-q", "--tb=line", "--color=no", "-p", "no:cacheprovider", "--import-mode=importlib"]
        code = pytest.main([str(path), *options, "-c", "/dev/null", "--rootdir", str(path.parent)])
    if code in (pytest.ExitCode.OK, pytest.ExitCode.NO_TESTS_COLLECTED):
        return []
    failed = re.findall(r"^(?:FAILED|ERROR) \S*?::(\S+)", printed.getvalue(), re.MULTILINE)
    return [f"{name} fails with the reference" for name in failed] or [
        f"{shorten(path)} cannot be run: {' '.join(printed.getvalue().split())[-300:]}"
    ]


def _loaded(file: Path, name: str) -> ModuleType:
    """Import a file as the module `name`, inside of its packages. Raises CourseError."""
    try:
        module = importlib.import_module(name)
        if Path(module.__file__ or "").resolve() == file:
            return module
        spec = importlib.util.spec_from_file_location(name, file)
        assert spec is not None
        assert spec.loader is not None
        sys.modules[name] = module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        return module
    except (Exception, SystemExit) as error:
        raise CourseError(f"{shorten(file)} cannot be loaded: {message_of(error)}.") from None


@contextmanager
def _importable(folders: list[Path], names: set[str]) -> Iterator[None]:
    """Import from these folders first, and forget afterwards what was imported from them. The modules
    `names`, and what is in their packages, are imported anew."""
    before, path, writes = dict(sys.modules), list(sys.path), sys.dont_write_bytecode
    tops = {name.partition(".")[0] for name in names}
    for name in [name for name in sys.modules if name.partition(".")[0] in tops]:
        del sys.modules[name]
    sys.path[:0] = map(str, folders)
    sys.dont_write_bytecode = True
    importlib.invalidate_caches()
    try:
        yield
    finally:
        for name in sys.modules.keys() - before.keys():
            file = Path(str(getattr(sys.modules[name], "__file__", None) or "/"))
            if name.partition(".")[0] in tops or any(f in file.parents for f in folders):
                del sys.modules[name]
        sys.modules.update(before)
        sys.path[:], sys.dont_write_bytecode = path, writes


def read_notebook(path: Path, wanted: str | None) -> Exercise:
    """Return the exercise of an nbgrader notebook that holds its solution. Raises CourseError."""
    cells = read_cells(path)
    code = "\n".join(cell.source for cell in cells if not cell.tests and not cell.is_text)
    seen, tests = "", []
    for cell in cells:
        if cell.tests:
            tests.append(replace(_test_of(path, cell), before=seen.count("\n") + 1))
        if not (cell.answers or cell.is_text):
            seen += f"{cell.source}\n"
    own = Joiner(Places([path.resolve().parent]), path.resolve().__ne__)
    support = own.joined(path, seen)
    ahead = support.count("\n") - seen.count("\n")  # lines of other files
    tests = [replace(test, before=(test.before or 0) + ahead) for test in tests]
    function = chosen_function(definitions(parse(path, code)), tests, seen, wanted)
    texts = _texts_before(path, cells, function)
    heading = next((ln.lstrip("# ") for text in texts[::-1] for ln in text.split("\n") if ln[:1] == "#"), "")
    given = "\n".join(c.source for c in cells if not (c.tests or c.answers or c.is_text))
    return Exercise(
        function,
        needed(own.joined(path, code), {function}),
        heading,
        "\n\n".join(texts),
        tests,
        support,
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
            with (
                _importable([path.resolve().parent], set()),
                redirect_stdout(io.StringIO()),
                redirect_stderr(io.StringIO()),
            ):
                exec(compile(cell.source, cell.name, "exec"), scope)
        except (Exception, SystemExit) as error:
            wrong.append(f"the cell {cell.name} raises {message_of(error)}")
        if function in scope and scope[function] is not original:
            original = scope[function] = wrap(scope[function])
    return wrong
