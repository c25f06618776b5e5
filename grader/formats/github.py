"""Render a report as annotations for GitHub Actions, which are lines in the step's log."""

from __future__ import annotations

from grader.formats import Document, account, summary
from grader.report import CheckReport, KataReport, Report
from grader.texts.bounds import legible
from grader.texts.escaping import one_line
from grader.texts.points import points

MOST_ANNOTATIONS = 10  # annotations of one kind per step; GitHub drops more without a message
LONGEST_MESSAGE = 2_000


def render(report: Report) -> str:
    """Return at most ten errors, at most ten warnings and one notice. If there are more, the tenth says how
    many are left out."""
    report = legible(report)
    wrong = [(kata, check) for kata in report.katas for check in account.wrong(kata)]
    errors = [_of_check(kata, check) for kata, check in wrong]
    warnings = [_of_kata(kata) for kata in report.katas if kata.status == "error"]
    total = f"{points(report.score)} of {points(report.max_score)} points"
    return "".join(
        f"{line}\n"
        for line in [
            *_within_limit(errors, "error", "checks fail"),
            *_within_limit(warnings, "warning", "files could not be graded"),
            command("notice", total, title="Score"),
        ]
    )


def _within_limit(lines: list[str], kind: str, what: str) -> list[str]:
    if len(lines) <= MOST_ANNOTATIONS:
        return lines
    left = len(lines) - MOST_ANNOTATIONS + 1
    return [
        *lines[: MOST_ANNOTATIONS - 1],
        command(kind, f"{left} more {what}: the job summary lists them all."),
    ]


def _of_check(kata: KataReport, check: CheckReport) -> str:
    text = [account.fails(check), account.named(check), account.possibility(check)]
    if check.expected is not None:
        text.insert(1, f"Expected {check.expected}, got {check.got}.")
    place = {"file": account.file_of(kata), "line": str(account.line_of(check.message))}
    message = one_line(" ".join(filter(None, text)), LONGEST_MESSAGE)
    return command("error", message, **place, title=account.title_of(kata, check))


def _of_kata(kata: KataReport) -> str:
    message = one_line(account.summary_of(kata), LONGEST_MESSAGE)
    place = {"file": account.file_of(kata), "line": str(account.line_of(kata.message))}
    return command("warning", message, **place, title=kata.name)


def command(name: str, message: str, **properties: str) -> str:
    """Return one workflow command, escaped so that its texts cannot end it or start another command."""
    shown = ",".join(f"{key}={_in_property(value)}" for key, value in properties.items())
    return f"::{name}{' ' + shown if shown else ''}::{_in_data(message)}"


def _in_data(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _in_property(text: str) -> str:
    return _in_data(text).replace(":", "%3A").replace(",", "%2C")


DOCUMENTS = [
    Document("annotations.txt", render, is_printed=True),
    Document("summary.md", summary.render, channel="GITHUB_STEP_SUMMARY"),
]
