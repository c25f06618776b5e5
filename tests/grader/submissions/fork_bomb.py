"""Starts processes that start more processes."""

import os
import time
from contextlib import suppress


def softmax(x, axis=-1):  # noqa: ARG001 - the signature is the kata's
    for _ in range(6):
        with suppress(OSError):
            if os.fork() == 0:
                time.sleep(0.2)
            else:
                print("GOT THROUGH: a process was started")
    return x
