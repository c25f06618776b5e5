"""The page of one student: name, course, date and score, then each kata with what does not hold."""

from __future__ import annotations

import hashlib
import re

from grader.classroom.page_style import page
from grader.classroom.student_reports import StudentReport
from grader.formats import account, html
from grader.formats.account import MARKS
from grader.formats.escaping import in_html, points
from grader.report import KataReport
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
    katas = "".join(html.kata_section(kata) for kata in report.katas if kata.checks)
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


def _mark(status: str) -> str:
    mark = MARKS.get(status, "✗")
    colour = {"✓": "good", "✗": "bad"}.get(mark, "quiet")
    return f'<span class="{colour}">{mark}</span>'
