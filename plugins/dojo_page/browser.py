"""The Python end of a site: the desk and the judges of a course in the process of a browser's worker.

`front/worker.js` begins it and gives it messages. Beside those of the protocol it knows what keeps files for
it, and tells that it lives while it judges: what does not is ended from outside.
"""

from __future__ import annotations

import asyncio
import base64
import json
import os
import traceback
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping
from contextlib import aclosing
from dataclasses import replace
from pathlib import Path
from typing import Any, Protocol, TypeVar

from dojo_page import judge, protocol
from dojo_page.connection import GROUPS, Apart, Connection
from dojo_page.desk import Desk, Host
from dojo_page.kept_files import KeptFiles
from dojo_page.protocol import Answer, BadRequest, Problem, Request
from dojo_show.speech import Wish
from grader.answer_keys.file import FOLDER, SUFFIX, KataKey, KeyFile, Keyring, KeyUnusable
from grader.course.catalog import Course, KataInfo
from grader.errors import CourseError
from grader.grading.grader import Grader
from grader.grading.session import TORCH, GraderSettings, Session, lacks_library
from grader.grading.standings import is_begun
from grader.worker.own_process import OwnFactories, OwnReader
from grader.worker.reader import ask_by

SEARCH_SECONDS = 2.0  # of CPU time for the place of a mistake; meanwhile nothing else is answered
QUIET_SECONDS = 1.0  # without another request, before it is searched
CAN = ("see", "speak", "review", "zip")
TORCH_MISSING = "No browser has it: go on in a clone of the course, after `pip install {}`."
HERE = (
    "This site judges in your browser, and your files stay in it. What it says is for you: it gives no points"
    " that count, and katas in PyTorch need a clone of the course."
)
NO_KEY = "The site has no answers to {}."
FULL = "The browser cannot keep your files: take them out (Files) before you close the tab. It says: {}"
NOT_KEPT = "This browser keeps no files of this site: take them out (Files) before you close the tab."
STOPPED = (
    "Stopped: a call did not end within {:.0f} seconds. Look for a loop that does not end, or for one that"
    " takes longer with every step."
)
ENDED = (
    "Stopped: Python has ended in a call. Look for a recursion that goes too deep, or for an array that takes"
    " all memory."
)

Result = TypeVar("Result")


class Outside(Protocol):
    """What is outside of this process: `front/worker.js` has it. All tabs of a browser share the files."""

    async def acquire(self) -> Callable[[], None]:
        """Wait until no other tab reads or writes files, and return what ends that."""

    async def news(self) -> Mapping[str, bytes] | None:
        """Return all files that are kept; None if none has changed since this was asked last."""

    async def keep(self, changes: Mapping[str, bytes | None]) -> None:
        """Keep these files; forget those that are None."""

    async def fetch(self, kata: str) -> bytes:
        """Return the answer key of a kata; nothing if it cannot be had."""

    def post(self, message: str) -> None:
        """Send an answer to the front end."""

    def live(self) -> None:
        """Tell that the judge is not stuck."""


class KeysOfSite(Keyring):
    """The keys in a folder. One that is not there yet is fetched before a kata is judged."""

    def __init__(self, folder: Path, version: str) -> None:
        super().__init__([], "The site")
        self._folder, self._version = folder, version

    @property
    def digest(self) -> str:
        """The version of the site that the keys belong to."""
        return self._version

    def path(self, kata: str) -> Path:
        """Return where the key of a kata is once it was fetched."""
        return self._folder / f"{kata}{SUFFIX}"

    def kata(self, info: KataInfo) -> KataKey:
        """Return the key of a kata. Raises KeyUnusable if there is none, or none for this declaration."""
        if not any(info.name in file.katas for file in self.files):
            try:
                self.files.append(KeyFile(self.path(info.name).read_bytes(), f"The key of {info.name}"))
            except OSError:
                raise KeyUnusable(NO_KEY.format(info.name)) from None
        return super().kata(info)


class OwnJudges:
    """The judges of a course in this process. `step` does what may write a file, `fetch` gets a key."""

    def __init__(self, worker: judge.Judge, step: Apart, fetch: Callable[[str], Awaitable[None]]) -> None:
        self.worker, self._step, self._fetch = worker, step, fetch
        self._show: judge.Show | None = None  # once it is asked

    async def verdicts(
        self, _library: str, kata: str, text: str | None = None
    ) -> AsyncGenerator[judge.Verdict | protocol.Dropped, None]:
        """Yield the verdicts on a kata's file, or on a text in its place, or why there is none."""
        async for answer in self._answers(judge.Grade(kata, text)):
            assert isinstance(answer, judge.Verdict | protocol.Dropped)
            yield answer

    def run(
        self, _library: str, kata: str, lines: str, text: str | None = None
    ) -> AsyncGenerator[judge.Answer, None]:
        """Run lines after the code of a kata's file, or after a text in its place."""
        return self._answers(judge.Try(kata, lines, text))

    def arrange(self, _library: str, kata: str, order: str) -> AsyncGenerator[judge.Answer, None]:
        """Run some lines of a kata's puzzle in this order."""
        return self._answers(judge.Arrange(kata, order))

    def break_line(self, _library: str, kata: str) -> AsyncGenerator[judge.Answer, None]:
        """Change a line of an answer that passes."""
        return self._answers(judge.Break(kata))

    def mend(self, _library: str, kata: str, source: str) -> AsyncGenerator[judge.Answer, None]:
        """Say what is wrong with a text."""
        return self._answers(judge.Mend(kata, source))

    def speak(self, wish: Wish, *, mine: bool) -> AsyncGenerator[judge.Answer, None]:
        """Let the functions write a text."""
        return self._shown(judge.Speak(wish, mine))

    def see(self) -> AsyncGenerator[judge.Answer, None]:
        """Show what the functions give."""
        return self._shown(judge.See())

    def stop(self, _library: str) -> None:
        """Do nothing: what judges cannot hear of it before it has ended."""

    async def _shown(self, question: judge.Speak | judge.See) -> AsyncGenerator[judge.Answer, None]:
        course = self.worker.course
        if self._show is None:
            self._show = judge.Show(course, GraderSettings(in_own_process=True))
        shown = self._show.demonstration
        for kata in {*shown.katas, *(shown.speech.katas if shown.speech else ())}:
            info = course.katas.get(kata)
            if info is not None and is_begun(info, course.stub(info)):
                await self._fetch(kata)
        answers = self._show.answers(question)
        while (answer := await self._step(lambda: next(answers, None))) is not None:
            yield answer

    async def _answers(
        self, question: judge.Grade | judge.Try | judge.Arrange | judge.Break | judge.Mend
    ) -> AsyncGenerator[judge.Answer, None]:
        if not isinstance(question, judge.Try):
            await self._fetch(question.kata)
        answers = self.worker.answers(question)
        while (answer := await self._step(lambda: next(answers, None))) is not None:
            yield answer


class Site:
    """A course in the memory of a worker. The version is that of the site."""

    def __init__(self, root: Path, version: str, outside: Outside, *, is_kept: bool) -> None:
        ask_by(OwnReader())
        self.outside, self.is_kept = outside, is_kept
        self.course = Course(root)
        self.files = KeptFiles(self.course)
        self.keys = KeysOfSite(root / FOLDER, version)
        session = Session(Grader(self.course, OwnFactories(), keyring=self.keys))
        self.judges = OwnJudges(
            judge.Judge(session, SEARCH_SECONDS, self._live, self._live), self._step, self._fetch
        )
        self.desk = Desk(self.course, Host("browser", CAN, missing_here))
        self.connection = Connection(self.desk, self.judges, self._step)
        self._tasks: set[asyncio.Future[None]] = set()
        self._dropped: set[int] = set()  # requests in whose place others have come
        self._judged: dict[str, int] = {}  # by group: what was asked last

    def take(self, text: str) -> None:
        """Begin to carry out a message: a request, which ends the one before of its group."""
        message = json.loads(text)
        number = protocol.number_of(message)
        try:
            request = protocol.request_of(message)
        except BadRequest as error:
            self._tell(number, Problem(str(error)))
            return
        group = GROUPS.get(type(request), "")
        groups = {*GROUPS.values()} if isinstance(request, protocol.Stop) else {group}
        for before in [self._judged.pop(one) for one in groups if one in self._judged]:
            self._dropped.add(before)
            self._tell(before, protocol.Dropped())
        if isinstance(request, protocol.Stop):
            return
        if group:
            self._judged[group] = number
        task = asyncio.ensure_future(self._carry_out(number, request))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def look(self) -> None:
        """Tell what other tabs have written to the files that are open."""
        for changed in await self._step(self.connection.look):
            self._tell(0, changed)

    async def stopped(self, number: int, kata: str, text: str, seconds: float) -> None:
        """Answer that the code of a text did not end in so many seconds, and was ended with its worker; that
        Python itself has ended if they are 0."""
        report = self.course.kata_info(kata).unjudged("error", STOPPED.format(seconds) if seconds else ENDED)
        verdict = judge.Verdict(report, "", seconds, is_last=True)
        self._tell(
            number, await self._step(lambda: self.desk.verdict(self.course.kata_info(kata), text, verdict))
        )

    async def _carry_out(self, number: int, request: Request) -> None:
        """Answer a request until another one comes in its place. A step is never ended in its middle."""
        async with aclosing(self._answers(request)) as answers:
            async for answer in answers:
                if number in self._dropped:
                    break
                if answer.is_last:  # what ends now is not dropped any more
                    self._judged = {group: one for group, one in self._judged.items() if one != number}
                self._tell(number, answer)
                if not answer.is_last:
                    await asyncio.sleep(QUIET_SECONDS if isinstance(answer, protocol.Verdict) else 0)
                    if number in self._dropped:
                        break
        self._dropped.discard(number)

    async def _answers(self, request: Request) -> AsyncGenerator[Answer, None]:
        try:
            match request:
                case protocol.TakeOut():
                    yield await self._step(
                        lambda: protocol.Archive(base64.b64encode(self.files.packed()).decode())
                    )
                case protocol.BringIn(given):
                    yield protocol.Taken(await self._step(lambda: self._bring_in(given)))
                    await self.look()
                case _:
                    async for answer in self.connection.answers(request):
                        yield self._here(answer)
        except CourseError as error:
            yield Problem(str(error))
        except Exception as error:
            traceback.print_exc()
            yield Problem(judge.OUR_FAULT.format(f"{type(error).__name__}: {error}"))

    def _bring_in(self, packed: str) -> str:
        try:
            data = base64.b64decode(packed, validate=True)
        except ValueError:
            raise CourseError(protocol.NO_REQUEST) from None
        return self.files.bring_in(data)

    def _here(self, answer: Answer) -> Answer:
        """Return an answer with what holds of a site."""
        if not isinstance(answer, protocol.Course):
            return answer
        about = f"{answer.about} {HERE}".strip()
        return replace(answer, about=about, trouble=answer.trouble or ("" if self.is_kept else NOT_KEPT))

    async def _step(self, work: Callable[[], Result], /) -> Result:
        """Do what may read or write files, after what other tabs have written; keep what it writes."""
        release = await self.outside.acquire()
        try:
            if (kept := await self.outside.news()) is not None:
                self.files.take(kept)
            try:
                return work()
            finally:
                await self._keep()
        finally:
            release()

    async def _keep(self) -> None:
        """Keep what was written. What cannot be is tried again with the next step. Raises CourseError."""
        if changes := self.files.changes():
            try:
                await self.outside.keep(changes)
            except Exception as error:  # of JavaScript, such as that the quota is used up
                raise CourseError(FULL.format(error)) from None
            self.files.note_kept()

    async def _fetch(self, kata: str) -> None:
        """Fetch the keys of a kata and of those that it needs, if they are not here."""
        for info in self.course.with_needs([self.course.kata_info(kata)]):
            path = self.keys.path(info.name)
            if not path.is_file() and (data := await self.outside.fetch(info.name)):
                path.parent.mkdir(exist_ok=True)
                path.write_bytes(data)

    def _live(self) -> bool:
        self.outside.live()
        return False

    def _tell(self, number: int, answer: Answer) -> None:
        self.outside.post(json.dumps(protocol.message_of(number, answer), separators=(",", ":")))


def missing_here(info: KataInfo) -> str:
    """Return what is to be done for a kata that needs PyTorch."""
    return TORCH_MISSING.format(TORCH) if lacks_library(info) else ""


class _Page:
    """What `front/worker.js` offers, with the values of Python."""

    def __init__(self, offered: Any) -> None:
        self._offered = offered

    async def acquire(self) -> Callable[[], None]:
        release: Callable[[], None] = await self._offered.acquire()
        return release

    async def news(self) -> Mapping[str, bytes] | None:
        found = await self._offered.news()
        return None if found is None else {name: content.to_py().tobytes() for name, content in found}

    async def keep(self, changes: Mapping[str, bytes | None]) -> None:
        await self._offered.keep([*changes.items()])

    async def fetch(self, kata: str) -> bytes:
        found = await self._offered.fetch(kata)
        return b"" if found is None else found.to_py().tobytes()

    def post(self, message: str) -> None:
        self._offered.post(message)

    def live(self) -> None:
        self._offered.live()


def begin(root: str, version: str, offered: Any, *, is_kept: bool) -> Site:
    """Return the course in a folder, for `front/worker.js`. Files are named as seen from there."""
    os.chdir(root)
    return Site(Path(root), version, _Page(offered), is_kept=is_kept)
