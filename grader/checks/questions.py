"""The checks of a kata of questions: each compares one constant with what the reference computes.

The numbers come in rows, and a submission is judged on the row that its constant `STUDENT` chooses.
References, mistakes and variants are functions of the numbers, and are judged on all rows.
A written answer has no check: its text goes into the report, and a person grades it.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from grader.answer_keys.answers import Case
from grader.checks.base import Check, CheckContext, Judge
from grader.expect import ExpectationFailed, SubmissionFailed
from grader.kata import Kata, hundredths
from grader.report import CheckReport
from grader.values.formatting import describe_type, show
from grader.worker.calls import Call, Calls, CaseFailed, KeptCalls, Skip
from grader.worker.proxies import RemoteObject
from grader.worker.student import Student

WORTH = 100  # hundredths of a point for each question
CLOSE = 0.005  # the largest relative error of a number with a fraction
EMPTY = "ellipsis"  # the type of `...`, which stands for an answer in a stub


def question_checks(kata: Kata, cases: list[Case]) -> list[Check]:
    """Return a check for each question of the kata; `cases` are its rows of numbers."""
    return [
        Check(name.lower(), title, WORTH, cases, _judge_of(name, nudge))
        for name, (title, nudge) in kata.questions.items()
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


def row_of(student: Student, kata: Kata) -> int | None:
    """Return the row of numbers that a submission is judged on; None for all, if `STUDENT` is None."""
    try:
        name = student.constant("STUDENT")
    except SubmissionFailed:
        name = ""
    if name is None:
        return None
    return sum(name.encode(errors="replace")) % len(kata.examples) if isinstance(name, str) else 0


def _judge_of(name: str, nudge: str) -> Judge:
    """Return the function that judges the answer to one question."""

    def judge(context: CheckContext, case: Case) -> None:
        if context.row not in (None, case.arguments["row"]):
            raise Skip
        answer, call = _answer(context.student, name, case)
        expected = plain(context.expected(case).exact[name])
        if not agrees(expected, answer):
            why = ExpectationFailed(f"{_sentence(name, expected, answer)} {nudge}")
            raise CaseFailed(why, Calls((call,)))

    return judge


def _answer(student: Student, name: str, case: Case) -> tuple[Any, Call]:
    """Return the answer to a question in its plain form, and the call that has it."""
    with KeptCalls(student) as made:
        try:
            answer = plain(student.constant(name, **case.arguments))
        except SubmissionFailed as failure:
            if failure.kinds[0] != "AttributeError":
                raise
            raise ExpectationFailed(f"There is no line `{name} = …`; the stub has one.") from None
    return answer, replace(made[-1], value=answer)


def plain(value: Any) -> Any:
    """Return a list or an array as a tuple, a number of NumPy as Python's, and a text in capitals."""
    if not isinstance(value, RemoteObject) and hasattr(value, "tolist"):
        value = value.tolist()
    if isinstance(value, list | tuple):
        return tuple(map(plain, value))
    return value.strip().upper() if isinstance(value, str) else value


def agrees(expected: Any, answer: Any) -> bool:
    """True if an answer is the one that is due; numbers with a fraction may differ by CLOSE."""
    if _kind(expected) != _kind(answer):
        return False
    if isinstance(expected, tuple):
        return len(expected) == len(answer) and all(map(agrees, expected, answer))
    if isinstance(expected, float):
        return math.isclose(expected, answer, rel_tol=CLOSE)
    return bool(expected == answer)


def _sentence(name: str, expected: Any, answer: Any) -> str:
    """Return what is wrong with an answer, without the right one."""
    given = answer.type_name if isinstance(answer, RemoteObject) else describe_type(answer)
    if given == EMPTY:
        return f"{name} has no answer yet."
    if _kind(expected) != _kind(answer):
        return f"{name} is {_kind(answer) or given}, and {_kind(expected)} is expected."
    return f"{name} = {show(answer)} is not right."


KINDS: Mapping[type, str] = {
    bool: "True or False",
    int: "a number",
    float: "a number",
    str: "a text in quotes",
    tuple: "a tuple such as (2, 3)",
}


def _kind(value: Any) -> str:
    """Return the kind of an answer, or "" if it is no answer."""
    return KINDS.get(type(value), "")
