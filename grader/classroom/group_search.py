"""Search once for each group of files that no mistake explains, and write the groups as drafts."""

from __future__ import annotations

import ast
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
TODO = "TODO: say the symptom, the cause and what to check, and rename the function to a verb phrase."


@contextmanager
def group_search(options: GraderOptions, source_of: SourceOf) -> Iterator[Search]:
    """Yield a function that searches one file of a group, and returns the group with what it found."""
    grader, factories = open_grader(options.course, options.kata_infos(), **options.grader_options)

    def search(group: UnexplainedFiles) -> UnexplainedFiles:
        info, source = options.course.kata_info(group.kata), source_of(group.students[0], group.kata)
        try:
            report = grader.grade(parse(info, source, f"{info.name}.py"))
        except SubmissionRejected:
            return group
        return replace(group, found=grader.locate(report, SearchOptions()), source=source)

    try:
        yield search
    finally:
        factories.close()


def write_drafts(path: Path, groups: list[UnexplainedFiles], entry_points: dict[str, tuple[str, ...]]) -> int:
    """Write the groups with a place as functions with a TODO docstring, and return their number."""
    found = [group for group in groups if group.found and group.found.repairs]
    drafts = [_draft(group, number, entry_points[group.kata]) for number, group in enumerate(found, 1)]
    try:
        path.write_text("\n\n\n".join(drafts) + "\n" * bool(drafts), encoding="utf-8")
    except OSError as error:
        raise CourseError(f"The drafts cannot be written to {path}: {reason_of(error)}.") from None
    return len(found)


def _draft(group: UnexplainedFiles, number: int, entry_points: tuple[str, ...]) -> str:
    """Return one file of a group as code; its entry points are renamed and have a TODO as docstring."""
    assert isinstance(group.found, KataReport)
    told = f"{group.kata}: {group.files} files. {group.check.title}\n{account.of_search(group.found)}"
    body = ast.parse(group.source).body
    for node in body:
        if isinstance(node, ast.FunctionDef | ast.ClassDef) and node.name in entry_points:
            node.name = f"draft_{number}_of_{node.name}"
            statements = node.body[ast.get_docstring(node) is not None :]
            node.body = [ast.Expr(ast.Constant(TODO)), *statements]
    code = [n for n in body if not (isinstance(n, ast.Expr) and isinstance(n.value, ast.Constant))]
    plain = ast.unparse(ast.fix_missing_locations(ast.Module(code, [])))
    return "\n".join([*(f"# {line}" for line in told.split("\n")), plain])
