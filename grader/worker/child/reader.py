"""Run a reader: answer questions about texts until the channel closes. It imports no array library, and runs
nothing that a student wrote."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager

from grader.reading.answers import OF_A_SUBMISSION, Questions, answered
from grader.worker.child.sandbox import apply
from grader.worker.protocol.channel import Channel, ChannelClosed
from grader.worker.protocol.system_calls import die_with_parent
from grader.worker.protocol.terms import read_terms


def answer(
    channel: Channel, header: bytes, body: bytearray, nonce: int, questions: Questions = OF_A_SUBMISSION
) -> None:
    """Answer one of the questions."""
    reply, source = answered(header, bytes(body), ending_after, questions)
    channel.send(reply, [source], nonce)


@contextmanager
def ending_after(seconds: float) -> Iterator[None]:
    """End this process after so many seconds of CPU time in the block. Windows has no such timer:
    there the trusted end waits for a limited time."""
    if hasattr(signal, "setitimer"):
        signal.setitimer(signal.ITIMER_PROF, seconds)
    try:
        yield
    finally:
        if hasattr(signal, "setitimer"):
            signal.setitimer(signal.ITIMER_PROF, 0)


def main() -> None:
    """Start a reader, whose argument is its terms."""
    from grader.reading.lookups import QUESTIONS  # a worker imports this module and needs none of them

    terms = read_terms(sys.argv[1].encode())
    die_with_parent()
    apply.prepare(terms.layers)
    channel = Channel(os.dup(0), os.dup(1))
    nothing = os.open(os.devnull, os.O_RDWR)
    for stream in (0, 1, 2):  # a warning of the parser goes nowhere
        os.dup2(nothing, stream)
    apply.lock_in(terms)
    try:
        while True:
            answer(channel, *channel.receive(), QUESTIONS)
    except ChannelClosed:
        return
