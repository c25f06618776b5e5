"""List the files that a submission may open: the interpreter, its packages and system libraries."""

from __future__ import annotations

import os
import sys
import sysconfig
from functools import cache

from grader.worker.child.sandbox.landlock import ABOUT_FILES, DEVICE, READ, SCRATCH, WRITE

PACKAGES = ("site-packages", "dist-packages")
#: Shared libraries and time zones; FILES has the linker's cache and the local time zone.
SYSTEM = ("/lib", "/lib64", "/usr/lib", "/usr/lib64", "/usr/local/lib", "/usr/share/zoneinfo", "/nix/store")
FILES = ("/etc/ld.so.cache", "/etc/localtime")
#: Mathematical libraries read the number and the kind of processors when they are first used.
PROCESSOR = ("/proc/cpuinfo", "/proc/meminfo", "/sys/devices/system/cpu")
NOTHING, RANDOM = "/dev/null", "/dev/urandom"
#: Files that CUDA's driver reads about the machine, and its devices.
CUDA_READS = ("/proc/driver/nvidia", "/proc/devices", "/proc/modules", "/sys/bus/pci", "/sys/devices")
CUDA_DEVICES = ("nvidiactl", "nvidia-uvm", "nvidia-uvm-tools", "nvidia-modeset", "nvidia-caps")


@cache
def libraries() -> tuple[str, ...]:
    """Return the folders of the standard library and of installed packages."""
    paths = sysconfig.get_paths()
    own = [paths[name] for name in ("stdlib", "platstdlib", "purelib", "platlib")]
    own += [path for path in sys.path if os.path.basename(path.rstrip("/")) in PACKAGES]
    own += [os.path.join(sys.base_prefix, "lib")] if sys.base_prefix not in ("/", "/usr") else []
    return tuple(dict.fromkeys(filter(os.path.isdir, own)))


@cache
def always() -> tuple[tuple[str, int], ...]:
    """Return the existing paths that every worker may open, with Landlock rights, each path once."""
    wanted = (*libraries(), *SYSTEM, *FILES, *PROCESSOR, RANDOM)
    readable: list[str] = []
    for path in sorted(set(map(os.path.realpath, wanted))):
        beneath = any(path.startswith(f"{folder}/") for folder in readable)
        readable += [path] if os.path.exists(path) and not beneath else []
    folders = [(path, READ if os.path.isdir(path) else READ & ABOUT_FILES) for path in readable]
    return (*folders, (NOTHING, WRITE & ABOUT_FILES))


def allowed(scratch: str, gpu: bool = False) -> list[tuple[str, int]]:
    """Return all paths that a worker may open, with Landlock rights."""
    return [*always(), *([(scratch, SCRATCH)] if scratch else []), *(_for_cuda() if gpu else [])]


def _for_cuda() -> list[tuple[str, int]]:
    numbered = [name for name in os.listdir("/dev") if name.startswith("nvidia") and name[6:].isdigit()]
    devices = [f"/dev/{name}" for name in (*CUDA_DEVICES, *numbered)]
    readable = [*CUDA_READS, f"/proc/{os.getpid()}"]
    rights = {**dict.fromkeys(readable, READ), **dict.fromkeys(devices, DEVICE | READ)}
    return [(path, mask if os.path.isdir(path) else mask & ABOUT_FILES) for path, mask in rights.items()]
