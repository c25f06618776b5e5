"""Answers that come before they are due, dozens in one piece: most of a call is waiting for the other end.

A script has, case by case, what a check is known to ask, and a worker knows it by heart (`lessons`). The
submission is asked just that, in that order, and the check gets the answers as long as it asks just that.
Where it asks anything else, what came is of no use, and the submission may have changed objects that it
made: the check is then begun anew, one call at a time.
After an error the worker passes over the rest of the case: the check seldom goes on either.
"""

from __future__ import annotations

import hashlib
import time
from collections import deque
from collections.abc import Collection, Iterator
from typing import Any

from grader.worker.channel import Channel
from grader.worker.codec import decode, encode
from grader.worker.executor import PASSED_OVER, Request
from grader.worker.script import Script, Step

MOST_AT_ONCE = 64  # requests
PATIENCE = 1.0  # seconds for one answer; after that each call is given its own time
PASSED_OVER_FRAME = encode(PASSED_OVER)[0]
ERROR_BEGINS = encode({"error": {}})[0].partition(b"error")[0] + b"error"


class Unforeseen(Exception):
    """The check asks something else than was foreseen."""


class Answers:
    """What came back for one case: frames, each read when its question comes up, and what they all say."""

    def __init__(self) -> None:
        self._frames: deque[tuple[Step, bytes, bytearray]] = deque()
        self._digest = hashlib.blake2b(digest_size=16)
        self._accepted = False
        self.size = 0
        self.raised = False  # whether one of them is an error

    def add(self, known: Step, header: bytes, body: bytearray) -> None:
        """One more, to the request that is known."""
        self._frames.append((known, header, body))
        self._digest.update(b"%d %d " % (len(header), len(body)) + header + body)
        self.size += len(header) + len(body)
        self.raised = self.raised or header.startswith(ERROR_BEGINS)

    @property
    def digest(self) -> bytes:
        """Equal for equal answers, bit by bit."""
        return self._digest.digest()

    def take(self, request: Request) -> dict[str, Any]:
        """The answer to what is asked now. Raises Unforeseen, Malformed."""
        if not self._frames or not self._frames[0][0].is_what(request):
            raise Unforeseen
        _, header, body = self._frames.popleft()
        reply = decode(header, body)
        if reply == PASSED_OVER:
            raise Unforeseen
        return reply

    def accept(self) -> None:
        """They are known: none of them was in vain, though they need not be read."""
        self._accepted = True

    @property
    def in_vain(self) -> bool:
        """Whether the submission did something that nobody asked for in the end."""
        return not self._accepted and any(header != PASSED_OVER_FRAME for _, header, _ in self._frames)


class Ahead:
    """A script being recited, and the answers to it, case by case; some cases may be left out."""

    def __init__(
        self, channel: Channel, script: Script, nonces: Iterator[int], left_out: Collection[int] = ()
    ) -> None:
        self._channel, self._script, self._nonces = channel, script, nonces
        self._cases = deque(case for case in script.cases if case not in left_out)
        self._asked: deque[tuple[int, Step, int]] = deque()  # case, step, nonce
        self._current = Answers()
        self.asked_in_vain = False

    def begin(self, case: int) -> Answers:
        """A case begins: its answers. What is left of the one before is dropped, and more is asked for where
        nothing is on its way. Raises Unforeseen, and what a channel raises."""
        self._leave()
        if not self._asked and case in self._cases:
            while self._cases[0] != case:
                self._cases.popleft()
            self._ask()
        self._current = self._received(case)
        return self._current

    def drain(self) -> None:
        """Take the answers that nobody asked for in the end."""
        self._leave()
        while self._asked:
            self._current = self._received(self._asked[0][0])
            self._leave()

    def _leave(self) -> None:
        self.asked_in_vain = self.asked_in_vain or self._current.in_vain

    def _ask(self) -> None:
        questions: list[int] = []
        while self._cases and len(self._asked) < MOST_AT_ONCE:
            case = self._cases.popleft()
            steps, first = self._script.cases[case], self._script.positions[case]
            self._asked += [(case, known, next(self._nonces)) for known in steps]
            questions += range(first, first + len(steps))
        if self._asked:
            asked = {"lesson": self._script.digest, "questions": questions}
            self._channel.send(*encode({"recite": asked}), self._asked[0][2], time.monotonic() + PATIENCE)

    def _received(self, case: int) -> Answers:
        answers = Answers()
        while self._asked and self._asked[0][0] == case:
            _, known, nonce = self._asked.popleft()
            header, body, theirs = self._channel.receive(time.monotonic() + PATIENCE)
            if theirs != nonce:
                raise Unforeseen
            answers.add(known, header, body)
        return answers
