"""Judge what the page asks: a process of its own, which holds the session and the keys.

It reads questions from standard input and writes answers to what was standard output; it ends with its input.
A new question ends a search at once, and a new grading ends the grading before.

Run a student's own lines after the code of a file, in a worker, and draw their last value.

Let a student's functions write for the page: a process of its own, which holds their workers.

It reads wishes from standard input and writes tokens to what was standard output. A new wish ends the text
before. A file that was saved since is loaded anew.
"""

from __future__ import annotations

import ast
import gc
import os
import sys
import time
import traceback
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from datetime import date
from pathlib import Path
from typing import Any

import msgspec

from dojo_page.messages import (
    SPEAKS,
    Answer,
    Break,
    Broken,
    Dropped,
    Grade,
    Inbox,
    JudgeTerms,
    Mend,
    Mended,
    Question,
    Said,
    Speak,
    Stop,
    Tried,
    Try,
    Verdict,
    Written,
    send,
)
from dojo_review.review import begin, wrong_with
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
    GraderSettings,
    Session,
    lacks_library,
    open_session,
    started,
    version_of,
)
from grader.texts.escaping import harmless
from grader.texts.points import points
from grader.values.formatting import show
from grader.worker.client import CALL_SECONDS, Budget, Outdated, WorkerLost
from grader.worker.protocol.channel import ChannelClosed
from grader.worker.protocol.system_calls import die_with_parent

LAST = "value_of_the_last_line"
LONGEST_LINES = 1 << 16  # characters of the lines


def try_lines(
    grader: Grader, course: Course, asked: Try, is_outdated: Callable[[], bool] = lambda: False
) -> Tried:
    """Return what the lines print, and the value of the last one if it is an expression. Raises Outdated once
    `is_outdated` returns True."""
    info = course.kata_info(asked.kata)
    text = text_of(course.stub(info)) if asked.text is None else asked.text
    submission = Submission(info, text, f"{info.name}.py")
    if lacks_library(submission):
        return Tried(asked.number, "", problem="PyTorch is not installed.")
    try:
        lines, names = _with_function(asked.lines[:LONGEST_LINES], info.name)
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        where = f"Line {error.lineno}: " if isinstance(error, SyntaxError) and error.lineno else ""
        return Tried(asked.number, "", problem=f"{where}{getattr(error, 'msg', error)}.")
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
    return Tried(asked.number, harmless(printed), _text(value), picture_of(value), harmless(problem))


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


class JudgeLoop:
    """Answers questions one after another, the last one that came first."""

    def __init__(self, session: Session, inbox: Inbox, terms: JudgeTerms, answers: int) -> None:
        self.session, self.inbox, self.terms, self._answers = session, inbox, terms, answers
        self.course = session.course
        self._waiting: deque[Question] = deque()

    def run(self) -> None:
        """Answer until the page is gone."""
        while True:
            while not self._waiting or self.inbox.has_news:
                self._waiting += self.inbox.read()
            self._answer(self._waiting.popleft())

    def _is_outdated(self) -> bool:
        """Return whether another grading is asked for, or an end of what is being done."""
        while self.inbox.has_news:
            self._waiting += self.inbox.read()
        return any(isinstance(question, Grade | Stop) for question in self._waiting)

    def _answer(self, question: Question) -> None:
        try:
            for answer in self._answers_to(question):
                send(self._answers, answer)
        except Outdated:
            send(self._answers, Dropped(question.number))
        except (*COMPLAINTS, CourseError, KataError) as error:
            send(self._answers, Dropped(question.number, str(error)))
        except Exception as error:
            traceback.print_exc()
            fault = f"This is our fault, not yours; your file is unchanged. ({type(error).__name__}: {error})"
            send(self._answers, Dropped(question.number, fault))

    def _answers_to(self, question: Question) -> Iterator[Answer]:
        match question:
            case Grade():
                yield from self._grade(question)
            case Try():
                yield try_lines(self.session.grader, self.course, question, self._is_outdated)
            case Break():
                info = self.course.kata_info(question.kata)
                begun = begin(self.course, self.session.grader, info, date.today(), self._is_outdated)
                yield Broken(question.number, begun[1])
            case Mend():
                info = self.course.kata_info(question.kata)
                yield Mended(question.number, wrong_with(self.session.grader, info, question.source))

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
        first = Verdict(question.number, graded.report, was, time.monotonic() - began, way)
        if graded.unexplained is not None and self.terms.search > 0:
            yield first
            located = graded.locate(SearchOptions(self.terms.search, is_outdated=self._has_question))
            first = msgspec.structs.replace(first, report=located.report)
        yield msgspec.structs.replace(first, is_last=True)

    def _other_way(self, info: KataInfo, text: str | None) -> str:
        keyring = self.session.grader.keyring
        own = text_of(self.course.stub(info)) if text is None else text
        return one_way(keyring.kata(info).way) if keyring else other_way(self.course, info, own)

    def _has_question(self) -> bool:
        return self._is_outdated() or bool(self._waiting)


def judge(terms: JudgeTerms, answers: int) -> None:
    """Open the session, and answer until the page is gone."""
    course = Course(Path(terms.root), Path(terms.exercises), terms.plan)
    chosen: list[KataInfo] = [info for info in course.katas.values() if info.library == terms.library]
    paths = [(info, course.stub(info)) for info in chosen]
    with open_session(course, paths, settings=settings_of(terms)) as session:
        gc.freeze()
        JudgeLoop(session, Inbox(0), terms, answers).run()


def settings_of(terms: JudgeTerms) -> GraderSettings:
    """Return how the terms let a grader work."""
    key, secret = (path and Path(path) for path in (terms.key, terms.secret))
    return GraderSettings(terms.device, terms.isolation, key or None, secret or None)


INSIDE = "Inside the text"
ONE_AT_A_TIME = "Until then one part of the recorded text can be left out at a time; the rest waits."
HOW = "Press a token to see what it was chosen from, and what each head looked at."


class Desk:
    """Answers wishes one after another, the last one that came first."""

    def __init__(self, course: Course, terms: JudgeTerms, inbox: Inbox, answers: int) -> None:
        self.course, self.terms, self.inbox, self._answers = course, terms, inbox, answers
        self.demonstration = open_demonstration(course)
        self._open: tuple[object, Speaker | None] = (None, None)
        self._stack = ExitStack()

    def run(self) -> None:
        """Answer until the page is gone."""
        with self._stack:
            while True:
                for question in (found := self.inbox.read())[:-1]:
                    send(self._answers, Dropped(question.number))
                if found:
                    self._answer(found[-1])

    def _answer(self, question: Question) -> None:
        assert isinstance(question, Speak)
        try:
            for answer in self._answers_to(question):
                send(self._answers, answer)
                if self.inbox.has_news and not answer.is_last:
                    send(self._answers, Dropped(question.number))
                    return
        except (*COMPLAINTS, CourseError, KataError, Silent) as error:
            send(self._answers, Dropped(question.number, str(error)))

    def _answers_to(self, question: Speak) -> Iterator[Answer]:
        speech = speech_of(self.demonstration, self.course)
        speaker, wish = self._speaker(speech, mine=question.mine), question.wish
        recording = read_recording(self.demonstration).get("speech", {})
        if missing := speaker.missing():
            whole, parts = recording.get("text", ""), recording.get("without", {})
            left_out = wish.without[0] if len(wish.without) == 1 else ""
            yield Said(question.number, parts.get(left_out, whole))
            remarks = [speech.to_go(missing), ONE_AT_A_TIME, *speech.left_out(wish)[: bool(left_out)]]
            beside = whole if left_out in parts else ""
            yield Written(question.number, tuple(remarks), is_recorded=True, beside=beside)
            return
        writer, tokens = speaker.writer(wish), list[Token]()
        remarks = speech.left_out(wish)
        try:
            for token in writer.write(wish):
                tokens.append(token)
                yield Said(question.number, token.text)
            remarks += measured(writer, wish, tokens, recording.get("loss"))
        except Silent as reason:
            remarks.append(str(reason))
        beside = recording.get("text", "") if wish.without and wish.prompt == speech.prompt else ""
        yield Written(question.number, tuple(remarks), self._inside(writer, wish, tokens), beside=beside)

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
            settings = settings_of(self.terms)
            new = Speaker(self.course, speech, mine=mine, remembers=True, settings=settings)
            speaker = self._stack.enter_context(new)
            self._open = state, speaker
        return speaker


def write(terms: JudgeTerms, answers: int) -> None:
    """Answer wishes until the page is gone."""
    Desk(Course(Path(terms.root), Path(terms.exercises)), terms, Inbox(0), answers).run()


def main() -> None:
    """Judge the katas of one library, or write texts, until standard input ends; the arguments are the terms
    and, for texts, `speak`. What prevents the work is its only answer."""
    terms, work = (
        msgspec.json.decode(sys.argv[1], type=JudgeTerms),
        write if sys.argv[2:] == [SPEAKS] else judge,
    )
    die_with_parent()
    answers = os.dup(1)
    os.dup2(2, 1)  # so that nothing else is printed between two answers
    try:
        work(terms, answers)
    except (ChannelClosed, BrokenPipeError):
        pass
    except (*COMPLAINTS, CourseError, KataError) as error:
        send(answers, Dropped(0, str(error)))


if __name__ == "__main__":
    main()
