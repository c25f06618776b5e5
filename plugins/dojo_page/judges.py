"""Start a judge for each library when it is first needed, ask it, and start it again if it ends."""

from __future__ import annotations

import asyncio
import itertools
import sys
import time
from collections.abc import AsyncGenerator
from contextlib import aclosing, suppress
from dataclasses import dataclass, field, replace

import msgspec

from dojo_page.judge import (
    Answer,
    Arrange,
    Break,
    Grade,
    Mend,
    Question,
    See,
    Speak,
    Stop,
    Try,
    Verdict,
)
from dojo_page.messages import SHOWS, JudgeTerms, framed, messages_in
from dojo_page.protocol import Dropped
from dojo_show.speech import Wish
from grader.processes.ending import WAIT_SECONDS, ending
from grader.texts.escaping import sound
from grader.worker.protocol.channel import CHUNK, ChannelClosed, Frames
from grader.worker.protocol.codec import Malformed

POLL_SECONDS = 0.2
PAUSE_SECONDS = 0.3  # after the last key, before a text is judged
QUIET_SECONDS = 1.5  # after the last key, before a syntax error is shown
ENDED = "The judge has ended; it starts again with the next change."
STOPPED = "Stopped."


@dataclass
class JudgeProcess:
    """The trusted end of one judge. Answers come back to whoever asked, by the number of the question."""

    terms: JudgeTerms
    process: asyncio.subprocess.Process | None = None
    asked: dict[int, asyncio.Queue[Answer]] = field(default_factory=dict)
    reading: asyncio.Task[None] | None = None
    starting: asyncio.Lock = field(default_factory=asyncio.Lock)
    _numbers: itertools.count[int] = field(default_factory=lambda: itertools.count(1))
    _stopped: set[int] = field(default_factory=set)  # what was asked when the last stop was

    async def ask(self, question: Question) -> AsyncGenerator[Answer, None]:
        """Yield the answers to a question; the last one is marked."""
        number = next(self._numbers)
        answers = self.asked[number] = asyncio.Queue()
        try:
            async with self.starting:
                await self._start()
            assert self.process is not None
            assert self.process.stdin is not None
            self.process.stdin.write(framed(number, question))
            with suppress(ConnectionError):
                await self.process.stdin.drain()
            while True:
                answer = await answers.get()
                if answer == Dropped() and number in self._stopped:
                    answer = Dropped(STOPPED)
                yield answer
                if answer.is_last:
                    return
        finally:
            del self.asked[number]
            self._stopped.discard(number)

    def stop(self) -> None:
        """End what the judge is doing."""
        if self.process is not None and self.process.stdin is not None and self.process.returncode is None:
            self._stopped = {*self.asked}
            self.process.stdin.write(framed(0, Stop()))

    async def _start(self) -> None:
        if self.process is not None and self.process.returncode is None:
            return
        self.process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-P", "-m", "dojo_page.judge_process"),
            msgspec.json.encode(self.terms).decode(),
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            start_new_session=True,  # so that Ctrl-C ends the server, which then ends the judges
        )
        self.reading = asyncio.create_task(self._read(self.process))

    async def _read(self, process: asyncio.subprocess.Process) -> None:
        """Hand answers on until the judge ends; questions that are then open are dropped."""
        assert process.stdout is not None
        problem, frames = ENDED, Frames()
        with suppress(ChannelClosed, Malformed, msgspec.DecodeError):
            while True:
                frames.add(await process.stdout.read(CHUNK))
                for number, answer in messages_in(frames):
                    if number in self.asked:
                        self.asked[number].put_nowait(answer)
                    elif not number and isinstance(answer, Dropped):
                        problem = answer.problem
        await end(process, wait=1.0)  # it has closed its output
        for answers in self.asked.values():
            answers.put_nowait(Dropped(problem))

    async def end(self) -> None:
        """Close the pipe, which ends the judge and its workers."""
        if self.process is None or self.process.stdin is None:
            return
        self.process.stdin.close()
        await end(self.process)
        if self.reading:
            await self.reading


async def end(process: asyncio.subprocess.Process, wait: float = WAIT_SECONDS) -> None:
    """End a process that was started by asyncio, and its group."""
    for seconds in ending(process.pid, wait) if process.returncode is None else ():
        with suppress(TimeoutError):
            await asyncio.wait_for(process.wait(), seconds)
            return


class Judges:
    """The judges of a course, by library. What is typed may hold half a character, which no message can."""

    def __init__(self, terms: JudgeTerms) -> None:
        self.terms = terms
        self._judges: dict[str, JudgeProcess] = {}

    def grade(self, library: str, kata: str, text: str | None = None) -> AsyncGenerator[Answer, None]:
        return self._judge(library).ask(Grade(kata, text and sound(text)))

    async def verdicts(
        self, library: str, kata: str, text: str | None = None, typed_at: float = 0.0
    ) -> AsyncGenerator[Verdict | Dropped, None]:
        """Yield the verdicts on a kata's file, or on a text in its place, or why there is none; it is judged
        again if another kata was judged instead. A syntax error waits until it is no longer one that is being
        typed: `typed_at` is when the last key was pressed, by the monotonic clock."""
        was_dropped = True
        while was_dropped:
            was_dropped = False
            async with aclosing(self.grade(library, kata, text)) as answers:
                async for answer in answers:
                    if isinstance(answer, Verdict) and answer.report.excerpt:
                        await asyncio.sleep(max(0.0, typed_at + QUIET_SECONDS - time.monotonic()))
                    if isinstance(answer, Verdict) or (isinstance(answer, Dropped) and answer.problem):
                        yield answer
                    else:
                        was_dropped = True
            if was_dropped:
                await self.rest(library)

    def run(
        self, library: str, kata: str, lines: str, text: str | None = None
    ) -> AsyncGenerator[Answer, None]:
        return self._judge(library).ask(Try(kata, sound(lines), text and sound(text)))

    def arrange(self, library: str, kata: str, order: str) -> AsyncGenerator[Answer, None]:
        return self._judge(library).ask(Arrange(kata, order))

    def break_line(self, library: str, kata: str) -> AsyncGenerator[Answer, None]:
        return self._judge(library).ask(Break(kata))

    def mend(self, library: str, kata: str, source: str) -> AsyncGenerator[Answer, None]:
        return self._judge(library).ask(Mend(kata, sound(source)))

    def speak(self, wish: Wish, *, mine: bool) -> AsyncGenerator[Answer, None]:
        return self._judge(SHOWS).ask(Speak(replace(wish, prompt=sound(wish.prompt)), mine))

    async def see(self) -> AsyncGenerator[Answer, None]:
        """Yield a page that shows what the functions give, from a process of its own."""
        process = JudgeProcess(msgspec.structs.replace(self.terms, library=SHOWS))
        try:
            async with aclosing(process.ask(See())) as answers:
                async for answer in answers:
                    yield answer
        finally:
            await process.end()

    def stop(self, library: str) -> None:
        self._judge(library).stop()

    async def rest(self, library: str) -> None:
        """Wait until a judge has nothing to do."""
        await asyncio.sleep(POLL_SECONDS)
        while self._judge(library).asked:
            await asyncio.sleep(POLL_SECONDS)

    def _judge(self, library: str) -> JudgeProcess:
        if library not in self._judges:
            self._judges[library] = JudgeProcess(msgspec.structs.replace(self.terms, library=library))
        return self._judges[library]

    async def end(self) -> None:
        """End all judges."""
        await asyncio.gather(*(judge.end() for judge in self._judges.values()))
