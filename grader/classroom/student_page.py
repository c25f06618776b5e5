"""The page of one student: name, course, date and score, then each kata with what does not hold."""

from __future__ import annotations

import hashlib
import re
from dataclasses import replace

from grader.classroom.page_style import page
from grader.classroom.student_reports import StudentReport
from grader.formats import account
from grader.formats.account import LONGEST, MARKS
from grader.formats.escaping import in_html, points
from grader.report import CheckReport, KataReport
from grader.report_texts import legible

PAGES = "students"
NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,60}")


def page_name(student: str) -> str:
    """Return the file name of a student's page: unique, and safe to use in a path."""
    if NAME.fullmatch(student):
        return f"{student}.html"
    plain = re.sub(r"[^A-Za-z0-9]+", "-", student).strip("-")[:40]
    return f"{plain or 'student'}-{hashlib.sha256(student.encode('utf-8', 'replace')).hexdigest()[:12]}.html"


def render(graded: StudentReport, course: str, date: str) -> str:
    """Return the page as HTML."""
    report, member = legible(graded.report), graded.member
    name = member.name or member.id
    who = in_html(name) + (f" <small>{in_html(member.id)}</small>" if member.name else "")
    score = f"{points(report.score)} of {points(report.max_score)} points"
    rows = "".join(_row(kata, graded) for kata in report.katas)
    katas = "".join(_kata(kata) for kata in report.katas if kata.checks)
    return page(
        f"{name}: {score}",
        f'<h1>{who}</h1>\n<p class="score">{score}</p>\n<p class="quiet">{in_html(course)}, {date}</p>\n'
        f'{_notes(graded)}<table class="katas"><thead><tr><th><span class="quiet">result</span><th>kata'
        f'<th class="r">points<th>what stands out</tr></thead>\n<tbody>{rows}</tbody></table>\n{katas}',
    )


def _notes(graded: StudentReport) -> str:
    told = []
    if graded.unjudged:
        told.append(f"Not judged yet, through our own fault: {', '.join(sorted(graded.unjudged))}.")
    if graded.unrecognised:
        told.append(f"Handed in, not recognised: {', '.join(graded.unrecognised)}.")
    if graded.unclear:
        told.append("It is not clear yet which submission is yours; your instructor will look.")
    return "".join(f'<p class="note">{in_html(text)} The score above is not final.</p>\n' for text in told)


def _row(kata: KataReport, graded: StudentReport) -> str:
    name = in_html(kata.name)
    linked = f'<a href="#{name}">{name}</a>' if kata.checks else name
    late = " <small>late</small>" if kata.name in graded.late else ""
    score = "?" if kata.name in graded.unknown else points(kata.score)
    return (
        f"<tr><td>{_mark(kata.status)}<td>{linked}{late}"
        f'<td class="r">{score} / {points(kata.max_score)}<td>{in_html(account.summary_of(kata), 300)}</tr>\n'
    )


def _kata(kata: KataReport) -> str:
    wrong = account.wrong(kata)
    told: set[str] = set()
    failing = "".join(_failing(check, told) for check in wrong)
    held = [check for check in kata.checks if check not in wrong]
    lines = "".join(f"<li>{_head(check)}" for check in held)
    passed = f"<details><summary>{_hold(len(held))}</summary><ul>{lines}</ul></details>\n"
    output = in_html(kata.output, LONGEST)
    printed = f"<details><summary>What the code printed</summary><pre>{output}</pre></details>\n"
    return (
        f'<h2 id="{in_html(kata.name)}">{in_html(kata.name)} <small>{points(kata.score)} /'
        f" {points(kata.max_score)}</small></h2>\n{failing}{passed if held else ''}"
        f"{printed if kata.output else ''}"
    )


def _hold(number: int) -> str:
    return "1 check holds" if number == 1 else f"{number} checks hold"


def _failing(check: CheckReport, told: set[str]) -> str:
    """Return a failing check with its facts, and its mistake if that was not told before."""
    facts = in_html(account.of_check(replace(check, mistake=None)), LONGEST)
    shown = f"<pre>{facts}</pre>\n" if facts else ""
    mistake = check.mistake
    if mistake is None or mistake.id in told:
        return f"<p>{_head(check)}</p>\n{shown}"
    told.add(mistake.id)
    return f"<p>{_head(check)}</p>\n{shown}<p><em>Looks like:</em> {in_html(mistake.text, LONGEST)}</p>\n"


def _head(check: CheckReport) -> str:
    score = f"{points(check.score)} / {points(check.max_score)}"
    return f"{_mark(check.status)} {in_html(check.title)} <small>{score}</small>"


def _mark(status: str) -> str:
    mark = MARKS.get(status, "✗")
    colour = {"✓": "good", "✗": "bad"}.get(mark, "quiet")
    return f'<span class="{colour}">{mark}</span>'
