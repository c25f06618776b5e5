"""Read a homework of others: its solution, its tests, how they run, and the copy from which every run starts.

`kata audit` and `kata import` read homeworks here alone. A notebook, of nbgrader or of otter, is read as
cells that a driver runs in order. Nothing of a homework is run here. What cannot be read is a CourseError.
"""

from __future__ import annotations

import importlib.util
import json
import os
import re
import shlex
import shutil
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import Any, NamedTuple

import msgspec

from grader.course.files import Folder, NotReadable, read_file, shorten, text_of
from grader.errors import CourseError, reason_of
from grader.reading.source import Refused
from grader.worker.reader import reader

#: Folders that no run needs.
LEFT_OUT = (".git", "__pycache__", ".venv", "venv", "node_modules", ".ipynb_checkpoints", ".pytest_cache")
LARGEST_HOMEWORK = 512 * 2**20  # bytes of a homework that is copied for every run
MOST_FILES, DEEPEST = 20_000, 32  # of such a homework: its files, and its folders in folders
SOLUTIONS = re.compile(r"^(solution|reference|answer)s?$|_(solution|reference|answer)s?$")
TESTS = re.compile(r"^tests?_|_tests?$|^tests?$")
HELPER = re.compile(r"helper|util|common|fixture|conftest|^test_|_test$")
ADAPTERS = re.compile(r"^adapters?$")
PROJECT = ("setup", "conftest", "__init__", "__main__")
EXERCISM = (".meta/example.py", ".meta/exemplar.py")  # where Exercism keeps its solutions

#: A test file of otter, a test that nbgrader generates, and a mark around cells in otter's source notebooks.
IS_OTTER = re.compile(r"\bOK_FORMAT\b|\btest\s*=\s*\{|otter\.test_files")
AUTOTEST = re.compile(r"^(\s*)### (?:HASHED )?AUTOTEST (.*)$")
ASSIGN = re.compile(r"\s*#+ *(BEGIN|END) (TESTS|SOLUTION)")
OUTPUT_KEPT = ("%%time", "%%timeit", "%%capture")  # magics below which a cell is Python


@dataclass(frozen=True)
class Cells:
    """The cells of a notebook, or a file with otter's tests, as files of a copy.

    `texts` are all files in their order. `answers` are those that students write, with their cells' names;
    `checks` are cells of tests, with the output that is due, or None. `otter` are otter's test files by name:
    they run where a cell asks for them, or else at the end. `notebook` is its file name, "" if there is none.
    """

    label: str
    texts: dict[str, str]
    answers: dict[str, str]
    checks: dict[str, str | None] = field(default_factory=dict)
    otter: dict[str, str] = field(default_factory=dict)
    notebook: str = ""

    @property
    def without_tests(self) -> list[str]:
        """The files that hold no tests, in their order."""
        return [name for name in self.texts if name not in self.checks and name not in self.otter.values()]


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
            folder = Path(name).parent
            while (self.folder / folder.relative_to(self.at or ".") / "__init__.py").is_file():
                folder = folder.parent
            found.append(folder.as_posix())
        return list(dict.fromkeys(found))

    def text_of_tests(self) -> dict[str, str]:
        """Return the texts of the tests by file: of a notebook the cells of tests, and otter's files."""
        if self.cells is None:
            return {name: text_of(self.folder / _below(name, self.at)) for name in self.tests}
        names = [*self.cells.checks, *self.cells.otter.values()]
        return {name: self.cells.texts.get(name) or text_of(self.folder / name) for name in names}

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
                    copy.write(*PurePosixPath(name).parts, data=text.encode("utf-8", "replace"))
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
    put. Without it, that is the file that the tests import and that defines the same names.
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
        found = sorted(path for path in folder.glob("*.ipynb") if not path.is_symlink())
        notebook = found[0] if len(found) == 1 else None
    if notebook is not None:
        cells = cells_of(folder, notebook)
        if cells is None:
            raise CourseError(
                f"{shorten(notebook)} has no tests: cells that nbgrader grades, or tests of otter."
            )
        return _with_cells(folder, at, cells)
    files = _files_of(solutions) or [_found_solution(folder, tests)]
    if not tests and (cells := cells_of(folder, files[0])):
        return _with_cells(folder, at, cells)
    if replaces is not None and len(files) != 1:
        raise CourseError("--replaces names the place of one file: give one --solution.")
    texts = {}
    for file in files:
        source = source_of(file, is_named=file in solutions)
        place = replaces or _stub_of(folder, file, source) or file
        if not _is_inside(place, folder):
            raise CourseError(
                f"{shorten(place)} is not in {shorten(folder)}: --replaces FILE names the file there"
                " that the tests import, in whose place the solution is put."
            )
        texts[_inside(place, folder, at)] = source
    found = python_files(folder)
    return Homework(
        folder,
        at,
        _command(tests, folder, at) if tests else _found_tests(folder, at),
        texts,
        adapters=tuple(_inside(p, folder, at) for p in found if ADAPTERS.search(p.stem)),
        tests=tuple(_inside(p, folder, at) for p in found if TESTS.search(p.stem)),
    )


# notebooks


class NotebookCell(NamedTuple):
    """A cell of a notebook: its kind, its text, nbgrader's marks, its name, and what it printed last."""

    kind: str
    source: str
    marks: dict[str, Any]
    name: str
    output: str | None


def cells_of(folder: Path, file: Path) -> Cells | None:
    """Return the cells of a notebook, or of a file with otter's tests beside it; None if it has no tests.
    Raises CourseError if the notebook cannot be read."""
    paths = [path for path in sorted(folder.glob("tests/*.py")) if IS_OTTER.search(text_of(path))]
    otter = {path.stem: path.relative_to(folder).as_posix() for path in paths}
    if file.suffix != ".ipynb":
        if not otter:
            return None
        name = file.resolve().relative_to(folder.resolve()).as_posix()
        return Cells(shorten(file), {name: text_of(file)}, {name: name}, {}, otter)
    cells, inside = read_notebook(file)
    texts, answers, checks = _of_notebook(cells, file.stem)
    for name, text in inside.items():
        otter[name] = f"{file.stem}_cells/tests/{re.sub(r'[^a-zA-Z0-9_]+', '_', name)}.py"
        texts[otter[name]] = text
    if not checks and not otter:
        return None
    if not answers:
        raise CourseError(
            f"{shorten(file)} holds no solution: no cell is marked, and none defines a function."
        )
    return Cells(shorten(file), texts, answers, checks, otter, file.name)


def read_notebook(file: Path, data: bytes | None = None) -> tuple[list[NotebookCell], dict[str, str]]:
    """Return the cells of a notebook, and the tests of otter in its metadata, by name. Raises CourseError."""
    try:
        notebook = json.loads(read_file(file, follows_links=True) if data is None else data)
        cells = [_cell(number, cell) for number, cell in enumerate(notebook["cells"], 1)]
        otter = notebook.get("metadata", {}).get("otter", {}).get("tests") or {}
        tests = {
            str(name): f"test = {spec!r}\n" if isinstance(spec, dict) else _joined(spec)
            for name, spec in otter.items()
        }
    except OSError as error:
        raise CourseError(f"{unreadable(shorten(file), error)}.") from None
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise CourseError(f"{shorten(file)} is no notebook: {error}.") from None
    return cells, tests


def _cell(number: int, cell: dict[str, Any]) -> NotebookCell:
    marks = cell.get("metadata", {}).get("nbgrader") or {}
    shown = [one for one in cell.get("outputs", ()) if one.get("output_type") == "execute_result"]
    output = _joined(shown[-1].get("data", {}).get("text/plain", "")) if shown else None
    name = str(marks.get("grade_id") or f"cell_{number}")
    return NotebookCell(str(cell["cell_type"]), _joined(cell["source"]), dict(marks), name, output)


def _joined(text: Any) -> str:
    return text if isinstance(text, str) else "".join(text)


def _of_notebook(
    cells: list[NotebookCell], stem: str
) -> tuple[dict[str, str], dict[str, str], dict[str, str | None]]:
    """Return three things of a notebook: its code cells as files (name to text), the names of those that a
    student writes, and those that test with the output that is due."""
    marked = any(cell.marks for cell in cells)
    parts = {match[2] for cell in cells if cell.kind != "code" and (match := ASSIGN.match(cell.source))}
    texts: dict[str, str] = {}
    answers: dict[str, str] = {}
    checks: dict[str, str | None] = {}
    part = ""  # of otter's source: where cells are solutions or tests
    for number, cell in enumerate(cells, 1):
        if cell.kind != "code":
            if mark := ASSIGN.match(cell.source):
                part = mark[2] if mark[1] == "BEGIN" else ""
            continue
        source = plain(cell.source)
        file = f"{stem}_cells/{number:02d}_{re.sub(r'[^a-zA-Z0-9_]+', '_', cell.name)}.py"
        texts[file] = source
        if part == "TESTS":
            checks[file] = cell.output or ""
        elif marked:
            if cell.marks.get("solution"):
                answers[file] = cell.name
            elif cell.marks.get("grade"):
                checks[file] = None
        elif defines(source) and (part == "SOLUTION" or "SOLUTION" not in parts):
            answers[file] = cell.name
    return texts, answers, checks


def plain(source: str) -> str:
    """Return a cell's code with its magics as comments, so that lines keep their numbers. A generated test of
    nbgrader becomes a call of what the driver offers."""
    lines = source.split("\n")
    if lines[0].startswith("%%") and not lines[0].startswith(OUTPUT_KEPT):
        return "\n".join(f"# {line}" for line in lines)
    return "\n".join(map(_plain_line, lines))


def _plain_line(line: str) -> str:
    if test := AUTOTEST.match(line):
        return test[1] + "; ".join(
            f"__autotest__({part.strip()})" for part in test[2].split(";") if part.strip()
        )
    indent = line[: len(line) - len(line.lstrip())]
    return f"{indent}pass  # {line.strip()}" if line.lstrip()[:1] in ("%", "!") else line


class Outline(msgspec.Struct, frozen=True):
    """What a file of a homework defines; the names of modules that each import may mean, with the number of
    dots before them; and why it is no Python, or cannot be read."""

    defines: tuple[str, ...] = ()
    imports: tuple[tuple[int, tuple[str, ...]], ...] = ()
    problem: str = ""


def outline_of(source: str) -> Outline:
    """Return the outline of a source, which a reader has parsed."""
    try:
        return reader().ask("outline", Outline, source.encode("utf-8", "surrogatepass"))[0]
    except Refused as refused:
        return Outline(problem=str(refused).partition(": ")[2])


def defines(source: str) -> tuple[str, ...]:
    """Return the names of the functions and classes that a source defines."""
    return outline_of(source).defines


def _with_cells(folder: Path, at: str, cells: Cells) -> Homework:
    def placed(names: Any) -> dict[str, str]:
        return {f"{at}/{name}".lstrip("/"): text for name, text in cells.texts.items() if name in names}

    sources = placed(cells.answers)
    command = Command("cells", f"the tests of {cells.label}")
    return Homework(folder, at, command, sources, placed(cells.texts.keys() - cells.answers), cells=cells)


# files


def _place_of(folder: Path) -> str:
    """Return where a folder lies in a copy: as below the current folder, or by its name."""
    here, folder = Path.cwd().resolve(), folder.resolve()
    if folder == here:
        return ""
    return folder.relative_to(here).as_posix() if folder.is_relative_to(here) else folder.name


def _inside(path: Path, folder: Path, at: str) -> str:
    inner = path.resolve().relative_to(folder.resolve()).as_posix()
    return f"{at}/{inner}" if at else inner


def _below(name: str, at: str) -> str:
    """Return a path of the copy as one below the homework's folder."""
    return name.removeprefix(f"{at}/") if at else name


def _is_inside(path: Path, folder: Path) -> bool:
    return path.resolve().is_relative_to(folder.resolve())


def _files_of(paths: tuple[Path, ...]) -> list[Path]:
    """Return the Python files that are named, or in a folder that is. Raises CourseError."""
    found = []
    for path in paths:
        if not path.exists():
            raise CourseError(f"There is no file {shorten(path)}.")
        found += python_files(path) if path.is_dir() else [path]
    return found


def python_files(folder: Path) -> list[Path]:
    """Return the Python files below a folder."""
    found = []
    for place, folders, names in os.walk(folder):
        folders[:] = sorted(name for name in folders if name not in LEFT_OUT and name[0] != ".")
        found += [Path(place, name) for name in sorted(names) if name.endswith(".py")]
    return found


def _may_be_solution(path: Path, folder: Path) -> bool:
    is_other = TESTS.search(path.stem) or HELPER.search(path.stem) or ADAPTERS.search(path.stem)
    parts = path.relative_to(folder).parts[:-1]
    return not is_other and path.stem not in PROJECT and not any(map(TESTS.search, parts))


def _found_solution(folder: Path, tests: str) -> Path:
    """Return the only file that may be the right answer; those that the tests' command names are it
    only if there is no other. Raises CourseError."""
    commanded = {Path(word).name for word in tests.split()}
    answers = [path for path in python_files(folder) if _may_be_solution(path, folder)]
    answers = [path for path in answers if path.name not in commanded] or answers
    exercism = [folder / name for name in EXERCISM if (folder / name).is_file()]
    for found in (exercism, [path for path in answers if SOLUTIONS.search(path.stem)], answers):
        if len(found) == 1:
            return found[0]
    if not answers:
        raise CourseError(f"{shorten(folder)} holds no solution: name it with --solution FILE.")
    names = ", ".join(shorten(path) for path in answers[:6])
    raise CourseError(f"Which file is the solution? --solution FILE, again for more: {names}.")


def _stub_of(folder: Path, solution: Path, source: str) -> Path | None:
    """Return the file in whose place a solution is put: the only one that the tests import, and that defines
    a name of the solution. None if the tests import the solution itself, or if there is no such file."""
    queue = [path for path in python_files(folder) if TESTS.search(path.stem)]
    found: dict[Path, None] = {}
    while queue:
        for path in _imported(queue.pop(), folder):
            if path not in found:
                found[path] = None
                queue.append(path)
    if solution.resolve() in found:
        return None
    own = set(defines(source))
    root = folder.resolve()
    stubs = [p for p in found if _may_be_solution(p, root) and own & set(defines(text_of(p)))]
    return stubs[0] if len(stubs) == 1 else None


def _imported(file: Path, folder: Path) -> Iterator[Path]:
    """Yield the files of a homework that a file of it imports."""
    for level, names in outline_of(text_of(file)).imports:
        above = [file, *file.parents][: level + 1]
        places = above[-1:] if level else [file.parent, folder, folder / "src"]
        for place in places:
            for inner in (name.replace(".", "/") for name in names if name):
                for path in (place / f"{inner}.py", place / inner / "__init__.py"):
                    if path.is_file() and _is_inside(path, folder):
                        yield path.resolve()


def _test_files(folder: Path) -> list[Path]:
    named = [path for path in python_files(folder) if re.search(r"^test_|_test$", path.stem)]
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
        given = shlex.split(text)
    except ValueError as error:
        raise CourseError(f"--tests: {error}.") from None
    words = [_in_copy(word, folder, at) for word in given]
    if not words:
        raise CourseError("--tests names no command.")
    in_copy = text
    for old, new in zip(given, words, strict=True):
        in_copy = in_copy.replace(old, new) if new != old else in_copy
    shell = Command("shell", in_copy)
    if any(sign in text for sign in "|&;<>$`*?") or not _is_own_python(words[0]):
        return shell
    if Path(words[0]).name in ("pytest", "py.test"):
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
    if "test" in name and not importlib.util.find_spec("pytest"):
        return False
    found = shutil.which(program)
    return found is None or Path(found).parent == Path(sys.executable).parent


def unreadable(name: str, error: OSError) -> str:
    """Return a sentence that says why a file cannot be read."""
    if isinstance(error, NotReadable):
        return f"{name} {error.strerror}"
    return f"{name} cannot be read: {reason_of(error)}"


def source_of(path: Path, *, is_named: bool = False) -> str:
    """Return the source in a file; a link is followed only if the file `is_named`. Raises CourseError."""
    try:
        source = read_file(path, follows_links=is_named).decode()
    except OSError as error:
        what = unreadable(shorten(path), error)
        raise CourseError(f"{what}; --solution FILE names another one.") from None
    except UnicodeDecodeError as error:
        raise CourseError(f"{shorten(path)} cannot be read: {error}.") from None
    if problem := outline_of(source).problem:
        raise CourseError(f"{shorten(path)} is no Python: {problem.rstrip('.')}.")
    return source


def _require_small(folder: Path) -> None:
    """Raise CourseError if there is more in a folder than one copies for every run."""
    size = count = 0
    top = len(folder.parts)
    for place, folders, names in os.walk(folder):
        folders[:] = [name for name in folders if name not in LEFT_OUT]
        count += len(folders) + len(names)
        size += sum(os.lstat(os.path.join(place, name)).st_size for name in names)
        limits = {
            f"more than {LARGEST_HOMEWORK >> 20} MiB": size > LARGEST_HOMEWORK,
            f"more than {MOST_FILES:,} files": count > MOST_FILES,
            f"folders in folders, more than {DEEPEST} deep": len(Path(place).parts) - top > DEEPEST,
        }
        if much := next((text for text, is_beyond in limits.items() if is_beyond), ""):
            raise CourseError(
                f"{shorten(folder)} holds {much}, and every run gets a copy: name the folder of the homework"
                " alone."
            )
