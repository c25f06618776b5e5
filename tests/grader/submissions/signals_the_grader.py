"""Sends signals to the grader and to its parent process, and changes their limits and priorities."""

import fcntl
import os
import resource
import signal
from contextlib import suppress

GRADER = int("@GRADER@")


def softmax(x, axis=-1):  # noqa: ARG001 - the signature is the kata's
    for pid in (GRADER, os.getppid()):
        for send in (os.kill, os.killpg):
            with suppress(OSError):
                send(pid, signal.SIGCONT)
                print("GOT THROUGH: a signal was sent")
        with suppress(OSError, ValueError, OverflowError):
            resource.prlimit(pid, resource.RLIMIT_CORE, (0, 0))
            print("GOT THROUGH: a limit was set")
        with suppress(OSError):
            os.setpriority(os.PRIO_PROCESS, pid, 19)
            print("GOT THROUGH: the grader was slowed down")
        for fd in range(1, 8):
            with suppress(OSError):
                fcntl.fcntl(fd, fcntl.F_SETOWN, pid)
                print("GOT THROUGH: a signal was ordered")
    return x
