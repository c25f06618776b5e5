"""Sennrich et al. 2016, algorithm 1, on bytes."""

from itertools import pairwise


def train_bpe(text, num_merges):
    """Count all pairs, merge the most frequent one, and count again."""
    ids, merges = list(text.encode()), []
    while len(merges) < num_merges and len(ids) > 1:
        counts = {}
        for pair in pairwise(ids):
            counts[pair] = counts.get(pair, 0) + 1
        best = max(counts, key=counts.get)  # the first one met, of equals
        ids = _merge(ids, best, 256 + len(merges))
        merges.append(best)
    return merges


def encode(text, merges):
    """Make the merges in the order in which they were learnt."""
    ids = list(text.encode())
    for i, pair in enumerate(merges):
        ids = _merge(ids, tuple(pair), 256 + i)
    return ids


def decode(ids, merges):
    """Join the bytes of all tokens, then read them."""
    vocabulary = [bytes([byte]) for byte in range(256)]
    for first, second in merges:
        vocabulary.append(vocabulary[first] + vocabulary[second])
    return b"".join(vocabulary[token] for token in ids).decode(errors="replace")


def _merge(ids, pair, new_id):
    """Replace the pair from left to right; a token takes part in one merge at most."""
    merged, i = [], 0
    while i < len(ids):
        found = tuple(ids[i : i + 2]) == pair
        merged.append(new_id if found else ids[i])
        i += 2 if found else 1
    return merged
