"""Answers that come before they are due, a check in one piece: most of a call is waiting for the other end.

A script has, case by case, what a check is known to ask, and a worker knows it by heart (`lessons`). The
submission is asked just that, in that order, and the check gets the answers as long as it asks just that.
Where it asks anything else, what came is of no use, and the submission may have changed objects that it
made: the check is then begun anew, one call at a time.
After an error the worker passes over the rest of the case: the check seldom goes on either.
"""

from __future__ import annotations

import hashlib
import math
import time
from collections import deque
from collections.abc import Collection, Iterator
from functools import cached_property
from typing import Any

from grader.worker.channel import Channel
from grader.worker.codec import decode, encode
from grader.worker.requests import PASSED_OVER, HandedOn, Request
from grader.worker.script import Given, Script, Step

PATIENCE = 1.0  # seconds for one answer; after that each call is given its own time
PASSED_OVER_FRAME = encode(PASSED_OVER)[0]
ERROR_BEGINS = encode({"error": {}})[0].partition(b"error")[0] + b"error"

Frame = tuple[bytes, bytearray]  # header and body


class Unforeseen(Exception):
    """The check asks something else than was foreseen."""


class Answers:
    """What came back for one case: frames, each read when its question comes up, and what they all say."""

    def __init__(self, steps: list[Step], frames: list[Frame]) -> None:
        self.frames, self._steps = frames, steps
        self._taken = 0
        self._given: Given = {}
        self._accepted = False

    @cached_property
    def digest(self) -> bytes:
        """Equal for equal answers, bit by bit."""
        digest = hashlib.blake2b(digest_size=16)
        for header, body in self.frames:
            digest.update(b"%d %d " % (len(header), len(body)) + header + body)
        return digest.digest()

    @property
    def size(self) -> int:
        """Bytes in all."""
        return sum(len(header) + len(body) for header, body in self.frames)

    @property
    def raised(self) -> bool:
        """Whether one of them is an error."""
        return any(header.startswith(ERROR_BEGINS) for header, _ in self.frames)

    def take(self, request: Request) -> dict[str, Any]:
        """The answer to what is asked now. Raises Unforeseen, Malformed."""
        if self._taken == len(self.frames) or not self._steps[self._taken].is_what(request, self._given):
            raise Unforeseen
        reply = decode(*self.frames[self._taken])
        self._taken += 1
        if reply == PASSED_OVER:
            raise Unforeseen
        answer = reply.get("ok")
        if request.hands_on and type(answer) is dict:  # it may be forged
            self._given[request.answer.id] = HandedOn.of(answer.get("value"))
        return reply

    def accept(self) -> None:
        """They are known: none of them was in vain, though they need not be read."""
        self._accepted = True

    @property
    def in_vain(self) -> bool:
        """Whether the submission did something that nobody asked for in the end."""
        left = () if self._accepted else self.frames[self._taken :]
        return any(header != PASSED_OVER_FRAME for header, _ in left)


def recite(
    channel: Channel,
    script: Script,
    nonces: Iterator[int],
    left_out: Collection[int] = (),
    give_up_at: float = math.inf,
) -> dict[int, Answers]:
    """What a worker that knows the script answers, case by case; to cases that are left out nothing. Raises
    Unforeseen, and what a channel raises."""
    cases = {case: [] if case in left_out else steps for case, steps in script.cases.items()}
    asked = [
        position
        for case, steps in cases.items()
        for position in range(script.positions[case], script.positions[case] + len(steps))
    ]
    expected = deque(next(nonces) for _ in asked)
    if asked:
        message = {"recite": {"lesson": script.digest, "questions": asked}}
        channel.send(*encode(message), expected[0], time.monotonic() + PATIENCE)
    return {
        case: Answers(steps, [_received(channel, expected.popleft(), give_up_at) for _ in steps])
        for case, steps in cases.items()
    }


def _received(channel: Channel, nonce: int, give_up_at: float) -> Frame:
    header, body, theirs = channel.receive(min(time.monotonic() + PATIENCE, give_up_at))
    if theirs != nonce:
        raise Unforeseen
    return header, body
