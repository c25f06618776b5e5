"""Run an exercise's tests with its reference, and record with which arguments they call it.

Find the tests of a pytest or unittest module: functions, methods of classes, and loose assertions.

Find the files that an exercise imports from beside it, and join them into one source.

Read an exercise to import: its reference, its statement and its tests.
"""

from __future__ import annotations

import ast
import copy
import functools
import importlib
import importlib.util
import inspect
import io
import json
import re
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, redirect_stderr, redirect_stdout, suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import ModuleType
from typing import Any

from grader.course.catalog import CourseError, shorten
from grader.course.files import message_of, read_file
from grader.course.submission import grade_id, is_unwritten, text_of
from grader.errors import reason_of
from grader.grading.snippet import NotCode, code_of

#: nbgrader's comments around solutions and hidden tests.
MARKER = re.compile(r"### (BEGIN|END) (SOLUTION|HIDDEN TESTS|MARK SCHEME)")
Definition = ast.FunctionDef | ast.ClassDef


@dataclass(frozen=True)
class ImportedTest:
    """One test: its statements, its sentence, the loops of its parameters as (names, values), and the values
    of its fixtures as assignments. It sees the statements of its module up to the line `before`."""

    name: str
    body: list[ast.stmt]
    title: str = ""
    loops: tuple[tuple[str, str], ...] = ()
    fixtures: tuple[str, ...] = ()
    obstacle: str = ""  # why it cannot become a law
    before: int | None = None

    @property
    def uses(self) -> set[str]:
        """The names that the test needs from its module."""
        others = [*self.fixtures, *(values for _, values in self.loops)]
        made = {fixture.partition(" = ")[0] for fixture in self.fixtures}
        given = {name for names, _ in self.loops for name in names.split(", ")} | made
        return (_free(self.body) - given) | names_in(*map(ast.parse, others)) - made


@dataclass(frozen=True)
class Exercise:
    """An exercise as it was found.

    `run` runs its tests with `wrap` around the function. `support` is the code that the tests may use, and
    `given` what students have as well.
    """

    function: str
    reference: str
    title: str
    statement: str
    tests: list[ImportedTest]
    support: str
    given: str
    run: Callable[[Callable[[Any], Any]], list[str]]


def definitions(tree: ast.Module) -> list[str]:
    """Return the names of the public functions of a module."""
    return [n.name for n in tree.body if isinstance(n, ast.FunctionDef) and not n.name.startswith("_")]


def parse(path: Path, text: str | None = None) -> ast.Module:
    """Parse Python source. Raises CourseError if the file cannot be read or has a syntax error."""
    try:
        return ast.parse(source_in(path) if text is None else text)
    except SyntaxError as error:
        raise CourseError(f"{shorten(path)} is no Python: {error.msg} (line {error.lineno}).") from None
    except (ValueError, RecursionError, MemoryError) as error:
        raise CourseError(f"{shorten(path)} is no Python: {error}.") from None


def source_in(path: Path) -> str:
    """Return the text of a file that the author has named, or that such a file imports. Raises
    CourseError."""
    try:
        return read_file(path, follows_links=True).decode()
    except OSError as error:
        raise CourseError(f"{shorten(path)} cannot be read: {reason_of(error)}.") from None
    except UnicodeDecodeError as error:
        raise CourseError(f"{shorten(path)} cannot be read: {error}") from None


def names_in(*nodes: ast.AST) -> set[str]:
    """Return the names that occur in syntax trees."""
    return {n.id for node in nodes for n in ast.walk(node) if isinstance(n, ast.Name)}


def chosen_function(
    defined: Iterable[str], tests: list[ImportedTest], support: str, wanted: str | None
) -> str:
    """Return the function that the exercise is about: the wanted one, or the only one that tests call.

    Raises CourseError if that is not one of the `defined` functions, or if several are called.
    """
    uses = {name for test in tests for name in test.uses}
    names = uses | names_in(*chosen_statements(ast.parse(support).body, uses))
    defined = list(dict.fromkeys(defined))
    called = [name for name in defined if name in names]
    if wanted is not None:
        if wanted not in defined:
            raise CourseError(f"The reference has no function `{wanted}`; it has {_listed(defined)}.")
        return wanted
    if not called:
        raise CourseError(f"No test calls a function of the reference; it has {_listed(defined)}.")
    if len(called) > 1:
        raise CourseError(
            f"The tests call {_listed(called)}, and a kata is about one: say which, as in --function"
            f" {called[0]}."
        )
    return called[0]


def _listed(names: list[str]) -> str:
    return ", ".join(f"`{name}`" for name in names) or "none"


def needed(source: str, wanted: set[str], imports: bool = True) -> str:
    """Return the part of a module that the wanted names need: `imports`, definitions and assignments."""
    chosen = chosen_statements(ast.parse(source).body, wanted)
    first = {ast.unparse(s): s for s in chosen if imports and is_import(s)}
    return joined([*first.values(), *(s for s in chosen if not is_import(s))], source)


def chosen_statements(body: list[ast.stmt], wanted: set[str]) -> list[ast.stmt]:
    """Return the statements that the wanted names need, in their order."""
    chosen: set[int] = set()
    while more := [i for i, s in enumerate(body) if i not in chosen and wanted & bound(s)]:
        chosen |= set(more)
        wanted = wanted | names_in(*(body[i] for i in more))
    return [s for i, s in enumerate(body) if i in chosen]


def split_support(test: ImportedTest, support: str, function: str) -> tuple[list[ast.stmt], list[ast.stmt]]:
    """Return what a test needs from its module in two parts: the statements that belong into the law, since
    they call the function, assert, or give a name another value; and the others."""
    body = [s for s in ast.parse(support).body if test.before is None or s.lineno < test.before]
    times = Counter(name for s in body if not is_import(s) for name in bound(s))
    own = {function, *(name for name, count in times.items() if count > 1)}
    own |= {name for s in body if isinstance(s, ast.FunctionDef) and asserts(s) for name in bound(s)}
    while more := {n for s in body if not is_import(s) and names_in(s) & own for n in bound(s)} - own:
        own |= more
    chosen = chosen_statements(body, test.uses - {function})
    inside = [s for s in chosen if bound(s) & own and not is_import(s)]
    return inside, [s for s in chosen if s not in inside]


def asserts(node: ast.AST) -> bool:
    """True if a statement asserts something."""
    calls = (n.func for n in ast.walk(node) if isinstance(n, ast.Call))
    named = (ast.unparse(call).rpartition(".")[2].startswith("assert") for call in calls)
    return any(isinstance(n, ast.Assert) for n in ast.walk(node)) or any(named)


def _free(body: list[ast.stmt]) -> set[str]:
    """Return the names that statements use before they define them."""
    free: set[str] = set()
    known: set[str] = set()
    for statement in body:
        names = [n for n in ast.walk(statement) if isinstance(n, ast.Name)]
        changed = statement.target if isinstance(statement, ast.AugAssign) else None
        free |= {n.id for n in names if isinstance(n.ctx, ast.Load) or n is changed} - known
        known |= bound(statement)
    return free


def is_import(statement: ast.stmt) -> bool:
    """Return whether a statement is an import."""
    return isinstance(statement, ast.Import | ast.ImportFrom)


def joined(statements: list[ast.stmt], source: str) -> str:
    """Return the source of some statements of a module, with two empty lines around each definition."""
    lines, text = source.split("\n"), ""
    before: ast.stmt | None = None
    for node in statements:
        if before is not None:
            is_apart = any(isinstance(n, ast.FunctionDef | ast.ClassDef) for n in (before, node))
            text += "\n\n" if is_apart else "\n" * (is_import(before) and not is_import(node))
        first = min([node.lineno, *(d.lineno for d in getattr(node, "decorator_list", []))])
        text += "\n".join(lines[first - 1 : node.end_lineno]) + "\n"
        before = node
    return text


def bound(statement: ast.stmt) -> set[str]:
    """Return the names that a statement of a module defines."""
    if isinstance(statement, ast.Import | ast.ImportFrom):
        return {(alias.asname or alias.name).partition(".")[0] for alias in statement.names}
    if isinstance(statement, ast.FunctionDef | ast.ClassDef):
        return {statement.name}
    if isinstance(statement, ast.Assign | ast.AnnAssign | ast.AugAssign | ast.With | ast.For | ast.If):
        return {n.id for n in ast.walk(statement) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)}
    return set()


@dataclass(frozen=True)
class NotebookCell:
    """A cell of an nbgrader notebook: its name, its source, and whether it is text, an answer or a test."""

    name: str
    source: str
    is_text: bool
    answers: bool
    tests: bool


def read_cells(path: Path) -> list[NotebookCell]:
    """Return the cells of a notebook, without written answers in words. Raises CourseError."""
    try:
        cells = json.loads(source_in(path))["cells"]
        found = [
            _cell(n, cell) for n, cell in enumerate(cells, 1) if cell["cell_type"] in ("code", "markdown")
        ]
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise CourseError(f"{shorten(path)} is no notebook: {error}") from None
    found = [cell for cell in found if not (cell.is_text and cell.answers)]
    if not any(cell.tests for cell in found):
        raise CourseError(f"{shorten(path)} has no cell that nbgrader grades by tests.")
    answers = [cell for cell in found if cell.answers]
    if not answers or all("YOUR CODE HERE" in cell.source or is_unwritten(cell.source) for cell in answers):
        raise CourseError(
            f"{shorten(path)} holds no solution: it is the students' version. Give the one in `source`."
        )
    return found


def _cell(number: int, cell: Any) -> NotebookCell:
    marks, is_text = cell.get("metadata", {}).get("nbgrader", {}), cell["cell_type"] == "markdown"
    lines = [line for line in text_of(cell).split("\n") if is_text or not MARKER.match(line.strip())]
    if not is_text:
        lines = [f"# {line}" if line.lstrip().startswith(("%", "!")) else line for line in lines]
    answers = bool(marks.get("solution"))
    is_test = bool(marks.get("grade")) and not answers and not is_text
    return NotebookCell(
        grade_id(cell) or f"cell_{number}", "\n".join(lines).strip(), is_text, answers, is_test
    )


PROJECT = ("pyproject.toml", "setup.py", "setup.cfg", ".git")


@dataclass(frozen=True)
class Places:
    """Where a file's imports are looked up: in `folders`. A module that is called like the file `reference`
    stands for it, wherever it is."""

    folders: list[Path]
    reference: Path | None = None

    @classmethod
    def of(cls, path: Path, reference: Path | None = None) -> Places:
        """Return the folders above a file up to its project, each with its `src`, and the current one."""
        above = path.resolve().parents
        project = next(
            (n for n, folder in enumerate(above) if any((folder / p).exists() for p in PROJECT)), 1
        )
        found = [place for folder in above[: project + 1] for place in (folder, folder / "src")]
        folders = [place for place in dict.fromkeys([*found, Path.cwd()]) if place.is_dir()]
        return cls(folders, reference.resolve() if reference else None)

    def file_of(self, module: str, folders: list[Path] | None = None) -> Path | None:
        """Return the file of a module, in the given folders or in all; None if it is none of these."""
        if self.reference and module.rpartition(".")[2] == self.reference.stem:
            return self.reference
        inside = module.replace(".", "/")
        among = self.folders if folders is None else folders
        found = [place for f in among for place in (f / f"{inside}.py", f / inside / "__init__.py")]
        is_builtin = module in sys.builtin_module_names
        return None if is_builtin else next((place.resolve() for place in found if place.is_file()), None)

    def imports_of(self, tree: ast.Module, path: Path) -> Iterator[LocalImport]:
        """Yield what a module imports from such files, also inside of functions."""
        for node in ast.walk(tree):
            if isinstance(node, ast.Import):
                for alias in node.names:
                    if file := self.file_of(alias.name):
                        yield LocalImport(node, file, alias.name, alias.asname or alias.name)
            elif isinstance(node, ast.ImportFrom):
                above = path.resolve().parents
                folders = [above[min(node.level, len(above)) - 1]] if node.level else None
                module = node.module or ""
                for alias in node.names:
                    shown, whole = alias.asname or alias.name, f"{module}.{alias.name}".strip(".")
                    if file := self.file_of(whole, folders):
                        yield LocalImport(node, file, "" if node.level else whole, shown)
                    elif file := self.file_of(module, folders):
                        yield LocalImport(node, file, "" if node.level else module, shown, alias.name)


def module_name(path: Path) -> tuple[Path, str]:
    """Return the folder from which a file is imported, and its name there: that of its packages with it."""
    path, parts = path.resolve(), [] if path.name == "__init__.py" else [path.stem]
    folder = path.parent
    while (folder / "__init__.py").exists():
        parts.insert(0, folder.name)
        folder = folder.parent
    return folder, ".".join(parts) or path.stem


@dataclass(frozen=True)
class LocalImport:
    """A name that a file imports from another file: `name` of `file`, known as `alias`. Without a `name` the
    alias stands for the module. `module` is the module's name, empty if the import is relative."""

    node: ast.Import | ast.ImportFrom
    file: Path
    module: str
    alias: str
    name: str = ""


@dataclass
class Joiner:
    """Joins a file with what it imports from other files, each once, in the order of the imports.

    `joins` says which files to join. What is imported from others that `is_known` has the name that it has
    there. `owners` are the files that define each name in unequal ways. `has_late_annotations` is true if a
    file does not evaluate its annotations.
    """

    places: Places
    joins: Callable[[Path], bool]
    is_known: Callable[[Path], bool] = lambda _: False
    files: dict[Path, None] = field(default_factory=dict)
    owners: dict[str, dict[str, Path]] = field(default_factory=dict)
    has_late_annotations: bool = False

    def joined(self, path: Path, text: str | None = None) -> str:
        """Return the source of all files; that of the given one, or its `text`, is the end, with its lines.
        Raises CourseError."""
        path = path.resolve()
        self.files[path] = None
        tree = parse(path, text)
        found = [
            one
            for one in self.places.imports_of(tree, path)
            if self.joins(one.file) or self.is_known(one.file)
        ]
        before = []
        for one in found:
            if one.file not in self.files and self.joins(one.file):
                before.append(self.joined(one.file))
        self.has_late_annotations |= any(map(_is_future, tree.body))
        for node in tree.body:
            for name in () if is_import(node) else bound(node):
                self.owners.setdefault(name, {}).setdefault(ast.unparse(node), path)
        return "\n\n".join([*before, _edited(text or source_in(path), tree, found)])

    def require_one_owner(self, names: set[str]) -> None:
        """Raise CourseError if two files define one of the names in unequal ways."""
        for name in sorted(names):
            files = list(dict.fromkeys(self.owners.get(name, {}).values()))
            if len(files) > 1:
                raise CourseError(
                    f"`{name}` is defined in {shorten(files[0])} and in {shorten(files[1])}: a reference is"
                    " one file, so rename one of them."
                )


Span = tuple[int, int, str]


def _edited(text: str, tree: ast.Module, found: list[LocalImport]) -> str:
    """Return a module without the given imports, in which what they import has the name that it has there.
    At the level of the module an empty line stays in place of an import."""
    gone = {id(one.node) for one in found}
    names = {one.alias: one.name for one in found if one.name not in ("", "*", one.alias)}
    modules = {one.alias for one in found if not one.name}
    position = _positions(text)
    spans: list[Span] = []
    for block in _blocks(tree):
        for node in block:
            if id(node) in gone or _is_future(node):
                only = len(block) == 1 and block is not tree.body
                spans.append((*position(node), "pass" if only else ""))
    for child in ast.walk(tree):
        if isinstance(child, ast.Name) and child.id in names:
            spans.append((*position(child), names[child.id]))
        elif isinstance(child, ast.Attribute) and modules and ast.unparse(child.value) in modules:
            spans.append((*position(child), child.attr))
    for first, last, new in sorted(spans, reverse=True):
        if not new:  # inside of a function the whole line, if nothing else is in it
            line = text.rfind("\n", 0, first) + 1
            end = text.find("\n", last) + 1 or len(text)
            if line == first:
                new = "\n" * text.count("\n", first, last)
            elif not text[line:first].strip() and not text[last:end].strip():
                first, last = line, end
        text = text[:first] + new + text[last:]
    return text


def _is_future(node: ast.stmt) -> bool:
    """True for `from __future__ import …`, which may stand at the top of a file alone."""
    return isinstance(node, ast.ImportFrom) and node.module == "__future__"


def _blocks(tree: ast.AST) -> Iterator[list[ast.stmt]]:
    """Yield all lists of statements."""
    for node in ast.walk(tree):
        for part in ("body", "orelse", "finalbody"):
            if isinstance(block := getattr(node, part, None), list):
                yield block


def _positions(text: str) -> Callable[[ast.AST], tuple[int, int]]:
    """Return a function that gives the first and the last position of a node in a text."""
    lines = [f"{line}\n" for line in text.split("\n")]  # as Python counts them
    starts = [0]
    for line in lines:
        starts.append(starts[-1] + len(line))

    def place(row: int, column: int) -> int:
        return starts[row - 1] + len(lines[row - 1].encode()[:column].decode())

    return lambda n: (place(n.lineno, n.col_offset), place(n.end_lineno, n.end_col_offset))  # type: ignore[attr-defined]


def without_docstring(node: Definition | ast.Module) -> list[ast.stmt]:
    """Return the statements of a definition after its docstring."""
    return node.body[1:] if ast.get_docstring(node) is not None else node.body


def is_fixture(node: ast.stmt) -> bool:
    """Return whether a statement defines a fixture of pytest."""
    marks = getattr(node, "decorator_list", [])
    return any(ast.unparse(mark).startswith(("pytest.fixture", "fixture")) for mark in marks)


def plain_fixtures(tree: ast.Module) -> dict[str, ast.FunctionDef]:
    """Return the fixtures that only return a value, by name."""
    found = [n for n in tree.body if isinstance(n, ast.FunctionDef) and is_fixture(n)]
    return {f.name: f for f in found if not any(isinstance(n, ast.Yield) for n in ast.walk(f))}


def makers(tree: ast.Module) -> list[ast.stmt]:
    """Return the plain fixtures as functions `make_NAME`."""
    nodes = plain_fixtures(tree).values()
    return [ast.FunctionDef(f"make_{n.name}", n.args, n.body, [], lineno=n.lineno) for n in nodes]


def tests_in(tree: ast.Module) -> Iterator[ImportedTest]:
    """Yield the tests of a pytest or unittest module, and the assertions that it makes outside of them."""
    fixtures = plain_fixtures(tree)
    classes = {node.name: node for node in tree.body if isinstance(node, ast.ClassDef)}
    taken = {name for node in tree.body for name in bound(node)}
    for node in tree.body:
        if isinstance(node, ast.FunctionDef) and node.name.startswith("test"):
            yield _test(node, fixtures)
        elif isinstance(node, ast.ClassDef):
            prepared = TestClass(node, classes, taken)
            yield from (_test(method, fixtures, prepared) for method in prepared.tests)
    yield from _loose_tests(tree)


def _loose_tests(tree: ast.Module) -> Iterator[ImportedTest]:
    """Yield each run of assertions at the level of the module."""
    kinds = ast.FunctionDef | ast.ClassDef | ast.Import | ast.ImportFrom
    loose = [node for node in tree.body if not isinstance(node, kinds) and not _is_main_guard(node)]
    groups: list[list[ast.stmt]] = []
    follows = False  # the statement before asserts something as well
    for node in loose:
        if asserts(node):
            groups = [*groups[:-1], [*groups[-1], node]] if follows else [*groups, [node]]
        follows = asserts(node)
    for number, group in enumerate(groups, 1):
        last = group[-1].end_lineno or 0
        yield ImportedTest(
            f"test_part_{number}", group, f"Part {number} of the tests holds.", before=last + 1
        )


def _is_main_guard(node: ast.stmt) -> bool:
    """True for `if __name__ == "__main__":`."""
    return isinstance(node, ast.If) and "__name__" in names_in(node.test)


class TestClass:
    """A class of tests, with what it has from its bases in the same module.

    `prepared` are the statements of the class and of its `setUp`, and its helper methods as functions, in
    which `self.x` is a variable of the test.
    """

    def __init__(self, node: ast.ClassDef, classes: dict[str, ast.ClassDef], taken: set[str]) -> None:
        bases = [classes[b.id] for b in node.bases if isinstance(b, ast.Name) and b.id in classes]
        self.names = {"self", "cls", *(one.name for one in (node, *bases))}
        body = [statement for one in (*bases, node) for statement in one.body]
        methods = {n.name: n for n in body if isinstance(n, ast.FunctionDef)}
        self.marks = node.decorator_list
        self.tests = [method for name, method in methods.items() if name.startswith("test")]
        prepares = [methods[name] for name in PREPARES if name in methods]
        helpers = [n for n in methods.values() if n not in (*self.tests, *prepares) and n.name not in ENDS]
        constants = [n for n in body if isinstance(n, ast.Assign | ast.AnnAssign)]
        inside = [statement for method in prepares for statement in without_docstring(method)]
        attributes = {name for method in methods.values() for name in self._stored(method)}
        attributes |= {name for s in (*constants, *helpers) for name in bound(s)}
        taken = taken | {a.arg for m in methods.values() for a in m.args.args}
        taken |= {n.id for m in methods.values() for n in ast.walk(m)
                  if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)}  # fmt: skip
        self.variables = {name: f"own_{name}" if name in taken else name for name in attributes}
        functions = [self._as_function(method) for method in helpers]
        self.prepared = [*map(self._renamed, constants), *functions, *self.freed(inside)]

    def _stored(self, method: ast.FunctionDef) -> Iterator[str]:
        """Yield the attributes that a method sets."""
        for node in ast.walk(method):
            if (
                isinstance(node, ast.Attribute)
                and isinstance(node.ctx, ast.Store)
                and self._is_own(node.value)
            ):
                yield node.attr

    def _is_own(self, node: ast.expr) -> bool:
        return isinstance(node, ast.Name) and node.id in self.names

    def _as_function(self, method: ast.FunctionDef) -> ast.stmt:
        is_static = any(ast.unparse(mark) == "staticmethod" for mark in method.decorator_list)
        arguments = copy.deepcopy(method.args)
        arguments.args = arguments.args if is_static else arguments.args[1:]
        name, body = self.variables[method.name], self.freed(without_docstring(method))
        return ast.FunctionDef(name, arguments, body, [], lineno=method.lineno)

    def _renamed(self, constant: ast.Assign | ast.AnnAssign) -> ast.stmt:
        """Return an assignment of the class with the names that its variables have in a test."""
        return _Renamed(self.variables).visit(copy.deepcopy(constant))  # type: ignore[no-any-return]

    def freed(self, body: list[ast.stmt]) -> list[ast.stmt]:
        """Return statements of a method with variables in place of attributes."""
        without_super = [s for s in body if not ast.unparse(s).startswith("super(")]
        return [_Freed(self._is_own, self.variables).visit(copy.deepcopy(s)) for s in without_super]

    def needed(self, body: list[ast.stmt]) -> list[ast.stmt]:
        """Return the prepared statements that a test needs, and all that only have an effect, as a seed."""
        chosen = chosen_statements(self.prepared, names_in(*body))
        return [s for s in self.prepared if s in chosen or not bound(s)]


PREPARES = ("setUpClass", "setup_class", "setUp", "setup_method")
ENDS = ("tearDown", "tearDownClass", "teardown_method", "teardown_class")


class _Renamed(ast.NodeTransformer):
    def __init__(self, names: dict[str, str]) -> None:
        self.names = names

    def visit_Name(self, node: ast.Name) -> ast.AST:
        return ast.Name(self.names.get(node.id, node.id), node.ctx)


class _Freed(ast.NodeTransformer):
    """Puts a variable in place of each attribute of `self` or of the class."""

    def __init__(self, is_own: Callable[[ast.expr], bool], names: dict[str, str]) -> None:
        self.is_own, self.names = is_own, names

    def visit_Attribute(self, node: ast.Attribute) -> ast.AST:
        if self.is_own(node.value) and node.attr in self.names:
            return ast.Name(self.names[node.attr], node.ctx)
        return self.generic_visit(node)


def _made(name: str, fixtures: dict[str, ast.FunctionDef]) -> str:
    """Return the source of a fixture's value. Raises KeyError if it cannot be made."""
    made = [_made(argument.arg, fixtures) for argument in fixtures[name].args.args]
    return f"make_{name}({', '.join(made)})"


def _test(
    node: ast.FunctionDef, fixtures: dict[str, ast.FunctionDef], owner: TestClass | None = None
) -> ImportedTest:
    """Return a test function, or a test method of a class."""
    loops: dict[str, str] = {}
    obstacle = ""
    for decorator in [*(owner.marks if owner else []), *node.decorator_list]:
        text = ast.unparse(decorator)
        if isinstance(decorator, ast.Call) and text.startswith("pytest.mark.parametrize("):
            try:
                names, values = _parameters(decorator)
                loops[names] = values
            except (ValueError, IndexError):
                obstacle = obstacle or "its parameters have marks, or are not written out"
        elif "skip" in text or "xfail" in text:
            obstacle = obstacle or f"it is marked {text.partition('(')[0].rpartition('.')[2]}"
        elif "patch" in text:
            obstacle = obstacle or "it replaces other code"
    given, made = {name for targets in loops for name in targets.split(", ")}, []
    for name in (a.arg for a in node.args.args if a.arg not in given | {"self"}):
        try:
            made.append(f"{name} = {_made(name, fixtures)}")
        except KeyError:
            obstacle = obstacle or f"it asks for the fixture `{name}`"
    words = node.name.removeprefix("test").strip("_").replace("_", " ") or "it works"
    title = " ".join(inspect.cleandoc(ast.get_docstring(node) or "").split("\n\n")[0].split())
    title = title or f"{words[:1].upper()}{words[1:]}."
    body = without_docstring(node)
    if owner is not None:
        body = owner.freed(body)
        body = [*owner.needed(body), *body]
    return ImportedTest(node.name, body, title, tuple(loops.items()), tuple(made), obstacle)


def _parameters(mark: ast.Call) -> tuple[str, str]:
    """Return the names of a `parametrize`, and the source of its values without their ids. Raises ValueError
    or IndexError if they have marks or are given in another way."""
    names = ast.literal_eval(mark.args[0])
    listed = [name.strip() for name in names.split(",")] if isinstance(names, str) else list(names)
    values = copy.deepcopy(mark.args[1])
    for number, value in enumerate(getattr(values, "elts", [])):
        if isinstance(value, ast.Call) and ast.unparse(value.func) in ("pytest.param", "param"):
            if any(keyword.arg != "id" for keyword in value.keywords):
                raise ValueError("a parameter has marks")
            several = ast.Tuple(value.args, ast.Load())
            values.elts[number] = several if len(listed) > 1 else value.args[0]  # type: ignore[attr-defined]
    return ", ".join(listed), ast.unparse(values)


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
