"""Says that its answer lies in the memory it shares with the grader, shrinks that memory, rewrites it."""

import gc
import os

from grader.worker import channel
from grader.worker.child import Worker
from grader.worker.codec import MAX_BODY

WORKER = next(thing for thing in gc.get_objects() if isinstance(thing, Worker))
HEADER = b'[{"d":[["ok",{"d":[["value",{"a":0}]]}]]},[["float64",[8388608],null]]]'


def softmax(x, axis=-1):  # noqa: ARG001 - the signature is the kata's
    window = WORKER.channel.window
    for descriptor in range(3, 64):
        try:
            assert os.fstat(descriptor).st_size == MAX_BODY
            os.ftruncate(descriptor, 0)
            print("GOT THROUGH: the shared memory was shrunk")
        except (OSError, AssertionError):
            continue
    window.memory[:8] = b"\xff" * 8
    prefix = channel.PREFIX.pack(channel.BESIDE, len(HEADER), MAX_BODY, WORKER.nonce)
    os.write(WORKER.channel.writer, prefix + HEADER)
    return x
