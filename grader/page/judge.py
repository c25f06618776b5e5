"""Judge what the page asks: a process of its own, which holds the session and the keys.

It reads questions from standard input and writes answers to what was standard output; it ends with its input.
A new question ends a search at once, and a new grading ends the grading before.
"""

from __future__ import annotations

import gc
import os
import signal
import sys
import time
import traceback
from collections import deque
from collections.abc import Iterator
from pathlib import Path

import msgspec

from grader.course.catalog import Course, KataInfo
from grader.course.known_solutions import other_way
from grader.diagnosis.search_options import SearchOptions
from grader.errors import CourseError, KataError
from grader.grading.session import Session, open_session
from grader.grading.standings import change
from grader.grading.startup import COMPLAINTS, GraderSettings
from grader.page.messages import (
    Answer,
    Dropped,
    Grade,
    Inbox,
    Question,
    Terms,
    Try,
    Verdict,
    framed,
)
from grader.page.trial import try_lines
from grader.worker.client import Outdated


class Judge:
    """Answers questions one after another, the last one that came first."""

    def __init__(self, session: Session, inbox: Inbox, terms: Terms, answers: int) -> None:
        self.session, self.inbox, self.terms, self._answers = session, inbox, terms, answers
        self.course = session.course
        self._waiting: deque[Question] = deque()
        session.grader.is_outdated = self._is_outdated

    def run(self) -> None:
        """Answer until the page is gone."""
        while True:
            while not self._waiting or self.inbox.has_news:
                self._waiting += self.inbox.read()
            self._answer(self._waiting.popleft())

    def _is_outdated(self) -> bool:
        """Return whether another grading is asked for."""
        while self.inbox.has_news:
            self._waiting += self.inbox.read()
        return any(isinstance(question, Grade) for question in self._waiting)

    def _answer(self, question: Question) -> None:
        try:
            for answer in self._answers_to(question):
                self._send(answer)
        except Outdated:
            self._send(Dropped(question.number))
        except (*COMPLAINTS, CourseError, KataError) as error:
            self._send(Dropped(question.number, str(error)))
        except Exception as error:
            traceback.print_exc()
            fault = f"This is our fault, not yours; your file is unchanged. ({type(error).__name__}: {error})"
            self._send(Dropped(question.number, fault))

    def _answers_to(self, question: Question) -> Iterator[Answer]:
        match question:
            case Grade():
                yield from self._grade(question)
            case Try():
                yield try_lines(self.session.grader, self.course, question)

    def _grade(self, question: Grade) -> Iterator[Verdict]:
        """Yield the verdict, and the same with the place of the mistake once it has been searched."""
        if self._is_outdated():
            raise Outdated
        info, began = self.course.kata_info(question.kata), time.monotonic()
        before = self.session.state.kata(info.name)
        graded = self.session.grade(info, self.course.stub(info))
        changed = change(info, before, self.session.state.kata(info.name))
        way = self._other_way(info) if graded.report.status == "passed" else ""
        first = Verdict(question.number, graded.report, changed, time.monotonic() - began, way)
        if graded.begin_search is not None and self.terms.search > 0:
            yield first
            report = graded.locate(SearchOptions(self.terms.search, is_outdated=self._has_question))
            first = msgspec.structs.replace(first, report=report)
        yield msgspec.structs.replace(first, is_last=True)

    def _other_way(self, info: KataInfo) -> str:
        keyring = self.session.grader.keyring
        return keyring.kata(info).way if keyring else other_way(self.course, info)

    def _has_question(self) -> bool:
        return self._is_outdated() or bool(self._waiting)

    def _send(self, answer: Answer) -> None:
        data = memoryview(framed(answer))
        while data:
            data = data[os.write(self._answers, data) :]


def main() -> None:
    """Judge the katas of one library until standard input ends."""
    terms = msgspec.json.decode(sys.argv[1], type=Terms)
    signal.signal(
        signal.SIGINT, signal.SIG_IGN
    )  # Ctrl-C is for the page's server, which then closes the pipe
    answers = os.dup(1)
    os.dup2(2, 1)  # so that nothing else is printed between two answers
    course = Course(Path(terms.root), Path(terms.exercises))
    if terms.plan:
        course.limit_to(terms.plan)
    chosen: list[KataInfo] = [info for info in course.katas.values() if info.library == terms.library]
    paths = [(info, course.stub(info)) for info in chosen]
    key, secret = (path and Path(path) for path in (terms.key, terms.secret))
    settings = GraderSettings(terms.device, terms.isolation, key or None, secret or None)
    try:
        with open_session(course, paths, terms.remembers, settings) as session:
            gc.freeze()
            Judge(session, Inbox(0), terms, answers).run()
    except (EOFError, BrokenPipeError):
        pass
    except (*COMPLAINTS, CourseError, KataError) as error:
        os.write(answers, framed(Dropped(0, str(error))))


if __name__ == "__main__":
    main()
