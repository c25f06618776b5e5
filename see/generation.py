"""Filters over one distribution, three ways to search for a text, and a cache that grows."""

from __future__ import annotations

import math
from itertools import pairwise
from typing import Any

import numpy as np

from dojo_show.tracing import Array, Tracer, Value, plain
from grader.worker.student import Student

TEMPERATURES, DRAWS = (0.5, 0.7, 1.0, 1.5, 2.0), 1000
#: The positions of the sliders; the last one of k and of p, and the first one of min-p, keep every token.
FILTERS: dict[str, tuple[float, ...]] = {
    "top_k": (1, 2, 4, 6),
    "top_p": (0.4, 0.6, 0.8, 1.0),
    "min_p": (0.0, 0.3, 0.4),
}
GENERATOR = """
import torch

def seeded(seed):
    return torch.Generator(device=device).manual_seed(seed)
"""
MODEL = """
import torch
from torch import nn

class Bigrams(nn.Module):
    \"\"\"The logits of the next token depend on the last token alone.\"\"\"

    def __init__(self, table):
        super().__init__()
        self.table = nn.Parameter(table)

    def forward(self, ids):
        return self.table[ids]
"""
END, START, STEPS, BEAMS, SAMPLES = 6, 7, 4, 2, 2
#: After each token: the tokens that may follow, with their probabilities; the rest is shared by all others.
FOLLOWS = {
    0: {1: 0.4, 2: 0.3, END: 0.2},
    1: {END: 0.6, 0: 0.2, 2: 0.1},
    2: {END: 0.9, 1: 0.05},
    3: {1: 0.5, END: 0.4},
    4: {1: 0.7, 2: 0.2},
    5: {1: 0.6, 2: 0.3},
}
CACHED, WIDTH, NUM_HEADS = 8, 8, 2


def filter_distribution(tracer: Tracer, logits: Array) -> Value:
    """Return the probabilities at every position of the sliders: [min-p, top-p, top-k, temperature, V]."""
    shown: Value = np.stack([logits / temperature for temperature in TEMPERATURES]).astype("f4")
    for kata, positions in FILTERS.items():
        shown = _filter(tracer, kata, positions, shown)
    return tracer.apply("choice/softmax", "softmax", [shown], [np.shape(shown)])[0]


def _filter(tracer: Tracer, kata: str, positions: tuple[float, ...], logits: Value) -> Value:
    """Return the logits behind a filter at each of its positions, on a new first axis."""
    if logits is None:
        return None
    shape = (len(positions), *logits.shape)

    def kept(student: Student) -> Array:
        results = [getattr(student, f"{kata}_filter")(tensor(logits), position) for position in positions]
        return np.stack([np.isfinite(result.detach().numpy()) for result in results])

    [found] = tracer.call(f"choice/{kata}", kata, kept, [shape], kind="?")
    return None if found is None else np.where(found, logits, -np.inf).astype("f4")


def count_draws(tracer: Tracer, logits: Array) -> Value:
    """Return how often each token is drawn at every temperature: [temperature, V]."""
    rows = np.repeat(logits[None].astype("f4"), DRAWS, axis=0)

    def draw(student: Student) -> Array:
        counts = []
        for temperature in TEMPERATURES:
            generator = student.build(GENERATOR, "seeded", 0)
            ids = student.sample(tensor(rows), temperature, generator=generator).numpy()
            counts.append([(ids == token).sum() for token in range(len(logits))])  # an id can be any number
        return np.array(counts)

    shape = (len(TEMPERATURES), len(logits))
    return tracer.call("draws/counts", "temperature_sampling", draw, [shape], kind="i8")[0]


def bigram_logits(first: Array) -> Array:
    """Return the table [8, 8] of a model of the reply: after `from` come these logits, no end."""
    table = np.full((8, 8), -9.0, "f4")
    for token, following in FOLLOWS.items():
        for after, probability in following.items():
            table[token, after] = math.log(probability)
    table[START, : len(first)] = first
    return table


def search(tracer: Tracer, first: Array) -> dict[str, Any]:
    """Return the texts that `greedy` decoding, sampling and beam search find, as ids behind the prompt, the
    beams of each of the search's `rounds`, and the model's `probabilities` [8, 8]."""
    table = bigram_logits(first)
    probabilities = np.exp(table) / np.exp(table).sum(axis=-1, keepdims=True)

    def greedy(student: Student) -> Array:
        return _generate(student, table)

    def beams(student: Student) -> tuple[Array, Array]:
        return _beams(student, np.log(probabilities))

    def samples(student: Student) -> Array:
        return np.array([_sample(student, table, seed) for seed in range(1, SAMPLES + 1)])

    [text] = tracer.call("search/greedy", "greedy_generate", greedy, [(STEPS,)], kind="i8")
    shapes = [(STEPS, BEAMS, STEPS), (STEPS,)]
    rounds, best = tracer.call("search/beams", "beam_search", beams, shapes, kind="i8")
    # Last, since another right sampler draws other tokens than the recorded ones.
    [drawn] = tracer.call("search/sampling", "temperature_sampling", samples, [(SAMPLES, STEPS)], kind="i8")
    return {
        "greedy": plain(_ids, text),
        "samples": [] if drawn is None else [_ids(row) for row in drawn],
        "rounds": [] if rounds is None else [[_ids(row) for row in beams if _ids(row)] for beams in rounds],
        "best": plain(_ids, best),
        "probabilities": probabilities,
    }


def _ids(row: Array) -> list[int]:
    """Return the ids of a row, which ends at the first -1."""
    return [int(token) for token in row if token >= 0]


def _padded(ids: Any) -> list[int]:
    """Return STEPS ids behind the prompt, with -1 in place of those that are missing or behind the end."""
    new = [int(token) if 0 <= int(token) < START else -1 for token in list(ids)[1 : STEPS + 1]]
    new = new[: new.index(END) + 1] if END in new else new
    return new + [-1] * (STEPS - len(new))


def _generate(student: Student, table: Array) -> Array:
    model = student.build(MODEL, "Bigrams", tensor(table))
    ids = student.generate(model, tensor(np.array([[START]])), STEPS, STEPS, eos_id=END)
    return np.array(_padded(ids[0].tolist()))


def _sample(student: Student, table: Array, seed: int) -> list[int]:
    """Draw a text token by token at temperature 1."""
    generator, ids = student.build(GENERATOR, "seeded", seed), [START]
    while len(ids) <= STEPS and ids[-1] != END:
        drawn = int(student.sample(tensor(table[ids[-1]][None]), 1.0, generator=generator)[0])
        ids.append(drawn if 0 <= drawn < START else END)
    return _padded(ids)


def _beams(student: Student, log_probs: Array) -> tuple[Array, Array]:
    """Return the beams that the search asks about, round by round, and the best one."""
    asked = np.full((STEPS, BEAMS, STEPS), -1)
    calls = 0

    def next_log_probs(ids: Any) -> Any:
        nonlocal calls
        for row, prefix in enumerate(ids.tolist()[:BEAMS]):
            asked[min(calls, STEPS - 1), row] = _padded(prefix)
        calls += 1
        return tensor(log_probs)[ids[:, -1]]

    best, _ = student.beam_search(next_log_probs, [START], BEAMS, STEPS, eos_id=END)
    return asked, np.array(_padded(best))


def grow_cache(tracer: Tracer) -> list[Value]:
    """Return the keys of the first head [tokens, d_head], and the FLOPs of each step with a cache and with
    the whole sequence again."""
    draw = np.random.default_rng(0).standard_normal
    shapes = ((1, CACHED, WIDTH), (WIDTH, 3 * WIDTH), (WIDTH, WIDTH))
    x, w_qkv, w_out = (draw(shape).astype("f4") for shape in shapes)
    keys = (x @ w_qkv[:, WIDTH : 2 * WIDTH]).reshape(1, CACHED, NUM_HEADS, -1).transpose(0, 2, 1, 3)

    def steps(student: Student) -> tuple[Array, Array, Array]:
        cache, raw, flops = student.KVCache(), student.KVCache(), []
        for start, stop in pairwise(range(CACHED + 1)):
            new = tensor(keys[:, :, start:stop])
            held, _ = raw.append(new, new)
            step = _flops(student, x[:, start:stop], w_qkv, w_out, cache)
            flops.append((step, _flops(student, x[:, :stop], w_qkv, w_out, student.KVCache())))
        return held.detach().numpy()[0, 0], *np.array(flops).T

    returned = [(CACHED, WIDTH // NUM_HEADS), (CACHED,), (CACHED,)]
    return tracer.call("cache/steps", "kv_cache", steps, returned)


def _flops(student: Student, x: Array, w_qkv: Array, w_out: Array, cache: Any) -> float:
    with student.counting_flops() as work:
        student.cached_attention(tensor(x), tensor(w_qkv), tensor(w_out), NUM_HEADS, cache)
    return float(work.flops)


def tensor(array: Array) -> Any:
    """Return an array as a tensor, copied if its memory has gaps."""
    import torch

    return torch.from_numpy(np.ascontiguousarray(array))
