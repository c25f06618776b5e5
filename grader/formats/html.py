"""Render a report as one HTML page without scripts or external files; it is readable without styles."""

from __future__ import annotations

from grader.drawing import svg
from grader.formats import Document, account
from grader.formats.account import LONGEST, MARKS, Cause
from grader.formats.escaping import in_html, points
from grader.report import CheckReport, KataReport, Place, Report
from grader.report_texts import legible

STYLE = """
* { box-sizing: border-box; }
body { font: 16px/1.5 system-ui, sans-serif; max-width: 60rem; margin: 0 auto; padding: 1rem;
  color: var(--ink); background: var(--paper); overflow-wrap: anywhere; }
h1 { font-size: 1.6rem; } h2 { margin-top: 2.5rem; font-size: 1.25rem; } a { color: rgb(var(--plus)); }
table { border-collapse: collapse; }
td, th { padding: .2rem .8rem .2rem 0; text-align: left; vertical-align: top; }
td a { overflow-wrap: normal; } h2 small, summary small { white-space: nowrap; }
.points { text-align: right; white-space: nowrap; font-variant-numeric: tabular-nums; }
.bad { color: var(--bad); } .quiet { color: var(--faint); } .cause { font-size: 1.1rem; }
pre { white-space: pre-wrap; border-left: 3px solid var(--faint); padding: .2rem .8rem; margin: .6rem 0; }
dl { display: grid; grid-template-columns: minmax(3rem, max-content) 1fr; gap: .2rem 1rem; }
dt { color: var(--faint); } dd { margin: 0; font-family: ui-monospace, monospace; white-space: pre-wrap; }
summary { cursor: pointer; padding: .3rem 0; } summary:focus-visible { outline: 3px solid rgb(var(--plus)); }
section > details { border-top: 1px solid var(--faint); }
@media (max-width: 40rem) { dl { display: block; } dd { margin-bottom: .5rem; } td.told { display: none; } }
@media print { a { color: inherit; } h2 { break-after: avoid; } figure { break-inside: avoid; } }
"""
POLICY = "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'"


def render(report: Report) -> str:
    """Return the page: a table of all katas, then each kata with the causes of its failures."""
    report = legible(report)
    total = f"{points(report.score)} of {points(report.max_score)} points"
    rows = "".join(_row(kata) for kata in report.katas)
    body = f"<main>\n<h1>{total}</h1>\n<table>{rows}</table>\n"
    return page(total, body + "".join(kata_section(kata) for kata in report.katas if kata.checks) + "</main>")


def page(title: str, body: str, style: str = "") -> str:
    """Return a whole page that loads nothing and runs nothing."""
    return (
        '<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        '<meta name="color-scheme" content="light dark">'
        f'<meta http-equiv="Content-Security-Policy" content="{POLICY}">'
        f"<title>{in_html(title)}</title><style>{svg.STYLE}{STYLE}{style}</style></head>\n"
        f"<body>{body}\n</body></html>\n"
    )


def _row(kata: KataReport) -> str:
    name = in_html(kata.name)
    linked = f'<a href="#{name}">{name}</a>' if kata.checks else name
    told = in_html(account.summary_of(kata), 400)
    return (
        f"<tr><td>{_mark(kata.status)}</td><td>{linked}</td>"
        f'<td class="points">{points(kata.score)} / {points(kata.max_score)}</td>'
        f'<td class="told">{told}</td></tr>\n'
    )


def kata_section(kata: KataReport) -> str:
    """Return a kata: its causes, the first one unfolded, then the checks that hold, folded."""
    name = in_html(kata.name)
    head = f'<h2 id="{name}">{_mark(kata.status)}&nbsp;{name} <small>{_points(kata)}</small></h2>\n'
    causes = "".join(_cause(cause, number == 0) for number, cause in enumerate(account.causes(kata)))
    held = [check for check in kata.checks if check.status not in account.WRONG]
    rows = "".join(_held(check) for check in held)
    folded = (
        _folded(f"{len(held)} of {len(kata.checks)} checks hold", f"<table>{rows}</table>") if held else ""
    )
    output = f"<pre>{in_html(kata.output, LONGEST)}</pre>"
    printed = _folded("The code printed", output) if kata.output else ""
    cost = f'<p class="quiet">{in_html(account.cost_of(kata))}</p>\n' if kata.cost else ""
    return f"<section>{head}{cost}{causes}{_found(kata)}{folded}{printed}</section>\n"


def _found(kata: KataReport) -> str:
    """Return the places that a search has found, with their lines."""
    spots = "".join(_source_line(repair.place) for repair in kata.repairs)
    return f"<p>{in_html(account.repair_text(kata))}</p>{spots}\n" if spots else ""


def _folded(summary: str, inside: str) -> str:
    return f"<details><summary>{summary}</summary>{inside}</details>\n"


def _cause(cause: Cause, is_open: bool) -> str:
    first = cause.first
    told = account.explanation(first)
    said = f'<p class="cause">{in_html(told, LONGEST)}</p>\n' if told else ""
    others = "".join(f"<li>{in_html(check.title)}</li>" for check in cause.checks[1:])
    also = f"<p>Also fails for this reason:</p><ul>{others}</ul>" if others else ""
    return (
        f"<details{' open' if is_open else ''}><summary>{_mark(first.status)} {in_html(first.title)}"
        f' <small class="quiet">{_points(first)}</small></summary>\n{said}{facts(first)}{also}</details>\n'
    )


def facts(check: CheckReport) -> str:
    """Return the failing call, the line that raised, the arguments and both values."""
    message = check.message if check.mistake else ""
    rows = [("what", message), ("called", check.call or ""), *(check.counterexample or {}).items()]
    if check.expected is not None and not check.pictures:
        rows += [("expected", check.expected), ("got", str(check.got))]
        rows += [("first difference at", check.difference or "")]
    shown = "".join(f"<dt>{in_html(n)}</dt><dd>{_by_rows(text)}</dd>" for n, text in rows if text)
    source = _source_line(check.place) if check.place else ""
    listed = f"<dl>{shown}</dl>" if shown else ""
    printed = f"<p>It printed:</p><pre>{in_html(check.printed, LONGEST)}</pre>" if check.printed else ""
    return listed + source + "".join(map(svg.draw, check.pictures)) + printed


def _by_rows(text: str) -> str:
    """Return the text with a line for each row of a nested array."""
    return in_html(text, LONGEST).replace("], [", "],\n [")


def _source_line(place: Place) -> str:
    before, inside, after = (
        place.text[: place.start],
        place.text[place.start : place.end],
        place.text[place.end :],
    )
    marked = (
        f"{in_html(before)}<mark>{in_html(inside)}</mark>{in_html(after)}" if inside else in_html(place.text)
    )
    return f"<pre>line {place.line}: {marked}</pre>"


def _held(check: CheckReport) -> str:
    note = f'<div class="quiet">{in_html(check.message)}</div>' if check.message else ""
    return (
        f"<tr><td>{_mark(check.status)}</td><td>{in_html(check.title)}{note}</td>"
        f'<td class="points">{_points(check)}</td></tr>'
    )


def _points(scored: KataReport | CheckReport) -> str:
    return f"{points(scored.score)} / {points(scored.max_score)}"


def _mark(status: str) -> str:
    return MARKS.get(status) or '<span class="bad">✗</span>'


DOCUMENTS = [Document("report.html", render)]
