"""Turn check results into the checks of a report: the call, the case, the expected value and the answer."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from grader.checks.base import Check
from grader.checks.runner import CheckResult, Failure
from grader.grading.pictures import pictures_of, place_of
from grader.grading.snippet import snippet_of
from grader.kata import Case, Kata
from grader.report import CheckReport, Mistake, Place, Repair
from grader.values.arrays import holds_arrays, is_contiguous
from grader.values.formatting import describe, show
from grader.worker.proxies import RemoteObject

if TYPE_CHECKING:
    from grader.diagnosis.edits.places import EditPlace

MOST_LEAVES = 12  # the most arrays of one dict or list that a report shows
BRIEF = 30  # the most characters of one argument in the line that shows the call


def as_check(
    finding: CheckResult,
    kata: Kata,
    mistake: Mistake | None,
    without_points: str = "",
    source: str = "",
    printed: str = "",
) -> CheckReport:
    """Return the report of a check: the smallest input that fails, the mistake that explains it and, if the
    code raised, the line of its `source`; or the reason in `without_points` why a check that does not fail
    gives none. `printed` is what the submission printed for that input."""
    plan = finding.plan
    if not finding.failures and without_points:
        return CheckReport(plan.name, plan.title, "skipped", 0, plan.points, without_points)
    if not finding.failures:
        return CheckReport(plan.name, plan.title, finding.status, plan.points, plan.points)
    failure = smallest(finding)
    difference = failure.difference
    return CheckReport(
        plan.name,
        plan.title,
        failure.status,
        0,
        plan.points,
        message=failure.message,
        call=None if kata.questions else _show_call(failure),
        counterexample=_show_row(failure.case)
        if kata.questions
        else _show_case(plan, failure.case, kata.axes),
        expected=difference.expected if difference else None,
        got=difference.got if difference else None,
        difference=difference.where if difference else None,
        mistake=mistake,
        pictures=(failure.picture,) if failure.picture else pictures_of(difference, kata.axes),
        place=place_of(source, failure.line, failure.columns),
        snippet="" if kata.questions else snippet_of(failure, kata.name, kata.entry_points),
        printed=printed,
    )


def as_repair(place: EditPlace, source: str) -> Repair:
    """Return a place that a search has found, with its line of the source."""
    where = place_of(source, place.line, place.columns) or Place(place.line, "")
    return Repair(place.kind, where, place.fact)


def smallest(finding: CheckResult) -> Failure:
    """Return the smallest failure of the same kind as the first one. The first is often a fixed example from
    a paper, which is larger than necessary."""
    first = finding.failures[0]
    alike = [failure for failure in finding.failures if _fails_alike(failure, first)]
    return min(alike, key=lambda failure: finding.plan.weight(failure.case))


def _fails_alike(failure: Failure, first: Failure) -> bool:
    return failure.status == first.status and bool(failure.difference) == bool(first.difference)


def _show_call(failure: Failure) -> str | None:
    """Return the last call of the submission as text; an argument appears by its name in the case."""
    calls = [call for call in failure.trace if not call.helping]
    if not calls:
        return None
    call, left = calls[-1], dict(failure.case)
    shown = [_name_of(arg, left) or _brief(arg) for arg in call.args]
    shown += [
        f"{name}={_name_of(arg, left) or (name if failure.case.get(name) is arg else _brief(arg))}"
        for name, arg in call.kwargs.items()
    ]
    name = "module" if call.name == "__call__" else call.name  # objects that are called are PyTorch modules
    return f"{name}({', '.join(shown)})"


def _name_of(value: object, left: Case) -> str | None:
    """Return the value's name in the case. Two arguments may be one array, so each name is used once."""
    name = next((name for name, own in left.items() if own is value and is_own(value)), None)
    if name is not None and sum(own is value for own in left.values()) > 1:
        del left[name]
    return name


def _brief(value: object) -> str:
    if isinstance(value, RemoteObject):
        return f"<{value.type_name}>"
    text = "…" if hasattr(value, "shape") or callable(value) else show(value)
    return text if len(text) <= BRIEF else "…"


def _show_row(case: Case) -> dict[str, str]:
    """Return the numbers of a row of questions as one entry."""
    numbers = [f"{name}={show(value)}" for name, value in case.items() if name != "row"]
    return {f"row {case['row']}": ", ".join(numbers)}


def _show_case(plan: Check, case: Case, axes: dict[str, str]) -> dict[str, str] | None:
    names = case if plan.parameters is None else plan.parameters
    shown: dict[str, str] = {}
    for name in names:
        if name in case:
            leaves = _leaves(name, case[name])
            listed = leaves[:MOST_LEAVES]
            shown |= {where: _show_argument(value, axes.get(where, "").split()) for where, value in listed}
            if len(listed) < len(leaves):
                shown[f"{name}…"] = f"{len(leaves) - len(listed)} more arrays"
    return shown or None


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


def is_own(value: object) -> bool:
    """True if the value is an object of this case alone; Python shares small integers and texts."""
    return hasattr(value, "shape") or isinstance(value, list | dict)
