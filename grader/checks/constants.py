"""The checks of a kata that is answered with constants: one for each constant, whose value the kind judges.

The numbers come in rows, and a submission is judged on the row that its constant `STUDENT` chooses.
References, mistakes and variants are functions of the numbers, and are judged on all rows.
A written answer has no check: its text goes into the report, and a person grades it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from typing import Any

from grader.answer_keys.answers import Case
from grader.checks.context import Check, CheckContext
from grader.expect import ExpectationFailed, SubmissionFailed
from grader.kata import Kata, hundredths
from grader.kinds import AskedConstant, Questions
from grader.report import CheckReport
from grader.values.constants import plain
from grader.worker.calls import Call, Calls, CaseFailed, KeptCalls, Skip
from grader.worker.student import Student

WORTH = 100  # hundredths of a point for each constant


def constant_checks(kind: Questions, kata: Kata, cases: list[Case]) -> list[Check]:
    """Return a check for each constant that a kata asks for; `cases` are its rows of numbers."""
    return [
        Check(name.lower(), title, WORTH, cases, partial(_judge, kind, name))
        for name, (title, _) in kata.questions.items()
    ]


def written_answers(kata: Kata, answers: Mapping[str, str]) -> list[CheckReport]:
    """Return the `answers` of a page that a person grades, by name. They have no points yet."""
    found = []
    for name, (worth, _) in kata.written.items():
        words = answers.get(name, "")
        has = "is written: graded by hand" if words else "is empty: write a text, which is graded by hand"
        text = f"{name} {has}, up to {worth:g} {'point' if worth == 1 else 'points'}."
        title = f"{name} is graded by hand."
        found.append(CheckReport(name, title, "skipped", 0, hundredths(worth), text, words=words))
    return found


def _judge(kind: Questions, name: str, context: CheckContext, case: Case) -> None:
    """Judge the value of one constant."""
    if context.row not in (None, case.arguments["row"]):
        raise Skip
    value, call = _value(context.student, name, case)
    expected = plain(context.expected(case).exact[name])
    asked = AskedConstant(name, value, expected, lambda: context.oracle.reference)
    if complaint := kind.complaint(context.kata, asked):
        raise CaseFailed(ExpectationFailed(complaint), Calls((call,)))


def _value(student: Student, name: str, case: Case) -> tuple[Any, Call]:
    """Return the value of a constant in its plain form, and the call that has it."""
    with KeptCalls(student) as made:
        try:
            value = plain(student.constant(name, **case.arguments))
        except SubmissionFailed as failure:
            if failure.kinds[0] != "AttributeError":
                raise
            raise ExpectationFailed(f"There is no line `{name} = …`; the stub has one.") from None
    return value, replace(made[-1], value=value)
