"""Carry out what runs a student's code: judge a text, try lines, break and mend an answer, write a text, show
what the functions give. Each question has an iterator of answers; how both travel is not known here.
"""

from __future__ import annotations

import ast
import time
import traceback
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass, replace
from datetime import date
from typing import Any, ClassVar

from dojo_page.protocol import LONGEST_LINES, Arranged, Dropped, Progress, Said, Shown, Written
from dojo_puzzle.judging import judge as judge_order
from dojo_puzzle.judging import order_of
from dojo_puzzle.offer import puzzle_of
from dojo_review.review import Review, begin, wrong_with
from dojo_show.answers import open_answers
from dojo_show.demonstration import open_demonstration, read_recording, render_page, speech_of
from dojo_show.speech import Silent, Speaker, Speech, Token, Wish, Writer, measured, section_of
from grader.course.catalog import Course, KataInfo
from grader.course.files import text_of
from grader.course.known_solutions import one_way, other_way
from grader.course.submission import Submission
from grader.diagnosis.search_options import SearchOptions
from grader.errors import CourseError, KataError
from grader.expect import SubmissionFailed
from grader.grading.grader import Grader
from grader.grading.pictures import picture_of
from grader.grading.session import (
    COMPLAINTS,
    DEFAULTS,
    GraderSettings,
    Session,
    lacks_library,
    started,
    version_of,
)
from grader.report import Isolation, KataReport, Picture, Report
from grader.texts.escaping import harmless
from grader.texts.points import points
from grader.values.formatting import show
from grader.worker.client import CALL_SECONDS, Budget, Outdated, WorkerLost

# --- questions ---


@dataclass(frozen=True)
class Grade:
    """Grade the file of a kata, or a text in its place."""

    kata: str
    text: str | None = None


@dataclass(frozen=True)
class Try:
    """Run some lines after the code of a kata's file, or after a text in its place."""

    kata: str
    lines: str
    text: str | None = None


@dataclass(frozen=True)
class Arrange:
    """Run some lines of a kata's puzzle, by their letters in the order from the top."""

    kata: str
    order: str


@dataclass(frozen=True)
class Break:
    """Change a line of an answer that passes, for a review."""

    kata: str


@dataclass(frozen=True)
class Mend:
    """Judge a text that is in no file."""

    kata: str
    source: str


@dataclass(frozen=True)
class Speak:
    """Write a text; with `mine`, also with functions that do not pass."""

    wish: Wish
    mine: bool = False


@dataclass(frozen=True)
class See:
    """Show what the functions give, also those that do not pass."""


@dataclass(frozen=True)
class Stop:
    """End what is being done; what comes of it, if anything, is the answer to that."""


Question = Grade | Try | Arrange | Break | Mend | Speak | See | Stop

# --- answers ---


EMPTY = Report(())


@dataclass(frozen=True)
class Verdict:
    """The report of a kata, its score before if that was another one, another way to write it if it passes,
    and what the whole report says of the grading. The last verdict has been searched."""

    report: KataReport
    was: str
    seconds: float
    way: str = ""
    grading: Report = EMPTY
    is_last: bool = False


@dataclass(frozen=True)
class Tried:
    """What the lines printed, their last value as a picture or text, and why they failed."""

    printed: str
    value: str = ""
    pictures: tuple[Picture, ...] = ()
    problem: str = ""
    is_last: ClassVar[bool] = True


@dataclass(frozen=True)
class Broken:
    """A review, with the changed line."""

    review: Review
    is_last: ClassVar[bool] = True


@dataclass(frozen=True)
class Mended:
    """What is wrong with a text; nothing if it passes."""

    told: str
    is_last: ClassVar[bool] = True


#: The others are those of the protocol, which the front end gets as they are.
Answer = Verdict | Tried | Arranged | Broken | Mended | Said | Progress | Written | Shown | Dropped

LAST = "value_of_the_last_line"


def try_lines(
    grader: Grader, course: Course, asked: Try, is_outdated: Callable[[], bool] = lambda: False
) -> Tried:
    """Return what the lines print, and the value of the last one if it is an expression. Raises Outdated once
    `is_outdated` returns True."""
    info = course.kata_info(asked.kata)
    text = text_of(course.stub(info)) if asked.text is None else asked.text
    submission = Submission(info, text, f"{info.name}.py")
    if lacks_library(submission):
        return Tried("", problem="PyTorch is not installed.")
    try:
        lines, names = _with_function(asked.lines[:LONGEST_LINES], info.name)
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        where = f"Line {error.lineno}: " if isinstance(error, SyntaxError) and error.lineno else ""
        return Tried("", problem=f"{where}{getattr(error, 'msg', error)}.")
    source = f"{submission.source.rstrip()}\n\n\n"
    above = source.count("\n")
    value, problem, printed = None, "", ""
    try:
        with started(grader, submission, Budget(is_outdated=is_outdated)) as student:
            try:
                loading = {"source": source + lines, "entry_points": names, "forbidden": []}
                student.load(info.name, CALL_SECONDS, f"{info.name}.py", **loading)
                value = student.call(LAST, None, [], {}) if names else None
            except SubmissionFailed as failed:
                problem = _told(failed, above)
            except WorkerLost as lost:
                problem = str(lost)
        printed = student.printed
    except WorkerLost as lost:  # before anything ran in it
        problem = str(lost)
    return Tried(harmless(printed), _text(value), picture_of(value), harmless(problem))


def _with_function(lines: str, module: str) -> tuple[str, list[str]]:
    """Return the lines, which keep their numbers, without imports of the file itself, and with the last
    expression as the body of a function; the names of such functions."""
    body, text = ast.parse(lines).body, lines.splitlines()
    for node in body:
        if isinstance(node, ast.ImportFrom) and node.module == module:
            text[node.lineno - 1 : node.end_lineno] = [""] * (
                (node.end_lineno or node.lineno) - node.lineno + 1
            )
    last = body[-1] if body else None
    if not isinstance(last, ast.Expr) or last.col_offset or _prints(last.value):
        return "\n".join(text), []
    text[last.lineno - 1] = f"def {LAST}(): return ({text[last.lineno - 1]}"
    return "\n".join([*text[: last.end_lineno], ")"]), [LAST]


def _prints(node: ast.expr) -> bool:
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "print"


def _told(failed: SubmissionFailed, above: int) -> str:
    """Return the error, with its line counted from the first of the student's lines if it is one of them."""
    where = f"line {failed.line}" if failed.line else ""
    if failed.line and failed.line > above:
        where = f"line {failed.line - above} of these lines"
    text = f"{failed.kinds[0]}: {failed.message}"
    return f"{text} ({where})" if where else text


def _text(value: Any) -> str:
    return "" if value is None else harmless(show(value))


OUR_FAULT = "This is our fault, not yours; your file is unchanged. ({})"


def _without_errors(answers: Iterator[Answer]) -> Iterator[Answer]:
    """Yield these answers, and one for the error that ends them."""
    try:
        yield from answers
    except Outdated:
        yield Dropped()
    except (*COMPLAINTS, CourseError, KataError, Silent) as error:
        yield Dropped(str(error))
    except Exception as error:
        traceback.print_exc()
        yield Dropped(OUR_FAULT.format(f"{type(error).__name__}: {error}"))


class Judge:
    """Answers one question after another. `is_outdated` says whether what is being done is to end, and
    `has_question` whether another question waits, which ends a search."""

    def __init__(
        self,
        session: Session,
        search: float,
        is_outdated: Callable[[], bool] = lambda: False,
        has_question: Callable[[], bool] = lambda: False,
    ) -> None:
        self.session, self.course, self.search = session, session.course, search
        self._is_outdated, self._has_question = is_outdated, has_question

    def answers(self, question: Question) -> Iterator[Answer]:
        """Yield the answers to a question; a complaint is one as well."""
        return _without_errors(self._answers_to(question))

    def _answers_to(self, question: Question) -> Iterator[Answer]:
        match question:
            case Grade():
                yield from self._grade(question)
            case Try():
                yield try_lines(self.session.grader, self.course, question, self._is_outdated)
            case Arrange():
                yield self._arranged(question)
            case Break():
                info = self.course.kata_info(question.kata)
                begun = begin(self.course, self.session.grader, info, date.today(), self._is_outdated)
                yield Broken(begun[1])
            case Mend():
                info = self.course.kata_info(question.kata)
                yield Mended(wrong_with(self.session.grader, info, question.source))

    def _arranged(self, question: Arrange) -> Arranged:
        """Return what running an order has shown. Raises CourseError if it is none, or there is no puzzle."""
        info = self.course.kata_info(question.kata)
        puzzle = puzzle_of(self.course, info)
        order = order_of(puzzle, question.order)
        judged = judge_order(puzzle, info, self.session.grader, order, self._is_outdated)
        return Arranged(judged.passes, judged.right, judged.told)

    def _grade(self, question: Grade) -> Iterator[Verdict]:
        """Yield the verdict, and the same with the place of the mistake once it has been searched."""
        if self._is_outdated():
            raise Outdated
        info, began = self.course.kata_info(question.kata), time.monotonic()
        before = self.session.state.kata(info.name)
        graded = self.session.grade(info, self.course.stub(info), self._is_outdated, question.text)
        is_other = bool(before.checks) and before.score != graded.report.score
        was = f"{points(before.score)} / {points(info.max_score)}" if is_other else ""
        way = self._other_way(info, question.text) if graded.report.status == "passed" else ""
        grader, isolation = self.session.grader, graded.isolation or Isolation(process=False)
        grading = Report((), grader.device, isolation, grader.provenance)
        first = Verdict(graded.report, was, time.monotonic() - began, way, grading)
        if graded.unexplained is not None and self.search > 0:
            yield first
            located = graded.locate(SearchOptions(self.search, is_outdated=self._has_question))
            first = replace(first, report=located.report)
        yield replace(first, is_last=True)

    def _other_way(self, info: KataInfo, text: str | None) -> str:
        keyring = self.session.grader.keyring
        own = text_of(self.course.stub(info)) if text is None else text
        return one_way(keyring.kata(info).way) if keyring else other_way(self.course, info, own)


INSIDE = "Inside the text"
ONE_AT_A_TIME = "Until then one part of the recorded text can be left out at a time; the rest waits."
#: By whether another way is measured.
MEASURING = {False: "Measuring the loss …", True: "Measuring how fast it is …"}
HOW = "Press a token to see what it was chosen from, and what each head looked at."


class Show:
    """Lets the student's functions write texts, and shows what they give. A file that was saved since is
    loaded anew. `settings` say how a grader may work."""

    def __init__(self, course: Course, settings: GraderSettings = DEFAULTS) -> None:
        self.course, self.settings = course, settings
        self.demonstration = open_demonstration(course)
        self._open: tuple[object, Speaker | None] = (None, None)
        self._stack = ExitStack()

    def __enter__(self) -> Show:
        return self

    def __exit__(self, *error: object) -> None:
        self._stack.close()

    def answers(self, question: Speak | See) -> Iterator[Answer]:
        """Yield the answers to a question; a complaint is one as well."""
        return _without_errors(self._speak(question) if isinstance(question, Speak) else self._see())

    def _see(self) -> Iterator[Answer]:
        yield Progress("Running your functions …")
        katas = self.demonstration.katas
        with open_answers(self.course, katas, mine=True, remembers=True, settings=self.settings) as answers:
            sections = self.demonstration.show(answers, read_recording(self.demonstration), None)
        yield Shown(render_page(self.demonstration, sections))

    def _speak(self, question: Speak) -> Iterator[Answer]:
        speech = speech_of(self.demonstration, self.course)
        yield Progress("Loading your functions …")
        speaker, wish = self._speaker(speech, mine=question.mine), question.wish
        recording = read_recording(self.demonstration).get("speech", {})
        if missing := speaker.missing():
            whole, parts = recording.get("text", ""), recording.get("without", {})
            left_out = wish.without[0] if len(wish.without) == 1 else ""
            yield Said(parts.get(left_out, whole))
            remarks = [speech.to_go(missing), ONE_AT_A_TIME, *speech.left_out(wish)[: bool(left_out)]]
            beside = whole if left_out in parts else ""
            yield Written(tuple(remarks), is_recorded=True, beside=beside)
            return
        writer, tokens = speaker.writer(wish), list[Token]()
        remarks = speech.left_out(wish)
        try:
            for token in writer.write(wish):
                tokens.append(token)
                yield Said(token.text)
            yield Progress(MEASURING[bool(wish.way)])
            remarks += measured(writer, wish, tokens, recording.get("loss"))
        except Silent as reason:
            remarks.append(str(reason))
        yield Progress("Looking inside …")
        beside = recording.get("text", "") if wish.without and wish.prompt == speech.prompt else ""
        yield Written(tuple(remarks), self._inside(writer, wish, tokens), beside=beside)

    def _inside(self, writer: Writer, wish: Wish, tokens: list[Token]) -> str:
        """Return a page that shows what each token was chosen from, and what the heads looked at."""
        try:
            weights = writer.weights([token.id for token in tokens], wish)
        except Silent:
            weights = None
        return render_page(self.demonstration, [section_of(INSIDE, [HOW], tokens, weights)])

    def _speaker(self, speech: Speech, *, mine: bool) -> Speaker:
        """Return the student's functions as their files are now."""
        files = [self.course.stub(self.course.kata_info(kata)) for kata in speech.katas]
        state = mine, [version_of(file) for file in files]
        known, speaker = self._open
        if speaker is None or known != state:
            self._stack.close()
            new = Speaker(self.course, speech, mine=mine, remembers=True, settings=self.settings)
            speaker = self._stack.enter_context(new)
            self._open = state, speaker
        return speaker
