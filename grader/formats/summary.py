"""Render a report as Markdown for GitHub: a table of the katas, then failed checks and counterexamples."""

from __future__ import annotations

from grader.formats import account
from grader.formats.escaping import fenced, in_markdown, points
from grader.report import KataReport, Report
from grader.report_texts import legible

FILE = "summary.md"
LARGEST = 900_000  # bytes; GitHub shows no summary of more than 1 MiB
LONGEST = 20_000  # the most characters for one check
MARKS = {"passed": "✅", "failed": "❌", "error": "⚠️", "not_started": "⬜", "waiting": "⏳"}
LEFT_OUT = "\nLeft out here, because there is no room: {}. The report in the terminal has it.\n"


def render(report: Report, largest: int = LARGEST, longest: int = LONGEST) -> str:
    """Return the table of all katas, and the failed checks of as many katas as fit into `largest` bytes.

    `longest` is the most characters for one check. The last line names the katas that did not fit.
    """
    report = legible(report)
    text, left_out = _table(report), []
    room = largest - len(text.encode()) - len(_left_out([kata.name for kata in report.katas]).encode())
    for kata in report.katas:
        part = _details(kata, longest)
        if len(part.encode()) <= room:
            room -= len(part.encode())
            text += part
        else:
            left_out.append(kata.name)
    return text + (_left_out(left_out) if left_out else "")


def _left_out(names: list[str]) -> str:
    return LEFT_OUT.format(", ".join(map(in_markdown, names)))


def _table(report: Report) -> str:
    head = f"## {points(report.score)} of {points(report.max_score)} points\n\n"
    rows = [
        f"| {MARKS[kata.status]} | {in_markdown(kata.name)} | {points(kata.score)} / {points(kata.max_score)}"
        f" | {in_markdown(account.summary_of(kata), 400)} |\n"
        for kata in report.katas
    ]
    return head + "| | kata | points | |\n|---|---|---:|---|\n" + "".join(rows)


def _details(kata: KataReport, longest: int) -> str:
    wrong = account.wrong(kata)
    if not wrong:
        return ""
    blocks = [
        f"\n**{in_markdown(check.title)}** {points(check.score)} / {points(check.max_score)}\n\n"
        f"{fenced(account.of_check(check), longest)}\n"
        for check in wrong
    ]
    head = f"\n<details><summary>{in_markdown(kata.name)}</summary>\n"
    next_command = f"grade --hint {kata.name}".replace("`", "'")
    return head + "".join(blocks) + f"\nNext: `{next_command}`\n\n</details>\n"
