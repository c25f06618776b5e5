"""Compose a stack of decoder layers from the student's functions, and keep what happens inside.

Each layer is that of the kata `decoder_layer`: pre-norm, causal self-attention, cross-attention to the
encoder's memory, feed-forward. Products with the weights and the sums of the residual stream are the
grader's own.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np

from grader.see.tracing import Array, Step, Tracer, Value, gaps, plain
from grader.worker.student import Student

HEADS, D_MODEL, D_FF, LAYERS = 2, 8, 16, 6
SUBLAYERS = ("self-attention", "cross-attention", "feed-forward")
Weights = dict[str, dict[str, Array]]


class Attention(NamedTuple):
    """What an attention computes, by head; `adds` is what each head adds to the hidden states."""

    scores: Value
    mask: Value
    weights: Value
    adds: Value
    heads: Value
    result: Value


class Plane(NamedTuple):
    """One sublayer: the hidden states behind it, its attention if it is one, and the steps that made it."""

    layer: int
    sublayer: str
    hidden: Value
    attention: Attention | None
    steps: list[Step]


class Stack(NamedTuple):
    """The inputs of a decoder stack and its planes from the bottom to the top."""

    x: Value
    memory: Array
    layers: list[Weights]
    planes: list[Plane]

    @property
    def states(self) -> list[Value]:
        """The hidden states h_0 … h_N."""
        return [self.x, *(plane.hidden for plane in self.planes[2::3])]


class Comparison(NamedTuple):
    """A larger function of the student's, what it is compared with, and how far it is from that."""

    kata: str
    what: str
    told: str


def random_weights(seed: int) -> Weights:
    """Return the weights of one layer, which are those of the printed table for the seeds 1 and 2."""
    draw = np.random.default_rng(seed).standard_normal

    def matrix(*shape: int) -> Array:
        return (draw(shape) * 0.2).astype("f4")

    square = (D_MODEL, D_MODEL)
    attention = [{name: matrix(*square) for name in "qkvo"} for _ in range(2)]
    feed_forward = {"w1": matrix(D_MODEL, D_FF), "w2": matrix(D_FF, D_MODEL)}
    return {"self_attention": attention[0], "cross_attention": attention[1], "feed_forward": feed_forward}


def printed_inputs() -> tuple[Array, Array]:
    """Return the target's first hidden states [3, 8] and the memory [4, 8] of the printed table."""
    draw = np.random.RandomState(0).randn
    return (draw(3, D_MODEL) * 0.5).astype("f4"), (draw(4, D_MODEL) * 0.5).astype("f4")


def compose(tracer: Tracer, x: Value, memory: Array) -> Stack:
    """Return a stack of six layers on these inputs."""
    layers = [random_weights(seed) for seed in range(1, LAYERS + 1)]
    planes: list[Plane] = []
    hidden = x
    for number, weights in enumerate(layers, 1):
        for plane in _layer(tracer, number, weights, hidden, memory):
            planes.append(plane)
            hidden = plane.hidden
    return Stack(x, memory, layers, planes)


def _layer(tracer: Tracer, number: int, weights: Weights, x: Value, memory: Array) -> Iterator[Plane]:
    """Yield the three planes of a layer."""
    for sublayer in SUBLAYERS:
        name = f"stack/{number}/{sublayer}/"
        normed, attention = normalised(tracer, f"{name}norm", x), None
        if sublayer == "self-attention":
            attention = _attend(tracer, name, normed, normed, weights["self_attention"], causal=True)
        elif sublayer == "cross-attention":
            read = normalised(tracer, f"{name}memory norm", memory)
            attention = _attend(tracer, name, normed, read, weights["cross_attention"])
        result = attention.result if attention else _feed_forward(tracer, name, normed, weights)
        x = plain(np.add, x, result)
        tracer.keep(f"{name}hidden", x)
        yield Plane(number, sublayer, x, attention, tracer.within(name))


def normalised(tracer: Tracer, name: str, x: Value) -> Value:
    """Return the layer norm of x, with gamma 1 and beta 0."""
    ones, zeros = np.ones(D_MODEL, "f4"), np.zeros(D_MODEL, "f4")
    shape = () if x is None else x.shape
    return tracer.call(name, "layer_norm", lambda s: s.layer_norm(x, ones, zeros), [shape], [x])[0]


def _attend(
    tracer: Tracer,
    name: str,
    x_q: Value,
    x_kv: Value,
    w: dict[str, Array],
    causal: bool = False,
) -> Attention:
    """Return multi-head attention of x_q to x_kv, made of the student's functions."""
    queries, keys = (0 if x is None else len(x) for x in (x_q, x_kv))
    d_head = D_MODEL // HEADS
    parts = [
        _split(tracer, f"{name}split {part}", plain(np.matmul, x, w[part]))
        for part, x in (("q", x_q), ("k", x_kv), ("v", x_kv))
    ]
    mask = causal_mask(tracer, f"{name}mask", x_q) if causal else None
    arguments = [*parts, mask] if causal else parts
    heads, weights = tracer.call(
        f"{name}attention",
        "scaled_dot_product_attention",
        lambda s: s.scaled_dot_product_attention(*arguments),
        [(1, HEADS, queries, d_head), (1, HEADS, queries, keys)],
        arguments,
    )
    [merged] = tracer.call(
        f"{name}merge", "head_split_merge", lambda s: s.merge_heads(heads), [(1, queries, D_MODEL)], [heads]
    )
    scores = plain(lambda q, k: (q @ k.swapaxes(-1, -2))[0], *parts[:2])
    weights, heads = (plain(lambda found: found[0], found) for found in (weights, heads))
    adds = plain(lambda heads: heads @ w["o"].reshape(HEADS, d_head, D_MODEL), heads)
    result = plain(lambda merged: merged[0] @ w["o"], merged)
    return Attention(scores, mask, weights, adds, heads, result)


def _split(tracer: Tracer, name: str, x: Value) -> Value:
    shape = () if x is None else (1, HEADS, len(x), D_MODEL // HEADS)
    return tracer.call(name, "head_split_merge", lambda s: s.split_heads(x[None], HEADS), [shape], [x])[0]


def causal_mask(tracer: Tracer, name: str, x: Value) -> Value:
    """Return the student's causal mask of as many tokens as x has."""
    tokens = 0 if x is None else len(x)
    shape = (tokens, tokens)
    return tracer.call(name, "causal_mask", lambda s: s.causal_mask(tokens), [shape], [x], kind="?")[0]


def _feed_forward(tracer: Tracer, name: str, x: Value, weights: Weights) -> Value:
    w1, w2 = weights["feed_forward"]["w1"], weights["feed_forward"]["w2"]
    zeros = np.zeros(D_FF, "f4"), np.zeros(D_MODEL, "f4")
    shape = () if x is None else x.shape
    return tracer.call(
        f"{name}feed forward",
        "feed_forward",
        lambda s: s.feed_forward(x, w1, zeros[0], w2, zeros[1]),
        [shape],
        [x],
    )[0]


def compare(tracer: Tracer, stack: Stack) -> Iterator[Comparison]:
    """Yield how far the student's larger functions are from the composition of the smaller ones."""
    first, inside, reads = stack.layers[0], stack.planes[0].attention, stack.planes[1].attention
    own, cross = first["self_attention"].values(), first["cross_attention"]
    places = ("self-attention/norm", "cross-attention/norm", "cross-attention/memory norm")
    x, x_dec, x_enc = (tracer.steps[f"stack/1/{place}"].values[0] for place in places)
    assert inside
    assert reads
    block = slice(0, D_MODEL // HEADS)
    head = [plain(lambda found: found[:1], found) for found in (reads.heads, reads.weights)]
    larger: dict[str, tuple[str, Callable[[Student], Any], list[Value]]] = {
        "multi_head_attention": (
            "layer 1, self-attention",
            lambda s: s.multi_head_attention(x[None], x[None], *own, HEADS, inside.mask),
            [plain(lambda result: result[None], inside.result)],
        ),
        "cross_attention": (
            "layer 1, cross-attention, head 1",
            lambda s: s.cross_attention(x_dec[None], x_enc[None], *(cross[part][:, block] for part in "qkv")),
            head,
        ),
        "decoder_layer": (
            "layer 1",
            lambda s: s.decoder_layer(stack.x, stack.memory, first, HEADS),
            stack.states[1:2],
        ),
        "decoder_stack": (
            f"all {LAYERS} layers",
            lambda s: s.decoder_stack(stack.x, stack.memory, stack.layers, HEADS),
            stack.states,
        ),
    }
    for kata, (what, run, due) in larger.items():
        shapes = [() if array is None else array.shape for array in due]
        values = tracer.call(f"compare/{kata}", kata, run, shapes, due)
        yield Comparison(kata, what, _told(tracer.steps[f"compare/{kata}"], values, due))


def _told(step: Step, values: list[Value], due: list[Value]) -> str:
    """Return the largest difference, or why there is none."""
    if step.source == "missing":
        return step.note or "not yours yet"
    most = max(float(gaps(value, other).max()) for value, other in zip(values, due, strict=True))
    shown = f"{most:.0e}".replace("e-0", "e-") if 0 < most < 1e-3 else f"{most:.2g}"
    return f"difference {shown}"
