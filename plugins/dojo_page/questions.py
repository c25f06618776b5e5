"""A page of questions: each constant of the file, the text above it, and its value."""

from __future__ import annotations

from dojo_page.protocol import Fields, Question
from grader.course.renaming import statement_of
from grader.course.submission import SubmissionRejected, ask, encoded


def asked_in(source: str) -> list[Question]:
    """Return the constants of a file in their order; none if it is no Python."""
    try:
        found, _ = ask("fields", list[tuple[str, str, str]], encoded(source))
    except SubmissionRejected:
        return []
    return [Question(*one) for one in found]


def with_answer(source: str, name: str, value: str) -> str:
    """Return the file with another value of a constant; `...` for an empty one. What is a text there needs no
    quotes. Raises SubmissionRejected if the value is no expression, or holds a name that nothing has defined,
    which would make the whole page unreadable."""
    return ask("fill", dict[str, str], encoded(source), name=name, value=value)[1]


def numbers_of(statement: str, student: str) -> tuple[int, dict[str, str]]:
    """Return the row of numbers that a login chooses in the table of a statement, and the numbers by name."""
    table = [line.split() for line in statement.splitlines() if line.startswith("    ")]
    head = next((at for at, words in enumerate(table) if words[:1] == ["row"]), len(table))
    rows = [words for words in table[head + 1 :] if words and len(words) == len(table[head])]
    if not rows:
        return 0, {}
    row = sum(student.encode(errors="replace")) % len(rows)
    return row, dict(zip(table[head][1:], rows[row][1:], strict=True))


def fields_of(text: str) -> Fields:
    """Return the questions of a page, and the row of numbers that its login chooses."""
    asked = asked_in(text)
    student = next((one.value for one in asked if one.name == "STUDENT"), "")
    found = statement_of(text) if asked else None
    row, numbers = numbers_of(found or "", student)
    named = ", ".join(f"{name} {number}" for name, number in numbers.items())
    return Fields(f"Your row is {row}: {named}." if numbers else "", tuple(asked))
