"""The references of the track `gradients` against autograd and finite differences."""

import importlib.util
from pathlib import Path

import numpy as np
import pytest
import torch
import torch.nn.functional as F

SOLUTIONS = Path(__file__).parents[2] / "solutions" / "gradients"


def reference(name):
    """Return the reference of a kata of the track as a module."""
    spec = importlib.util.spec_from_file_location(name, SOLUTIONS / name / "reference.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def slopes(function, x, step=1e-6):
    """Central differences of a function of one array, entry by entry."""
    result = np.empty_like(x)
    for at in np.ndindex(x.shape):
        there, back = x.copy(), x.copy()
        there[at] += step
        back[at] -= step
        result[at] = (function(there) - function(back)) / (2 * step)
    return result


@pytest.mark.parametrize("ignore_index", [-100, 2])
@pytest.mark.parametrize("scale", [1, 300])
def test_cross_entropy_has_the_gradient_of_autograd(ignore_index, scale):
    rng = np.random.default_rng(1)
    logits, targets = scale * rng.standard_normal((3, 4, 5)), rng.integers(0, 5, (3, 4))
    targets[0, 1:] = ignore_index
    x = torch.tensor(logits, requires_grad=True)
    loss = F.cross_entropy(x.flatten(0, 1), torch.tensor(targets).flatten(), ignore_index=ignore_index)
    loss.backward()
    got = reference("softmax_cross_entropy_backward").softmax_cross_entropy_backward(
        logits, targets, ignore_index
    )
    np.testing.assert_allclose(got, x.grad.numpy(), rtol=1e-12, atol=1e-15)


def test_cross_entropy_has_the_gradient_of_finite_differences():
    rng = np.random.default_rng(2)
    logits, targets = rng.standard_normal((2, 3, 4)), np.array([[0, 3, -100], [1, 1, 2]])

    def loss(x):
        chosen = targets != -100
        p = np.exp(x) / np.exp(x).sum(-1, keepdims=True)
        return -np.mean(np.log(p[chosen][np.arange(chosen.sum()), targets[chosen]]))

    got = reference("softmax_cross_entropy_backward").softmax_cross_entropy_backward(logits, targets)
    np.testing.assert_allclose(got, slopes(loss, logits), atol=1e-8)
