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


@pytest.mark.parametrize("shape", [(5,), (3, 5), (2, 3, 5)])
@pytest.mark.parametrize("eps", [1e-5, 0.5])
def test_layer_norm_has_the_gradients_of_autograd(shape, eps):
    rng = np.random.default_rng(3)
    dy, x, gamma = rng.standard_normal(shape), 3 + rng.standard_normal(shape), rng.standard_normal(5)
    at = [torch.tensor(array, requires_grad=True) for array in (x, gamma, np.zeros(5))]
    F.layer_norm(at[0], (5,), at[1], at[2], eps).backward(torch.tensor(dy))
    got = reference("layer_norm_backward").layer_norm_backward(dy, x, gamma, eps)
    for mine, theirs in zip(got, at, strict=True):
        np.testing.assert_allclose(mine, theirs.grad.numpy(), rtol=1e-10, atol=1e-13)


def test_layer_norm_has_the_gradients_of_finite_differences():
    rng = np.random.default_rng(4)
    dy, x, gamma = rng.standard_normal((2, 3, 4)), rng.standard_normal((2, 3, 4)), rng.standard_normal(4)

    def objective(x, gamma):
        spread = np.sqrt(x.var(-1, keepdims=True) + 1e-5)
        return (dy * gamma * (x - x.mean(-1, keepdims=True)) / spread).sum()

    dx, dgamma, _ = reference("layer_norm_backward").layer_norm_backward(dy, x, gamma)
    np.testing.assert_allclose(dx, slopes(lambda at: objective(at, gamma), x), atol=1e-7)
    np.testing.assert_allclose(dgamma, slopes(lambda at: objective(x, at), gamma), atol=1e-7)


@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("block_size", [1, 2, 3, 10])
def test_attention_has_the_gradients_of_autograd(causal, block_size):
    rng = np.random.default_rng(5)
    shapes = (2, 5, 3), (2, 7, 3), (2, 7, 4)
    q, k, v = (torch.tensor(rng.standard_normal(shape), requires_grad=True) for shape in shapes)
    seen = torch.ones(5, 7).tril(2).bool() if causal else torch.ones(5, 7).bool()
    out = F.scaled_dot_product_attention(q, k, v, attn_mask=seen)
    lse = (q @ k.mT / 3**0.5).masked_fill(~seen, -torch.inf).logsumexp(-1)
    dout = torch.tensor(rng.standard_normal((2, 5, 4)))
    due = torch.autograd.grad(out, (q, k, v), dout)
    with torch.no_grad():
        got = reference("attention_backward").attention_backward(dout, q, k, v, out, lse, block_size, causal)
    for mine, theirs in zip(got, due, strict=True):
        np.testing.assert_allclose(mine.numpy(), theirs.numpy(), rtol=1e-10, atol=1e-13)


def test_attention_has_the_gradients_of_finite_differences():
    rng = np.random.default_rng(6)
    q, k, v, dout = (rng.standard_normal(shape) for shape in ((3, 2), (4, 2), (4, 3), (3, 3)))

    def forward(q, k, v):
        powers = np.exp(q @ k.T / 2**0.5)
        return powers / powers.sum(-1, keepdims=True) @ v, np.log(powers.sum(-1))

    out, lse = forward(q, k, v)
    given = (torch.tensor(array) for array in (dout, q, k, v, out, lse))
    got = reference("attention_backward").attention_backward(*given, 2)
    moved = (
        (lambda at: (dout * forward(at, k, v)[0]).sum(), q),
        (lambda at: (dout * forward(q, at, v)[0]).sum(), k),
        (lambda at: (dout * forward(q, k, at)[0]).sum(), v),
    )
    for mine, (objective, at) in zip(got, moved, strict=True):
        np.testing.assert_allclose(mine.numpy(), slopes(objective, at), atol=1e-8)


def random_block(rng, d_model, d_ff):
    """Weights of a decoder block by name."""
    square = {name: rng.standard_normal((d_model, d_model)) for name in ("w_q", "w_k", "w_v", "w_o")}
    vectors = ("norm1_gamma", "norm1_beta", "norm2_gamma", "norm2_beta", "b2")
    return {
        **square,
        "w1": rng.standard_normal((d_model, d_ff)),
        "b1": rng.standard_normal(d_ff),
        "w2": rng.standard_normal((d_ff, d_model)),
        **{name: rng.standard_normal(d_model) for name in vectors},
    }


def block_in_torch(x, p, num_heads):
    """A pre-norm decoder block from PyTorch's own parts."""

    def heads(z):
        return z.unflatten(-1, (num_heads, -1)).transpose(-3, -2)

    a = F.layer_norm(x, x.shape[-1:], p["norm1_gamma"], p["norm1_beta"])
    q, k, v = (heads(a @ p[name]) for name in ("w_q", "w_k", "w_v"))
    mixed = F.scaled_dot_product_attention(q, k, v, is_causal=True)
    h = x + mixed.transpose(-3, -2).flatten(-2) @ p["w_o"]
    c = F.layer_norm(h, h.shape[-1:], p["norm2_gamma"], p["norm2_beta"])
    return h + F.relu(c @ p["w1"] + p["b1"]) @ p["w2"] + p["b2"]


@pytest.mark.parametrize(("shape", "num_heads"), [((2, 5, 6), 3), ((1, 1, 4), 2), ((3, 2, 5), 1)])
def test_a_block_has_the_gradients_of_autograd(shape, num_heads):
    rng = np.random.default_rng(7)
    x, dout, params = rng.standard_normal(shape), rng.standard_normal(shape), random_block(rng, shape[-1], 7)
    at, weights = (
        torch.tensor(x, requires_grad=True),
        {n: torch.tensor(w, requires_grad=True) for n, w in params.items()},
    )
    block_in_torch(at, weights, num_heads).backward(torch.tensor(dout))
    dx, found = reference("backprop_through_block").block_backward(dout, x, params, num_heads)
    np.testing.assert_allclose(dx, at.grad.numpy(), rtol=1e-9, atol=1e-12)
    assert found.keys() == params.keys()
    for name, gradient in found.items():
        np.testing.assert_allclose(gradient, weights[name].grad.numpy(), rtol=1e-9, atol=1e-12)


def formula(x, y, tanh, exp, relu):
    """All operators, constants on both sides, and numbers that are used again."""
    u = x * y + 2 * x
    v = (u - y) / (x * x + 1) - 3 / y
    w = tanh(v) * exp(-x / 4) + relu(u) - relu(-u) ** 2
    return (1 - w) * v + w**3 + y**-2 + (0.5 + u) / 2 + v - 1


@pytest.mark.parametrize(("x", "y"), [(1.5, -2.0), (-0.7, 0.6), (2.0, 3.0)])
def test_scalars_have_the_gradients_of_autograd(x, y):
    kata = reference("autograd_scalar")
    at = [torch.tensor(number, dtype=torch.float64, requires_grad=True) for number in (x, y)]
    due = formula(*at, torch.tanh, torch.exp, torch.relu)
    mine = [kata.Value(x), kata.Value(y)]
    output = formula(*mine, kata.Value.tanh, kata.Value.exp, kata.Value.relu)
    assert output.item() == pytest.approx(due.item(), rel=1e-12)
    expected = [slope.item() for slope in torch.autograd.grad(due, at)]
    for _ in range(2):
        assert kata.gradients(output, mine) == pytest.approx(expected, rel=1e-12)


def test_scalars_have_the_gradients_of_finite_differences():
    kata = reference("autograd_scalar")

    def plain(at):
        return formula(*at, np.tanh, np.exp, lambda z: np.maximum(z, 0))

    x, y = kata.Value(1.4), kata.Value(-1.9)
    output = formula(x, y, kata.Value.tanh, kata.Value.exp, kata.Value.relu)
    due = slopes(plain, np.array([1.4, -1.9]))
    np.testing.assert_allclose(kata.gradients(output, [x, y]), due, rtol=1e-6)
