"""Find the checks that give no points although they do not fail."""

from __future__ import annotations

from typing import Any

from grader.checks.builtin import BUILTIN
from grader.checks.runner import CheckResult
from grader.values.arrays import distinct_values

NAN_ANSWERS = "No points: most answers are NaN."
FEW_CASES_AGREE = (
    "Checks such as shape and dtype give no points here: fewer than a quarter of the answers are right."
)
NO_ANSWER = "No points: no call has returned anything."
NOT_COMPARED = "No points yet: another check fails, and nothing could be compared with the reference."
ONE_ANSWER = "No points: the answer is the same whatever the arguments."


def unearned(results: list[CheckResult], answers: list[dict[str, Any] | None]) -> dict[str, str]:
    """Return, by check, why it gives no points although it does not fail. Built-in checks give none if fewer
    than a quarter of the cases agree with the reference. If none agrees, no check gives any if no call
    returned, or all returned the same. If agreement waits for an unwritten part, no check gives any while
    another fails."""
    agreement = results[0]
    if agreement.check.name not in BUILTIN:  # a kata of questions, in which each answer counts by itself
        return {}
    if not agreement.asked:  # it waits for a part that is not written
        fails = any(result.failures for result in results)
        return {result.check.name: NOT_COMPARED for result in results if fails and result.asked}
    agreeing = len(agreement.asked) - len(agreement.failures)
    if agreeing:
        return dict.fromkeys(BUILTIN, FEW_CASES_AGREE) if 4 * agreeing < len(agreement.asked) else {}
    returned = [answer for answer in answers if answer is not None]
    everything = [result.check.name for result in results]
    if not returned:
        return dict.fromkeys(everything, NO_ANSWER)
    if 2 * sum(distinct_values(answer) == {"nan"} for answer in returned) > len(returned):
        return dict.fromkeys(everything, NAN_ANSWERS)
    if len(returned) > 2 and len(distinct_values(returned) - {"nan"}) <= 1:
        return dict.fromkeys(everything, ONE_ANSWER)
    return dict.fromkeys(BUILTIN, FEW_CASES_AGREE)
