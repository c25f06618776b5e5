"""Three tiny models that learn to predict the next word, each by one backward pass of the student's."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from dojo_show.tracing import Array, Step, Tracer
from grader.worker.student import Student

from .generation import tensor

STEPS, RATE, WIDTH, EPS = 40, 0.5, 8, 1e-5
TEXT = ["the", "order", "left", "the", "hub", "and", "the", "hub", "sent", "the", "letter", "and"]
TEXT += ["the", "letter", "left", "the", "store"]
WORDS = sorted(set(TEXT))
IDS = np.array([WORDS.index(word) for word in TEXT])
CAUSAL = np.tril(np.ones((len(IDS) - 1, len(IDS) - 1), bool))

Weights = dict[str, Array]
#: Returns the logits [T, V] of some weights, and what turns their gradient into the gradients of the weights.
Model = Callable[[Weights], tuple[Array, Callable[[Array], Weights]]]


def learn(new_tracer: Callable[[], Tracer]) -> list[Step]:
    """Return the loss [STEPS + 1] of three models in training, by gradient descent, as a step each.

    The first model gets the gradient of the loss from the student, the second that of layer norm, the third
    that of attention. All else is the grader's own. Each has a tracer of its own, since a wrong gradient of
    one says nothing about the others.
    """

    def run(name: str, kata: str, train: Callable[[Student], Array]) -> Step:
        tracer = new_tracer()
        tracer.call(name, kata, train, [(STEPS + 1,)])
        return tracer.steps[name]

    def by_the_loss(student: Student) -> Array:
        def gradient(logits: Array) -> Array:
            found: Array = student.softmax_cross_entropy_backward(logits[None], IDS[None, 1:])[0]
            return found

        return _losses(_embedded, gradient)

    def by_the_norm(student: Student) -> Array:
        return _losses(lambda weights: _normed(weights, student))

    def by_attention(student: Student) -> Array:
        return _losses(lambda weights: _attending(weights, student))

    return [
        run("training/loss", "softmax_cross_entropy_backward", by_the_loss),
        run("training/norm", "layer_norm_backward", by_the_norm),
        run("training/attention", "attention_backward", by_attention),
    ]


def _losses(model: Model, gradient: Callable[[Array], Array] | None = None) -> Array:
    """Train a model and return its loss before each step and after the last one."""
    weights, losses = _first_weights(), []
    for step in range(STEPS + 1):
        logits, back = model(weights)
        shifted = logits - logits.max(axis=-1, keepdims=True)
        log_probs = shifted - np.log(np.exp(shifted).sum(axis=-1, keepdims=True))
        losses.append(float(-log_probs[np.arange(len(IDS) - 1), IDS[1:]].mean()))
        if step < STEPS:
            due = gradient(logits) if gradient else _gradient(log_probs)
            weights |= {name: weights[name] - RATE * slope for name, slope in back(due).items()}
    return np.array(losses)


def _first_weights() -> Weights:
    draw, vocab = np.random.default_rng(0).standard_normal, len(WORDS)
    shapes = {"table": (vocab, WIDTH), "places": (len(IDS) - 1, WIDTH), "out": (WIDTH, vocab)}
    shapes |= dict.fromkeys("qkv", (WIDTH, WIDTH))
    drawn = {name: draw(shape) / math.sqrt(WIDTH) for name, shape in shapes.items()}
    return drawn | {"gamma": np.ones(WIDTH), "beta": np.zeros(WIDTH)}


def _gradient(log_probs: Array) -> Array:
    found: Array = (np.exp(log_probs) - np.eye(len(WORDS))[IDS[1:]]) / len(log_probs)
    return found


def _by_token(gradient: Array) -> Array:
    """Return the gradient of the token table: the sum over the places where a token stands."""
    table = np.zeros((len(WORDS), WIDTH))
    np.add.at(table, IDS[:-1], gradient)
    return table


def _embedded(weights: Weights) -> tuple[Array, Callable[[Array], Weights]]:
    """A token's vector times the output weights."""
    x = weights["table"][IDS[:-1]]  # [T, d]

    def back(dlogits: Array) -> Weights:
        return {"out": x.T @ dlogits, "table": _by_token(dlogits @ weights["out"].T)}

    return x @ weights["out"], back


def _normed(weights: Weights, student: Student) -> tuple[Array, Callable[[Array], Weights]]:
    """The same with a layer norm between."""
    x = weights["table"][IDS[:-1]]  # [T, d]
    centred = x - x.mean(axis=-1, keepdims=True)
    h = (
        weights["gamma"] * centred / np.sqrt((centred**2).mean(axis=-1, keepdims=True) + EPS)
        + weights["beta"]
    )

    def back(dlogits: Array) -> Weights:
        dh = dlogits @ weights["out"].T
        dx, dgamma, dbeta = student.layer_norm_backward(dh, x, weights["gamma"], EPS)
        return {"out": h.T @ dlogits, "table": _by_token(dx), "gamma": dgamma, "beta": dbeta}

    return h @ weights["out"], back


def _attending(weights: Weights, student: Student) -> tuple[Array, Callable[[Array], Weights]]:
    """The same with places and one head of causal attention, whose result is added."""
    x = weights["table"][IDS[:-1]] + weights["places"]  # [T, d]
    q, k, v = (x @ weights[name] for name in "qkv")
    scores = np.where(CAUSAL, q @ k.T / math.sqrt(WIDTH), -np.inf)  # [T, T]
    lse = np.log(np.exp(scores).sum(axis=-1))  # [T]
    heard = np.exp(scores - lse[:, None]) @ v  # [T, d]

    def back(dlogits: Array) -> Weights:
        dh = dlogits @ weights["out"].T
        given = [tensor(one) for one in (dh, q, k, v, heard, lse)]
        slopes = [one.numpy() for one in student.attention_backward(*given, block_size=4, causal=True)]
        dx = dh + sum(slope @ weights[name].T for name, slope in zip("qkv", slopes, strict=True))
        own = {name: x.T @ slope for name, slope in zip("qkv", slopes, strict=True)}
        return own | {"out": (x + heard).T @ dlogits, "table": _by_token(dx), "places": dx}

    return (x + heard) @ weights["out"], back
