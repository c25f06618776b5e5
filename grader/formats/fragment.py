"""Render a kata's report as a fragment of HTML for a page such as a notebook.

It has no scripts, loads nothing and sets no styles for the page. Failed checks can be unfolded, and each
mistake is explained once.
"""

from __future__ import annotations

from dataclasses import replace

from grader.formats import account
from grader.formats.account import LONGEST, MARKS
from grader.formats.escaping import in_html, points
from grader.report import CheckReport, KataReport
from grader.report_texts import legible_kata

RED, ASIDE = "color: #d2333f", "margin: .3em 0 .6em 1.4em"
PRE = f"{ASIDE}; white-space: pre; overflow-x: auto"
SUMMARY = '<summary style="display: list-item; cursor: pointer">'  # shows the triangle, which some pages hide


def render_kata(kata: KataReport) -> str:
    """Return the score, every check and, if a check does not hold, what the code printed."""
    kata = legible_kata(kata)
    score = _points(kata.score, kata.max_score)
    head = f"{_mark(kata.status)} <strong>{_text(kata.name)}</strong> &nbsp; {score}"
    told: set[str] = set()
    checks = [_check(check, told) for check in kata.checks]
    if not checks:
        checks = [f'<div style="{ASIDE}">{_text(account.summary_of(kata))}</div>']
    printed = _printed(kata.output) if account.wrong(kata) and kata.output else ""
    return f'<div><div style="margin: .3em 0">{head}</div>\n' + "\n".join(checks) + f"{printed}</div>\n"


def _check(check: CheckReport, told: set[str]) -> str:
    """Return one check as HTML. It is unfolded if it is the first failure, or the first with its mistake;
    `told` collects the mistakes that were shown."""
    line = (
        f"{_mark(check.status)} {_text(check.title)} <small>{_points(check.score, check.max_score)}</small>"
    )
    if check.status not in account.WRONG:
        return f"<div>{line}</div>"
    mistake = check.mistake
    is_news = not told or (mistake is not None and mistake.id not in told)
    facts = _text(account.of_check(replace(check, mistake=None)))
    looks = (
        f'<div style="{ASIDE}"><em>looks like</em> {_text(mistake.text)}</div>' if mistake and is_news else ""
    )
    told |= {mistake.id if mistake else check.name}
    unfolded = " open" if is_news else ""
    return f'<details{unfolded}>{SUMMARY}{line}</summary><pre style="{PRE}">{facts}</pre>{looks}</details>'


def _printed(output: str) -> str:
    return f'\n<details>{SUMMARY}The code printed</summary><pre style="{PRE}">{_text(output)}</pre></details>'


def _points(score: int, max_score: int) -> str:
    return f"{points(score)} / {points(max_score)}"


def _mark(status: str) -> str:
    return MARKS.get(status) or f'<span style="{RED}">✗</span>'


def _text(text: str) -> str:
    return in_html(text, LONGEST)
