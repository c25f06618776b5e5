"""Read an exercise to import: its reference, its statement and its tests."""

from __future__ import annotations

import ast
import json
import re
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from grader.course.catalog import CourseError, shorten
from grader.course.files import read_file
from grader.course.notebook_cells import grade_id, text_of
from grader.course.submission import is_unwritten
from grader.errors import reason_of

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
