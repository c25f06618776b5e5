"""How often the place where the numbers part is the place of the mistake.

    OMP_NUM_THREADS=1 python benchmarks/parting.py [--every N] [KATA ...]

Every Nth known mistake that is an edit of the reference is judged, and `parting_of` is asked, as it is for
a mistake that has no name. A mistake whose numbers are right, such as one of dtypes or of memory, has no
place. The columns count the mistakes:

    there       the place is on a line that the edit changes
    near        it is at most two lines from one
    elsewhere   it is on another line
    nothing     no place is said
"""

from __future__ import annotations

import sys
import warnings
from difflib import SequenceMatcher
from pathlib import Path

import numpy as np

from grader.checks.context import CheckContext, PreparedKata
from grader.checks.runner import run_check
from grader.course.catalog import Course, KataInfo
from grader.course.known_solutions import KnownSolutions, importable
from grader.diagnosis.parting import parting_of
from grader.grading.grader import Grader
from grader.worker.in_process import LocalStudent

ROOT = Path(__file__).resolve().parents[1]
COLUMNS = ("there", "near", "elsewhere", "nothing")
NEAR = 2  # lines


def main(words: list[str]) -> None:
    """Print a table of some katas, or of all whose answers are code."""
    warnings.simplefilter("ignore")
    step = int(words.pop(words.index("--every") + 1)) if "--every" in words else 5
    course = Course(ROOT)
    names = [word for word in words if not word.startswith("--")]
    total = dict.fromkeys(COLUMNS, 0)
    print(f"{'kata':<32}{''.join(f'{column:>11}' for column in COLUMNS)}")
    for info in map(course.kata_info, names or course.katas):
        if not info.kind.is_code or not course.edits(info).is_file():
            continue
        counts = dict.fromkeys(COLUMNS, 0)
        for column in places(course, info, step):
            counts[column] += 1
            total[column] += 1
        print(f"{info.name:<32}{''.join(f'{counts[column]:>11}' for column in COLUMNS)}", flush=True)
    print(f"{'all':<32}{''.join(f'{total[column]:>11}' for column in COLUMNS)}")


def places(course: Course, info: KataInfo, step: int) -> list[str]:
    """Return the column of every `step`-th mistake of a kata."""
    prepared = Grader(course, {}).prepare(info)
    answers = KnownSolutions(course, info, "mistakes")
    edited = [name for name in answers.names if answers.changes(name)]
    return [column_of(prepared, answers, name) for name in edited[::step]]


def column_of(prepared: PreparedKata, answers: KnownSolutions, name: str) -> str:
    """Return where the numbers of a mistake part."""
    source, reference = answers.file_of(name), answers.reference_source

    def load(text: str, recorder: str = "") -> CheckContext:
        return CheckContext(
            prepared.kata, prepared.oracle, LocalStudent.from_source("answer", text, recorder)
        )

    with np.errstate(all="ignore"), importable(answers.reference):
        results = [run_check(check, load(source)) for check in prepared.checks]
        parting = parting_of(source, reference, [one for one in results if one.failures], load)
    if parting is None:
        return "nothing"
    matcher = SequenceMatcher(None, reference.splitlines(), source.splitlines(), autojunk=False)
    changed = [
        line
        for kind, _, _, first, end in matcher.get_opcodes()
        if kind != "equal"
        for line in range(first + 1, max(end, first + 1) + 1)
    ]
    distance = min(abs(parting.place.line - line) for line in changed)
    return "there" if not distance else "near" if distance <= NEAR else "elsewhere"


if __name__ == "__main__":
    main(sys.argv[1:])
