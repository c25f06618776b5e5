"""No right answer is ever refused: references and variants held against many banks of cases.

The banks are smaller than those of a grading and there are many of them. Answers run in this process,
since they are the course's own; the checks are the very same.
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass, field

import click

from grader.authoring.parallel import for_each
from grader.cases.oracle import Oracle
from grader.checks.base import Check, CheckContext
from grader.checks.builtin import plan
from grader.checks.runner import run_check
from grader.course.catalog import Course, KataInfo, load_file
from grader.course.known_solutions import Answers
from grader.values.comparison import recording_margin
from grader.values.formatting import counted
from grader.worker.in_process import LocalStudent

BANK = 16  # cases a seed
DEVICE = "stays_on_the_device"
DEVICE_SEEDS = 5  # it looks at no value, so that more banks would say little


@dataclass
class FalseRejections:
    """What many seeds have shown of one kata. `margin` is the largest share of the tolerance used."""

    info: KataInfo
    seeds: int = 0
    answers: int = 0
    margin: float = 0.0
    refused: list[str] = field(default_factory=list)


def verify_fairness(course: Course, names: tuple[str, ...], seeds: int) -> int:
    """Hold every right answer against `seeds` banks and print the table. 0 if none is refused."""
    infos = [course.kata_info(name) for name in names] or list(course.katas.values())
    found = []
    for _, fairness in for_each(course, infos, _hold, seeds):
        found.append(fairness)
        click.echo(_row(fairness))
    refused = [line for fairness in found for line in fairness.refused]
    for line in refused:
        click.echo(f"✗ {line}")
    found_none = f"No right answer was refused over {seeds} banks."
    click.echo(f"{counted(len(refused), 'refusal')}." if refused else found_none)
    return 1 if refused else 0


def _row(fairness: FalseRejections) -> str:
    return (
        f"{fairness.info.name:<30}{fairness.answers:>3} answers{fairness.seeds:>6} banks"
        f"{fairness.margin:>9.1%} of the tolerance used"
    )


def _hold(course: Course, info: KataInfo, seeds: int) -> FalseRejections:
    kata = dataclasses.replace(course.declaration(info), bank_size=BANK)
    fairness = FalseRejections(info, seeds)
    for seed in range(1, seeds + 1):
        students = _right_answers(course, info)
        fairness.answers = len(students)
        oracle = Oracle(kata, course, info, seed, keeps=False, draws=1)  # each case drawn is held
        checks = [check for check in plan(kata, oracle) if seed <= DEVICE_SEEDS or check.name != DEVICE]
        for name, student in students.items():
            lead = f"{info.name}: {name} is refused under seed {seed} by"
            _judge(CheckContext(kata, oracle, student), checks, fairness, lead)
    return fairness


def _right_answers(course: Course, info: KataInfo) -> dict[str, LocalStudent]:
    variants = Answers(course, info, "variants")
    reference = load_file(f"dojo_held_{info.name}", course.solution(info, "reference"))
    found = {"the reference": LocalStudent(reference)}
    return found | {f"the variant `{name}`": LocalStudent(variants.fresh(name)) for name in variants.names}


def _judge(session: CheckContext, checks: list[Check], fairness: FalseRejections, lead: str) -> None:
    with recording_margin() as margin:
        findings = [run_check(check, session) for check in checks]
    fairness.margin = max(fairness.margin, margin.largest)
    fairness.refused += [
        f"{lead} `{finding.plan.name}`: {finding.failures[0].message}"
        for finding in findings
        if finding.failures
    ]
