"""References of katas about token ids against implementations of another kind."""

import itertools
import random
import re
import unicodedata
from pathlib import Path

from grader.course.catalog import Course, load_file

COURSE = Course(Path(__file__).parents[2])


def reference_of(name):
    return load_file(f"reference_of_{name}", COURSE.solution(COURSE.katas[name], "reference"))


def class_of(category):
    """All characters of a category of Unicode, as the inside of a class of `re`."""
    found = [code for code in range(0x110000) if unicodedata.category(chr(code)).startswith(category)]
    runs = itertools.groupby(enumerate(found), lambda pair: pair[1] - pair[0])
    codes = [[code for _, code in run] for _, run in runs]
    return "".join(f"\\U{run[0]:08x}-\\U{run[-1]:08x}" for run in codes)


def test_bpe_pretokenizer_cuts_by_the_classes_of_unicode():
    r"""GPT-2's pattern, with \p{L} and \p{N} written out from Unicode's categories."""
    letters, numbers = class_of("L"), class_of("N")
    pattern = re.compile(
        rf"'s|'t|'re|'ve|'m|'ll|'d| ?[{letters}]+| ?[{numbers}]+| ?[^\s{letters}{numbers}]+|\s+(?!\S)|\s+"
    )
    rng = random.Random(0)
    characters = "  \n\t\u00a0ab'srelvtmdST12_.!éß日三٣\u0301😀\u2019"
    reference = reference_of("bpe_pretokenizer")
    for _ in range(3000):
        text = "".join(rng.choices(characters, k=rng.randint(0, 12)))
        assert reference.pretokenize(text, []) == pattern.findall(text), repr(text)


def test_bpe_pretokenizer_merges_by_rank_as_gpt_2_does():
    """The merge of the lowest rank that a piece has, again and again; special tokens are found one by one."""
    rng = random.Random(1)
    reference, special = reference_of("bpe_pretokenizer"), ["<s>", "<s><s>", "ab"]
    for _ in range(500):
        text = "".join(rng.choices(["<s>", "a", "b", "ba", " ", "é"], k=rng.randint(0, 10)))
        ids, merges = list(text.encode()), []
        for i in range(rng.randint(0, 6)):
            pairs = [pair for pair in itertools.pairwise(ids) if pair not in merges]
            if pairs:
                merges.append(rng.choice(pairs))
                ids = [token if rng.random() < 0.7 else 256 + i for token in ids]
        expected, rest = [], text
        while rest:
            tokens = [token for token in sorted(special, key=len) if rest.startswith(token)]
            if tokens:
                expected.append(256 + len(merges) + special.index(tokens[-1]))
                rest = rest[len(tokens[-1]) :]
                continue
            part = re.split("<s>|ab", rest)[0]
            rest = rest[len(part) :]
            for piece in reference.pretokenize(part, []):
                expected += by_rank(list(piece.encode()), merges)
        assert reference.encode(text, merges, special) == expected
        assert reference.decode(expected, merges, special) == text


def by_rank(ids, merges):
    while True:
        ranks = [merges.index(pair) for pair in itertools.pairwise(ids) if pair in merges]
        if not ranks:
            return ids
        pair = merges[min(ranks)]
        at = list(itertools.pairwise(ids)).index(pair)
        ids = [*ids[:at], 256 + min(ranks), *ids[at + 2 :]]


class Trie:
    """A prefix cache with one node for each token, which knows whether a run of the radix tree ends there."""

    def __init__(self, capacity):
        self.capacity, self.clock, self.root = capacity, 0, {"down": {}}

    def nodes(self, node=None):
        for child in (node or self.root)["down"].values():
            yield child
            yield from self.nodes(child)

    def way(self, tokens):
        node, way = self.root, []
        for token in tokens:
            if token not in node["down"]:
                break
            node = node["down"][token]
            way.append(node)
        return way

    def use(self, tokens):
        self.clock += 1
        way = self.way(tokens)
        for node in way:
            node["used"] = self.clock
        if way:
            way[-1]["end"] = True
        return way

    def match(self, tokens):
        return [node["value"] for node in self.use(tokens)]

    def lock(self, tokens):
        way = self.use(tokens)
        for node in way:
            node["locks"] += 1
        return way

    def unlock(self, way):
        for node in way:
            node["locks"] -= 1

    def fits(self, tokens):
        way = self.way(tokens)
        bound = sum(node["locks"] > 0 or any(node is own for own in way) for node in self.nodes())
        return bound + len(tokens) - len(way) <= self.capacity

    def insert(self, tokens, values):
        way, evicted = self.use(tokens), []
        for node in way:
            node["locks"] += 1
        while sum(1 for _ in self.nodes()) + len(tokens) - len(way) > self.capacity:
            evicted += self.evict()
        for node in way:
            node["locks"] -= 1
        node = way[-1] if way else self.root
        for token, value in list(zip(tokens, values, strict=True))[len(way) :]:
            node["down"][token] = {"value": value, "used": self.clock, "locks": 0, "end": False, "down": {}}
            node["down"][token]["up"] = (node, token)
            node = node["down"][token]
        node["end"] = True
        return len(way), evicted

    def evict(self):
        leaves = [node for node in self.nodes() if not node["down"] and not node["locks"]]
        node, values = min(leaves, key=lambda node: node["used"]), []
        while True:
            values.insert(0, node["value"])
            above, token = node["up"]
            del above["down"][token]
            if above is self.root or above["end"]:
                return values
            node = above


def test_prefix_cache_is_a_trie_of_single_tokens():
    reference, rng = reference_of("prefix_cache"), random.Random(2)
    evictions = 0
    for _ in range(400):
        capacity = rng.randint(1, 12)
        cache, trie, locks = reference.PrefixCache(capacity), Trie(capacity), []
        for call in range(25):
            tokens = [rng.randint(1, 3) for _ in range(rng.randint(1, 6))]
            operation = rng.choice(["insert", "insert", "match", "lock", "unlock"])
            if operation == "unlock" and locks:
                number, way = locks.pop(rng.randrange(len(locks)))
                cache.unlock(number)
                trie.unlock(way)
            elif operation == "lock":
                locks.append((cache.lock(tokens), trie.lock(tokens)))
            elif operation == "match":
                assert cache.match(tokens) == trie.match(tokens)
            elif trie.fits(tokens):
                values = [100 * call + place for place in range(len(tokens))]
                expected = trie.insert(tokens, values)
                assert cache.insert(tokens, values) == expected
                evictions += bool(expected[1])
            assert cache.num_tokens == sum(1 for _ in trie.nodes())
    assert evictions > 500
