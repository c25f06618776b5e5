"""Apply the layers of the sandbox to a worker, in their order."""

from __future__ import annotations

import contextlib
import os
import tempfile
from functools import cache
from typing import Any

from grader.worker.child.sandbox import allowed_paths, hardening, landlock, limits, seccomp
from grader.worker.protocol import system_calls
from grader.worker.protocol.terms import SandboxTerms


def prepare(wanted: tuple[str, ...]) -> None:
    """Apply the layers that a fork inherits. The fork server does this once for all its workers."""
    if "environment" in wanted:
        hardening.forget_environment()
    if "dumpable" in wanted:
        system_calls.hide_memory()
    if "limits" in wanted:
        limits.prepare()
    if "capabilities" in wanted:
        with contextlib.suppress(OSError):
            hardening.drop_capabilities()
    if "landlock" in wanted or "seccomp" in wanted:
        system_calls.no_new_privileges()
    limits.use_one_thread()
    allowed_paths.always()
    allowed_paths.modules()
    if seccomp.available():
        seccomp.prepared(gpu=False)


def lock_in(terms: SandboxTerms) -> dict[str, Any]:
    """Apply the layers that a worker does not inherit, as far as the kernel has them. Return the protections
    in force, as the fields of `grader.report.Isolation`."""
    limited = "limits" in terms.layers and limits.restrict(terms.memory, gpu=terms.gpu)
    abi = _apply_landlock(terms) if "landlock" in terms.layers else 0
    filtered = "seccomp" in terms.layers and _apply_seccomp(gpu=terms.gpu)
    return {"process": True, "landlock_abi": abi, "seccomp": filtered, "limits": limited, "gpu": terms.gpu}


def _apply_landlock(terms: SandboxTerms) -> int:
    """Restrict the worker by Landlock; return the version that is in force, or 0 if there is none."""
    abi = _version()
    if abi:
        try:
            landlock.restrict(allowed_paths.allowed(terms.scratch, gpu=terms.gpu), abi)
        except OSError:  # the seccomp filter of a container may forbid Landlock
            return 0
    return abi


@cache
def _version() -> int:
    return landlock.version()


def _apply_seccomp(*, gpu: bool) -> bool:
    """Filter system calls; return True if the filter is in force."""
    if not seccomp.available():
        return False
    try:
        seccomp.restrict(gpu=gpu)
    except OSError:
        return False
    return True


def use_scratch(folder: str) -> None:
    """Make `folder` the working directory, the home and the place for temporary files."""
    os.chdir(folder)
    os.environ.update(HOME=folder, TMPDIR=folder)
    tempfile.tempdir = folder  # `tempfile` may have cached another folder already
