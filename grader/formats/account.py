"""Describe checks and katas in plain text, with the same facts in the same order as in the terminal.

Each format escapes these texts for its own host.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace

from grader.report import CheckReport, CheckStatus, KataReport, KataStatus, Part, Place
from grader.texts.escaping import CUT_MARK
from grader.texts.sentences import first_sentence
from grader.texts.wrapping import code_lines

SAYS = {
    "not_started": "Not started yet.",
    "waiting": "Waiting for another kata.",
    "error": "This file could not be graded.",
}
WRONG: frozenset[CheckStatus] = frozenset({"failed", "error", "timeout"})
STATUS_MARKS = {
    "passed": "✓",
    "skipped": "·",
    "not_started": "·",
    "waiting": "…",
}  # others get a red cross in HTML
LONGEST_TEXT = 20_000  # the most characters of one text in HTML
PAGE_WIDTH = 88  # the most characters of a line of code on a page
DRAWING_WIDTH = 76  # the most characters of a line of a drawing
WIDEST_NAME = 24  # the most characters of a column of names
LINE_NUMBER = re.compile(r"\bline (\d{1,6})\b")
FUNCTION_TEXT = "<an object of type function>"  # as `values.formatting` shows one
NESTED = re.compile(r"[\[…]")  # what follows the name of a variable that holds several arrays
SHORT_NAMES = {"a", "t", "device"}  # of what makes the arrays of a call that has its values in it
MOST_CALLS = 8  # of a call that is shown without its values
UNWRITTEN = "This part is not written yet"
AT_RANDOM = "drawn at random"  # in what is said of answers that differ from call to call
NAN = "The result holds NaN."
#: The commands that lead on from a report, by what they show.
COMMANDS = {"hint": "grade hint {}", "call": "grade {} --snippet", "full": "grade {} --full"}


def wrong(kata: KataReport) -> list[CheckReport]:
    """Return the checks that failed, raised an error or timed out."""
    return [check for check in kata.checks if check.status in WRONG]


def held(kata: KataReport) -> list[CheckReport]:
    """Return the other checks: those that passed or were skipped."""
    return [check for check in kata.checks if check.status not in WRONG and check.words is None]


def holding(kata: KataReport) -> str:
    """Return how many checks hold, of those that counted, and how many could not count."""
    passed = [check for check in held(kata) if check.status == "passed"]
    left = len(held(kata)) - len(passed)
    text = f"{len(passed)} of {len(passed) + len(wrong(kata))} checks hold"
    return f"{text}; {left} could not count" if left else text


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


@dataclass(frozen=True)
class FailureShown:
    """What every format shows of a kata that fails, in this order: what is wrong in words, or where; the rule
    that is broken; how many checks fail, and for how many reasons; a failing call as code, with what came;
    the line."""

    words: str
    count: str
    check: CheckReport  # whose call is shown
    claim: str  # what fails in that check; "" if it is the words
    rule: str  # that fails there; "" if the words say it
    shows_call: bool  # that call, as code: not while the part is unwritten
    shows_values: bool  # what came and what is expected: not if the message says both
    places: tuple[Place, ...]
    others: tuple[str, ...]  # about each of the other reasons: a mistake in full, anything else in a line
    guess: str  # what may explain a failure, if anything may


def told(kata: KataReport) -> FailureShown:
    """Return what is shown of a kata of which at least one check fails."""
    found = causes(kata)
    check = found[0].first
    place = (check.place,) if check.place else ()
    is_place = any(not repair.fact for repair in kata.repairs)  # a fact explains another check, of dtypes
    searched = repair_text(kata) if is_place and not (named(check) or check.message) else ""
    words = named(check) or searched
    is_written = not check.message.startswith(UNWRITTEN)
    said = {one.mistake.id for one in wrong(kata) if one.mistake and named(one)}
    unsaid = [one for one in [check, *wrong(kata)] if one.mistake and one.mistake.id not in said]
    says_both = all(text and text in check.message for text in (check.expected, check.got))
    return FailureShown(
        words or fails(check),
        count_above_reasons(kata, len(found)),
        check,
        fails(check) if words else "",
        "" if words else rule_of(check),
        is_written,
        is_written and not says_both,
        place or tuple(repair.place for repair in kata.repairs if searched),
        tuple(map(_of_other, found[1:])),
        next(filter(None, map(possibility, unsaid)), ""),
    )


def _of_other(cause: Cause) -> str:
    """Return what is said of a cause that is not the first."""
    return named(cause.first) or in_brief(cause.first)


def count_of(kata: KataReport, reasons: int) -> str:
    """Return how many checks fail, and for how many reasons."""
    failed, total = len(wrong(kata)), len(kata.checks) - len(by_hand(kata))
    if failed and kata.status == "passed":  # in a kata of questions most answers are enough
        return f"{failed} of {total} answers are wrong"
    text = f"{failed} of {total} checks {'fails' if failed == 1 else 'fail'}"
    if failed == 1:
        return text
    return f"{text}, {'one reason' if reasons == 1 else f'{reasons} reasons'}"


def count_above_reasons(kata: KataReport, reasons: int) -> str:
    """Return the same for a place where the reasons follow. A mistake says of itself "right for one head": it
    need not be where another one fails there too."""
    names = {check.mistake.id for check in wrong(kata) if check.mistake and named(check)}
    told_alone = "" if len(names) < 2 else ", each described as if it were the only one"
    return count_of(kata, reasons) + told_alone


def is_whole(check: CheckReport) -> bool:
    """Return whether the call of a check has its values in it, so that it runs."""
    return (check.call or "").startswith(("import ", "from "))


def values(check: CheckReport) -> dict[str, str]:
    """Return the values of the variables of a check's call that the call itself does not say."""
    return {} if is_whole(check) else check.counterexample or {}


def not_whole(check: CheckReport, name: str) -> str:
    """Return a sentence about a call that is shown without its values: what prints code that runs."""
    if check.snippet:
        return f"Too long here. Code that runs: {COMMANDS['call'].format(name)}"
    return "No short code makes this call."


def in_short(check: CheckReport) -> CheckReport:
    """Return the check with its call alone, where that has its values in it."""
    lines = (check.call or "").splitlines()
    made = {NESTED.split(name)[0] for name in check.counterexample or {}}
    made |= SHORT_NAMES
    begins = ("import ", "from ", "def ", "class ", " ", "@", *(f"{name} = " for name in made))
    kept = [line for line in lines if line and not line.startswith(begins)]
    # a value of an object that is not shown is not shown either
    calls = [line for at, line in enumerate(kept) if _is_needed(line, kept[at + 1 :])]
    if len(calls) > MOST_CALLS:
        half = MOST_CALLS // 2
        left = len(calls) - 2 * half
        calls = [*calls[:half], f"# {left} more {'call' if left == 1 else 'calls'}", *calls[-half:]]
    return replace(check, call="\n".join(calls))


def _is_needed(line: str, later: list[str]) -> bool:
    """Return whether a line is a call, or makes something that a later line names."""
    name, sign, _ = line.partition(" = ")
    is_assignment = bool(sign) and name.isidentifier()  # and no text of a call with such a sign in it
    return not is_assignment or any(re.search(rf"\b{name}\b", other) for other in later)


def kinds(check: CheckReport) -> list[str]:
    """Return what the values are that a check's call does not hold, a line for each variable."""
    found: dict[str, list[str]] = {}
    for name, text in values(check).items():
        found.setdefault(NESTED.split(name)[0], []).append(text.rpartition("    ")[2])
    return [f"{name}: {_kind(texts)}" for name, texts in found.items()]


def _kind(texts: list[str]) -> str:
    """Return the dtype and the shape of one array, or the number of several."""
    if len(texts) == 1:
        return "a function" if texts[0] == FUNCTION_TEXT else texts[0]
    more = [int(text.split()[0]) for text in texts if text.endswith(" more arrays")]
    return f"{len(texts) - len(more) + sum(more)} arrays"


def causes(kata: KataReport) -> list[Cause]:
    """Return the causes of all failures: that of wrong answers in ordinary cases first, then named mistakes,
    exceptions, what a sentence tells, and wrong answers in edge cases; last what fails in a variation alone,
    such as another dtype. If ordinary cases come out wrong, a dtype and NaN on extreme ones come last."""
    groups: dict[object, list[CheckReport]] = {}
    for check in wrong(kata):
        groups.setdefault(_reason(check), []).append(check)
    found = [Cause(tuple(sorted(checks, key=_shows_little))) for checks in groups.values()]
    is_far_off = any(
        check.role == "ordinary" and check.expected and not check.message for check in wrong(kata)
    )
    return sorted(found, key=lambda cause: _rank(cause, is_far_off=is_far_off))


def named(check: CheckReport) -> str:
    """Return the text of the mistake that certainly explains a failure; "" if there is none."""
    if not check.mistake or not check.mistake.certain:
        return ""
    return f"One of the reasons: {check.mistake.text}" if check.mistake.partial else check.mistake.text


def explanation(check: CheckReport) -> str:
    """Return the text of the mistake that explains a failure, or else what fails."""
    return named(check) or fails(check)


def fails(check: CheckReport) -> str:
    """Return what is wrong where a check fails, never the claim alone: that reads as if it held. "" if the
    check does not fail."""
    if check.status not in WRONG:
        return ""
    in_edge_case = f"In an edge case the result differs from the reference's: {check.title}"
    differs = check.differs or (in_edge_case if check.expected is not None else "")
    return check.message or differs or f"This does not hold: {check.title}"


def in_brief(check: CheckReport) -> str:
    """Return the first sentence about what is wrong where a check fails."""
    return first_sentence(fails(check))


def also(cause: Cause) -> list[tuple[str, CheckReport]]:
    """Return what else fails for a reason, each sentence once, with its check."""
    found = {in_brief(check): check for check in cause.checks[::-1]}
    found.pop(in_brief(cause.first))
    return list(found.items())[::-1]


def rule_of(check: CheckReport) -> str:
    """Return the rule that a failing check states, if nothing else says it."""
    says_nothing = check.role or check.status != "failed" or check.title in fails(check)
    return "" if says_nothing or check.message.startswith(UNWRITTEN) else f"The rule: {check.title}"


def possibility(check: CheckReport) -> str:
    """Return what may explain a failure, as a guess; "" if it has a certain explanation or none at all."""
    return f"One possibility: {check.mistake.text}" if check.mistake and not named(check) else ""


def _reason(check: CheckReport) -> object:
    """Return what failures for the same reason have in common."""
    if check.mistake and check.mistake.certain:
        return check.mistake.id
    if check.place:
        return check.place.line, check.message.partition(":")[0]
    if check.status != "failed":  # what was not run says first why, as what was does
        return check.status, first_sentence(check.message) or check.name
    if check.message or check.expected is None:
        return check.status, check.message or check.name
    return check.call, tuple((check.counterexample or {}).items()), check.got


def _shows_little(check: CheckReport) -> tuple[bool, bool, bool, bool]:
    shows_nothing = check.expected is None and check.place is None and not check.pictures
    return shows_nothing, check.role != "ordinary", check.role == "variation", not is_whole(check)


def _rank(cause: Cause, *, is_far_off: bool) -> tuple[int, bool]:
    check = cause.first
    if AT_RANDOM in check.message and not named(check):
        return 0, True  # what differs at each call says little of the formula
    if any(one.role == "ordinary" for one in cause.checks):
        return 1, False
    kind = 3 if check.status != "failed" else 4 if check.message and check.role != "variation" else 5
    if is_far_off and (check.role == "dtype" or check.message == NAN):
        kind = 6
    return 2 if named(check) else kind, check.role == "variation"


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


def source_line(place: Place, width: int = LONGEST_TEXT) -> list[str]:
    """Return a line of the submission after its number, and carets below the expression."""
    lead = f"{place.line} │ "
    code, column = place.text.strip(), len(place.text) - len(place.text.lstrip())
    start, end = max(place.start - column, 0), min(place.end - column, len(code))
    shown, cut = _around(code, start, end, max(width - len(lead), 2 * len(CUT_MARK) + 1))
    if start >= end:
        return [lead + shown]
    start, end = start - cut, min(end - cut, len(shown))
    return [lead + shown, f"{'│':>{len(lead) - 1}} {' ' * start}{'^' * (end - start)}"]


def _around(code: str, start: int, end: int, width: int) -> tuple[str, int]:
    """Return a line of code that has at most so many characters, with the expression from `start` to `end` in
    it, and how many columns that moves it to the left."""
    if len(code) <= width:
        return code, 0
    if end <= width - len(CUT_MARK):
        return code[: width - len(CUT_MARK)] + CUT_MARK, 0
    room = width - 2 * len(CUT_MARK)
    begin = min(start, max(0, (start + end - room) // 2))
    if len(code) - begin <= width - len(CUT_MARK):
        begin = len(code) - (width - len(CUT_MARK))
        begin = min(begin, start)
    shown = code[begin : begin + room + len(CUT_MARK)]
    if begin + len(shown) < len(code):
        shown = code[begin : begin + room] + CUT_MARK
    return CUT_MARK[::-1] + shown, begin - len(CUT_MARK)


def facts(check: CheckReport) -> list[tuple[str, str]]:
    """Return by name what stands below a failing call: the values that it does not hold, and what came and
    what is expected, beside what pictures show."""
    rows = list(values(check).items())
    if check.expected is not None and not (check.pictures or check.came):
        rows += [("expected", check.expected), ("got", check.got or "")]
        rows.append(("first difference at", check.difference or ""))
    return [(name, text) for name, text in rows if text]


def of_check(check: CheckReport, *, says_what: bool = True) -> str:
    """Return all facts about one check that fails, one per line, with what fails or without it."""
    facts: list[tuple[str, str | None]] = [("what", fails(check) if says_what else "")]
    facts.append(("called", "\n".join(code_lines(check.call or "", PAGE_WIDTH))))
    facts += list(values(check).items())
    if check.expected is not None:
        facts += [("expected", check.expected), ("got", check.got)]
    facts += [("first difference at", check.difference), ("printed", check.printed)]
    facts += [("looks like", named(check)), ("perhaps", possibility(check))]
    known = [(name, text) for name, text in facts if text]
    width = min(WIDEST_NAME, max((len(name) for name, _ in known), default=0))
    rows = [(name, text.replace("\n", "\n" + " " * (width + 2))) for name, text in known]
    return "\n".join(f"{name:<{width}}  {text}" for name, text in rows)


def drawn(check: CheckReport) -> str:
    """Return the facts below what fails with the values drawn, if a drawing shows how they differ."""
    from grader.drawing.text import draw

    facts = of_check(without_drawn(check), says_what=False)
    picture = draw(check.pictures[0], DRAWING_WIDTH, lambda text, _: text) if is_drawn(check) else []
    return "\n".join(filter(None, [facts, *picture]))


def is_drawn(check: CheckReport) -> bool:
    """Return whether a drawing shows how the values differ."""
    from grader.drawing.text import tells_apart

    return bool(check.pictures) and tells_apart(check.pictures[0])


def without_drawn(check: CheckReport) -> CheckReport:
    """Return the check without the values that a drawing shows."""
    return replace(check, expected=None, got=None, difference=None) if is_drawn(check) else check


def of_kata(kata: KataReport) -> str:
    """Return all facts about every check that does not hold, or one sentence if there is none."""
    if not wrong(kata):
        return summary_of(kata)
    text = [f"✗ {of_check(check)}" for check in wrong(kata)]
    return "\n\n".join(filter(None, [*text, of_search(kata)]))


def summary_of(kata: KataReport) -> str:
    """Return the status of a kata, and the mistake that it looks like, in one sentence."""
    if kata.status == "passed" and not wrong(kata):
        return "Every check holds."
    if not wrong(kata):
        return kata.message or parts_text(kata) or SAYS.get(kata.status, "")
    first, others = causes(kata)[0].first, len(wrong(kata)) - 1
    more = f" ({others} more checks fail.)" if others > 1 else " (One more check fails.)" * others
    passes = "Passes." if kata.status == "passed" else parts_text(kata)
    return " ".join(filter(None, (passes, explanation(first)))) + more


def headline(kata: KataReport) -> str:
    """Return what explains the first cause of the failures, or the kata's status in one sentence."""
    found = causes(kata)
    return explanation(found[0].first) if found else summary_of(kata)


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
    found = LINE_NUMBER.search(message)
    return int(found.group(1)) if found else 1


def verdict(status: KataStatus | CheckStatus) -> str:
    """Return the status as `pass`, `fail` or `error`, the three words that several hosts use."""
    return {"passed": "pass", "skipped": "pass", "error": "error", "timeout": "error"}.get(status, "fail")
