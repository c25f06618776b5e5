"""`kata verify --mutate`: count the mutants that the checks of each kata catch, and list the others.

Equivalent mutants: correct answers, listed by hand with a reason in the kata's `equivalent.toml`.

    [[equivalent]]
    where = "normalize"
    was = "largest = x.max(axis=axis, keepdims=True)"
    now = "largest = x.max(keepdims=True)"
    because = "What is subtracted cancels, as long as it is one number a slice."

An entry names a change, not a line number, so that it survives edits elsewhere. An entry that matches no
mutant is reported.

Run a kata's checks on a mutant, in a fork with limits, until the first one fails.

The tables of mutation results in the docs; a run replaces only the counts that it measured.

Generate the mutants of a reference; each differs from it by one mutation that is typical of array code.

Mutation libraries (mutmut, cosmic-ray) have no operators for axes or transpositions, and start a test command
for each mutant. These mutants are syntax trees, and each runs in a fork.
"""

from __future__ import annotations

import ast
import json
import os
import re
import time
import tomllib
import warnings
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import click
import numpy as np

from dojo_authoring.parallel import for_each
from dojo_authoring.release import keys
from dojo_authoring.verify.judged import recorded_mistakes
from grader.cases.generation import SEED
from grader.cases.oracle import Oracle
from grader.checks.context import CheckContext, PreparedKata
from grader.checks.kata_checks import checks_of
from grader.checks.runner import CheckResult, run_check, smallest
from grader.course.catalog import Course, CourseError, KataInfo, shorten
from grader.diagnosis.known_mistakes import KnownMistake, MistakeOfKey
from grader.diagnosis.matcher import matcher_of
from grader.edits.candidates import place_of_edit
from grader.edits.walk import FAMILIES, changed_lines, mutations
from grader.kata import Kata, KataError
from grader.worker.in_process import LocalStudent, run_forked


@dataclass(frozen=True)
class Mutant:
    """A mutant: the function that it changes, the lines before and after, its whole source, the family of the
    operator that made it, and the line of the original that it changes."""

    where: str
    was: str
    now: str
    source: str
    family: str = ""
    line: int = 0

    @property
    def diff(self) -> str:
        """The lines that differ, marked with - and +."""
        removed = [f"- {line}" for line in self.was.splitlines()]
        return "\n".join([*removed, *(f"+ {line}" for line in self.now.splitlines())])


def mutants(source: str, *, detaches: bool = False) -> Iterator[Mutant]:
    """Yield every distinct mutant of the source; `detaches` adds those that detach a gradient."""
    tree = ast.parse(source)
    original = ast.unparse(tree)
    seen = {original}
    for family, edit in mutations(tree, detaches=detaches):
        text = edit.source(tree)
        if text not in seen:
            seen.add(text)
            line = place_of_edit(edit).line
            yield Mutant(edit.where, *changed_lines(original, text), text, family, line)


Counts = tuple[int, int, int]  # mutants, caught, equivalent
Row = dict[str, Counts]  # the counts of a kata, by family of operators

COLUMNS = "mutants | caught | of all | right answers | missed |"
RULE = "|---|" + 5 * "---:|"
FIRST = "## Counts"
ROW = re.compile(r"^\| `(\w+)` \| \d+ (.*) \|$", re.M)
CELL = re.compile(r"(\d+) / (\d+) / (\d+)")


def read_rows(text: str) -> dict[str, Row]:
    """Return the counts in the page's table, by kata and family."""
    return {name: _row_of(cells.split(" | ")[-len(FAMILIES) :]) for name, cells in ROW.findall(text)}


def _row_of(cells: list[str]) -> Row:
    found = zip(FAMILIES, map(CELL.fullmatch, cells), strict=True)
    return {name: (int(cell[1]), int(cell[2]), int(cell[3])) for name, cell in found if cell}


def write_page(page: Path, course: Course, rows: dict[str, Row]) -> None:
    """Put new counts into the page's tables; keep the text above and the counts not measured."""
    text = page.read_text(encoding="utf-8") if page.is_file() else "# Strength\n\n"
    rows = {name: {**row, **rows.get(name, {})} for name, row in {**rows, **read_rows(text)}.items()}
    page.write_text(text.split(FIRST)[0] + tables(course, rows), encoding="utf-8")


def tables(course: Course, rows: dict[str, Row]) -> str:
    """Return the tables with one row per family and one row per kata, in course order."""
    known = {name: rows[name] for name in course.katas if rows.get(name)}
    families = {name: total(row[name] for row in known.values() if name in row) for name in FAMILIES}
    by_family = [_row(name, counts) for name, counts in families.items() if counts[0]]
    by_kata = [
        _row(f"`{name}`", total(row.values()), *map(_cell, map(row.get, FAMILIES)))
        for name, row in known.items()
    ]
    everything = total(families.values())
    head = [f"| kata | {COLUMNS} {' | '.join(FAMILIES)} |", RULE + len(FAMILIES) * "---:|"]
    return "\n".join(
        [
            *(FIRST, "", f"| operators | {COLUMNS}", RULE, *by_family, _row("all", everything), ""),
            "The last columns hold the mutants of a family, those caught, and the right answers.",
            *("", *head, *by_kata, _row("all", everything, *map(_cell, families.values())), ""),
        ]
    )


def total(counts: Iterable[Counts]) -> Counts:
    """Return the sums of the counts."""
    mutants, caught, right = map(sum, zip((0, 0, 0), *counts, strict=True))
    return mutants, caught, right


def _cell(counts: Counts | None) -> str:
    return " / ".join(map(str, counts)) if counts else ""


def _row(name: str, counts: Counts, *cells: str) -> str:
    tried, caught, right = counts
    share, missed = f"{caught / max(tried, 1):.1%}", str(tried - caught - right)
    return f"| {' | '.join((name, str(tried), str(caught), share, str(right), missed, *cells))} |"


LOADING, ENDLESS, LOST = "loading", "a limit of time", "a limit of memory"

#: Matches a message that names a line of the submission.
LINE = re.compile(r"\bline \d")


@dataclass(frozen=True)
class MutantResult:
    """The first check that a mutant fails, or the limit that it exceeds, and what its report would show."""

    check: str
    is_named: bool = False  # the report names a mistake of the course
    is_located: bool = False  # the report names a line, or an entry, shape or dtype that differs

    def to_text(self) -> str:
        """Return the result as text, which the fork sends to its parent."""
        return f"{self.is_named:d}{self.is_located:d}{self.check}"


def from_text(text: str) -> MutantResult:
    """Parse the text that `to_text` returns."""
    return MutantResult(text[2:], text[0] == "1", text[1] == "1")


class MutantRunner:
    """The checks of a kata, prepared to run on any number of mutants."""

    def __init__(self, kata: Kata, oracle: Oracle, mistakes: Sequence[KnownMistake] = ()) -> None:
        self.kata, self.oracle, self.matcher = kata, oracle, matcher_of(kata, mistakes)
        # most mutants fail the first check at its first cases
        self.checks = sorted(checks_of(kata, oracle), key=lambda check: check.nature.is_slow)

    def caught_by(self, source: str, seconds: float) -> str | None:
        """Return the first check that fails or the limit that is exceeded; None if all checks pass."""
        result = self.judge(source, seconds)
        return result.check if result else None

    def judge(self, source: str, seconds: float) -> MutantResult | None:
        """Return the result for a source; None if all checks pass."""
        code, output = run_forked(lambda: self._first_failure(source), seconds)
        if code is None:
            return MutantResult(ENDLESS, is_located=True)  # reports name the line at which a timeout occurs
        if code != 0:
            return MutantResult(LOST)
        return from_text(output) if output else None

    def _first_failure(self, source: str) -> str:
        with np.errstate(all="ignore"), warnings.catch_warnings():
            warnings.simplefilter("ignore")  # mutants are expected to cause warnings
            try:
                student = LocalStudent.from_source(self.kata.name, source)
            except Exception:
                return MutantResult(LOADING, is_located=True).to_text()
            context = CheckContext(self.kata, self.oracle, student)
            results = (run_check(check, context) for check in self.checks)
            failed = next((result for result in results if result.failures), None)
            return self._result(failed).to_text() if failed else ""

    def _result(self, failed: CheckResult) -> MutantResult:
        shown = smallest(failed)
        is_located = shown.difference is not None or bool(LINE.search(shown.message))
        return MutantResult(failed.check.name, bool(self.matcher.name([failed])), is_located)


FILE_NAME = "equivalent.toml"
FIELDS = {"where", "was", "now", "because"}


@dataclass(frozen=True)
class EquivalentMutant:
    """One change that keeps the answer correct, and the reason."""

    where: str
    was: str
    now: str
    because: str

    def matches(self, mutant: Mutant) -> bool:
        """Return whether the mutant has this change."""
        return (self.where, self.was.strip(), self.now.strip()) == (mutant.where, mutant.was, mutant.now)


def read_equivalents(path: Path) -> list[EquivalentMutant]:
    """Return the equivalent mutants of one kata, if any. Raises CourseError if the file is malformed."""
    if not path.is_file():
        return []
    try:
        found = tomllib.loads(path.read_text(encoding="utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise CourseError(f"{shorten(path)} cannot be read: {error}.") from None
    entries = found.get("equivalent")
    if set(found) != {"equivalent"} or not isinstance(entries, list):
        raise CourseError(f"{shorten(path)} must consist of tables [[equivalent]].")
    return [_equivalent(path, entry) for entry in entries]


def entry_text(mutant: Mutant) -> str:
    """Return the entry of a mutant, ready to paste; it is refused until `because` gives the reason."""
    fields = {"where": mutant.where, "was": mutant.was, "now": mutant.now, "because": ""}
    lines = [f"{name} = {json.dumps(text, ensure_ascii=False)}" for name, text in fields.items()]
    return "\n".join(["[[equivalent]]", *lines])


def _equivalent(path: Path, entry: object) -> EquivalentMutant:
    if not isinstance(entry, dict) or set(entry) != FIELDS:
        raise CourseError(f"{shorten(path)}: each [[equivalent]] has {', '.join(sorted(FIELDS))}.")
    if not all(isinstance(value, str) for value in entry.values()) or not entry["because"].strip():
        raise CourseError(f"{shorten(path)}: each [[equivalent]] holds texts, and says why in `because`.")
    return EquivalentMutant(**entry)


SLOWER = 5  # times the reference's duration that a mutant may take
LEAST_SECONDS, MOST_SECONDS = 10.0, 120.0


@dataclass
class Strength:
    """The mutants of one kata: counts, survivors, equivalent ones and outdated entries."""

    info: KataInfo
    tried: Counter[str] = field(default_factory=Counter)  # by family of operators
    survivors: list[Mutant] = field(default_factory=list)
    equivalent: list[Mutant] = field(default_factory=list)
    stale: list[EquivalentMutant] = field(default_factory=list)
    needless: list[EquivalentMutant] = field(default_factory=list)
    named: int = 0
    located: int = 0  # of those that are not named
    seconds: float = 0.0

    @property
    def mutants(self) -> int:
        return self.tried.total()

    @property
    def caught(self) -> int:
        return self.mutants - len(self.survivors) - len(self.equivalent)

    @property
    def counts(self) -> Row:
        """The mutants, those caught and the equivalent ones, by family."""
        equivalent = Counter(mutant.family for mutant in self.equivalent)
        passed = equivalent + Counter(mutant.family for mutant in self.survivors)
        return {name: (n, n - passed[name], equivalent[name]) for name, n in self.tried.items()}


def verify_strength(
    course: Course,
    names: tuple[str, ...],
    seed: int = SEED,
    page: Path | None = None,
    families: tuple[str, ...] = FAMILIES,
) -> int:
    """Run every mutant of the named katas, or of all, and print which survive.

    `families` limits the operators. Returns 0 if every survivor is listed as equivalent, else 1.
    """
    if unknown := ", ".join(sorted({*families} - {*FAMILIES})):
        raise CourseError(f"--family {unknown}: the families are {', '.join(FAMILIES)}.")
    infos = keys.chosen_katas(course, names)
    keys.require_solutions(course, infos, "Mutants are")
    if not hasattr(os, "fork"):
        raise CourseError("--mutate runs each mutant in a fork of its own, which this system does not have.")
    found = []
    for _, strength in for_each(course, infos, _run_mutants, seed, families):
        found.append(strength)
        click.echo("\n".join(_lines(strength)))
        if page is not None:  # after each kata, so that an aborted run keeps its rows
            write_page(page, course, {strength.info.name: strength.counts})
    missed = sum(len(s.survivors) + len(s.stale) + len(s.needless) for s in found)
    click.echo("\n".join([*_family_lines(found), _summary(found, missed)]))
    return 1 if missed else 0


def _family_lines(found: list[Strength]) -> list[str]:
    """Return a line for each family of operators."""
    lines = []
    for name in FAMILIES:
        tried, caught, right = total(s.counts[name] for s in found if name in s.counts)
        if tried:
            lines.append(f"{name:<30}{caught:>5}/{tried:<5}{caught / tried:>7.1%}{right:>5} equivalent")
    return lines


def _summary(found: list[Strength], missed: int) -> str:
    tried, caught = sum(s.mutants for s in found), sum(s.caught for s in found)
    equivalent = sum(len(s.equivalent) for s in found)
    share = f"{caught} of {tried} mutants are caught ({caught / max(tried, 1):.1%})"
    rest = f"{missed} lines above are to be looked at." if missed else "Nothing is missed."
    return f"{share}, {equivalent} are right answers. {_report_quality(found, caught)} {rest}"


def _report_quality(found: list[Strength], caught: int) -> str:
    """Return a sentence about the reports of the mutants that are caught."""
    named = sum(s.named for s in found) / max(caught, 1)
    located = sum(s.located for s in found) / max(caught, 1)
    return f"Reports name a mistake for {named:.1%} of them, a line or a difference for {located:.1%} more."


def _run_mutants(course: Course, info: KataInfo, seed: int, families: tuple[str, ...]) -> Strength:
    began = time.monotonic()
    runner = _open_runner(course, info, seed)
    reference = course.solution(info, "reference").read_text(encoding="utf-8")
    seconds = _time_limit(runner, reference)
    entries = read_equivalents(course.folder(info) / FILE_NAME)
    strength, unmatched = Strength(info), set(entries)
    for mutant in mutants(reference, detaches=runner.kata.grades_gradients):
        fitting = [entry for entry in entries if entry.matches(mutant)]
        unmatched -= set(fitting)
        if mutant.family not in families:
            continue
        strength.tried[mutant.family] += 1
        result = runner.judge(mutant.source, seconds)
        if result is not None:
            strength.needless += fitting
            strength.named += result.is_named
            strength.located += result.is_located and not result.is_named
        else:
            (strength.equivalent if fitting else strength.survivors).append(mutant)
    strength.stale = [entry for entry in entries if entry in unmatched]
    strength.seconds = time.monotonic() - began
    return strength


def _open_runner(course: Course, info: KataInfo, seed: int) -> MutantRunner:
    """Return the runner of a kata. Cases and mistakes are cached by a fork first.

    A process in which PyTorch has already computed cannot be forked safely.
    """
    kata = course.declaration(info)
    run_forked(lambda: str(len(_mistakes(course, info, kata, seed))), MOST_SECONDS)
    return MutantRunner(kata, Oracle(kata, course, info, seed), _mistakes(course, info, kata, seed))


def _mistakes(course: Course, info: KataInfo, kata: Kata, seed: int) -> list[MistakeOfKey]:
    oracle = Oracle(kata, course, info, seed)
    prepared = PreparedKata(info, kata, oracle, checks_of(kata, oracle))
    return [MistakeOfKey(recorded) for recorded in recorded_mistakes(course, prepared)]


def _time_limit(runner: MutantRunner, reference: str) -> float:
    """Return the seconds for each mutant, from the reference's duration. Raises KataError if that fails."""
    began = time.monotonic()
    failed = runner.caught_by(reference, MOST_SECONDS)
    if failed:
        raise KataError(f"{runner.kata.name}: the reference itself fails `{failed}`; see `kata verify`.")
    return min(MOST_SECONDS, max(LEAST_SECONDS, SLOWER * (time.monotonic() - began)))


def _lines(strength: Strength) -> list[str]:
    s = strength
    lines = [
        f"{s.info.name:<30}{s.caught:>5}/{s.mutants:<5}{s.caught / max(s.mutants, 1):>7.1%}"
        f"{len(s.equivalent):>5} equivalent{s.seconds:>8.1f} s"
    ]
    file = f"solutions/{s.info.track}/{s.info.name}/{FILE_NAME}"
    for mutant in s.survivors:
        lines += [f"  survives in {mutant.where}:", *(f"    {line}" for line in mutant.diff.splitlines())]
        lines += [f"  If this is right too, add it to {file}, with the reason:", entry_text(mutant)]
    lines += [f"  marked in vain, there is no such change: {entry.where}: {entry.now}" for entry in s.stale]
    lines += [f"  marked as right, and caught: {entry.where}: {entry.now}" for entry in s.needless]
    return lines
