"""The three experiments on depth: a feature, the parameters, and the norm of the last hidden state."""

from __future__ import annotations

import numpy as np

from dojo_show.tracing import Array, Tracer
from grader.worker.student import Student

VOCABULARIES = (1_000, 10_000, 50_000)
SHAPE = {"d_model": 512, "num_heads": 8, "d_ff": 2048, "num_layers": 6}
PARTS = ("token_embedding", "stack", "output_projection", "total")
STEPS, EVERY = 120, 10


def count_parameters(tracer: Tracer) -> None:
    """Count the parameters of a decoder as the step `parameters`: [vocabulary, tied or not, part]."""

    def count(student: Student) -> Array:
        counts = [
            [student.parameter_count(size, *SHAPE.values(), tied) for tied in (True, False)]
            for size in VOCABULARIES
        ]
        return np.array([[[int(found[part]) for part in PARTS] for found in row] for row in counts])

    shape = (len(VOCABULARIES), 2, len(PARTS))
    tracer.call("parameters", "parameter_count", count, [shape], kind="i8")


def train_norms(steps: int = STEPS) -> dict[str, list[float]]:
    """Train a small model four times and return the norm of its last hidden state every ten steps.

    Two of the models are pre-norm and two post-norm; one of each kind has a final layer norm.
    """
    return {
        f"{order}-norm, {'with' if final else 'without'} the final norm": _norms(order, final, steps)
        for order in ("pre", "post")
        for final in (False, True)
    }


def _norms(order: str, final: bool, steps: int) -> list[float]:
    """Return the mean norm of the last hidden states of a model of four layers, in training on one text."""
    import torch
    from torch import nn

    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        ids = torch.randint(16, (8, 25))
        embedding, head = nn.Embedding(16, 32), nn.Linear(32, 16)
        layer = nn.TransformerEncoderLayer(32, 4, 64, 0.0, batch_first=True, norm_first=order == "pre")
        norm = nn.LayerNorm(32) if final else None
        stack = nn.TransformerEncoder(layer, 4, norm, enable_nested_tensor=False)
        model = nn.ModuleList([embedding, stack, head])
        optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3)
        mask = nn.Transformer.generate_square_subsequent_mask(24)
        norms = []
        for step in range(steps + 1):
            hidden = stack(embedding(ids[:, :-1]), mask=mask, is_causal=True)
            if step % EVERY == 0:
                norms.append(round(hidden.detach().norm(dim=-1).mean().item(), 3))
            loss = nn.functional.cross_entropy(head(hidden).flatten(0, 1), ids[:, 1:].flatten())
            optimizer.zero_grad()
            loss.backward()  # type: ignore[no-untyped-call]
            optimizer.step()
        return norms
