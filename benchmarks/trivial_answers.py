"""Try the trivial answers on every kata: which one gets the most points, and how many.

python benchmarks/trivial_answers.py [KATA ...]

They are those of `kata verify`: each argument handed back, zeros, ones, NaN, the first answer again, None.
"""

from __future__ import annotations

import sys
from pathlib import Path

from dojo_authoring.verify.trivial import points_of_trivial_answers
from grader.course.catalog import open_course
from grader.grading.grader import Grader


def main(names: list[str]) -> None:
    course = open_course(Path(__file__).resolve().parents[1])
    grader = Grader(course, {})  # nothing runs in a worker
    infos = [course.kata_info(name) for name in names] or list(course.katas.values())
    if any(info.library == "torch" for info in infos):
        import torch

        torch.set_num_threads(1)  # as `kata verify` does: inputs are small
    print("| kata | trivial answers | the best one | points |\n|---|---:|---|---:|")
    for info in infos:
        if info.kind.is_code:
            found = points_of_trivial_answers(course, grader.prepare(info))
            best = max(found, key=lambda what: found[what])
            name = best if found[best] else ""
            print(f"| {info.name} | {len(found)} | {name} | {found[best] / 100:g} |", flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
