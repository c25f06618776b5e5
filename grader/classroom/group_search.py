"""Search once for each group of files that no mistake explains, and write the groups as drafts."""

from __future__ import annotations

import ast
import copy
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

from grader.classroom.analytics import UnexplainedFiles
from grader.classroom.task import GraderOptions
from grader.course.catalog import CourseError
from grader.course.submission import SubmissionRejected, parse
from grader.diagnosis.search_options import SearchOptions
from grader.errors import reason_of
from grader.formats import account
from grader.grading.startup import open_grader
from grader.report import KataReport

SourceOf = Callable[[str, str], str]  # returns a student's answer to a kata
Search = Callable[[UnexplainedFiles], UnexplainedFiles]
LIBRARIES, MODULES = ("numpy", "torch"), ("nn.Module", "torch.nn.Module", "Module")
DECORATORS = ("staticmethod", "classmethod", "property")
#: The first lines of a file of drafts.
WARNING = """\
# Read a draft before you add it to mistakes.py: it is a student's code, and mistakes run with your rights,
# outside the sandbox. A draft holds what the kata's function reaches; all else is a comment."""
TODO = "TODO: say the symptom, the cause and what to check, and rename the function to a verb phrase."


@contextmanager
def group_search(options: GraderOptions, source_of: SourceOf) -> Iterator[Search]:
    """Yield a function that searches one file of a group, and returns the group with what it found."""
    grader, factories = open_grader(options.course, options.kata_infos(), options.grader_settings)

    def search(group: UnexplainedFiles) -> UnexplainedFiles:
        info, source = options.course.kata_info(group.kata), source_of(group.students[0], group.kata)
        try:
            graded = grader.grade(parse(info, source, f"{info.name}.py"))
        except SubmissionRejected:
            return group
        return replace(group, found=graded.locate(SearchOptions()), source=source)

    try:
        yield search
    finally:
        factories.close()


def write_drafts(path: Path, groups: list[UnexplainedFiles], entry_points: dict[str, tuple[str, ...]]) -> int:
    """Write the groups with a place as functions with a TODO docstring, and return their number."""
    found = [group for group in groups if group.found and group.found.repairs]
    drafts = [_draft(group, number, entry_points[group.kata]) for number, group in enumerate(found, 1)]
    try:
        path.write_text("\n\n\n".join([WARNING, *drafts]) + "\n", encoding="utf-8")
    except OSError as error:
        raise CourseError(f"The drafts cannot be written to {path}: {reason_of(error)}.") from None
    return len(found)


def _draft(group: UnexplainedFiles, number: int, entry_points: tuple[str, ...]) -> str:
    """Return one file of a group as code: what its entry points reach, renamed, with a TODO as docstring. All
    else, which would run when the mistakes are imported, is a comment."""
    assert isinstance(group.found, KataReport)
    text = f"{group.kata}: {group.files} files. {group.check.title}\n{account.of_search(group.found)}"
    kept, left = _reached(ast.parse(group.source).body, set(entry_points))
    for node in kept:
        if isinstance(node, ast.FunctionDef | ast.ClassDef) and node.name in entry_points:
            node.name = f"draft_{number}_of_{node.name}"
            statements = node.body[ast.get_docstring(node) is not None :]
            node.body = [ast.Expr(ast.Constant(TODO)), *statements]
    plain = ast.unparse(ast.fix_missing_locations(ast.Module(kept, [])))
    rest = "\n".join(["Left out:", *map(ast.unparse, left)]) if left else ""
    return "\n".join([*_commented(text), plain, *_commented(rest)])


def _commented(text: str) -> list[str]:
    return [f"# {line}" for line in text.splitlines()]


def _reached(body: list[ast.stmt], names: set[str]) -> tuple[list[ast.stmt], list[ast.stmt]]:
    """Return the harmless definitions and imports that the names reach, and all other statements."""
    harmless = {name: node for node in map(_without_side_effects, body) if node for name in _bound(node)}
    reached: set[str] = set()
    while new := names & harmless.keys() - reached:
        reached |= new
        names = {n.id for name in new for n in ast.walk(harmless[name]) if isinstance(n, ast.Name)}
    kept = list(dict.fromkeys(harmless[name] for name in harmless if name in reached))
    taken = {ast.unparse(node) for node in kept}
    return kept, [node for node in body if ast.unparse(node) not in taken and not _is_text(node)]


def _bound(node: ast.stmt) -> list[str]:
    """Return the names that a statement binds."""
    if isinstance(node, ast.FunctionDef | ast.ClassDef):
        return [node.name]
    if isinstance(node, ast.Import | ast.ImportFrom):
        return [(alias.asname or alias.name).partition(".")[0] for alias in node.names]
    return [target.id for target in getattr(node, "targets", []) if isinstance(target, ast.Name)]


def _without_side_effects(node: ast.stmt) -> ast.stmt | None:
    """Return a definition without what would run when it is imported; None for any other statement."""
    if isinstance(node, ast.Import | ast.ImportFrom):
        modules = [node.module or ""] if isinstance(node, ast.ImportFrom) else [a.name for a in node.names]
        is_array_library = all(module.partition(".")[0] in LIBRARIES for module in modules)
        return node if is_array_library and not getattr(node, "level", 0) else None
    if isinstance(node, ast.Assign):
        is_plain = _is_literal(node.value) and all(isinstance(target, ast.Name) for target in node.targets)
        return node if is_plain else None
    node = copy.deepcopy(node)
    if isinstance(node, ast.FunctionDef):
        return _plain_function(node)
    if isinstance(node, ast.ClassDef):
        node.decorator_list, node.keywords = [], []
        node.bases = [base for base in node.bases if ast.unparse(base) in MODULES]
        inner = [one for one in node.body if isinstance(one, ast.FunctionDef | ast.Assign)]
        node.body = [*filter(None, map(_without_side_effects, inner))] or [ast.Pass()]
        return node
    return None


def _plain_function(node: ast.FunctionDef) -> ast.FunctionDef:
    """Return a function without decorators, annotations and defaults that would run something."""
    node.decorator_list = [one for one in node.decorator_list if ast.unparse(one) in DECORATORS]
    node.returns, given = None, node.args
    for argument in [*given.posonlyargs, *given.args, *given.kwonlyargs, given.vararg, given.kwarg]:
        if argument is not None:
            argument.annotation = None
    given.defaults = [one if _is_literal(one) else ast.Constant(None) for one in given.defaults]
    given.kw_defaults = [
        one if one is None or _is_literal(one) else ast.Constant(None) for one in given.kw_defaults
    ]
    return node


def _is_literal(node: ast.expr) -> bool:
    try:
        ast.literal_eval(node)
    except (ValueError, TypeError, MemoryError, RecursionError):
        return False
    return True


def _is_text(node: ast.stmt) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
