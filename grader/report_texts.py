"""Escape and shorten the texts of a report that come from a submission.

The submission determines exception messages, values of results and printed lines. They may contain control
sequences of a terminal, marks that reverse the direction of reading, lines that a host runs as commands, or
megabytes. The grader calls `bounded` when it makes a report. The formats call `legible`, since they may be
given a saved report that was edited.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Callable, Sequence
from dataclasses import asdict, astuple, replace
from itertools import count

from grader.report import (
    CheckReport,
    KataReport,
    Mistake,
    Panel,
    Picture,
    Place,
    Provenance,
    Repair,
    Report,
    Waypoint,
)

LARGEST = 240_000  # bytes of one kata as JSON, so that the whole report, indented, has less than 256 kB
FOUND = 8_000  # bytes that are kept free for what a search finds later
MOST_PRINTED = 80_000  # bytes of JSON for the printed output
MOST_CHECKS = 64
MOST_ENTRIES = 40  # arguments of a counterexample
MOST_DRAWN = 3  # checks of a kata that keep their pictures and snippets
#: The number of characters that are kept, for each kind of text.
LIMITS = {
    "name": 80,
    "title": 200,
    "message": 4_000,
    "call": 2_000,
    "argument": 80,
    "value": 600,
    "expected": 2_000,
    "got": 2_000,
    "difference": 200,
    "mistake": 2_000,
    "label": 40,
    "line": 400,
    "snippet": 16_000,
    "printed": 2_000,
    "output": 20_000,
}
STEP = 4_096  # characters that are compared in one step
SCALES = (1, 4, 16)  # the limits of a check are divided by these in turn until it fits
LEFT_OUT = "The details are left out: the report is too long."
SAME_LOOK = " (other characters that look the same)"

CONTROL_PICTURES = {code: chr(0x2400 + code) for code in range(32)} | {127: "\u2421"}
LONGEST_NAME = 100  # characters of a file's name in a note
LINE_END = re.compile("\r\n?")
#: Commands of continuous integration: `::error` at the start of a line; `##[error]`, `##vso[…]` anywhere.
COMMAND = re.compile(r"^([ \t]*):(?=:)|#(?=#\w*\[)", re.MULTILINE)

Limit = Callable[[str], int]  # returns the number of characters kept for a kind of text


def harmless(text: str, one_line: bool = False) -> str:
    """Return the text with unprintable characters escaped and commands of a host made ineffective.

    Line ends and tabs are kept unless `one_line` is true."""
    return without_commands(_escape(text, "") if one_line else _escape(LINE_END.sub("\n", text), "\n\t"))


def without_commands(text: str) -> str:
    """Return the text with a space inserted into whatever a host would run as a command."""
    return COMMAND.sub(lambda found: "# " if found[0] == "#" else f"{found[1]}: ", text)


def _escape(text: str, kept: str) -> str:
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() or c in kept else _escape_character(c) for c in text)


def _escape_character(character: str) -> str:
    return CONTROL_PICTURES.get(ord(character)) or ascii(character)[1:-1]


def legible(report: Report) -> Report:
    """Return the report with every text made harmless."""
    provenance = Provenance(*(harmless(text, one_line=True) for text in astuple(report.provenance)))
    device = harmless(report.device, one_line=True)
    notes = tuple(harmless(note, one_line=True) for note in report.notes)
    katas = tuple(map(legible_kata, report.katas))
    return replace(report, katas=katas, device=device, provenance=provenance, notes=notes)


def legible_kata(kata: KataReport) -> KataReport:
    """Return the report of one kata with every text made harmless."""
    checks = tuple(_with_texts(check, _unlimited) for check in kata.checks)
    return replace(_without_checks(kata, _unlimited), checks=checks)


def bounded(kata: KataReport) -> KataReport:
    """Return the report of one kata with its texts made harmless and cut to LARGEST bytes in all."""
    frame = _without_checks(replace(kata, output=_output(kata.output)), _limit(1))
    checks = _with_few_pictures(_merge_last(kata.checks))
    shortest = [_without_details(check) for check in checks]
    room = LARGEST - FOUND - _size(frame) - sum(map(_size, shortest))
    kept = []
    for check, short in zip(checks, shortest, strict=True):
        room += _size(short)
        kept.append(_fit(check, room, short))
        room -= _size(kept[-1])
    return replace(frame, checks=tuple(kept))


def with_places(kata: KataReport, repairs: tuple[Repair, ...], waypoint: Waypoint | None) -> KataReport:
    """Return a bounded report with what a search has found, whose texts are made harmless and cut."""
    found = bounded(replace(kata, checks=(), output="", repairs=repairs, waypoint=waypoint))
    return replace(kata, repairs=found.repairs, waypoint=found.waypoint)


def listed(names: Sequence[str]) -> str:
    """Return the first three names, each cut to LONGEST_NAME characters, and how many more there are."""
    shown = [cut(name, LONGEST_NAME) for name in names[:3]]
    return ", ".join(shown) + (f" and {len(names) - 3:,} more" if len(names) > 3 else "")


def cut(text: str, limit: int) -> str:
    """Return the first and last characters of the text, `limit` in all, and how many are left out."""
    if len(text) <= limit:
        return text
    half = limit // 2
    return text[:half] + _omission(len(text) - 2 * half) + text[len(text) - half :]


def _omission(missing: int) -> str:
    return f"… {missing} characters left out …"


def cut_pair(expected: str, got: str, limit: int) -> tuple[str, str]:
    """Return two texts made harmless and cut around their first difference. Unequal texts stay unequal."""
    if expected == got:
        shown = harmless(cut(expected, limit), one_line=True)
        return shown, shown
    at = _first_difference(expected, got)
    shown, other = (harmless(_cut_around(text, at, limit), one_line=True) for text in (expected, got))
    return shown, other if shown != other else other + SAME_LOOK


def _first_difference(one: str, other: str) -> int:
    """Return the index of the first character in which two unequal texts differ."""
    near = next(at for at in count(0, STEP) if one[at : at + STEP] != other[at : at + STEP])
    return next(at for at in count(near) if one[at : at + 1] != other[at : at + 1])


def _cut_around(text: str, at: int, limit: int) -> str:
    if len(text) <= limit:
        return text
    start = max(0, min(at, len(text)) - limit // 2)
    before = _omission(start) if start else ""
    after = _omission(len(text) - start - limit) if len(text) > start + limit else ""
    return before + text[start : start + limit] + after


def _unlimited(_kind: str) -> int:
    return sys.maxsize


def _limit(scale: int) -> Limit:
    return lambda kind: LIMITS[kind] // scale


def _line(kind: str, text: str, limit: Limit) -> str:
    return harmless(cut(text, limit(kind)), one_line=True)


def _optional_line(kind: str, text: str | None, limit: Limit) -> str | None:
    return None if text is None else _line(kind, text, limit)


def _with_texts(check: CheckReport, limit: Limit, entries: int = sys.maxsize) -> CheckReport:
    """Return the check with its texts made harmless and cut, and at most `entries` arguments."""
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
        None if check.call is None else harmless(cut(check.call, limit("call"))),
        _counterexample(check.counterexample, limit, entries),
        _optional_line("expected", expected, limit) if got is None else expected,
        _optional_line("got", got, limit) if expected is None else got,
        _optional_line("difference", check.difference, limit),
        mistake and Mistake(_line("name", mistake.id, limit), _line("mistake", mistake.text, limit)),
        tuple(_picture(picture, limit) for picture in check.pictures),
        check.place and _place(check.place, limit),
        _snippet(check.snippet, limit),
        harmless(cut(check.printed, limit("printed"))),
    )


def _picture(picture: Picture, limit: Limit) -> Picture:
    return replace(
        picture,
        caption=_line("title", picture.caption, limit),
        panels=tuple(Panel(_line("label", panel.title, limit), panel.values) for panel in picture.panels),
        rows=tuple(_line("label", label, limit) for label in picture.rows),
        columns=tuple(_line("label", label, limit) for label in picture.columns),
    )


def _snippet(code: str, limit: Limit) -> str:
    """Return the code, or nothing if it is long or holds what a terminal or a host would obey."""
    return code if len(code) <= limit("snippet") and harmless(code) == code else ""


def _place(place: Place, limit: Limit) -> Place:
    """Return the place with its line made harmless; without columns if that moves the characters."""
    text = _line("line", place.text, limit)
    return replace(place, text=text) if text == place.text else Place(place.line, text)


def _with_few_pictures(checks: tuple[CheckReport, ...]) -> tuple[CheckReport, ...]:
    """Return the checks; only the first MOST_DRAWN that have pictures or a snippet keep them."""
    kept = [check for check in checks if check.pictures or check.snippet][:MOST_DRAWN]
    return tuple(check if check in kept else replace(check, pictures=(), snippet="") for check in checks)


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
        excerpt=harmless(kata.excerpt)[: LIMITS["message"]],
        output=harmless(kata.output),
        digest=_line("name", kata.digest, limit),
        cost=kata.cost and replace(kata.cost, operation=_line("name", kata.cost.operation, limit)),
        checks=(),
        repairs=tuple(_repair(repair, limit) for repair in kata.repairs),
        waypoint=kata.waypoint and _waypoint(kata.waypoint, limit),
    )


def _repair(found: Repair, limit: Limit) -> Repair:
    fact = _line("title", found.fact, limit)
    return Repair(_line("name", found.kind, limit), _place(found.place, limit), fact)


def _waypoint(found: Waypoint, limit: Limit) -> Waypoint:
    return Waypoint(_line("name", found.agrees, limit), _line("name", found.differs, limit), found.line)


def _output(text: str) -> str:
    """Return the printed output, cut to its limit, or to less if its characters take many bytes."""
    shown = (harmless(cut(text, LIMITS["output"] // scale)) for scale in SCALES)
    return next(output for output in shown if _size(output) <= MOST_PRINTED)


def _merge_last(checks: tuple[CheckReport, ...]) -> tuple[CheckReport, ...]:
    """Return at most MOST_CHECKS checks; the last one has the points of all that are left out."""
    if len(checks) <= MOST_CHECKS:
        return checks
    first, rest = checks[: MOST_CHECKS - 1], checks[MOST_CHECKS - 1 :]
    passed = all(check.status in ("passed", "skipped") for check in rest)
    score, max_score = sum(check.score for check in rest), sum(check.max_score for check in rest)
    title = f"{len(rest)} more checks."
    return *first, CheckReport("more_checks", title, "passed" if passed else "failed", score, max_score)


def _without_details(check: CheckReport) -> CheckReport:
    name, title = _line("name", check.name, _limit(2)), _line("title", check.title, _limit(4))
    return CheckReport(name, title, check.status, check.score, check.max_score, LEFT_OUT)


def _fit(check: CheckReport, room: int, short: CheckReport) -> CheckReport:
    """Return the check with the longest texts that fit into `room` bytes, or `short` if none fit."""
    cuts = (_with_texts(check, _limit(scale), MOST_ENTRIES // scale) for scale in SCALES)
    return next((shown for shown in cuts if _size(shown) <= room), short)


def _size(value: CheckReport | KataReport | str) -> int:
    """Return the number of bytes as JSON; a character that HTML escapes counts as six."""
    text = json.dumps(value if isinstance(value, str) else asdict(value), ensure_ascii=False)
    return len(text.encode()) + 5 * sum(map(text.count, "&<>\"'"))
