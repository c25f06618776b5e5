"""How many known mistakes a report names: each one is written into a file and graded as a student's.

    python benchmarks/named_mistakes.py [KATA ...]

A line is printed for each mistake that is not named for certain.
"""

from __future__ import annotations

import sys
import time
from contextlib import closing
from pathlib import Path
from statistics import median

from grader.course.catalog import Course, KataInfo
from grader.course.known_solutions import KnownSolutions
from grader.course.submission import Submission, SubmissionRejected
from grader.grading.session import open_grader

ROOT = Path(__file__).resolve().parents[1]


def main(names: list[str]) -> None:
    """Grade the mistakes of the katas, and print a table."""
    course = Course(ROOT)
    infos = [course.kata_info(name) for name in names] or list(course.katas.values())
    print(f"{'kata':<30}{'certain':>9}{'guess':>7}{'other':>7}{'none':>6}{'median s':>10}")
    total = [0, 0, 0, 0]
    for info in infos:
        counts, seconds = grade_all(course, info)
        total = [one + more for one, more in zip(total, counts, strict=True)]
        print(
            f"{info.name:<30}{counts[0]:>9}{counts[1]:>7}{counts[2]:>7}{counts[3]:>6}{seconds:>10.2f}",
            flush=True,
        )
    print(f"{'all':<30}{total[0]:>9}{total[1]:>7}{total[2]:>7}{total[3]:>6}")


def grade_all(course: Course, info: KataInfo) -> tuple[list[int], float]:
    """Return how many mistakes are named for certain, guessed, taken for another one and not named, and the
    median of the CPU seconds of this process."""
    grader, source = open_grader(course, [info])
    counts, seconds = [0, 0, 0, 0], []
    with closing(source):
        answers = KnownSolutions(course, info, "mistakes")
        for name in answers.names:
            began = time.process_time()
            try:
                report = grader.grade(Submission(info, answers.source_of(name), name)).report
            except SubmissionRejected as refused:
                print(f"  {name}: {refused}")
                continue
            seconds.append(time.process_time() - began)
            found = report.mistake or report.possibility
            certain = found is not None and found.id == name and found.certain
            counts[0 if certain else 3 if found is None else 1 if found.id == name else 2] += 1
            if not certain:
                failing = [
                    check.name for check in report.checks if check.status in ("failed", "error", "timeout")
                ]
                said = f"{found.id}{'' if found.certain else '?'}" if found else "no name"
                print(f"  {name}: {said}; fails {', '.join(failing)}")
    return counts, median(seconds)


if __name__ == "__main__":
    main(sys.argv[1:])
