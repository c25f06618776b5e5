"""References of the track `serving` with a small attention layer that keeps its keys and values."""

from pathlib import Path

import numpy as np
import pytest

from grader.course.catalog import load_file

torch = pytest.importorskip("torch", reason="PyTorch is not installed")

SOLUTIONS = Path(__file__).parents[2] / "solutions" / "serving"
WIDTH, VOCAB, LONGEST = 8, 7, 32


def reference(kata):
    return load_file(f"reference_of_{kata}", SOLUTIONS / kata / "reference.py")


class Layer:
    """One layer of attention between an embedding and logits, with random weights."""

    def __init__(self, seed):
        generator = torch.Generator().manual_seed(seed)

        def weight(*shape):
            return torch.randn(*shape, generator=generator, dtype=torch.float64)

        self.embedding, self.positions = weight(VOCAB, WIDTH), weight(LONGEST, WIDTH)
        self.q, self.k, self.v = (weight(WIDTH, WIDTH) for _ in "qkv")
        self.out = weight(WIDTH, VOCAB)

    def embedded(self, ids, positions):
        return self.embedding[ids] + self.positions[positions]

    def logits(self, x, keys, values, mask):
        mixed = torch.nn.functional.scaled_dot_product_attention(x @ self.q, keys, values, attn_mask=mask)
        return (x + mixed) @ self.out

    def whole(self, ids, positions=None, mask=None):
        """The logits at all positions of a text, in one pass; causal, unless a mask is given."""
        size = len(ids)
        x = self.embedded(torch.tensor(ids), torch.arange(size) if positions is None else positions)
        mask = torch.ones(size, size).tril().bool() if mask is None else mask
        return self.logits(x, x @ self.k, x @ self.v, mask)

    def continued(self, ids, count, eos_id=None):
        """The new tokens of greedy decoding, which computes everything anew at each step."""
        text = list(ids)
        while len(text) < len(ids) + count and (len(text) == len(ids) or text[-1] != eos_id):
            text.append(int(self.whole(text)[-1].argmax()))
        return text[len(ids) :]


class Cached:
    """The layer as `continuous_batching` calls it: each request has its keys and values."""

    def __init__(self, layer):
        self.layer, self.kept, self.sizes = layer, {}, []

    def __call__(self, batch):
        self.sizes.append(sum(len(tokens) for _, _, tokens in batch))
        return [self.read(*entry) for entry in batch]

    def read(self, request, start, tokens):
        layer, (keys, values) = self.layer, self.kept.get(request, (torch.zeros(0, WIDTH),) * 2)
        assert len(keys) == start
        x = layer.embedded(torch.tensor(tokens), torch.arange(start, start + len(tokens)))
        keys, values = torch.cat([keys, x @ layer.k]), torch.cat([values, x @ layer.v])
        self.kept[request] = keys, values
        mask = torch.ones(len(tokens), len(keys)).tril(start).bool()
        return int(layer.logits(x, keys, values, mask)[-1].argmax())


def ends_token_by_token(requests, lengths, budget):
    """The steps in which requests end, where each unit of the budget is given to one request by itself."""
    order = sorted(range(len(requests)), key=lambda r: (requests[r][0], r))
    unread, missing = [len(prompt) for _, prompt, _ in requests], list(lengths)
    ends, step = [None] * len(requests), 0
    while any(missing):
        speaks = {r for r in order if not unread[r] and missing[r]}
        waiting = sorted(speaks, key=order.index)
        for _ in range(budget):
            readers = [r for r in order if requests[r][0] <= step and unread[r]]
            if waiting:
                missing[waiting.pop(0)] -= 1
            elif readers:
                unread[readers[0]] -= 1
                missing[readers[0]] -= not unread[readers[0]]
        for r in order:
            if not missing[r] and ends[r] is None:
                ends[r] = step
        step += 1
    return ends


def test_continuous_batching_writes_what_a_layer_without_a_cache_does():
    rng = np.random.default_rng(1)
    for seed in range(40):
        layer, budget = Layer(seed), int(rng.integers(1, 8))
        requests = [
            (
                int(rng.integers(0, 9)),
                rng.integers(0, VOCAB, rng.integers(1, 9)).tolist(),
                int(rng.integers(1, 6)),
            )
            for _ in range(rng.integers(1, 6))
        ]
        model, eos_id = Cached(layer), int(rng.integers(0, VOCAB))
        texts, ends = reference("continuous_batching").continuous_batching(model, requests, budget, eos_id)
        assert texts == [layer.continued(prompt, count, eos_id) for _, prompt, count in requests]
        assert ends == ends_token_by_token(requests, [len(text) for text in texts], budget)
        assert max(model.sizes) <= budget


def test_a_tree_of_guesses_is_verified_in_one_pass():
    """A layer that is shown prefix and tree at once gives at each node what its path gives alone."""
    tree, rng, accepted_most = reference("tree_verification"), np.random.default_rng(2), 0
    for seed in range(40):
        layer, prefix = Layer(seed), rng.integers(0, VOCAB, rng.integers(1, 5)).tolist()
        nodes = int(rng.integers(0, 12))
        parents = np.array([rng.integers(-1, node) for node in range(nodes)], dtype=np.int64)
        paths, tokens = {-1: []}, np.zeros(nodes, dtype=np.int64)
        for node, parent in enumerate(parents.tolist()):
            right = layer.continued([*prefix, *tokens[paths[parent]].tolist()], 1)[0]
            tokens[node] = right if rng.random() < 0.6 else rng.integers(VOCAB)
            paths[node] = [*paths[parent], node]

        size = len(prefix) + nodes
        mask = torch.ones(size, size).tril().bool()
        mask[len(prefix) :] = torch.from_numpy(tree.tree_mask(parents, len(prefix)))
        positions = torch.arange(size)
        positions[len(prefix) :] = torch.from_numpy(tree.tree_positions(parents, len(prefix)))
        logits = layer.whole([*prefix, *tokens.tolist()], positions, mask)[len(prefix) - 1 :]
        for node, path in paths.items():
            alone = layer.whole([*prefix, *tokens[path].tolist()])[-1]
            torch.testing.assert_close(logits[node + 1], alone)

        path, accepted = tree.verify_tree(tokens, parents, logits.numpy())
        text = layer.continued(prefix, nodes + 1)
        longest = max((p for p in paths.values() if tokens[p].tolist() == text[: len(p)]), key=len)
        assert accepted.tolist() == text[: len(longest) + 1]
        assert path.tolist() in paths.values() or not len(path)
        assert tokens[path].tolist() == tokens[longest].tolist()
        accepted_most = max(accepted_most, len(longest))
    assert accepted_most > 2
