"""kv_cache_inputs: a right cache, three wrong ones, and what they may get."""

import numpy as np

from grader.inputs import Versions
from grader.kata import Kata

KATA = Kata(
    "kv_cache_inputs",
    track="inputs",
    title="Inputs that show what is wrong with a cache",
    source="Vaswani et al. 2017, section 3.2.3; Shazeer 2019, section 2.4",
    hints=(
        "Write under each token which tokens it sees: under the right function, and under a wrong one.",
        "Three things can go wrong: what the cache still holds, what is seen inside a piece, and where a "
        "piece begins.",
        "One function needs two pieces, one a piece of two tokens, and one both. The tokens themselves have "
        "to differ, since the mean of equal values is the same for any of them.",
    ),
    kind_name="inputs",
    questions={
        "FORGETS": (
            "FORGETS shows that the cache holds the last piece alone.",
            "What is in the cache when the second piece arrives?",
        ),
        "LOOKS_AHEAD": (
            "LOOKS_AHEAD shows that a token sees the tokens behind it in its piece.",
            "How many tokens does the first piece have?",
        ),
        "BEGINS_ANEW": (
            "BEGINS_ANEW shows that each piece counts its positions from 0.",
            "How many tokens does the last token of the second piece see?",
        ),
    },
)


def attend(values, pieces):
    cache, out = [], []
    for piece in pieces:
        cache += list(values[len(cache) : len(cache) + piece])
        first = len(cache) - piece
        out += [np.mean(cache[: first + i + 1]) for i in range(piece)]
    return out


def forgets(values, pieces):
    seen, out = 0, []
    for piece in pieces:
        cache = list(values[seen : seen + piece])
        seen += piece
        out += [np.mean(cache[: i + 1]) for i in range(piece)]
    return out


def looks_ahead(values, pieces):
    cache, out = [], []
    for piece in pieces:
        cache += list(values[len(cache) : len(cache) + piece])
        out += [np.mean(cache) for _ in range(piece)]
    return out


def begins_anew(values, pieces):
    cache, out = [], []
    for piece in pieces:
        cache += list(values[len(cache) : len(cache) + piece])
        square = np.tri(piece, len(cache), len(cache) - 1 if piece == 1 else 0)
        out += [np.mean(np.array(cache)[row > 0]) for row in square]
    return out


def allowed(values, pieces):
    for given in (values, pieces):
        if getattr(given, "ndim", 0) != 1 or not given.size or given.dtype.kind not in "if":
            return "values and pieces must be lists of numbers."
    if pieces.dtype.kind != "i" or (pieces < 1).any() or pieces.sum() != values.size:
        return "pieces must be lengths above 0 that sum to the number of values."
    if np.abs(values).max() > 1000:
        return "Values from -1,000 to 1,000 are allowed."
    return ""


WRONG = {"FORGETS": forgets, "LOOKS_AHEAD": looks_ahead, "BEGINS_ANEW": begins_anew}
KATA.judges(Versions(right=attend, wrong=WRONG, allowed=allowed).complaint)
