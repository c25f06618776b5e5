"""Render a report as one HTML page without scripts or external files; it is readable without styles."""

from __future__ import annotations

from grader.formats import Document, account
from grader.formats.account import LONGEST, MARKS
from grader.formats.escaping import in_html, points
from grader.report import CheckReport, KataReport, Report
from grader.report_texts import legible

STYLE = """
body { font: 16px/1.5 system-ui, sans-serif; max-width: 60rem; margin: 2rem auto; padding: 0 1rem; }
h2 { margin-top: 2.5rem; } td, th { padding: .2rem .8rem .2rem 0; text-align: left; }
.points { text-align: right; font-variant-numeric: tabular-nums; } .wrong { color: #b00020; }
pre { overflow-x: auto; background: #f4f4f4; color: #111; padding: .8rem; }
"""


def render(report: Report) -> str:
    """Return the page: a table of all katas, then each kata with its checks."""
    report = legible(report)
    total = f"{points(report.score)} of {points(report.max_score)} points"
    rows = "".join(_row(kata) for kata in report.katas)
    return (
        '<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta http-equiv="Content-Security-Policy" content="default-src \'none\'; style-src'
        f" 'unsafe-inline'\"><title>{total}</title><style>{STYLE}</style></head>\n"
        f"<body><h1>{total}</h1>\n<table>{rows}</table>\n"
        + "".join(_kata(kata) for kata in report.katas if kata.checks)
        + "</body></html>\n"
    )


def _row(kata: KataReport) -> str:
    name = in_html(kata.name)
    linked = f'<a href="#{name}">{name}</a>' if kata.checks else name
    told = in_html(account.summary_of(kata), 400)
    return (
        f"<tr><td>{_mark(kata.status)}</td><td>{linked}</td>"
        f'<td class="points">{points(kata.score)} / {points(kata.max_score)}</td><td>{told}</td></tr>\n'
    )


def _kata(kata: KataReport) -> str:
    checks = "".join(_check(check) for check in kata.checks)
    printed = f"<p>The code printed:</p><pre>{in_html(kata.output, LONGEST)}</pre>\n" if kata.output else ""
    return f'<h2 id="{in_html(kata.name)}">{in_html(kata.name)}</h2>\n{checks}{printed}'


def _check(check: CheckReport) -> str:
    head = (
        f"<p>{_mark(check.status)} {in_html(check.title)}"
        f" <small>{points(check.score)} / {points(check.max_score)}</small></p>\n"
    )
    wrong = check.status in account.WRONG
    return head + (f"<pre>{in_html(account.of_check(check), LONGEST)}</pre>\n" if wrong else "")


def _mark(status: str) -> str:
    return MARKS.get(status) or '<span class="wrong">✗</span>'


DOCUMENTS = [Document("report.html", render)]
