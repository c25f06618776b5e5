"""Starts a thread that outlives the call."""

import threading
import time
from contextlib import suppress


def softmax(x, axis=-1):  # noqa: ARG001 - the signature is the kata's
    with suppress(RuntimeError):
        threading.Thread(target=time.sleep, args=(1,), daemon=True).start()
        print("GOT THROUGH: a thread was started")
    return x
