"""Starts a process that outlives its check."""

import os
import subprocess
import time
from contextlib import suppress

STARTED = []


def softmax(x, axis=-1):  # noqa: ARG001 - the signature is the kata's
    if STARTED:
        return x
    STARTED.append(True)
    with suppress(OSError):
        subprocess.Popen(["/bin/sleep", "20"], start_new_session=True)
        print("GOT THROUGH: a program was started")
    with suppress(OSError):
        if os.fork() == 0:
            os.setsid()
            time.sleep(20)
            os._exit(0)
        print("GOT THROUGH: a process was started")
    return x
