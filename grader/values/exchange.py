"""How arrays reach a submission, come back from it, and are written as code."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from grader.worker.protocol import codec


@dataclass(frozen=True)
class ArrayExchange:
    """The exchange of values with a submission in one `library`. With `as_tensors` the submission is in
    PyTorch and the kata in NumPy: what is an array here is a tensor there."""

    library: str
    as_tensors: bool = False

    @property
    def device(self) -> str | None:
        """Where tensors of the submission are decoded; None for one in NumPy, which gives none."""
        if self.as_tensors:
            return codec.ARRAYS
        return "cpu" if self.library == "torch" else None

    def encode(self, message: dict[str, Any], *, gaps: bool = False) -> tuple[bytes, list[bytes]]:
        """Return a message to the submission, as `codec.encode` does. Raises Malformed."""
        return codec.encode(message, gaps=gaps, as_tensors=self.as_tensors)

    def decode(self, header: bytes, body: bytearray) -> dict[str, Any]:
        """Return a message of the submission, as `codec.decode` does. Raises Malformed."""
        return codec.decode(header, body, self.device)

    def has_tensor(self, array: Any) -> bool:
        """Return whether the submission has a tensor for an array or a tensor of the grader."""
        return self.as_tensors or not isinstance(array, np.ndarray)


AS_IT_IS = ArrayExchange("torch")  # tensors as tensors, and arrays as arrays
TRANSLATED = ArrayExchange("torch", as_tensors=True)
