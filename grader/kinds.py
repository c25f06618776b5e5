"""The kinds of kata: what an answer is, how it is judged, and when the kata passes.

An answer is code, which is called, or constants, whose values are judged. A layer that treats the two apart
does so in one place: the reader of texts by `Kind.answer`, the checks and the diagnosis by the kind's class.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from grader.errors import KataError

if TYPE_CHECKING:
    from grader.kata import Arguments, Kata
    from grader.report import CheckReport

Declared = Mapping[str, Any]  # the arguments of a declaration, by name
PASSES_FROM = 75  # percent of the questions of a page


@dataclass(frozen=True)
class AskedConstant:
    """The value of a constant in an answer. `expected` is the reference's for the same row of numbers, and
    `reference` loads the reference."""

    name: str
    value: Any
    expected: Any
    reference: Callable[[], Any]


@dataclass(frozen=True)
class Kind(ABC):
    """What differs between the kinds of kata.

    Attributes:
        answer: What a student writes: functions and classes, or constants. Constants are judged one by one:
            each may be missing, none is called with other cases, and no edit of the code is looked for.
        task: What a student does, in words.
        mistakes: The file of known mistakes that a new kata gets.
        shared: The parts of the solutions that all katas of a track share.
        on_all_rows: The line with which an answer is judged on all rows of numbers; "" if there are no rows.
    """

    answer: ClassVar[Literal["code", "constants"]]
    task: ClassVar[str]
    mistakes: ClassVar[str]
    shared: ClassVar[tuple[str, ...]] = ()
    on_all_rows: ClassVar[str] = ""

    @property
    def is_code(self) -> bool:
        """Whether the answer is code."""
        return self.answer == "code"

    @abstractmethod
    def require_valid(self, given: Declared) -> None:
        """Raise KataError if the arguments of a declaration do not fit the kind."""

    @abstractmethod
    def observed(self, kata: Kata, student: Any, case: Arguments) -> Mapping[str, Any]:
        """Return the values of a submission that are compared, by name."""

    def entry_points(self, given: Declared) -> tuple[str, ...]:
        """Return the names that a submission must define."""
        names: tuple[str, ...] = given["entry_points"]
        return names

    def points(self, given: Declared) -> float:
        """Return what a kata is worth."""
        points: float = given["points"]
        return points

    def examples(self, kata: Kata) -> list[Arguments]:
        """Return the cases that a declaration gives in full."""
        return kata.examples

    def row_of(self, kata: Kata, student: Any) -> int | None:  # noqa: ARG002  # where there are no rows
        """Return the number of the row of numbers that a submission is judged on; None for all cases."""
        return None

    def counterexample(self, case: Arguments) -> dict[str, str] | None:  # noqa: ARG002  # the calls have it
        """Return what a report shows of a failing case; None for the arguments of the calls that it shows."""
        return None

    def passes(self, kata: Kata, checks: Sequence[CheckReport]) -> bool:  # noqa: ARG002  # of whatever kata
        """Return whether an answer with these results passes: by default, if nothing fails."""
        return all(check.status in ("passed", "skipped") for check in checks)


class Functions(Kind):
    """Functions and classes are written, and called with the cases that the declaration draws."""

    answer = "code"
    task = "write the code"
    mistakes = "mistakes.edits"

    def require_valid(self, given: Declared) -> None:
        if given["written"]:
            raise KataError("written answers stand on a page of questions; add a question.")

    def observed(self, kata: Kata, student: Any, case: Arguments) -> Mapping[str, Any]:
        return {"result": getattr(student, kata.entry_points[0])(**case)}


class Questions(Kind):
    """Questions about rows of numbers. A constant answers each; a student has the row that `STUDENT` chooses.

    A kind whose constants are judged otherwise is a subclass with another `complaint`.
    """

    answer = "constants"
    task = "fill in the values"
    mistakes = "mistakes.py"
    shared = ("variants",)
    on_all_rows = "STUDENT = None"

    def require_valid(self, given: Declared) -> None:
        for name, written in given["written"].items():
            if name in given["questions"]:
                raise KataError(f"`{name}` is a question and a written answer; name one of them anew.")
            worth, rubric = written if isinstance(written, tuple) and len(written) == 2 else (0, "")
            fits = isinstance(worth, int | float) and worth > 0 and worth % 0.5 == 0
            if not fits or not isinstance(rubric, str):
                raise KataError(
                    f"written={{{name!r}: …}} must be whole or half points and a rubric:"
                    f' {{{name!r}: (3, "…")}}.'
                )

    def observed(self, kata: Kata, student: Any, case: Arguments) -> Mapping[str, Any]:
        return {name: student.constant(name, **case) for name in kata.entry_points}

    def entry_points(self, given: Declared) -> tuple[str, ...]:
        return tuple(given["questions"])

    def points(self, given: Declared) -> float:
        """Return a point for each question, and what a person can give."""
        of_a_person: list[float] = [worth for worth, _ in given["written"].values()]
        return len(given["questions"]) + sum(of_a_person)

    def examples(self, kata: Kata) -> list[Arguments]:
        """Return the rows of numbers, each with its number as `row`."""
        columns = list(kata.numbers.values())
        if not columns or len({len(column) for column in columns}) > 1:
            raise KataError(
                f"{kata.name}: numbers must hold columns of the same length, one number for each row."
            )
        rows = enumerate(zip(*columns, strict=True))
        return [{"row": row, **dict(zip(kata.numbers, values, strict=True))} for row, values in rows]

    def row_of(self, kata: Kata, student: Any) -> int | None:
        """Return the row of numbers that a submission is judged on; None for all, if `STUDENT` is None."""
        from grader.expect import SubmissionFailed  # imports NumPy, which listing the katas does not need

        try:
            name = student.constant("STUDENT")
        except SubmissionFailed:
            name = ""
        if name is None:
            return None
        return sum(name.encode(errors="replace")) % len(kata.examples) if isinstance(name, str) else 0

    def complaint(self, kata: Kata, asked: AskedConstant) -> str:
        """Return what is wrong with the value of a constant, without the right one; "" if it is right."""
        from grader.values.constants import agrees, what_is_wrong  # imports NumPy

        if agrees(asked.expected, asked.value):
            return ""
        _, nudge = kata.questions[asked.name]
        return f"{what_is_wrong(asked.name, asked.expected, asked.value)} {nudge}"

    def counterexample(self, case: Arguments) -> dict[str, str] | None:
        """Return the numbers of a row as one entry."""
        from grader.values.formatting import show  # imports NumPy

        numbers = [f"{name}={show(value)}" for name, value in case.items() if name != "row"]
        return {f"row {case['row']}": ", ".join(numbers)}

    def passes(self, kata: Kata, checks: Sequence[CheckReport]) -> bool:
        """Return whether most answers are right."""
        return sum(check.score for check in checks) >= PASSES_FROM * len(kata.questions)


class Inputs(Questions):
    """Inputs that tell wrong functions from a right one. The declaration judges each: `Kata.judges`."""

    task = "find the inputs"
    on_all_rows = ""

    def examples(self, kata: Kata) -> list[Arguments]:  # noqa: ARG002  # there are no rows of numbers
        return [{"row": 0}]

    def row_of(self, kata: Kata, student: Any) -> int | None:  # noqa: ARG002  # the same
        return None

    def complaint(self, kata: Kata, asked: AskedConstant) -> str:
        """Return why an input does not tell two functions apart; "" if it does."""
        if kata.judge is None:
            raise KataError(f"{kata.name}: nothing judges its inputs; decorate a function with @KATA.judges.")
        _, nudge = kata.questions[asked.name]
        wrong = kata.judge(asked.name, asked.value)
        return f"{wrong} {nudge}" if wrong else ""

    def counterexample(self, case: Arguments) -> dict[str, str] | None:  # noqa: ARG002  # the message has it
        return {}


#: The kinds, by the name that a declaration gives as `kind_name`.
KINDS: dict[str, Kind] = {"functions": Functions(), "questions": Questions(), "inputs": Inputs()}


def kind_of(given: Declared) -> Kind:
    """Return the kind of a declaration by its arguments: the one that it names, or else what it asks for.
    Raises KataError."""
    name = str(given["kind_name"] or ("questions" if given["questions"] else "functions"))
    if name not in KINDS:
        raise KataError(f"there is no kind of kata called `{name}`; say {' or '.join(KINDS)}.")
    return KINDS[name]
