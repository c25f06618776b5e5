"""Calls itself until the stack ends."""


def softmax(x, axis=-1):
    return softmax(x, axis)
