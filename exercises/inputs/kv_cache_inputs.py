"""Find inputs that show what is wrong with three caches.

Tokens arrive in pieces, and a cache keeps the value of each, as in the kata `kv_cache`.
A right attend(values, pieces) gives for each token the mean of the values of all tokens
up to it, itself included, in whichever pieces they arrive: attention whose scores are
all equal. pieces has the lengths of the pieces. Three functions do something else:

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

Replace each `...` by an input on which this function and a right one differ: a dict of
the arguments by name, such as {"values": [1.0, 2.0, 4.0], "pieces": [3]}. Values lie
between -1,000 and 1,000, and the pieces have as many tokens as there are values. An
input may have 12 numbers in all; try fewer. Each input is one point.

Source: Vaswani et al. 2017, "Attention Is All You Need", section 3.2.3; Shazeer 2019,
"Fast Transformer Decoding: One Write-Head is All You Need", section 2.4.
"""

# An input on which forgets is wrong.
FORGETS = ...

# An input on which looks_ahead is wrong.
LOOKS_AHEAD = ...

# An input on which begins_anew is wrong.
BEGINS_ANEW = ...
