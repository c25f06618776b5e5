"""The trained model: its weights, its vocabulary and what was held back from its training."""

from __future__ import annotations

import hashlib
import io
import json
import zipfile
from dataclasses import dataclass
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

from dojo_show.tracing import Array
from grader.errors import CourseError
from grader.texts.escaping import harmless

HERE = Path(__file__).parent
#: The parameters of `mini_gpt` that the functions of the course do not have; they are 0.
UNUSED = ("attn.qkv.bias", "attn.out_proj.bias", "head.bias")


@dataclass(frozen=True)
class Model:
    """Weights by the names of `mini_gpt`, and a vocabulary of byte pairs."""

    sizes: dict[str, int]
    merges: dict[tuple[int, int], int]
    words: list[bytes]
    weights: dict[str, Array]
    held: list[str]

    def __getitem__(self, name: str) -> Array:
        return self.weights[name]

    @property
    def vocab_size(self) -> int:
        return self.sizes["vocab_size"]

    @property
    def num_layers(self) -> int:
        return self.sizes["num_layers"]

    @property
    def num_heads(self) -> int:
        return self.sizes["num_heads"]

    @property
    def max_len(self) -> int:
        return self.sizes["max_len"]

    @property
    def state(self) -> dict[str, Array]:
        """All parameters of `mini_gpt`, those included that are 0."""
        d_model = self.sizes["d_model"]
        sizes = {"attn.qkv.bias": 3 * d_model, "attn.out_proj.bias": d_model}
        biases = {
            f"blocks.{layer}.{name}": n for layer in range(self.num_layers) for name, n in sizes.items()
        }
        biases["head.bias"] = self.vocab_size
        return {**self.weights, **{name: np.zeros(size, "f4") for name, size in biases.items()}}

    def encode(self, text: str) -> list[int]:
        """Return the ids of a text: its bytes, then each merge in the order in which it was learnt."""
        ids = list(text.encode())
        while True:
            pairs = [self.merges.get(pair) for pair in pairwise(ids)]
            first = min((merged for merged in pairs if merged is not None), default=None)
            if first is None:
                return ids
            joined, place = [], 0
            while place < len(ids):
                is_pair = place < len(pairs) and pairs[place] == first
                joined.append(first if is_pair else ids[place])
                place += 2 if is_pair else 1
            ids = joined

    def text(self, token: int) -> str:
        """Return what a token shows; bytes that are no character become U+FFFD."""
        return harmless(self.words[token].decode(errors="replace"), one_line=True)


@cache
def read_model() -> Model:
    """Return the model whose two files lie beside this one. Raises CourseError if they are missing or were
    changed after the training."""
    try:
        return _read()
    except (OSError, LookupError, TypeError, ValueError, zipfile.BadZipFile):
        raise CourseError(DAMAGED) from None


def _read() -> Model:
    known: dict[str, Any] = json.loads((HERE / "model.json").read_text(encoding="utf-8"))
    data = (HERE / "model.npz").read_bytes()
    if hashlib.sha256(data).hexdigest() != known["digest"]:
        raise ValueError("another file than was trained")
    with np.load(io.BytesIO(data), allow_pickle=False) as stored:
        weights = {name: stored[name].astype("f4") for name in stored.files}
    words = [bytes([byte]) for byte in range(256)]
    for first, second in known["merges"]:
        words.append(words[first] + words[second])
    merges = {(first, second): 256 + place for place, (first, second) in enumerate(known["merges"])}
    return Model(known["sizes"], merges, words, weights, known["held"])


DAMAGED = "The weights of the model that speaks are not as they came. Write or install the course again."
