"""`kata verify --seeds N`: check that references and variants pass with the cases of many seeds.

There are fewer cases per seed than in a grading. The answers run in this process, since they are part of the
course; the checks are those of a grading.
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass, field

import click

from dojo_authoring.parallel import for_each
from grader.cases.oracle import Oracle
from grader.checks.context import Check, CheckContext
from grader.checks.kata_checks import checks_of
from grader.checks.runner import run_check
from grader.course.catalog import Course, KataInfo, load_file
from grader.course.known_solutions import KnownSolutions
from grader.texts.phrases import counted
from grader.values.comparison import recording_margin
from grader.worker.in_process import LocalStudent

BANK = 16  # cases per seed
DEVICE = "stays_on_the_device"
DEVICE_SEEDS = 5  # this check does not depend on values, so few seeds suffice


@dataclass
class FalseRejections:
    """The result for one kata. `margin` is the largest fraction of the tolerance that an answer used."""

    info: KataInfo
    seeds: int = 0
    answers: int = 0
    margin: float = 0.0
    refused: list[str] = field(default_factory=list)


def verify_right_answers(course: Course, names: tuple[str, ...], seeds: int) -> int:
    """Judge every right answer with `seeds` banks of cases and print a table; return 1 if one is refused."""
    infos = [course.kata_info(name) for name in names] or list(course.katas.values())
    found = []
    for _, result in for_each(course, infos, _verify_kata, seeds):
        found.append(result)
        click.echo(_row(result))
    refused = [line for result in found for line in result.refused]
    for line in refused:
        click.echo(f"✗ {line}")
    no_refusal = f"No right answer was refused over {seeds} banks."
    click.echo(f"{counted(len(refused), 'refusal')}." if refused else no_refusal)
    return 1 if refused else 0


def _row(result: FalseRejections) -> str:
    return (
        f"{result.info.name:<30}{result.answers:>3} answers{result.seeds:>6} banks"
        f"{result.margin:>9.1%} of the tolerance used"
    )


def _verify_kata(course: Course, info: KataInfo, seeds: int) -> FalseRejections:
    kata = dataclasses.replace(course.declaration(info), bank_size=BANK)
    result = FalseRejections(info, seeds)
    for seed in range(1, seeds + 1):
        students = _right_answers(course, info)
        result.answers = len(students)
        oracle = Oracle(
            kata, course, info, seed, keeps=False, draws=1, kinds=seed
        )  # use every case that is drawn
        checks = [check for check in checks_of(kata, oracle) if seed <= DEVICE_SEEDS or check.name != DEVICE]
        for name, student in students.items():
            lead = f"{info.name}: {name} is refused under seed {seed} by"
            _judge(CheckContext(kata, oracle, student), checks, result, lead)
    return result


def _right_answers(course: Course, info: KataInfo) -> dict[str, LocalStudent]:
    reference = load_file(f"dojo_verified_{info.name}", course.solution(info, "reference"))
    found = {"the reference": LocalStudent(reference)}
    if info.draft and not course.solution(info, "variants").is_file():
        return found
    variants = KnownSolutions(course, info, "variants")
    return found | {f"the variant `{name}`": LocalStudent(variants.fresh(name)) for name in variants.names}


def _judge(context: CheckContext, checks: list[Check], found: FalseRejections, lead: str) -> None:
    with recording_margin() as margin:
        results = [run_check(check, context) for check in checks]
    found.margin = max(found.margin, margin.largest)
    found.refused += [
        f"{lead} `{result.check.name}`: {result.failures[0].message}" for result in results if result.failures
    ]
