"""Define the terms of a worker: its device, the layers of its sandbox, its folder, memory and environment."""

from __future__ import annotations

import json
import os
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:  # a reader has no NumPy, which the codec needs
    pass


#: All layers. Tests leave out single layers to show what each of them prevents.
ALL = ("environment", "descriptors", "dumpable", "capabilities", "limits", "landlock", "seccomp")
KERNEL = ("dumpable", "capabilities", "landlock", "seccomp")
ISOLATION = {
    "required": ALL,
    "best": ALL,
    "none": tuple(layer for layer in ALL if layer not in KERNEL),
}
#: Variables that a worker keeps: language, time zone, and the paths of libraries and GPUs.
KEPT = ("LANG", "LC_ALL", "LC_CTYPE", "TZ", "LD_LIBRARY_PATH", "CUDA_VISIBLE_DEVICES", "SYSTEMROOT", "PATH")
#: Variables that are set in every worker. Small inputs need one thread, and the sandbox forbids more.
SET = {
    "OMP_NUM_THREADS": "1",
    "OPENBLAS_NUM_THREADS": "1",
    "MKL_NUM_THREADS": "1",
    "CUDA_CACHE_DISABLE": "1",
    "PYTHONDONTWRITEBYTECODE": "1",
    "USER": "student",
    "LOGNAME": "student",
}
MEMORY = 2 * 2**30  # bytes of address space in addition to that of the fork server
READING = 512 * 2**20  # the same while a text is read


@dataclass(frozen=True)
class SandboxTerms:
    """The settings of a worker's sandbox: the device, the layers, the path of the scratch folder, and the
    bytes of memory that it may take."""

    device: str = "cpu"
    layers: tuple[str, ...] = ALL
    scratch: str = ""
    memory: int = MEMORY

    @property
    def gpu(self) -> bool:
        return self.device != "cpu"

    def message(self) -> bytes:
        """Return the terms as JSON, to be sent to a worker."""
        return json.dumps(asdict(self)).encode()


def read_terms(message: bytes) -> SandboxTerms:
    """Return the terms from the JSON of `SandboxTerms.message`."""
    fields = json.loads(message)
    return SandboxTerms(fields["device"], tuple(fields["layers"]), fields["scratch"], fields["memory"])


def environment() -> dict[str, str]:
    """Return the environment variables of a worker."""
    return {**{name: os.environ[name] for name in KEPT if name in os.environ}, **SET}
