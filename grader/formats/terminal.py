"""Render a report for the terminal: first the facts, then the probable mistake, then the next command."""

from __future__ import annotations

import textwrap

from grader.formats import Document
from grader.formats.account import WIDEST
from grader.formats.escaping import points, quoted
from grader.report import CheckReport, KataReport, Report
from grader.report_texts import legible, legible_kata, without_commands

WIDTH = 92
MOST_ROWS = 120  # the most rows of a counterexample
DEEPEST = 8  # the most opening brackets by which the rows of a nested array are indented
GREEN, RED, YELLOW, BOLD, DIM = "32", "31", "33", "1", "2"
MARKS = {"passed": ("✓", GREEN), "skipped": ("·", DIM), "timeout": ("⧗", RED)}


class Paint:
    """Adds ANSI colour codes to a text, or returns it unchanged if `colour` is False."""

    def __init__(self, colour: bool) -> None:
        self.colour = colour

    def __call__(self, text: str, code: str) -> str:
        return f"\x1b[{code}m{text}\x1b[0m" if self.colour else text


def render(report: Report, colour: bool = False, shows_output: bool = False) -> str:
    """Return all katas and, if there are several, the summary, whose last line is the score."""
    parts = [render_kata(kata, colour, shows_output) for kata in report.katas]
    if len(report.katas) > 1:
        parts.append(render_summary(report, colour))
    return "\n".join(parts)


def render_kata(kata: KataReport, colour: bool = False, shows_output: bool = False) -> str:
    """Return the report of one kata. `shows_output` includes everything that the code printed; otherwise only
    the end of it is shown, and only if a check failed."""
    return without_commands(_kata(legible_kata(kata), Paint(colour), shows_output))


def _kata(kata: KataReport, paint: Paint, shows_output: bool) -> str:
    head = f"{paint(kata.name, BOLD)}  {points(kata.score)} / {points(kata.max_score)}"
    if not kata.checks:
        return f"{head}\n  {_status_line(kata)}\n"
    lines = [head]
    wrong = [check for check in kata.checks if check.status not in ("passed", "skipped")]
    told: set[str] = set()
    noted: set[str] = set()
    for check in kata.checks:
        lines += [_head(check, paint)]
        if check in wrong:
            lines += _fault(check, told, full=len(told) < 3)
        elif check.message and check.message not in noted:
            noted.add(check.message)
            lines += _labelled("note", check.message)
    lines += _closing(kata, wrong, paint, shows_output)
    return "\n".join(lines) + "\n"


def _status_line(kata: KataReport) -> str:
    if kata.message:
        return kata.message
    return {"not_started": "Not started yet.", "waiting": "Waiting for another kata."}.get(kata.status, "")


def _head(check: CheckReport, paint: Paint) -> str:
    mark, code = MARKS.get(check.status, ("✗", RED))
    score = f"{points(check.score)} / {points(check.max_score)}"
    *first, last = textwrap.wrap(check.title, WIDTH - 16) or [""]
    begun = [f"  {paint(mark, code)} {first[0]}", *(f"    {line}" for line in first[1:])] if first else []
    lead = "   " if first else f"  {paint(mark, code)}"
    return "\n".join([*begun, f"{lead} {last:<{WIDTH - 16}}{score:>12}"])


def _fault(check: CheckReport, told: set[str], full: bool) -> list[str]:
    details = _details(check) if full else []
    mistake = check.mistake
    if mistake and mistake.id not in told:
        told.add(mistake.id)
        details += _labelled("looks like", mistake.text)
    elif full:
        told.add(check.name)
    return details


def _details(check: CheckReport) -> list[str]:
    lines = _labelled("what", check.message) if check.message else []
    if check.call:
        lines += _labelled("called", check.call)
    if check.counterexample:
        lines += _counterexample(check.counterexample)
    if check.expected is not None:
        lines += _rows(f"      {'expected':<12}", check.expected)
        lines += _rows(f"      {'got':<12}", str(check.got))
        if check.difference:
            lines[-1] += f"    first difference at {check.difference}"
    return lines


def _counterexample(arguments: dict[str, str]) -> list[str]:
    """Return the arguments as at most MOST_ROWS lines."""
    width = min(WIDEST, max(map(len, arguments)))
    rows = [row for name, text in arguments.items() for row in _rows(f"{'':20}{name:<{width}} = ", text)]
    missing = len(rows) - MOST_ROWS
    return rows if missing <= 0 else [*rows[:MOST_ROWS], f"{'':20}… {missing} more rows"]


def _rows(lead: str, text: str) -> list[str]:
    """Return a value on one line, or a nested array row by row if the line would be too long."""
    if len(lead) + len(text) <= WIDTH + 12 or "], [" not in text or len(lead) > WIDTH:
        return [lead + text]
    first, *others = text.replace("], [", "],\0[").split("\0")
    inside = min(len(first) - len(first.lstrip("[")), DEEPEST)
    return [lead + first, *(" " * (len(lead) + inside - 1 - row.count("[") + 1) + row for row in others)]


def _labelled(label: str, text: str) -> list[str]:
    indent = " " * 6 + f"{label:<12}"
    return textwrap.wrap(text, WIDTH, initial_indent=indent, subsequent_indent=" " * 18) or [indent]


def _closing(kata: KataReport, wrong: list[CheckReport], paint: Paint, shows_output: bool) -> list[str]:
    lines = []
    if kata.output and (wrong or shows_output):
        shown = quoted(kata.output) if shows_output else quoted(kata.output[-600:])[-8:]
        lines += ["", paint("  The code printed:", DIM), *shown]
    if wrong:
        lines += ["", f"  next  grade --hint {kata.name}"]
    return lines


def render_summary(report: Report, colour: bool = False) -> str:
    """Return a table of all katas, and the total points."""
    paint, katas = Paint(colour), legible(report).katas
    rows = [
        f"  {_word(kata, paint)} {kata.name:<30}{points(kata.score):>6} / {points(kata.max_score)}"
        for kata in katas
    ]
    total = f"{points(report.score)} of {points(report.max_score)} points"
    lines = [paint("All katas", BOLD), *rows, "", paint(total, BOLD)]
    return without_commands("\n".join(lines)) + "\n"


def _word(kata: KataReport, paint: Paint) -> str:
    mark = {"passed": ("✓", GREEN), "not_started": ("·", DIM), "waiting": ("…", YELLOW)}
    return paint(*mark.get(kata.status, ("✗", RED)))


DOCUMENTS = [Document("report.txt", render)]
