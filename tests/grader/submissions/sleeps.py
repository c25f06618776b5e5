"""Sleeps forever."""

import time


def softmax(x, axis=-1):  # noqa: ARG001 - the signature is the kata's
    time.sleep(10_000)
