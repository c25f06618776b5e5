"""The built-in ("free") checks, which every kata gets.

A check judges one case. It raises `CaseFailed`, with the calls that it complains about, if its claim does not
hold, and `Skip` if it cannot judge the case.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from grader.answer_keys.answers import Case, half, spread, spread_pairs
from grader.cases import state
from grader.cases.generation import LAYOUT
from grader.checks.context import CheckContext, Judge, Nature, Observation
from grader.expect import ExpectationFailed, SubmissionFailed
from grader.kata import Arguments, Kata
from grader.values.arrays import (
    contiguous,
    dtype_name,
    float_dtype,
    holds_arrays,
    is_default_integer,
    leaves,
    to_numpy,
)
from grader.values.comparison import Difference, first_difference, lost_digits, plain_dtype, widening
from grader.values.formatting import describe, describe_type
from grader.worker.calls import Call, Calls, CaseFailed, Skip
from grader.worker.protocol.codec import TensorOutline
from grader.worker.proxies import without_objects

GRADIENT_CASES = 6
NUMBERS = {2: "two", 3: "three", 4: "four"}
AT_RANDOM = "Is something drawn at random, kept between calls, or taken from a set, whose order changes?"
A_TENSOR = " A file that uses NumPy is judged in NumPy, whose arrays are no tensors."
CALL_FAILS = "the call raises in every case that it judges"
DEVICE_CASES = 3  # an operation on the fake device takes longer than one on the CPU


Choose = Callable[[list[Case]], list[Case]]


@dataclass(frozen=True)
class BuiltinCheck:
    """A check that every kata gets.

    Attributes:
        name: The name of the function that judges.
        title: Its docstring, a claim in the present tense.
        judge: Judges one case.
        points: Hundredths of a point, or fewer where a kata has too many checks for its points (see
            `grader.checks.kata_checks`); None if it gets what all others leave.
        when: Whether a kata has the check.
        choose: Selects and orders the cases. A check without cases is left out.
        corner: The corner whose cases are judged: "" for the plain ones, None for all.
        needs: Whether a right answer has what the check is about; cases without it are left out.
        nature: What the check is, for those who ask.
    """

    name: str
    title: str
    judge: Judge
    points: int | None
    when: Callable[[Kata], bool]
    choose: Choose
    corner: str | None
    needs: Callable[[Any], bool]
    nature: Nature


BUILTIN: dict[str, BuiltinCheck] = {}  # in the order in which they run


def builtin_check(
    points: int | None = 50,
    when: Callable[[Kata], bool] = lambda _: True,
    choose: Choose = lambda cases: cases,
    corner: str | None = "",
    needs: Callable[[Any], bool] = lambda _: True,
    **nature: Any,
) -> Callable[[Judge], Judge]:
    """Register the decorated function as a check that every kata gets; see `BuiltinCheck`, and `Nature` for
    what else may be said of it."""

    def register(judge: Judge) -> Judge:
        name, title = judge.__name__, " ".join((judge.__doc__ or "").split())
        BUILTIN[name] = BuiltinCheck(
            name, title, judge, points, when, choose, corner, needs, Nature(**nature)
        )
        return judge

    return register


def _half_reversed(cases: list[Case]) -> list[Case]:
    return half(cases)[::-1]


def _gradient_cases(cases: list[Case]) -> list[Case]:
    return spread_pairs(cases, GRADIENT_CASES)


def _medium_sized(cases: list[Case]) -> list[Case]:
    return spread(cases, 2 * DEVICE_CASES)[-DEVICE_CASES - 1 : -1]


def _has_axes(answer: Any) -> bool:
    return any(getattr(leaf, "shape", ()) for leaf in leaves(answer))


def _float64_only(cases: list[Case]) -> list[Case]:
    return [case for case in cases if float_dtype(case.arguments) == "float64"]


@builtin_check(
    points=None,
    compares=True,
    of_agreement=True,
    role="ordinary",
    differs="The result differs from the reference's.",
)
def agrees_with_reference(context: CheckContext, case: Case) -> None:
    """Every entry equals the reference."""
    _agree(context, case, plain_dtype(float_dtype(context.expected(case).native)))


def _agree(context: CheckContext, case: Case, dtype: str | None) -> None:
    expected, seen = context.expected(case), context.observe(case)
    tolerance, observed = case.precision.tolerance(context.kata.roundings), seen.observed
    found = first_difference(expected.exact, observed, tolerance, dtype)
    if found and found.kind != "value":  # compare with the native answer, so that the message has its dtype
        found = first_difference(expected.native, observed, tolerance, dtype) or found
    if found:
        part = found.where.split("[")[0]
        call = _call_that_returned(observed.get(part), seen.calls)
        exact, got = expected.exact.get(part, expected.exact), observed.get(part, observed)
        lost = lost_digits(context.kata.library, dtype, exact, got)
        found = _without_result_name(found, observed)
        one = _one_for_several(seen)
        if others := _other_parts(expected.native, observed):
            raise seen.complaint(one or others, call=call)
        text = one or _sentence(found) or lost
        if found.got == "an object of type Tensor" and context.kata.library == "numpy":
            text += A_TENSOR
        raise seen.complaint(text, found, call)


def _other_parts(expected: dict[str, Any], observed: dict[str, Any]) -> str:
    """Return what to say if a result lacks the parts that the kata compares, or has others; else no text."""
    others = [value for name, value in observed.items() if name not in expected]
    if expected.keys() == observed.keys() or not others:
        return ""
    return f"The result is {describe_type(others[0])}, where {' and '.join(expected)} are expected."


def _one_for_several(seen: Observation) -> str:
    """Return what to say if the kata has unpacked an array along its first axis; otherwise no text."""
    for call in seen.calls.judged:
        whole = to_numpy(call.value)
        parts = [to_numpy(leaf) for leaf in leaves(seen.values)]
        rows = [part for part in parts if whole is not None and part is not None and _is_row(part, whole)]
        if whole is not None and whole.ndim and len(rows) == len(whole) > 1:
            return f"`{call.name}` returns one array where {NUMBERS.get(len(rows), len(rows))} are expected."
    return ""


def _is_row(part: Any, whole: Any) -> bool:
    return bool(part.shape == whole.shape[1:] and whole.ndim and np.may_share_memory(part, whole))


def argument_of(call: Call, name: str) -> str:
    """Return how a message speaks of an argument; a report puts the parameter's name in its place."""
    return f"{name} of {call.name}" if name.startswith("argument ") else name


def _call_that_returned(value: Any, calls: Calls) -> Call | None:
    """Return the call that returned a value, or a list of its numbers; None if no call did.

    Equal small numbers are one object, so one that was read from an attribute counts for no call."""
    if any(call.is_read and call.value is value for call in calls.requests):
        return None
    judged = calls.judged
    found = next((call for call in judged if _returned(call, value)), None)
    return found or next((call for call in judged if _holds_the_numbers(call.value, value)), None)


def _returned(call: Call, value: Any) -> bool:
    return value is not None and any(part is value for part in (call.value, *leaves(call.value)))


def _holds_the_numbers(value: Any, other: Any) -> bool:
    """Return whether a list holds the numbers of an array, in the array's precision."""
    array = to_numpy(other)
    if array is None or array.ndim != 1 or not isinstance(value, list | tuple) or len(value) != array.size:
        return False
    numbers = [number for number in value if isinstance(number, int | float)]
    return len(numbers) == len(value) and bool((np.asarray(numbers).astype(array.dtype) == array).all())


def _sentence(found: Difference) -> str:
    subject = f"`{found.where}`" if found.where[:1].isidentifier() else f"Item {found.where} of the result"
    subject = subject if found.where else "The result"
    if found.kind == "type":
        question = " Is a `return` missing?" if found.got == "None" and "[" not in found.where else ""
        return f"{subject} is {found.got}, where {found.expected} is expected.{question}"
    if found.kind == "length":
        return f"{subject} has another length than expected."
    if found.kind in ("shape", "dtype"):
        return f"{subject} is {found.got}; it must be {found.expected}."
    return "The result holds NaN." if found.is_nan else ""


def _without_result_name(found: Difference, observed: dict[str, Any]) -> Difference:
    """Return the difference without the name `result` in its path if the kata observes nothing else."""
    where = found.where.removeprefix("result") if set(observed) == {"result"} else found.where
    return replace(found, where=where)


@builtin_check(needs=holds_arrays, role="general")
def has_the_right_shape(context: CheckContext, case: Case) -> None:
    """Every result has the shape that the statement names."""
    expected, seen = context.expected(case), context.observe(case)
    for name, wanted, got in _leaves_of_parts(seen, expected.native):
        have = to_numpy(got)
        if have is not None and have.shape == getattr(wanted, "shape", ()):
            continue
        text = _one_for_several(seen)
        if have is None:
            text = text or f"{name} is {describe_type(got)}, where {describe(wanted)} is expected."
        else:
            text = text or f"{name} has the shape {have.shape}; it must be {tuple(wanted.shape)}."
        raise seen.complaint(text, call=_call_that_returned(got, seen.calls))


def _answered(context: CheckContext, case: Case) -> Observation:
    """Return the answer to a case. Raises Skip if the call raises: that costs other points."""
    seen = context.observe(case)
    if seen.is_refused:
        raise Skip(CALL_FAILS)
    if seen.failure is not None:
        raise CaseFailed(seen.failure, seen.calls)
    return seen


@builtin_check(corner=None, needs=_has_axes, is_traced=True, role="dtype")
def keeps_the_dtype(context: CheckContext, case: Case) -> None:
    """The result has the dtype that the statement names."""
    expected = context.expected(case).native
    try:
        seen = context.observe(case)
        every = _leaves_of_parts(seen, expected)
    except CaseFailed as failed:
        if failed.is_refusal:
            raise Skip(f"{CALL_FAILS}, or its result has another structure") from None
        raise
    for name, wanted, got in every:
        if not wanted.shape:
            continue  # a Python number, which has no dtype, is as good
        have, due = _dtype_or_type(got), dtype_name(wanted)
        if have != due and not is_default_integer(have, due):
            text = f"{name} is {have}; it must be {due}.{widening(context.kata.library, have, due)}"
            raise seen.complaint(text, call=_call_that_returned(got, seen.calls))


def _dtype_or_type(value: Any) -> str:
    return describe_type(value) if to_numpy(value) is None else dtype_name(value)


def _leaves_of_parts(seen: Observation, expected: dict[str, Any]) -> list[tuple[str, Any, Any]]:
    """Return the name, the expected and the actual value of each array of all parts that the kata compares.

    Raises CaseFailed if the answer has other parts, or if their structure is another one.
    """
    if others := _other_parts(expected, seen.observed):
        raise seen.complaint(others)
    return _leaves(seen, expected, seen.observed)


def _leaves(seen: Observation, expected: Any, got: Any, name: str = "") -> list[tuple[str, Any, Any]]:
    """Return the name, the expected and the actual value of each array expected.

    Raises CaseFailed if the trees differ in structure.
    """
    if not isinstance(expected, dict | list | tuple):
        return [(name, expected, got)] if hasattr(expected, "shape") else []
    if not holds_arrays(expected):
        return []  # Python numbers have no shape; `agrees_with_reference` judges them
    is_alike = isinstance(expected, dict) == isinstance(got, dict) and isinstance(got, dict | list | tuple)
    if not is_alike or len(got) != len(expected) or (isinstance(got, dict) and set(got) != set(expected)):
        raise seen.complaint(f"{name} is {describe_type(got)}, where {describe_type(expected)} is expected.")
    keys = list(expected) if isinstance(expected, dict) else list(range(len(expected)))
    one = not name and keys == ["result"]
    return [
        leaf
        for key in keys
        for leaf in _leaves(seen, expected[key], got[key], "The result" if one else _path(name, key))
    ]


def _path(name: str, key: Any) -> str:
    return f"{name}[{key!r}]" if name else f"`{key}`"


@builtin_check(corner=None, is_traced=True, is_measured=True, role="general")
def leaves_arguments_unchanged(context: CheckContext, case: Case) -> None:
    """The arguments are left as they were."""
    seen = _answered(context, case)
    if seen.changed:
        call = seen.changed[0][0]
        names = dict.fromkeys(argument_of(call, name) for found, name in seen.changed if found is call)
        text = f"The call changes {', '.join(names)} in place; its caller still needs it."
        raise seen.complaint(text, call=call)


@builtin_check(
    choose=_half_reversed, corner=None, of_state=True, is_measured=True, is_slow=True, role="variation"
)
def answers_the_same_again(context: CheckContext, case: Case) -> None:
    """The same call gives the same answer."""
    first = _answered(context, case)
    with context.student.holding_results() as held:
        again = context.ask(case.arguments, first.calls.requests)
    observed = again.observed
    if held.overwritten:
        raise again.complaint("A call changes the result of an earlier one, which its caller still holds.")
    found = first_difference(first.values, observed, case.precision.tolerance(context.kata.roundings))
    if found and found.got != found.expected:  # two objects of one type differ in nothing that was seen
        text = f"A second call with the same arguments gives another answer. {AT_RANDOM}"
        raise again.complaint(text, replace(found, what="the second answer"))


@builtin_check(
    corner=None, of_state=True, is_measured=True, asks_others=True, is_optional=True, role="variation"
)
def earlier_calls_change_nothing(context: CheckContext, case: Case) -> None:
    """Calls with other inputs, in other modes and without gradients change nothing."""
    seen = _answered(context, case)
    answered, tolerance = context.oracle.answered, case.precision.tolerance(context.kata.roundings)
    number = state.chosen(answered.cases, answered.corners).index(case)
    kept = [
        found["kind"]
        for found in (kind.arguments for kind in answered.law_cases[state.EARLIER_CALLS])
        if found["case"] == number or found["kind"] not in state.BY_CASE
    ]
    kept += ["argument"] if seen.changed else []  # another check judges it
    others = state.others_than(case, answered.cases)
    every = state.findings(context.kata, context.student, case.arguments, others, seen.values, tolerance)
    for found in every:
        if found.kind not in (*kept, state.RAISED):  # the reference keeps to the others
            difference = found.difference and replace(found.difference, what="the later answer")
            raise CaseFailed(ExpectationFailed(found.sentence, difference), found.calls)


@builtin_check(
    points=200,
    when=lambda kata: kata.grades_gradients,
    choose=_gradient_cases,
    compares=True,
    is_measured=True,
    is_slow=True,
    is_optional=True,
    role="variation",
)
def has_the_right_gradients(context: CheckContext, case: Case) -> None:
    """Gradients equal the reference's."""
    calls = _require_gradients(context, case, evaluating=False)
    if any(call.target for call in calls) and not any(call.name == "eval" for call in calls):
        _require_gradients(context, case, evaluating=True)


def _require_gradients(context: CheckContext, case: Case, *, evaluating: bool) -> list[Call]:
    """Return the calls whose gradients equal the reference's. Raises CaseFailed."""
    answer = context.expected(case)
    expected = answer.gradients
    with context.student.recording_gradients(evaluating=evaluating) as tape:
        seen = context.ask(case.arguments)
    observed, plain = seen.observed, case.precision.tolerance(context.kata.roundings)
    if evaluating and first_difference(answer.exact, observed, plain):
        return seen.calls.judged  # what differs between the modes is judged by another check
    if len(tape.gradients) != len(expected):
        raise seen.complaint("The calls made do not give the results that can be differentiated.")
    tolerance = case.precision.tolerance(4 * context.kata.roundings, times=4)
    for wanted, have, call in zip(expected, tape.gradients, tape.calls, strict=True):
        floored = tolerance.with_floor_of(wanted)  # a gradient that should be zero may be a rounding error
        for key in wanted:
            dtype = plain_dtype(dtype_name(have.get(key)))
            found = first_difference(wanted[key], have.get(key), floored, dtype)
            if found:
                name = _argument_name(key, call, case.arguments)
                mode = ", in evaluation mode," if evaluating else ""
                found = replace(found, what=f"the gradient with respect to {name}{mode}")
                text = _none_reaches(name, have.get(key), evaluating=evaluating) or found.sentence
                raise seen.complaint(text, found, call)
    return seen.calls.judged


def _argument_name(key: str, call: Call, case: Arguments) -> str:
    """Return the name that an argument such as `args[0]` has in the case; else its place in the call."""
    names = {
        f"args[{i}]": _name_in(case, arg) or argument_of(call, f"argument {i + 1}")
        for i, arg in enumerate(call.args)
    }
    return names.get(key) or key


def _name_in(case: Arguments, value: Any) -> str | None:
    return next((name for name, argument in case.items() if argument is value), None)


def _none_reaches(name: str, gradient: Any, *, evaluating: bool) -> str:
    """Return a sentence if a gradient that should not be 0 is 0 everywhere; else no text."""
    if gradient is None or bool((gradient != 0).any()):
        return ""
    told = f"o gradient reaches {name}: something on the way is detached or made anew."
    return f"In evaluation mode n{told}" if evaluating else f"N{told}"


@builtin_check(
    when=lambda kata: kata.checks_device,
    choose=_medium_sized,
    is_measured=True,
    of_tensors=True,
    is_slow=True,
    is_optional=True,
    role="variation",
)
def stays_on_the_device(context: CheckContext, case: Case) -> None:
    """Every tensor is on the inputs' device."""
    first = context.observe(case)
    plain = None if first.is_refused else first.observed
    with context.student.pretending_device() as fake:
        seen = context.ask(case.arguments, first.calls.requests)
    if isinstance(seen.failure, SubmissionFailed):
        why = _device_failure(seen, seen.failure, works_on_the_cpu=plain is not None, kata=context.kata)
        if isinstance(why, ExpectationFailed) and not seen.failure.met_the_cpu:
            _require_to_work_without_gradients(context, case)
        raise CaseFailed(why, seen.calls)
    if isinstance(seen.failure, Skip):
        raise seen.failure
    if "cpu" in fake.devices:
        told = "The inputs are on another device than the CPU, and the result is on the CPU."
        raise seen.complaint(told, call=next(filter(_returns_on_the_cpu, seen.calls.requests), None))
    if fake.detour:
        raise seen.complaint(
            f"A tensor is copied to the CPU in line {fake.detour}, and what is computed from it there is"
            " copied back."
        )
    if plain is None:
        raise Skip(CALL_FAILS)
    _require_same_answer(context, case, plain, seen)


def _returns_on_the_cpu(call: Call) -> bool:
    return any(isinstance(leaf, TensorOutline) and leaf.device == "cpu" for leaf in leaves(call.value))


def _device_failure(
    seen: Observation, failure: SubmissionFailed, *, works_on_the_cpu: bool, kata: Kata
) -> ExpectationFailed | Skip:
    """Return what to raise if a call on the fake device failed."""
    where = f" (line {failure.line})" if failure.line else ""
    if failure.met_the_cpu:
        call = seen.calls.requests[-1]
        given = {f"argument {at}": value for at, value in enumerate(call.args, 1)} | call.kwargs
        name = next((name for name, value in given.items() if hasattr(value, "shape")), "x")
        is_module = any(entry[:1].isupper() for entry in kata.entry_points)
        buffers = ", and register a module's tables as buffers" if is_module else ""
        return ExpectationFailed(
            f"A tensor on the CPU meets one on the inputs' device{where}."
            f" Create tensors on that device: device={argument_of(call, name)}.device{buffers}."
        )
    if works_on_the_cpu:
        return ExpectationFailed(
            f"With the inputs on another device than the CPU, the code raises {failure}."
            " On the CPU the same call works."
        )
    return Skip(CALL_FAILS)


def _require_to_work_without_gradients(context: CheckContext, case: Case) -> None:
    """Raise Skip if the call raises on the CPU with gradients off, as they are on the fake device."""
    with context.student.in_grad_mode(is_on=False):
        if isinstance(context.ask(case.arguments).failure, SubmissionFailed):
            raise Skip("the calls of this check record no gradients, and then the code raises")


def _require_same_answer(context: CheckContext, case: Case, plain: dict[str, Any], seen: Observation) -> None:
    """Raise CaseFailed if the answer seen on another device differs from the plain one, or if each call gives
    another answer."""
    tolerance = case.precision.tolerance(context.kata.roundings)
    plain = without_objects(plain)
    found = first_difference(plain, without_objects(seen.values), tolerance)
    if not found:
        return
    again = context.ask(case.arguments)
    if first_difference(plain, without_objects(again.observed), tolerance):
        raise seen.complaint("The answer is another one at each call, so nothing can be said of the device.")
    raise seen.complaint(
        "With the inputs on another device than the CPU, the answer is another one than on the CPU.",
        replace(found, what="the answer on another device"),
    )


@builtin_check(
    choose=_float64_only,
    of_agreement=True,
    is_optional=True,
    role="variation",
    differs="For float64 the result differs from the reference's.",
)
def float64_keeps_its_digits(context: CheckContext, case: Case) -> None:
    """float64 keeps its digits."""
    _agree(context, case, "float64")


@builtin_check(
    corner=LAYOUT,
    of_agreement=True,
    is_optional=True,
    role="variation",
    differs="For arrays that are not contiguous the result differs from the reference's.",
)
def any_memory_layout(context: CheckContext, case: Case) -> None:
    """Any memory layout gives the same answer."""
    try:
        agrees_with_reference(context, case)
    except CaseFailed as failed:
        in_corner = failed.is_refusal and context.kata.corner_of(case.arguments)
        if in_corner and not _agrees_in_order(context, case):
            raise Skip("the answer is wrong in other layouts too") from None  # which costs other points
        raise


def _agrees_in_order(context: CheckContext, case: Case) -> bool:
    """Return whether the submission is right where the same case has contiguous arrays."""
    tolerance = case.precision.tolerance(context.kata.roundings)
    dtype = plain_dtype(float_dtype(context.expected(case).native))
    seen = context.ask(contiguous(case.arguments))
    return not seen.is_refused and not first_difference(
        context.expected(case).exact, seen.observed, tolerance, dtype
    )
