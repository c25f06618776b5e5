"""As minbpe has it: statistics in a dict, the lowest rank first, a vocabulary of bytes."""


def get_stats(ids):
    counts = {}
    for pair in zip(ids, ids[1:]):  # noqa: B905, RUF007  # as such code is written
        counts[pair] = counts.get(pair, 0) + 1
    return counts


def merge(ids, pair, idx):
    newids, i = [], 0
    while i < len(ids):
        if ids[i] == pair[0] and i < len(ids) - 1 and ids[i + 1] == pair[1]:
            newids.append(idx)
            i += 2
        else:
            newids.append(ids[i])
            i += 1
    return newids


def train_bpe(text, num_merges):
    ids, merges = list(text.encode("utf-8")), {}
    for i in range(num_merges):
        stats = get_stats(ids)
        if not stats:
            break
        pair = max(stats, key=stats.get)
        ids = merge(ids, pair, 256 + i)
        merges[pair] = 256 + i
    return list(merges)


def encode(text, merges):
    ranks = {tuple(pair): 256 + i for i, pair in enumerate(merges)}
    ids = list(text.encode("utf-8"))
    while len(ids) >= 2:
        stats = get_stats(ids)
        pair = min(stats, key=lambda p: ranks.get(p, float("inf")))
        if pair not in ranks:
            break
        ids = merge(ids, pair, ranks[pair])
    return ids


def decode(ids, merges):
    vocab = {idx: bytes([idx]) for idx in range(256)}
    for i, (first, second) in enumerate(merges):
        vocab[256 + i] = vocab[first] + vocab[second]
    return b"".join(vocab[idx] for idx in ids).decode("utf-8", errors="replace")
