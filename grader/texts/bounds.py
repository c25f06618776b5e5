"""Make the texts of a report harmless, and cut them to their limits.

The grader calls `bounded` when it makes a report, since a submission may write megabytes. The formats call
`legible`, since they may be given a saved report that was edited.
"""

from __future__ import annotations

import json
import sys
import types
from collections.abc import Sequence
from dataclasses import asdict, fields, is_dataclass, replace
from functools import cache
from itertools import count
from typing import Annotated, Any, TypeVar, cast, get_args, get_origin, get_type_hints

from grader import report as report_module
from grader.report import CheckReport, KataReport, Limit, Place, Repair, Report
from grader.texts.escaping import harmless

LARGEST_REPORT = 240_000  # bytes of one kata as JSON: the whole report, indented, has less than 256 kB
ROOM_FOR_PLACES = 8_000  # bytes that are kept free for what a search finds later
LONGEST_OUTPUT, LONGEST_PAIR = 20_000, 2_000  # characters of what is printed, and of each of two results
LARGEST_OUTPUT = 80_000  # bytes of JSON for the printed output
MOST_CHECKS = 64
MOST_ENTRIES = 40  # arguments of a counterexample
MOST_PICTURED = 3  # checks of a kata that keep their pictures
STEP = 4_096  # characters that are compared in one step
SCALES = (1, 4, 16)  # the limits of a check are divided by these in turn until it fits
LEFT_OUT = "The details are left out: the report is too long."
SAME_LOOK = " (other characters that look the same)"
LONGEST_NAME = 100  # characters of a file's name in a note
ReportPart = TypeVar("ReportPart", Report, KataReport, CheckReport)
UNLIMITED = 0  # in place of a scale


def legible(report: Report) -> Report:
    """Return the report with every text made harmless."""
    return with_texts(replace(report, katas=()), UNLIMITED, katas=tuple(map(legible_kata, report.katas)))


def legible_kata(kata: KataReport) -> KataReport:
    """Return the report of one kata with every text made harmless."""
    checks = tuple(_check(check, UNLIMITED) for check in kata.checks)
    return with_texts(replace(kata, checks=()), UNLIMITED, checks=checks)


def bounded(kata: KataReport) -> KataReport:
    """Return the report of one kata with its texts made harmless and cut to LARGEST_REPORT bytes in all."""
    frame = with_texts(replace(kata, checks=(), output=_output(kata.output)), 1)
    checks = _with_few_pictures(_merge_last(kata.checks))
    shortest = [_without_details(check) for check in checks]
    room = LARGEST_REPORT - ROOM_FOR_PLACES - _size(frame) - sum(map(_size, shortest))
    kept = []
    for check, short in zip(checks, shortest, strict=True):
        room += _size(short)
        kept.append(_fit(check, room, short))
        room -= _size(kept[-1])
    return replace(frame, checks=tuple(kept))


def with_places(kata: KataReport, repairs: tuple[Repair, ...]) -> KataReport:
    """Return a bounded report with what a search has found, whose texts are made harmless and cut."""
    found = bounded(replace(kata, checks=(), output="", repairs=repairs))
    return replace(kata, repairs=found.repairs)


def first_names(names: Sequence[str]) -> str:
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


def with_texts(part: ReportPart, scale: int, **others: Any) -> ReportPart:
    """Return a part of a report with every text made harmless and, unless the scale is UNLIMITED, cut to its
    limit divided by the scale. `others` replaces fields and is left as it is."""
    return cast(ReportPart, replace(_cleaned(part, type(part), scale), **others))


def _cleaned(value: Any, kind: Any, scale: int) -> Any:
    """Return a value of this type with its texts made harmless and cut."""
    if isinstance(value, str):
        limit = next((one for one in get_args(kind)[1:] if isinstance(one, Limit)), None)
        return _text(value, limit, scale) if limit else value
    if isinstance(value, tuple):
        return tuple(_cleaned(part, get_args(kind)[0], scale) for part in value)
    if isinstance(value, dict):
        key, entry = get_args(kind)
        return {_cleaned(name, key, scale): _cleaned(text, entry, scale) for name, text in value.items()}
    if not is_dataclass(value):
        return value
    kinds = _kinds_with_texts(cast(type, type(value)))
    texts = {name: _cleaned(getattr(value, name), kind, scale) for name, kind in kinds.items()}
    cleaned: Any = replace(cast(Any, value), **texts)
    # the columns of a place do not fit a text whose characters have moved
    is_moved = isinstance(value, Place) and cleaned.text != value.text
    return Place(cleaned.line, cleaned.text) if is_moved else cleaned


def _text(text: str, limit: Limit, scale: int) -> str:
    kept = limit.characters // scale if scale else sys.maxsize
    if limit.form == "code":  # cut, or with spaces in it, it would be another program
        return text if len(text) <= kept and harmless(text) == text else ""
    return harmless(cut(text, kept), one_line=limit.form == "line")


@cache
def _kinds_with_texts(kind: type) -> dict[str, Any]:
    """Return the types of those fields of a dataclass that hold texts with a limit; without `| None`."""
    hints = get_type_hints(kind, vars(report_module), include_extras=True)
    kinds = {one.name: _without_none(hints[one.name]) for one in fields(cast(Any, kind))}
    return {name: found for name, found in kinds.items() if _holds_text(found)}


def _without_none(kind: Any) -> Any:
    is_union = get_origin(kind) is types.UnionType or type(None) in get_args(kind)
    return next(one for one in get_args(kind) if one is not type(None)) if is_union else kind


def _holds_text(kind: Any) -> bool:
    if get_origin(kind) is Annotated:
        return True
    return bool(is_dataclass(kind) and _kinds_with_texts(cast(type, kind))) or any(
        _holds_text(part) for part in get_args(kind)
    )


def _check(check: CheckReport, scale: int, entries: int = sys.maxsize) -> CheckReport:
    """Return the check with its texts made harmless and cut, and at most `entries` arguments."""
    found = check.counterexample
    if found and len(found) > entries:
        more = {"…": f"{len(found) - entries} more"}
        check = replace(check, counterexample=dict(list(found.items())[:entries]) | more)
    if check.expected is None or check.got is None:
        return with_texts(check, scale)
    pair = cut_pair(check.expected, check.got, LONGEST_PAIR // scale if scale else sys.maxsize)
    return with_texts(check, scale, expected=pair[0], got=pair[1])


def _with_few_pictures(checks: tuple[CheckReport, ...]) -> tuple[CheckReport, ...]:
    """Return the checks; only the first MOST_PICTURED that have pictures keep them."""
    kept = [check for check in checks if check.pictures][:MOST_PICTURED]
    return tuple(check if check in kept else replace(check, pictures=()) for check in checks)


def _output(text: str) -> str:
    """Return the printed output, cut to its limit, or to less if its characters take many bytes."""
    shown = (harmless(cut(text, LONGEST_OUTPUT // scale)) for scale in SCALES)
    return next(output for output in shown if _size(output) <= LARGEST_OUTPUT)


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
    scores = (check.score, check.max_score)
    short = CheckReport(
        check.name, check.title, check.status, *scores, LEFT_OUT, words=check.words, role=check.role
    )
    return with_texts(short, 4)


def _fit(check: CheckReport, room: int, short: CheckReport) -> CheckReport:
    """Return the check with the longest texts that fit into `room` bytes, or `short` if none fit."""
    cuts = (_check(check, scale, MOST_ENTRIES // scale) for scale in SCALES)
    return next((shown for shown in cuts if _size(shown) <= room), short)


def _size(value: CheckReport | KataReport | str) -> int:
    """Return the number of bytes as JSON; a character that HTML escapes counts as six."""
    text = json.dumps(value if isinstance(value, str) else asdict(value), ensure_ascii=False)
    return len(text.encode()) + 5 * sum(map(text.count, "&<>\"'"))
