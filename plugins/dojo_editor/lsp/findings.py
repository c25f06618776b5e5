"""What an editor shows of a report: where, how certain it is, and the case that shows it."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import NamedTuple

from lsprotocol.types import DiagnosticSeverity as Severity

from grader.course.catalog import KataInfo
from grader.course.submission import SubmissionRejected, ask, encoded
from grader.formats import account
from grader.report import CheckReport, KataReport, Place
from grader.texts.escaping import one_line
from grader.texts.wrapping import code_lines

NOT_STARTED = "Not started yet: read the docstring, and {task} here."
UNWRITTEN = re.compile(r"^\s*raise NotImplementedError\b")
CARET = re.compile(r"^ *│ ( *)\^$")  # below the line of a syntax error
WIDTH = 88  # characters of a line of code
LONGEST_VALUE = 400  # characters of a value


class Span(NamedTuple):
    """A part of a line, both counted from 0, in characters of the text."""

    line: int = 0
    start: int = 0
    end: int = 0


@dataclass(frozen=True)
class Finding:
    """What is said about a part of a text; `check` has the case that shows it, `others` are places that
    belong to it too."""

    span: Span
    text: str
    severity: Severity = Severity.Error
    check: CheckReport | None = None
    others: tuple[Span, ...] = ()


def findings(report: KataReport, info: KataInfo, text: str) -> list[Finding]:
    """Return what a report says about a text, the first cause first; nothing if it passes."""
    lines, notes = text.split("\n"), Severity.Information
    match report.status:
        case "passed":
            return []
        case "error":
            return [Finding(_of_error(report, info, text), report.message)]
        case "not_started":
            words = NOT_STARTED.format(task=info.kind.task)
            return [Finding(unwritten(lines) or name_of(info, text), words, notes)]
        case "waiting":
            return [Finding(name_of(info, text), report.message, notes)]
    names = names_in(text, info.entry_points)
    parts = [part.name for part in report.parts if part.status == "not_written"]
    spans = [(name, unwritten(lines, names[name].line) or names[name]) for name in parts if name in names]
    found = _of_causes(report, info, text) if account.causes(report) else []
    return [*found, *(Finding(span, f"{name} is not written yet.", notes) for name, span in spans)]


def _of_causes(report: KataReport, info: KataInfo, text: str) -> list[Finding]:
    """Return the first cause, with what a search has proven, and those of the others that have a place."""
    lines, told, proven = text.split("\n"), account.told(report), account.repair_text(report)
    spots = [_span(repair.place, lines) for repair in report.repairs]
    raised, words = _raised(told.check, lines), told.words
    at = raised or name_of(info, text, told.check)
    if raised is None and spots and not account.named(told.check):
        (at, *spots), words = spots, words if words == proven else f"{words} {proven}"
        proven = ""
    said = "\n".join(filter(None, [words, told.claim, f"{told.count}."]))
    found = [Finding(at, said, check=told.check, others=() if proven else tuple(spots))]
    if told.guess:
        found.append(Finding(at, told.guess, Severity.Warning, told.check))
    for cause in account.causes(report)[1:]:
        check = cause.first
        place = _raised(check, lines) if info.kind.is_code else name_of(info, text, check)
        if place:
            found.append(Finding(place, account.explanation(check), check=check))
    if spots and proven:
        found.append(Finding(spots[0], proven, others=tuple(spots[1:])))
    return found


def _raised(check: CheckReport, lines: list[str]) -> Span | None:
    """Return where the code raised, or did not come to an end."""
    named = account.LINE_NUMBER.search(check.message)
    place = check.place or (Place(int(named[1]), "") if named else None)
    return _span(place, lines) if place else None


def case_of(check: CheckReport) -> str:
    """Return the failing call as code, with what came and what is expected; "" if there is none to show."""
    if not check.call or check.message.startswith(account.UNWRITTEN):
        return ""
    lines = code_lines(check.call, WIDTH)
    lines += [f"# {kind}" for kind in account.kinds(check)]
    if check.came:
        lines += code_lines(f"# {check.came}", WIDTH)
    elif check.expected is not None:
        lines += [f"# {name}: {one_line(value or '', LONGEST_VALUE)}" for name, value in _values(check)]
    return "\n".join(lines)


def _values(check: CheckReport) -> list[tuple[str, str | None]]:
    return [("expected", check.expected), ("got", check.got)]


def name_of(info: KataInfo, text: str, check: CheckReport | None = None) -> Span:
    """Return where the function is bound that a check calls, or else the kata's first one; in a kata of
    questions the constant. It is the first line if there is none in the text."""
    bound = names_in(text, info.entry_points)
    called = f"{check.call or ''} {check.name.upper()}" if check else ""
    words = set(re.findall(r"\w+", called))
    first = [name for name in info.entry_points if name in words]
    return next((bound[name] for name in [*first, *info.entry_points] if name in bound), Span())


def names_in(text: str, names: tuple[str, ...]) -> dict[str, Span]:
    """Return where these names are bound at the top of a text, the last time each."""
    try:
        found, _ = ask("bound", dict[str, tuple[int, int, int]], encoded(text), names=[*names])
    except SubmissionRejected:
        return {}
    return {name: Span(*place) for name, place in found.items()}


def unwritten(lines: list[str], begin: int = 0) -> Span | None:
    """Return the first line, at or after `begin`, that stands for the code in a stub."""
    found = (_whole(number, line) for number, line in enumerate(lines) if UNWRITTEN.match(line))
    return next((span for span in found if span.line >= begin), None)


def _of_error(report: KataReport, info: KataInfo, text: str) -> Span:
    """Return where a file cannot be read as Python, or else the function."""
    if not report.excerpt:
        return name_of(info, text)
    lines, number = text.split("\n"), account.line_of(report.message) - 1
    if not 0 <= number < len(lines):
        return Span()
    span = _whole(number, lines[number])
    caret = CARET.match(report.excerpt.rpartition("\n")[2])
    if caret is None:
        return span
    start = span.start + len(caret[1])
    return Span(number, min(start, span.end), max(start + 1, span.end)) if start < span.end else span


def _span(place: Place, lines: list[str]) -> Span:
    """Return a place of a report in a text; the whole line if the columns are not known."""
    number = place.line - 1
    if not 0 <= number < len(lines):
        return Span()
    start, end = place.start, min(place.end, len(lines[number]))
    return Span(number, start, end) if start < end else _whole(number, lines[number])


def _whole(number: int, line: str) -> Span:
    return Span(number, len(line) - len(line.lstrip()), len(line.rstrip()))
