"""What a format tells of a check and of a kata, in plain text: the same facts in the same order as in the
terminal. Each format quotes it in its own way."""

from __future__ import annotations

import re

from grader.report import CheckReport, CheckStatus, KataReport, KataStatus

SAYS = {
    "not_started": "Not started yet.",
    "waiting": "Waiting for another kata.",
    "error": "This file could not be graded.",
}
WRONG: frozenset[CheckStatus] = frozenset({"failed", "error", "timeout"})
MARKS = {"passed": "✓", "skipped": "·", "not_started": "·", "waiting": "…"}  # on pages; else a red cross
LONGEST = 20_000  # characters of one text on a page
WIDEST = 24  # characters of a column of names
LINE = re.compile(r"\bline (\d{1,6})\b")


def wrong(kata: KataReport) -> list[CheckReport]:
    """The checks that did not hold."""
    return [check for check in kata.checks if check.status in WRONG]


def of_check(check: CheckReport) -> str:
    """Everything that is known about one check that does not hold, a fact a line."""
    facts = [("what", check.message), ("called", check.call)]
    facts += list((check.counterexample or {}).items())
    if check.expected is not None:
        facts += [("expected", check.expected), ("got", check.got)]
    facts += [("first difference at", check.difference)]
    facts += [("looks like", check.mistake.text if check.mistake else None)]
    told = [(name, text) for name, text in facts if text]
    width = min(WIDEST, max((len(name) for name, _ in told), default=0))
    return "\n".join(f"{name:<{width}}  {text}" for name, text in told)


def of_kata(kata: KataReport) -> str:
    """Every check that does not hold with all that is known about it; where there are none, why."""
    if not wrong(kata):
        return summary_of(kata)
    return "\n\n".join(f"{check.title}\n{of_check(check)}" for check in wrong(kata))


def summary_of(kata: KataReport) -> str:
    """One sentence: how the kata stands, and which mistake it looks like."""
    if kata.status == "passed":
        return "Every check holds."
    if not wrong(kata):
        return kata.message or SAYS.get(kata.status, "")
    first, others = wrong(kata)[0], len(wrong(kata)) - 1
    more = f" ({others} more checks do not hold.)" if others > 1 else " (One more does not hold.)" * others
    told = kata.mistake.text if kata.mistake else first.message
    return " ".join(filter(None, (f"Does not hold: {first.title}", told))) + more


def title_of(kata: KataReport, check: CheckReport) -> str:
    """A check's title, with the kata that it belongs to."""
    return f"{kata.name}: {check.title}"


def file_of(kata: KataReport) -> str:
    """Where the student's file lies in a repository of the course."""
    return f"exercises/{kata.track}/{kata.name}.py"


def line_of(message: str) -> int:
    """The line that a message names; the first where it names none."""
    found = LINE.search(message)
    return int(found.group(1)) if found else 1


def verdict(status: KataStatus | CheckStatus) -> str:
    """`pass`, `fail` or `error`, the three words that several hosts know."""
    return {"passed": "pass", "skipped": "pass", "error": "error", "timeout": "error"}.get(status, "fail")
