"""Describe checks and katas in plain text, with the same facts in the same order as in the terminal.

Each format escapes these texts for its own host.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace

from grader.report import CheckReport, CheckStatus, KataReport, KataStatus, Part, Place

SAYS = {
    "not_started": "Not started yet.",
    "waiting": "Waiting for another kata.",
    "error": "This file could not be graded.",
}
WRONG: frozenset[CheckStatus] = frozenset({"failed", "error", "timeout"})
MARKS = {"passed": "✓", "skipped": "·", "not_started": "·", "waiting": "…"}  # others get a red cross in HTML
LONGEST = 20_000  # the most characters of one text in HTML
DRAWN = 76  # the most characters of a line of a drawing
WIDEST = 24  # the most characters of a column of names
LINE = re.compile(r"\bline (\d{1,6})\b")


def wrong(kata: KataReport) -> list[CheckReport]:
    """Return the checks that failed, raised an error or timed out."""
    return [check for check in kata.checks if check.status in WRONG]


def held(kata: KataReport) -> list[CheckReport]:
    """Return the other checks: those that passed or were skipped."""
    return [check for check in kata.checks if check.status not in WRONG and check.words is None]


def by_hand(kata: KataReport) -> list[CheckReport]:
    """Return the written answers, which a person grades."""
    return [check for check in kata.checks if check.words is not None]


@dataclass(frozen=True)
class Cause:
    """Checks that fail for one reason: one known mistake, one exception, or one wrong answer. The first check
    shows it: one with values or a line of code, if there is any."""

    checks: tuple[CheckReport, ...]

    @property
    def first(self) -> CheckReport:
        return self.checks[0]


def causes(kata: KataReport) -> list[Cause]:
    """Return the causes of all failures: named mistakes first, then exceptions, then wrong answers."""
    groups: dict[object, list[CheckReport]] = {}
    for check in wrong(kata):
        groups.setdefault(_reason(check), []).append(check)
    found = [Cause(tuple(sorted(checks, key=_shows_nothing))) for checks in groups.values()]
    return sorted(found, key=lambda cause: _rank(cause.first))


def named(check: CheckReport) -> str:
    """Return the text of the mistake that certainly explains a failure; "" if there is none."""
    return check.mistake.text if check.mistake and check.mistake.certain else ""


def explanation(check: CheckReport) -> str:
    """Return the text of the mistake that explains a failure, or else the check's message."""
    return named(check) or check.message


def possibility(check: CheckReport) -> str:
    """Return what may explain a failure, as a guess; "" if it has a certain explanation or none at all."""
    return f"One possibility: {check.mistake.text}" if check.mistake and not named(check) else ""


def _reason(check: CheckReport) -> object:
    """Return what failures for the same reason have in common."""
    if check.mistake and check.mistake.certain:
        return check.mistake.id
    if check.place:
        return check.place.line, check.message.partition(":")[0]
    if check.status != "failed" or check.expected is None:
        return check.status, check.message or check.name
    return check.call, tuple((check.counterexample or {}).items()), check.got


def _shows_nothing(check: CheckReport) -> bool:
    return check.expected is None and check.place is None and not check.pictures


def _rank(check: CheckReport) -> int:
    return 0 if named(check) else 1 if check.status != "failed" else 2


def of_part(part: Part) -> str:
    """Return the name of a part and whether it is right, as far as it could be judged."""
    needs = f"needs {' and '.join(part.needs)}" if part.needs else "not judged yet"
    text = {
        "passed": "✓",
        "partly": "✓ so far",
        "failed": "✗",
        "not_written": "not written",
        "waiting": needs,
    }
    return f"{part.name} {text[part.status]}"


def parts_text(kata: KataReport) -> str:
    """Return the verdicts on the parts as a sentence; empty if all are written."""
    text = ", ".join(map(of_part, kata.parts))
    return f"Not all parts are written: {text}." if text else ""


def unwritten_of(kata: KataReport) -> tuple[list[CheckReport], list[CheckReport]]:
    """Return the checks that wait for an unwritten part, and those that hold for the written ones."""
    waits = [check for check in held(kata) if kata.parts and check.message.endswith("not written.")]
    return [check for check in waits if not check.score], [check for check in waits if check.score]


def waiting_text(kata: KataReport) -> str:
    """Return how many checks wait for an unwritten part, as a sentence; empty if none does."""
    waiting, partly = (len(checks) for checks in unwritten_of(kata))
    text = [f"{_counted(waiting, 'waits', 'wait')} for what is not written."] if waiting else []
    text += [f"{_counted(partly, 'is', 'are')} judged without what is not written."] if partly else []
    return " ".join(text)


def _counted(number: int, one: str, several: str) -> str:
    return f"One check {one}" if number == 1 else f"{number} checks {several}"


def repair_text(kata: KataReport) -> str:
    """Return the sentences before the places that a search has found: facts, and what is changed there."""
    facts = list(dict.fromkeys(repair.fact for repair in kata.repairs if repair.fact))
    changes = [repair for repair in kata.repairs if not repair.fact]
    kinds = " or ".join(dict.fromkeys(repair.kind for repair in changes))
    spots = "any one of these spots" if len(changes) > 1 else "only this spot"
    text = [f"Changing {spots} makes every check pass: {kinds}."] if changes else []
    return " ".join([*facts, *text])


def of_search(kata: KataReport) -> str:
    """Return the places that a search has found, with their lines."""
    spots = [line for repair in kata.repairs for line in source_line(repair.place)]
    return "\n".join(filter(None, [repair_text(kata), *spots]))


def source_line(place: Place, width: int = LONGEST) -> list[str]:
    """Return a line of the submission after its number, and carets below the expression."""
    lead = f"{place.line} │ "
    code, column = place.text.strip(), len(place.text) - len(place.text.lstrip())
    shown = code[: width - len(lead)]
    if place.start < place.end and place.end - column <= len(shown):
        carets = " " * (place.start - column) + "^" * (place.end - place.start)
        return [lead + shown, f"{'│':>{len(lead) - 1}} {carets}"]
    return [lead + shown]


def facts(check: CheckReport) -> list[tuple[str, str]]:
    """Return the failing call, the arguments and both values by name, beside what pictures show."""
    rows = [("what", check.message if named(check) else ""), ("called", check.call)]
    rows += list((check.counterexample or {}).items())
    if check.expected is not None and not check.pictures:
        rows += [("expected", check.expected), ("got", check.got), ("first difference at", check.difference)]
    return [(name, text) for name, text in rows if text]


def of_check(check: CheckReport) -> str:
    """Return all facts about one check that does not hold, one per line."""
    facts = [("what", check.message), ("called", check.call)]
    facts += list((check.counterexample or {}).items())
    if check.expected is not None:
        facts += [("expected", check.expected), ("got", check.got)]
    facts += [("first difference at", check.difference), ("printed", check.printed)]
    facts += [("looks like", named(check)), ("perhaps", possibility(check))]
    known = [(name, text) for name, text in facts if text]
    width = min(WIDEST, max((len(name) for name, _ in known), default=0))
    rows = [(name, text.replace("\n", "\n" + " " * (width + 2))) for name, text in known]
    return "\n".join(f"{name:<{width}}  {text}" for name, text in rows)


def drawn(check: CheckReport) -> str:
    """Return the same facts with the values drawn, if a drawing shows how they differ."""
    if not check.pictures:
        return of_check(check)
    from grader.drawing.text import draw, tells_apart

    if not tells_apart(check.pictures[0]):
        return of_check(check)
    bare = replace(check, expected=None, got=None, difference=None)
    picture = draw(check.pictures[0], DRAWN, lambda text, _: text)
    return "\n".join(filter(None, [of_check(bare), "", *picture]))


def of_kata(kata: KataReport) -> str:
    """Return all facts about every check that does not hold, or one sentence if there is none."""
    if not wrong(kata):
        return summary_of(kata)
    text = [f"{check.title}\n{of_check(check)}" for check in wrong(kata)]
    return "\n\n".join(filter(None, [*text, of_search(kata)]))


def summary_of(kata: KataReport) -> str:
    """Return the status of a kata, and the mistake that it looks like, in one sentence."""
    if kata.status == "passed" and not wrong(kata):
        return "Every check holds."
    if not wrong(kata):
        return kata.message or parts_text(kata) or SAYS.get(kata.status, "")
    first, others = wrong(kata)[0], len(wrong(kata)) - 1
    more = f" ({others} more checks do not hold.)" if others > 1 else " (One more does not hold.)" * others
    text = kata.mistake.text if kata.mistake else first.message
    passes = "Passes." if kata.status == "passed" else parts_text(kata)
    return " ".join(filter(None, (passes, f"Does not hold: {first.title}", text))) + more


def headline(kata: KataReport) -> str:
    """Return what explains the first cause of the failures, or the kata's status in one sentence."""
    found = causes(kata)
    return explanation(found[0].first) or found[0].first.title if found else summary_of(kata)


def cost_of(kata: KataReport) -> str:
    """Return what a kata costs beside the reference, in one sentence; empty if it was not measured."""
    if kata.cost is None:
        return ""
    cost = kata.cost
    made = f": {list(cost.shape)}, made by {cost.operation}" if cost.shape else ""
    return f"{cost.work:.1f} × the work of the reference, {cost.memory:.1f} × its largest tensor{made}."


def title_of(kata: KataReport, check: CheckReport) -> str:
    """Return a check's title after the name of its kata."""
    return f"{kata.name}: {check.title}"


def file_of(kata: KataReport) -> str:
    """Return the path of the file that was named, or that of the student's file in the course."""
    return kata.file or f"exercises/{kata.track}/{kata.name}.py"


def line_of(message: str) -> int:
    """Return the line number in a message, or 1 if it has none."""
    found = LINE.search(message)
    return int(found.group(1)) if found else 1


def verdict(status: KataStatus | CheckStatus) -> str:
    """Return the status as `pass`, `fail` or `error`, the three words that several hosts use."""
    return {"passed": "pass", "skipped": "pass", "error": "error", "timeout": "error"}.get(status, "fail")
