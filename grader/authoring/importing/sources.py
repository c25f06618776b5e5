"""Find the files that an exercise imports from beside it, and join them into one source."""

from __future__ import annotations

import ast
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from grader.authoring.importing.exercise import bound, is_import, parse, source_in
from grader.course.catalog import CourseError, shorten

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
