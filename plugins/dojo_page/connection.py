"""One front end: what it has open, what it asks of the judges, and its review.

Answers come from the desk at once, and from the judges as they have them. `apart` is how the desk is asked:
by a thread of its own where there is a server, which serves others meanwhile.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing
from typing import Protocol, TypeVar

from dojo_page import judge, protocol
from dojo_page.asking import AskedJudges, last_of
from dojo_page.desk import Desk
from dojo_page.files import read_edited
from dojo_page.protocol import Answer, Changed, Request
from dojo_page.review import ReviewedAnswer
from dojo_show.speech import Wish, prompt_of
from grader.course.catalog import KataInfo
from grader.errors import CourseError, KataError

Result = TypeVar("Result")


class Apart(Protocol):
    """Does some work where it holds up nothing else, and returns its result."""

    async def __call__(self, work: Callable[[], Result], /) -> Result: ...


#: What is judged: a new request of such a kind ends the one before of the same group.
GROUPS: dict[type[Request], str] = {
    protocol.Grade: "grade",
    protocol.Try: "try",
    protocol.Arrange: "puzzle",
    protocol.Review: "review",
    protocol.Mend: "review",
    protocol.See: "show",
    protocol.Speak: "show",
}


class Connection:
    """Answers the requests of one front end."""

    def __init__(self, desk: Desk, judges: AskedJudges, apart: Apart) -> None:
        self.desk, self.judges, self._apart = desk, judges, apart
        self.review = ReviewedAnswer(desk, judges)
        self._held: dict[
            str, tuple[str, str]
        ] = {}  # by open kata: digest and problem that the front end knows
        self._running: dict[int, str] = {}  # by request: the library whose judge works

    async def answers(self, request: Request) -> AsyncGenerator[Answer, None]:
        """Yield the answers to a request; a complaint is one as well."""
        try:
            if type(request) not in GROUPS:
                yield await self._apart(lambda: self._answer(request))
                return
            async with aclosing(self._judged(request)) as answers:
                async for answer in answers:
                    yield answer
        except (CourseError, KataError) as error:
            yield protocol.Problem(str(error))
        finally:
            self._running.pop(id(request), None)

    def stop(self) -> None:
        """End what the judges do for this front end."""
        for library in {*self._running.values()}:
            self.judges.stop(library)

    def look(self) -> list[Changed]:
        """Return what other programs have done to the files of the open katas since it was last told."""
        found = []
        for kata, known in self._held.items():
            held = read_edited(self.desk.course.stub(self.desk.course.katas[kata]))
            if (held.digest, held.problem) != known:
                self._held[kata] = held.digest, held.problem
                found.append(Changed(kata, held.text, held.digest, held.is_gone, held.problem))
        return found

    def _answer(self, request: Request) -> Answer:
        """Return the answer to what is not judged, and note what the front end then knows of a file."""
        match request:
            case protocol.Close(kata):
                self._held.pop(kata, None)
                return protocol.Done()
            case protocol.Guess(line):
                return self.review.guess(line)
            case protocol.More():
                return self.review.show_more()
        answer = self.desk.answer(request)
        match request, answer:
            case protocol.Open(), protocol.Opened(kata=kata):
                self._held[kata] = answer.digest, answer.problem
            case _, protocol.Saved(digest) | protocol.Brought(digest=digest) | protocol.Conflict(
                digest=digest
            ):
                kata = getattr(request, "kata", "")
                if kata in self._held:
                    self._held[kata] = digest, ""
        return answer

    async def _judged(self, request: Request) -> AsyncGenerator[Answer, None]:
        match request:
            case protocol.Grade(kata, text):
                info = self.desk.course.kata_info(kata)
                self._running[id(request)] = info.library
                async with aclosing(self.judges.verdicts(info.library, kata, text)) as verdicts:
                    async for verdict in verdicts:
                        yield await self._drawn(info, text, verdict)
            case protocol.Try(kata, text, lines):
                info = self.desk.course.kata_info(kata)
                self._running[id(request)] = info.library
                tried = await last_of(self.judges.run(info.library, kata, lines, text))
                yield self.desk.tried(tried)
            case protocol.Arrange(kata, order):
                info = self.desk.course.kata_info(kata)
                self._running[id(request)] = info.library
                async for answer in _of_protocol(self.judges.arrange(info.library, kata, order)):
                    yield answer
            case protocol.Review():
                yield await self.review.begin()
            case protocol.Mend(text):
                yield await self.review.mend(text)
            case protocol.See():
                async for answer in _of_protocol(self.judges.see()):
                    yield answer
            case protocol.Speak(prompt, without, way, settings, mine):
                wish = Wish(prompt_of(prompt), without, way, settings)
                async for answer in _of_protocol(self.judges.speak(wish, mine=mine)):
                    yield answer

    async def _drawn(self, info: KataInfo, text: str, verdict: judge.Verdict | protocol.Dropped) -> Answer:
        if isinstance(verdict, protocol.Dropped):
            return verdict
        return await self._apart(lambda: self.desk.verdict(info, text, verdict))


async def _of_protocol(answers: AsyncGenerator[judge.Answer, None]) -> AsyncGenerator[Answer, None]:
    """Yield the answers that go to the front end as they are."""
    async with aclosing(answers):
        async for answer in answers:
            if isinstance(answer, Answer):
                yield answer
