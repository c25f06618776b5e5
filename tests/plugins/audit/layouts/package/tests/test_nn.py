import numpy as np
import pytest

from .adapters import run_linear, run_silu, run_swiglu


def test_linear(in_embeddings, weights, d_model, d_ff):
    out = run_linear(d_in=d_model, d_out=d_ff, weights=weights[0], in_features=in_embeddings)
    expected = np.einsum("oi,bti->bto", weights[0], in_embeddings)
    np.testing.assert_allclose(out, expected, atol=1e-6)


def test_linear_shape(in_embeddings, d_model):
    out = run_linear(d_model, 7, np.zeros((7, d_model)), in_embeddings)
    assert out.shape == (2, 3, 7)
    assert not out.any()


def test_linear_snapshot(snapshot, in_embeddings, weights, d_model, d_ff):
    snapshot.assert_match(run_linear(d_model, d_ff, weights[0], in_embeddings), "linear")


def test_silu_known_values():
    x = np.array([[0.2352, 0.9259], [-1.0, 0.0]])
    expected = np.array([[0.13136, 0.66317], [-0.26894, 0.0]])
    np.testing.assert_allclose(run_silu(x), expected, atol=1e-4)


def test_silu_far_from_zero():
    x = np.array([-1000.0, 1000.0])
    with np.errstate(over="raise"):
        out = run_silu(in_features=x)
    assert out.tolist() == [0.0, 1000.0]


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_silu_lies_below_relu(seed):
    x = np.random.default_rng(seed).normal(size=10)
    assert np.all(run_silu(x) <= np.maximum(x, 0))


def test_swiglu(in_embeddings, weights):
    w1, w2, w3 = weights
    gate = in_embeddings @ w1.T
    expected = (gate / (1 + np.exp(-gate)) * (in_embeddings @ w3.T)) @ w2.T
    actual = run_swiglu(w1_weight=w1, w2_weight=w2, w3_weight=w3, in_features=in_embeddings)
    np.testing.assert_allclose(actual, expected, atol=1e-5)


def test_swiglu_of_zeros(weights, d_model):
    out = run_swiglu(*weights, np.zeros((1, d_model)))
    np.testing.assert_array_equal(out, np.zeros((1, d_model)))


def test_swiglu_is_linear_in_w3(in_embeddings, weights):
    w1, w2, w3 = weights
    once, twice = (run_swiglu(w1, w2, scale * w3, in_embeddings) for scale in (1, 2))
    assert np.allclose(2 * once, twice), "twice w3 gives twice the result"
