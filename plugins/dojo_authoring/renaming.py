"""`kata rename` and `kata remove`: move or delete all files of a kata, and keep the course consistent."""

from __future__ import annotations

import ast
import re
from pathlib import Path

from dojo_authoring.changes import Changes, all_or_nothing
from dojo_authoring.scaffold.writer import problem_with
from dojo_authoring.verify.locations import place
from grader.course.catalog import Course, CourseError, KataInfo
from grader.course.files import parse, read
from grader.course.renaming import RENAMED_FILE as RENAMED
from grader.course.renaming import renamed
from grader.course.syllabus import SYLLABUS_FILE


def rename(course: Course, old: str, new: str) -> list[str]:
    """Rename a kata: its files, its declaration, the syllabus, and the `needs` of others.

    Returns the lines of the course that still mention the old name. Raises CourseError, with nothing changed,
    if the new name is taken or is no name, or if a file cannot be changed.
    """
    info = course.kata_info(old)
    if problem := problem_with(new):
        raise CourseError(problem)
    if new in course.katas:
        raise CourseError(f"A kata called `{new}` is there already, in {course.katas[new].track}.")
    with all_or_nothing() as changes:
        for needing in _needing(course, old):
            changes.write(needing.path, _with_name(needing.path, _places_in_needs(needing.path, old), new))
        changes.write(info.path, _with_name(info.path, _places_of_name(info.path), new))
        changes.move(info.path, info.path.with_name(f"test_{new}.py"))
        for path in (course.stub(info), course.folder(info)):
            if path.exists():
                changes.move(path, path.with_name(path.name.replace(old, new, 1)))
        _change_syllabus(changes, course, old, f'"{new}"')
        _remember(changes, course, old, new)
    return _mentions(course, old)


def _remember(changes: Changes, course: Course, old: str, new: str) -> None:
    """Add the new name to `solutions/renamed.toml`, for students who have begun under the old one."""
    names = {before: new if after == old else after for before, after in renamed(course).items()}
    names = {before: after for before, after in {**names, old: new}.items() if before != after}
    text = "".join(f'{before} = "{after}"\n' for before, after in sorted(names.items()))
    about = "# Written by `kata rename`: the new name of each old one.\n"
    changes.write(course.root / RENAMED, about + text)


def remove(course: Course, name: str) -> list[Path]:
    """Delete the files of a kata and its entry in the syllabus; return what was deleted.

    Raises CourseError, with nothing deleted, if another kata needs it, or if a file cannot be changed.
    """
    info = course.kata_info(name)
    if needing := _needing(course, name):
        names = ", ".join(f"`{other.name}`" for other in needing)
        raise CourseError(f"`{name}` is needed by {names}; take it out of their needs first.")
    found = files_of_kata(course, info)
    with all_or_nothing() as changes:
        for path in found:
            changes.remove(path)
        _change_syllabus(changes, course, name, "")
    return found


def files_of_kata(course: Course, info: KataInfo) -> list[Path]:
    """Return the stub, the declaration and the folder of solutions, if they exist."""
    return [path for path in (course.stub(info), info.path, course.folder(info)) if path.exists()]


def _needing(course: Course, name: str) -> list[KataInfo]:
    return [info for info in course.katas.values() if name in info.needs]


def _places_of_name(path: Path) -> list[ast.Constant]:
    """Return where the declaration says the kata's name: the first argument of `Kata`."""
    return [
        node.args[0]
        for node in ast.walk(parse(path))
        if isinstance(node, ast.Call)
        and isinstance(node.func, ast.Name)
        and node.func.id == "Kata"
        and node.args
        and isinstance(node.args[0], ast.Constant)
    ]


def _places_in_needs(path: Path, name: str) -> list[ast.Constant]:
    """Return where the declaration says the name in its `needs`."""
    return [
        node
        for keyword in ast.walk(parse(path))
        if isinstance(keyword, ast.keyword) and keyword.arg == "needs"
        for node in ast.walk(keyword.value)
        if isinstance(node, ast.Constant) and node.value == name
    ]


def _with_name(path: Path, places: list[ast.Constant], new: str) -> str:
    """Return the text of a file in which the new name, in quotes, replaces each of these strings."""
    lines = read(path).split("\n")  # as Python counts them; `splitlines` splits at form feeds too
    for node in sorted(places, key=lambda node: (node.lineno, node.col_offset), reverse=True):
        line = lines[node.lineno - 1].encode()  # offsets count bytes
        changed = line[: node.col_offset] + f'"{new}"'.encode() + line[node.end_col_offset :]
        lines[node.lineno - 1] = changed.decode()
    return "\n".join(lines)


def _change_syllabus(changes: Changes, course: Course, old: str, new: str) -> None:
    """Replace a name, with its quotes, in the lists and aliases of path.toml, and as the key of its effort,
    of its skills and of its shortcuts; without a new one, drop it."""
    path = course.root / SYLLABUS_FILE
    if not path.is_file():
        return
    text = path.read_text(encoding="utf-8")
    quoted = rf"""["']{old}["']"""
    if new:
        changed = re.sub(quoted, new, text)
    else:
        alias = rf"(?m)^[\w-]+\s*=\s*{quoted}.*\n?"
        before, alone, last = rf"{quoted} *, *(?=\S)", rf"\n? *{quoted} *,(?=\n)", rf",?\s*{quoted}"
        changed = text
        for place in (alias, before, alone, last):
            changed = re.sub(place, "", changed)
    entry = rf"(?m)^{old}(?=\s*=\s*\{{)" if new else rf"(?m)^{old}\s*=\s*\{{.*\n"
    changed = re.sub(entry, new.strip('"'), changed)
    key = rf"(?m)^{old}(?=\s*=)" if new else rf"(?m)^{old}\s*=.*\n?"
    table = re.compile(r"(?m)^\[(?:skills|shortcuts)\](?:\n(?!\[).*)*")
    changes.write(path, table.sub(lambda found: re.sub(key, new.strip('"'), found[0]), changed))


def _mentions(course: Course, name: str) -> list[str]:
    """Return the lines of the course's code and Markdown files that mention a name, with their places."""
    files = [path for suffix in ("py", "edits", "md") for path in sorted(course.root.rglob(f"*.{suffix}"))]
    return [
        f"{place(course, path, number)}: {line.strip()}"
        for path in files
        if not any(part.startswith(".") for part in path.relative_to(course.root).parts)
        for number, line in enumerate(path.read_text(encoding="utf-8", errors="replace").splitlines(), 1)
        if re.search(rf"\b{name}\b", line)
    ]
