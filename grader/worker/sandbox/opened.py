"""Which files a submission may open: the interpreter, its packages, the system's libraries."""

from __future__ import annotations

import os
import sys
import sysconfig
from functools import cache

from grader.worker.sandbox.landlock import DEVICE, READ, SCRATCH, WRITE

PACKAGES = ("site-packages", "dist-packages")
#: Shared libraries, time zones and locales, and the two files by which the loader finds libraries.
SYSTEM = ("/lib", "/lib64", "/usr/lib", "/usr/lib64", "/usr/local/lib", "/usr/share/zoneinfo", "/nix/store")
FILES = ("/etc/ld.so.cache", "/etc/ld.so.conf", "/etc/ld.so.conf.d", "/etc/localtime")
#: What mathematical libraries ask when they are first used: how many processors there are, and which.
PROCESSOR = ("/proc/cpuinfo", "/proc/meminfo", "/sys/devices/system/cpu")
NOTHING = ("/dev/null", "/dev/zero", "/dev/full")
RANDOM = ("/dev/urandom", "/dev/random")
#: CUDA's driver: its devices, and what it asks about the machine and about this very process.
CUDA_TOLD = ("/proc/driver/nvidia", "/proc/devices", "/proc/modules", "/sys/bus/pci", "/sys/devices")
CUDA_DEVICES = ("nvidiactl", "nvidia-uvm", "nvidia-uvm-tools", "nvidia-modeset", "nvidia-caps")


@cache
def libraries() -> tuple[str, ...]:
    """The folders of the interpreter's own library and of installed packages, nothing beside them."""
    paths = sysconfig.get_paths()
    own = [paths[name] for name in ("stdlib", "platstdlib", "purelib", "platlib")]
    own += [path for path in sys.path if os.path.basename(path.rstrip("/")) in PACKAGES]
    own += [os.path.join(sys.base_prefix, "lib")] if sys.base_prefix not in ("/", "/usr") else []
    return tuple(dict.fromkeys(filter(os.path.isdir, own)))


def allowed(scratch: str, gpu: bool = False) -> list[tuple[str, int]]:
    """Every path that may be opened, and what may be done with it."""
    readable = (*libraries(), *SYSTEM, *FILES, *PROCESSOR, *RANDOM)
    found = [(path, READ) for path in readable] + [(path, WRITE) for path in NOTHING]
    found += [(scratch, SCRATCH)] if scratch else []
    return found + _for_cuda() if gpu else found


def _for_cuda() -> list[tuple[str, int]]:
    numbered = [name for name in os.listdir("/dev") if name.startswith("nvidia") and name[6:].isdigit()]
    devices = [(f"/dev/{name}", DEVICE | READ) for name in (*CUDA_DEVICES, *numbered)]
    return [(path, READ) for path in (*CUDA_TOLD, f"/proc/{os.getpid()}")] + devices
