"""Render a report as Markdown for GitHub: a table of the katas, then failed checks and counterexamples."""

from __future__ import annotations

from dataclasses import replace

from grader.formats import account
from grader.formats.account import Cause
from grader.formats.escaping import fenced, in_markdown, points
from grader.report import KataReport, Report
from grader.report_texts import legible

LARGEST = 900_000  # bytes; GitHub shows no summary of more than 1 MiB
LONGEST = 20_000  # the most characters for one check
MARKS = {"passed": "✅", "failed": "❌", "error": "⚠️", "not_started": "⬜", "waiting": "⏳"}
CUT = "\nThe rest does not fit here: the report in the terminal has it.\n"


def render(report: Report) -> str:
    """Return the table of all katas, and the failed checks of as many katas as the size limit allows."""
    report = legible(report)
    text = _table(report)
    room = LARGEST - len(text.encode()) - len(CUT)
    for kata in report.katas:
        part = _details(kata)
        room -= len(part.encode())
        if room < 0:
            return text + CUT
        text += part
    return text


def _table(report: Report) -> str:
    head = f"## {points(report.score)} of {points(report.max_score)} points\n\n"
    rows = [
        f"| {MARKS[kata.status]} | {in_markdown(kata.name)} | {points(kata.score)} / {points(kata.max_score)}"
        f" | {in_markdown(account.summary_of(kata), 400)} |\n"
        for kata in report.katas
    ]
    return head + "| | kata | points | |\n|---|---|---:|---|\n" + "".join(rows)


def _details(kata: KataReport) -> str:
    blocks = list(map(_cause, account.causes(kata)))
    if not blocks:
        return ""
    head = f"\n<details><summary>{in_markdown(kata.name)}</summary>\n"
    next_command = f"grade --hint {kata.name}".replace("`", "'")
    return head + "".join(blocks) + f"\nNext: `{next_command}`\n\n</details>\n"


def _cause(cause: Cause) -> str:
    """Return the first check that fails for a reason with its counterexample, and the others' titles."""
    first = cause.first
    title = f"\n**{in_markdown(first.title)}** {points(first.score)} / {points(first.max_score)}\n\n"
    mistake = f"{in_markdown(first.mistake.text)}\n\n" if first.mistake else ""
    facts = fenced(account.drawn(replace(first, mistake=None)), LONGEST)
    others = in_markdown(" ".join(check.title for check in cause.checks[1:]), LONGEST)
    return f"{title}{mistake}{facts}\n" + (f"\nAlso fails for this reason: {others}\n" if others else "")
