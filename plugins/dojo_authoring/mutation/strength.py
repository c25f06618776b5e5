"""`kata verify --mutate`: count the mutants that the checks of each kata catch, and list the others."""

from __future__ import annotations

import os
import time
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

import click

from dojo_authoring.mutation.equivalents import FILE_NAME, EquivalentMutant, entry_text, read_equivalents
from dojo_authoring.mutation.page import Row, total, write_page
from dojo_authoring.mutation.runner import MutantRunner
from dojo_authoring.parallel import for_each
from dojo_authoring.release import keys
from dojo_authoring.verify.judged import recorded_mistakes
from grader.cases.generation import SEED
from grader.cases.oracle import Oracle
from grader.checks.context import PreparedKata
from grader.checks.kata_checks import checks_of
from grader.course.catalog import Course, CourseError, KataInfo
from grader.diagnosis.known_mistakes import MistakeOfKey
from grader.edits.mutants import Mutant, mutants
from grader.edits.walk import FAMILIES
from grader.kata import Kata, KataError
from grader.worker.in_process import run_forked

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
    run_forked(lambda: len(_mistakes(course, info, kata, seed)), MOST_SECONDS)
    return MutantRunner(kata, Oracle(kata, course, info, seed), _mistakes(course, info, kata, seed))


def _mistakes(course: Course, info: KataInfo, kata: Kata, seed: int) -> list[MistakeOfKey]:
    oracle = Oracle(kata, course, info, seed)
    prepared = PreparedKata(info, kata, oracle, checks_of(kata, oracle))
    return [MistakeOfKey(recorded) for recorded in recorded_mistakes(course, prepared)]


def _time_limit(runner: MutantRunner, reference: str) -> float:
    """Return the seconds for each mutant, from the reference's duration. Raises KataError if that fails."""
    began = time.monotonic()
    failed = runner.judge(reference, MOST_SECONDS)
    if failed:
        raise KataError(
            f"{runner.kata.name}: the reference itself fails `{failed.check}`; see `kata verify`."
        )
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
