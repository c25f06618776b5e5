"""Allocates memory until there is none left."""


def softmax(x, axis=-1):  # noqa: ARG001 - the signature is the kata's
    kept = []
    while True:
        kept.append(bytearray(2**26))
