"""What workers cost a class: every known answer to six katas, graded in a worker and in this process.

python benchmarks/bare.py [KATA ...]
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from types import SimpleNamespace

from invented_class import KATAS, ROOT, answers

from grader.attempt import Prepared
from grader.catalog import Course
from grader.checks import Session
from grader.grading import Grader
from grader.judging import run_check
from grader.opening import open_grader
from grader.report import Check
from grader.submission import Submission
from grader.worker.executor import load_module
from grader.worker.local import LocalStudent

BAR = 2.0  # times what the same calls take in this process


def in_this_process(grader: Grader, prepared: Prepared, submission: Submission) -> list[Check]:
    """The same checks, naming included, with every call a function call."""
    module = load_module(submission.card.name, submission.source)
    session = Session(prepared.kata, prepared.oracle, LocalStudent(module))
    findings = [run_check(check, session) for check in prepared.checks]
    attempt = SimpleNamespace(prepared=prepared, session=session, losses=[])
    return grader._conclude(attempt, findings)  # type: ignore[arg-type]  # what it needs of an attempt


def timed(run: Callable[[], object]) -> float:
    began = time.perf_counter()
    run()
    return time.perf_counter() - began


def measure(grader: Grader, name: str) -> tuple[int, float, float]:
    """How many answers, and the seconds that all took in workers and in this process, in turn."""
    card = grader.course.card(name)
    prepared, isolated, bare = grader.prepare(card), 0.0, 0.0
    known = [Submission(card, source, f"{name}.py") for _, source in answers(grader.course, card)]
    for submission in known:  # what is learnt once in a class is learnt now
        grader.grade(submission)
    for submission in known:
        isolated += timed(lambda: grader.grade(submission))  # noqa: B023  # called at once
        bare += timed(lambda: in_this_process(grader, prepared, submission))  # noqa: B023  # called at once
    return len(known), isolated, bare


def compare(katas: list[str]) -> int:
    """Print the table; 1 where the bar is missed."""
    course = Course(ROOT)
    grader, source = open_grader(course, [course.card(name) for name in katas], shrinks=False)
    if "torch" in sys.modules:
        sys.modules["torch"].set_num_threads(1)  # as in a worker: the inputs are small
    print("| | answers | in a worker | in this process | ratio |\n|---|---:|---:|---:|---:|")
    rows = {}
    for name in katas:
        rows[name] = measure(grader, name)
        print(row(f"`{name}`", rows[name]), flush=True)
    source.close()
    count, isolated, bare = (sum(column) for column in zip(*rows.values(), strict=True))
    print(row("all", (count, isolated, bare)))
    return int(isolated > BAR * bare)


def row(name: str, found: tuple[float, float, float]) -> str:
    count, isolated, bare = found
    each = f"{1e3 * isolated / count:.0f} ms | {1e3 * bare / count:.0f} ms"
    return f"| {name} | {count:.0f} | {each} | {isolated / bare:.2f} × |"


if __name__ == "__main__":
    sys.exit(compare(sys.argv[1:] or list(KATAS)))
