"""What a submission may read: a positive list, and the only modules that it can import.

A submission may read the standard library, the packages in PACKAGES, the system libraries that these load,
and its scratch folder. Nothing else is open: no other package, so nothing of the grader and no answer key
that is installed with it; not the course; not the home folder. A folder of installed packages is never open
as a whole, since the grader may lie in it. So a worker imports by a table of names (`ListedModules`), and
needs no right to list such a folder.
"""

from __future__ import annotations

import importlib.util
import os
import sys
import sysconfig
from collections.abc import Iterator
from functools import cache
from importlib.machinery import ModuleSpec, all_suffixes

from grader.worker.child.sandbox.landlock import ABOUT_FILES, DEVICE, READ, SCRATCH, WRITE
from grader.worker.protocol.system_calls import mapped_libraries

#: The packages that a submission may import, and those that PyTorch imports when it needs them.
IMPORTABLE = ("numpy", "scipy", "torch", "einops", "opt_einsum")
PACKAGES = (
    *IMPORTABLE,
    *("filelock", "fsspec", "functorch", "jinja2", "markupsafe", "mpmath", "networkx", "nvidia", "sympy"),
    *("torchgen", "triton", "typing_extensions"),
)
NOT_STANDARD = (
    "site-packages",
    "dist-packages",
    "__pycache__",
)  # what the standard library's folder may hold
LIBRARY_FOLDERS = ("/lib", "/lib64", "/usr/lib", "/usr/lib64", "/usr/local/lib")
LIBRARIES_ALONE = (
    "-linux-gnu",
    "-linux-musl",
    "lib64",
)  # how folders end that hold libraries and no packages
FILES = ("/etc/ld.so.cache", "/etc/localtime", "/usr/share/zoneinfo", "/usr/lib/locale")
#: Mathematical libraries read the number and the kind of processors when they are first used.
PROCESSOR = ("/proc/cpuinfo", "/proc/meminfo", "/sys/devices/system/cpu")
NOTHING, RANDOM = "/dev/null", "/dev/urandom"
#: Files that CUDA's driver reads about the machine, its libraries and its devices.
CUDA_READS = (
    *("/proc/driver/nvidia", "/proc/driver/nvidia-uvm", "/proc/devices", "/proc/modules"),
    *("/proc/sys/vm/mmap_min_addr", "/proc/sys/vm/overcommit_memory", "/sys/bus/pci", "/sys/devices"),
)
CUDA_LIBRARIES = (
    *("/usr/lib/wsl", "/run/opengl-driver/lib", "/usr/local/nvidia/lib64"),
    *("/usr/local/cuda/lib64", "/usr/local/cuda/compat"),
)
#: `dxg` is the device of WSL.
CUDA_DEVICES = ("nvidiactl", "nvidia-uvm", "nvidia-uvm-tools", "nvidia-modeset", "nvidia-caps", "dxg")


@cache
def standard_library() -> list[str]:
    """Return the files and folders of the standard library, without installed packages."""
    paths = sysconfig.get_paths()
    folders = [paths["stdlib"], paths["platstdlib"], *(path for path in sys.path if path.endswith(".zip"))]
    return [path for folder in dict.fromkeys(folders) for path in _standard_files(folder)]


def _standard_files(folder: str) -> Iterator[str]:
    if os.path.isfile(folder):
        yield folder  # a zip file
    elif os.path.isdir(folder):
        yield from (
            os.path.join(folder, name) for name in sorted(os.listdir(folder)) if name not in NOT_STANDARD
        )


@cache
def packages() -> dict[str, list[str]]:
    """Return the files and folders of each installed package in PACKAGES, by name, without an import."""
    return {name: found for name in PACKAGES if (found := _places(name))}


def _places(name: str) -> list[str]:
    try:
        spec = importlib.util.find_spec(name)
    except (ImportError, ValueError):  # a broken installation, or a module without a spec
        return []
    if spec is None:
        return []
    folders = [*(spec.submodule_search_locations or [])]
    bundled = [f"{folder}.libs" for folder in folders]  # where wheels put the libraries that they bring along
    return [path for path in (*(folders or [spec.origin or ""]), *bundled) if os.path.exists(path)]


def system_libraries() -> list[str]:
    """Return the folders of system libraries, or single libraries where a folder holds other things too."""
    loaded = {os.path.dirname(path) for path in mapped_libraries()}
    chosen = os.environ.get("LD_LIBRARY_PATH", "").split(":")
    own = tuple(path for paths in packages().values() for path in paths)
    folders = sorted({os.path.realpath(folder) for folder in (*LIBRARY_FOLDERS, *loaded, *chosen) if folder})
    return [path for folder in folders if not folder.startswith(own) for path in _libraries_in(folder)]


def _libraries_in(folder: str) -> Iterator[str]:
    if not os.path.isdir(folder):
        return
    names = os.listdir(folder)
    if folder.endswith(LIBRARIES_ALONE) and not any(name.startswith("python") for name in names):
        yield folder
        return
    multiarch = [name for name in names if name.endswith(LIBRARIES_ALONE)]
    libraries = [name for name in names if name.endswith(".so") or ".so." in name]
    yield from (os.path.join(folder, name) for name in (*multiarch, *libraries))


@cache
def modules() -> dict[str, str]:
    """Return the file of every top-level module that a submission may import, by the module's name."""
    found: dict[str, str] = {}
    for path in standard_library():
        inside = _standard_files(path) if path.endswith("lib-dynload") else [path]
        found |= dict(module for module in map(_as_module, inside) if module)
    return found | dict(
        module for paths in packages().values() for module in map(_as_module, paths) if module
    )


def _as_module(path: str) -> tuple[str, str] | None:
    """Return the name and the file of the module or package at a path; None if there is none."""
    name = os.path.basename(path)
    if os.path.isfile(initial := os.path.join(path, "__init__.py")):
        return name, initial
    suffix = next((suffix for suffix in all_suffixes() if name.endswith(suffix)), None)
    return (name.removesuffix(suffix), path) if suffix else None


class ListedModules:
    """Finds top-level modules in the table `modules`, without listing the folders that they are in. Python
    itself finds the modules of a package: its folder is open."""

    @staticmethod
    def find_spec(name: str, path: object = None, _: object = None) -> ModuleSpec | None:
        """Return how a top-level module is loaded, or None if it may not be imported."""
        file = modules().get(name) if path is None else None
        return importlib.util.spec_from_file_location(name, file) if file else None


def import_listed_modules_only() -> None:
    """Let this process import the modules in `modules`, and none from the folders in `sys.path`."""
    modules()
    sys.path[:] = [path for path in sys.path if path.endswith(".zip")]
    sys.meta_path.append(ListedModules)


@cache
def always() -> tuple[tuple[str, int], ...]:
    """Return the existing paths that every worker may open, with Landlock rights, each path once."""
    own = [*standard_library(), *(path for paths in packages().values() for path in paths)]
    wanted = (*own, *system_libraries(), *FILES, *PROCESSOR, RANDOM)
    readable: list[str] = []
    for path in sorted(set(map(os.path.realpath, wanted))):
        beneath = readable and path.startswith(f"{readable[-1]}/")
        readable += [path] if os.path.exists(path) and not beneath else []
    folders = [(path, READ if os.path.isdir(path) else READ & ABOUT_FILES) for path in readable]
    return (*folders, (NOTHING, WRITE & ABOUT_FILES))


def allowed(scratch: str, *, gpu: bool = False) -> list[tuple[str, int]]:
    """Return all paths that a worker may open, with Landlock rights."""
    return [*always(), *([(scratch, SCRATCH)] if scratch else []), *(_for_cuda() if gpu else [])]


def _for_cuda() -> list[tuple[str, int]]:
    numbered = [name for name in os.listdir("/dev") if name.startswith("nvidia") and name[6:].isdigit()]
    devices = [f"/dev/{name}" for name in (*CUDA_DEVICES, *numbered)]
    mine = f"/proc/{os.getpid()}"
    readable = [*CUDA_READS, *CUDA_LIBRARIES, mine]
    rights = {**dict.fromkeys(readable, READ), **dict.fromkeys(devices, DEVICE | READ)}
    rights[f"{mine}/task"] = WRITE  # the driver names its threads, and gives up if it cannot
    return [(path, mask if os.path.isdir(path) else mask & ABOUT_FILES) for path, mask in rights.items()]
