"""Restrict a process's access to files, the network and other processes by Landlock.

The kernel reports its version of Landlock; later versions can restrict more.
"""

from __future__ import annotations

import ctypes
import os
from collections.abc import Iterable

from grader.worker.protocol import system_calls

CREATE_RULESET, ADD_RULE, RESTRICT_SELF = 444, 445, 446
ASK_FOR_VERSION, PATH_BENEATH = 1, 1

EXECUTE, WRITE_FILE, READ_FILE, READ_DIR = 1, 2, 4, 8
REMOVE_DIR, REMOVE_FILE, MAKE_DIR, MAKE_REG = 1 << 4, 1 << 5, 1 << 7, 1 << 8
MAKE_SOCKET, MAKE_FIFO, MAKE_LINK, MOVE = 1 << 9, 1 << 10, 1 << 12, 1 << 13
TRUNCATE, IOCTL_DEV = 1 << 14, 1 << 15
ABOUT_FILES = EXECUTE | WRITE_FILE | READ_FILE | TRUNCATE | IOCTL_DEV

READ = READ_FILE | READ_DIR
WRITE = READ | WRITE_FILE | TRUNCATE
#: In the scratch folder files and folders may be made and removed; links, pipes and sockets may not.
SCRATCH = WRITE | MAKE_REG | MAKE_DIR | REMOVE_FILE | REMOVE_DIR
#: In the folder of a homework's tests also links, pipes and sockets, and files move from folder to folder.
OWN = SCRATCH | EXECUTE | MAKE_LINK | MAKE_FIFO | MAKE_SOCKET | MOVE
DEVICE = READ_FILE | WRITE_FILE | IOCTL_DEV

TCP = 3  # bind and connect
ABSTRACT_SOCKETS_AND_SIGNALS = 3
LOG_NOTHING = 1  # a submission with a thousand denied accesses must not fill the machine's audit log


class _Ruleset(ctypes.Structure):
    _fields_ = [
        ("files", ctypes.c_uint64),
        ("network", ctypes.c_uint64),
        ("scoped", ctypes.c_uint64),
    ]


class _PathBeneath(ctypes.Structure):
    _pack_ = 1
    _fields_ = [("allowed", ctypes.c_uint64), ("parent", ctypes.c_int32)]


def version() -> int:
    """Return the kernel's version of Landlock, or 0 if it has none or it is switched off."""
    if not system_calls.LINUX:
        return 0
    try:
        return system_calls.call(CREATE_RULESET, None, 0, ASK_FOR_VERSION)
    except OSError:
        return 0


def handled(abi: int) -> tuple[int, int, int]:
    """Return the rights that this version can restrict, as bit masks: files, network, other processes."""
    files = (1 << 13) - 1
    files |= 1 << 13 if abi >= 2 else 0  # moving and linking files from folder to folder
    files |= TRUNCATE if abi >= 3 else 0
    files |= IOCTL_DEV if abi >= 5 else 0
    return files, TCP if abi >= 4 else 0, ABSTRACT_SOCKETS_AND_SIGNALS if abi >= 6 else 0


def restrict(allowed: Iterable[tuple[str, int]], abi: int) -> None:
    """Restrict this thread to the paths and rights in `allowed`; a file may only have rights in ABOUT_FILES.
    Raises OSError."""
    files, network, scoped = handled(abi)
    attributes = _Ruleset(files, network, scoped)
    size = 8 if abi < 4 else 16 if abi < 6 else 24
    ruleset = system_calls.call(CREATE_RULESET, ctypes.byref(attributes), size, 0)
    try:
        for path, rights in allowed:
            _allow(ruleset, path, rights & files)
        system_calls.call(RESTRICT_SELF, ruleset, LOG_NOTHING if abi >= 7 else 0)
    finally:
        os.close(ruleset)


def _allow(ruleset: int, path: str, rights: int) -> None:
    """Add a rule for a path and everything below it, if it exists."""
    try:
        parent = os.open(path, os.O_PATH | os.O_CLOEXEC)
    except OSError:
        return
    try:
        system_calls.call(ADD_RULE, ruleset, PATH_BENEATH, ctypes.byref(_PathBeneath(rights, parent)), 0)
    finally:
        os.close(parent)
