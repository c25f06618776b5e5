"""Announces a frame and sends only half of it."""

import os
import struct
import sys

FRAME = sys._getframe()
while type(FRAME.f_locals.get("self")).__name__ != "Worker":
    FRAME = FRAME.f_back
WORKER = FRAME.f_locals["self"]


def softmax(x, axis=-1):  # noqa: ARG001 - the signature is the kata's
    os.write(WORKER.channel.writer, struct.pack(">4sIQQ", b"DOJO", 100, 100, WORKER.nonce) + b"[")
    os._exit(0)
