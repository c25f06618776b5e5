"""Compose a stack of decoder layers from the student's functions, and keep what happens inside.

Each layer is that of the kata `decoder_layer`: pre-norm, causal self-attention, cross-attention to the
encoder's memory, feed-forward. Products with the weights and the sums of the residual stream are the
grader's own.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from dojo_show.tracing import Array, Step, Tracer, Value, gaps, plain

HEADS, D_MODEL, D_FF, LAYERS = 2, 8, 16, 6
D_HEAD = D_MODEL // HEADS
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


def random_weights(seed: int) -> Weights:
    """Return the weights of one layer, which are those of the printed table for the seeds 1 and 2."""
    draw = np.random.default_rng(seed).standard_normal

    def matrix(*shape: int) -> Array:
        return (draw(shape) * 0.2).astype("f4")

    names = ("self_attention", "cross_attention")
    attentions = {name: {part: matrix(D_MODEL, D_MODEL) for part in "qkvo"} for name in names}
    return attentions | {"feed_forward": {"w1": matrix(D_MODEL, D_FF), "w2": matrix(D_FF, D_MODEL)}}


def printed_inputs() -> tuple[Array, Array]:
    """Return the target's first hidden states [3, 8] and the memory [4, 8] of the printed table."""
    draw = np.random.RandomState(0).randn
    return (draw(3, D_MODEL) * 0.5).astype("f4"), (draw(4, D_MODEL) * 0.5).astype("f4")


def compose(tracer: Tracer, x: Value, memory: Array) -> Stack:
    """Return a stack of six layers on these inputs."""
    stack = Stack(x, memory, [random_weights(seed) for seed in range(1, LAYERS + 1)], [])
    for layer, weights in enumerate(stack.layers, 1):
        for sublayer in SUBLAYERS:
            plane = _plane(tracer, layer, sublayer, weights[sublayer.replace("-", "_")], x, memory)
            stack.planes.append(plane)
            x = plane.hidden
    return stack


def _plane(tracer: Tracer, layer: int, sublayer: str, w: dict[str, Array], x: Value, memory: Array) -> Plane:
    """Return one sublayer on the hidden states x."""
    name, attention = f"stack/{layer}/{sublayer}/", None
    normed = normalised(tracer, f"{name}norm", x)
    if sublayer == "feed-forward":
        arguments = [normed, w["w1"], np.zeros(D_FF, "f4"), w["w2"], np.zeros(D_MODEL, "f4")]
        [result] = tracer.apply(f"{name}feed forward", "feed_forward", arguments, [np.shape(normed)])
    else:
        causal = sublayer == "self-attention"
        read = normed if causal else normalised(tracer, f"{name}memory norm", memory)
        attention = _attend(tracer, name, normed, read, w, causal)
        result = attention.result
    hidden = plain(np.add, x, result)
    tracer.keep(f"{name}hidden", hidden)
    return Plane(layer, sublayer, hidden, attention, tracer.within(name))


def normalised(tracer: Tracer, name: str, x: Value) -> Value:
    """Return the layer norm of x, with gamma 1 and beta 0."""
    arguments = [x, np.ones(D_MODEL, "f4"), np.zeros(D_MODEL, "f4")]
    return tracer.apply(name, "layer_norm", arguments, [np.shape(x)])[0]


def causal_mask(tracer: Tracer, name: str, x: Value) -> Value:
    """Return the student's causal mask of as many tokens as x has."""
    tokens = 0 if x is None else len(x)
    shape = (tokens, tokens)
    return tracer.call(name, "causal_mask", lambda s: s.causal_mask(tokens), [shape], [x], kind="?")[0]


def _attend(
    tracer: Tracer, name: str, x_q: Value, x_kv: Value, w: dict[str, Array], causal: bool
) -> Attention:
    """Return multi-head attention of x_q to x_kv, made of the student's functions."""
    queries, keys = (np.shape(x)[:1] for x in (x_q, x_kv))  # empty if x is missing
    arguments = [
        _split(tracer, f"{name}split {part}", plain(np.matmul, x, w[part]))
        for part, x in (("q", x_q), ("k", x_kv), ("v", x_kv))
    ]
    scores = plain(lambda q, k: (q @ k.swapaxes(-1, -2))[0], *arguments[:2])
    mask = causal_mask(tracer, f"{name}mask", x_q) if causal else None
    if causal:
        arguments.append(mask)
    shapes = [(1, HEADS, *queries, D_HEAD), (1, HEADS, *queries, *keys)]
    heads, weights = tracer.apply(f"{name}attention", "scaled_dot_product_attention", arguments, shapes)
    [merged] = tracer.apply(f"{name}merge", "merge_heads", [heads], [(1, *queries, D_MODEL)])
    weights, heads, merged = (plain(lambda found: found[0], found) for found in (weights, heads, merged))
    adds = plain(lambda heads: heads @ w["o"].reshape(HEADS, D_HEAD, D_MODEL), heads)
    return Attention(scores, mask, weights, adds, heads, plain(np.matmul, merged, w["o"]))


def _split(tracer: Tracer, name: str, x: Value) -> Value:
    """Return x [tokens, d_model] as heads [1, heads, tokens, d_head]."""
    shape = (1, HEADS, *np.shape(x)[:1], D_HEAD)
    return tracer.apply(name, "split_heads", [_batched(x), HEADS], [shape])[0]


def _batched(x: Value) -> Value:
    return plain(lambda x: x[None], x)


def compare(tracer: Tracer, stack: Stack) -> Iterator[dict[str, str]]:
    """Yield how far each of the student's larger functions is from the composition of the smaller ones: the
    `kata`, `what` is compared, and the difference, as `told` to the student."""
    first, inside, reads = stack.layers[0], stack.planes[0].attention, stack.planes[1].attention
    assert inside
    assert reads
    places = ("self-attention/norm", "cross-attention/norm", "cross-attention/memory norm")
    x, x_dec, x_enc = (_batched(tracer.steps[f"stack/1/{place}"].values[0]) for place in places)
    own = [x, x, *first["self_attention"].values(), HEADS, inside.mask]
    cross = [x_dec, x_enc, *(first["cross_attention"][part][:, :D_HEAD] for part in "qkv")]
    head = [plain(lambda found: found[:1], found) for found in (reads.heads, reads.weights)]
    whole, states = (stack.x, stack.memory), stack.states
    result = [_batched(inside.result)]
    yield _compared(tracer, "multi_head_attention", "layer 1, self-attention", own, result)
    yield _compared(tracer, "cross_attention", "layer 1, cross-attention, head 1", cross, head)
    yield _compared(tracer, "decoder_layer", "layer 1", [*whole, first, HEADS], states[1:2])
    yield _compared(tracer, "decoder_stack", f"all {LAYERS} layers", [*whole, stack.layers, HEADS], states)


def _compared(
    tracer: Tracer, kata: str, what: str, arguments: Sequence[Any], due: Sequence[Value]
) -> dict[str, str]:
    """Return the largest difference of the function of this kata's name from `due`, or why there is none."""
    name, shapes = f"compare/{kata}", [np.shape(array) for array in due]
    values = tracer.call(name, kata, lambda s: getattr(s, kata)(*arguments), shapes, due)
    step = tracer.steps[name]
    told = step.note or "not yours yet"
    if step.source != "missing":
        most = max(float(gaps(value, other).max()) for value, other in zip(values, due, strict=True))
        shown = f"{most:.0e}".replace("e-0", "e-") if 0 < most < 1e-3 else f"{most:.2g}"
        told = f"difference {shown}"
    return {"kata": kata, "what": what, "told": told}
