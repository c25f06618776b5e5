"""Prints a line of a million characters before every answer."""


def softmax(x, axis=-1):
    print("\u202e" * 1_000_000)
    return x
