"""Translate the mistakes of NumPy katas into PyTorch mechanically, and compare what the grader says of both.

    python tests/grader/translated_mistakes.py [KATA …]

The operations of a mistake run in PyTorch, by the functions of NumPy's names that PyTorch has for its
compiler. A mistake of which nothing works there is one that cannot be translated.
"""

from __future__ import annotations

import os
import sys
from collections import Counter
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

from grader.answer_keys.answers import spread
from grader.course.catalog import Course, KataInfo
from grader.course.known_solutions import standalone_sources
from grader.course.submission import Submission, SubmissionRejected
from grader.grading.grader import Grader
from grader.grading.session import open_grader

ROOT = Path(__file__).resolve().parents[2]
#: How many mistakes of a kata are compared: `DOJO_SAMPLE=8` takes a few of them.
SAMPLE = int(os.environ.get("DOJO_SAMPLE", "1000"))
DEVICE = "stays_on_the_device"  # which answers in NumPy are not asked for
#: The functions of NumPy's names make arrays of tensors; these convert at the border of a submission.
BORDER = """
import contextlib
import torch
from torch import _numpy as np

np.errstate = lambda **_: contextlib.nullcontext()

def inside(value):
    if isinstance(value, torch.Tensor):
        return np.asarray(value)
    if type(value) is tuple:
        return tuple(map(inside, value))
    if type(value) in (list, dict):  # which the function may change
        return changed(value, inside)
    return (lambda *args: inside(value(*map(outside, args)))) if callable(value) else value

def outside(value):
    if isinstance(value, np.ndarray):
        return value.tensor
    if isinstance(value, tuple):
        return tuple(map(outside, value))
    return changed(value, outside) if isinstance(value, (list, dict)) else value

def changed(value, change):
    for key in list(value) if isinstance(value, dict) else range(len(value)):
        value[key] = change(value[key])
    return value

def translated(function):
    def call(*args, **kwargs):
        result = outside(function(*map(inside, args), **inside(kwargs)))
        outside([args, kwargs])
        return result
    return call
"""
ENDING = """
import torch, types
_border = types.ModuleType("border")
exec(compile({border!r}, "border.py", "exec"), vars(_border))
{entries}
"""
#: What the reason says where PyTorch has no function of the name, or not all of it.
LACKING = ("torch._numpy", "'ndarray' object has no attribute", "not written yet", "NotImplemented")


def translated(source: str, entry_points: tuple[str, ...]) -> str:
    """Return a standalone source, see `standalone_sources`, whose operations run in PyTorch."""
    for line in ("import numpy as np", "import numpy"):
        source = source.replace(line, line.replace("import numpy", "from torch import _numpy"))
    entries = "\n".join(f"{name} = _border.translated({name})" for name in entry_points)
    return source + ENDING.format(border=BORDER, entries=entries)


@dataclass
class Verdict:
    """What the grader says: the checks that fail, the score, the name of the mistake, and what PyTorch
    lacks."""

    failed: frozenset[str]
    score: int
    mistake: str
    lacking: str

    @classmethod
    def of(cls, grader: Grader, info: KataInfo, source: str) -> Verdict:
        try:
            report = grader.grade(Submission(info, source, f"{info.name}.py")).report
        except SubmissionRejected as refused:
            return cls(frozenset(["import"]), 0, "", str(refused))
        wrong = [check for check in report.checks if check.status not in ("passed", "skipped")]
        failed = frozenset(check.name for check in wrong if check.name != DEVICE)
        lacking = next((c.message for c in wrong if any(words in c.message for words in LACKING)), "")
        mistake = report.mistake.id if report.mistake else ""
        return cls(failed, report.score, mistake, lacking)


def compared(grader: Grader, info: KataInfo, most: int) -> dict[str, tuple[Verdict, Verdict]]:
    """Return, for some mistakes of a kata, what the grader says of them in NumPy and in PyTorch."""
    sources = standalone_sources(grader.course, info, "mistakes")
    return {
        name: (
            Verdict.of(grader, info, sources[name]),
            Verdict.of(grader, info, translated(sources[name], info.entry_points)),
        )
        for name in spread(list(sources), most)
    }


def main() -> None:
    course = Course(ROOT)
    infos = [info for info in course.katas.values() if len(info.libraries) > 1]
    infos = [info for info in infos if not sys.argv[1:] or info.name in sys.argv[1:]]
    total: Counter[str] = Counter()
    grader, factories = open_grader(course, infos)
    with closing(factories):
        for info in infos:
            for name, (one, other) in compared(grader, info, SAMPLE).items():
                same = (one.failed, one.score) == (other.failed, other.score)
                named = "named alike" if one.mistake == other.mistake else "named otherwise"
                kind = "cannot be translated" if other.lacking else "differ"
                total.update(["mistakes", f"same checks and marks, {named}" if same else kind])
                if not same or one.mistake != other.mistake:
                    print(f"{info.name}: {name}: {one.score} {other.score} {one.mistake!r} {other.mistake!r}")
                    print(f"    only in NumPy {sorted(one.failed - other.failed)}")
                    print(f"    only in PyTorch {sorted(other.failed - one.failed)} {other.lacking[:200]}")
            print(f"{info.name}: {dict(total)} so far", flush=True)
    print(dict(total))


if __name__ == "__main__":
    main()
