"""Loops forever and ignores all signals that can be ignored."""

import contextlib
import signal


def softmax(x, axis=-1):  # noqa: ARG001 - the signature is the kata's
    for number in signal.valid_signals():
        with contextlib.suppress(OSError, ValueError):
            signal.signal(number, signal.SIG_IGN)
    while True:
        pass
