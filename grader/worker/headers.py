"""Answers that are one array: what is said of them depends on dtype and shape alone, and is written once.

Most answers are such. To take a small one through nested values and JSON takes longer than to compute it.
"""

from __future__ import annotations

import sys
from collections.abc import Hashable
from typing import Any

import numpy as np

from grader.worker.codec import encode
from grader.worker.requests import Outcome


class Headers:
    """Encodes answers as `codec.encode` does, and remembers the headers of those that are one array."""

    def __init__(self) -> None:
        self._known: dict[Hashable, bytes] = {}

    def encode(self, answer: Outcome) -> tuple[bytes, list[bytes]]:
        """The answer as header bytes and array buffers. Raises Malformed for what may not travel."""
        array = _only_array(answer)
        if array is None:
            return encode({"ok": answer.message()})
        named = type(answer.value), array.dtype, array.shape
        if named not in self._known:
            self._known[named], buffers = encode({"ok": answer.message()})
            return self._known[named], buffers
        return self._known[named], [array.tobytes()]


def _only_array(answer: Outcome) -> np.ndarray[Any, Any] | None:
    """What a plain answer holds, where nothing else is to be told and the axes are in their usual order."""
    if answer.arguments is not None or answer.gradients is not None or answer.flops:
        return None
    array = answer.value
    torch = sys.modules.get("torch")
    if torch is not None and type(array) is torch.Tensor and not array.requires_grad:
        array = _shared(array)
    return array if type(array) is np.ndarray and array.flags.c_contiguous else None


def _shared(tensor: Any) -> Any:
    """The tensor's numbers as an array, where NumPy can hold them as they are."""
    try:
        return tensor.numpy()
    except (TypeError, RuntimeError):
        return None
