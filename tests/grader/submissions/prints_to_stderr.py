"""Writes a gigabyte to standard error."""

import os


def softmax(x, axis=-1):  # noqa: ARG001 - the signature is the kata's
    for _ in range(2**10):
        os.write(2, b"x" * 2**20)
    return x
