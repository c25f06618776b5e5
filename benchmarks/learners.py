"""A simulation: invented learners go through the course in three orders. It proves nothing about people.

python benchmarks/learners.py                          # 200 learners, the same ones in each order
python benchmarks/learners.py --learners 1000 --seed 7

A learner has a number for each skill, which grows with every grading, and more with a pass. The lower the
skills of a kata are, the more of its known mistakes the first version has, and the longer each takes to find.
A mistake that stays leads to hints. Who fails many times in a row may give up.
"""

from __future__ import annotations

import argparse
import ast
import math
import os
import random
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from pathlib import Path
from typing import NamedTuple

from grader.course.catalog import Course
from grader.course.mistake_edits import read_edits
from grader.course.state import TIME_FORMAT, KataState
from grader.course.syllabus import Syllabus
from grader.grading.choice import choose

ROOT = Path(__file__).resolve().parents[1]
BEGIN = datetime(2026, 1, 5, 9)
HOURS = (10, 80)  # that a learner has
LEVEL, SPREAD = (0.5, 0.5), 0.6  # of a learner's skills: mean and deviation, and of each around it
LOWEST, HIGHEST = -1.0, 3.0  # of a skill, which grows the slower the higher it is
NEEDED = {1: 0.2, 2: 0.9, 3: 1.6}  # the skill with which a kata of a difficulty goes half well
STEEPNESS = 2.0
PER_GRADING, PER_PASS = 0.02, 0.22  # by which each skill of a kata grows
MOST_MISTAKES = 5  # of a first version
FOUND, FOUND_BY_SKILL, FOUND_BY_HINT = (
    0.15,
    0.6,
    0.25,
)  # chance to find a mistake: least, by skill, by each hint
EASE = {"subtle": 0.7, "crude": 1.4}  # times that chance
HINT_AFTER, MOST_HINTS = 2, 3  # gradings with the mistake of the one before; hints of a kata
FIRST_SHARE, MINUTES = 0.6, 5  # of a kata's minutes before the first grading; between two gradings
PATIENCE, PATIENCE_SPREAD = 7, 0.5  # gradings in a row without a pass, in the median, and its spread (log)
GIVES_UP = 0.08  # chance at each grading beyond them
MOST_STOPS = 8  # katas that are listed


class KnownMistake(NamedTuple):
    """A mistake that the course knows, and how easily it is found."""

    name: str
    ease: float


@dataclass
class Learner:
    """An invented learner, and what the grader remembers of it."""

    draws: random.Random
    skills: dict[str, float]
    patience: float
    minutes: float
    states: dict[str, KataState] = field(default_factory=dict)
    mistakes: dict[str, list[KnownMistake]] = field(default_factory=dict)  # in the file of each begun kata
    now: datetime = BEGIN
    failed: int = 0  # gradings in a row without a pass
    gradings: int = 0
    stopped_by: str = ""

    def has_passed(self, name: str) -> bool:
        return name in self.states and self.states[name].has_passed

    def works(self, minutes: float) -> None:
        self.now += timedelta(minutes=minutes)
        self.minutes -= minutes

    def learns(self, skills: list[str], step: float) -> None:
        for skill in skills:
            self.skills[skill] += step * (1 - self.skills[skill] / HIGHEST)

    def ease(self, syllabus: Syllabus, name: str) -> float:
        """Return how well a kata goes, from 0 to 1."""
        own = [self.skills[skill] for skill in syllabus.skills[name]]
        distance = sum(own) / len(own) - NEEDED[syllabus.katas[name].difficulty]
        return 1 / (1 + math.exp(-STEEPNESS * distance))


#: Returns the kata that comes next; some are left.
Order = Callable[[Syllabus, Learner], str]


def fixed(syllabus: Syllabus, learner: Learner) -> str:
    return next(name for name in syllabus.order if not learner.has_passed(name))


def chosen(syllabus: Syllabus, learner: Learner) -> str:
    choice = choose(syllabus, syllabus.order, learner.states)
    assert choice is not None
    return choice.name


def at_random(syllabus: Syllabus, learner: Learner) -> str:
    """Return what is begun, or else any kata whose foundations pass."""
    left = [name for name in syllabus.order if not learner.has_passed(name)]
    if begun := [name for name in left if name in learner.states]:
        return begun[0]
    ready = [name for name in left if all(map(learner.has_passed, syllabus.katas[name].builds_on))]
    return learner.draws.choice(ready)


ORDERS: dict[str, Order] = {"the fixed path": fixed, "chosen by the rule": chosen, "at random": at_random}


def known_mistakes(course: Course) -> dict[str, list[KnownMistake]]:
    """Return the known mistakes of each kata."""
    found = {}
    for info in course.katas.values():
        edits, classes = course.edits(info), course.solution(info, "mistakes")
        known = (
            [KnownMistake(one.name, EASE.get(one.level, 1.0)) for one in read_edits(edits)]
            if edits.is_file()
            else []
        )
        tree = ast.parse(classes.read_text(encoding="utf-8")) if classes.is_file() else ast.Module([], [])
        kinds = (ast.FunctionDef, ast.ClassDef)
        known += [KnownMistake(node.name, 1.0) for node in tree.body if isinstance(node, kinds)]
        found[info.name] = known
    return found


def invent(number: int, seed: int, syllabus: Syllabus) -> Learner:
    """Return a learner; the same number and seed give the same one."""
    draws = random.Random(f"{seed} {number}")
    level = draws.gauss(*LEVEL)
    skills = {skill: max(level + draws.gauss(0, SPREAD), LOWEST) for skill in syllabus.skill_names}
    patience = draws.lognormvariate(math.log(PATIENCE), PATIENCE_SPREAD)
    return Learner(draws, skills, patience, 60 * draws.uniform(*HOURS))


def grade_once(learner: Learner, name: str, syllabus: Syllabus, known: list[KnownMistake]) -> None:
    """Let a learner write or mend one version of a kata, and remember the grading as the grader does."""
    state, ease = learner.states.get(name, KataState()), learner.ease(syllabus, name)
    left = learner.mistakes.get(name)
    if left is None:
        learner.works(FIRST_SHARE * syllabus.katas[name].minutes)
        made = sum(learner.draws.random() > ease for _ in range(MOST_MISTAKES))
        left = learner.draws.sample(known, min(made, len(known)))
    else:
        learner.works(MINUTES)
        state = replace(state, seconds=state.seconds + 60 * MINUTES)
        chance = (FOUND + FOUND_BY_SKILL * ease) * left[0].ease + FOUND_BY_HINT * state.hints
        left = left[1:] if learner.draws.random() < chance else left
    mistake = left[0].name if left else ""
    is_same = bool(mistake) and mistake == state.mistake
    learner.mistakes[name] = left
    learner.gradings += 1
    learner.failed = learner.failed + 1 if left else 0
    learner.learns(syllabus.skills[name], PER_GRADING + (0 if left else PER_PASS))
    learner.states[name] = replace(
        state,
        digest=str(state.attempts),
        status="failed" if left else "passed",
        passed=not left,
        mistake=mistake,
        attempts=state.attempts + 1,
        repeats=state.repeats + is_same,
        helped=state.hints,
        hints=min(state.hints + (is_same and state.repeats >= HINT_AFTER - 1), MOST_HINTS),
        graded_at=learner.now.strftime(TIME_FORMAT),
    )
    if learner.failed > learner.patience and learner.draws.random() < GIVES_UP:
        learner.stopped_by = name


def go_through(
    learner: Learner, order: Order, syllabus: Syllabus, known: dict[str, list[KnownMistake]]
) -> Learner:
    """Let a learner work until all katas pass, the hours are over, or the learner gives up."""
    while learner.minutes > 0 and not learner.stopped_by and not all(map(learner.has_passed, syllabus.order)):
        name = order(syllabus, learner)
        grade_once(learner, name, syllabus, known[name])
    return learner


def row(name: str, learners: list[Learner]) -> str:
    """Return a row of the table."""
    katas = sorted(sum(state.has_passed for state in one.states.values()) for one in learners)
    mean, each = sum(katas) / len(katas), sum(one.gradings for one in learners) / sum(katas)
    error = math.sqrt(sum((number - mean) ** 2 for number in katas) / len(katas) / len(katas))
    gave_up = sum(bool(one.stopped_by) for one in learners)
    return f"| {name} | {mean:.1f} ± {error:.1f} | {katas[len(katas) // 2]} | {each:.2f} | {gave_up} |"


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--learners", type=int, default=200)
    parser.add_argument("--seed", type=int, default=20170612)
    given = parser.parse_args()
    os.environ.pop("CI", None)  # where it is set, nothing is chosen
    course = Course(ROOT)
    syllabus, known = course.syllabus, known_mistakes(course)
    print(f"A simulation of {given.learners} invented learners, seed {given.seed}.\n")
    print("| order | katas passed, mean | median | gradings a kata | gave up |\n|---|---:|---:|---:|---:|")
    stops: Counter[str] = Counter()
    for name, order in ORDERS.items():
        invented = (invent(number, given.seed, syllabus) for number in range(given.learners))
        learners = [go_through(one, order, syllabus, known) for one in invented]
        print(row(name, learners), flush=True)
        stops.update(one.stopped_by for one in learners if one.stopped_by)
    listed = ", ".join(f"`{kata}` {number}" for kata, number in stops.most_common(MOST_STOPS))
    print(f"\nWhere most gave up, in all orders together: {listed}.")


if __name__ == "__main__":
    main()
