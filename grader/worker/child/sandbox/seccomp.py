"""A filter of system calls: what Landlock does not cover is refused with EPERM, and nobody is killed.

The program is a binary search over the number of the call, some fifteen steps deep; the kernel
remembers the calls that are always allowed, so that reading and writing cost nothing more.
"""

from __future__ import annotations

import ctypes
import errno
import os
import struct
from functools import cache

from grader.worker.child.sandbox import system
from grader.worker.child.sandbox.syscalls import ASKED, GPU, MACHINES, NEVER, NEWEST

ARCHITECTURES = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}
SET_FILTER, ALL_THREADS, NO_SLOWDOWN = 1, 1, 4

LOAD, JUMP, RETURN = 0x20, 0x05, 0x06
IF_EQUAL, IF_AT_LEAST, IF_ANY_BIT = 0x15, 0x35, 0x45
NUMBER, ARCHITECTURE, FIRST_ARGUMENT = 0, 4, 16

ALLOW = 0x7FFF0000
REFUSE = 0x00050000 | errno.EPERM
UNKNOWN = 0x00050000 | errno.ENOSYS  # a library takes an older call instead

CLONE_THREAD = 0x10000
#: Who gets a signal when a descriptor is ready can be set to anybody; leases and notices are of no use.
FCNTL = {"F_SETOWN": 8, "F_SETSIG": 10, "F_SETOWN_EX": 15, "F_SETLEASE": 1024, "F_NOTIFY": 1026}
IOCTL = {
    "TIOCSCTTY": 0x540E,
    "TIOCSTI": 0x5412,
    "TIOCLINUX": 0x541C,
    "FIOSETOWN": 0x8901,
    "SIOCSPGRP": 0x8902,
}
#: The worker's own precautions are not the submission's to take back.
PRCTL = {"PR_SET_PDEATHSIG": 1, "PR_SET_DUMPABLE": 4, "PR_SET_MM": 35, "PR_SET_PTRACER": 0x59616D61}

_MYSELF = 0x5EC0BEEF  # stands for the worker's process id until it is known

Instruction = tuple[int, int, int, int]  # code, steps if true, steps if false, constant


def available() -> bool:
    """Whether a filter exists for this machine."""
    return system.LINUX and system.MACHINE in ARCHITECTURES


def restrict(gpu: bool = False) -> None:
    """Refuse this process what no submission needs. Raises OSError."""
    code, filter_, mine = prepared(gpu)
    for position in mine:
        struct.pack_into("=I", code, position, os.getpid())
    number = ASKED["seccomp"][MACHINES[system.MACHINE]]
    assert number is not None
    try:
        system.call(number, SET_FILTER, ALL_THREADS | NO_SLOWDOWN, filter_)
    except OSError as error:
        if error.errno != errno.EINVAL:  # a kernel before 4.17 does not know the second flag
            raise
        system.call(number, SET_FILTER, ALL_THREADS, filter_)


Buffer = ctypes.Array[ctypes.c_char]


@cache
def prepared(gpu: bool) -> tuple[Buffer, Buffer, tuple[int, ...]]:
    """The filter in memory, what the kernel is handed, and where the process id has to be written."""
    steps = program(system.MACHINE, gpu)
    mine = tuple(8 * i + 4 for i, (*_, value) in enumerate(steps) if value == _MYSELF)
    packed = b"".join(struct.pack("=HBBI", *step) for step in steps)
    code = ctypes.create_string_buffer(packed, len(packed))
    handed = struct.pack("=HxxxxxxQ", len(steps), ctypes.addressof(code))
    return code, ctypes.create_string_buffer(handed, len(handed)), mine


def program(machine: str, gpu: bool = False) -> list[Instruction]:
    """The filter, step by step."""
    head: list[Instruction] = [
        (LOAD, 0, 0, ARCHITECTURE),
        (IF_EQUAL, 1, 0, ARCHITECTURES[machine]),
        (RETURN, 0, 0, REFUSE),
        (LOAD, 0, 0, NUMBER),
    ]
    return head + _search(_intervals(_decisions(MACHINES[machine], gpu)))


def _decisions(column: int, gpu: bool) -> dict[int, list[Instruction]]:
    """What is done about each call that is not plainly allowed, by its number."""
    refused = NEVER if gpu else {**NEVER, **GPU}
    numbers = {numbers[column] for numbers in refused.values()} - {None}
    decided: dict[int, list[Instruction]] = {n: [(RETURN, 0, 0, REFUSE)] for n in numbers if n is not None}
    for name, steps in _asked(gpu).items():
        number = ASKED[name][column]
        assert number is not None
        decided[number] = steps
    return decided


def _asked(gpu: bool) -> dict[str, list[Instruction]]:
    """The calls that are looked at more closely. CUDA needs threads; nothing else does."""
    to_myself = [_load_argument(0), (IF_EQUAL, 0, 1, _MYSELF), (RETURN, 0, 0, ALLOW), (RETURN, 0, 0, REFUSE)]
    signals = ("kill", "tkill", "tgkill", "rt_sigqueueinfo", "rt_tgsigqueueinfo")
    threads = [_load_argument(0), (IF_ANY_BIT, 0, 1, CLONE_THREAD), (RETURN, 0, 0, ALLOW)]
    return {
        **dict.fromkeys(signals, to_myself),
        "clone": [*(threads if gpu else []), (RETURN, 0, 0, REFUSE)],
        "clone3": [(RETURN, 0, 0, UNKNOWN)],
        "prlimit64": _only_to_read(),
        "prctl": _unless(0, PRCTL),
        "fcntl": _unless(1, FCNTL),
        "ioctl": _unless(1, IOCTL),
    }


def _load_argument(position: int) -> Instruction:
    """Its lower half, which is all that the kernel looks at in these calls."""
    return LOAD, 0, 0, FIRST_ARGUMENT + 8 * position


def _unless(position: int, refused: dict[str, int]) -> list[Instruction]:
    """Allowed, unless the argument is one of those."""
    steps: list[Instruction] = [_load_argument(position)]
    for value in refused.values():
        steps += [(IF_EQUAL, 0, 1, value), (RETURN, 0, 0, REFUSE)]
    return [*steps, (RETURN, 0, 0, ALLOW)]


def _only_to_read() -> list[Instruction]:
    """Limits may be asked for, one's own by the name of 0; none may be set, here or elsewhere."""
    asks = [(_load_argument(0), 0), (_load_argument(2), 0), ((LOAD, 0, 0, FIRST_ARGUMENT + 20), 0)]
    steps = [step for load, value in asks for step in (load, (IF_EQUAL, 1, 0, value), (RETURN, 0, 0, REFUSE))]
    return [*steps, (RETURN, 0, 0, ALLOW)]


def _intervals(decided: dict[int, list[Instruction]]) -> list[tuple[int, list[Instruction]]]:
    """First numbers of intervals and what is done in them, in order; neighbours that agree are one."""
    allow: list[Instruction] = [(RETURN, 0, 0, ALLOW)]
    found: list[tuple[int, list[Instruction]]] = []
    for number in range(NEWEST + 1):
        steps = decided.get(number, allow)
        if not found or found[-1][1] != steps:
            found.append((number, steps))
    return [*found, (NEWEST + 1, [(RETURN, 0, 0, UNKNOWN)])]


def _search(intervals: list[tuple[int, list[Instruction]]]) -> list[Instruction]:
    """A binary search for the interval in which the number lies."""
    if len(intervals) == 1:
        return intervals[0][1]
    middle = len(intervals) // 2
    below, above = _search(intervals[:middle]), _search(intervals[middle:])
    return [(IF_AT_LEAST, 0, 1, intervals[middle][0]), (JUMP, 0, 0, len(below)), *below, *above]
