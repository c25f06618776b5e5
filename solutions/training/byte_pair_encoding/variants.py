"""Right answers in other styles."""

import re
from collections import Counter
from itertools import pairwise

import numpy as np


class merges_the_lowest_rank:
    """As in minbpe: a dict of ranks; encode looks for the pair that was learnt first, again and again."""

    @staticmethod
    def _merge(ids, pair, idx):
        new_ids = []
        i = 0
        while i < len(ids):
            if i < len(ids) - 1 and ids[i] == pair[0] and ids[i + 1] == pair[1]:
                new_ids.append(idx)
                i += 2
            else:
                new_ids.append(ids[i])
                i += 1
        return new_ids

    @staticmethod
    def _stats(ids):
        counts = {}
        for pair in pairwise(ids):
            counts[pair] = counts.get(pair, 0) + 1
        return counts

    @staticmethod
    def train_bpe(text, num_merges):
        ids = list(text.encode("utf-8"))
        merges = {}
        for i in range(num_merges):
            stats = merges_the_lowest_rank._stats(ids)
            if not stats:
                break
            pair = max(stats, key=stats.get)
            ids = merges_the_lowest_rank._merge(ids, pair, 256 + i)
            merges[pair] = 256 + i
        return list(merges)

    @staticmethod
    def encode(text, merges):
        ranks = {tuple(pair): 256 + i for i, pair in enumerate(merges)}
        ids = list(text.encode("utf-8"))
        while len(ids) >= 2:
            stats = merges_the_lowest_rank._stats(ids)
            pair = min(stats, key=lambda p: ranks.get(p, float("inf")))
            if pair not in ranks:
                break
            ids = merges_the_lowest_rank._merge(ids, pair, ranks[pair])
        return ids

    @staticmethod
    def decode(ids, merges):
        vocab = {idx: bytes([idx]) for idx in range(256)}
        for i, (p0, p1) in enumerate(merges):
            vocab[256 + i] = vocab[p0] + vocab[p1]
        return b"".join(vocab[idx] for idx in ids).decode("utf-8", errors="replace")


class writes_tokens_as_characters:
    """Ids as characters of a string, pairs found by regular expressions; lists of pairs."""

    @staticmethod
    def train_bpe(text, num_merges):
        work, merges = text.encode().decode("latin-1"), []
        while len(merges) < num_merges and len(work) >= 2:
            best, most = "", 0
            for place in range(len(work) - 1):
                pair = work[place : place + 2]
                count = len(re.findall(f"(?={re.escape(pair)})", work, flags=re.DOTALL))
                if count > most:
                    best, most = pair, count
            work = work.replace(best, chr(256 + len(merges)))
            merges.append([ord(best[0]), ord(best[1])])
        return merges

    @staticmethod
    def encode(text, merges):
        work = text.encode().decode("latin-1")
        for i, (first, second) in enumerate(merges):
            work = work.replace(chr(first) + chr(second), chr(256 + i))
        return [ord(token) for token in work]

    @staticmethod
    def decode(ids, merges):
        work = "".join(map(chr, ids))
        for i, (first, second) in reversed(list(enumerate(merges))):
            work = work.replace(chr(256 + i), chr(first) + chr(second))
        return work.encode("latin-1").decode("utf-8", "replace")


class merges_one_pair_at_a_time:
    """One pair a step, the leftmost one of the lowest rank; training stops at pairs that occur once."""

    @staticmethod
    def train_bpe(text, num_merges):
        ids, merges = [*text.encode()], []
        for new_id in range(256, 256 + num_merges):
            counts = Counter(pairwise(ids))
            if not counts or max(counts.values()) < 2:
                break
            pair = min(counts, key=lambda p: (-counts[p], list(pairwise(ids)).index(p)))
            merges.append(pair)
            while pair in (pairs := list(pairwise(ids))):
                place = pairs.index(pair)
                ids[place : place + 2] = [new_id]
        return merges

    @staticmethod
    def encode(text, merges):
        ids = list(bytearray(text, "utf-8"))
        ranks = {(a, b): rank for rank, (a, b) in enumerate(merges)}
        while True:
            found = [(ranks[pair], i) for i, pair in enumerate(pairwise(ids)) if pair in ranks]
            if not found:
                return ids
            rank, i = min(found)
            ids[i : i + 2] = [256 + rank]

    @staticmethod
    def decode(ids, merges):
        stack, data = list(ids)[::-1], bytearray()
        while stack:
            token = stack.pop()
            if token < 256:
                data.append(token)
            else:
                first, second = merges[token - 256]
                stack += [second, first]
        return str(data, "utf-8", errors="replace")


class counts_with_counter:
    """most_common of a Counter, which keeps the order of equals; recursion for the bytes of a token."""

    @staticmethod
    def train_bpe(text, num_merges):
        ids, merges = tuple(text.encode()), []
        if len(ids) < 2:
            return []
        for step in range(num_merges):
            ranked = Counter(pairwise(ids)).most_common(1)
            if not ranked:
                return merges
            (pair, _), *_ = ranked
            merges.append(pair)
            ids = tuple(counts_with_counter._joined(iter(ids), pair, 256 + step))
        return merges

    @staticmethod
    def _joined(tokens, pair, new_id):
        held = next(tokens, None)
        for token in tokens:
            if held is None:
                held = token
            elif (held, token) == pair:
                yield new_id
                held = None
            else:
                yield held
                held = token
        if held is not None:
            yield held

    @staticmethod
    def encode(text, merges):
        ids = list(text.encode())
        for new_id, pair in enumerate(map(tuple, merges), start=256):
            ids = list(counts_with_counter._joined(iter(ids), pair, new_id))
        return ids

    @staticmethod
    def decode(ids, merges):
        def spelled(token):
            return bytes((token,)) if token < 256 else b"".join(map(spelled, merges[token - 256]))

        return b"".join(map(spelled, ids)).decode("utf8", "replace")


class scans_backwards_over_deletions:
    """Replacement in place on a copy of the ids; counts kept in two lists beside each other."""

    @staticmethod
    def _replace(ids, first, second, new_id):
        place = 0
        while place + 1 < len(ids):
            if ids[place] == first and ids[place + 1] == second:
                ids[place] = new_id
                del ids[place + 1]
            place += 1

    @staticmethod
    def train_bpe(text, num_merges):
        ids, merges = list(text.encode()), []
        while num_merges > len(merges) and len(ids) > 1:
            pairs = [(ids[i], ids[i + 1]) for i in range(len(ids) - 1)]
            counts = [pairs.count(pair) for pair in pairs]
            first, second = pairs[counts.index(max(counts))]
            scans_backwards_over_deletions._replace(ids, first, second, 256 + len(merges))
            merges += [(first, second)]
        return merges

    @staticmethod
    def encode(text, merges):
        ids = list(text.encode())
        for i in range(len(merges)):
            scans_backwards_over_deletions._replace(ids, merges[i][0], merges[i][1], 256 + i)
        return ids

    @staticmethod
    def decode(ids, merges):
        parts = list(ids)
        for i in range(len(merges) - 1, -1, -1):
            parts = [piece for token in parts for piece in (merges[i] if token == 256 + i else [token])]
        return bytes(parts).decode(errors="replace")


class counts_rows_of_an_array:
    """np.unique counts the pairs, as rows of an array. The ids that come back are NumPy integers."""

    @staticmethod
    def train_bpe(text, num_merges):
        ids, merges = np.frombuffer(text.encode(), np.uint8).astype(np.int64), []
        while len(merges) < num_merges and len(ids) > 1:
            pairs = np.stack([ids[:-1], ids[1:]], axis=1)
            found, first, counts = np.unique(pairs, axis=0, return_index=True, return_counts=True)
            merges.append(tuple(found[np.lexsort((first, -counts))[0]]))
            ids = counts_rows_of_an_array.merged(ids, merges[-1], 255 + len(merges))
        return merges

    @staticmethod
    def merged(ids, pair, new):
        places = []
        for at in np.flatnonzero((ids[:-1] == pair[0]) & (ids[1:] == pair[1])):
            if not places or places[-1] + 1 < at:
                places.append(at)
        ids = ids.copy()
        ids[places] = new
        return np.delete(ids, np.array(places, dtype=int) + 1)

    @staticmethod
    def encode(text, merges):
        ids = np.frombuffer(text.encode(), np.uint8).astype(np.int64)
        for new, pair in enumerate(merges, 256):
            ids = counts_rows_of_an_array.merged(ids, pair, new)
        return list(ids)

    @staticmethod
    def decode(ids, merges):
        tokens = [bytes([byte]) for byte in range(256)]
        for left, right in merges:
            tokens.append(tokens[left] + tokens[right])
        return b"".join(map(tokens.__getitem__, ids)).decode(errors="replace")
