"""Fuzz the decoding of frames with atheris, which looks for bytes that reach new branches of the code.

    python tests/grader/fuzzing.py [-atheris_runs=100000] [other options of libFuzzer]

It stops at the first bytes that raise an unexpected error, take more than a second, or need more memory than
the limit. `make fuzz` runs it if atheris can be installed, after `test_fuzz.py`, which needs no extra
packages.
"""

import contextlib
import sys
import tempfile
from pathlib import Path

import atheris

with atheris.instrument_imports(include=["grader.worker", "json"]):
    from grader.expect import SubmissionFailed
    from grader.values.comparison import Tolerance, first_difference
    from grader.values.formatting import LIMIT, describe_type, show
    from grader.worker.child.executor import Executor
    from grader.worker.child.main import Worker
    from grader.worker.client import WorkerLost, unwrap
    from grader.worker.protocol.codec import MAX_BODY, MAX_HEADER, Malformed, decode, encode

MEMORY = "-rss_limit_mb=512"
RUNS = "-atheris_runs=100000"
#: Valid headers as a seed corpus, which libFuzzer mutates.
SEEDS = (
    b'[{"d":[["ok",{"d":[["value",{"a":0}],["arguments",null]]}]]},[["float32",[2],null]]]',
    b'[{"d":[["error",{"d":[["kinds",["E"]],["message","m"],["line",3]]}]]},[]]',
    b'[{"d":[["call",{"d":[["name","f"],["args",[{"t":[1,{"s":0}]}]]]}]]},[["int8",[],null]]]',
    b'[{"d":[["ok",{"d":[["value",{"a":0}],["flops",0]]}]]},[["float32",[1048576,0],null]]]',
    b'[{"d":[["ok",{"d":[[2305843009213693951,0],[4611686018427387902,{"p":["int8",[1],"d"]}]]}]]},[]]',
    b'[{"d":[["ok",[[[[[[[[{"t":[' + b"1," * 500 + b"""1]}]]]]]]]]]]},[]]""",
    b'[{"d":[["callback",0],["args",[{"h":[1,"T",true]},{"c":0},{"p":["f",[1],"d"]}]]]},[]]',
)


class Functions:
    """A stand-in for a loaded submission: its functions return their arguments."""

    @staticmethod
    def f(*args, **kwargs):
        return args, kwargs


def reads_or_refuses(data):
    """Decode a header and a body, cut from one byte string, as a grader and as a worker would."""
    header, _, body = data.partition(b"\0\0")
    if len(header) > MAX_HEADER or len(body) > MAX_BODY:
        return
    try:
        message = decode(header, bytearray(body))
    except Malformed:
        return
    with contextlib.suppress(Malformed):
        encode(message)
    assert max(len(show(message)), len(describe_type(message))) <= 3 * LIMIT
    first_difference(message, message, Tolerance())
    with contextlib.suppress(WorkerLost, SubmissionFailed):
        unwrap(message)
    worker = Worker(channel=None, device="cpu")
    worker.executor = Executor(Functions)
    assert worker._answer(message)[0].keys() in ({"ok"}, {"error"})


def main():
    with tempfile.TemporaryDirectory() as corpus:
        for number, seed in enumerate(SEEDS):
            Path(corpus, str(number)).write_bytes(seed + b"\0\0" + bytes(8))
        options = [sys.argv[0], MEMORY, "-timeout=1", "-max_len=4096", RUNS, *sys.argv[1:], corpus]
        atheris.Setup(options, reads_or_refuses)
        atheris.Fuzz()


if __name__ == "__main__":
    main()
