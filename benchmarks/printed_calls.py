"""Run every call that a report of a known mistake prints: is what stands below it true?

python benchmarks/printed_calls.py [KATA ...]

Each mistake is judged in this process, as `kata verify` does. Each call that its report prints whole is then
run twice, with what stands in the report alone: beside the mistake it must give what came, and beside the
reference what is expected.
"""

from __future__ import annotations

import ast
import re
import sys
import types
import warnings
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from dojo_authoring.parallel import for_each
from dojo_authoring.verify.judged import run_checks
from dojo_authoring.verify.time_limit import limited_time
from grader.cases.oracle import Arguments
from grader.checks.context import Check, CheckContext, PreparedKata
from grader.checks.runner import CheckResult, Failure, judge_case
from grader.course.catalog import Course, KataInfo
from grader.course.known_solutions import standalone_sources
from grader.course.submission import Submission
from grader.formats.account import is_whole
from grader.grading.easier_case import OneCase
from grader.grading.grader import Grader
from grader.grading.parameters import signatures_of
from grader.grading.report_builder import QuotedAnswer, as_check
from grader.report import CheckReport
from grader.texts.wrapping import code_lines
from grader.values.arrays import leaves, to_numpy
from grader.values.comparison import Tolerance, first_difference
from grader.values.formatting import describe, show
from grader.worker.child import kernels
from grader.worker.child.executor import load_module, seed_random_numbers
from grader.worker.in_process import LocalStudent

ROOT = Path(__file__).resolve().parents[1]
CAME = re.compile(r"result((?:\[[^][]*\])*): (.*), expected (.*)", re.DOTALL)
#: Mistakes that keep what their first call computed, for all later calls of the same shapes. No check of
#: repeated calls sees that, and the call that a report shows is right by itself: it needs the call before.
NEEDS_THE_CALL_BEFORE = {"keeps_the_statistics_of_an_earlier_call", "keeps_the_smoothed_targets"}


@dataclass
class Found:
    """What was found about the printed calls of one kata: how many reports print one whole, how many of these
    say what came and what is expected, and what is false."""

    mistakes: int = 0
    printed: int = 0
    said: int = 0
    false: list[str] = field(default_factory=list)


def with_value_printed(code: str) -> ast.Module:
    """Return lines that end in a call with the call's value printed."""
    tree = ast.parse(code)
    block: Any = tree
    while isinstance(block.body[-1], ast.With | ast.For):
        block = block.body[-1]
    last = block.body[-1]
    call = ast.Call(ast.Name("print", ast.Load()), [last.value], [])
    block.body[-1] = ast.copy_location(ast.Expr(call), last)
    return ast.fix_missing_locations(tree)


def printed_by(code: str | ast.Module, kata: str, source: str, seed: int = 0) -> Any:
    """Run the code beside the submission; return what it prints, or the exception that it raises. Random
    numbers are drawn by the seed."""
    submission = types.ModuleType(kata)
    kernels.give_to(vars(submission), source)
    exec(compile(source, f"{kata}.py", "exec"), vars(submission))
    printed: list[Any] = []
    before = sys.modules.get(kata)
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        sys.modules[kata] = submission
        seed_random_numbers(seed)
        try:
            exec(compile(code, "printed", "exec"), {"print": printed.append})
        except Exception as error:  # whatever a submission raises is its answer
            return error
        finally:
            sys.modules.pop(kata)
            if before is not None:
                sys.modules[kata] = before
    return printed[-1] if printed else None


def as_printed(told: CheckReport) -> str:
    """Return the call of a check as the terminal prints it."""
    return "\n".join(line[4:] for line in code_lines(told.call, 80, " " * 4))


def entry(value: Any, place: str) -> Any:
    """Return the entry of a result at a place such as `[0][1, 2]`."""
    for keys in re.findall(r"\[([^][]+)\]", place):
        key = ast.literal_eval(f"({keys},)")
        value = value[key] if hasattr(value, "shape") else value[key[0]]
    return value


def reads_as(text: str, value: Any, rounding: float) -> bool:
    """Whether a report's text is what it shows of a value; a cut text says too little to tell. Numbers may
    differ by `rounding`: where a result is zero but for it, each run has another one."""
    if "…" in text or re.fullmatch(r"\d+ items?", text):
        return True
    if text in (show(value), describe(value), f"{describe(value)}: {show(value)}"):
        return True
    if getattr(value, "shape", ()) or (not isinstance(value, int | float) and not hasattr(value, "shape")):
        return str(value) == text or describe(value).split(" (")[-1] == text.split(" (")[-1]
    number = {"True": 1.0, "False": 0.0}.get(text)
    try:
        number = float(text) if number is None else number
    except ValueError:
        return False
    value = float(value.detach() if hasattr(value, "detach") else value)
    return bool(np.isclose(number, value, rtol=2e-3, atol=rounding, equal_nan=True))


def rounding_of(result: Any) -> float:
    """Return by how much two runs may differ in a result: that of float32 at its largest number."""
    arrays = [np.abs(array) for leaf in leaves(result) if (array := to_numpy(leaf)) is not None]
    numbers = [array[np.isfinite(array)] for array in arrays if array.dtype.kind == "f"]
    return float(np.finfo(np.float32).eps) * max((array.max(initial=0) for array in numbers), default=0.0)


def is_false(told: CheckReport, kata: str, source: str, reference: str) -> str | None:
    """Return what the call of a report gives, if what stands below it is false. Empty if it is true, None if
    it says nothing of a value.

    A mistake that keeps something between calls may be right in a new process."""
    code = with_value_printed(as_printed(told))
    right = printed_by(code, kata, reference)
    if isinstance(right, Exception) and not isinstance(right, ValueError):
        return f"the mended code raises {right!r}"
    found = CAME.fullmatch(told.came)
    if not found or isinstance(right, Exception):
        return None
    try:
        expected, rounding = entry(right, found[1]), rounding_of(right)
        if not reads_as(found[3], expected, rounding):
            return f"the mended code gives {show(expected)}"
        wrong = printed_by(code, kata, source)
        if first_difference(right, wrong, Tolerance(16)) is not None and not (
            not isinstance(wrong, Exception) and reads_as(found[2], entry(wrong, found[1]), rounding)
        ):
            return f"the mistake gives {wrong!r}"[:300]
    except (IndexError, KeyError, TypeError) as error:
        return f"there is no {found[1]}: {error!r}"
    return ""


def reports_of(prepared: PreparedKata, grader: Grader, source: str) -> Iterator[CheckReport]:
    """Judge a source in this process; yield the report of each failing check that has a call as code."""
    info, name = prepared.info, prepared.kata.name
    student = LocalStudent(load_module(name, source))
    context = CheckContext(prepared.kata, prepared.oracle, student)

    def retried(check: Check, arguments: Arguments) -> Failure | None:
        try:
            one = OneCase(prepared.oracle, arguments)
            right = judge_case(
                check, CheckContext(prepared.kata, one, one.reference), one.case, one.reference
            )
            if right.failure is not None or right.skip is not None:
                return None
            found = judge_case(check, CheckContext(prepared.kata, one, student), one.case, student).failure
        except Exception:  # as in a worker, the case is not taken then
            return None
        return found if found is not None and one.is_steady else None

    results: list[CheckResult] = run_checks(prepared.checks, context)
    if any(result.failures and result.check.nature.of_state for result in results):
        return  # it answers otherwise in another process
    choose = grader._chosen(prepared, Submission(info, source, f"{name}.py"))
    names = signatures_of(grader.course.stub(info).read_text(encoding="utf-8")) | signatures_of(source)
    for result in results:
        if result.failures:
            chosen = choose(result, partial(retried, result.check))
            told = as_check(
                result, prepared.kata, None, QuotedAnswer(source, names), shown_before=(chosen, "")
            )
            if told.snippet and chosen[0].call.error[:1] != ("UnusableResult",):
                yield told


def tried(course: Course, info: KataInfo, nth: int = 1) -> Found:
    """Try the printed calls of all mistakes of a kata, or of every n-th one."""
    grader, found = Grader(course, {}), Found()
    prepared = grader.prepare(info)
    reference = course.solution(info, "reference").read_text(encoding="utf-8")
    sources = [*standalone_sources(course, info, "mistakes").items()]
    for name, source in sources[::nth]:
        if name in NEEDS_THE_CALL_BEFORE:
            continue
        found.mistakes += 1
        with limited_time(course, info):
            for told in reports_of(prepared, grader, source):
                if not is_whole(told):
                    continue
                found.printed += 1
                false = is_false(told, info.name, source, reference)
                found.said += false is not None
                if false:
                    found.false.append(f"{name}: {told.name}\n{told.call}\n# {told.came}\n{false}")
    return found


def main(names: list[str]) -> None:
    course = Course(ROOT)
    infos = [
        info for name, info in course.katas.items() if info.kind.is_code and (not names or name in names)
    ]
    total: Counter[str] = Counter()
    print("| kata | mistakes | calls | that say a value | false |\n|---|---:|---:|---:|---:|", flush=True)
    for info, found in for_each(course, infos, tried, at_once=2):
        print(
            f"| {info.name} | {found.mistakes} | {found.printed} | {found.said} | {len(found.false)} |",
            flush=True,
        )
        total.update(mistakes=found.mistakes, printed=found.printed, said=found.said, false=len(found.false))
        for text in found.false:
            print(text, file=sys.stderr, flush=True)
    print("\n", ", ".join(f"{count} {what}" for what, count in total.items()))


if __name__ == "__main__":
    main(sys.argv[1:])
