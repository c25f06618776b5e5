"""What a connection needs of the judges, wherever they are: processes of this machine, or this one itself."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import aclosing
from typing import Protocol

from dojo_page import judge, protocol
from dojo_show.speech import Wish


class AskedJudges(Protocol):
    """The judges of a course, by library. The last answer to a question is marked."""

    def verdicts(
        self, library: str, kata: str, text: str | None = None
    ) -> AsyncGenerator[judge.Verdict | protocol.Dropped, None]:
        """Yield the verdicts on a kata's file, or on a text in its place, or why there is none."""

    def run(
        self, library: str, kata: str, lines: str, text: str | None = None
    ) -> AsyncGenerator[judge.Answer, None]:
        """Run lines after the code of a kata's file, or after a text in its place."""

    def arrange(self, library: str, kata: str, order: str) -> AsyncGenerator[judge.Answer, None]:
        """Run some lines of a kata's puzzle in this order."""

    def break_line(self, library: str, kata: str) -> AsyncGenerator[judge.Answer, None]:
        """Change a line of an answer that passes."""

    def mend(self, library: str, kata: str, source: str) -> AsyncGenerator[judge.Answer, None]:
        """Say what is wrong with a text."""

    def speak(self, wish: Wish, *, mine: bool) -> AsyncGenerator[judge.Answer, None]:
        """Let the functions write a text."""

    def see(self) -> AsyncGenerator[judge.Answer, None]:
        """Show what the functions give."""

    def stop(self, library: str) -> None:
        """End what the judge of a library is doing."""


async def last_of(answers: AsyncGenerator[judge.Answer, None]) -> judge.Answer:
    """Return the last answer."""
    last: judge.Answer = protocol.Dropped()
    async with aclosing(answers):
        async for answer in answers:
            last = answer
    return last
