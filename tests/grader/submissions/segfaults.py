"""Reads address 0."""

import ctypes


def softmax(x, axis=-1):  # noqa: ARG001 - the signature is the kata's
    return ctypes.string_at(0)
