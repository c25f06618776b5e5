"""The built-in checks, which every kata gets, and the plan of all checks of a kata.

A check judges one case. It raises `ExpectationFailed` if its claim does not hold, and `Skip` if it cannot judge
the case.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from grader.cases import generation
from grader.cases.oracle import LAYOUT, Oracle
from grader.checks.base import Check, CheckContext, Judge, Skip
from grader.expect import ExpectationFailed, SubmissionFailed, precision_limit
from grader.kata import CORNER_POINTS, Case, Kata, KataError, Law
from grader.values.arrays import dtype_name, float_dtype, holds_arrays, to_numpy
from grader.values.comparison import Difference, first_difference
from grader.values.formatting import describe, describe_type
from grader.values.tolerance import lost_digits, plain_dtype, widening
from grader.worker.client import WorkerLost
from grader.worker.student import Call, Student

GRADIENT_CASES = 6
DEVICE_CASES = 3  # a pretended operation takes longer than a true one


def agrees_with_reference(session: CheckContext, case: Case) -> None:
    _agree(session, case, plain_dtype(float_dtype(session.expected(case).native)))


def keeps_the_digits_of_float64(session: CheckContext, case: Case) -> None:
    _agree(session, case, "float64")


def _agree(session: CheckContext, case: Case, dtype: str | None) -> None:
    expected, seen = session.expected(case), session.observe(case)
    tolerance = session.oracle.precision(case).tolerance(session.kata.roundings)
    found = first_difference(expected.exact, seen.observed, tolerance, dtype)
    if found and found.kind != "value":  # in the dtype that is due
        found = first_difference(expected.native, seen.observed, tolerance, dtype) or found
    if found:
        _end_trace_at(session.student, seen.observed.get(found.where.split("[")[0]))
        lost = lost_digits(session.kata.library, dtype, expected.exact, seen.observed)
        raise ExpectationFailed(_sentence(found) or lost, _unnamed(found, seen.observed))


def _end_trace_at(student: Student, value: Any) -> None:
    """Drop the calls after the one that gave `value`, so that the call shown is the one that is wrong."""
    for index, call in enumerate(student.trace):
        parts = call.value if isinstance(call.value, tuple | list) else ()
        if value is not None and (call.value is value or any(part is value for part in parts)):
            del student.trace[index + 1 :]
            return


def _sentence(found: Difference) -> str:
    if found.kind == "type":
        return f"The result is {found.got}, where {found.expected} is due."
    if found.kind == "length":
        return "The result has another length than is due."
    if found.kind in ("shape", "dtype"):
        return f"The result is {found.got}; it must be {found.expected}."
    return "The result holds NaN." if found.is_nan else ""


def _unnamed(found: Difference, observed: dict[str, Any]) -> Difference:
    """A kata that observes one value needs no name for it."""
    where = found.where.removeprefix("result") if set(observed) == {"result"} else found.where
    return replace(found, where=where)


def has_the_right_shape(session: CheckContext, case: Case) -> None:
    expected, seen = session.expected(case), session.observe(case)
    for name, wanted, got in _leaves(expected.native, seen.observed):
        have = to_numpy(got)
        if have is not None and have.shape == getattr(wanted, "shape", ()):
            continue
        _end_trace_at(session.student, got)
        if have is None:
            raise ExpectationFailed(f"{name} is {describe_type(got)}, where {describe(wanted)} is due.")
        raise ExpectationFailed(f"{name} has the shape {have.shape}; it must be {tuple(wanted.shape)}.")


def keeps_the_dtype(session: CheckContext, case: Case) -> None:
    try:
        expected, seen = session.expected(case), session.observe(case)
        leaves = [leaf for leaf in _leaves(expected.native, seen.observed) if getattr(leaf[1], "shape", ())]
    except (SubmissionFailed, ExpectationFailed):
        raise Skip from None  # nothing came of the call, or something of another shape altogether
    if not leaves:
        raise Skip  # numbers have no dtype to keep
    for name, wanted, got in leaves:
        have, due = dtype_name(got), dtype_name(wanted)
        if have != due:
            _end_trace_at(session.student, got)
            raise ExpectationFailed(
                f"{name} is {have}; it must be {due}.{widening(session.kata.library, have, due)}"
            )


def _leaves(expected: Any, got: Any, name: str = "") -> list[tuple[str, Any, Any]]:
    """Pairs of leaves with their names. Raises ExpectationFailed where the trees part."""
    if not isinstance(expected, dict | list | tuple):
        return [(name, expected, got)] if hasattr(expected, "shape") else []
    if not holds_arrays(expected):
        return []  # plain numbers have no shape to keep; agreement judges them
    if isinstance(expected, dict) != isinstance(got, dict) or not isinstance(got, dict | list | tuple):
        raise ExpectationFailed(f"{name} is {describe_type(got)}, where {describe_type(expected)} is due.")
    keys = list(expected) if isinstance(expected, dict) else list(range(len(expected)))
    if len(got) != len(expected) or (isinstance(got, dict) and set(got) != set(expected)):
        raise ExpectationFailed(f"{name} is {describe_type(got)}, where {describe_type(expected)} is due.")
    one = not name and keys == ["result"]
    return [
        leaf
        for key in keys
        for leaf in _leaves(expected[key], got[key], "The result" if one else _path(name, key))
    ]


def _path(name: str, key: Any) -> str:
    return f"{name}[{key!r}]" if name else f"`{key}`"


def leaves_arguments_unchanged(session: CheckContext, case: Case) -> None:
    try:
        changed = session.observe(case).changed
    except (SubmissionFailed, ExpectationFailed):
        raise Skip from None  # nothing came of the call
    if changed:
        raise ExpectationFailed(
            f"The call changes {', '.join(sorted(set(changed)))} in place; its caller still needs it."
        )


def answers_the_same_again(session: CheckContext, case: Case) -> None:
    try:
        first = session.observe(case)
    except (SubmissionFailed, ExpectationFailed):
        raise Skip from None  # nothing came of the first call
    session.student.trace.clear()
    with session.student.holding_results() as held:
        again = dict(session.kata.observed(session.student, case))
    if held.overwritten:
        raise ExpectationFailed("A call changes the result of an earlier one, which its caller still holds.")
    tolerance = session.oracle.precision(case).tolerance(session.kata.roundings)
    found = first_difference(first.observed, again, tolerance)
    if found:
        raise ExpectationFailed(
            "A second call with the same arguments gives another answer.", _unnamed(found, again)
        )


def has_the_right_gradients(session: CheckContext, case: Case) -> None:
    expected = session.expected(case).gradients
    session.student.trace.clear()
    with session.student.recording_gradients() as tape:
        session.kata.observed(session.student, case)
    if len(tape.gradients) != len(expected):
        raise ExpectationFailed("The calls made do not give the results that can be differentiated.")
    tolerance = session.oracle.precision(case).tolerance(4 * session.kata.roundings, times=4)
    for wanted, have, call in zip(expected, tape.gradients, tape.calls, strict=True):
        beside = tolerance.beside(wanted)  # a gradient that is zero by algebra comes out as noise
        for key in wanted:
            dtype = plain_dtype(dtype_name(have.get(key)))
            found = first_difference(wanted[key], have.get(key), beside, dtype)
            if found:
                raise ExpectationFailed(_gradient_sentence(_named(key, call, case), have.get(key)), found)


def _named(key: str, call: Call, case: Case) -> str:
    """The name that an argument has in the case, in place of `args[0]`."""
    names = {f"args[{i}]": _name_in(case, arg) for i, arg in enumerate(call.args)}
    return names.get(key) or key


def _name_in(case: Case, value: Any) -> str | None:
    return next((name for name, argument in case.items() if argument is value), None)


def _gradient_sentence(name: str, gradient: Any) -> str:
    if gradient is not None and not bool((gradient != 0).any()):
        return f"No gradient reaches {name}: something on the way is detached or made anew."
    return f"The gradient with respect to {name} differs from the reference's."


def stays_on_the_device(session: CheckContext, case: Case) -> None:
    plain = _answer_on_the_cpu(session, case)
    session.student.trace.clear()
    with session.student.pretending_device() as life:
        try:
            observed = dict(session.kata.observed(session.student, case))
        except SubmissionFailed as failure:
            raise _failed_away(failure, plain is not None) from None
        except WorkerLost:
            raise
        except Exception:  # the answers cannot be observed; one on the CPU is the likely reason
            observed = {}
    if "cpu" in life.devices:
        raise ExpectationFailed(
            "The inputs are on another device than the CPU, and the result is on the CPU."
        )
    if plain is None:
        raise Skip
    _require_same_answer(session, case, plain, observed)


def _answer_on_the_cpu(session: CheckContext, case: Case) -> dict[str, Any] | None:
    try:
        return dict(session.observe(case).observed)
    except (SubmissionFailed, ExpectationFailed):
        return None


def _failed_away(failure: SubmissionFailed, works_on_the_cpu: bool) -> ExpectationFailed | Skip:
    """What to raise where a call on the pretended device failed."""
    where = f" (line {failure.line})" if failure.line else ""
    if failure.met_the_cpu:
        return ExpectationFailed(
            f"A tensor on the CPU meets one on the inputs' device{where}."
            " Create tensors with device=x.device, and register a module's tables as buffers."
        )
    if works_on_the_cpu:
        return ExpectationFailed(
            f"With the inputs on another device than the CPU, the code raises {failure}."
            " On the CPU the same call works."
        )
    return Skip()


def _require_same_answer(
    session: CheckContext, case: Case, plain: dict[str, Any], observed: dict[str, Any]
) -> None:
    """Raise ExpectationFailed if another device gives another answer, unless a second call on the CPU does so
    too."""
    tolerance = session.oracle.precision(case).tolerance(session.kata.roundings)
    found = first_difference(plain, observed, tolerance)
    if not found:
        return
    trace = list(session.student.trace)
    again = dict(session.kata.observed(session.student, case))
    session.student.trace[:] = trace
    if first_difference(plain, again, tolerance):
        raise Skip
    raise ExpectationFailed(
        "With the inputs on another device than the CPU, the answer is another one than on the CPU.",
        _unnamed(found, observed),
    )


def _all(cases: list[Case]) -> list[Case]:
    return cases


def _half_backwards(cases: list[Case]) -> list[Case]:
    return generation.half(cases)[::-1]


def _spread(cases: list[Case]) -> list[Case]:
    return generation.spread(cases, GRADIENT_CASES)


def _neither_small_nor_large(cases: list[Case]) -> list[Case]:
    return generation.spread(cases, 2 * DEVICE_CASES)[-DEVICE_CASES - 1 : -1]


def _of_float64(cases: list[Case]) -> list[Case]:
    return [case for case in cases if float_dtype(case) == "float64"]


@dataclass(frozen=True)
class FreeCheck:
    """What it claims, how it judges a case, and which cases, in which order: of the plain ones, or of all."""

    title: str
    judge: Judge
    cases: Callable[[list[Case]], list[Case]] = _all
    in_corners: bool = False


FREE_CHECKS = {
    "agrees_with_reference": FreeCheck("Every entry equals the reference.", agrees_with_reference),
    "has_the_right_shape": FreeCheck(
        "Every result has the shape that the statement names.", has_the_right_shape
    ),
    "keeps_the_dtype": FreeCheck(
        "The result has the dtype that the statement names.", keeps_the_dtype, in_corners=True
    ),
    "leaves_arguments_unchanged": FreeCheck(
        "The arguments are left as they were.", leaves_arguments_unchanged, in_corners=True
    ),
    "answers_the_same_again": FreeCheck(
        "The same call gives the same answer.", answers_the_same_again, _half_backwards, in_corners=True
    ),
    "has_the_right_gradients": FreeCheck(
        "Gradients equal the reference's.", has_the_right_gradients, _spread
    ),
    "stays_on_the_device": FreeCheck(
        "Every tensor is on the inputs' device.", stays_on_the_device, _neither_small_nor_large
    ),
    "float64_keeps_its_digits": FreeCheck(
        "float64 keeps its digits.", keeps_the_digits_of_float64, _of_float64
    ),
}
LAYOUT_TITLE = "Any memory layout gives the same answer."


def plan(kata: Kata, oracle: Oracle) -> list[Check]:
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
        Check(name, title, points[name], cases, judge)
        for name, title, cases, judge in found
        if name in points
    ]
    return plans + [_plan_of_law(kata, oracle, law) for law in kata.laws]


def _plan_of_law(kata: Kata, oracle: Oracle, law: Law) -> Check:
    def judge(session: CheckContext, case: Case) -> None:
        session.student.trace.clear()
        with precision_limit(session.oracle.precision(case)):
            law.function(session.student, **law.arguments(case))

    cases: list[Case] = [{}]
    if law.draw is not None:
        own = law.draw is not kata.draw
        cases = oracle.key.law_cases[law.name] if own else generation.half(oracle.key.of_corner(""))
        _require_arguments(kata, law, cases)
    return Check(law.name, law.title, law.points, cases, judge, law.parameters)


def _require_arguments(kata: Kata, law: Law, cases: list[Case]) -> None:
    """Raises KataError where a law asks for what its cases do not hold."""
    lacking = [name for name in law.parameters if cases and name not in cases[0]]
    if lacking:
        raise KataError(
            f"{kata.name}: the law `{law.name}` asks for `{lacking[0]}`, and its cases hold"
            f" {', '.join(cases[0])}; take a name of theirs, or draw it."
        )
