"""Audit a homework: run its tests on mutants and submissions, and compare what passes with the solution."""

from __future__ import annotations

import ast
import doctest
import hashlib
import json
import os
import random
import re
import time
import zipfile
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import msgspec

import grader
from dojo_audit import homework as reader
from dojo_audit.homework import Homework
from dojo_audit.pool import Job, Result, ServerPool, Status
from dojo_audit.report import Audit, Fate, SubmissionFate, TestedMutant, Witness, witness_of
from grader.course.archives import Zip
from grader.course.files import cache_folder, read_file, shorten
from grader.edits.mutants import mutants as mutants_of
from grader.edits.walk import FAMILIES
from grader.errors import CourseError

FIRST_SECONDS = 300.0  # that the solution may take
LEAST_CPU, SLOWER_CPU = 3.0, 5.0  # processor seconds of a mutant, and times those of the solution
LEAST_WALL, SLOWER_WALL = 15.0, 10.0
WITNESS_SECONDS = 3.0  # of the processor
QUOTED = 1_500  # characters of what a failing test command has printed
MOST_SUBMISSIONS = 5_000
#: Families of operators in the order in which one of each is tried. No student writes what the others make.
TRIED = [family for family in FAMILIES if family not in ("state", "buffers")]


@dataclass(frozen=True)
class Options:
    """The options of `kata audit`; those of `kata import` are the ones that an audit itself needs."""

    solution: tuple[Path, ...] = ()
    tests: str = ""
    replaces: Path | None = None
    mutants: int = 300
    seconds: float = 600.0
    isolation: str = "best"
    at_once: int = 0
    fresh: bool = False
    submissions: Path | None = None
    names: bool = False
    form: str = "terminal"
    output: Path | None = None
    at_least: float | None = None
    tests_file: Path | None = None
    mistakes_file: Path | None = None


def mutants(file: str, source: str, *, of_asserts: bool = True) -> Iterator[TestedMutant]:
    """Yield every distinct mutant of a source that a student could write; with `of_asserts` false, none that
    changes an `assert`, which says for which arguments a function is made."""
    asserts = [node for node in ast.walk(ast.parse(source)) if isinstance(node, ast.Assert)]
    lines = {line for node in asserts for line in range(node.lineno, (node.end_lineno or node.lineno) + 1)}
    for one in mutants_of(source, families=TRIED):
        if one.where and (of_asserts or one.place.line not in lines):
            yield TestedMutant(
                file, one.place.line, one.where, one.family, one.was, one.now, source=one.source
            )


@dataclass
class RunTrace:
    """What one run of the tests with the solution has shown. `values` are those that generated tests of
    nbgrader compare."""

    tests: list[str]
    lines: dict[str, set[tuple[str, int]]]  # by test; "" while files are loaded, or for tests without names
    calls: str  # the file of recorded calls
    cpu: float
    wall: float
    ran: int  # tests that were not skipped
    values: list[str]
    keeps_order: bool = True  # the tests need their order
    by_line: dict[tuple[str, int], list[str]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for test, lines in self.lines.items():
            for line in lines if test or not self.tests else ():
                self.by_line.setdefault(line, []).append(test)

    @property
    def limits(self) -> dict[str, Any]:
        cpu = max(LEAST_CPU, SLOWER_CPU * self.cpu)
        return {"cpu": cpu, "wall": max(LEAST_WALL, SLOWER_WALL * self.wall)}


class Auditor:
    """An audit that is going on. `say` is called with a line of progress."""

    def __init__(
        self, pool: ServerPool, options: Options, say: Callable[[str], None] = lambda _: None
    ) -> None:
        self.pool, self.options, self.say = pool, options, say
        self.homework = pool.homework
        self.began = time.monotonic()
        self.found: list[TestedMutant] = []
        self.submissions: list[SubmissionFate] = []
        self.notes: list[str] = []
        self.made, self.is_whole = 0, True
        defined = {name for text in self.homework.sources.values() for name in reader.defines(text)}
        texts = [*self.homework.text_of_tests().values()]
        examples = [_examples_in(text) for text in (*texts, *self.homework.sources.values())]
        self.words = _words_of([*texts, *examples], defined)
        self.store = FateCache(self.homework, pool.isolation, fresh=options.fresh)
        self.trace = self._trace()

    def audit(self) -> Audit:
        """Return what has been found so far."""
        return Audit(
            self.homework.label,
            tuple(self.homework.sources),
            self.homework.command.text,
            len(self.trace.tests),
            self.made,
            tuple(self.found),
            tuple(self.submissions),
            tuple(self.notes),
            {"isolation": self.pool.isolation, **vars(self.pool.protection)},
            round(time.monotonic() - self.began, 2),
            round(self.pool.cpu, 2),
            self.is_whole,
        )

    def _trace(self) -> RunTrace:
        """Run the tests with the solution. Raises CourseError if they fail or never reach it."""
        homework, place = self.homework, self.pool.folder
        keep = {name: str(place / name) for name in ("trace.json", "calls.pickle")}
        traced = {"files": list(homework.sources), "adapters": list(homework.adapters)}
        plain = self.pool.run(Job(cpu=FIRST_SECONDS, wall=FIRST_SECONDS))
        self._require_success(plain)
        values = plain.answer.get("values") or []
        more = {"trace": {**traced, "writes": self.words["writes"]}, "values": values}
        result = self.pool.run(Job(more=more, keep=keep, cpu=3 * FIRST_SECONDS, wall=3 * FIRST_SECONDS))
        lines: dict[str, set[tuple[str, int]]] = {}
        if set(keep) <= set(result.kept):
            with suppress(
                OSError, ValueError, KeyError, TypeError, AttributeError, ArithmeticError, RecursionError
            ):
                found = json.loads((place / "trace.json").read_text("utf-8"))["lines"]
                lines = {str(test): {(str(a), int(b)) for a, b in found[test]} for test in found}
        tests = [test for test in result.answer.get("tests", ()) if isinstance(test, str)]
        trace = RunTrace(tests, lines, keep["calls.pickle"], plain.cpu, plain.wall, _ran(result), values)
        if not any(file in homework.sources for file, _ in trace.by_line):
            raise CourseError(
                f"The tests succeed, and never run a line of a function of {', '.join(homework.sources)}. Do"
                " they import another file? --solution names the right answer, --replaces the file in whose"
                " place it is put."
            )
        if homework.command.is_pytest:
            backwards = self.pool.run(Job(more={"backwards": True}, **trace.limits))
            trace.keeps_order = backwards.status != "passed"
            if trace.keeps_order:
                self.notes.append("The tests fail with the solution in another order, so they run in theirs.")
        return trace

    def _require_success(self, result: Result) -> None:
        """Raise CourseError, with what failed, unless the tests succeed for the solution."""
        if result.status == "passed":
            return
        how = {
            "hung": f"do not end within {FIRST_SECONDS:.0f} seconds",
            "flooded": "print without an end",
            "crowded": "start processes without an end",
        }
        failed = result.answer.get("failed")
        what = f" The first that fails: {failed}." if failed else ""
        what += _why_at_the_end(self.homework, str(failed))
        held = "" if self.pool.isolation == "none" else " (In the sandbox; --isolation none runs without.)"
        printed = re.sub(r"/\S*/run-\d+/work/", "", result.printed[-QUOTED:]).strip()
        raise CourseError(
            f"The tests {how.get(result.status, 'fail')} for the solution, so nothing can be said about"
            f" them.{what}{held}" + (f"\n{printed}" if printed else "")
        )

    # mutants

    def try_mutants(self) -> None:
        """Run the tests on some of the mutants, and look for witnesses of those that pass."""
        chosen = self._chosen()
        for n, one in enumerate(self._fates(chosen), 1):
            self.found.append(one)
            self.store.keep(one)
            counts = self.audit()
            self.say(
                f"{n} of {len(chosen)} mutants: {counts.caught} caught, {counts.count('survived')} missed,"
                f" {counts.count('equal')} undecided"
            )
        if len(self.found) < len(chosen):
            self.is_whole = False
            self.notes.append(f"Stopped after {self.options.seconds:.0f} seconds; run again to go on.")
        self.found.sort(key=lambda one: (one.file, one.line, one.now))

    def _chosen(self) -> list[TestedMutant]:
        """Return the mutants to try of functions that a test reaches: of each and of each family in turn."""
        groups: dict[tuple[str, str, str], list[TestedMutant]] = {}
        for file, source in self.homework.sources.items():
            asks = "AssertionError" in self.words["names"]
            found = list(mutants(file, source, of_asserts=asks))
            ran = _functions_at(source, {line for name, line in self.trace.by_line if name == file})
            for one in found:
                if one.where in ran:
                    groups.setdefault((one.family, file, one.where), []).append(one)
        for group in groups.values():
            random.Random(0).shuffle(group)
        self.made = sum(map(len, groups.values()))
        order = sorted(groups, key=lambda key: TRIED.index(key[0]))
        chosen: list[TestedMutant] = []
        while any(groups.values()) and len(chosen) < self.options.mutants:
            chosen += [groups[key].pop() for key in order if groups[key]]
        return chosen[: self.options.mutants]

    def _fates(self, chosen: list[TestedMutant]) -> Iterator[TestedMutant]:
        """Yield each mutant's fate once it is known; stored ones of an earlier run come first."""
        left, survivors = [], []
        for one in chosen:
            if (known := self.store.known(one)) is None:
                left.append(one)
            elif known.fate == "passed":
                survivors.append(one)
            else:
                yield known
        jobs = ((one, self._tests_of(one)) for one in self._in_time(left))
        for one, result in self.pool.run_all(jobs):
            if self.status_of(result) == "passed":
                survivors.append(one)
                self.store.keep(replace(one, fate="passed"))
            else:
                fate: Fate = "hung" if result.status == "hung" else "caught"
                yield replace(one, fate=fate, test=str(result.answer.get("failed") or "")[:QUOTED])
        searches = ((one, self._search(one)) for one in self._in_time(survivors))
        for one, result in self.pool.run_all(searches):
            witness = witness_of(result.answer)
            if result.status != "passed":
                last = result.printed.strip().splitlines()[-1:]
                note = f"{one.where}: the search for an input ended early. {' '.join(last)}".rstrip()
                if note not in self.notes:
                    self.notes.append(note)
            yield replace(one, fate="survived" if witness else "equal", witness=witness)

    def status_of(self, result: Result) -> Status:
        """Return how the tests ended: they fail if fewer of them ran than with the solution."""
        return "failed" if result.status == "passed" and _ran(result) < self.trace.ran else result.status

    def _in_time(self, items: list[Any]) -> Iterator[Any]:
        """Yield the items until the time is over."""
        for item in items:
            if time.monotonic() - self.began > self.options.seconds:
                return
            yield item

    def _tests_of(self, one: TestedMutant) -> Job:
        first = [] if self.trace.keeps_order else self.trace.by_line.get((one.file, one.line), [])
        return self.tests({one.file: one.source}, first=first)

    def tests(self, files: dict[str, str], **more: Any) -> Job:
        """Return the job that runs the tests with these files in place of the solution's."""
        return Job(files=files, more={"values": self.trace.values, **more}, **self.trace.limits)

    def _search(self, one: TestedMutant) -> Job:
        lines = [(one.file, one.line)] if (one.file, one.line) in self.trace.by_line else []
        return self.search("search", {one.file: one.source}, lines, one.where)

    def search(
        self, work: str, files: dict[str, str], lines: Any = (), where: str = "", *, is_lenient: bool = False
    ) -> Job:
        """Return the job that looks for an input on which these files differ from the solution; calls of
        `where` come first, and those that reach the lines."""
        more = {"calls": self.trace.calls, "lines": list(lines), "where": where, "is_lenient": is_lenient}
        more |= {"seconds": WITNESS_SECONDS, **self.words}
        return Job(work, files, more, cpu=15 * WITNESS_SECONDS, wall=45 * WITNESS_SECONDS)

    # submissions

    def try_submissions(self, folder: Path) -> None:
        """Run the tests on every submission, and look for an input on which those that pass differ. Raises
        CourseError."""
        found = list(submitted(self.homework, folder, self.notes))
        if not found:
            raise CourseError(f"{shorten(folder)} holds no submission with {_wanted(self.homework)}.")
        ended: dict[str, Status] = {}
        tests = ((path, self.tests(texts)) for path, texts in found)
        for path, result in self.pool.run_all(tests):
            ended[path] = self.status_of(result)
            self.say(f"{len(ended)} of {len(found)} submissions are tested")
        witnesses: dict[str, Witness | None] = {}
        searches = ((path, self.search("search", texts, is_lenient=True)) for path, texts in found)
        for path, result in self.pool.run_all(searches):
            witnesses[path] = witness_of(result.answer)
            if witnesses[path] is None and result.status != "passed":
                self.notes.append(f"{path}: the search for an input did not end.")
            self.say(f"{len(witnesses)} of {len(found)} submissions are compared")
        groups: dict[tuple[str, str], int] = {}
        for path, _ in found:
            witness, passes, group = witnesses[path], ended[path] == "passed", 0
            if passes and witness:
                group = groups.setdefault((witness.code, witness.got), len(groups) + 1)
            self.submissions.append(
                SubmissionFate(
                    path, path.partition("/")[0], passes, ended[path], witness is not None, witness, group
                )
            )


def _words_of(texts: Any, defined: set[str]) -> dict[str, Any]:
    """Return the names in tests: all, the public attributes that they read, and those that they set; and by
    function which parts of a result are `unread`: tests only pass them on to what the solution has `defined`,
    as they do with a cache."""
    names: set[str] = set()
    reads: set[str] = set()
    writes: set[str] = set()
    parts: dict[tuple[str, int], bool] = {}
    for text in texts:
        with suppress(SyntaxError, ValueError, RecursionError, MemoryError):
            nodes = list(ast.walk(ast.parse(text)))
            called = {id(node.func) for node in nodes if isinstance(node, ast.Call)}
            names |= {node.id for node in nodes if isinstance(node, ast.Name)}
            calls = [node for node in nodes if isinstance(node, ast.Call) and _called(node) in defined]
            passed = {id(argument) for call in calls for argument in call.args}
            used = [node for node in nodes if isinstance(node, ast.Name) and id(node) not in passed]
            loaded = {node.id for node in used if isinstance(node.ctx, ast.Load)}
            for node in nodes:
                if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Tuple):
                    for number, part in enumerate(node.targets[0].elts):
                        key = _called(node.value), number
                        is_read = not isinstance(part, ast.Name) or (part.id[0] != "_" and part.id in loaded)
                        parts[key] = parts.get(key, False) or is_read
            for node in nodes:
                if isinstance(node, ast.Attribute) and node.attr[0] != "_" and id(node) not in called:
                    (reads if isinstance(node.ctx, ast.Load) else writes).add(node.attr)
    unread: dict[str, list[int]] = {}
    for (function, number), is_read in parts.items():
        unread.setdefault(function, []).extend([] if is_read else [number])
    return {"names": sorted(names), "reads": sorted(reads), "writes": sorted(writes), "unread": unread}


def _why_at_the_end(homework: Homework, test: str) -> str:
    """Return why a test of otter may fail that no cell asks for: it runs behind all cells, of which several
    assign a variable that it reads. Empty if that is not so."""
    cells = homework.cells
    name = next((name for name, file in (cells.otter if cells else {}).items() if file == test), "")
    if cells is None or not name:
        return ""
    texts = [cells.texts[file] for file in cells.without_tests]
    if any(re.search(rf"check\(\s*['\"]{re.escape(name)}['\"]", text) for text in texts):
        return ""
    words = set(re.findall(r"\w+", homework.text_of_tests().get(test, "")))
    times = Counter(word for text in texts for word in _assigned_in(text))
    again = [f"`{word}`" for word, count in times.items() if count > 1 and word in words]
    if not again:
        return ""
    return (
        f' It runs behind all cells, since none calls grader.check("{name}"), and several cells assign'
        f" {' and '.join(again)}: let the cell behind its question call that."
    )


def _assigned_in(text: str) -> set[str]:
    """Return the variables that a cell assigns."""
    with suppress(SyntaxError, ValueError, RecursionError, MemoryError):
        nodes = [inner for node in ast.parse(text).body for inner in _outside_of_functions(node)]
        return {n.id for n in nodes if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)}
    return set()


def _outside_of_functions(node: ast.AST) -> Iterator[ast.AST]:
    """Yield a node and what is in it, without the bodies of functions and classes."""
    if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef | ast.Lambda):
        yield node
        for child in ast.iter_child_nodes(node):
            yield from _outside_of_functions(child)


def _examples_in(text: str) -> str:
    """Return the code of a text's doctests."""
    with suppress(ValueError):
        return "".join(example.source for example in doctest.DocTestParser().get_examples(text))
    return ""


def _called(node: ast.AST) -> str:
    """Return the name of what is called, without its module."""
    return ast.unparse(node.func).rpartition(".")[2] if isinstance(node, ast.Call) else ""


def _functions_at(source: str, lines: set[int]) -> set[str]:
    """Return the functions, in the words of a mutant's `where`, of which one of the lines is run."""
    found: set[str] = set()

    def visit(node: ast.AST, name: str) -> None:
        for child in ast.iter_child_nodes(node):
            if isinstance(child, ast.FunctionDef | ast.ClassDef | ast.AsyncFunctionDef):
                inner = f"{name}.{child.name}".lstrip(".")
                body = range(child.body[0].lineno, (child.end_lineno or 0) + 1)
                found.update([inner] if lines & set(body) else [])
                visit(child, inner)
            else:
                visit(child, name)

    visit(ast.parse(source), "")
    return found


def _ran(result: Result) -> int:
    ran = result.answer.get("ran")
    return ran if isinstance(ran, int) else 0


class Known(msgspec.Struct):
    """What an earlier run has found out about a mutant; the key is a digest of its file and source."""

    key: str
    fate: Fate
    test: str
    witness: Witness | None


class FateCache:
    """The fates that are known already, in a file of the user's cache: a line of JSON for each."""

    def __init__(self, homework: Homework, isolation: str, *, fresh: bool) -> None:
        self.path = cache_folder() / "audits" / f"{_digest(homework, isolation)}.jsonl"
        self.fates: dict[str, Known] = {}
        if fresh:
            self.path.unlink(missing_ok=True)
        with suppress(OSError):
            for line in self.path.read_bytes().splitlines():
                with suppress(msgspec.DecodeError):  # the last line may be cut
                    found = msgspec.json.decode(line, type=Known)
                    self.fates[found.key] = found

    def known(self, one: TestedMutant) -> TestedMutant | None:
        found = self.fates.get(_key(one))
        if found is None:
            return None
        return replace(one, fate=found.fate, test=found.test, witness=found.witness)

    def keep(self, one: TestedMutant) -> None:
        """Write a fate at once, so that an audit that is stopped goes on from there."""
        entry = Known(_key(one), one.fate, one.test, one.witness)
        if self.fates.get(entry.key) != entry:
            self.fates[entry.key] = entry
            with suppress(OSError):
                self.path.parent.mkdir(parents=True, exist_ok=True)
                with self.path.open("ab") as file:
                    file.write(msgspec.json.encode(entry) + b"\n")


def _key(one: TestedMutant) -> str:
    return hashlib.sha256(f"{one.file}\0{one.source}".encode()).hexdigest()


def _digest(homework: Homework, isolation: str) -> str:
    """Return a digest of all that a fate rests on except the mutant."""
    digest = hashlib.sha256(repr((grader.__version__, homework.command, isolation)).encode())
    digest.update(repr((sorted(homework.sources.items()), sorted(homework.written.items()))).encode())
    for path in sorted(Path(__file__).parent.glob("*.py")):
        digest.update(path.read_bytes())
    for path in sorted(Path(homework.folder).rglob("*")):
        if path.is_file() and not {"__pycache__", ".git"} & set(path.parts):
            with suppress(OSError):
                digest.update(os.fsencode(path.relative_to(homework.folder)))
                digest.update(os.readlink(os.fsencode(path)) if path.is_symlink() else path.read_bytes())
    return digest.hexdigest()


def _wanted(homework: Homework) -> str:
    return (
        homework.cells.notebook if homework.cells and homework.cells.notebook else ", ".join(homework.sources)
    )


def submitted(homework: Homework, folder: Path, notes: list[str]) -> Iterator[tuple[str, dict[str, str]]]:
    """Yield the path of each submission, and the texts in place of the homework's sources. Each entry of a
    folder or a zip is a student's: a file, or a folder. A note says why there is none. Raises CourseError."""
    suffix = ".ipynb" if _wanted(homework).endswith(".ipynb") else ".py"
    names = [_wanted(homework)] if suffix == ".ipynb" else list(homework.sources)
    for student, files in sorted(_entries(folder).items()):
        chosen = {name: _named_like(name, files) for name in names}
        fitting = [path for path in sorted(files) if path.endswith(suffix)]
        if len(names) == len(fitting) == 1:
            chosen = {names[0]: fitting[0]}
        texts: dict[str, str] = {}
        path = next(iter(filter(None, chosen.values())), "") if len(names) == 1 else student
        try:
            for name, place in chosen.items():
                data = files[place]() if place else None
                if data is not None and suffix == ".ipynb":
                    texts |= _cells(homework, Path(place), data)
                elif data is not None:
                    texts[name] = data.decode()
        except (CourseError, ValueError) as error:
            notes.append(f"{student} cannot be read: {error}.")
        except OSError as error:
            notes.append(f"{reader.unreadable(student, error)}.")
        else:
            if texts:
                yield path, texts
            else:
                notes.append(f"{student} holds no {_wanted(homework)}.")


def _entries(folder: Path) -> dict[str, dict[str, Callable[[], bytes]]]:
    """Return what reads each file of a folder or a zip, by student and path. Raises CourseError."""
    found: dict[str, dict[str, Callable[[], bytes]]] = {}

    def add(path: str, read: Callable[[], bytes]) -> None:
        parts = path.split("/")
        if parts[-1].endswith((".py", ".ipynb")) and not any(part.startswith((".", "__")) for part in parts):
            found.setdefault(parts[0], {})[path] = read
        if len(found) > MOST_SUBMISSIONS:
            raise CourseError(f"{shorten(folder)} holds more than {MOST_SUBMISSIONS:,} submissions.")

    if folder.is_dir():
        for place, folders, names in os.walk(folder):
            folders.sort()
            for path in (Path(place, name) for name in names):
                add(path.relative_to(folder).as_posix(), lambda path=path: read_file(path))  # type: ignore[misc]
        return found
    try:
        archive = Zip(folder)
        for parts in archive.members:
            add("/".join(parts), lambda parts=parts: archive.read(parts, 1 << 24))  # type: ignore[misc]
    except OSError as error:
        raise CourseError(f"{reader.unreadable(shorten(folder), error)}.") from None
    except zipfile.BadZipFile as error:
        raise CourseError(f"{shorten(folder)} cannot be read: {error}.") from None
    return found


def _named_like(name: str, files: dict[str, Any]) -> str:
    """Return the path of the file that stands for a source: of its name, or of one that a platform has made
    of it, such as `ann_123_losses.py` or `losses-2.py`."""
    wanted, suffix = Path(name).stem, Path(name).suffix
    like = re.compile(rf"(.*[\W_])?{re.escape(wanted)}([-_ (]*\d+\)?)?{re.escape(suffix)}")
    found = [path for path in sorted(files) if like.fullmatch(path.rpartition("/")[2])]
    return next((path for path in found if path.rpartition("/")[2] == wanted + suffix), (found or [""])[0])


def _cells(homework: Homework, path: Path, data: bytes) -> dict[str, str]:
    """Return the files of a homework's notebook with a student's cells in place of the solution's. A cell
    takes the place of the one with its name, or of the one that defines the same functions."""
    assert homework.cells is not None
    cells = [cell for cell in reader.read_notebook(path, data)[0] if cell.kind == "code"]
    named = {cell.name: reader.plain(cell.source) for cell in cells}
    texts = {}
    for file, name in homework.cells.answers.items():
        place = f"{homework.at}/{file}".lstrip("/")
        wanted = set(reader.defines(homework.sources[place]))
        defining = [text for text in named.values() if wanted & set(reader.defines(text))]
        found = None if name.startswith("cell_") else named.get(name)
        texts[place] = "\n\n".join(defining) if found is None else found
    return texts
