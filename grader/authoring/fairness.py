"""No right answer is ever refused: references and variants held against many banks of cases.

The banks are smaller than those of a grading and there are many of them. Answers run in this process,
since they are the course's own; the checks are the very same.
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass, field

import click

from grader.answers import Answers
from grader.authoring.side_by_side import for_each
from grader.catalog import Card, Course, load_file
from grader.checks import CheckPlan, Session
from grader.comparison import watching_margin
from grader.describing import counted
from grader.judging import run_check
from grader.oracle import Oracle
from grader.plan import plan
from grader.worker.local import LocalStudent

BANK = 16  # cases a seed
DEVICE = "stays_on_the_device"
DEVICE_SEEDS = 5  # it looks at no value, so that more banks would say little


@dataclass
class Fairness:
    """What many seeds have shown of one kata. `margin` is the largest share of the tolerance used."""

    card: Card
    seeds: int = 0
    answers: int = 0
    margin: float = 0.0
    refused: list[str] = field(default_factory=list)


def verify_fairness(course: Course, names: tuple[str, ...], seeds: int) -> int:
    """Hold every right answer against `seeds` banks and print the table. 0 if none is refused."""
    cards = [course.card(name) for name in names] or list(course.cards.values())
    found = []
    for _, fairness in for_each(course, cards, _hold, seeds):
        found.append(fairness)
        click.echo(_row(fairness))
    refused = [line for fairness in found for line in fairness.refused]
    for line in refused:
        click.echo(f"✗ {line}")
    found_none = f"No right answer was refused over {seeds} banks."
    click.echo(f"{counted(len(refused), 'refusal')}." if refused else found_none)
    return 1 if refused else 0


def _row(fairness: Fairness) -> str:
    return (
        f"{fairness.card.name:<30}{fairness.answers:>3} answers{fairness.seeds:>6} banks"
        f"{fairness.margin:>9.1%} of the tolerance used"
    )


def _hold(course: Course, card: Card, seeds: int) -> Fairness:
    kata = dataclasses.replace(course.declaration(card), bank_size=BANK)
    fairness = Fairness(card, seeds)
    for seed in range(1, seeds + 1):
        students = _right_answers(course, card)
        fairness.answers = len(students)
        oracle = Oracle(kata, course, card, seed, keeps=False, draws=1)  # each case drawn is held
        checks = [check for check in plan(kata, oracle) if seed <= DEVICE_SEEDS or check.name != DEVICE]
        for name, student in students.items():
            lead = f"{card.name}: {name} is refused under seed {seed} by"
            _judge(Session(kata, oracle, student), checks, fairness, lead)
    return fairness


def _right_answers(course: Course, card: Card) -> dict[str, LocalStudent]:
    variants = Answers(course, card, "variants")
    reference = load_file(f"dojo_held_{card.name}", course.solution(card, "reference"))
    found = {"the reference": LocalStudent(reference)}
    return found | {f"the variant `{name}`": LocalStudent(variants.fresh(name)) for name in variants.names}


def _judge(session: Session, checks: list[CheckPlan], fairness: Fairness, lead: str) -> None:
    with watching_margin() as margin:
        findings = [run_check(check, session) for check in checks]
    fairness.margin = max(fairness.margin, margin.largest)
    fairness.refused += [
        f"{lead} `{finding.plan.name}`: {finding.failures[0].message}"
        for finding in findings
        if finding.failures
    ]
