"""The course in one table, read from its files and running none of them."""

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
}

HEAD = "| kata | checks | laws | mistakes | variants | source |\n|---|---:|---:|---:|---:|---|"


def overview(course: Course) -> str:
    """A table a track in Markdown: how strong each kata's checks are, and where it comes from."""
    parts = []
    for track in dict.fromkeys(info.track for info in course.katas.values()):
        rows = [_row(course, info) for info in course.katas.values() if info.track == track]
        if rows:
            parts.append("\n".join([f"## {track}", "", HEAD, *rows]))
    return "\n\n".join(parts) + "\n"


def _row(course: Course, info: KataInfo) -> str:
    laws, corners = (_decorated(info.path, f"KATA.{kind}") for kind in ("law", "corner"))
    mistakes, variants = (_answers(course.solution(info, part)) for part in ("mistakes", "variants"))
    checks = len(BUILTIN.keys() - CONDITIONAL) + laws + corners + _optional_checks(info)
    return f"| `{info.name}` | {checks} | {laws} | {mistakes} | {variants} | {info.source} |"


def _decorated(path: Path, kind: str) -> int:
    """Functions decorated with `@KATA.law(…)` or `@KATA.corner(…)`."""
    return sum(
        isinstance(decorator, ast.Call) and ast.unparse(decorator.func) == kind
        for node in ast.parse(path.read_text(encoding="utf-8")).body
        if isinstance(node, ast.FunctionDef)
        for decorator in node.decorator_list
    )


def _optional_checks(info: KataInfo) -> int:
    """Gradients and the device, where the declaration asks for them."""
    tree = ast.parse(info.path.read_text(encoding="utf-8"))
    said = {
        keyword.arg: keyword.value.value
        for node in ast.walk(tree)
        if isinstance(node, ast.Call)
        for keyword in node.keywords
        if isinstance(keyword.value, ast.Constant)
    }
    on_device = said.get("grades_device")
    device = info.library == "torch" if on_device is None else bool(on_device)
    return int(bool(said.get("grades_gradients"))) + int(device)


def _answers(path: Path) -> int:
    """Public functions and classes of a file."""
    return sum(1 for _ in public_definitions(path))
