"""What the decoder reads: the support reply with the numbers of its figures, or tokens that are typed."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from grader.report_texts import harmless
from grader.see.stack import D_MODEL, printed_inputs
from grader.see.tracing import Array

REPLY = json.loads(Path(__file__).with_name("reply.json").read_text(encoding="utf-8"))
MOST_TOKENS, LONGEST = 8, 16  # tokens that are read, and the characters of each that are shown


@dataclass(frozen=True)
class Example:
    """The tokens, the tables that embed them, the source's tokens with their memory, and the vocabulary.

    The reply has `inputs` of its own for each figure. For typed tokens they are computed from the embeddings.
    """

    tokens: list[str]
    ids: Array
    token_table: Array
    source: list[str]
    memory: Array
    vocab: list[str]
    output_weight: Array
    inputs: dict[str, Array] | None = None


def reply() -> Example:
    """Return the support reply."""
    arrays = {name: np.array(REPLY[name], "f4") for name in ("position_table", "q", "k", "v", "hidden")}
    x, memory = printed_inputs()
    return Example(
        REPLY["tokens"],
        np.arange(3),
        np.array(REPLY["token_table"], "f4"),
        REPLY["source"],
        memory,
        REPLY["vocab"],
        np.array(REPLY["output_weight"], "f4"),
        {**arrays, "x": x},
    )


def typed(text: str) -> Example:
    """Return the tokens of a text, which are its words, with random embeddings that belong to the words."""
    tokens = [harmless(word, one_line=True)[:LONGEST] for word in text.split()][:MOST_TOKENS]
    tokens = tokens or REPLY["tokens"]
    vocab = list(dict.fromkeys([*tokens, *REPLY["vocab"]]))
    table = np.random.default_rng(0).standard_normal((len(vocab), D_MODEL)).astype("f4") * np.float32(0.5)
    ids = np.array([vocab.index(token) for token in tokens])
    return Example(tokens, ids, table, REPLY["source"], printed_inputs()[1], vocab, table.T.copy())


def example_of(text: str | None) -> Example:
    """Return the tokens of a text, or the support reply if there is none."""
    return reply() if text is None else typed(text)


def labels(names: list[str]) -> list[str]:
    """Return the names, each with its number if it occurs more than once."""
    return [f"{name} {place}" if names.count(name) > 1 else name for place, name in enumerate(names)]


def rounded(value: Any, decimals: int = 4) -> Any:
    """Return an array as nested lists for JSON; text for what is no finite number."""
    if isinstance(value, np.ndarray | list | tuple):
        return [rounded(part, decimals) for part in value]
    number = float(value)
    if not np.isfinite(number):
        return "NaN" if np.isnan(number) else "∞" if number > 0 else "-∞"
    return int(number) if number == int(number) else round(number, decimals)
