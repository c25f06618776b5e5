"""Raises exceptions that `except Exception` does not catch."""


def softmax(x, axis=-1):  # noqa: ARG001 - the signature is the kata's
    raise KeyboardInterrupt
