"""How many faults of each kata fit a review: caught, on a small case, and undone by mending their line.

    python benchmarks/review.py [--most N] [KATA ...]

The answers are the references. Faults are judged in the order in which a review tries them, until N (5) fit
or all are tried. For each kata: the faults of one line, those that were judged, those that fit, those with a
name, the lines of the median case, and the seconds until a review has chosen one.
"""

from __future__ import annotations

import sys
import time
from itertools import islice
from pathlib import Path
from statistics import median

from dojo_review.faults import choose, faults_in, in_order, suitable
from grader.course.catalog import Course
from grader.grading.grader import Grader
from grader.worker.fork_server import WorkerFactories

ROOT = Path(__file__).resolve().parents[1]


def main(arguments: list[str]) -> None:
    """Print a line for each kata, and the katas with fewer faults that fit."""
    most = 5
    if arguments[:1] == ["--most"]:
        most, arguments = int(arguments[1]), arguments[2:]
    course = Course(ROOT)
    infos = [course.kata_info(name) for name in arguments] or [*course.katas.values()]
    infos = [info for info in infos if info.kind.is_code]
    factories = WorkerFactories(sorted({info.library for info in infos}))
    grader, few = Grader(course, factories), []
    print("| kata | faults | judged | fit | named | lines of a case | seconds |")
    print("|---|---:|---:|---:|---:|---:|---:|", flush=True)
    for info in infos:
        source = course.solution(info, "reference").read_text(encoding="utf-8")
        faults, tried = in_order(faults_in(source), info.name), [0]
        counted = (fault for number, fault in enumerate(faults, 1) if tried.append(number) is None)
        fit = list(islice(suitable(grader, info, counted), most))
        wrong = [one for one in fit if one.fault.mended(one.fault.was) != source]
        began = time.monotonic()
        chosen = choose(grader, info, source, info.name)
        seconds = time.monotonic() - began
        lines = median([len((one.check.call or "").splitlines()) for one in fit] or [0])
        named = sum(bool(one.mistake) for one in fit)
        cells = [len(faults), tried[-1], len(fit), named, f"{lines:g}", f"{seconds:.1f}"]
        print(f"| {info.name} | {' | '.join(map(str, cells))} |", flush=True)
        if len(fit) < most or wrong or chosen is None:
            few.append(info.name)
    factories.close()
    print(f"\n{len(infos) - len(few)} of {len(infos)} katas have {most} faults that fit.")
    print(f"Fewer: {', '.join(few) or 'none'}.")


if __name__ == "__main__":
    main(sys.argv[1:])
