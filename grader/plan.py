"""All checks of a kata, in the order in which they run: the free ones, then its laws."""

from __future__ import annotations

from grader import bank
from grader.checks import CheckPlan, Session
from grader.expect import judged_in
from grader.free_checks import FREE_CHECKS, LAYOUT_TITLE, agrees_with_reference
from grader.kata import CORNER_POINTS, Case, Kata, KataError, Law
from grader.oracle import LAYOUT, Oracle


def plan(kata: Kata, oracle: Oracle) -> list[CheckPlan]:
    """All checks of a kata, in the order in which they run."""
    plain = oracle.key.of_corner("")
    found = [
        (name, free.title, free.cases(oracle.key.cases if free.in_corners else plain), free.judge)
        for name, free in FREE_CHECKS.items()
    ]
    found.append((LAYOUT, LAYOUT_TITLE, oracle.key.of_corner(LAYOUT), agrees_with_reference))
    found += [(c.name, c.title, oracle.key.of_corner(c.name), agrees_with_reference) for c in kata.corners]
    reached = [name for name, _, cases, _ in found if name in CORNER_POINTS and cases]
    points = kata.free_points(reached)
    plans = [
        CheckPlan(name, title, points[name], cases, judge)
        for name, title, cases, judge in found
        if name in points
    ]
    return plans + [_plan_of_law(kata, oracle, law) for law in kata.laws]


def _plan_of_law(kata: Kata, oracle: Oracle, law: Law) -> CheckPlan:
    def judge(session: Session, case: Case) -> None:
        session.student.trace.clear()
        with judged_in(session.oracle.precision(case)):
            law.function(session.student, **law.arguments(case))

    cases: list[Case] = [{}]
    if law.draw is not None:
        own = law.draw is not kata.draw
        cases = oracle.key.law_cases[law.name] if own else bank.half(oracle.key.of_corner(""))
        _require_arguments(kata, law, cases)
    return CheckPlan(law.name, law.title, law.points, cases, judge, law.parameters)


def _require_arguments(kata: Kata, law: Law, cases: list[Case]) -> None:
    """Raises KataError where a law asks for what its cases do not hold."""
    lacking = [name for name in law.parameters if cases and name not in cases[0]]
    if lacking:
        raise KataError(
            f"{kata.name}: the law `{law.name}` asks for `{lacking[0]}`, and its cases hold"
            f" {', '.join(cases[0])}; take a name of theirs, or draw it."
        )
