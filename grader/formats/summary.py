"""Render a report as Markdown for GitHub: a table of the katas, then failed checks and counterexamples."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace

from grader.formats import account
from grader.formats.account import Cause
from grader.report import KataReport, Report
from grader.texts.bounds import legible
from grader.texts.escaping import fenced, in_markdown
from grader.texts.points import points

LARGEST_SUMMARY = 900_000  # bytes; GitHub shows no summary of more than 1 MiB
LONGEST_CHECK = 20_000  # the most characters for one check
MARKS = {"passed": "✅", "failed": "❌", "error": "⚠️", "not_started": "⬜", "waiting": "⏳"}
LEFT_OUT = "\nLeft out here, because there is no room: {}. The report in the terminal has it.\n"


def render(
    report: Report,
    largest: int = LARGEST_SUMMARY,
    longest: int = LONGEST_CHECK,
    unknown: Collection[str] | None = None,
) -> str:
    """Return the table of all katas, and the failed checks of as many katas as fit into `largest` bytes.

    `longest` is the most characters for one check. The last line names the katas that did not fit. With
    `unknown`, the katas whose points nobody knows, the table has no heading with the sum.
    """
    report = legible(report)
    head = f"## {points(report.score)} of {points(report.max_score)} points\n\n" if unknown is None else ""
    text, left_out = head + _table(report, unknown or ()), []
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


def _table(report: Report, unknown: Collection[str]) -> str:
    rows = [
        f"| {MARKS[kata.status]} | {in_markdown(kata.title)} | {_points(kata, unknown)} |"
        f" {in_markdown(account.summary_of(kata), 400)} |\n"
        for kata in report.katas
    ]
    return "| | kata | points | |\n|---|---|---:|---|\n" + "".join(rows)


def _points(kata: KataReport, unknown: Collection[str]) -> str:
    return f"{'?' if kata.name in unknown else points(kata.score)} / {points(kata.max_score)}"


def _details(kata: KataReport, longest: int) -> str:
    causes = account.causes(kata)
    blocks = [
        _cause(cause, account.count_above_reasons(kata, len(causes)) if cause is causes[0] else "", longest)
        for cause in causes
    ]
    if not blocks:
        return ""
    head = f"\n<details><summary>{in_markdown(kata.title)}</summary>\n"
    head += f"\n{in_markdown(account.parts_text(kata))}\n" if kata.parts else ""
    head += f"\n{in_markdown(kata.cap)}\n" if kata.cap else ""
    next_command = account.COMMANDS["hint"].format(kata.name).replace("`", "'")
    found = account.of_search(kata)
    blocks += [f"\n{fenced(found, longest)}\n"] if found else []
    return head + "".join(blocks) + f"\nNext: `{next_command}`\n\n</details>\n"


def _cause(cause: Cause, count: str, longest: int) -> str:
    """Return what is wrong, `count`, the first check that fails for this reason with its counterexample, and
    the others' titles."""
    first = cause.first
    mistake = f"\n{in_markdown(account.named(first))}\n" if account.named(first) else ""
    mistake += f"\n{count}\n" if count else ""
    title = f"\n**✗ {in_markdown(account.fails(first))}**"
    title += f" {points(first.score)} / {points(first.max_score)}\n\n"
    facts = fenced(account.drawn(replace(first, mistake=None)), longest)
    facts += f"\n\n{in_markdown(guess)}" if (guess := account.possibility(first)) else ""
    others = in_markdown(" ".join(f"✗ {text}" for text, _ in account.also(cause)), longest)
    return f"{mistake}{title}{facts}\n" + (f"\nAlso, for the same reason: {others}\n" if others else "")
