"""Train the model that speaks, from nothing and with the course's references: `python -m see.speech.train`.

It writes model.npz and model.json beside this file. Two cores take about half an hour. The same seed gives
the same numbers up to rounding.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import random
import re
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import torch
from torch.nn import functional

from grader.course.catalog import open_course
from grader.course.files import load_file

from .grammar import END, tell
from .model import UNUSED

HERE = Path(__file__).parent
MERGES, STORIES = 512, 300  # the merges of the vocabulary, and the stories that they are learnt from
D_MODEL, NUM_HEADS, D_FF, NUM_LAYERS, MAX_LEN = 64, 4, 256, 4, 128
BATCH, STEPS, WARMUP, LR, MAX_NORM, EVERY = 32, 6000, 200, 4e-3, 1.0, 500
HELD, SEED = 50, 0
PIECE = re.compile(r" ?\w+| ?[^\w\s]+")


class Words(str):
    """A text whose words lie apart: as bytes, a number that occurs once stands before each word.

    No pair across two words is then frequent, so no token ends in the middle of a word's neighbour.
    """

    def encode(self, *_: Any) -> list[int]:  # type: ignore[override]  # the reference makes a list of it
        words = enumerate(PIECE.findall(self), start=1)
        return [byte for place, word in words for byte in (-place, *word.encode())]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--steps", type=int, default=STEPS)
    parser.add_argument("--out", type=Path, default=HERE)
    options = parser.parse_args()
    torch.manual_seed(SEED)
    rng = random.Random(SEED)
    tokens = _reference("byte_pair_encoding")
    merges = tokens.train_bpe(Words(" ".join(tell(rng) for _ in range(STORIES))), MERGES)
    held = [tell(rng) for _ in range(HELD)]
    sizes = {"vocab_size": 256 + MERGES, "d_model": D_MODEL, "num_heads": NUM_HEADS}
    sizes |= {"d_ff": D_FF, "num_layers": NUM_LAYERS, "max_len": MAX_LEN}
    model = _reference("mini_gpt").MiniGPT(**sizes)
    losses = list(_train(model, rng, tokens, merges, set(held), options.steps))
    weights = {
        name: value.detach().numpy().astype("f2")
        for name, value in model.state_dict().items()
        if not name.endswith(UNUSED)
    }
    np.savez_compressed(options.out / "model.npz", **weights)
    digest = hashlib.sha256((options.out / "model.npz").read_bytes()).hexdigest()
    kept = {"sizes": sizes, "digest": digest, "merges": merges, "held": held, "losses": losses}
    (options.out / "model.json").write_text(json.dumps(kept) + "\n", encoding="utf-8")


def _train(
    model: Any, rng: random.Random, tokens: ModuleType, merges: Any, held: set[str], steps: int
) -> Any:
    """Train in place, and yield (step, mean loss since the last one) now and then."""
    schedule, clip, step_of = (_reference(n) for n in ("warmup_schedule", "clip_gradients", "adamw_step"))
    for name, value in model.named_parameters():
        with torch.no_grad():
            if name.endswith(UNUSED):
                value.zero_()
            elif value.ndim == 2:
                value.normal_(std=0.02 if "out_proj" not in name else 0.02 / (2 * NUM_LAYERS) ** 0.5)
        value.requires_grad = not name.endswith(UNUSED)
    trained = [value for value in model.parameters() if value.requires_grad]
    moments = [(np.zeros(value.shape, "f4"),) * 2 for value in trained]
    known: dict[str, list[int]] = {}
    sum_of_losses = 0.0
    for step in range(1, steps + 1):
        ids = _batch(rng, tokens, merges, held, known)
        logits = model(ids[:, :-1].clamp(min=0))  # [B, T, V]
        loss = functional.cross_entropy(logits.flatten(0, 1), ids[:, 1:].flatten(), ignore_index=-1)  # []
        model.zero_grad()
        loss.backward()  # type: ignore[no-untyped-call]  # PyTorch gives it no types
        gradients, _ = clip.clip_gradients([value.grad.numpy() for value in trained], MAX_NORM)
        lr = schedule.warmup_cosine_lr(step, LR, WARMUP, steps)
        for place, (value, gradient) in enumerate(zip(trained, gradients, strict=True)):
            array = value.detach().numpy()
            array[:], *moments[place] = step_of.adamw_step(
                array, gradient, *moments[place], step, lr, betas=(0.9, 0.99), weight_decay=0.01
            )
        sum_of_losses += loss.item()
        if step % EVERY == 0:
            print(f"step {step:5}  loss {sum_of_losses / EVERY:.3f}", flush=True)
            yield step, round(sum_of_losses / EVERY, 3)
            sum_of_losses = 0.0


def _batch(
    rng: random.Random, tokens: ModuleType, merges: Any, held: set[str], known: dict[str, list[int]]
) -> torch.Tensor:
    """Return the ids of new stories [B, T], an end before and after each, and -1 behind."""
    rows: list[torch.Tensor] = []
    while len(rows) < BATCH:
        story = tell(rng)
        if story not in held:
            pieces = PIECE.findall(story)
            for piece in pieces:  # tokens do not cross words, so a word has the same ids wherever it stands
                if piece not in known:
                    known[piece] = tokens.encode(piece, merges)
            [end] = END.encode()
            rows.append(torch.tensor([end, *(token for piece in pieces for token in known[piece]), end]))
    return torch.nn.utils.rnn.pad_sequence(rows, batch_first=True, padding_value=-1)


def _reference(name: str) -> ModuleType:
    course = open_course(None)
    return load_file(f"dojo_reference_{name}", course.solution(course.katas[name], "reference"))


if __name__ == "__main__":
    main()
