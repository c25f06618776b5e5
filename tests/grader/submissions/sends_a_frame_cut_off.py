"""Announces a frame and sends only half of it."""

import gc
import os
import struct

from grader.worker.child.main import Worker

WORKER = next(thing for thing in gc.get_objects() if isinstance(thing, Worker))


def softmax(x, axis=-1):  # noqa: ARG001 - the signature is the kata's
    os.write(WORKER.channel.writer, struct.pack(">4sIQQ", b"DOJO", 100, 100, WORKER.nonce) + b"[")
    os._exit(0)
