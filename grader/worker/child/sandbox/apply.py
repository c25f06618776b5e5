"""The layers of the sandbox in the order in which a worker puts them on."""

from __future__ import annotations

import contextlib
import json
import os
import tempfile
from dataclasses import asdict, dataclass
from functools import cache
from typing import Any

from grader.worker.child.sandbox import allowed_paths, hardening, landlock, limits, seccomp, system, threads

#: Each can be left out, which is how the tests find out what it is good for.
ALL = ("environment", "descriptors", "dumpable", "capabilities", "limits", "landlock", "seccomp")
KERNEL = ("dumpable", "capabilities", "landlock", "seccomp")
ISOLATION = {
    "required": ALL,
    "best": ALL,
    "none": tuple(layer for layer in ALL if layer not in KERNEL),
}


@dataclass(frozen=True)
class Terms:
    """How a worker is to be locked in: for which device, by which layers, with which folder."""

    device: str = "cpu"
    layers: tuple[str, ...] = ALL
    scratch: str = ""

    @property
    def gpu(self) -> bool:
        return self.device != "cpu"

    def message(self) -> bytes:
        """The terms as bytes, on their way to a worker."""
        return json.dumps(asdict(self)).encode()


def read_terms(message: bytes) -> Terms:
    """The inverse of `Terms.message`."""
    said = json.loads(message)
    return Terms(said["device"], tuple(said["layers"]), said["scratch"])


@dataclass(frozen=True)
class SandboxState:
    """Which protections really hold in this worker. `gpu` says that what CUDA needs was left open."""

    process: bool = True
    landlock_abi: int = 0
    seccomp: bool = False
    limits: bool = False
    gpu: bool = False

    def as_dict(self) -> dict[str, Any]:
        return asdict(self)


def prepare(wanted: tuple[str, ...]) -> None:
    """What forked workers inherit is done once, in the warm server that forks them."""
    if "environment" in wanted:
        hardening.forget_environment()
    if "dumpable" in wanted:
        hardening.hide()
    if "limits" in wanted:
        limits.prepare()
    if "capabilities" in wanted:
        with contextlib.suppress(OSError):
            hardening.drop_capabilities()
    if "landlock" in wanted or "seccomp" in wanted:
        system.no_new_privileges()
    threads.do_without()
    allowed_paths.always()
    if seccomp.available():
        seccomp.prepared(False)


def lock_in(terms: Terms) -> SandboxState:
    """Put on what a worker does not inherit, as far as this kernel has it, and say what holds."""
    limited = "limits" in terms.layers and limits.restrict(terms.gpu)
    abi = _landlocked(terms) if "landlock" in terms.layers else 0
    filtered = "seccomp" in terms.layers and _filtered(terms.gpu)
    return SandboxState(landlock_abi=abi, seccomp=filtered, limits=limited, gpu=terms.gpu)


def _landlocked(terms: Terms) -> int:
    """The version of Landlock that holds from here on, 0 for none."""
    abi = _version()
    if abi:
        try:
            landlock.restrict(allowed_paths.allowed(terms.scratch, terms.gpu), abi)
        except OSError:  # a container's own filter may refuse it
            return 0
    return abi


@cache
def _version() -> int:
    return landlock.version()


def _filtered(gpu: bool) -> bool:
    """Whether the filter of system calls holds."""
    if not seccomp.available():
        return False
    try:
        seccomp.restrict(gpu)
    except OSError:
        return False
    return True


def use_scratch(folder: str) -> None:
    """Work, and keep temporary files, in that folder."""
    os.chdir(folder)
    os.environ.update(HOME=folder, TMPDIR=folder)
    tempfile.tempdir = folder  # the grader may have asked already, and kept the answer
