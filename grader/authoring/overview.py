"""`kata overview`: a table of all katas, made from their files without running them."""

from __future__ import annotations

import ast
from pathlib import Path

from grader.authoring.source_locations import public_definitions
from grader.checks.builtin import BUILTIN
from grader.course.catalog import Course, KataInfo

#: Built-in checks that only some katas have; whether one has the last two depends on its cases.
CONDITIONAL = {
    "has_the_right_gradients",
    "stays_on_the_device",
    "float64_keeps_its_digits",
    "any_memory_layout",
    "earlier_calls_change_nothing",
}

HEAD = "| kata | checks | laws | mistakes | variants | source |\n|---|---:|---:|---:|---:|---|"


def overview(course: Course) -> str:
    """Return a Markdown table for each track: the numbers of checks, mistakes and variants, the source."""
    parts = []
    for track in dict.fromkeys(info.track for info in course.katas.values()):
        rows = [_row(course, info) for info in course.katas.values() if info.track == track]
        if rows:
            parts.append("\n".join([f"## {track}", "", HEAD, *rows]))
    return "\n\n".join(parts) + "\n"


def _row(course: Course, info: KataInfo) -> str:
    laws, corners = (_decorated(info.path, f"KATA.{kind}") for kind in ("law", "corner"))
    mistakes, variants = (
        _count_definitions(course.solution(info, part)) for part in ("mistakes", "variants")
    )
    free = len(BUILTIN.keys() - CONDITIONAL) + _optional_checks(info)
    checks = len(info.questions) or free + laws + corners
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
