"""Let a student's functions write for the page: a process of its own, which holds their workers.

It reads wishes from standard input and writes tokens to what was standard output. A new wish ends the text
before. A file that was saved since is loaded anew.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

from grader.course.catalog import Course
from grader.errors import CourseError, KataError
from grader.grading.session import version_of
from grader.grading.startup import COMPLAINTS
from grader.page.judge import answer_with, settings_of
from grader.page.messages import Answer, Dropped, Inbox, Question, Said, Speak, Terms, Written, send
from grader.see.demonstration import open_demonstration, speech_of
from grader.see.page import render
from grader.see.recording import read_recording
from grader.see.speech import Silent, Speaker, Speech, Token, Wish, Writer, measured, section_of

INSIDE = "Inside the text"
HOW = "Press a token to see what it was chosen from, and what each head looked at."


class Desk:
    """Answers wishes one after another, the last one that came first."""

    def __init__(self, course: Course, terms: Terms, inbox: Inbox, answers: int) -> None:
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
        speaker, wish = self._speaker(speech, question.mine), question.wish
        recording = read_recording(self.demonstration).get("speech", {})
        if missing := speaker.missing():
            yield Said(question.number, recording.get("text", ""))
            yield Written(question.number, remarks=(speech.to_go(missing),), is_recorded=True)
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
        yield Written(question.number, tuple(remarks), self._inside(writer, wish, tokens))

    def _inside(self, writer: Writer, wish: Wish, tokens: list[Token]) -> str:
        """Return a page that shows what each token was chosen from, and what the heads looked at."""
        try:
            weights = writer.weights([token.id for token in tokens], wish)
        except Silent:
            weights = None
        return render(self.demonstration, [section_of(INSIDE, [HOW], tokens, weights)])

    def _speaker(self, speech: Speech, mine: bool) -> Speaker:
        """Return the student's functions as their files are now."""
        files = [self.course.stub(self.course.kata_info(kata)) for kata in speech.katas]
        state = mine, [version_of(file) for file in files]
        known, speaker = self._open
        if speaker is None or known != state:
            self._stack.close()
            settings = settings_of(self.terms)
            new = Speaker(self.course, speech, mine, self.terms.remembers, settings=settings)
            speaker = self._stack.enter_context(new)
            self._open = state, speaker
        return speaker


def main() -> None:
    """Write until standard input ends."""
    answer_with(write)


def write(terms: Terms, answers: int) -> None:
    """Answer wishes until the page is gone."""
    Desk(Course(Path(terms.root), Path(terms.exercises)), terms, Inbox(0), answers).run()


if __name__ == "__main__":
    main()
