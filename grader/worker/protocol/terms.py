"""Define the terms of a worker: its device, the layers of its sandbox, its folder and its environment."""

from __future__ import annotations

import json
import os
from dataclasses import asdict, dataclass

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


@dataclass(frozen=True)
class Terms:
    """The settings of a worker's sandbox: the device, the layers, and the path of the scratch folder."""

    device: str = "cpu"
    layers: tuple[str, ...] = ALL
    scratch: str = ""

    @property
    def gpu(self) -> bool:
        return self.device != "cpu"

    def message(self) -> bytes:
        """Return the terms as JSON, to be sent to a worker."""
        return json.dumps(asdict(self)).encode()


def read_terms(message: bytes) -> Terms:
    """Return the terms from the JSON of `Terms.message`."""
    fields = json.loads(message)
    return Terms(fields["device"], tuple(fields["layers"]), fields["scratch"])


def environment() -> dict[str, str]:
    """Return the environment variables of a worker."""
    return {**{name: os.environ[name] for name in KEPT if name in os.environ}, **SET}
