"""The texts of a report that a submission can fill: made visible, kept from commanding a host, and bounded.

The message of an exception, the value of a result and printed lines are the submission's words. They may
hold the control sequences of a terminal, marks that reverse the direction of reading, lines that a host
takes for commands, or megabytes. `bounded` is for the grader, which makes a report; `legible` is for the
formats, which may get a report that somebody saved.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Callable
from dataclasses import asdict, astuple, replace
from itertools import count

from grader.report import CheckReport, KataReport, Mistake, Provenance, Report

LARGEST = 240_000  # bytes of one kata as JSON: the report around it and indentation stay below 256 kB
MOST_PRINTED = 80_000  # bytes of these for what was printed
MOST_CHECKS = 64
MOST_ENTRIES = 40  # of a counterexample
#: Characters of each text that are kept.
LIMITS = {
    "name": 80,
    "title": 200,
    "message": 4_000,
    "call": 1_000,
    "argument": 80,
    "value": 600,
    "expected": 2_000,
    "got": 2_000,
    "difference": 200,
    "mistake": 2_000,
    "output": 20_000,
}
STRIDE = 4_096  # characters that are compared at once
SCALES = (1, 4, 16)  # what the limits of a check are divided by until it fits
LEFT_OUT = "The details are left out: the report is too long."
SAME_LOOK = " (other characters that look the same)"

PICTURES = {code: chr(0x2400 + code) for code in range(32)} | {127: "\u2421"}
LINE_END = re.compile("\r\n?")
#: `::error` at the beginning of a line, `##[error]` and `##vso[…]` anywhere in it.
COMMAND = re.compile(r"^([ \t]*):(?=:)|#(?=#\w*\[)", re.MULTILINE)

Limit = Callable[[str], int]  # how many characters of one kind of text are kept


def harmless(text: str, one_line: bool = False) -> str:
    """Return the text with every character visible and no line that a host takes for a command.

    Line ends and tabs stay as they are, unless the text belongs on one line."""
    return without_commands(_visible(text, "") if one_line else _visible(LINE_END.sub("\n", text), "\n\t"))


def without_commands(text: str) -> str:
    """Return the text with a blank inside whatever a host's runner takes for a command."""
    return COMMAND.sub(lambda found: "# " if found[0] == "#" else f"{found[1]}: ", text)


def _visible(text: str, kept: str) -> str:
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() or c in kept else _spelt(c) for c in text)


def _spelt(character: str) -> str:
    return PICTURES.get(ord(character)) or ascii(character)[1:-1]


def legible(report: Report) -> Report:
    """Return the report with every text harmless."""
    provenance = Provenance(*(harmless(text, one_line=True) for text in astuple(report.provenance)))
    device = harmless(report.device, one_line=True)
    return replace(report, katas=tuple(map(legible_kata, report.katas)), device=device, provenance=provenance)


def legible_kata(kata: KataReport) -> KataReport:
    """Return the report of one kata with every text harmless."""
    checks = tuple(_with_texts(check, _unlimited) for check in kata.checks)
    return replace(_without_checks(kata, _unlimited), checks=checks)


def bounded(kata: KataReport) -> KataReport:
    """Return the report of one kata with every text harmless and cut, at most LARGEST bytes of JSON."""
    frame = _without_checks(replace(kata, output=_output(kata.output)), _limit(1))
    checks = _merged(kata.checks)
    bare = [_bare(check) for check in checks]
    room = LARGEST - _size(frame) - sum(map(_size, bare))
    kept = []
    for check, least in zip(checks, bare, strict=True):
        room += _size(least)
        kept.append(_largest_within(room, check, least))
        room -= _size(kept[-1])
    return replace(frame, checks=tuple(kept))


def cut(text: str, limit: int) -> str:
    """Return the beginning and the end of the text, `limit` characters in all, and how many are missing."""
    if len(text) <= limit:
        return text
    half = limit // 2
    return text[:half] + _mark(len(text) - 2 * half) + text[len(text) - half :]


def _mark(missing: int) -> str:
    return f"… {missing} characters left out …"


def cut_pair(expected: str, got: str, limit: int) -> tuple[str, str]:
    """Return two texts, harmless and cut around their first difference; they differ if they did before."""
    if expected == got:
        shown = harmless(cut(expected, limit), one_line=True)
        return shown, shown
    at = _first_difference(expected, got)
    shown, other = (harmless(_around(text, at, limit), one_line=True) for text in (expected, got))
    return shown, other if shown != other else other + SAME_LOOK


def _first_difference(one: str, other: str) -> int:
    """Return the length of the common beginning of two texts that differ."""
    near = next(at for at in count(0, STRIDE) if one[at : at + STRIDE] != other[at : at + STRIDE])
    return next(at for at in count(near) if one[at : at + 1] != other[at : at + 1])


def _around(text: str, at: int, limit: int) -> str:
    if len(text) <= limit:
        return text
    start = max(0, min(at, len(text)) - limit // 2)
    before = _mark(start) if start else ""
    after = _mark(len(text) - start - limit) if len(text) > start + limit else ""
    return before + text[start : start + limit] + after


def _unlimited(_kind: str) -> int:
    return sys.maxsize


def _limit(scale: int) -> Limit:
    return lambda kind: LIMITS[kind] // scale


def _line(kind: str, text: str, limit: Limit) -> str:
    return harmless(cut(text, limit(kind)), one_line=True)


def _line_or_none(kind: str, text: str | None, limit: Limit) -> str | None:
    return None if text is None else _line(kind, text, limit)


def _with_texts(check: CheckReport, limit: Limit, entries: int = sys.maxsize) -> CheckReport:
    """Return the check with every text harmless and cut, with at most `entries` of its counterexample."""
    expected, got = check.expected, check.got
    if expected is not None and got is not None:
        expected, got = cut_pair(expected, got, limit("expected"))
    mistake = check.mistake
    return CheckReport(
        _line("name", check.name, limit),
        _line("title", check.title, limit),
        check.status,
        check.score,
        check.max_score,
        _line("message", check.message, limit),
        _line_or_none("call", check.call, limit),
        _counterexample(check.counterexample, limit, entries),
        _line_or_none("expected", expected, limit) if got is None else expected,
        _line_or_none("got", got, limit) if expected is None else got,
        _line_or_none("difference", check.difference, limit),
        mistake and Mistake(_line("name", mistake.id, limit), _line("mistake", mistake.text, limit)),
    )


def _counterexample(found: dict[str, str] | None, limit: Limit, entries: int) -> dict[str, str] | None:
    if found is None:
        return None
    shown = {
        _line("argument", name, limit): _line("value", text, limit)
        for name, text in list(found.items())[:entries]
    }
    missing = len(found) - len(shown)
    return shown | {"…": f"{missing} more"} if missing else shown


def _without_checks(kata: KataReport, limit: Limit) -> KataReport:
    return replace(
        kata,
        name=_line("name", kata.name, limit),
        track=_line("name", kata.track, limit),
        message=_line("message", kata.message, limit),
        output=harmless(kata.output),
        digest=_line("name", kata.digest, limit),
        checks=(),
    )


def _output(text: str) -> str:
    """Return what was printed, cut to its limit, and further where its characters take many bytes."""
    shown = (harmless(cut(text, LIMITS["output"] // scale)) for scale in SCALES)
    return next(output for output in shown if _size(output) <= MOST_PRINTED)


def _merged(checks: tuple[CheckReport, ...]) -> tuple[CheckReport, ...]:
    """Return the first checks, and one that stands for the rest, so that no point is lost."""
    if len(checks) <= MOST_CHECKS:
        return checks
    first, rest = checks[: MOST_CHECKS - 1], checks[MOST_CHECKS - 1 :]
    passed = all(check.status in ("passed", "skipped") for check in rest)
    score, max_score = sum(check.score for check in rest), sum(check.max_score for check in rest)
    title = f"{len(rest)} more checks."
    return *first, CheckReport("more_checks", title, "passed" if passed else "failed", score, max_score)


def _bare(check: CheckReport) -> CheckReport:
    """Return the check without its details."""
    name, title = _line("name", check.name, _limit(2)), _line("title", check.title, _limit(4))
    return CheckReport(name, title, check.status, check.score, check.max_score, LEFT_OUT)


def _largest_within(room: int, check: CheckReport, least: CheckReport) -> CheckReport:
    """Return the check, with texts as long as there is room for; where there is none, `least`."""
    cuts = (_with_texts(check, _limit(scale), MOST_ENTRIES // scale) for scale in SCALES)
    return next((shown for shown in cuts if _size(shown) <= room), least)


def _size(value: CheckReport | KataReport | str) -> int:
    """Return the bytes of JSON, where a character counts six that a page of HTML spells out."""
    text = json.dumps(value if isinstance(value, str) else asdict(value), ensure_ascii=False)
    return len(text.encode()) + 5 * sum(map(text.count, "&<>\"'"))
