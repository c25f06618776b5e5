"""Judge an order of lines by running it: does it pass, and up to which line is it right?

The lines are the course's own, so the text may be parsed here. It runs as every submission does, in a worker.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from dojo_puzzle.lines import names_in
from dojo_puzzle.puzzle import Puzzle
from grader.course.catalog import CourseError, KataInfo
from grader.course.submission import SubmissionRejected, parse
from grader.formats import account
from grader.grading.grader import Grader
from grader.grading.submission_run import judge_submission
from grader.report import KataReport
from grader.texts.escaping import harmless

LINE = re.compile(r"\bline (\d+)\b")  # as reports name one
SEPARATORS = " \t,;.-"  # that may stand between letters
LONGEST_SHOWN = 8  # characters of a wrong letter


class BadOrder(CourseError):
    """An answer is no order of lines; the message says why."""


@dataclass(frozen=True)
class JudgedOrder:
    """What running an order has shown: whether it passes, how many of its lines from the top an order that
    passes begins with, and what is wrong, as sentences."""

    passes: bool
    right: int = 0
    told: str = ""


@dataclass(frozen=True)
class Fault:
    """Why an order cannot run: the place of a line in it, from 0, and a sentence."""

    at: int
    text: str


def order_of(puzzle: Puzzle, answer: str) -> list[str]:
    """Return the letters of an answer such as `C A B`, `cab` or `C, A, B`. Raises BadOrder."""
    letters = [character for character in answer.upper() if character not in SEPARATORS]
    for at, letter in enumerate(letters):
        if letter not in puzzle.lines:
            shown = harmless(letter, one_line=True)[:LONGEST_SHOWN]
            raise BadOrder(f"There is no line {shown}: they are {puzzle.span}.")
        if letter in letters[:at]:
            raise BadOrder(f"{letter} is there twice: each line is used once.")
    if len(letters) > len(puzzle.right):
        raise BadOrder(f"These are {len(letters)} lines, and {len(puzzle.right)} are right: leave some out.")
    if not letters:
        raise BadOrder(f"There is no line in it: they are {puzzle.span}.")
    return letters


def judge(
    puzzle: Puzzle,
    info: KataInfo,
    grader: Grader,
    order: list[str],
    is_outdated: Callable[[], bool] = lambda: False,
) -> JudgedOrder:
    """Run an order of letters, and orders that begin as it does. Raises Outdated once `is_outdated` returns
    True."""
    fault, report = misplaced(puzzle, order), None
    if fault is None:
        report = _report(info, grader, puzzle.source(order), is_outdated)
        if report.status == "passed":
            return JudgedOrder(passes=True, right=len(order))
    fault = fault or unset(puzzle, order)
    trial = _Trial(puzzle, info, grader, is_outdated)
    right = trial.right_lines(order)
    lead = _right_words(order[:right])
    if right == len(order):
        missing = len(puzzle.right) - right
        more = "One line is missing" if missing == 1 else f"{missing} lines are missing"
        return JudgedOrder(passes=False, right=right, told=f"{lead} {more}.")
    if fault and fault.at == right:
        why = fault.text
    elif trial.is_wrong(order, right):
        why = f"{order[right]} is one of the two wrong lines."
    else:
        why = fault.text if fault else _headline(puzzle, order, report)
    return JudgedOrder(passes=False, right=right, told=f"{lead} {why}".strip())


def _right_words(letters: list[str]) -> str:
    if not letters:
        return ""
    if len(letters) == 1:
        return f"The first line, {letters[0]}, is right."
    return f"The first {len(letters)} lines, {' '.join(letters)}, are right."


def _report(info: KataInfo, grader: Grader, source: str, is_outdated: Callable[[], bool]) -> KataReport:
    try:
        return grader.grade(parse(info, source, f"{info.name}.py"), is_outdated).report
    except SubmissionRejected as refused:
        return info.unjudged("error", str(refused))


def _headline(puzzle: Puzzle, order: list[str], report: KataReport | None) -> str:
    """Return what a report says first of a failure; a line is called by its letter."""
    if report is None:
        return ""
    words = account.told(report).words if account.wrong(report) else account.summary_of(report)

    def lettered(found: re.Match[str]) -> str:
        letter = letter_at(puzzle, order, int(found[1]))
        return f"line {letter}" if letter else found[0]

    return harmless(LINE.sub(lettered, words))


def letter_at(puzzle: Puzzle, order: list[str], row: int) -> str:
    """Return the letter of the movable line in which a row of the assembled file lies. Rows count from 1; ""
    if the row lies before the first line or behind the last one."""
    left = row - len(puzzle.function.head.splitlines())
    for letter in order if left > 0 else ():
        left -= len(puzzle.lines[letter].text.splitlines())
        if left <= 0:
            return letter
    return ""


def misplaced(puzzle: Puzzle, order: list[str]) -> Fault | None:
    """Return the first line that Python does not allow where it is; None if there is none."""
    levels = [puzzle.lines[puzzle.right[0]].indent]  # of the open blocks, from the outside
    opener = ""
    for at, letter in enumerate(order):
        line = puzzle.lines[letter]
        if opener and line.indent <= levels[-1]:
            return Fault(at, f"{letter} stands where {opener} needs an indented line.")
        if opener:
            levels.append(line.indent)
        while line.indent < levels[-1]:
            levels.pop()
        if line.indent != levels[-1]:
            return Fault(at, f"{letter} is indented, and no line above it opens a block for it.")
        opener = letter if line.opens else ""
    if opener:
        return Fault(len(order), f"{opener} needs an indented line below it.")
    return _refused(puzzle, order)


def _refused(puzzle: Puzzle, order: list[str]) -> Fault | None:
    """Return the line that does not compile, such as an `else` without its `if`."""
    try:
        compile(puzzle.source(order), f"{puzzle.kata}.py", "exec", dont_inherit=True)
    except SyntaxError as error:
        letter = letter_at(puzzle, order, error.lineno or 0) or order[-1]
        return Fault(order.index(letter), f"{letter} cannot stand there: {error.msg}.")
    return None


def unset(puzzle: Puzzle, order: list[str]) -> Fault | None:
    """Return the first line that reads a name before any line sets it, unless it does so in the reference;
    None if there is none."""
    usual = {(puzzle.number(letter), name) for letter, name in _unset(puzzle, [*puzzle.right])}
    for letter, name in _unset(puzzle, order):
        if (puzzle.number(letter), name) not in usual:
            return Fault(order.index(letter), f"{letter} uses `{name}` before any line sets it.")
    return None


def _unset(puzzle: Puzzle, order: list[str]) -> Iterator[tuple[str, str]]:
    """Yield the lines that read a name of the function before any line above sets it, with the name."""
    names = {letter: names_in(line) for letter, line in puzzle.lines.items()}
    local = frozenset().union(*(names[letter].set for letter in puzzle.lines))
    found = set(parameters(puzzle))
    for letter in order:
        for name in sorted((names[letter].read & local) - found):
            yield letter, name
        found |= names[letter].set


def parameters(puzzle: Puzzle) -> list[str]:
    """Return the names of the function's parameters."""
    tree = ast.parse(f"{puzzle.function.head}    pass\n")
    function = next(node for node in tree.body if isinstance(node, ast.FunctionDef))
    return [node.arg for node in ast.walk(function.args) if isinstance(node, ast.arg)]


class _Trial:
    """Runs orders without naming what is wrong with them; each one once."""

    def __init__(
        self, puzzle: Puzzle, info: KataInfo, grader: Grader, is_outdated: Callable[[], bool]
    ) -> None:
        self.puzzle, self.info, self.grader, self.is_outdated = puzzle, info, grader, is_outdated
        self._known: dict[str, bool] = {}

    def right_lines(self, order: list[str]) -> int:
        """Return the number of lines from the top with which an order begins that passes. The search halves
        what is left, since whatever begins a right order is a right beginning."""
        low, high = 0, len(order)
        while low < high:
            middle = (low + high + 1) // 2
            if self._begins_right(order[:middle]):
                low = middle
            else:
                high = middle - 1
        return low

    def is_wrong(self, order: list[str], at: int) -> bool:
        """Return whether the line at this place is a wrong one, and its right one there begins an order that
        passes."""
        right = self.puzzle.wrong.get(order[at])
        return right is not None and right not in order[:at] and self._begins_right([*order[:at], right])

    def _begins_right(self, beginning: list[str]) -> bool:
        return any(self._passes(order) for order in completed(self.puzzle, beginning))

    def _passes(self, order: list[str]) -> bool:
        source = self.puzzle.source(order)
        if source not in self._known:
            blocked = misplaced(self.puzzle, order) or unset(self.puzzle, order)
            self._known[source] = not blocked and self._runs(source)
        return self._known[source]

    def _runs(self, source: str) -> bool:
        try:
            submission = parse(self.info, source, f"{self.info.name}.py")
            prepared = self.grader.prepare(self.info)
            judged = judge_submission(
                self.grader.factories, self.grader.device, prepared, submission, self.is_outdated
            )
        except SubmissionRejected:
            return False
        return not judged.fails and not judged.parts


def completed(puzzle: Puzzle, beginning: list[str]) -> Iterator[list[str]]:
    """Yield the orders that begin so and go on with the other lines of the reference: in its order, and with
    the lines of the blocks that are still open first."""
    there = {puzzle.number(letter) for letter in beginning}
    rest = [number for number in range(len(puzzle.right)) if number not in there]
    yield [*beginning, *(puzzle.right[number] for number in rest)]
    if beginning:
        line, number = puzzle.lines[beginning[-1]], puzzle.number(beginning[-1])
        is_open = (*line.blocks, number) if line.opens else line.blocks
        rest.sort(key=lambda one: -_shared(puzzle.lines[puzzle.right[one]].blocks, is_open))
        yield [*beginning, *(puzzle.right[number] for number in rest)]


def _shared(blocks: tuple[int, ...], others: tuple[int, ...]) -> int:
    """Return how many blocks around two lines are the same."""
    return sum(one == other for one, other in zip(blocks, others, strict=False))
