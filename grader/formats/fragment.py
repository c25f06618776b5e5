"""Render a kata's report as a fragment of HTML for a page such as a notebook.

It has no scripts, loads nothing and sets no styles for the page. Each cause of failures can be unfolded.
"""

from __future__ import annotations

from dataclasses import replace

from grader.formats import account
from grader.formats.account import LONGEST, MARKS, Cause
from grader.formats.escaping import in_html, points
from grader.report import KataReport
from grader.report_texts import legible_kata

RED, ASIDE = "color: #d2333f", "margin: .3em 0 .6em 1.4em"
PRE = f"{ASIDE}; white-space: pre; overflow-x: auto"
SUMMARY = '<summary style="display: list-item; cursor: pointer">'  # shows the triangle, which some pages hide


def render_kata(kata: KataReport) -> str:
    """Return the score, every check and, if a check does not hold, what the code printed."""
    kata = legible_kata(kata)
    score = _points(kata.score, kata.max_score)
    head = f"{_mark(kata.status)} <strong>{_text(kata.name)}</strong> &nbsp; {score}"
    if not kata.checks:
        parts = [f'<div style="{ASIDE}">{_text(account.summary_of(kata))}</div>']
    else:
        parts = [_cause(cause, number == 0) for number, cause in enumerate(account.causes(kata))]
        found = account.of_search(kata)
        parts += [f'<pre style="{PRE}">{_text(found)}</pre>'] if found else []
        parts += [_held(kata)]
    printed = _folded("The code printed", _text(kata.output)) if account.wrong(kata) and kata.output else ""
    return f'<div><div style="margin: .3em 0">{head}</div>\n' + "\n".join(parts) + f"{printed}</div>\n"


def _cause(cause: Cause, is_open: bool) -> str:
    """Return the checks that fail for one reason, and the first one's counterexample."""
    first = cause.first
    title = (
        f"{_mark(first.status)} {_text(first.title)} <small>{_points(first.score, first.max_score)}</small>"
    )
    looks = f'<div style="{ASIDE}">{_text(first.mistake.text)}</div>' if first.mistake else ""
    facts = f'<pre style="{PRE}">{_text(account.drawn(replace(first, mistake=None)))}</pre>'
    others = " ".join(check.title for check in cause.checks[1:])
    also = f'<div style="{ASIDE}"><em>also fails</em> {_text(others)}</div>' if others else ""
    unfolded = " open" if is_open else ""
    return f"<details{unfolded}>{SUMMARY}{title}</summary>{looks}{facts}{also}</details>"


def _held(kata: KataReport) -> str:
    held = [check for check in kata.checks if check.status not in account.WRONG]
    lines = [f"{_mark(check.status)} {_text(check.title)}" for check in held]
    lines += [_text(note) for note in dict.fromkeys(check.message for check in held) if note]
    rows = "".join(f'<div style="{ASIDE}">{line}</div>' for line in lines)
    return f"<details>{SUMMARY}{len(held)} of {len(kata.checks)} checks hold</summary>{rows}</details>"


def _folded(summary: str, text: str) -> str:
    return f'\n<details>{SUMMARY}{summary}</summary><pre style="{PRE}">{text}</pre></details>'


def _points(score: int, max_score: int) -> str:
    return f"{points(score)} / {points(max_score)}"


def _mark(status: str) -> str:
    return MARKS.get(status) or f'<span style="{RED}">✗</span>'


def _text(text: str) -> str:
    return in_html(text, LONGEST)
