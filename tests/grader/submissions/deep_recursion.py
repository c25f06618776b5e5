"""Calls itself until the stack is full."""


def softmax(x, axis=-1):
    return softmax(x, axis)
