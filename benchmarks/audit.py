"""Duration of `kata audit` for 300 mutants of a NumPy homework with 20 tests, beside mutmut on the same.

    python benchmarks/audit.py [--mutmut PROGRAM]

The bar is three minutes on two cores. CPU seconds are those of all runs, also on a busy machine.
Install mutmut, pytest and NumPy into an environment of their own, and name its program to compare.
"""

from __future__ import annotations

import json
import os
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

MUTANTS, CORES, BAR = 300, 2, 180.0
SOLUTION = '''
"""A decoder layer in NumPy."""

import numpy as np


def softmax(x, axis=-1):
    shifted = x - x.max(axis=axis, keepdims=True)
    powers = np.exp(shifted)
    return powers / powers.sum(axis=axis, keepdims=True)


def layer_norm(x, gamma, beta, eps=1e-5):
    mean = x.mean(axis=-1, keepdims=True)
    variance = ((x - mean) ** 2).mean(axis=-1, keepdims=True)
    return (x - mean) / np.sqrt(variance + eps) * gamma + beta


def positional(tokens, d_model):
    angles = np.arange(tokens)[:, None] / 10000 ** (np.arange(0, d_model, 2) / d_model)
    table = np.zeros((tokens, d_model))
    table[:, 0::2] = np.sin(angles)
    table[:, 1::2] = np.cos(angles)
    return table


def causal_mask(tokens):
    return np.tril(np.ones((tokens, tokens), dtype=bool))


def attention(q, k, v, mask=None):
    scores = q @ np.swapaxes(k, -1, -2) / np.sqrt(q.shape[-1])
    if mask is not None:
        scores = np.where(mask, scores, -np.inf)
    return softmax(scores) @ v


def split_heads(x, heads):
    tokens, width = x.shape
    if width % heads != 0:
        raise ValueError("heads do not divide the width")
    return x.reshape(tokens, heads, width // heads).swapaxes(0, 1)


def merge_heads(x):
    heads, tokens, width = x.shape
    return x.swapaxes(0, 1).reshape(tokens, heads * width)


def cross_entropy(logits, targets):
    logits = logits - logits.max(axis=-1, keepdims=True)
    total = np.log(np.exp(logits).sum(axis=-1))
    return float(np.mean(total - logits[np.arange(len(targets)), targets]))


def top_k(logits, k):
    if k < 1:
        raise ValueError("k must be positive")
    limit = np.sort(logits, axis=-1)[..., [-min(k, logits.shape[-1])]]
    return np.where(logits >= limit, logits, -np.inf)


def top_p(probabilities, p):
    order = np.argsort(-probabilities)
    mass = np.cumsum(probabilities[order])
    count = int(np.sum(mass < p)) + 1
    kept = np.zeros_like(probabilities)
    kept[order[:count]] = probabilities[order[:count]]
    return kept / kept.sum()


def greedy(step, start, length):
    tokens = list(start)
    while len(tokens) < length:
        tokens.append(int(np.argmax(step(tokens))))
    return tokens
'''
TESTS = """
import numpy as np
import pytest
from decoder import (
    attention, causal_mask, cross_entropy, greedy, layer_norm, merge_heads, positional, softmax, split_heads,
    top_k, top_p,
)

rng = np.random.default_rng(0)
x = rng.normal(size=(4, 6))


def test_softmax_sums_to_one():
    assert np.allclose(softmax(x).sum(axis=-1), 1)


def test_softmax_values():
    assert np.allclose(softmax(np.array([1.0, 2.0, 3.0])), [0.0900, 0.2447, 0.6652], atol=1e-4)


def test_softmax_large():
    assert np.allclose(softmax(np.array([1000.0, 1000.0])), 0.5)


def test_norm_mean():
    assert np.allclose(layer_norm(x, np.ones(6), np.zeros(6)).mean(axis=-1), 0)


def test_norm_variance():
    assert np.allclose(layer_norm(x, np.ones(6), np.zeros(6)).var(axis=-1), 1, atol=1e-3)


def test_norm_shift():
    assert np.allclose(layer_norm(x, np.ones(6), np.full(6, 2.0)).mean(axis=-1), 2)


def test_positional_shape():
    assert positional(5, 8).shape == (5, 8)


def test_positional_first_row():
    assert positional(3, 4)[0].tolist() == [0, 1, 0, 1]


def test_mask():
    assert causal_mask(3).tolist() == [[True, False, False], [True, True, False], [True, True, True]]


def test_attention_shape():
    assert attention(x, x, x).shape == (4, 6)


def test_attention_is_causal():
    before = attention(x, x, x, causal_mask(4))
    assert np.allclose(before[0], x[0])


def test_split():
    assert split_heads(x, 2).shape == (2, 4, 3)


def test_split_refuses():
    with pytest.raises(ValueError):
        split_heads(x, 4)


def test_merge():
    assert np.allclose(merge_heads(split_heads(x, 3)), x)


def test_loss_of_equal_logits():
    assert np.isclose(cross_entropy(np.zeros((2, 4)), np.array([0, 3])), np.log(4))


def test_loss():
    assert cross_entropy(np.array([[9.0, 0.0]]), np.array([0])) < 0.01


def test_top_k():
    assert np.isfinite(top_k(x, 2)).sum() == 8


def test_top_k_refuses():
    with pytest.raises(ValueError):
        top_k(x, 0)


def test_top_p():
    assert np.allclose(top_p(np.array([0.5, 0.3, 0.2]), 0.7), [0.625, 0.375, 0])


def test_greedy():
    assert greedy(lambda tokens: np.arange(3) == len(tokens) % 3, [1], 4) == [1, 1, 2, 0]
"""
SETTINGS = """
[tool.mutmut]
source_paths = ["decoder.py"]
also_copy = ["test_decoder.py"]
"""


def write_homework(folder: Path) -> None:
    """Write the homework into a folder."""
    (folder / "decoder.py").write_text(SOLUTION.lstrip())
    (folder / "test_decoder.py").write_text(TESTS.lstrip())


def measured(command: list[str], folder: Path) -> tuple[float, float, str]:
    """Return the seconds and the CPU seconds of a command, and what it prints."""
    began, before = time.monotonic(), resource.getrusage(resource.RUSAGE_CHILDREN)
    environment = {**os.environ, "XDG_CACHE_HOME": str(folder.parent / "cache")}
    found = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return time.monotonic() - began, cpu, found.stdout + found.stderr


def main() -> int:
    """Measure both programs; return 1 if the audit misses its bar."""
    mutmut = sys.argv[sys.argv.index("--mutmut") + 1] if "--mutmut" in sys.argv else ""
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place) / "hw"
        folder.mkdir()
        write_homework(folder)
        code = "from grader.cli.kata import kata; kata()"
        command = [sys.executable, "-c", code, "audit", ".", "--format", "json", "--fresh"]
        command += ["--mutants", str(MUTANTS), "--graders", str(CORES), "--output", "../found.json"]
        wall, cpu, printed = measured(command, folder)
        found = json.loads((folder.parent / "found.json").read_text())
        print(printed.strip())
        counts = ", ".join(f"{n} {fate}" for fate, n in found["counts"].items())
        print(f"kata audit: {len(found['mutants'])} mutants, {counts}: {wall:.0f} s, {cpu:.0f} CPU seconds")
        if mutmut:
            (folder / "pyproject.toml").write_text(SETTINGS)
            program = shutil.which(mutmut) or mutmut
            wall_2, cpu_2, printed = measured([program, "run", "--max-children", str(CORES)], folder)
            print(f"mutmut: {wall_2:.0f} s, {cpu_2:.0f} CPU seconds")
            print("\n".join(printed.replace("\r", "\n").strip().splitlines()[-3:]))
    return 0 if wall <= BAR and len(found["mutants"]) == MUTANTS else 1


if __name__ == "__main__":
    sys.exit(main())
