"""Measure how often a run shows the place of three kinds of mistakes, and who is told of a float32.

python benchmarks/locators.py [COUNT] [KATA ...]       COUNT wrong answers of each kind and kata; of all katas
python benchmarks/locators.py --constants [COUNT]      COUNT answers with a changed constant, over all katas
"""

from __future__ import annotations

import ast
import copy
import os
import random
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import closing
from itertools import count, islice

from repair import MOST_TRIED, Row, changed_lines, measure

from grader.checks.runner import CheckResult
from grader.course.catalog import Course, KataInfo, open_course
from grader.course.submission import SubmissionRejected, parse
from grader.diagnosis import trial
from grader.edits import state_operators
from grader.edits.walk import spots
from grader.grading.grader import Grader
from grader.grading.session import open_grader
from grader.report import KataReport, Mistake
from grader.values.comparison import LOST_DIGITS

SEED = 7301
COUNT = 2
CHANGES = 500
WIDER = {"numpy": "({}) * np.float64(1)", "torch": "({}).double()"}
#: The first statement of a function whose caller's argument is changed.
CHANGED = {
    "numpy": "if isinstance({0}, np.ndarray):\n    given, {0} = {0}, {0}.copy()\n    given[...] = 0",
    "torch": "if isinstance({0}, torch.Tensor):\n    given, {0} = {0}, {0}.clone()\n    given.data.zero_()",
}
KEPT = "{}.setdefault(repr(getattr({}, 'shape', {})), {})"
OPERATORS = (
    *(state_operators.kept_forever, state_operators.length_kept_forever, state_operators.root_kept_forever),
    *(state_operators.kept_by_size, state_operators.kept_by_shape, state_operators.mask_kept_by_shape),
    state_operators.one_buffer,
)
KEEPING = (
    *(*state_operators.STATE.of_nodes, *state_operators.BUFFERS.of_nodes),
    (list, state_operators.one_buffer),
)


class Nameless:
    """Names no mistake: what a run shows is measured for answers with a name, too."""

    def name(self, _findings: list[CheckResult]) -> dict[str, Mistake]:
        return {}


def functions(tree: ast.AST, names: tuple[str, ...]) -> Iterator[ast.FunctionDef]:
    """Yield the functions that a kata asks for, and the methods of its classes but the constructors."""
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.FunctionDef) and node.name in names and node.name != "__init__":
            yield node
        elif isinstance(node, ast.ClassDef) and node.name in names:
            yield from functions(node, tuple(n.name for n in node.body if isinstance(n, ast.FunctionDef)))


def parameters(function: ast.FunctionDef) -> list[str]:
    return [arg.arg for arg in function.args.args if arg.arg != "self"]


def with_wider_dtype(tree: ast.Module, info: KataInfo) -> Iterator[str]:
    """Yield the source with one value that is float64."""
    for node in (n for f in functions(tree, info.entry_points) for n in ast.walk(f)):
        if isinstance(node, ast.Assign | ast.Return) and node.value:
            before = node.value
            node.value = ast.parse(WIDER[info.library].format(ast.unparse(before)), mode="eval").body
            yield ast.unparse(tree)
            node.value = before


def with_changed_argument(tree: ast.Module, info: KataInfo) -> Iterator[str]:
    """Yield the source with one argument that is changed."""
    for function in functions(tree, info.entry_points):
        for name in parameters(function):
            first = ast.parse(CHANGED[info.library].format(name)).body
            function.body[:0] = first
            yield ast.unparse(tree)
            del function.body[: len(first)]


def with_kept_state(tree: ast.Module, info: KataInfo) -> Iterator[str]:
    """Yield the source with a value that is kept for later calls: by an operator, or with a wrong key."""
    for spot in spots(tree):
        for kind, operator in KEEPING:
            if isinstance(spot.node, kind) and operator in OPERATORS:
                yield from (spot.edit(other).source(tree) for other in operator(spot.node, spot.around))
    for number, function in enumerate(functions(tree, info.entry_points)):
        for holder in ("KEPT", "kept", f"{function.name}.kept", "vars(self)"):
            changed = copy.deepcopy(tree)
            own = list(functions(changed, info.entry_points))[number]
            if _keep(own, holder):
                made = ast.parse(f"{holder} = {{}}").body if holder != "vars(self)" else []
                changed.body += made if holder.endswith(".kept") else []
                changed.body[-1:-1] = made if holder == "KEPT" else []
                yield ast.unparse(changed)


def _keep(function: ast.FunctionDef, holder: str) -> bool:
    """Let a function return its first result of a shape; return whether it can."""
    names, is_method = parameters(function), any(arg.arg == "self" for arg in function.args.args)
    if not names or (is_method if holder.endswith(".kept") else holder == "vars(self)" and not is_method):
        return False
    if holder == "kept":
        function.args.kwonlyargs.append(ast.arg("kept"))
        function.args.kw_defaults.append(ast.Dict([], []))
    for node in (n for n in ast.walk(function) if isinstance(n, ast.Return) and n.value):
        text = KEPT.format(holder, names[0], names[0], ast.unparse(node.value))
        node.value = ast.parse(text, mode="eval").body
    return True


LOCATORS: dict[str, tuple[Callable[[ast.Module, KataInfo], Iterator[str]], str]] = {
    "a wider dtype": (with_wider_dtype, "keeps_the_dtype"),
    "a changed argument": (with_changed_argument, "leaves_arguments_unchanged"),
    "state kept between calls": (with_kept_state, ""),
}


def row_of(grader: Grader, course: Course, info: KataInfo, kind: str, most: int) -> tuple[Row, int]:
    """Return the row of wrong answers of a kind, and for how many of them a run shows a fact."""
    make, check = LOCATORS[kind]
    reference = course.solution(info, "reference").read_text(encoding="utf-8")
    plain = ast.unparse(ast.parse(reference))
    sources = list(dict.fromkeys(make(ast.parse(reference), info)))
    random.Random(f"{SEED} {info.name} {kind}").shuffle(sources)
    total, facts = Row(), 0
    for source in sources[: MOST_TRIED * most]:
        if total.wrong >= most:
            break
        found = measure(grader, info, source, changed_lines(plain, source))
        if found is None or not _is_alone(found[1], check):
            continue
        total.add(found[0])
        facts += any(place.fact for place in found[1].repairs)
        if "DOJO_VERBOSE" in os.environ and not found[0].proven:
            failing = [c.name for c in found[1].checks if c.status not in ("passed", "skipped")]
            print(f"--- {info.name}: {kind}\n{source}\n{failing}", file=sys.stderr, flush=True)
    return total, facts


def _is_alone(report: KataReport, check: str) -> bool:
    """Return whether a report has failures of that check alone, if there is one, and no exception."""
    failing = {c.name for c in report.checks if c.status not in ("passed", "skipped")}
    raised = any(c.status in ("error", "timeout") for c in report.checks)
    return not raised and (not check or failing == {check})


def located(most: int, names: list[str]) -> None:
    """Print a row for each kind of mistake and each kata."""
    course = open_course(None)
    infos = [course.kata_info(name) for name in names] or written(course)
    random.Random(SEED).shuffle(infos)
    grader, source = open_grader(course, infos)
    grader.matchers.update({info.name: Nameless() for info in infos})
    rows = {kind: Row() for kind in LOCATORS}
    shown, katas = Counter[str](), Counter[str]()
    with closing(source):
        print("| only fault | katas | wrong | shown by a run | located | changed line shown |")
        print("|---|---:|---:|---:|---:|---:|")
        for info in infos:
            for kind, total in rows.items():
                row, facts = row_of(grader, course, info, kind, most)
                total.add(row)
                shown[kind] += facts
                katas[kind] += bool(row.wrong)
                if row.wrong:
                    told = f"{row.wrong} | {facts} | {row.proven} | {row.true} |"
                    print(f"| {kind} | `{info.name}` | {told}", flush=True)
        for kind, row in rows.items():
            share = f"{row.proven} ({row.proven / max(row.wrong, 1):.0%})"
            print(f"| **{kind}** | {katas[kind]} | {row.wrong} | {shown[kind]} | {share} | {row.true} |")


def written(course: Course) -> list[KataInfo]:
    """Return the katas that have code to write."""
    return [info for info in course.katas.values() if info.track != "concepts"]


def with_changed_constant(source: str, chance: random.Random) -> str:
    """Return the source with a float constant changed by a relative 1e-6 to 1e-4; "" if there is none."""
    tree = ast.parse(source)
    nodes = [n for n in ast.walk(tree) if isinstance(n, ast.Constant) and type(n.value) is float and n.value]
    if not nodes:
        return ""
    node = chance.choice(nodes)
    assert isinstance(node.value, float)
    node.value *= 1 + chance.choice((-1, 1)) * 10 ** chance.uniform(-6, -4)
    return ast.unparse(tree)


def constants(most: int) -> None:
    """Print how many answers with a changed constant are refused, and how many reports mention a float32."""
    course = open_course(None)
    infos = written(course)
    chance = random.Random(SEED)
    read = {info: course.solution(info, "reference").read_text(encoding="utf-8") for info in infos}
    infos = [info for info in infos if with_changed_constant(read[info], random.Random(0))]
    grader, source = open_grader(course, infos)
    grader.matchers.update({info.name: Nameless() for info in infos})
    wrong = told = 0
    with closing(source):
        for info in islice((infos[turn % len(infos)] for turn in count()), most):
            changed = with_changed_constant(read[info], chance)
            try:
                report = grader.grade(parse(info, changed, f"{info.name}.py")).report
            except SubmissionRejected:
                continue
            wrong += report.status == "failed"
            if any(LOST_DIGITS in check.message for check in report.checks):
                told += 1
                print(f"--- {info.name}\n{changed}", file=sys.stderr, flush=True)
            if "DOJO_VERBOSE" in os.environ:
                print(info.name, report.status, told, file=sys.stderr, flush=True)
    what = f"{most} answers of {len(infos)} katas with a changed constant"
    print(f"{what}: {wrong} refused, {told} told of a float32.")


def main() -> None:
    """Measure the locators, or with `--constants` the message about a float32."""
    trial.WALL_FACTOR = 50  # other programs may run beside this one
    if "--constants" in sys.argv:
        constants(int((sys.argv[2:] or [CHANGES])[0]))
    else:
        located(int((sys.argv[1:] or [COUNT])[0]), sys.argv[2:])


if __name__ == "__main__":
    main()
