"""Changes the permissions and times of the course's files."""

import os
from contextlib import suppress

CHANGES = [
    lambda path: os.chmod(path, 0o777),
    lambda path: os.utime(path, (0, 0)),
    lambda path: os.setxattr(path, "user.grade", b"10"),
    lambda path: os.chown(path, os.getuid(), os.getgid()),
]


def softmax(x, axis=-1):  # noqa: ARG001 - the signature is the kata's
    for change in CHANGES:
        with suppress(OSError):
            change("@COURSE@/exercises/attention/softmax.py")
            print("GOT THROUGH: a file of the course was changed")
    return x
