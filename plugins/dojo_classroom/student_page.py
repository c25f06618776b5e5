"""The page of one student: name, course, date and score, then each kata with what does not hold."""

from __future__ import annotations

import hashlib
import re
from pathlib import Path

from dojo_classroom.student_reports import StudentReport
from grader.formats import pages
from grader.texts.bounds import legible

PAGES = "students"
NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,60}")
STUDENT_TEMPLATE = Path(__file__).parent / "templates" / "student.html"


def page_name(student: str) -> str:
    """Return the file name of a student's page: unique, and safe to use in a path."""
    if NAME.fullmatch(student):
        return f"{student}.html"
    plain = re.sub(r"[^A-Za-z0-9]+", "-", student).strip("-")[:40]
    return f"{plain or 'student'}-{hashlib.sha256(student.encode('utf-8', 'replace')).hexdigest()[:12]}.html"


def render_student(graded: StudentReport, course: str, date: str) -> str:
    """Return the page as HTML."""
    report, member = legible(graded.report), graded.member
    marks, score = graded.marks, graded.headline
    return pages.page(
        STUDENT_TEMPLATE,
        f"{member.name or member.id}: {score}",
        report=report,
        graded=graded,
        late=graded.late,
        changed=[(name, mark) for name, mark in marks.katas.items() if mark.reasons],
        unknown=graded.unknown,
        score=score,
        course=course,
        date=date,
    )
