"""Loops in C code that never releases the GIL."""


def softmax(x, axis=-1):  # noqa: ARG001 - the signature is the kata's
    return sum(range(10**15))
