"""`kata verify --mutate`: how many wrong versions of each reference the checks catch, and which they miss."""

from __future__ import annotations

import os
import time
from dataclasses import dataclass, field
from pathlib import Path

import click

from grader.answer_keys.answers import RecordedMistake
from grader.authoring.mutation.equivalents import MARKS, Mark, read_marks
from grader.authoring.mutation.mutant_runner import MutantRun, run_forked
from grader.authoring.mutation.mutants import Mutant, mutants
from grader.authoring.mutation.strength_page import write_page
from grader.authoring.parallel import for_each
from grader.authoring.release import keys
from grader.cases.generation import SEED
from grader.cases.oracle import Oracle
from grader.checks.base import PreparedKata
from grader.checks.builtin import plan
from grader.course.catalog import Course, CourseError, KataInfo
from grader.diagnosis.recording import mistakes_of
from grader.kata import Kata, KataError

SLOWER = 5  # a mutant may take this much longer than the reference
LEAST_SECONDS, MOST_SECONDS = 10.0, 120.0


@dataclass
class Strength:
    """What became of the mutants of one kata."""

    info: KataInfo
    mutants: int = 0
    survivors: list[Mutant] = field(default_factory=list)
    equivalent: list[Mutant] = field(default_factory=list)
    stale: list[Mark] = field(default_factory=list)
    needless: list[Mark] = field(default_factory=list)
    named: int = 0
    located: int = 0  # without being named
    seconds: float = 0.0

    @property
    def caught(self) -> int:
        return self.mutants - len(self.survivors) - len(self.equivalent)


def verify_strength(
    course: Course, names: tuple[str, ...], seed: int = SEED, page: Path | None = None
) -> int:
    """Try every mutant of the named katas, or of all, and say which survive. 0 if each that does is marked
    as a right answer, else 1."""
    infos = keys.chosen(course, names)
    keys.require_solutions(course, infos, "Mutants are")
    if not hasattr(os, "fork"):
        raise CourseError("--mutate runs each mutant in a fork of its own, which this system does not have.")
    found = []
    for _, strength in for_each(course, infos, _try_all, seed):
        found.append(strength)
        click.echo("\n".join(_told(strength)))
        if page is not None:  # row by row: what was measured stays when the rest is given up
            counts = strength.mutants, strength.caught, len(strength.equivalent)
            write_page(page, course, {strength.info.name: counts})
    missed = sum(len(s.survivors) + len(s.stale) + len(s.needless) for s in found)
    click.echo(_summary(found, missed))
    return 1 if missed else 0


def _summary(found: list[Strength], missed: int) -> str:
    tried, caught = sum(s.mutants for s in found), sum(s.caught for s in found)
    equivalent = sum(len(s.equivalent) for s in found)
    share = f"{caught} of {tried} mutants are caught ({caught / max(tried, 1):.1%})"
    rest = f"{missed} lines above are to be looked at." if missed else "Nothing is missed."
    return f"{share}, {equivalent} are right answers. {_read(found, caught)} {rest}"


def _read(found: list[Strength], caught: int) -> str:
    """What students would read of those that are caught."""
    named = sum(s.named for s in found) / max(caught, 1)
    located = sum(s.located for s in found) / max(caught, 1)
    return f"Reports name a mistake for {named:.1%} of them, a line or a difference for {located:.1%} more."


def _try_all(course: Course, info: KataInfo, seed: int) -> Strength:
    began = time.monotonic()
    trial = _open_trial(course, info, seed)
    reference = course.solution(info, "reference").read_text(encoding="utf-8")
    seconds = _allowance(trial, reference)
    marks = read_marks(course.folder(info) / MARKS)
    strength, unmatched = Strength(info), set(marks)
    for mutant in mutants(reference, detaches=trial.kata.grades_gradients):
        strength.mutants += 1
        fitting = [mark for mark in marks if mark.fits(mutant)]
        unmatched -= set(fitting)
        verdict = trial.judge(mutant.source, seconds)
        if verdict is not None:
            strength.needless += fitting
            strength.named += verdict.is_named
            strength.located += verdict.is_located and not verdict.is_named
        else:
            (strength.equivalent if fitting else strength.survivors).append(mutant)
    strength.stale = [mark for mark in marks if mark in unmatched]
    strength.seconds = time.monotonic() - began
    return strength


def _open_trial(course: Course, info: KataInfo, seed: int) -> MutantRun:
    """The bank is drawn, and the mistakes judged, in a fork and kept: a process in which PyTorch has computed
    forks badly."""
    kata = course.declaration(info)
    run_forked(lambda: str(len(_mistakes(course, info, kata, seed))), MOST_SECONDS)
    return MutantRun(kata, Oracle(kata, course, info, seed), _mistakes(course, info, kata, seed))


def _mistakes(course: Course, info: KataInfo, kata: Kata, seed: int) -> list[RecordedMistake]:
    oracle = Oracle(kata, course, info, seed)
    return mistakes_of(course, PreparedKata(info, kata, oracle, plan(kata, oracle)))


def _allowance(trial: MutantRun, reference: str) -> float:
    """Seconds for each mutant, from what the reference takes. Raises KataError where it does not pass."""
    began = time.monotonic()
    failed = trial.caught_by(reference, MOST_SECONDS)
    if failed:
        raise KataError(f"{trial.kata.name}: the reference itself fails `{failed}`; see `kata verify`.")
    return min(MOST_SECONDS, max(LEAST_SECONDS, SLOWER * (time.monotonic() - began)))


def _told(strength: Strength) -> list[str]:
    s = strength
    lines = [
        f"{s.info.name:<30}{s.caught:>5}/{s.mutants:<5}{s.caught / max(s.mutants, 1):>7.1%}"
        f"{len(s.equivalent):>5} equivalent{s.seconds:>8.1f} s"
    ]
    for mutant in s.survivors:
        lines += [f"  survives in {mutant.where}:", *(f"    {line}" for line in mutant.diff.splitlines())]
    lines += [f"  marked in vain, there is no such change: {mark.where}: {mark.now}" for mark in s.stale]
    lines += [f"  marked as right, and caught: {mark.where}: {mark.now}" for mark in s.needless]
    return lines
