"""Compare the points of answers with the order in which a teacher puts them: benchmarks/ordered.toml.

python benchmarks/ordered.py [KATA ...]

A row for each answer, and at the end the pairs of one kata that stand the other way round.
"""

from __future__ import annotations

import sys
import tomllib
from itertools import combinations
from pathlib import Path

from grader.course.catalog import open_course
from grader.course.submission import Submission
from grader.grading.session import GraderSettings, open_grader

ANSWERS = Path(__file__).with_suffix(".toml")
CLOSE = 25  # hundredths by which a worse answer may have more


def main(names: list[str]) -> int:
    course = open_course(Path.cwd())
    katas = tomllib.loads(ANSWERS.read_text(encoding="utf-8"))
    chosen = names or list(katas)
    grader, source = open_grader(course, [course.kata_info(name) for name in chosen], GraderSettings())
    pairs, wrong = 0, []
    print("| kata | step | answer | points |\n|---|---:|---|---:|")
    for name in chosen:
        info, found = course.kata_info(name), []
        for answer in katas[name]:
            score = grader.grade(Submission(info, answer["code"], f"{name}.py")).report.score
            found.append((answer["step"], answer["name"], score))
            print(f"| {name} | {answer['step']} | {answer['name']} | {score / 100:g} |", flush=True)
        for first, second in combinations(found, 2):
            better, worse = sorted((first, second))
            pairs += better[0] < worse[0]
            if better[0] < worse[0] and better[2] + CLOSE < worse[2]:
                told = f"{worse[1]} ({worse[2] / 100:g}) above {better[1]} ({better[2] / 100:g})"
                wrong.append(f"{name}: {told}")
    source.close()
    print(f"\n{len(wrong)} of {pairs} pairs stand the other way round.", *wrong, sep="\n")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
