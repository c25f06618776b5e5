"""The layers of the sandbox in the order in which a worker puts them on."""

from __future__ import annotations

import contextlib
import json
import os
from dataclasses import asdict, dataclass
from typing import Any

from grader.worker.sandbox import landlock, limits, opened, privacy, seccomp, system

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
class InForce:
    """Which protections really hold in this worker. `gpu` says that what CUDA needs was left open."""

    process: bool = True
    landlock_abi: int = 0
    seccomp: bool = False
    limits: bool = False
    gpu: bool = False

    def as_dict(self) -> dict[str, Any]:
        return asdict(self)


def lock_in(terms: Terms) -> InForce:
    """Put on every layer that is asked for and that this kernel has, and say which."""
    wanted = terms.layers
    limited = "limits" in wanted and limits.restrict(terms.gpu)
    if not system.LINUX:
        return InForce(limits=limited, gpu=terms.gpu)
    if "capabilities" in wanted:
        with contextlib.suppress(OSError):
            privacy.drop_capabilities()
    if "dumpable" in wanted:
        privacy.hide()
    if "landlock" in wanted or "seccomp" in wanted:
        system.no_new_privileges()
    abi = _landlocked(terms) if "landlock" in wanted else 0
    return InForce(True, abi, "seccomp" in wanted and _filtered(terms.gpu), limited, terms.gpu)


def _landlocked(terms: Terms) -> int:
    """The version of Landlock that holds from here on, 0 for none."""
    abi = landlock.version()
    if abi:
        try:
            landlock.restrict(opened.allowed(terms.scratch, terms.gpu), abi)
        except OSError:  # a container's own filter may refuse it
            return 0
    return abi


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
