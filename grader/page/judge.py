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
from collections.abc import Callable, Iterator
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
    send,
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


def main() -> None:
    """Judge the katas of one library until standard input ends."""
    answer_with(judge)


def judge(terms: Terms, answers: int) -> None:
    """Open the session, and answer until the page is gone."""
    course = Course(Path(terms.root), Path(terms.exercises))
    if terms.plan:
        course.limit_to(terms.plan)
    chosen: list[KataInfo] = [info for info in course.katas.values() if info.library == terms.library]
    paths = [(info, course.stub(info)) for info in chosen]
    with open_session(course, paths, terms.remembers, settings_of(terms)) as session:
        gc.freeze()
        Judge(session, Inbox(0), terms, answers).run()


def settings_of(terms: Terms) -> GraderSettings:
    """Return how the terms let a grader work."""
    key, secret = (path and Path(path) for path in (terms.key, terms.secret))
    return GraderSettings(terms.device, terms.isolation, key or None, secret or None)


def answer_with(work: Callable[[Terms, int], None]) -> None:
    """Do the work of a process that the page's server asks, with its terms and the pipe for answers, until
    the pipe is closed. What prevents the work is its only answer."""
    terms = msgspec.json.decode(sys.argv[1], type=Terms)
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the server, which then closes the pipe
    answers = os.dup(1)
    os.dup2(2, 1)  # so that nothing else is printed between two answers
    try:
        work(terms, answers)
    except (EOFError, BrokenPipeError):
        pass
    except (*COMPLAINTS, CourseError, KataError) as error:
        send(answers, Dropped(0, str(error)))


if __name__ == "__main__":
    main()
