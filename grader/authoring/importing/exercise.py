"""Read an exercise to import: its reference, its statement and its tests."""

from __future__ import annotations

import ast
import inspect
import json
import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from grader.course.catalog import CourseError, shorten
from grader.course.notebook_cells import grade_id, text_of
from grader.course.submission import is_unwritten

#: nbgrader's comments around solutions and hidden tests.
MARKER = re.compile(r"### (BEGIN|END) (SOLUTION|HIDDEN TESTS|MARK SCHEME)")
Definition = ast.FunctionDef | ast.ClassDef


@dataclass(frozen=True)
class ImportedTest:
    """One test: its statements, its sentence, the loops of its parameters as (names, values), and the values
    of its fixtures as assignments."""

    name: str
    body: list[ast.stmt]
    title: str = ""
    loops: tuple[tuple[str, str], ...] = ()
    fixtures: tuple[str, ...] = ()
    obstacle: str = ""  # why it cannot become a law


@dataclass(frozen=True)
class Exercise:
    """An exercise as it was found.

    `run` runs its tests with `wrap` around the function. `support` is the code that the tests may use, and
    `given` what students have as well. `aliases` are the names that the tests have for the function's module.
    """

    function: str
    reference: str
    title: str
    statement: str
    tests: list[ImportedTest]
    support: str
    given: str
    run: Callable[[Callable[[Any], Any]], list[str]]
    aliases: frozenset[str] = frozenset()


def definitions(tree: ast.Module) -> list[str]:
    """Return the names of the public functions of a module."""
    return [n.name for n in tree.body if isinstance(n, ast.FunctionDef) and not n.name.startswith("_")]


def parse(path: Path, text: str | None = None) -> ast.Module:
    """Parse Python source. Raises CourseError if the file cannot be read or has a syntax error."""
    try:
        return ast.parse(path.read_text("utf-8") if text is None else text)
    except (OSError, UnicodeDecodeError) as error:
        raise CourseError(f"{shorten(path)} cannot be read: {error}") from None
    except SyntaxError as error:
        raise CourseError(f"{shorten(path)} is no Python: {error.msg} (line {error.lineno}).") from None


def names_in(*nodes: ast.AST) -> set[str]:
    """Return the names that occur in syntax trees."""
    return {n.id for node in nodes for n in ast.walk(node) if isinstance(n, ast.Name)}


def chosen_function(defined: Iterable[str], tests: list[ImportedTest], wanted: str | None) -> str:
    """Return the function that the exercise is about: the wanted one, or the only one that tests call.

    Raises CourseError if that is not one of the `defined` functions, or if several are called.
    """
    body = [statement for test in tests for statement in test.body]
    names = names_in(*body) | {n.attr for s in body for n in ast.walk(s) if isinstance(n, ast.Attribute)}
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
    """Return the part of a module that the wanted names need: definitions, assignments, and `imports`."""
    body = ast.parse(source).body
    chosen: set[int] = set()
    while True:
        more = [i for i, s in enumerate(body) if i not in chosen and wanted & _bound(s)]
        if not more:
            kept = [s for i, s in enumerate(body) if i in chosen and (imports or not is_import(s))]
            return joined(kept, source)
        chosen |= set(more)
        wanted = wanted | names_in(*(body[i] for i in more))


def is_import(statement: ast.stmt) -> bool:
    """Return whether a statement is an import."""
    return isinstance(statement, ast.Import | ast.ImportFrom)


def joined(statements: list[ast.stmt], source: str) -> str:
    """Return the source of some statements of a module, with two empty lines around each definition."""
    lines, text = source.splitlines(), ""
    before: ast.stmt | None = None
    for node in statements:
        if before is not None:
            is_apart = any(isinstance(n, ast.FunctionDef | ast.ClassDef) for n in (before, node))
            text += "\n\n" if is_apart else "\n" * (is_import(before) and not is_import(node))
        first = min([node.lineno, *(d.lineno for d in getattr(node, "decorator_list", []))])
        text += "\n".join(lines[first - 1 : node.end_lineno]) + "\n"
        before = node
    return text


def _bound(statement: ast.stmt) -> set[str]:
    """Return the names that a statement of a module defines."""
    if isinstance(statement, ast.Import | ast.ImportFrom):
        return {(alias.asname or alias.name).partition(".")[0] for alias in statement.names}
    if isinstance(statement, ast.FunctionDef | ast.ClassDef):
        return {statement.name}
    if isinstance(statement, ast.Assign | ast.AnnAssign | ast.AugAssign | ast.With | ast.For | ast.If):
        return {n.id for n in ast.walk(statement) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)}
    return set()


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
    """Yield the tests of a pytest or unittest module."""
    fixtures = plain_fixtures(tree)
    for node in tree.body:
        if isinstance(node, ast.FunctionDef) and node.name.startswith("test"):
            yield _test(node, "", fixtures)
        elif isinstance(node, ast.ClassDef):
            methods = [n for n in node.body if isinstance(n, ast.FunctionDef)]
            prepares = next((m.name for m in methods if m.name.lower().startswith("setup")), "")
            why = f"its class prepares it in `{prepares}`" if prepares else ""
            named = (method for method in methods if method.name.startswith("test"))
            yield from (_test(method, why, fixtures) for method in named)


def _made(name: str, fixtures: dict[str, ast.FunctionDef]) -> str:
    """Return the source of a fixture's value. Raises KeyError if it cannot be made."""
    made = [_made(argument.arg, fixtures) for argument in fixtures[name].args.args]
    return f"make_{name}({', '.join(made)})"


def _test(node: ast.FunctionDef, obstacle: str, fixtures: dict[str, ast.FunctionDef]) -> ImportedTest:
    """Return a test function; `obstacle` is why its class cannot be taken over, if so."""
    loops: dict[str, str] = {}
    for decorator in node.decorator_list:
        text = ast.unparse(decorator)
        if isinstance(decorator, ast.Call) and text.startswith("pytest.mark.parametrize("):
            loops[", ".join(_parameter_names(decorator.args[0]))] = ast.unparse(decorator.args[1])
            if "pytest.param(" in text:
                obstacle = obstacle or "its parameters are given by pytest.param"
        elif "skip" in text or "xfail" in text:
            obstacle = obstacle or f"it is marked {text.partition('(')[0].rpartition('.')[2]}"
    names, made = {name for targets in loops for name in targets.split(", ")}, []
    for name in (a.arg for a in node.args.args if a.arg not in names | {"self"}):
        try:
            made.append(f"{name} = {_made(name, fixtures)}")
        except KeyError:
            obstacle = obstacle or f"it asks for the fixture `{name}`"
    words = node.name.removeprefix("test").strip("_").replace("_", " ") or "it works"
    title = " ".join(inspect.cleandoc(ast.get_docstring(node) or "").split("\n\n")[0].split())
    title = title or f"{words[:1].upper()}{words[1:]}."
    body, parameters = without_docstring(node), tuple(loops.items())
    return ImportedTest(node.name, body, title, parameters, tuple(made), obstacle)


def _parameter_names(node: ast.expr) -> list[str]:
    """Return the names of a `parametrize`, which are one string or several."""
    value = ast.literal_eval(node)
    return [name.strip() for name in value.split(",")] if isinstance(value, str) else list(value)


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
        cells = json.loads(path.read_text("utf-8"))["cells"]
        found = [
            _cell(n, cell) for n, cell in enumerate(cells, 1) if cell["cell_type"] in ("code", "markdown")
        ]
    except (OSError, ValueError, KeyError, TypeError) as error:
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
