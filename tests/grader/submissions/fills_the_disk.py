"""Writes a file of 64 MiB."""

import os


def softmax(x, axis=-1):  # noqa: ARG001 - the signature is the kata's
    if os.path.exists("large"):
        return x
    with open("large", "wb") as file:
        for _ in range(64):
            file.write(bytes(2**20))
            file.flush()
    print("GOT THROUGH: wrote 64 MiB")
    return x
