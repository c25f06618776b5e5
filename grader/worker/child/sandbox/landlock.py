"""Landlock: what of the file system, the network and other processes is left to this process.

The kernel is asked which version it has; every version adds something to take away.
"""

from __future__ import annotations

import ctypes
import os
from collections.abc import Iterable

from grader.worker.child.sandbox import system

CREATE_RULESET, ADD_RULE, RESTRICT_SELF = 444, 445, 446
ASK_FOR_VERSION, PATH_BENEATH = 1, 1

EXECUTE, WRITE_FILE, READ_FILE, READ_DIR = 1, 2, 4, 8
REMOVE_DIR, REMOVE_FILE, MAKE_DIR, MAKE_REG = 1 << 4, 1 << 5, 1 << 7, 1 << 8
TRUNCATE, IOCTL_DEV = 1 << 14, 1 << 15
ABOUT_FILES = EXECUTE | WRITE_FILE | READ_FILE | TRUNCATE | IOCTL_DEV

READ = READ_FILE | READ_DIR
WRITE = READ | WRITE_FILE | TRUNCATE
#: In the scratch folder files and folders may be made and removed; links, pipes and sockets may not.
SCRATCH = WRITE | MAKE_REG | MAKE_DIR | REMOVE_FILE | REMOVE_DIR
DEVICE = READ_FILE | WRITE_FILE | IOCTL_DEV

TCP = 3  # bind and connect
ABSTRACT_SOCKETS_AND_SIGNALS = 3
LOG_NOTHING = 1  # a submission that tries a thousand doors must not fill the machine's audit log


class _Ruleset(ctypes.Structure):
    _fields_ = [
        ("files", ctypes.c_uint64),
        ("network", ctypes.c_uint64),
        ("scoped", ctypes.c_uint64),
    ]  # as ctypes wants it


class _PathBeneath(ctypes.Structure):
    _pack_ = 1
    _fields_ = [("allowed", ctypes.c_uint64), ("parent", ctypes.c_int32)]  # as ctypes wants it


def version() -> int:
    """The kernel's version of Landlock; 0 where it has none, or where it is switched off."""
    if not system.LINUX:
        return 0
    try:
        return system.call(CREATE_RULESET, None, 0, ASK_FOR_VERSION)
    except OSError:
        return 0


def handled(abi: int) -> tuple[int, int, int]:
    """All that this version can take away: of files, of the network, of other processes."""
    files = (1 << 13) - 1
    files |= 1 << 13 if abi >= 2 else 0  # moving and linking files from folder to folder
    files |= TRUNCATE if abi >= 3 else 0
    files |= IOCTL_DEV if abi >= 5 else 0
    return files, TCP if abi >= 4 else 0, ABSTRACT_SOCKETS_AND_SIGNALS if abi >= 6 else 0


def restrict(allowed: Iterable[tuple[str, int]], abi: int) -> None:
    """Take everything away from this thread but `allowed`: pairs of a path and rights, of which a file has
    those ABOUT_FILES alone. Raises OSError."""
    files, network, scoped = handled(abi)
    attributes = _Ruleset(files, network, scoped)
    size = 8 if abi < 4 else 16 if abi < 6 else 24
    ruleset = system.call(CREATE_RULESET, ctypes.byref(attributes), size, 0)
    try:
        for path, rights in allowed:
            _allow(ruleset, path, rights & files)
        system.call(RESTRICT_SELF, ruleset, LOG_NOTHING if abi >= 7 else 0)
    finally:
        os.close(ruleset)


def _allow(ruleset: int, path: str, rights: int) -> None:
    """One path and all that lies beneath; what is not there needs no rule."""
    try:
        parent = os.open(path, os.O_PATH | os.O_CLOEXEC)
    except OSError:
        return
    try:
        system.call(ADD_RULE, ruleset, PATH_BENEATH, ctypes.byref(_PathBeneath(rights, parent)), 0)
    finally:
        os.close(parent)
