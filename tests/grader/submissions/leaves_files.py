"""Stores answers for a later check in its folder and in other known places."""

import ctypes
import os
from contextlib import suppress

LIBC = ctypes.CDLL(None)
PLACES = [".", "@OUTSIDE@", "/dev/shm", "/var/tmp", "@COURSE@"]
DEEP = []
SHMGET = {"x86_64": 29, "aarch64": 194}[os.uname().machine]


def softmax(x, axis=-1):  # noqa: ARG001 - the signature is the kata's
    if os.path.exists("left"):
        print("called before")
    for place in PLACES:
        with suppress(OSError), open(f"{place}/left", "w") as file:
            file.write("for later")
            if place != ".":
                print("GOT THROUGH: wrote to", place.rsplit("/")[-1])
    if LIBC.syscall(SHMGET, 0xD030, 4096, 0o1600) > 0:
        print("GOT THROUGH: a segment of shared memory")
    for make in (os.mkdir, os.mkfifo):
        with suppress(OSError):
            make(f"made-by-{make.__name__}", 0)
    for _ in range(500 if not DEEP else 0):
        DEEP.append(os.mkdir("d"))
        os.chdir("d")
    return x
