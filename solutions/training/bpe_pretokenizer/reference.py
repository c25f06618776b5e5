"""Radford et al. 2019, section 2.2 and encoder.py: pieces by a pattern, special tokens cut out first."""

import re

LETTER, SIGN = r"[^\W\d_]", r"(?:[^\w\s]|_)"
PATTERN = rf"'(?:[stmd]|re|ve|ll)| ?{LETTER}+| ?\d+| ?{SIGN}+|\s+(?!\S)|\s+"


def pretokenize(text, special_tokens):
    pieces = []
    for part in cut_at_special_tokens(text, special_tokens):
        pieces += [part] if part in special_tokens else re.findall(PATTERN, part)
    return pieces


def cut_at_special_tokens(text, special_tokens):
    """The special tokens of a text and the parts between them, some of which are empty."""
    if not special_tokens:
        return [text]
    longest_first = sorted(special_tokens, key=len, reverse=True)
    either = "|".join(re.escape(token) for token in longest_first)
    return re.split(f"({either})", text)


def encode(text, merges, special_tokens):
    first = 256 + len(merges)
    special_ids = {token: first + j for j, token in enumerate(special_tokens)}
    ids = []
    for piece in pretokenize(text, special_tokens):
        if piece in special_ids:
            ids.append(special_ids[piece])
        else:
            ids += merge(list(piece.encode("utf-8")), merges)
    return ids


def merge(ids, merges):
    """Make all merges in one piece, in their order."""
    for i, (first, second) in enumerate(merges):
        merged = []
        for token in ids:
            if merged and (merged[-1], token) == (first, second):
                merged[-1] = 256 + i
            else:
                merged.append(token)
        ids = merged
    return ids


def decode(ids, merges, special_tokens):
    held = [bytes([byte]) for byte in range(256)]
    for first, second in merges:
        held.append(held[first] + held[second])
    held += [token.encode("utf-8") for token in special_tokens]
    return b"".join(held[token] for token in ids).decode("utf-8", errors="replace")
