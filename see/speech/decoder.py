"""The decoder that speaks: a student's functions around the trained weights.

Products with the weights, sums of the residual stream and the text's bytes are the grader's own. What can be
left out is left out of the arguments, so the student's functions run unchanged.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator, Sequence
from functools import cached_property
from typing import Any

import numpy as np

from dojo_show.speech import Silent, StudentCalls, Token, Wish
from dojo_show.tracing import Array
from grader import expect

from ..generation import GENERATOR, tensor
from .grammar import END
from .model import Model, read_model

LIKELIEST = 5
SLACK = 1e-3  # by which rounding may take a probability above 1
LONGEST_PROMPT = 96  # tokens of a prompt that are read, the last ones


class Decoder:
    """Writes with the functions of a student."""

    def __init__(self, calls: StudentCalls) -> None:
        self.calls, self.model = calls, read_model()

    def write(self, wish: Wish) -> Iterator[Token]:
        """Yield the tokens of the prompt, then new ones until the story ends or the positions do."""
        model, (start,) = self.model, END.encode()
        if wish.way and wish.without:
            raise Silent("Only the parts can be left out, not what `cache` and `whole` do at once.")
        ids = [start, *model.encode(wish.prompt)[-LONGEST_PROMPT:]]
        yield from (Token(token, model.text(token)) for token in ids[1:])
        following = _Following(self.calls, wish)
        steps = self._steps(wish)
        while len(ids) < model.max_len:
            logits, shares, best = steps.after(ids)
            token = following.token(logits, best)
            if token == start:
                return
            ids.append(token)
            order = np.argsort(-shares, kind="stable")[:LIKELIEST]
            yield Token(token, model.text(token), tuple((model.text(i), float(shares[i])) for i in order))

    def _steps(self, wish: Wish) -> Any:
        return {"": Parts, "cache": Cached, "whole": Whole}[wish.way](self.calls, self.model, wish.without)

    def weights(self, ids: Sequence[int], wish: Wish) -> Array:
        """Return the weights of each head, [layers, heads, 1 + T, 1 + T], the start included."""
        return Parts(self.calls, self.model, wish.without).weights([*END.encode(), *ids])

    def loss(self, wish: Wish) -> float:
        """Return the mean loss of the held stories."""
        parts, [end] = Parts(self.calls, self.model, wish.without), END.encode()
        losses: list[float] = []
        for story in self.model.held:
            ids = [end, *self.model.encode(story), end]
            losses += _losses(parts.logits(ids[:-1]), ids[1:])
        return float(np.mean(losses))

    def rates(self, ids: Sequence[int], wish: Wish) -> dict[str, tuple[float, float]]:
        """Return the seconds and the operations of a token, by the way of writing."""
        ways: dict[str, Any] = {"your whole model": Whole}
        if wish.way == "cache":
            ways = {"with the cache": Cached, "all again": Again}
        found = {}
        for name, steps in ways.items():
            writer = steps(self.calls, self.model, ())
            began = time.perf_counter()
            for length in range(1, len(ids) + 1):
                writer.after(ids[:length])
            found[name] = ((time.perf_counter() - began) / len(ids), writer.operations / len(ids))
        return found


def _losses(logits: Array, targets: list[int]) -> list[float]:
    """Return the loss at each place."""
    shifted = logits - logits.max(axis=-1, keepdims=True)  # [T, V]
    log_total = np.log(np.exp(shifted).sum(axis=-1))  # [T]
    losses: list[float] = (log_total - shifted[np.arange(len(targets)), targets]).tolist()
    return losses


class Parts:
    """The six parts of the course, in NumPy: `hidden` is a GPT as the course's `mini_gpt` is built."""

    def __init__(self, calls: StudentCalls, model: Model, without: Sequence[str]) -> None:
        self.calls, self.model, self.without = calls, model, without
        self.positions = model["embed.pos_embed.weight"]
        if "positions" in without:
            self.positions = np.zeros_like(self.positions)
        self.projections = [self._projections(layer) for layer in range(model.num_layers)]
        self.head = np.ascontiguousarray(model["head.weight"].T)  # [d_model, V]

    def after(self, ids: Sequence[int]) -> tuple[Array, Array, int]:
        """Return the logits [V], the shares [V] and the likeliest of the next token."""
        return self._next(self.hidden(ids))

    def _next(self, hidden: Array) -> tuple[Array, Array, int]:
        size = self.model.vocab_size
        shapes: list[tuple[int, ...]] = [(size,), (size,), ()]
        logits, shares, best = self.calls.several("next_token", shapes, hidden, self.head)
        if not 0 <= best < size:
            raise Silent(f"next_token stopped the text. It returned the id {best:g} of {size} tokens.")
        if not (shares.min() >= 0 and shares.max() <= 1 + SLACK):
            raise Silent("next_token stopped the text. Its probabilities do not lie between 0 and 1.")
        return logits, shares, int(best)

    def logits(self, ids: Sequence[int]) -> Array:
        """Return the logits of the token behind each of these, [T, V]."""
        hidden = self.hidden(ids)
        # two rows, so that it shows which one is taken
        calls = [(hidden[max(0, place - 1) : place + 1], self.head) for place in range(len(ids))]
        return self.calls.many("next_token", (self.model.vocab_size,), calls)

    def hidden(self, ids: Sequence[int]) -> Array:
        """Return the hidden states [T, d_model] behind the last norm."""
        return self._through(self._embedded(ids), self._mask(len(ids)))

    def weights(self, ids: Sequence[int]) -> Array:
        """Return what each head of each layer looks at, [layers, heads, T, T].

        The student's own attention says it: each value is the number of its token, as a vector of zeros and a
        one, so a head reads its weights.
        """
        mask, found = self._mask(len(ids)), list[Array]()
        self._through(self._embedded(ids), mask, lambda layer, x: found.append(self._read(layer, x, mask)))
        return np.stack(found)

    def _through(
        self, x: Array, mask: Array | None, look: Callable[[int, Array], None] = lambda *_: None
    ) -> Array:
        """Return the hidden states [T, d_model] of [1, T, d_model] behind all layers. `look` is called with
        the number of each layer and what its attention reads."""
        for layer in range(self.model.num_layers):
            normed = self._norm(f"blocks.{layer}.ln1", x)  # [1, T, d_model]
            look(layer, normed)
            x = x + self._attention(layer, normed, mask)  # [1, T, d_model]
            x = x + self._feed_forward(layer, self._norm(f"blocks.{layer}.ln2", x))  # [1, T, d_model]
        hidden: Array = self._norm("ln_f", x)[0]
        return hidden  # [T, d_model]

    def _read(self, layer: int, x: Array, mask: Array | None) -> Array:
        """Return the weights of the heads of one layer, [heads, T, T]."""
        tokens, d_model, heads = x.shape[1], x.shape[2], self.model.num_heads
        width = max(d_model + tokens, heads * tokens)
        wide = np.zeros((1, tokens, width), "f4")
        wide[..., :d_model], wide[0, :, d_model : d_model + tokens] = x, np.eye(tokens)
        rows = (0, width - d_model), (0, 0)
        w_q, w_k = (np.pad(part, rows) for part in self.projections[layer][:2])  # [width, d_model]
        w_v = np.zeros((width, heads * tokens), "f4")
        w_v[d_model : d_model + tokens] = np.tile(np.eye(tokens), heads)
        w_o = np.eye(heads * tokens, width, dtype="f4")
        read = self.calls.one(
            "multi_head_attention", wide.shape, wide, wide, w_q, w_k, w_v, w_o, heads, mask
        )  # [1, T, width]
        return read[0, :, : heads * tokens].reshape(tokens, heads, tokens).swapaxes(0, 1)

    def _embedded(self, ids: Sequence[int]) -> Array:
        table = self.model["embed.token_embed.weight"]
        shape = (len(ids), table.shape[1])
        return self.calls.one("embed", shape, np.array(ids), table, self.positions)[None]

    def _mask(self, tokens: int) -> Array | None:
        if "mask" in self.without:
            return None
        shape = (tokens, tokens)
        [mask] = self.calls.run(  # no array goes in
            "causal_mask", "causal_mask", lambda own: own.causal_mask(tokens), [shape], "?"
        )
        return mask

    def _norm(self, name: str, x: Array) -> Array:
        if "norm" in self.without:
            return x
        gamma, beta = self.model[f"{name}.weight"], self.model[f"{name}.bias"]
        return self.calls.one("layer_norm", x.shape, x, gamma, beta)

    def _projections(self, layer: int) -> list[Array]:
        """Return w_q, w_k, w_v and w_o of a layer, each [d_model, d_model]."""
        qkv = self.model[f"blocks.{layer}.attn.qkv.weight"]  # [3 * d_model, d_model]
        w_q, w_k, w_v = (np.ascontiguousarray(part.T) for part in np.split(qkv, 3))
        w_o = np.ascontiguousarray(self.model[f"blocks.{layer}.attn.out_proj.weight"].T)
        d_head = len(w_o) // self.model.num_heads
        if "scale" in self.without:
            w_q = w_q * np.float32(math.sqrt(d_head))
        if "heads" in self.without:  # column j of head h lands where column h of head j belongs
            by_head = w_o.reshape(d_head, self.model.num_heads, -1)
            w_o = np.ascontiguousarray(by_head.swapaxes(0, 1)).reshape(w_o.shape)
        return [w_q, w_k, w_v, w_o]

    def _attention(self, layer: int, x: Array, mask: Array | None) -> Array:
        heads = self.model.num_heads
        return self.calls.one("multi_head_attention", x.shape, x, x, *self.projections[layer], heads, mask)

    def _feed_forward(self, layer: int, x: Array) -> Array:
        first, second = f"blocks.{layer}.mlp.0", f"blocks.{layer}.mlp.2"
        w1, w2 = (np.ascontiguousarray(self.model[f"{name}.weight"].T) for name in (first, second))
        biases = self.model[f"{first}.bias"], self.model[f"{second}.bias"]
        return self.calls.one("feed_forward", x.shape, x, w1, biases[0], w2, biases[1])


class Cached(Parts):
    """The parts with the student's `cached_attention`: only the new tokens run through the layers."""

    def __init__(self, calls: StudentCalls, model: Model, without: Sequence[str]) -> None:
        super().__init__(calls, model, without)
        self.done, self.operations = 0, 0.0
        self.caches: dict[int, Any] = {}  # by layer

    def after(self, ids: Sequence[int]) -> tuple[Array, Array, int]:
        new = self._embedded(ids)[:, self.done :]  # [1, T_new, d_model]
        self.done = len(ids)
        return self._next(self._through(new, None))

    def _attention(self, layer: int, x: Array, _: Array | None) -> Array:
        w_q, w_k, w_v, w_o = self.projections[layer]
        w_qkv = np.concatenate([w_q, w_k, w_v], axis=1)  # [d_model, 3 * d_model]
        given = [tensor(array) for array in (x, w_qkv, w_o)]

        def attend(student: Any) -> Any:
            if layer not in self.caches:
                self.caches[layer] = student.KVCache()
            with student.counting_flops() as work:
                attended = student.cached_attention(*given, self.model.num_heads, self.caches[layer])
            self.operations += work.flops
            return attended

        [attended] = self.calls.run("kv_cache", "cached_attention", attend, [x.shape])
        return attended


class Again(Cached):
    """The same with an empty cache at each token, so every token runs through the layers again."""

    def after(self, ids: Sequence[int]) -> tuple[Array, Array, int]:
        self.done, self.caches = 0, {}
        return super().after(ids)


class Whole:
    """The student's `MiniGPT` with the same weights."""

    def __init__(self, calls: StudentCalls, model: Model, _: Sequence[str]) -> None:
        self.calls, self.model = calls, model
        self.operations = 0.0

    @cached_property
    def module(self) -> Any:
        student = self.calls.answers.students["mini_gpt"]
        weights = {name: tensor(value) for name, value in self.model.state.items()}
        module = expect.loads(student, student.MiniGPT(**self.model.sizes), weights)
        module.eval()
        return module

    def after(self, ids: Sequence[int]) -> tuple[Array, Array, int]:
        """Return the logits [V], the shares [V] and the likeliest of the next token."""
        shape = (1, len(ids), self.model.vocab_size)
        given = tensor(np.array([ids]))

        def logits_of(student: Any) -> Any:
            with student.counting_flops() as work:
                logits = self.module(given)
            self.operations += work.flops
            return logits

        [logits] = self.calls.run("mini_gpt", "MiniGPT", logits_of, [shape])
        last = logits[0, -1]
        if not np.isfinite(last).all():
            raise Silent("mini_gpt stopped the text. Its logits are not finite.")
        powers = np.exp(last - last.max())
        return last, powers / powers.sum(), int(last.argmax())


class _Following:
    """Chooses the next token: the likeliest, or with the student's filters and sampler."""

    def __init__(self, calls: StudentCalls, wish: Wish) -> None:
        self.calls, self.settings = calls, wish.settings
        self.draws = "temperature" in wish.settings
        self.seed = int(wish.settings.get("seed", 0))

    def token(self, logits: Array, best: int) -> int:
        """Return the id of the next token."""
        kept = logits
        for kata in ("top_k", "top_p", "min_p"):
            if kata in self.settings:
                kept = self._filter(kata, self.settings[kata], kept)
        if not self.draws:
            return best
        self.seed += 1
        return self._draw(kept)

    def _filter(self, kata: str, setting: float, logits: Array) -> Array:
        value: Any = int(setting) if kata == "top_k" else setting
        given = tensor(logits)
        name = f"{kata}_filter"
        [kept] = self.calls.run(kata, name, lambda own: getattr(own, name)(given, value), [logits.shape])
        return kept

    def _draw(self, logits: Array) -> int:
        given, temperature = tensor(logits[None]), self.settings["temperature"]

        def draw(student: Any) -> Any:
            return student.sample(given, temperature, generator=student.build(GENERATOR, "seeded", self.seed))

        [drawn] = self.calls.run("temperature_sampling", "sample", draw, [(1,)], kind="i8")
        if not 0 <= int(drawn[0]) < len(logits):
            told = f"It returned the id {int(drawn[0])} of {len(logits)} tokens."
            raise Silent(f"sample stopped the text. {told}")
        return int(drawn[0])
