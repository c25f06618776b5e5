"""What the decoder reads: the support reply with the numbers of its figures, or tokens that are typed."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from dojo_show.tracing import Array
from grader.texts.escaping import harmless

from .stack import D_MODEL, printed_inputs

REPLY = json.loads(Path(__file__).with_name("reply.json").read_text(encoding="utf-8"))
MOST_TOKENS, LONGEST_TOKEN = 8, 16  # tokens that are read, and the characters of each that are shown


@dataclass(frozen=True)
class Example:
    """What the decoder reads, and the tables that embed it and score the next token.

    The reply has `inputs` of its own for each figure. For typed tokens they are computed from the embeddings.
    """

    tokens: list[str]
    ids: Array
    vocab: list[str]
    token_table: Array
    output_weight: Array
    memory: Array
    inputs: dict[str, Array] | None = None


def example_of(text: str | None = None) -> Example:
    """Return the words of a text as tokens with random embeddings, or the support reply if there is none."""
    x, memory = printed_inputs()
    if text is None:
        inputs = {name: _reply(name) for name in ("position_table", "q", "k", "v", "hidden")} | {"x": x}
        tables = _reply("token_table"), _reply("output_weight")
        return Example(REPLY["tokens"], np.arange(3), REPLY["vocab"], *tables, memory, inputs)
    tokens = [harmless(word, one_line=True)[:LONGEST_TOKEN] for word in text.split()][:MOST_TOKENS]
    tokens = tokens or REPLY["tokens"]
    vocab = list(dict.fromkeys([*tokens, *REPLY["vocab"]]))
    table = np.random.default_rng(0).standard_normal((len(vocab), D_MODEL)).astype("f4") * np.float32(0.5)
    ids = np.array([vocab.index(token) for token in tokens])
    return Example(tokens, ids, vocab, table, table.T.copy(), memory)


def _reply(name: str) -> Array:
    return np.array(REPLY[name], "f4")


def reply_logits() -> Array:
    """Return the logits of the next token of the support reply."""
    logits: Array = _reply("hidden") @ _reply("output_weight")
    return logits
