"""Make the puzzle of a kata: the lines of its reference, shuffled, and two wrong ones among them."""

from __future__ import annotations

import random
from dataclasses import dataclass
from string import ascii_uppercase

from dojo_puzzle.lines import CutFunction, MovableLine, cut
from grader.course.catalog import Course, CourseError, KataInfo
from grader.course.files import read
from grader.course.mistake_edits import read_edits
from grader.errors import KataError
from grader.texts.wrapping import words

WRONG_LINES = 2
LEAST_LINES, MOST_LINES = 4, 14  # that are moved, the wrong ones with them
MOST_MORE = 8  # characters that a wrong line has more than the right one, if possible


class NoPuzzle(CourseError):
    """A kata has no puzzle now. The message says why, with the command that helps in a terminal; `reason` is
    the sentence without a command, for a page."""

    def __init__(self, reason: str, command: str = "") -> None:
        super().__init__(f"{reason}:  {command}" if command else f"{reason}.")
        self.reason = f"{reason}."


@dataclass(frozen=True)
class WrongLine:
    """A known mistake that changes one line of the reference: its name, the number of that line from 0, and
    what the line becomes. One that is much longer than the right line would show which it is."""

    mistake: str
    number: int
    line: MovableLine
    is_longer: bool


@dataclass(frozen=True)
class Puzzle:
    """The movable lines of a kata by letter, as they are shown; the letters of the right ones in the
    reference's order; the letter of the right line for that of each wrong one; and the mistakes whose lines
    these are, by which the same puzzle is made again."""

    kata: str
    function: CutFunction
    lines: dict[str, MovableLine]
    right: tuple[str, ...]
    wrong: dict[str, str]
    mistakes: tuple[str, ...]

    @property
    def span(self) -> str:
        """The first and the last letter, such as `A to G`."""
        return f"A to {[*self.lines][-1]}"

    @property
    def head(self) -> list[str]:
        """The rows above the function's body, without a second blank one in a row."""
        rows = self.function.head.strip("\n").split("\n")
        return [row for at, row in enumerate(rows) if row or rows[at - 1]]

    def number(self, letter: str) -> int:
        """Return the number of a line in the reference, from 0; a wrong line has that of its right one."""
        return self.right.index(self.wrong.get(letter, letter))

    def source(self, order: list[str]) -> str:
        """Return the file in which these lines are the body of the function."""
        return self.function.assembled([self.lines[letter].text for letter in order])


def make(course: Course, info: KataInfo, made: list[str] | None = None) -> Puzzle:
    """Return the puzzle of a kata. Its wrong lines are first those of the mistakes in `made`, the last of
    them first. Raises NoPuzzle."""
    if reason := _reason_of_kind(info):
        raise NoPuzzle(f"{info.name} has no puzzle: {reason}")
    source = read(course.solution(info, "reference"))
    try:
        function = cut(source, info.entry_points[0])
    except LookupError:
        raise NoPuzzle(f"{info.name} has no puzzle: its solution is not one function") from None
    wrong = chosen(wrong_lines(course, info, source, function), info.name, made or [])
    if reason := _reason_of_lines(function, wrong):
        raise NoPuzzle(f"{info.name} has no puzzle: {reason}")
    return _shuffled(info.name, function, wrong)


def _reason_of_kind(info: KataInfo) -> str:
    """Return why a kata of this kind has no puzzle; "" if it may have one."""
    if not info.kind.is_code:
        return "it asks questions"
    if info.ships_wrong_code:
        return "its code is repaired, not written"
    if len(info.entry_points) > 1:
        return "it asks for more than one function"
    return "" if info.hints else "it has no hints"


def _reason_of_lines(function: CutFunction, wrong: list[WrongLine]) -> str:
    if len(function.lines) > MOST_LINES - WRONG_LINES:
        return f"its function has more than {MOST_LINES - WRONG_LINES} lines"
    if len(wrong) < WRONG_LINES:
        return "fewer than two of its known mistakes change one line"
    return "" if len(function.lines) >= LEAST_LINES - WRONG_LINES else "its function has one line"


def wrong_lines(course: Course, info: KataInfo, source: str, function: CutFunction) -> list[WrongLine]:
    """Return the known mistakes that change one line of the function and nothing else."""
    found: dict[str, WrongLine] = {}
    right = {line.text for line in function.lines}
    for mistake in read_edits(course.edits(info)):
        try:
            other = cut(mistake.applied(source), info.entry_points[0])
        except (KataError, LookupError):
            continue
        if (other.head, other.tail) != (function.head, function.tail):
            continue
        if [line.blocks for line in other.lines] != [line.blocks for line in function.lines]:
            continue
        pairs = enumerate(zip(function.lines, other.lines, strict=True))
        changed = [
            WrongLine(mistake.name, at, now, is_longer=len(now.text) > len(was.text) + MOST_MORE)
            for at, (was, now) in pairs
            if was.text != now.text
        ]
        if len(changed) == 1 and changed[0].line.text not in right:
            found.setdefault(changed[0].line.text, changed[0])
    return list(found.values())


def chosen(found: list[WrongLine], seed: str, made: list[str]) -> list[WrongLine]:
    """Return two wrong lines, if there are so many: of mistakes that were made, if possible, and in place of
    different lines."""
    ranked = [*found]
    random.Random(seed).shuffle(ranked)
    ranked.sort(key=lambda one: (-made.index(one.mistake) if one.mistake in made else 1, one.is_longer))
    others = sorted(ranked[1:], key=lambda one: one.number == ranked[0].number)
    return [*ranked[:1], *others[: WRONG_LINES - 1]]


def _shuffled(name: str, function: CutFunction, wrong: list[WrongLine]) -> Puzzle:
    """Return the lines in an order that hangs on the kata's name, and is not the reference's."""
    order = random.Random(name)
    right = range(len(function.lines))
    lines = [*function.lines, *(one.line for one in wrong)]
    numbers = [*range(len(lines))]
    while [number for number in numbers if number in right] == [*right]:
        order.shuffle(numbers)
    letters = dict(zip(numbers, ascii_uppercase, strict=False))
    return Puzzle(
        name,
        function,
        {letter: lines[number] for number, letter in letters.items()},
        tuple(letters[number] for number in right),
        {letters[len(right) + at]: letters[one.number] for at, one in enumerate(wrong)},
        tuple(one.mistake for one in reversed(wrong)),
    )


def opening(puzzle: Puzzle) -> str:
    """Return what is to be done with the lines."""
    return (
        f"{puzzle.kata}: put its lines in order. {len(puzzle.right)} of the {len(puzzle.lines)} lines are"
        f" right; {WRONG_LINES} are wrong and stay out. They keep their indentation."
    )


def listing(puzzle: Puzzle, width: int) -> list[str]:
    """Return what stands before the function's body, and the lines with their letters."""
    found = [part for row in puzzle.head for part in _row(" ", row, width)]
    for letter, line in puzzle.lines.items():
        for at, row in enumerate(line.text.split("\n")):
            found += _row(" " if at else letter, row, width)
    return found


def _row(letter: str, row: str, width: int) -> list[str]:
    indent = " " * (len(row) - len(row.lstrip()) + 8)
    lead = f"  {letter} │ "
    return words(row, width, lead, f"    │ {indent}") or [lead.rstrip()]
