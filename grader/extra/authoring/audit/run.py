"""Audit a homework: run its tests on mutants, and look for inputs on which those that pass are wrong."""

from __future__ import annotations

import hashlib
import json
import os
import random
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import grader
from grader.course.catalog import CourseError
from grader.course.files import cache_folder
from grader.edits.walk import RARER
from grader.extra.authoring.audit.homework import Homework
from grader.extra.authoring.audit.pool import Job, Pool, Result, Status
from grader.extra.authoring.audit.record import Audit, Fate, MutantFate, SubmissionFate, Witness, witness_of
from grader.extra.authoring.mutation.strength import Mutant, mutants

FIRST_SECONDS = 300.0  # that the solution may take
LEAST_CPU, SLOWER_CPU = 3.0, 5.0  # processor seconds of a mutant, and times those of the solution
LEAST_WALL, SLOWER_WALL = 15.0, 10.0
WITNESS_SECONDS = 6.0
QUOTED = 1_500  # characters of what a failing test command has printed
PASSED = "passed"  # the fate of a mutant that passes the tests, until its witness is looked for
#: Families of operators in the order in which one of each is tried: rare and typical mistakes come first.
FAMILIES = [*(family.name for family in RARER), "expressions", "statements"]


@dataclass(frozen=True)
class Options:
    """The options of an audit."""

    seconds: float = 600.0
    mutants: int = 300
    isolation: str = "best"
    at_once: int = 0
    fresh: bool = False


@dataclass
class Trace:
    """What one run of the tests with the solution has shown."""

    tests: list[str]
    lines: dict[str, set[tuple[str, int]]]  # by test; "" while files are loaded
    calls: str  # the file of recorded calls
    cpu: float
    wall: float
    ran: int  # tests that were not skipped
    keeps_order: bool = True  # the tests need their order
    by_line: dict[tuple[str, int], list[str]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for test, lines in self.lines.items():
            for line in lines:
                self.by_line.setdefault(line, []).append(test)

    @property
    def limits(self) -> dict[str, Any]:
        cpu = max(LEAST_CPU, SLOWER_CPU * self.cpu)
        return {"cpu": cpu, "wall": max(LEAST_WALL, SLOWER_WALL * self.wall)}


class Auditor:
    """An audit that is going on. `say` is called with a line of progress."""

    def __init__(self, pool: Pool, options: Options, say: Callable[[str], None] = lambda _: None) -> None:
        self.pool, self.options, self.say = pool, options, say
        self.homework = pool.homework
        self.began = time.monotonic()
        self.found: list[MutantFate] = []
        self.submissions: list[SubmissionFate] = []
        self.notes: list[str] = []
        self.made, self.is_whole = 0, True
        self.store = Store(self.homework, pool.isolation, options.fresh)
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

    def _trace(self) -> Trace:
        """Run the tests with the solution. Raises CourseError if they fail or never reach it."""
        homework, place = self.homework, self.pool.folder
        keep = {name: str(place / name) for name in ("trace.json", "calls.pickle")}
        traced = {"files": list(homework.sources), "adapters": list(homework.adapters)}
        plain = self.pool.run(Job(cpu=FIRST_SECONDS, wall=FIRST_SECONDS))
        self._require_success(plain)
        job = Job(more={"trace": traced}, keep=keep, cpu=3 * FIRST_SECONDS, wall=3 * FIRST_SECONDS)
        result = self.pool.run(job)
        lines: dict[str, set[tuple[str, int]]] = {}
        if set(keep) <= set(result.kept):
            with suppress(
                OSError, ValueError, KeyError, TypeError, AttributeError, ArithmeticError, RecursionError
            ):
                found = json.loads((place / "trace.json").read_text("utf-8"))["lines"]
                lines = {str(test): {(str(a), int(b)) for a, b in found[test]} for test in found}
        if not any(file in homework.sources for reached in lines.values() for file, _ in reached):
            raise CourseError(
                f"The tests succeed, and never run a line of {', '.join(homework.sources)}. Do they import"
                " another file? --solution names the right answer, --replaces the file that the tests import."
            )
        tests = [test for test in result.answer.get("tests", ()) if isinstance(test, str)]
        trace = Trace(tests, lines, keep["calls.pickle"], plain.cpu, plain.wall, _ran(result))
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
        how = {"hung": f"do not end within {FIRST_SECONDS:.0f} seconds", "flooded": "print without an end"}
        failed = result.answer.get("failed")
        what = f" The first that fails: {failed}." if failed else ""
        held = "" if self.pool.isolation == "none" else " (In the sandbox; --isolation none runs without.)"
        printed = result.printed[-QUOTED:].strip()
        raise CourseError(
            f"The tests {how.get(result.status, 'fail')} for the solution, so nothing can be said about"
            f" them.{what}{held}" + (f"\n{printed}" if printed else "")
        )

    # mutants

    def try_mutants(self) -> None:
        """Run the tests on some of the mutants, and look for witnesses of those that pass."""
        chosen = self._chosen()
        for n, (key, one) in enumerate(self._fates(chosen), 1):
            self.found.append(one)
            self.store.keep(key, one.fate, one.test, one.witness)
            counts = self.audit()
            self.say(
                f"{n} of {len(chosen)} mutants: {counts.caught} caught, {counts.count('survived')} missed,"
                f" {counts.count('equal')} perhaps equal"
            )
        if len(self.found) < len(chosen):
            self.is_whole = False
            self.notes.append(f"Stopped after {self.options.seconds:.0f} seconds; run again to go on.")
        self.found.sort(key=lambda one: (one.file, one.line, one.now))

    def _chosen(self) -> list[tuple[str, Mutant]]:
        """Return the mutants to try with their files: in turn of each function and family."""
        groups: dict[tuple[str, str, str], list[tuple[str, Mutant]]] = {}
        reached = set(self.trace.by_line)
        for file, source in self.homework.sources.items():
            found = list(mutants(source))
            ran = {one.where for one in found if (file, one.line) in reached}
            for one in found:
                if one.where in ran and one.where:
                    groups.setdefault((one.family, file, one.where), []).append((file, one))
        for group in groups.values():
            random.Random(0).shuffle(group)
        self.made = sum(map(len, groups.values()))
        order = sorted(groups, key=lambda key: FAMILIES.index(key[0]))
        chosen: list[tuple[str, Mutant]] = []
        while any(groups.values()) and len(chosen) < self.options.mutants:
            for key in order:
                if groups[key]:
                    chosen.append(groups[key].pop())
        return chosen[: self.options.mutants]

    def _fates(self, chosen: list[tuple[str, Mutant]]) -> Iterator[tuple[str, MutantFate]]:
        """Yield each mutant's fate (caught, passed, hung) once it is known; stored ones of an
        earlier run come first."""
        left, survivors = [], []
        for file, one in chosen:
            key = self.store.key(file, one.source)
            known = self.store.known.get(key)
            if known is None:
                left.append((key, file, one))
            elif known["fate"] == PASSED:
                survivors.append((key, file, one))
            else:
                yield key, replace(_fate(file, one, known["fate"], known["test"]), witness=_stored(known))
        jobs = ((item, self._tests_of(*item[1:])) for item in self._in_time(left))
        for (key, file, one), result in self.pool.run_all(jobs):
            if self.status_of(result) == "passed":
                survivors.append((key, file, one))
                self.store.keep(key, PASSED)
            else:
                fate: Fate = "hung" if result.status == "hung" else "caught"
                yield key, _fate(file, one, fate, str(result.answer.get("failed") or "")[:QUOTED])
        searches = ((item, self._search(item[1], item[2])) for item in self._in_time(survivors))
        for (key, file, one), result in self.pool.run_all(searches):
            witness = witness_of(result.answer)
            if result.status != "passed":
                last = result.printed.strip().splitlines()[-1:]
                self.notes.append(
                    f"{one.where}: the search for an input ended early. {' '.join(last)}".rstrip()
                )
            yield key, replace(_fate(file, one, "survived" if witness else "equal"), witness=witness)

    def status_of(self, result: Result) -> Status:
        """Return how the tests ended: they fail if fewer of them ran than with the solution."""
        return "failed" if result.status == "passed" and _ran(result) < self.trace.ran else result.status

    def _in_time(self, items: list[Any]) -> Iterator[Any]:
        """Yield the items until the time is over."""
        for item in items:
            if time.monotonic() - self.began > self.options.seconds:
                return
            yield item

    def _tests_of(self, file: str, one: Mutant) -> Job:
        first = [] if self.trace.keeps_order else self.trace.by_line.get((file, one.line), [])
        return Job(files={file: one.source}, more={"first": first}, **self.trace.limits)

    def _search(self, file: str, one: Mutant) -> Job:
        lines = [(file, one.line)] if (file, one.line) in self.trace.by_line else []
        return self.search({file: one.source}, lines, one.where)

    def search(self, files: dict[str, str], lines: list[tuple[str, int]], where: str = "") -> Job:
        """Return the job that looks for an input on which these files differ from the solution; calls of
        `where` come first, and those that reach the lines."""
        more = {"calls": self.trace.calls, "lines": lines, "seconds": WITNESS_SECONDS, "where": where}
        return Job("witness", files, more, cpu=4 * WITNESS_SECONDS, wall=10 * WITNESS_SECONDS)


def _ran(result: Result) -> int:
    ran = result.answer.get("ran")
    return ran if isinstance(ran, int) else 0


def _fate(file: str, one: Mutant, fate: Fate, test: str = "") -> MutantFate:
    return MutantFate(file, one.line, one.where, one.family, one.was, one.now, fate, test, None, one.source)


def _stored(known: dict[str, Any]) -> Witness | None:
    if not known["witness"]:
        return None
    return Witness(**{**known["witness"], "steps": tuple(known["witness"]["steps"])})


class Store:
    """The fates that are known already, in a file of the user's cache: a line of JSON for each."""

    def __init__(self, homework: Homework, isolation: str, fresh: bool) -> None:
        self.path = cache_folder() / "audits" / f"{_digest(homework, isolation)}.jsonl"
        self.known: dict[str, dict[str, Any]] = {}
        if fresh:
            with suppress(OSError):
                self.path.unlink()
        with suppress(OSError):
            for line in self.path.read_text("utf-8").splitlines():
                with suppress(ValueError, KeyError, TypeError):  # the last line may be cut
                    entry = json.loads(line)
                    self.known[entry.pop("key")] = entry

    def key(self, file: str, source: str) -> str:
        return hashlib.sha256(f"{file}\0{source}".encode()).hexdigest()

    def keep(self, key: str, fate: str, test: str = "", witness: Witness | None = None) -> None:
        """Write a fate at once, so that an audit that is stopped goes on from there."""
        entry = {"fate": fate, "test": test, "witness": vars(witness) if witness else None}
        if self.known.get(key, {}).get("fate") == fate:
            return
        self.known[key] = entry
        with suppress(OSError):
            self.path.parent.mkdir(parents=True, exist_ok=True)
            with self.path.open("a", encoding="utf-8") as file:
                file.write(json.dumps({"key": key, **entry}) + "\n")


def _digest(homework: Homework, isolation: str) -> str:
    """Return a digest of all that a fate rests on except the mutant."""
    digest = hashlib.sha256(repr((grader.__version__, homework.command, isolation)).encode())
    for path in sorted(Path(__file__).parent.glob("*.py")):
        digest.update(path.read_bytes())
    for text in (*homework.sources.items(), *homework.written.items()):
        digest.update(repr(text).encode())
    for path in sorted(Path(homework.folder).rglob("*")):
        if path.is_file() and not {"__pycache__", ".git"} & set(path.parts):
            with suppress(OSError):
                name = os.fsencode(path.relative_to(homework.folder))
                digest.update(
                    name + (os.readlink(os.fsencode(path)) if path.is_symlink() else path.read_bytes())
                )
    return digest.hexdigest()
