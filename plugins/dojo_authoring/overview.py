"""`kata overview`: a table of all katas, made from their files without running them."""

from __future__ import annotations

import ast
from pathlib import Path

from dojo_authoring.verify.locations import public_definitions
from grader.checks.builtin import BUILTIN
from grader.course.catalog import Course, KataInfo
from grader.course.mistake_edits import read_edits

OVERVIEW_HEAD = "| kata | checks | laws | mistakes | variants | source |\n|---|---:|---:|---:|---:|---|"


def overview(course: Course) -> str:
    """Return a Markdown table for each track: the numbers of checks, mistakes and variants, the source."""
    parts = []
    for track in dict.fromkeys(info.track for info in course.katas.values()):
        rows = [_row(course, info) for info in course.katas.values() if info.track == track]
        if rows:
            parts.append("\n".join([f"## {track}", "", OVERVIEW_HEAD, *rows]))
    return "\n\n".join(parts) + "\n"


def _row(course: Course, info: KataInfo) -> str:
    laws, corners = (_decorated(info.path, f"KATA.{kind}") for kind in ("law", "corner"))
    mistakes, variants = (
        _count_definitions(course.solution(info, part)) for part in ("mistakes", "variants")
    )
    mistakes += len(read_edits(course.edits(info)))
    free = sum(not check.nature.is_optional for check in BUILTIN.values()) + _optional_checks(info)
    checks = free + laws + corners if info.kind.is_code else len(info.entry_points)
    mark = " (draft)" if info.draft else ""
    return f"| `{info.name}`{mark} | {checks} | {laws} | {mistakes} | {variants} | {info.source} |"


def _decorated(path: Path, kind: str) -> int:
    """Count the functions with the decorator `kind`, such as `KATA.law`."""
    return sum(
        isinstance(decorator, ast.Call) and ast.unparse(decorator.func) == kind
        for node in ast.parse(path.read_text(encoding="utf-8")).body
        if isinstance(node, ast.FunctionDef)
        for decorator in node.decorator_list
    )


def _optional_checks(info: KataInfo) -> int:
    """Count the checks of gradients and of the device that the declaration asks for."""
    tree = ast.parse(info.path.read_text(encoding="utf-8"))
    keywords = {
        keyword.arg: keyword.value.value
        for node in ast.walk(tree)
        if isinstance(node, ast.Call)
        for keyword in node.keywords
        if isinstance(keyword.value, ast.Constant)
    }
    on_device = keywords.get("grades_device")
    device = info.library == "torch" if on_device is None else bool(on_device)
    return int(bool(keywords.get("grades_gradients"))) + int(device)


def _count_definitions(path: Path) -> int:
    """Count the public functions and classes of a file; 0 without the file, as for a draft."""
    return sum(1 for _ in public_definitions(path)) if path.is_file() else 0
