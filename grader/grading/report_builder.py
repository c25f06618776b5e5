"""Findings as the checks of a report: the call, the case, what was expected and what came."""

from __future__ import annotations

from typing import Any, cast

from grader.checks.base import Check
from grader.checks.builtin import BUILTIN
from grader.checks.runner import CheckResult, Failure
from grader.kata import Case
from grader.report import CheckReport, Mistake
from grader.values.arrays import distinct_values, holds_arrays, is_contiguous
from grader.values.formatting import describe, show
from grader.worker.proxies import RemoteObject

MOST_LEAVES = 12  # arrays of one dict or list that are shown
BRIEF = 30  # characters of an argument in the line that shows the call
NAN_ANSWERS = "No points: most answers are NaN."
NO_CASE_AGREES = "No points: no case agrees with the reference."
NO_ANSWER = "No points: no call has returned anything."
ONE_ANSWER = "No points: the answer is the same whatever the arguments."


def unearned(findings: list[CheckResult], answers: list[dict[str, Any] | None]) -> dict[str, str]:
    """Return, by check, why it gives no points though nothing fails in it. Free checks give none where no
    case agrees with the reference. No check gives any where nothing came back, or always the same."""
    agreement = findings[0]
    if len(agreement.asked) > len(agreement.failures):
        return {}
    returned = [answer for answer in answers if answer is not None]
    everything = [finding.plan.name for finding in findings]
    if not returned:
        return dict.fromkeys(everything, NO_ANSWER)
    if 2 * sum(distinct_values(answer) == {"nan"} for answer in returned) > len(returned):
        return dict.fromkeys(everything, NAN_ANSWERS)
    if len(returned) > 2 and len(distinct_values(returned) - {"nan"}) <= 1:
        return dict.fromkeys(everything, ONE_ANSWER)
    return dict.fromkeys(BUILTIN, NO_CASE_AGREES)


def as_check(
    finding: CheckResult, mistake: Mistake | None, axes: dict[str, str], without_points: str = ""
) -> CheckReport:
    """What a report says of a check: the smallest input that fails, and the mistake that explains it; or why
    it gives no points."""
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
        call=_show_call(failure),
        counterexample=_show_case(plan, failure.case, axes) or None,
        expected=difference.expected if difference else None,
        got=difference.got if difference else None,
        difference=difference.where if difference else None,
        mistake=mistake,
    )


def smallest(finding: CheckResult) -> Failure:
    """The smallest failing case that fails as the first one does. The first is often a pinned example,
    printed in a paper and larger than it must be."""
    first = finding.failures[0]
    alike = [failure for failure in finding.failures if _fails_alike(failure, first)]
    return min(alike, key=lambda failure: finding.plan.weight(failure.case))


def _fails_alike(failure: Failure, first: Failure) -> bool:
    return failure.status == first.status and bool(failure.difference) == bool(first.difference)


def _show_call(failure: Failure) -> str | None:
    """The last call of the submission, its arguments by the names that they have in the case."""
    calls = [call for call in failure.trace if not call.helping]
    if not calls:
        return None
    call, left = calls[-1], dict(failure.case)
    shown = [_name_of(arg, left) or _brief(arg) for arg in call.args]
    shown += [
        f"{name}={_name_of(arg, left) or (name if failure.case.get(name) is arg else _brief(arg))}"
        for name, arg in call.kwargs.items()
    ]
    name = "module" if call.name == "__call__" else call.name  # what is called again is a module of PyTorch's
    return f"{name}({', '.join(shown)})"


def _name_of(value: object, left: Case) -> str | None:
    """Its name in the case, each name once: two arguments may be one array."""
    name = next((name for name, own in left.items() if own is value and is_own(value)), None)
    if name is not None and sum(own is value for own in left.values()) > 1:
        del left[name]
    return name


def _brief(value: object) -> str:
    if isinstance(value, RemoteObject):
        return f"<{value.type_name}>"
    text = "…" if hasattr(value, "shape") or callable(value) else show(value)
    return text if len(text) <= BRIEF else "…"


def _show_case(plan: Check, case: Case, axes: dict[str, str]) -> dict[str, str]:
    names = case if plan.parameters is None else plan.parameters
    shown: dict[str, str] = {}
    for name in names:
        if name in case:
            leaves = _leaves(name, case[name])
            told = leaves if len(leaves) <= MOST_LEAVES else leaves[:MOST_LEAVES]
            shown |= {where: _show_argument(value, axes.get(where, "").split()) for where, value in told}
            if len(told) < len(leaves):
                shown[f"{name}…"] = f"{len(leaves) - len(told)} more arrays"
    return shown


def _leaves(name: str, value: object) -> list[tuple[str, object]]:
    """A dict or list of arrays, array by array; anything else as it is."""
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
    """Small integers and the like are shared between cases; arrays, lists and dicts are not."""
    return hasattr(value, "shape") or isinstance(value, list | dict)
