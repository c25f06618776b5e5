"""Announces a frame and sends only half of it."""

import os
import struct

KIND = next(kind for kind in object.__subclasses__() if kind.__name__ == "Worker")
WORKERS = []


def _answer(self, message, answer=KIND._answer):
    WORKERS.append(self)
    return answer(self, message)


KIND._answer = _answer


def softmax(x, axis=-1):  # noqa: ARG001 - the signature is the kata's
    os.write(WORKERS[-1].channel.writer, struct.pack(">4sIQQ", b"DOJO", 100, 100, WORKERS[-1].nonce) + b"[")
    os._exit(0)
