"""The list of all checks of a kata, and what each is worth.

The author says what laws and corners are worth. A built-in check gets the points that it asks for, and
agreement with the reference what is left. Where that would be less than LEAST_AGREEMENT, the other built-in
checks give up points in turn.
"""

from __future__ import annotations

from collections.abc import Collection
from functools import singledispatch

from grader.answer_keys.answers import Case, half
from grader.cases import state
from grader.cases.oracle import Oracle
from grader.checks.builtin import BUILTIN, BuiltinCheck, agrees_with_reference
from grader.checks.constants import constant_checks
from grader.checks.context import OF_A_CORNER, OF_A_LAW, Check, CheckContext
from grader.expect import precision_limit
from grader.kata import Kata, KataError, Law, hundredths
from grader.kinds import Kind, Questions
from grader.values.arrays import holds_arrays

AGREEMENT = agrees_with_reference.__name__
LEAST_AGREEMENT = 150  # hundredths of a point
STEP = 25  # hundredths that a check gives up at a time; it keeps as many


def points_of_builtin(kata: Kata, names: Collection[str] = BUILTIN) -> dict[str, int]:
    """Return the hundredths of those built-in checks of a kata that are named; without names, of all. What
    the others would have goes to agreement with the reference."""
    asked = {check.name: check.points or 0 for check in BUILTIN.values() if check.when(kata)}
    of_author = sum(corner.points for corner in kata.corners) + sum(law.points for law in kata.laws)
    left = hundredths(kata.points) - of_author
    points = _scaled_down(asked, left - LEAST_AGREEMENT)
    points = {name: worth for name, worth in points.items() if name in names}
    return {**points, AGREEMENT: left - sum(points.values())}


def _scaled_down(points: dict[str, int], room: int) -> dict[str, int]:
    """Return the points of checks that together have no more than `room`, as far as each can keep a STEP.
    Those that vary a case give up points first, since it is judged as it is too."""
    points, excess = dict(points), sum(points.values()) - room
    order = sorted(points, key=lambda name: BUILTIN[name].nature.role != "variation")
    while excess > 0 and any(worth > STEP for worth in points.values()):
        for name in order:
            given = max(min(STEP, excess, points[name] - STEP), 0)
            points[name] -= given
            excess -= given
    return points


def checks_of(kata: Kata, oracle: Oracle) -> list[Check]:
    """Return all checks of a kata, or of answers to it in another library, in the order in which they run."""
    return _checks_of_kind(kata.kind, kata, oracle)


@singledispatch
def _checks_of_kind(_: Kind, kata: Kata, oracle: Oracle) -> list[Check]:
    """Return the checks of a kind of kata: by default the built-in ones, and those of the declaration."""
    chosen = [(check, _cases_of(check, oracle)) for check in BUILTIN.values() if check.when(kata)]
    chosen = [(check, cases) for check, cases in chosen if cases]
    points = points_of_builtin(oracle.kata, {check.name for check, _ in chosen})
    checks = [
        Check(
            check.name,
            _title(check, kata),
            points.get(check.name, 0),  # only answers in another library than the kata's have the check
            cases,
            check.judge,
            nature=check.nature,
        )
        for check, cases in chosen
    ]
    of_corner = oracle.answered.of_corner
    checks += [
        Check(
            corner.name,
            corner.title,
            corner.points,
            of_corner(corner.name),
            agrees_with_reference,
            nature=OF_A_CORNER,
        )
        for corner in kata.corners
    ]
    return checks + [_law_check(kata, oracle, law) for law in kata.laws]


@_checks_of_kind.register(Questions)
def _(kind: Questions, kata: Kata, oracle: Oracle) -> list[Check]:
    return constant_checks(kind, kata, oracle.answered.cases)


def _title(check: BuiltinCheck, kata: Kata) -> str:
    """Return the title of a check. That of agreement with the reference says whether the kata is a draft."""
    is_marked = kata.draft and check.points is None
    return f"{check.title.rstrip('.')} (a draft: its checks are unproven)." if is_marked else check.title


def _cases_of(check: BuiltinCheck, oracle: Oracle) -> list[Case]:
    answered = oracle.answered
    if check.name == state.EARLIER_CALLS:
        return state.chosen(answered.cases, answered.corners)
    cases = check.choose(answered.cases if check.corner is None else answered.of_corner(check.corner))
    if not check.when(oracle.kata):
        # without a tensor there is no device
        cases = [case for case in cases if holds_arrays(case.arguments)]
    return [case for case in cases if check.needs(oracle.expected(case).native)]


def _law_check(kata: Kata, oracle: Oracle, law: Law) -> Check:
    def judge(context: CheckContext, case: Case) -> None:
        with precision_limit(case.precision):
            law.function(context.student, **law.arguments(case.arguments))

    cases = [Case(0, {})]
    if law.draw is not None:
        own = law.draw is not kata.draw
        cases = oracle.answered.law_cases[law.name] if own else half(oracle.answered.of_corner(""))
        _require_arguments(kata, law, cases)
    return Check(law.name, law.title, law.points, cases, judge, law.parameters, law.purpose, OF_A_LAW)


def _require_arguments(kata: Kata, law: Law, cases: list[Case]) -> None:
    """Raise KataError if a parameter of the law is not an argument of its cases."""
    missing = [name for name in law.parameters if cases and name not in cases[0].arguments]
    if missing:
        raise KataError(
            f"{kata.name}: the law `{law.name}` asks for `{missing[0]}`, and its cases hold"
            f" {', '.join(cases[0].arguments)}; take a name of theirs, or draw it."
        )
