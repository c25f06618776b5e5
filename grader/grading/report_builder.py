"""Turn check results into the checks of a report: the call, the case, the expected value and the answer."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING, Any, cast

from grader.checks.parts import Parts
from grader.checks.runner import CheckResult, Failure
from grader.course.libraries import shape_in_torch, text_in_torch
from grader.grading.pictures import pictures_of, place_of
from grader.grading.snippet import Script, script_of, signatures_of, with_parameters
from grader.kata import Arguments, Kata
from grader.report import CheckReport, CheckStatus, Mistake, Place, Repair
from grader.values.arrays import holds_arrays, is_contiguous
from grader.values.formatting import describe, show

if TYPE_CHECKING:
    from grader.edits.candidates import EditPlace

MOST_LEAVES = 12  # the most arrays of one dict or list that a report shows
NOTHING_TO_JUDGE = "no right answer to this kata has anything that it could judge"
NUMBER, WORD = re.compile(r"_\d+$"), re.compile(r"\w+")


def as_check(
    result: CheckResult,
    kata: Kata,
    mistake: Mistake | None,
    without_points: str = "",
    source: str = "",
    printed: str = "",
    stub: str = "",
    parts: Parts | None = None,
    as_tensors: bool = False,
) -> CheckReport:
    """Return the report of a check: the smallest input that fails, the mistake that explains it and, if the
    code raised, the line of its `source`; or the reason in `without_points` why a check that does not fail
    gives none. `printed` is what the submission printed for that input; the `stub` has the names of
    parameters that the `source` does not say; `parts` are those of which some are not written. With
    `as_tensors` the code of the failing call makes tensors of arrays."""
    check = result.check
    if not result.failures and without_points:
        return CheckReport(check.name, check.title, "skipped", 0, check.points, without_points)
    if not result.failures and parts is None and not result.asked:
        points = 0 if result.prevented else check.points
        message = f"Not judged: {result.prevented or NOTHING_TO_JUDGE}."
        return CheckReport(check.name, check.title, result.status, points, check.points, message)
    if not result.failures:
        points = parts.share(check.name, check.points) if parts else check.points
        waits = parts.message(check.name) if parts else ""
        status: CheckStatus = "passed" if result.asked else "skipped"
        return CheckReport(check.name, check.title, status, points, check.points, waits)
    failure = smallest(result)
    difference, names = failure.difference, signatures_of(stub) | signatures_of(source)
    script = None if kata.questions else script_of(failure, check.name, kata.name, names, as_tensors)
    return CheckReport(
        check.name,
        check.title,
        failure.status,
        0,
        check.points,
        message=with_parameters(failure.message, failure, names),
        call="\n".join(script.shown) if script else None,
        counterexample=_counterexample(failure, script, kata),
        expected=difference.expected if difference else None,
        got=difference.got if difference else None,
        difference=difference.where if difference else None,
        mistake=mistake,
        pictures=(failure.picture,) if failure.picture else pictures_of(difference, kata.axes),
        place=place_of(source, failure.line, failure.columns),
        snippet=script.code if script else "",
        printed=printed,
    )


def in_torch(check: CheckReport) -> CheckReport:
    """Return the report of a check in PyTorch's words. What the code raised is left as it is."""
    mistake, given = check.mistake, check.counterexample
    return replace(
        check,
        message=check.message if check.status == "error" else text_in_torch(check.message),
        counterexample=given and {name: shape_in_torch(text) for name, text in given.items()},
        expected=check.expected and shape_in_torch(check.expected),
        got=check.got and shape_in_torch(check.got),
        mistake=mistake and replace(mistake, text=text_in_torch(mistake.text)),
    )


def as_repair(place: EditPlace, source: str) -> Repair:
    """Return a place that a search has found, with its line of the source."""
    where = place_of(source, place.line, place.columns) or Place(place.line, "")
    return Repair(place.kind, where, place.fact)


def smallest(result: CheckResult) -> Failure:
    """Return the smallest failure of the same kind as the first one. The first is often a fixed example from
    a paper, which is larger than necessary."""
    first = result.failures[0]
    alike = [failure for failure in result.failures if _fails_alike(failure, first)]
    return min(alike, key=lambda failure: failure.case.weight)


def _fails_alike(failure: Failure, first: Failure) -> bool:
    return failure.status == first.status and bool(failure.difference) == bool(first.difference)


def _counterexample(failure: Failure, script: Script | None, kata: Kata) -> dict[str, str] | None:
    """Return the variables of the calls that the report shows; the case if nothing was called."""
    if kata.questions:
        return _show_row(failure.case.arguments)
    if script is None:
        return _show_values(failure.case.arguments, kata.axes)
    words = set(WORD.findall(" ".join(script.shown)))
    return _show_values({n: value for n, value in script.values.items() if n in words}, kata.axes)


def _show_row(case: Arguments) -> dict[str, str]:
    """Return the numbers of a row of questions as one entry."""
    numbers = [f"{name}={show(value)}" for name, value in case.items() if name != "row"]
    return {f"row {case['row']}": ", ".join(numbers)}


def _show_values(values: dict[str, Any], axes: dict[str, str]) -> dict[str, str] | None:
    """Return the values of variables as text; a container of arrays has an entry for each of them."""
    shown: dict[str, str] = {}
    for name, value in values.items():
        leaves = _leaves(name, value)
        listed = leaves[:MOST_LEAVES]
        shown |= {where: _show_argument(leaf, _axes_of(where, axes)) for where, leaf in listed}
        if len(listed) < len(leaves):
            shown[f"{name}…"] = f"{len(leaves) - len(listed)} more arrays"
    return shown or None


def _axes_of(name: str, axes: dict[str, str]) -> list[str]:
    """Return the names of an argument's axes; `x_2` is another `x`."""
    return (axes.get(name) or axes.get(NUMBER.sub("", name), "")).split()


def _leaves(name: str, value: object) -> list[tuple[str, object]]:
    """Return the arrays in nested dicts and lists with their names; any other value is one entry."""
    if not isinstance(value, dict | list | tuple) or not holds_arrays(value):
        return [(name, value)]
    items = value.items() if isinstance(value, dict) else enumerate(cast("list[object]", value))
    return [leaf for key, item in items for leaf in _leaves(f"{name}[{key!r}]", item)]


def _show_argument(value: object, axes: list[str]) -> str:
    text = show(value)
    if not hasattr(value, "shape"):
        return text
    layout = "" if is_contiguous(value) else ", not contiguous"
    return f"{text}    {describe(value, axes)}{layout}"
