"""Find a homework's solution and its tests, and make the copy from which every run starts.

Read notebooks of nbgrader and otter, and otter's tests, as cells that a driver runs in order.
"""

from __future__ import annotations

import ast
import importlib.util
import json
import os
import re
import shlex
import shutil
import sys
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import Any

from grader.course.catalog import CourseError, shorten
from grader.course.files import Folder, NotReadable, read_file, text_of
from grader.course.submission import SubmissionRejected, cells_in, grade_id
from grader.course.submission import text_of as text_of_cell
from grader.errors import reason_of
from grader.extra.authoring.importing.recording import HELPER, MARKER

#: otter's comments around solutions and prompts, which its source notebooks hold.
OTTER = re.compile(r'^\s*("""\s*)?# (BEGIN|END) (SOLUTION|PROMPT|TESTS|QUESTION|TEST CONFIG)')
IS_OTTER = re.compile(r"\bOK_FORMAT\b|\btest\s*=\s*\{|otter\.test_files")


@dataclass(frozen=True)
class Cells:
    """The cells of a notebook, or a file with otter's tests, as files of a copy.

    `texts` are all files in their order. `answers` are those that students write, with their cells' names;
    `checks` are cells of tests, which stop the run where they raise; `otter` are otter's test files, which
    run at the end. `notebook` is the notebook's file name, "" if there is none.
    """

    label: str
    texts: dict[str, str]
    answers: dict[str, str]
    checks: tuple[str, ...] = ()
    otter: tuple[str, ...] = ()
    notebook: str = ""

    @property
    def order(self) -> list[str]:
        return list(self.texts)


def cells_of(folder: Path, file: Path) -> Cells | None:
    """Return the cells of a notebook, or of a file with otter's tests beside it; None if it has no tests.
    Raises CourseError if the notebook cannot be read."""
    otter = tuple(
        path.relative_to(folder).as_posix()
        for path in sorted(folder.glob("tests/*.py"))
        if IS_OTTER.search(text_of(path))
    )
    if file.suffix != ".ipynb":
        if not otter:
            return None
        name = file.resolve().relative_to(folder.resolve()).as_posix()
        return Cells(shorten(file), {name: text_of(file)}, {name: name}, (), otter)
    texts, answers, checks = _of_notebook(read(file), file.stem)
    if not checks and not otter:
        return None
    if not answers:
        raise CourseError(
            f"{shorten(file)} holds no solution: no cell is marked, and none defines a function."
        )
    return Cells(shorten(file), texts, answers, tuple(checks), otter, file.name)


def read(file: Path, data: bytes | None = None) -> list[Any]:
    """Return the code cells of a notebook. Raises CourseError."""
    try:
        cells = cells_in(read_file(file, follows_links=True) if data is None else data, shorten(file))
    except OSError as error:
        raise CourseError(f"{shorten(file)} cannot be read: {reason_of(error)}.") from None
    except (SubmissionRejected, json.JSONDecodeError) as error:
        raise CourseError(str(error)) from None
    return [cell for cell in cells if cell.get("cell_type") == "code"]


def _of_notebook(cells: list[Any], stem: str) -> tuple[dict[str, str], dict[str, str], list[str]]:
    """Return three things of a notebook: its cells as files (name to text), the names of those that a student
    writes, and the names of those that test."""
    marked = any(cell.get("metadata", {}).get("nbgrader") for cell in cells)
    texts: dict[str, str] = {}
    answers: dict[str, str] = {}
    checks = []
    for number, cell in enumerate(cells, 1):
        marks = cell.get("metadata", {}).get("nbgrader", {})
        name, source = name_of(cell, number), plain(text_of_cell(cell))
        file = f"{stem}_cells/{number:02d}_{re.sub(r'[^a-zA-Z0-9_]+', '_', name)}.py"
        texts[file] = source
        if marks.get("solution") if marked else defines(source):
            answers[file] = name
        elif marks.get("grade"):
            checks.append(file)
    return texts, answers, checks


def name_of(cell: Any, number: int) -> str:
    """Return a cell's name in nbgrader, or its number."""
    return grade_id(cell) or f"cell_{number}"


def plain(source: str) -> str:
    """Return a cell's code with its magics and marks as comments, so that lines keep their numbers."""
    lines = []
    for line in source.split("\n"):
        is_mark = MARKER.match(line.strip()) or OTTER.match(line)
        indent = line[: len(line) - len(line.lstrip())]
        is_magic = line.lstrip()[:1] in ("%", "!")
        lines.append(f"{indent}pass  # {line.strip()}" if is_magic else "" if is_mark else line)
    return "\n".join(lines)


def defines(source: str) -> list[str]:
    """Return the names of the functions and classes that a cell defines."""
    try:
        body = ast.parse(source).body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return []
    return [node.name for node in body if isinstance(node, ast.FunctionDef | ast.ClassDef)]


#: Folders that no run needs.
LEFT_OUT = (".git", "__pycache__", ".venv", "venv", "node_modules", ".ipynb_checkpoints", ".pytest_cache")
LARGEST = 512 * 2**20  # bytes of a homework that is copied for every run
MOST_FILES, DEEPEST = 20_000, 32  # of such a homework: its files, and its folders in folders
SOLUTIONS = re.compile(r"^(solution|reference|answer)s?$|_(solution|reference|answer)s?$")
TESTS = re.compile(r"^tests?_|_tests?$|^tests?$")
ADAPTERS = re.compile(r"^adapters?$")
PROJECT = ("setup", "conftest", "__init__", "__main__")


@dataclass(frozen=True)
class Command:
    """How the tests run: a Python module or a script inside a fork of the server, cells of a notebook, or a
    command of the shell."""

    how: str  # "module", "script", "cells" or "shell"
    text: str
    module: str = ""
    arguments: tuple[str, ...] = ()

    @property
    def is_pytest(self) -> bool:
        return self.how == "module" and self.module == "pytest"


@dataclass(frozen=True)
class Homework:
    """A homework: its solution, its tests and the command that runs them. Paths have slashes, and begin in
    the folder in which the tests run.

    `at` is the homework's folder there, "" for that folder itself. `sources` are the files that are mutated,
    with their texts; `written` are files that every copy holds besides those of the folder.
    """

    folder: Path
    at: str
    command: Command
    sources: dict[str, str]
    written: dict[str, str] = field(default_factory=dict)
    adapters: tuple[str, ...] = ()
    tests: tuple[str, ...] = ()
    cells: Cells | None = None

    @property
    def label(self) -> str:
        return shorten(self.folder)

    @property
    def libraries(self) -> list[str]:
        """The libraries to import before a fork."""
        texts = "\n".join([*self.sources.values(), *self.written.values()])
        found = [
            name for name in ("numpy", "torch") if re.search(rf"^\s*(import|from) {name}\b", texts, re.M)
        ]
        return [name for name in found if importlib.util.find_spec(name)]

    @property
    def roots(self) -> list[str]:
        """The folders from which the sources are imported, which come before installed packages."""
        found = []
        for name in self.sources:
            inner = Path(name)
            folder = inner.parent
            while (self.folder / folder.relative_to(self.at or ".") / "__init__.py").is_file():
                folder = folder.parent
            found.append(folder.as_posix())
        return list(dict.fromkeys(found))

    def copy_to(self, root: Path) -> None:
        """Write the copy from which every run starts. Raises CourseError."""
        try:
            shutil.copytree(
                self.folder,
                root / self.at,
                symlinks=True,
                ignore=_ignored,
                ignore_dangling_symlinks=True,
                dirs_exist_ok=True,
            )
            with Folder(root, follows_links=False) as copy:  # it may hold links of the homework by now
                for name, text in (self.written | self.sources).items():
                    copy.write(*PurePosixPath(name).parts, data=text.encode())
        except NotReadable as error:
            raise CourseError(
                f"{self.label} cannot be copied: a folder on the way to its files {error.strerror}."
            ) from None
        except (OSError, shutil.Error) as error:
            reason = reason_of(error) if error.args and isinstance(error, OSError) else str(error)
            raise CourseError(f"{self.label} cannot be copied: {reason}.") from None


def _ignored(folder: str, names: list[str]) -> list[str]:
    """Return what is not copied: what no run needs, and what is neither a file nor a folder."""
    places = ((name, os.path.join(folder, name)) for name in names)
    return [
        name
        for name, path in places
        if name in LEFT_OUT or not (os.path.islink(path) or os.path.isfile(path) or os.path.isdir(path))
    ]


def open_homework(
    folder: Path, solutions: tuple[Path, ...] = (), tests: str = "", replaces: Path | None = None
) -> Homework:
    """Return the homework in a folder, or in a notebook. Raises CourseError if solution or tests are unclear.

    `solutions` are files or folders of right answers; `replaces` is the file in whose place one of them is
    put, if the tests import another file than it.
    """
    if not folder.exists():
        raise CourseError(f"There is no folder {shorten(folder)}.")
    if folder.is_file() and folder.suffix != ".ipynb":
        raise CourseError(f"{shorten(folder)} is a file: name its folder, and the file with --solution.")
    notebook = folder if folder.suffix == ".ipynb" else None
    notebook = notebook or next((path for path in solutions if path.suffix == ".ipynb"), None)
    folder = folder.parent if notebook is folder else folder
    _require_small(folder)
    at = _place_of(folder)
    if notebook is None and not solutions and not tests and not _test_files(folder):
        notebook = _only_notebook(folder)
    if notebook is not None:
        return _of_cells(folder, at, notebook)
    files = _files_of(solutions) or [_found_solution(folder, tests)]
    if not tests and (cells := cells_of(folder, files[0])):
        return _with_cells(folder, at, cells)
    if replaces is not None and len(files) != 1:
        raise CourseError("--replaces names the place of one file: give one --solution.")
    texts = {}
    for file in files:
        place = replaces or file
        if not _is_inside(place, folder):
            raise CourseError(
                f"{shorten(place)} is not in {shorten(folder)}: --replaces FILE names the file there"
                " that the tests import, in whose place the solution is put."
            )
        texts[_inside(place, folder, at)] = _source_of(file, is_named=file in solutions)
    found = _python_files(folder)
    return Homework(
        folder,
        at,
        _command(tests, folder, at) if tests else _found_tests(folder, at),
        texts,
        adapters=tuple(_inside(p, folder, at) for p in found if ADAPTERS.search(p.stem)),
        tests=tuple(_inside(p, folder, at) for p in found if TESTS.search(p.stem)),
    )


def _of_cells(folder: Path, at: str, notebook: Path) -> Homework:
    cells = cells_of(folder, notebook)
    if cells is None:
        raise CourseError(
            f"{shorten(notebook)} has no tests: cells that nbgrader grades, or otter's files in `tests`."
        )
    return _with_cells(folder, at, cells)


def _with_cells(folder: Path, at: str, cells: Cells) -> Homework:
    texts = {f"{at}/{name}".lstrip("/"): text for name, text in cells.texts.items()}
    answers = {f"{at}/{name}".lstrip("/") for name in cells.answers}
    return Homework(
        folder,
        at,
        Command("cells", f"the tests of {cells.label}"),
        {name: text for name, text in texts.items() if name in answers},
        {name: text for name, text in texts.items() if name not in answers},
        cells=cells,
    )


def _place_of(folder: Path) -> str:
    """Return where a folder lies in a copy: as below the current folder, or by its name."""
    here = Path.cwd().resolve()
    folder = folder.resolve()
    if folder == here:
        return ""
    return folder.relative_to(here).as_posix() if folder.is_relative_to(here) else folder.name


def _inside(path: Path, folder: Path, at: str) -> str:
    inner = path.resolve().relative_to(folder.resolve()).as_posix()
    return f"{at}/{inner}" if at else inner


def _is_inside(path: Path, folder: Path) -> bool:
    return path.resolve().is_relative_to(folder.resolve())


def _files_of(paths: tuple[Path, ...]) -> list[Path]:
    """Return the Python files that are named, or in a folder that is. Raises CourseError."""
    found = []
    for path in paths:
        if not path.exists():
            raise CourseError(f"There is no file {shorten(path)}.")
        found += _python_files(path) if path.is_dir() else [path]
    for path in found:
        _source_of(path, is_named=path in paths)
    return found


def _python_files(folder: Path) -> list[Path]:
    """Return the Python files below a folder."""
    found = []
    for place, folders, names in os.walk(folder):
        folders[:] = sorted(name for name in folders if name not in LEFT_OUT and name[0] != ".")
        found += [Path(place, name) for name in sorted(names) if name.endswith(".py")]
    return found


def _found_solution(folder: Path, tests: str) -> Path:
    """Return the only file that may be the right answer; those that the tests' command names are none.
    Raises CourseError."""
    commanded = {Path(word).name for word in tests.split()}
    answers = [
        path
        for path in _python_files(folder)
        if not (TESTS.search(path.stem) or HELPER.search(path.stem) or path.stem in PROJECT)
        and not (ADAPTERS.search(path.stem) or path.name in commanded)
        and not any(TESTS.search(part) for part in path.relative_to(folder).parts[:-1])
    ]
    named = [path for path in answers if SOLUTIONS.search(path.stem)]
    for found in (named, answers):
        if len(found) == 1:
            _source_of(found[0])
            return found[0]
    if not answers:
        raise CourseError(f"{shorten(folder)} holds no solution: name it with --solution FILE.")
    names = ", ".join(shorten(path) for path in answers[:6])
    raise CourseError(f"Which file is the solution? --solution FILE, again for more: {names}.")


def _only_notebook(folder: Path) -> Path | None:
    notebooks = sorted(folder.glob("*.ipynb")) + sorted(folder.glob("source/*/*.ipynb"))
    found = [path for path in notebooks if not path.is_symlink()]
    return found[0] if len(found) == 1 else None


def _test_files(folder: Path) -> list[Path]:
    named = [path for path in _python_files(folder) if re.search(r"^test_|_test$", path.stem)]
    return [path for path in named if "def test" in text_of(path)]


def _found_tests(folder: Path, at: str) -> Command:
    """Return how the tests in the folder run. Raises CourseError."""
    place = at or "."
    if not _test_files(folder):
        raise CourseError(
            f"{shorten(folder)} holds no tests that are found by themselves: give the command that runs them,"
            f' as in --tests "python {place}/check.py".'
        )
    if importlib.util.find_spec("pytest"):
        return Command("module", f"pytest -q {shlex.quote(place)}", "pytest", ("-q", place))
    found = ("discover", "-s", place)
    return Command("module", f"python -m unittest discover -s {shlex.quote(place)}", "unittest", found)


def _command(text: str, folder: Path, at: str) -> Command:
    """Return how a command of the shell runs: inside of a fork if it is Python's own. Paths into the
    homework become those of the copy. Raises CourseError."""
    try:
        words = [_in_copy(word, folder, at) for word in shlex.split(text)]
    except ValueError as error:
        raise CourseError(f"--tests: {error}.") from None
    if not words:
        raise CourseError("--tests names no command.")
    shell = Command("shell", text if words == shlex.split(text) else shlex.join(words))
    if any(sign in text for sign in "|&;<>$`*?"):
        return shell
    if not _is_own_python(words[0]):
        return shell
    name = Path(words[0]).name
    if name in ("pytest", "py.test"):
        return Command("module", text, "pytest", tuple(words[1:]))
    if len(words) > 2 and words[1] == "-m":
        return Command("module", text, words[2], tuple(words[3:]))
    if len(words) > 1 and words[1].endswith(".py"):
        return Command("script", text, words[1], tuple(words[2:]))
    return shell


def _in_copy(word: str, folder: Path, at: str) -> str:
    path, mark, rest = word.partition("::")
    place = Path(path)
    if not path or path.startswith("-") or not (place.is_absolute() or ".." in place.parts):
        return word
    if not place.exists() or not _is_inside(place, folder):
        return word
    return (_inside(place, folder, at).removesuffix("/.") or ".") + mark + rest


def _is_own_python(program: str) -> bool:
    """Return whether a program is this Python, or its pytest."""
    name = Path(program).name
    if not re.fullmatch(r"python[\d.]*|pytest|py\.test", name):
        return False
    if name.startswith("py") and "test" in name and not importlib.util.find_spec("pytest"):
        return False
    found = shutil.which(program)
    return found is None or Path(found).parent == Path(sys.executable).parent


def _source_of(path: Path, is_named: bool = False) -> str:
    """Return the source in a file; a link is followed only if the file `is_named`. Raises CourseError."""
    try:
        source = read_file(path, follows_links=is_named).decode()
        ast.parse(source)
    except NotReadable as error:
        raise CourseError(f"{shorten(path)} {error.strerror}; --solution FILE names another one.") from None
    except OSError as error:
        raise CourseError(f"{shorten(path)} cannot be read: {reason_of(error)}.") from None
    except UnicodeDecodeError as error:
        raise CourseError(f"{shorten(path)} cannot be read: {error}.") from None
    except SyntaxError as error:
        raise CourseError(f"{shorten(path)} is no Python: {error.msg} (line {error.lineno}).") from None
    except (ValueError, RecursionError, MemoryError) as error:
        raise CourseError(f"{shorten(path)} is no Python: {error}.") from None
    return source


def _require_small(folder: Path) -> None:
    """Raise CourseError if there is more in a folder than one copies for every run."""
    size = count = 0
    top = len(folder.parts)
    for place, folders, names in os.walk(folder):
        folders[:] = [name for name in folders if name not in LEFT_OUT]
        count += len(folders) + len(names)
        size += sum(os.lstat(os.path.join(place, name)).st_size for name in names)
        much = (
            f"more than {LARGEST >> 20} MiB" * (size > LARGEST)
            or f"more than {MOST_FILES:,} files" * (count > MOST_FILES)
            or f"folders in folders, more than {DEEPEST} deep" * (len(Path(place).parts) - top > DEEPEST)
        )
        if much:
            raise CourseError(
                f"{shorten(folder)} holds {much}, and every run gets a copy: name the folder of the homework"
                " alone."
            )
