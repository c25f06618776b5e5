"""The places of a text that the editor underlines: where the report found or proved something."""

from __future__ import annotations

from dojo_page.protocol import Mark
from grader.formats import account
from grader.report import KataReport, Place


def marks_of(report: KataReport, text: str) -> tuple[Mark, ...]:
    """Return the places of a report in the text that was judged, each once: where the code raised, the first
    cause first, then what a search has found. A place without columns is its whole line."""
    checks = [check for cause in account.causes(report) for check in cause.checks]
    places = [("raised", one.place, account.explanation(one)) for one in checks if one.place]
    places += [("found", one.place, account.repair_text(report)) for one in report.repairs]
    line = account.line_of(report.message) if report.excerpt else 0
    if line > 0:
        places.append(("raised", Place(line, ""), report.message))
    first = {(place.line, place.start): (kind, place, said) for kind, place, said in reversed(places)}
    lines = text.split("\n")
    kept = [mark for mark in reversed(first.values()) if _is_in(mark[1], lines)]
    return tuple(_mark(kind, place, said, lines[place.line - 1]) for kind, place, said in kept)


def _is_in(place: Place, lines: list[str]) -> bool:
    return 0 < place.line <= len(lines) and bool(lines[place.line - 1].strip())


def _mark(kind: str, place: Place, said: str, line: str) -> Mark:
    start, end = place.start, min(place.end, len(line))
    if not start < end:
        start, end = len(line) - len(line.lstrip()), len(line.rstrip())
    return Mark(place.line, (start, end), said, kind)
