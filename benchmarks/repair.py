"""Measure how often a search finds the place of a mistake that has no name, and how long it takes.

python benchmarks/repair.py [COUNT] [KATA ...]     COUNT mutants of each kata that the course does not name
python benchmarks/repair.py COUNT numpy            of every kata of a library

The wrong answers are mutants of the references, drawn by a seed, and slips written by hand (`slips.toml`).
"""

from __future__ import annotations

import ast
import os
import random
import statistics
import sys
import tomllib
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass, field, fields
from difflib import SequenceMatcher
from pathlib import Path

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

from grader.course.catalog import Course, KataInfo, open_course
from grader.course.known_solutions import standalone_sources
from grader.course.submission import SubmissionRejected, parse
from grader.diagnosis import trial
from grader.diagnosis.search_options import SearchOptions
from grader.edits.mutants import mutants
from grader.formats import html, terminal
from grader.grading.grader import Grader
from grader.grading.session import open_grader
from grader.report import KataReport, Report, to_json

SEED = 52609
COUNT = 20
KATAS = (
    *("softmax", "causal_mask", "scaled_dot_product_attention", "layer_norm", "cross_entropy", "rms_norm"),
    *("causal_self_attention", "decoder_block", "top_k", "swiglu", "lora_linear", "repetition_penalty"),
)
HEAD = """| | wrong | named | proven | raised | named or located | changed line shown | CPU |
|---|---:|---:|---:|---:|---:|---:|---:|"""
LONG = 15  # characters of a line that is shown by no coincidence
MOST_TRIED = 8  # mutants graded for each one that has no name


@dataclass
class Row:
    """The wrong answers of one kata: how many have a name, and how many without one were located, and how."""

    wrong: int = 0
    named: int = 0
    proven: int = 0  # an edit of the place makes every check pass, or a run shows a fact
    raised: int = 0  # not proven; the report shows the line that raised an exception
    true: int = 0  # located, and the line that was changed is among those shown
    leaked: int = 0  # the report has a line of the reference that the submission does not have
    seconds: list[float] = field(default_factory=list)  # of CPU time, of each search

    def add(self, other: Row) -> None:
        for part in fields(self):
            setattr(self, part.name, getattr(self, part.name) + getattr(other, part.name))

    def __str__(self) -> str:
        located = self.proven + self.raised
        told = statistics.median(self.seconds) if self.seconds else 0.0
        share, true = (self.named + located) / max(self.wrong, 1), self.true / max(located, 1)
        return (
            f"{self.wrong} | {self.named} | {self.proven} | {self.raised} | {share:.0%} |"
            f" {self.true} of {located} ({true:.0%}) | {told:.2f} s"
        )


def slips(kata: str) -> list[tuple[str, str]]:
    """Return the slips written by hand for a kata: what stands in the reference, and what instead."""
    found = tomllib.loads(Path(__file__).with_name("slips.toml").read_text(encoding="utf-8"))
    return [(slip["was"], slip["now"]) for slip in found["slip"] if slip["kata"] == kata]


def slipped(course: Course, info: KataInfo) -> Iterator[tuple[str, set[int]]]:
    """Yield the answers with a slip, and the lines that were changed."""
    reference = course.solution(info, "reference").read_text(encoding="utf-8")
    for was, now in slips(info.name):
        assert reference.count(was) >= 1, (info.name, was)
        source = reference.replace(was, now, 1)
        yield source, changed_lines(reference, source)


def mutated(course: Course, info: KataInfo) -> Iterator[tuple[str, set[int]]]:
    """Yield the mutants of a reference in a random order, and the lines that were changed."""
    reference = course.solution(info, "reference").read_text(encoding="utf-8")
    found = list(mutants(reference, detaches=course.declaration(info).grades_gradients))
    random.Random(f"{SEED} {info.name}").shuffle(found)
    plain = ast.unparse(ast.parse(reference))
    for mutant in found:
        yield mutant.source, changed_lines(plain, mutant.source)


def changed_lines(before: str, after: str) -> set[int]:
    """Return the numbers of the changed lines; around lines that are missing, of both neighbours."""
    lines = before.splitlines(), after.splitlines()
    found: set[int] = set()
    for tag, _, _, start, end in SequenceMatcher(None, *lines, autojunk=False).get_opcodes():
        if tag != "equal":
            found |= set(range(start + 1, end + 1)) or {start, start + 1}
    return found


def measure(grader: Grader, info: KataInfo, source: str, lines: set[int]) -> tuple[Row, KataReport] | None:
    """Grade one answer and search; None if it is right, or cannot be loaded."""
    try:
        graded = grader.grade(parse(info, source, f"{info.name}.py"))
    except SubmissionRejected:
        return None
    report = graded.report
    if report.status == "passed":
        return None
    if report.mistake:
        return Row(wrong=1, named=1), report
    report, seconds = graded.locate(SearchOptions())
    proven = {repair.place.line for repair in report.repairs}
    raised = {check.place.line for check in report.checks if check.place}
    row = Row(wrong=1, seconds=[seconds], true=bool(lines & (proven | raised)))
    row.proven = bool(proven)
    row.raised = bool(raised and not proven)
    return row, report


def leaks(course: Course, info: KataInfo, source: str, report: KataReport) -> bool:
    """Return whether a text made of the report has a line of the reference that is not in the submission."""
    reference = course.solution(info, "reference").read_text(encoding="utf-8")
    statements = ast.unparse(ast.parse(reference)).splitlines()
    hidden = {line.strip() for line in [*reference.splitlines(), *statements]}
    texts = terminal.render_kata(report), html.render(Report((report,))), str(to_json(Report((report,))))
    return any(line in text for line in hidden if len(line) >= LONG and line not in source for text in texts)


def row_of(
    grader: Grader, course: Course, info: KataInfo, answers: Iterator[tuple[str, set[int]]], count: int
) -> Row:
    """Return the row of the first answers until `count` of them have no name."""
    total, tried = Row(), 0
    for source, lines in answers:
        tried += 1
        if total.wrong - total.named >= count or tried > MOST_TRIED * count:
            break
        found = measure(grader, info, source, lines)
        if found is None:
            continue
        total.add(found[0])
        total.leaked += leaks(course, info, source, found[1])
        if "DOJO_VERBOSE" in os.environ and not found[0].named and not found[0].true:
            shown = [text for number, text in enumerate(source.splitlines(), 1) if number in lines]
            print("   ", info.name, shown, found[1].repairs, file=sys.stderr)
    return total


def false_places(grader: Grader, course: Course, info: KataInfo) -> tuple[int, int]:
    """Return the number of right answers, and for how many of them a place is shown."""
    sources = standalone_sources(course, info, "variants").values()
    graded = [grader.grade(parse(info, source, f"{info.name}.py")) for source in sources]
    return len(graded), sum(bool(one.locate(SearchOptions()).report.repairs) for one in graded)


def infos_of(course: Course, names: list[str]) -> list[KataInfo]:
    """Return katas by their names, or all of a library that have code to write."""
    if names in (["numpy"], ["torch"]):
        return [i for i in course.katas.values() if i.library == names[0] and i.track != "concepts"]
    return [course.kata_info(name) for name in names]


def main() -> None:
    """Print a row for each kata and each source of wrong answers."""
    count = int(sys.argv[1]) if len(sys.argv) > 1 else COUNT
    course = open_course(None)
    infos = infos_of(course, sys.argv[2:] or list(KATAS))
    trial.WALL_FACTOR = 50  # other programs may run beside this one
    grader, source = open_grader(course, infos)
    with closing(source):
        print(HEAD)
        leaked = 0
        for what, answers, most in (("mutants", mutated, count), ("slips", slipped, 1000)):
            total = Row()
            for info in infos:
                row = row_of(grader, course, info, answers(course, info), most)
                total.add(row)
                print(f"| {what} of `{info.name}` | {row} |", flush=True)
            leaked += total.leaked
            print(f"| **all {what}** | {total} |", flush=True)
        rights, shown = map(sum, zip(*(false_places(grader, course, info) for info in infos), strict=True))
        print(f"\n{leaked} reports show a line of a reference.")
        print(f"Of {rights} right answers, {shown} are shown a place.")


if __name__ == "__main__":
    main()
