"""Run the decoder that a student's functions make, and describe it in sections."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

from dojo_show.answers import Answers
from dojo_show.sections import Figure, Light, Section, figure_of, labels, numbered, rounded, status_of
from dojo_show.speech import Silent, StudentCalls, Token, Wish, section_of
from dojo_show.tracing import Step, Tracer, Value, cells_of, plain

from . import experiments, generation, training
from .example import REPLY, Example, reply_logits
from .speech import SPEECH
from .speech.decoder import Decoder
from .stack import D_MODEL, HEADS, LAYERS, Plane, causal_mask, compare, compose, normalised

TEXTS = json.loads(Path(__file__).with_name("texts.json").read_text(encoding="utf-8"))


def _section(name: str, *parts: Any, **more: Any) -> Section:
    return Section(name, TEXTS["titles"][name], *parts, **more)


class Sections:
    """Runs the decoder on an example and describes what each part of it gave."""

    def __init__(self, answers: Answers, recording: Mapping[str, Any], example: Example) -> None:
        self.answers, self.example = answers, example
        self.recorded: Mapping[str, Any] = recording.get("steps", {})
        self.spoken: Mapping[str, Any] = recording.get("speech", {})
        self.norms: dict[str, list[float]] = recording.get("norms", {})
        self.tracers: list[Tracer] = []
        self.tokens, self.features = labels(example.tokens), numbered(example.token_table.shape[1])

    def all(self) -> list[Section]:
        """Return every section, in the order of the page."""
        parts = [self._overview, self._embeddings, self._attention, self._stack, self._following]
        parts += [self._experiments, self._choice, self._search, self._cache, self._training, self._speech]
        return [part() for part in parts]

    def _tracer(self, is_fixed: bool = False) -> Tracer:
        """Return a tracer for a chain of calls; the recording holds for the reply and for fixed inputs."""
        is_recorded = is_fixed or self.example.inputs
        self.tracers.append(Tracer(self.answers, self.recorded if is_recorded else {}))
        return self.tracers[-1]

    @property
    def steps(self) -> dict[str, Step]:
        """The steps that were run so far, by the names under which they were recorded."""
        return {name: step for tracer in self.tracers for name, step in tracer.steps.items()}

    def _overview(self) -> Section:
        statuses = self.answers.statuses
        own = sum(status == "yours" for status in statuses.values())
        begun = [name for name, status in statuses.items() if status == "begun"]
        texts = [f"{own} of {len(statuses)} katas of the decoder are yours."]
        if {"open", "begun"} & set(statuses.values()):
            texts.append(TEXTS["recorded" if self.example.inputs else "empty"])
        if begun:
            texts.append(f"Not passing yet: {', '.join(begun)}. {TEXTS['mine']}")
        if "fails" in statuses.values():
            texts.append(TEXTS["followed"])
        return _section("overview", texts, data={"statuses": statuses, "said": " ".join(self.example.tokens)})

    def _embeddings(self) -> Section:
        ids, table = self.example.ids, self.example.token_table
        fixed = self._tracer(is_fixed=True)
        [sines] = fixed.apply("positions", "sinusoidal_positions", [16, 8], [(16, 8)])
        positions = plain(lambda sines: sines[: len(ids)].astype("f4"), sines)
        if self.example.inputs:
            positions = self.example.inputs["position_table"]
        [self.x] = self._tracer().apply("embedding", "embed", [ids, table, positions], [table[ids].shape])
        rows = numbered(len(ids), "position")
        figures = [
            Figure("token vectors", table[ids], self.tokens, self.features),
            Figure("position vectors", positions, rows, self.features),
            self._figure("embedding", "their sum: embed(ids, …)", self.tokens, self.features),
            self._figure("positions", "sinusoidal_positions(16, 8)", numbered(16, "position"), numbered(8)),
        ]
        return _section("embeddings", TEXTS["embeddings"], figures)

    def _attention(self) -> Section:
        q, k, v = self._projections()
        tracer, tokens, count = self._tracer(), self.tokens, len(self.tokens)
        scores = plain(lambda q, k: q @ k.T, q, k)
        scaled = plain(lambda scores: scores / math.sqrt(2), scores)
        mask = causal_mask(tracer, "head/mask", tokens)
        shapes = [(count, 2), (count, count)]
        tracer.apply("head/attention", "scaled_dot_product_attention", [q, k, v, mask], shapes)
        masked = plain(lambda scaled, mask: np.where(mask, scaled, -np.inf), scaled, mask)
        weights = self._figure("head/attention", "5  weights", tokens, tokens, place=1)
        output = self._figure("head/attention", "6  output: weights · v", tokens, numbered(2))
        pairs: list[Light] = [("q", "row"), ("k", "column")]
        figures = [
            *(
                Figure(name, value, tokens, numbered(2), name=name)
                for name, value in zip("qkv", (q, k, v), strict=True)
            ),
            Figure("1  scores: q kᵀ", scores, tokens, tokens, lights=pairs),
            Figure("2  scaled: scores / √2", scaled, tokens, tokens, lights=pairs),
            self._figure("head/mask", f"3  causal_mask({count})", tokens, tokens, "mask"),
            Figure("4  masked", masked, tokens, tokens, lights=pairs),
            replace(weights, lights=[("v", "column"), ("output", "row")]),
            replace(output, name="output"),
        ]
        return _section("attention", TEXTS["attention"], figures + self._scaling())

    def _projections(self) -> list[Value]:
        """Return the queries, the keys and the values of one head, each [tokens, 2]."""
        if self.example.inputs:
            return [self.example.inputs[name] for name in "qkv"]
        draw = np.random.default_rng(0).standard_normal
        matrices = [draw((len(self.features), 2)).astype("f4") for _ in range(3)]
        return [plain(np.matmul, self.x, matrix) for matrix in matrices]

    def _scaling(self) -> list[Figure]:
        """Return the softmax of three scores, without the scale and with it."""
        tracer, scores = self._tracer(is_fixed=True), np.array(REPLY["softmax_scores"], "f4")
        columns, figures = [f"score {score}" for score in REPLY["softmax_scores"]], []
        for title, given in (("scores", scores), ("scores / √64", scores / np.float32(8))):
            tracer.apply(title, "softmax", [given], [scores.shape])
            figures.append(self._figure(title, f"softmax({title})", [""], columns, "bars"))
        return figures

    def _stack(self) -> Section:
        tracer, features = self._tracer(), numbered(D_MODEL)
        x = self.example.inputs["x"] if self.example.inputs else self.x
        self.stack = compose(tracer, x, self.example.memory)
        figures = [Figure("h0", x, self.tokens, features)]
        for layer in (1, 2, LAYERS):
            name, steps = f"stack/{layer}/feed-forward/hidden", self._steps_of(3 * layer)
            figures.append(self._figure(name, f"h{layer}", self.tokens, features, steps=steps))
        data = {
            "x": rounded(x),
            "memory": rounded(self.example.memory),
            "tokens": self.tokens,
            "source": REPLY["source"],
            "planes": [self._plane(plane) for plane in self.stack.planes],
            "comparisons": list(compare(tracer, self.stack)),
        }
        in_text = [replace(figure, in_text_only=True) for figure in figures + self._heads()]
        return _section("stack", TEXTS["stack"], in_text, data)

    def _steps_of(self, planes: int) -> list[Step]:
        """Return the steps of this number of planes, from the bottom."""
        return [step for plane in self.stack.planes[:planes] for step in plane.steps]

    def _heads(self) -> list[Figure]:
        """Return the weights of layer 1 by head."""
        figures = []
        for name, columns in (("self-attention", self.tokens), ("cross-attention", REPLY["source"])):
            for head in range(HEADS):
                step, title = f"stack/1/{name}/attention", f"layer 1, {name}, weights of head {head + 1}"
                figures.append(self._figure(step, title, self.tokens, columns, place=1, at=(0, head)))
        return figures

    def _plane(self, plane: Plane) -> dict[str, Any]:
        """Return what the script draws of a plane."""
        name = f"stack/{plane.layer}/{plane.sublayer}"
        # six decimals stay right when the page rounds them to three
        entry = {"layer": plane.layer, "name": plane.sublayer, "hidden": rounded(plane.hidden, 6)}
        entry |= {"changed": cells_of(self.steps[f"{name}/hidden"].mask(0)), **status_of(plane.steps)}
        if plane.attention:
            inside = [step for step in plane.steps if step.kata not in ("", "layer_norm")]
            weights = [cell[1:] for cell in cells_of(self.steps[f"{name}/attention"].mask(1))]
            entry |= {"inside": status_of(inside), "weights_changed": weights}
            decimals = {"scores": 4, "mask": 0, "weights": 3, "adds": 3}
            entry |= {part: rounded(getattr(plane.attention, part), n) for part, n in decimals.items()}
        return entry

    def _following(self) -> Section:
        example, tracer, size = self.example, self._tracer(), len(self.example.vocab)
        if example.inputs:
            hidden, texts = example.inputs["hidden"][None], list(TEXTS["next"])
        else:
            hidden = normalised(tracer, "next/norm", self.stack.states[-1])
            texts = list(TEXTS["next_typed"])
        shapes = [(size,), (size,), ()]
        _, shares, best = tracer.apply("next/token", "next_token", [hidden, example.output_weight], shapes)
        if best is not None and 0 <= best < size and 0 <= shares[int(best)] <= 1:
            said, word = " ".join(example.tokens), example.vocab[int(best)]
            texts.append(f"After “{said}” comes “{word}”, {shares[int(best)]:.0%}.")
        figure = self._figure("next/token", "probabilities", [""], example.vocab, "bars", place=1)
        return _section("next", texts, [figure])

    def _experiments(self) -> Section:
        experiments.count_parameters(self._tracer(is_fixed=True))
        rows = [f"V {size:,}, {kind}" for size in experiments.VOCABULARIES for kind in ("tied", "untied")]
        parts = ["embedding", "stack", "output", "total"]
        table = self._figure("parameters", "parameters at d_model 512", rows, parts)
        features = plain(lambda *states: np.array([[h[0, 0] for h in states]]), *self.stack.states[:5])
        status = status_of(self._steps_of(12))
        names = [f"h{layer}" for layer in range(5)]
        curve = Figure("h[0, 0] over depth, N = 4", features, [""], names, in_text_only=True, **status)
        ends = ["step 0", f"step {experiments.STEPS}"]
        norms = np.array([[found[0], found[-1]] for found in self.norms.values()]) if self.norms else None
        last = Figure("norm of h_N in training, recorded", norms, list(self.norms), ends, in_text_only=True)
        depth = plain(lambda features: rounded(features[0]), features)
        data = {"depth": depth, **status, "norms": self.norms, "every": experiments.EVERY}
        return _section("experiments", TEXTS["experiments"], [curve, table, last], data)

    def _choice(self) -> Section:
        filtering, drawing, logits = self._tracer(True), self._tracer(True), reply_logits()
        grid = generation.filter_distribution(filtering, logits)
        whole = plain(lambda grid: np.nan_to_num(grid).clip(0, 1), grid)
        data = {
            "vocab": REPLY["vocab"],
            "positions": [generation.TEMPERATURES, *generation.FILTERS.values()],
            "grid": plain(lambda whole: (whole * 1000).round().astype(int).tolist(), whole),
            "draws": rounded(generation.count_draws(drawing, logits)),
        }
        status = status_of([*filtering.steps.values(), *drawing.steps.values()])
        one = generation.TEMPERATURES.index(1.0)
        alone = {"no filter": (0, 3, 3), "top-k 2": (0, 3, 1), "top-p 0.6": (0, 1, 3), "min-p 0.4": (2, 3, 3)}
        rows = plain(lambda whole: np.stack([whole[place][one] for place in alone.values()]), whole)
        figure = Figure("probabilities", rows, list(alone), REPLY["vocab"], in_text_only=True, **status)
        return _section("choice", TEXTS["choice"], [figure], data | status)

    def _search(self) -> Section:
        tracer, words, texts = (
            self._tracer(is_fixed=True),
            [*REPLY["vocab"], ".", "from"],
            list(TEXTS["search"]),
        )
        found = generation.search(tracer, reply_logits())
        probabilities = found["probabilities"]
        for name, path in (("Greedy decoding", found["greedy"]), ("Beam search", found["best"])):
            if path:
                share = math.prod(probabilities[a, b] for a, b in pairwise([generation.START, *path]))
                texts.append(f"{name} writes “{' '.join(words[t] for t in path)}”, probability {share:.3f}.")
        data = {**found, "probabilities": rounded(probabilities), "words": words}
        return _section("search", texts, (), data | status_of(tracer.steps.values()))

    def _cache(self) -> Section:
        tracer = self._tracer(is_fixed=True)
        keys, cached, whole = generation.grow_cache(tracer)
        status = status_of(tracer.steps.values())
        data = {"keys": rounded(keys), "cached": rounded(cached), "whole": rounded(whole), **status}
        both = plain(lambda cached, whole: np.stack([cached, whole], axis=1), cached, whole)
        rows, columns = numbered(generation.CACHED, "token"), ["with the cache", "all again"]
        figure = Figure("FLOPs of each step", both, rows, columns, in_text_only=True, **status)
        return _section("cache", TEXTS["cache"], [figure], data)

    def _training(self) -> Section:
        steps = training.learn(lambda: self._tracer(is_fixed=True))
        every = training.STEPS // 4
        columns = [f"step {number}" for number in range(0, training.STEPS + 1, every)]
        figures = [
            figure_of(step, f"the loss by {step.kata}", [""], columns, at=(slice(None, None, every),))
            for step in steps
        ]
        in_text = [replace(figure, in_text_only=True) for figure in figures]
        losses = {step.kata: rounded(step.values[0]) for step in steps if step.values[0] is not None}
        return _section("training", TEXTS["training"], in_text, {"losses": losses, **status_of(steps)})

    def _speech(self) -> Section:
        title, wish = TEXTS["titles"]["speak"], Wish(SPEECH.prompt)
        missing = [kata for kata in SPEECH.parts if kata not in self.answers.students]
        if missing:
            known = self.spoken.get("text")
            recorded = [TEXTS["speak_recorded"], known] if known else []
            return section_of(title, [SPEECH.to_go(missing), *recorded], [], None)
        texts, tokens, weights = [*TEXTS["speak"]], list[Token](), None
        writer = Decoder(StudentCalls(self.answers))
        try:
            for token in writer.write(wish):
                tokens.append(token)
            weights = writer.weights([token.id for token in tokens], wish)
        except Silent as reason:
            texts.append(str(reason))
        return section_of(title, texts, tokens, weights)

    def _figure(self, name: str, *parts: Any, **more: Any) -> Figure:
        """Return a value of the step of this name as a figure."""
        return figure_of(self.steps[name], *parts, **more)
