"""`kata verify --points N`: check that a mistake gets the same points with the cases of many seeds.

Every known mistake is judged in this process, with the checks and the cases of a grading. It is asked the
cases that all seeds have under the first seed only, so what it keeps from one of another seed's own cases to
one of these does not show.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cache

import click

from dojo_authoring.parallel import for_each
from dojo_authoring.verify.judged import run_checks
from grader.cases import generation
from grader.cases.oracle import Oracle
from grader.checks.context import Check, CheckContext
from grader.checks.kata_checks import checks_of
from grader.checks.points import halves, points_of
from grader.checks.runner import CheckResult
from grader.course.catalog import Course, KataInfo
from grader.course.known_solutions import KnownSolutions
from grader.texts.phrases import counted
from grader.worker.in_process import LocalStudent

MOST_APART = 50  # hundredths between the points of one mistake under two seeds


@dataclass
class Seeds:
    """The points and the failing checks of each mistake of a kata, under each seed."""

    info: KataInfo
    points: dict[str, list[int]] = field(default_factory=dict)
    failing: dict[str, list[frozenset[str]]] = field(default_factory=dict)

    @property
    def far_apart(self) -> list[str]:
        """The mistakes whose points differ by more than MOST_APART."""
        return [name for name, found in self.points.items() if max(found) - min(found) > MOST_APART]

    def reason(self, name: str) -> str:
        """Return which checks fail under some seeds alone; else that the share of right cases differs."""
        sets = self.failing[name]
        differing = sorted(frozenset.union(*sets) - frozenset.intersection(*sets))
        return (
            f"fails under some seeds alone: {', '.join(differing)}" if differing else "other shares of cases"
        )


def verify_points(course: Course, names: tuple[str, ...], seeds: int) -> int:
    """Judge every mistake under `seeds` seeds and print each whose points or failing checks differ; return 1
    if the points of one differ by more than MOST_APART."""
    infos = [course.kata_info(name) for name in names] or list(course.katas.values())
    found = []
    for _, result in for_each(course, [info for info in infos if info.kind.is_code], judge_kata, seeds):
        found.append(result)
        for line in _rows(result):
            click.echo(line)
    far = [f"{result.info.name}: {name}" for result in found for name in result.far_apart]
    judged = sum(len(result.points) for result in found)
    same = sum(len(set(points)) == 1 for result in found for points in result.points.values())
    alike = sum(len(set(sets)) == 1 for result in found for sets in result.failing.values())
    click.echo(
        f"{counted(judged, 'mistake')} under {counted(seeds, 'seed')}: {same} with the same points, {alike}"
        f" with the same failing checks, {len(far)} more than {MOST_APART / 100:g} points apart."
    )
    return 1 if far else 0


def _rows(result: Seeds) -> list[str]:
    """Return a line about each mistake whose points or failing checks differ, and one about the kata."""
    rows = []
    for name, points in result.points.items():
        if len(set(points)) > 1 or len(set(result.failing[name])) > 1:
            mark = "✗" if name in result.far_apart else " "
            ends = f"{min(points) / 100:g} to {max(points) / 100:g}"
            rows.append(f"{mark} {result.info.name}: {name}: {ends}; {result.reason(name)}")
    apart = max((max(points) - min(points) for points in result.points.values()), default=0)
    number = counted(len(result.points), "mistake")
    return [*rows, f"{result.info.name:<30}{number:>14}, at most {apart / 100:g} points apart"]


def judge_kata(course: Course, info: KataInfo, seeds: int) -> Seeds:
    """Judge every mistake of a kata under `seeds` seeds."""
    kata, result, drawn = course.declaration(info), Seeds(info), cache(generation.drawn)
    answers = KnownSolutions(course, info, "mistakes")
    first: dict[str, tuple[CheckContext, list[CheckResult]]] = {}
    for seed in range(generation.SEED, generation.SEED + seeds):
        oracle = Oracle(kata, course, info, seed, keeps=seed == generation.SEED, drawn=drawn)
        checks, known = checks_of(kata, oracle), {}
        for name in answers.names:
            context = CheckContext(kata, oracle, LocalStudent(answers.fresh(name)))
            results = judge_own_cases(checks, context, *first[name]) if first else run_checks(checks, context)
            result.points.setdefault(name, []).append(points_of(results, context).total)
            failing = frozenset(found.check.name for found in results if found.failures)
            result.failing.setdefault(name, []).append(failing)
            known[name] = context, results
        first = first or known
    return result


def judge_own_cases(
    checks: list[Check], context: CheckContext, first: CheckContext, known: list[CheckResult]
) -> list[CheckResult]:
    """Return the results of all checks: those for a seed's own cases from the submission of `context`, and
    those for the cases that all seeds have as `known`, from `first`."""
    context.take_over(first)
    results = run_checks([replace(check, cases=halves(check.cases)[1]) for check in checks], context)
    return [_joined(*found) for found in zip(checks, known, results, strict=True)]


def _joined(check: Check, known: CheckResult, own: CheckResult) -> CheckResult:
    """Return the result of a check for the cases that all seeds have, as `known`, and for a seed's own."""
    failures = [*(failure for failure in known.failures if failure.case.is_shared), *own.failures]
    asked = [*halves(known.asked)[0], *own.asked]
    return CheckResult(check, failures, asked, prevented=known.prevented or own.prevented)
