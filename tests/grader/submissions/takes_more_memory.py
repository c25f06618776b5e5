"""Allocates four times the allowed memory without using it."""

import mmap


def softmax(x, axis=-1):  # noqa: ARG001 - the signature is the kata's
    kept = [mmap.mmap(-1, 2**30) for _ in range(8)]
    print("GOT THROUGH: took", sum(map(len, kept)), "bytes")
    return x
