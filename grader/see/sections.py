"""The sections of what is shown: sentences and figures, which the page and the text both render."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import Any

import numpy as np

from grader.report import PictureKind
from grader.see import experiments, generation
from grader.see.answers import Answers
from grader.see.example import REPLY, Example, labels, rounded
from grader.see.stack import (
    D_MODEL,
    HEADS,
    LAYERS,
    Comparison,
    Plane,
    causal_mask,
    compare,
    compose,
    normalised,
)
from grader.see.tracing import Array, Source, Step, Tracer, plain

Recording = Mapping[str, Any]

#: The sections by the names that `grade --see NAME` takes.
IDS = ("overview", "embeddings", "attention", "stack", "next", "experiments", "choice", "search", "cache")
HATCHED = (
    "What is hatched is not yours yet: its numbers were recorded when the course was made. It lights up as"
    " its kata passes."
)
MINE = "`grade --see --mine` uses what does not pass as well, so that you see where the effect goes."
EMBEDDINGS = (
    "Each token is a row of the token table. The row of its position is added, so that the decoder can tell"
    " the same word in two places apart."
)
ATTENTION = (
    "Every token asks with a query and answers with a key. Their products are the scores. They are divided by"
    " the root of the width, the future is masked, and the softmax of each row weighs the values."
)
SCALING = (
    "Why the scale: with 64 features the scores 12.4, 9.1 and 3.8 leave almost nothing to the second token."
    " Divided by 8 they share the weight."
)
STACK = (
    "Three planes a layer: self-attention, cross-attention to the memory of the encoder, feed-forward. Each"
    " adds to the hidden states below it. The weights are random; the states h₀, h₁ and h₂ of the reply are"
    " those of the printed table."
)
NEXT = (
    "The last hidden state times the output weights gives a logit for each word; their softmax is the"
    " distribution of the next token."
)
NEXT_TYPED = (
    "The last hidden state is normalised and compared with the embedding of each word. The model is random,"
    " so its choice means nothing; what counts is that each step is yours."
)
EXPERIMENTS = "A feature of the first token on its way up, and what a vocabulary costs."
NORMS = (
    "Recorded, not yours: a small model of four layers in training. Pre-norm lets the hidden states grow"
    " with every layer, so a final norm brings them back; post-norm ends on a norm anyway."
)
CHOICE = (
    "The distribution of the next token, behind your own temperature, top-k, top-p and min-p. Each filter"
    " keeps some of the logits, and your softmax shares the probability among them."
)
SEARCH = (
    "The same model of the reply, three ways: greedy decoding takes the best token each time, sampling draws"
    " one, and beam search keeps the two best texts so far."
)
CACHE = (
    "Each step adds one column of keys. With the cache a step projects one token; without it, all of them"
    " again."
)


@dataclass(frozen=True)
class Figure:
    """One table of numbers, with where it comes from.

    Attributes:
        title: What the numbers are.
        values: Rows of numbers, or None if a value is missing.
        rows: The labels of the rows.
        columns: The labels of the columns.
        kind: How to draw them.
        source: Whose they are.
        katas: The katas that are not the student's yet.
        note: Why there are no numbers.
        changed: A mask of the cells that differ from the recording.
        in_text_only: True if the page shows the numbers in another way.
    """

    title: str
    values: Array | None
    rows: Sequence[str]
    columns: Sequence[str]
    kind: PictureKind = "matrix"
    source: Source = "plain"
    katas: tuple[str, ...] = ()
    note: str = ""
    changed: Array | None = None
    in_text_only: bool = False


@dataclass(frozen=True)
class Section:
    """A part of the page. `data` is what its script draws besides the figures."""

    id: str
    title: str
    texts: Sequence[str]
    figures: Sequence[Figure] = ()
    data: dict[str, Any] = field(default_factory=dict)


class Sections:
    """Runs the decoder on an example and describes what each part of it gave."""

    def __init__(self, answers: Answers, recording: Recording, example: Example) -> None:
        self.answers, self.example = answers, example
        self.recorded: Recording = recording.get("steps", {})
        self.norms: dict[str, list[float]] = recording.get("norms", {})
        self.tracers: list[Tracer] = []
        self.tokens, self.features = labels(example.tokens), _numbered(example.token_table.shape[1])

    def all(self) -> list[Section]:
        """Return every section, in the order of the page."""
        embeddings = self._embeddings()
        attention = self._attention()
        stack = self._stack()
        following = self._following()
        rest = [self._experiments(), self._choice(), self._search(), self._cache()]
        return [self._overview(), embeddings, attention, stack, following, *rest]

    def _tracer(self, is_fixed: bool = False) -> Tracer:
        """Return a tracer for one chain of calls; the recording holds for the reply and for fixed inputs."""
        holds = is_fixed or self.example.inputs is not None
        self.tracers.append(Tracer(self.answers, self.recorded if holds else {}))
        return self.tracers[-1]

    @property
    def steps(self) -> dict[str, Step]:
        """All steps so far, by name."""
        return {name: step for tracer in self.tracers for name, step in tracer.steps.items()}

    def _overview(self) -> Section:
        own = sum(status == "yours" for status in self.answers.statuses.values())
        text = f"{own} of {len(self.answers.statuses)} katas of the decoder are yours."
        begun = [name for name, status in self.answers.statuses.items() if status == "begun"]
        texts = [text, HATCHED] if own < len(self.answers.statuses) else [text]
        if begun:
            verb = "does" if len(begun) == 1 else "do"
            texts.append(f"{', '.join(begun)} {verb} not pass. {MINE}")
        data = {"katas": self.answers.statuses, "said": " ".join(self.example.tokens)}
        return Section("overview", "Your decoder, running", texts, data=data)

    def _embeddings(self) -> Section:
        example, tracer = self.example, self._tracer()
        count, width = len(example.tokens), example.token_table.shape[1]
        table = self._positions()
        positions = example.inputs["position_table"] if example.inputs else table
        if positions is not None and not example.inputs:
            positions = positions[:count].astype("f4")
        ids, tokens = example.ids, example.token_table[example.ids]
        [self.x] = tracer.call(
            "embedding/sum",
            "token_embedding",
            lambda s: s.embed(ids, example.token_table, positions),
            [(count, width)],
            [positions],
        )
        given = None if positions is None else positions[:count]
        rows, columns = self.tokens, self.features
        figures = [
            Figure("token vectors", tokens, rows, columns),
            Figure("position vectors", given, [f"position {n}" for n in range(count)], columns),
            self._figure("embedding/sum", "their sum: embed(ids, …)", rows, columns),
            self._figure(
                "positions/table", "sinusoidal_positions(16, 8)", _numbered(16, "position"), _numbered(8)
            ),
        ]
        return Section("embeddings", "Embeddings", [EMBEDDINGS], figures)

    def _positions(self) -> Array | None:
        tracer = self._tracer(is_fixed=True)
        return tracer.call(
            "positions/table",
            "sinusoidal_positions",
            lambda s: s.sinusoidal_positions(16, 8),
            [(16, 8)],
        )[0]

    def _attention(self) -> Section:
        q, k, v = self._projections()
        tracer, count = self._tracer(), len(self.tokens)
        scores = plain(lambda q, k: q @ k.T, q, k)
        scaled = plain(lambda s: s / math.sqrt(q.shape[1]), scores)
        mask = causal_mask(tracer, "head/mask", count)
        masked = plain(lambda s, m: np.where(m, s, -np.inf), scaled, mask)
        tracer.call(
            "head/attention",
            "scaled_dot_product_attention",
            lambda s: s.scaled_dot_product_attention(q, k, v, mask),
            [(count, 2), (count, count)],
            [q, k, v, mask],
        )
        rows = columns = self.tokens
        figures = [
            Figure("1  scores: q kᵀ", scores, rows, columns),
            Figure("2  scaled: scores / √2", scaled, rows, columns),
            self._figure("head/mask", "3  causal_mask(3)".replace("3)", f"{count})"), rows, columns, "mask"),
            Figure("4  masked", masked, rows, columns),
            self._figure("head/attention", "5  weights", rows, columns, place=1),
            self._figure("head/attention", "6  output: weights · v", rows, _numbered(2)),
            *self._scaling(),
        ]
        return Section("attention", "Attention, step by step", [ATTENTION, SCALING], figures)

    def _projections(self) -> list[Array | None]:
        if self.example.inputs:
            return [self.example.inputs[name] for name in "qkv"]
        draw = np.random.default_rng(0).standard_normal
        matrices = [draw((len(self.features), 2)).astype("f4") for _ in range(3)]
        return [plain(np.matmul, self.x, matrix) for matrix in matrices]

    def _scaling(self) -> list[Figure]:
        tracer, scores = self._tracer(is_fixed=True), np.array(REPLY["softmax_scores"], "f4")
        width = REPLY["softmax_width"]
        for name, given in (("plain", scores), ("scaled", scores / np.float32(math.sqrt(width)))):
            tracer.call(f"scaling/{name}", "softmax", lambda s, x=given: s.softmax(x), [scores.shape])
        columns = [f"score {score}" for score in REPLY["softmax_scores"]]
        return [
            self._figure("scaling/plain", "softmax(scores)", [""], columns, "bars"),
            self._figure("scaling/scaled", f"softmax(scores / √{width})", [""], columns, "bars"),
        ]

    def _stack(self) -> Section:
        tracer = self._tracer()
        x = self.example.inputs["x"] if self.example.inputs else self.x
        self.stack = compose(tracer, x, self.example.memory)
        comparisons = [
            {"kata": found.kata, "what": found.what, "told": difference_told(found)}
            for found in compare(tracer, self.stack)
        ]
        features = _numbered(D_MODEL)
        states = [
            self._figure(f"stack/{layer}/feed-forward/hidden", f"h{layer}", self.tokens, features, steps=made)
            for layer in (1, 2, LAYERS)
            for made in [[step for plane in self.stack.planes[: 3 * layer] for step in plane.steps]]
        ]
        figures = [Figure("h0", x, self.tokens, features), *states, *self._heads()]
        data = {
            "x": _json(x),
            "memory": rounded(self.example.memory),
            "tokens": self.tokens,
            "source": self.example.source,
            "planes": [self._plane(plane) for plane in self.stack.planes],
            "comparisons": comparisons,
        }
        in_text = [replace(figure, in_text_only=True) for figure in figures]
        return Section("stack", "The stack, layer by layer", [STACK], in_text, data)

    def _heads(self) -> list[Figure]:
        """Return the weights of layer 1 by head, for the text."""
        sides = {"self-attention": self.tokens, "cross-attention": self.example.source}
        return [
            self._figure(
                f"stack/1/{sublayer}/attention",
                f"layer 1, {sublayer}, weights of head {head + 1}",
                self.tokens,
                columns,
                place=1,
                at=(0, head),
            )
            for sublayer, columns in sides.items()
            for head in range(HEADS)
        ]

    def _plane(self, plane: Plane) -> dict[str, Any]:
        kept = self.steps[f"stack/{plane.layer}/{plane.sublayer}/hidden"]
        entry = {"layer": plane.layer, "name": plane.sublayer, "hidden": _json(plane.hidden)}
        entry |= {"changed": _cells(kept.changed[0] if kept.changed else None), **_status(plane.steps)}
        if plane.attention:
            step = self.steps[f"stack/{plane.layer}/{plane.sublayer}/attention"]
            inside = [step for step in plane.steps if step.kata not in ("", "layer_norm")]
            entry["inside"] = _status(inside)
            entry["weights_changed"] = [cell[1:] for cell in _cells(step.changed[1] if step.changed else None)]
            for part in ("scores", "mask", "weights", "adds"):
                entry[part] = _json(getattr(plane.attention, part))
        return entry

    def _following(self) -> Section:
        example, tracer = self.example, self._tracer()
        hidden = example.inputs["hidden"][None] if example.inputs else None
        if not example.inputs:
            hidden = normalised(tracer, "next/norm", self.stack.states[-1])
        size = len(example.vocab)
        found = tracer.call(
            "next/token",
            "next_token",
            lambda s: s.next_token(hidden, example.output_weight),
            [(size,), (size,), ()],
            [hidden],
        )
        figure = self._figure(
            "next/token", "probabilities of the next token", [""], example.vocab, "bars", place=1
        )
        texts = [NEXT if example.inputs else NEXT_TYPED]
        if found[1] is not None and found[2] is not None and 0 <= int(found[2]) < size:
            best = int(found[2])
            texts.append(
                f"After “{' '.join(example.tokens)}” comes “{example.vocab[best]}”, {found[1][best]:.0%}."
            )
        return Section("next", "The next token", texts, [figure])

    def _experiments(self) -> Section:
        counts = self._tracer(is_fixed=True)
        experiments.count_parameters(counts)
        rows = [f"V {size:,}, {kind}" for size in experiments.VOCABULARIES for kind in ("tied", "untied")]
        parts = ["embedding", "stack", "output", "total"]
        table = self._figure("counts/parameters", "parameters at d_model 512", rows, parts)
        depth = [None if state is None else float(state[0, 0]) for state in self.stack.states[:5]]
        known = None if None in depth else np.array([depth])
        made = [step for plane in self.stack.planes[:12] for step in plane.steps]
        curve = Figure("h[0, 0] over depth, N = 4", known, [""], [f"h{n}" for n in range(5)], "bars")
        ends = ["step 0", f"step {experiments.STEPS}"]
        norms = np.array([[found[0], found[-1]] for found in self.norms.values()]).reshape(-1, 2)
        recorded = Figure("norm of h_N in training (recorded)", norms, list(self.norms), ends)
        curve = replace(
            curve, in_text_only=True, source=_status(made)["source"], katas=_status(made)["katas"]
        )
        data = {"depth": None if known is None else rounded(known[0]), **_status(made)}
        data |= {"norms": self.norms, "every": experiments.EVERY}
        figures = [curve, table, replace(recorded, in_text_only=True)]
        return Section("experiments", "Three experiments on depth", [EXPERIMENTS, NORMS], figures, data)

    def _choice(self) -> Section:
        tracer, logits = self._tracer(is_fixed=True), _reply_logits()
        grid = generation.filter_distribution(tracer, logits)
        drawing = self._tracer(is_fixed=True)
        generation.count_draws(drawing, logits)
        filters = [positions for _, positions in generation.FILTERS.values()]
        data = {
            "vocab": REPLY["vocab"],
            "positions": [generation.TEMPERATURES, *filters],
            "grid": plain(lambda grid: (grid * 1000).round().astype(int).tolist(), _finite(grid)),
            "draws": _json(drawing.steps["draws/counts"].values[0]),
            **_status([*tracer.steps.values(), *drawing.steps.values()]),
        }
        rows = [f"T = {temperature}" for temperature in generation.TEMPERATURES]
        counts = self._figure("draws/counts", f"{generation.DRAWS:,} draws", rows, REPLY["vocab"])
        return Section("choice", "Choosing a token", [CHOICE], [replace(counts, in_text_only=True)], data)

    def _search(self) -> Section:
        tracer = self._tracer(is_fixed=True)
        found = generation.search(tracer, _reply_logits())
        words = [*REPLY["vocab"], ".", "from"]
        data = {
            "words": words,
            "greedy": found.greedy,
            "best": found.best,
            "samples": found.samples,
            "rounds": found.rounds,
            "probabilities": rounded(np.exp(found.log_probs)),
            **_status(list(tracer.steps.values())),
        }
        texts = [SEARCH]
        for name, path in (("Greedy decoding", found.greedy), ("Beam search", found.best)):
            if path:
                share = math.exp(sum(found.log_probs[a, b] for a, b in pairwise([generation.START, *path])))
                texts.append(f"{name} writes “{' '.join(words[t] for t in path)}”, probability {share:.3f}.")
        return Section("search", "Searching for a text", texts, (), data)

    def _cache(self) -> Section:
        tracer = self._tracer(is_fixed=True)
        keys, cached, whole = generation.grow_cache(tracer)
        rows = [f"token {n}" for n in range(1, generation.CACHED + 1)]
        status = _status(list(tracer.steps.values()))
        data = {"keys": _json(keys), "cached": _json(cached), "whole": _json(whole), **status}
        both = plain(lambda one, other: np.stack([one, other]).T, cached, whole)
        columns = ["with the cache", "all again"]
        figure = Figure("FLOPs of each step", both, rows, columns, in_text_only=True, **status)
        return Section("cache", "The cache grows", [CACHE], [figure], data)

    def _figure(
        self,
        name: str,
        title: str,
        rows: Sequence[str],
        columns: Sequence[str],
        kind: PictureKind = "matrix",
        place: int = 0,
        at: tuple[int, ...] = (),
        steps: list[Step] | None = None,
    ) -> Figure:
        """Return a value of a step as a figure; `steps` are those that it is made of, if not itself."""
        step, shape = self.steps[name], (len(rows), len(columns))
        values = plain(lambda value: value[at].reshape(shape), step.values[place])
        changed = plain(lambda cells: cells[at].reshape(shape), step.changed[place] if step.changed else None)
        return Figure(title, values, rows, columns, kind, changed=changed, **_status(steps or [step]))


def difference_told(found: Comparison) -> str:
    """Return what a comparison says: the difference, or why there is none."""
    if found.difference is None:
        return found.note or f"not yours yet: grade {found.kata}"
    return f"difference {found.difference:.0e}".replace("e-0", "e-") if found.difference else "difference 0"


def _status(steps: Sequence[Step]) -> dict[str, Any]:
    """Return whose these steps are: the weakest of their sources, the katas that lack, and a note."""
    order: list[Source] = ["plain", "yours", "fails", "recorded", "missing"]
    source = max((step.source for step in steps), key=order.index, default="plain")
    lacking = dict.fromkeys(step.kata for step in steps if step.source == source and step.kata)
    notes = [step.note for step in steps if step.note]
    katas = tuple(lacking) if source in ("fails", "recorded", "missing") else ()
    return {"source": source, "katas": katas, "note": notes[0] if notes else ""}


def _cells(mask: Array | None) -> list[list[int]]:
    return [] if mask is None else np.argwhere(mask).tolist()


def _finite(array: Array | None) -> Array | None:
    return None if array is None else np.nan_to_num(array, posinf=0.0, neginf=0.0).clip(0, 1)


def _json(array: Array | None) -> Any:
    return None if array is None else rounded(array)


def _numbered(count: int, name: str = "feature") -> list[str]:
    return [f"{name} {number}" for number in range(count)]


def _reply_logits() -> Array:
    """Return the logits of the next token of the support reply."""
    return np.array(REPLY["hidden"], "f4") @ np.array(REPLY["output_weight"], "f4")
