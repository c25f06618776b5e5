"""The process of a judge: it holds the session and the keys, and answers until its input ends.

It reads questions from standard input and writes answers to what was standard output. A new question ends a
search at once, and a new grading ends the grading before. Beside the judges of the libraries there is one
that lets the functions write and shows what they give; there, a new question ends the text before.
"""

from __future__ import annotations

import gc
import os
import sys
from collections import deque
from pathlib import Path

import msgspec

from dojo_page.judge import Grade, Judge, Question, See, Show, Speak, Stop
from dojo_page.messages import SHOWS, Inbox, JudgeTerms, send
from dojo_page.protocol import Dropped
from grader.course.catalog import Course
from grader.errors import CourseError, KataError
from grader.grading.session import COMPLAINTS, GraderSettings, open_session
from grader.worker.protocol.channel import ChannelClosed
from grader.worker.protocol.system_calls import die_with_parent


class JudgeLoop:
    """Answers questions one after another, the last one that came first."""

    def __init__(self, inbox: Inbox, answers: int) -> None:
        self.inbox, self._answers = inbox, answers
        self._waiting: deque[tuple[int, Question]] = deque()

    def run(self, judge: Judge) -> None:
        """Answer until the page is gone."""
        while True:
            while not self._waiting or self.inbox.has_news:
                self._waiting += self.inbox.read()
            number, question = self._waiting.popleft()
            for answer in judge.answers(question):
                send(self._answers, number, answer)

    def is_outdated(self) -> bool:
        """Return whether another grading is asked for, or an end of what is being done."""
        while self.inbox.has_news:
            self._waiting += self.inbox.read()
        return any(isinstance(question, Grade | Stop) for _, question in self._waiting)

    def has_question(self) -> bool:
        """Return whether another question waits."""
        return self.is_outdated() or bool(self._waiting)

    def show(self, show: Show) -> None:
        """Answer until the page is gone; a new question ends the answers to the one before."""
        while True:
            *before, (number, question) = self.inbox.read() or [(0, Stop())]
            for outdated, _ in before:
                send(self._answers, outdated, Dropped())
            if not isinstance(question, Speak | See):
                continue
            for answer in show.answers(question):
                send(self._answers, number, answer)
                if self.inbox.has_news and not answer.is_last:
                    send(self._answers, number, Dropped())
                    break


def work(terms: JudgeTerms, answers: int) -> None:
    """Open what the terms ask for, and answer until the page is gone."""
    course, loop = Course(Path(terms.root), Path(terms.exercises), terms.plan), JudgeLoop(Inbox(0), answers)
    if terms.library == SHOWS:
        with Show(course, settings_of(terms)) as show:
            loop.show(show)
    paths = [(info, course.stub(info)) for info in course.katas.values() if info.library == terms.library]
    with open_session(course, paths, settings=settings_of(terms)) as session:
        gc.freeze()
        loop.run(Judge(session, terms.search, loop.is_outdated, loop.has_question))


def settings_of(terms: JudgeTerms) -> GraderSettings:
    """Return how the terms let a grader work."""
    key, secret = (path and Path(path) for path in (terms.key, terms.secret))
    return GraderSettings(terms.device, terms.isolation, key or None, secret or None)


def main() -> None:
    """Answer questions until standard input ends. The argument of the command is a JudgeTerms as JSON. If the
    course or the grader cannot be opened, the reason is the only answer."""
    terms = msgspec.json.decode(sys.argv[1], type=JudgeTerms)
    die_with_parent()
    answers = os.dup(1)
    os.dup2(2, 1)  # so that nothing else is printed between two answers
    try:
        work(terms, answers)
    except (ChannelClosed, BrokenPipeError):
        pass
    except (*COMPLAINTS, CourseError, KataError) as error:
        send(answers, 0, Dropped(str(error)))


if __name__ == "__main__":
    main()
