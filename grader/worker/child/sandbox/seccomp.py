"""Filter the system calls that Landlock does not cover: they fail with EPERM, and the process goes on.

The filter is a binary search over the number of the call, about fifteen steps deep. The kernel caches which
calls are always allowed, so that reading and writing do not become slower.
"""

from __future__ import annotations

import ctypes
import errno
import os
import struct
from functools import cache

from grader.worker.child.sandbox.syscalls import (
    CONDITIONAL,
    GPU,
    MACHINES,
    NEVER,
    NEVER_IN_TESTS,
    NEWEST,
    PRETENDED,
)
from grader.worker.protocol import system_calls

ARCHITECTURES = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}
SET_FILTER, ALL_THREADS, NO_SLOWDOWN = 1, 1, 4

LOAD, JUMP, RETURN, AND = 0x20, 0x05, 0x06, 0x54
IF_EQUAL, IF_AT_LEAST, IF_ANY_BIT = 0x15, 0x35, 0x45
NUMBER, ARCHITECTURE, FIRST_ARGUMENT = 0, 4, 16

ALLOW = 0x7FFF0000
REFUSE = 0x00050000 | errno.EPERM
SUCCEED = 0x00050000  # without being made
UNKNOWN = 0x00050000 | errno.ENOSYS  # libraries then fall back to an older call

AF_UNIX = 1
CLONE_THREAD = 0x10000
CLONE_NAMESPACES = 0x7E020080
FUTEX_PRIVATE = 0x80
CLOCK_OF_A_PROCESS = 0x80000000
#: The commands of `fcntl` that are allowed. All others are refused: locks, leases and notices, by which two
#: workers could exchange numbers over a library's file, signals by order of the kernel, the sizes of pipes,
#: which all processes of a user share, and hints that stay with a file.
FCNTL = {
    "F_DUPFD": 0,  # another number for a descriptor of one's own
    "F_GETFD": 1,  # whether a program that is started gets the descriptor
    "F_SETFD": 2,
    "F_GETFL": 3,  # how a file was opened
    "F_SETFL": 4,  # whether reading waits; no two workers share an open file
    "F_DUPFD_CLOEXEC": 1030,  # what os.dup uses
    "F_GETPIPE_SZ": 1032,  # reads only
}
#: Seals of files in memory, which CUDA's driver makes.
FCNTL_GPU = {"F_ADD_SEALS": 1033, "F_GET_SEALS": 1034}
#: Locks, which databases use: the tests of a homework share their files with nobody.
FCNTL_TESTS = {
    "F_GETLK": 5, "F_SETLK": 6, "F_SETLKW": 7, "F_OFD_GETLK": 36, "F_OFD_SETLK": 37, "F_OFD_SETLKW": 38,
}  # fmt: skip
#: The commands of `ioctl` that are allowed. All others are refused, such as those that set the flags of a
#: file, which Landlock does not restrict.
IOCTL = {
    "TCGETS": 0x5401,  # whether a descriptor is a terminal
    "TCGETS2": 0x802C542A,  # the same, since glibc 2.42
    "TIOCGWINSZ": 0x5413,  # the size of a terminal
    "FIONREAD": 0x541B,  # how much can be read
    "FIONBIO": 0x5421,  # whether reading waits: os.set_blocking
    "FIONCLEX": 0x5450,  # whether a program that is started gets the descriptor: os.set_inheritable
    "FIOCLEX": 0x5451,
    "FICLONE": 0x40049409,  # copies into a file that is open for writing: shutil and pathlib
}
#: What the tests of a homework do with a terminal that they open themselves.
IOCTL_TESTS = {
    "TCSETS": 0x5402, "TCSETSW": 0x5403, "TCSETSF": 0x5404, "TIOCGPGRP": 0x540F, "TIOCSWINSZ": 0x5414,
    "TIOCGPTN": 0x80045430, "TIOCSPTLCK": 0x40045431, "TIOCGPTPEER": 0x5441,
}  # fmt: skip
#: The kinds of commands of CUDA's devices, which are the second byte of a command: F of the driver, m of its
#: display, G of WSL. The commands of unified memory are numbers below 256, and these two.
IOCTL_GPU_KINDS = (0x46, 0x6D, 0x47)
IOCTL_GPU = {"UVM_INITIALIZE": 0x30000001, "UVM_DEINITIALIZE": 0x30000002}
#: These could undo the worker's own protections.
PRCTL = {"PR_SET_PDEATHSIG": 1, "PR_SET_DUMPABLE": 4, "PR_SET_MM": 35, "PR_SET_PTRACER": 0x59616D61}

_MYSELF = 0x5EC0BEEF  # a placeholder for the worker's process id

Instruction = tuple[int, int, int, int]  # code, steps if true, steps if false, constant


def available() -> bool:
    """True if there is a filter for this machine."""
    return system_calls.LINUX and system_calls.MACHINE in ARCHITECTURES


def restrict(*, gpu: bool = False, tests: bool = False) -> None:
    """Install the filter in this process: that of a submission, or of a homework's tests. Raises OSError."""
    code, filter_, mine = prepared(gpu=gpu, tests=tests)
    for position in mine:
        struct.pack_into("=I", code, position, os.getpid())
    number = CONDITIONAL["seccomp"][MACHINES[system_calls.MACHINE]]
    assert number is not None
    try:
        system_calls.call(number, SET_FILTER, ALL_THREADS | NO_SLOWDOWN, filter_)
    except OSError as error:
        if error.errno != errno.EINVAL:  # a kernel before 4.17 does not know the second flag
            raise
        system_calls.call(number, SET_FILTER, ALL_THREADS, filter_)


Buffer = ctypes.Array[ctypes.c_char]


@cache
def prepared(*, gpu: bool, tests: bool = False) -> tuple[Buffer, Buffer, tuple[int, ...]]:
    """Return the filter's code, the structure for the kernel that points to it, and the offsets in the code
    where the process id must be written."""
    steps = program(system_calls.MACHINE, gpu=gpu, tests=tests)
    mine = tuple(8 * i + 4 for i, (*_, value) in enumerate(steps) if value == _MYSELF)
    packed = b"".join(struct.pack("=HBBI", *step) for step in steps)
    code = ctypes.create_string_buffer(packed, len(packed))
    header = struct.pack("=HxxxxxxQ", len(steps), ctypes.addressof(code))
    return code, ctypes.create_string_buffer(header, len(header)), mine


def program(machine: str, *, gpu: bool = False, tests: bool = False) -> list[Instruction]:
    """Return the instructions of the filter for a machine."""
    head: list[Instruction] = [
        (LOAD, 0, 0, ARCHITECTURE),
        (IF_EQUAL, 1, 0, ARCHITECTURES[machine]),
        (RETURN, 0, 0, REFUSE),
        (LOAD, 0, 0, NUMBER),
    ]
    decided = _in_tests(MACHINES[machine]) if tests else _decisions(MACHINES[machine], gpu=gpu)
    return head + _search(_intervals(decided))


def _decisions(column: int, *, gpu: bool) -> dict[int, list[Instruction]]:
    """Return the instructions for each call that is not always allowed, by its number."""
    refused = NEVER if gpu else {**NEVER, **GPU}
    numbers = {numbers[column] for numbers in refused.values()} - {None}
    decided: dict[int, list[Instruction]] = {n: [(RETURN, 0, 0, REFUSE)] for n in numbers if n is not None}
    for name, steps in _conditional(gpu=gpu).items():
        number = CONDITIONAL[name][column]
        assert number is not None
        decided[number] = steps
    return decided


def _in_tests(column: int) -> dict[int, list[Instruction]]:
    """Return the instructions for each call that tests may not always make, by its number. Landlock keeps
    their signals among themselves."""
    decided: dict[int, list[Instruction]] = {}
    for name, numbers in NEVER_IN_TESTS.items():
        if (number := numbers[column]) is not None:
            decided[number] = [(RETURN, 0, 0, SUCCEED if name in PRETENDED else REFUSE)]
    namespaces = [_load_argument(0), (IF_ANY_BIT, 0, 1, CLONE_NAMESPACES), (RETURN, 0, 0, REFUSE)]
    steps = {
        **_conditional(gpu=False),
        "clone": [*namespaces, (RETURN, 0, 0, ALLOW)],
        "fcntl": _only(1, {**FCNTL, **FCNTL_TESTS}),
        "ioctl": _only(1, {**IOCTL, **IOCTL_TESTS}),
    }
    for name in ("clone", "clone3", "prlimit64", "prctl", "fcntl", "ioctl"):
        number = CONDITIONAL[name][column]
        assert number is not None
        decided[number] = steps[name]
    return decided


def _conditional(*, gpu: bool) -> dict[str, list[Instruction]]:
    """Return the instructions for the calls that depend on an argument. Only CUDA may start threads, and make
    sockets of this machine, which it can neither connect nor accept."""
    to_myself = [_load_argument(0), (IF_EQUAL, 0, 1, _MYSELF), (RETURN, 0, 0, ALLOW), (RETURN, 0, 0, REFUSE)]
    signals = ("kill", "tkill", "tgkill", "rt_sigqueueinfo", "rt_tgsigqueueinfo")
    threads = [_load_argument(0), (IF_ANY_BIT, 0, 1, CLONE_THREAD), (RETURN, 0, 0, ALLOW)]
    local = [_load_argument(0), (IF_EQUAL, 0, 1, AF_UNIX), (RETURN, 0, 0, ALLOW)]
    within = [_load_argument(1), (IF_ANY_BIT, 1, 0, FUTEX_PRIVATE), (RETURN, 0, 0, REFUSE)]
    clocks = ("clock_gettime", "clock_getres", "clock_nanosleep", "timer_create")
    own = [_load_argument(0), (IF_AT_LEAST, 0, 1, CLOCK_OF_A_PROCESS), (RETURN, 0, 0, REFUSE)]
    own += [(RETURN, 0, 0, ALLOW)]
    return {
        **dict.fromkeys(signals, to_myself),
        **dict.fromkeys(clocks, own),
        "clone": [*(threads if gpu else []), (RETURN, 0, 0, REFUSE)],
        "clone3": [(RETURN, 0, 0, UNKNOWN)],
        "socket": [*(local if gpu else []), (RETURN, 0, 0, REFUSE)],
        "prlimit64": _only_to_read(),
        "prctl": _unless(0, PRCTL),
        "futex": [*([] if gpu else within), (RETURN, 0, 0, ALLOW)],
        "fcntl": _only(1, {**FCNTL, **(FCNTL_GPU if gpu else {})}),
        "ioctl": [*(_of_cuda() if gpu else []), *_only(1, IOCTL)],
    }


def _load_argument(position: int) -> Instruction:
    """Load the lower half of an argument, which is all that the kernel uses in these calls."""
    return LOAD, 0, 0, FIRST_ARGUMENT + 8 * position


def _unless(position: int, refused: dict[str, int]) -> list[Instruction]:
    """Allow the call unless the argument has one of the refused values."""
    steps: list[Instruction] = [_load_argument(position)]
    for value in refused.values():
        steps += [(IF_EQUAL, 0, 1, value), (RETURN, 0, 0, REFUSE)]
    return [*steps, (RETURN, 0, 0, ALLOW)]


def _only(position: int, allowed: dict[str, int]) -> list[Instruction]:
    """Refuse the call unless the argument has one of the allowed values."""
    steps: list[Instruction] = [_load_argument(position)]
    for value in allowed.values():
        steps += [(IF_EQUAL, 0, 1, value), (RETURN, 0, 0, ALLOW)]
    return [*steps, (RETURN, 0, 0, REFUSE)]


def _of_cuda() -> list[Instruction]:
    """Allow the commands of `ioctl` that CUDA's devices have."""
    steps: list[Instruction] = [_load_argument(1)]
    for value in IOCTL_GPU.values():
        steps += [(IF_EQUAL, 0, 1, value), (RETURN, 0, 0, ALLOW)]
    steps += [(IF_AT_LEAST, 1, 0, 1 << 8), (RETURN, 0, 0, ALLOW), (AND, 0, 0, 0xFF00)]
    for kind in IOCTL_GPU_KINDS:
        steps += [(IF_EQUAL, 0, 1, kind << 8), (RETURN, 0, 0, ALLOW)]
    return steps


def _only_to_read() -> list[Instruction]:
    """Allow `prlimit64` only to read this process's own limits (pid 0, no new limit)."""
    asks = [(_load_argument(0), 0), (_load_argument(2), 0), ((LOAD, 0, 0, FIRST_ARGUMENT + 20), 0)]
    steps = [step for load, value in asks for step in (load, (IF_EQUAL, 1, 0, value), (RETURN, 0, 0, REFUSE))]
    return [*steps, (RETURN, 0, 0, ALLOW)]


def _intervals(decided: dict[int, list[Instruction]]) -> list[tuple[int, list[Instruction]]]:
    """Group consecutive call numbers with the same instructions; return each group's first number."""
    allow: list[Instruction] = [(RETURN, 0, 0, ALLOW)]
    found: list[tuple[int, list[Instruction]]] = []
    for number in range(NEWEST + 1):
        steps = decided.get(number, allow)
        if not found or found[-1][1] != steps:
            found.append((number, steps))
    return [*found, (NEWEST + 1, [(RETURN, 0, 0, UNKNOWN)])]


def _search(intervals: list[tuple[int, list[Instruction]]]) -> list[Instruction]:
    """Return the instructions of a binary search for the interval that contains the number."""
    if len(intervals) == 1:
        return intervals[0][1]
    middle = len(intervals) // 2
    below, above = _search(intervals[:middle]), _search(intervals[middle:])
    return [(IF_AT_LEAST, 0, 1, intervals[middle][0]), (JUMP, 0, 0, len(below)), *below, *above]
