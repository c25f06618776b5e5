"""Compare the points of answers with those in a table, which stand there in the order in which a teacher puts
the answers: benchmarks/ordered.toml.

python benchmarks/ordered.py [KATA ...]

A row for each answer, and at the end the pairs of one kata that stand the other way round. It fails if an
answer has other points than the table says, or if there is such a pair.
"""

from __future__ import annotations

import sys
import tomllib
from itertools import combinations
from pathlib import Path
from typing import NamedTuple

from grader.course.catalog import open_course
from grader.course.submission import Submission
from grader.diagnosis.matcher import MistakeMatcher
from grader.grading.session import GraderSettings, open_grader

ANSWERS = Path(__file__).with_suffix(".toml")
CLOSE = 25  # hundredths by which a worse answer may have more


class Judged(NamedTuple):
    """An answer of the table, and its points in hundredths."""

    step: int
    name: str
    points: int


def main(names: list[str]) -> int:
    course = open_course(Path(__file__).resolve().parents[1])
    katas = tomllib.loads(ANSWERS.read_text(encoding="utf-8"))
    chosen = names or list(katas)
    grader, source = open_grader(course, [course.kata_info(name) for name in chosen], GraderSettings())
    grader.matchers = {name: MistakeMatcher([]) for name in chosen}  # a name changes no points
    pairs, inverted, other = 0, [], []
    print("| kata | step | answer | points |\n|---|---:|---|---:|")
    for name in chosen:
        info, found = course.kata_info(name), []
        for answer in katas[name]:
            score = grader.grade(Submission(info, answer["code"], f"{name}.py")).report.score
            found.append(Judged(answer["step"], answer["name"], score))
            print(f"| {name} | {answer['step']} | {answer['name']} | {score / 100:g} |", flush=True)
            if score != round(100 * answer["points"]):
                other.append(f"{name}: {answer['name']} has {score / 100:g}, not {answer['points']:g} points")
        for better, worse in combinations(sorted(found), 2):
            pairs += better.step < worse.step
            if better.step < worse.step and better.points + CLOSE < worse.points:
                told = f"{worse.name} ({worse.points / 100:g}) above {better.name} ({better.points / 100:g})"
                inverted.append(f"{name}: {told}")
    source.close()
    print(f"\n{len(inverted)} of {pairs} pairs stand the other way round.", *inverted, *other, sep="\n")
    return 1 if other or inverted else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
