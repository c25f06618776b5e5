import time

import numpy as np
import pytest
from attention import attention, causal_mask
from attention import softmax as run_softmax
from helpers import random_qkv
from numpy.testing import assert_allclose, assert_array_equal


@pytest.fixture
def qkv():
    return random_qkv(4, 8)


@pytest.fixture
def identity():
    return np.eye(3)


def naive_attention(q, k, v):
    scores = q @ k.T / np.sqrt(q.shape[1])
    weights = np.exp(scores) / np.exp(scores).sum(axis=1, keepdims=True)
    return weights @ v


def assert_rows_sum_to_one(p):
    assert_allclose(p.sum(axis=-1), 1.0, atol=1e-6)


def test_softmax_known_values():
    expected = np.array([0.09003057, 0.24472847, 0.66524096])
    assert_allclose(run_softmax(np.array([1.0, 2.0, 3.0])), expected, rtol=1e-6)


def test_softmax_rows(identity):
    assert_rows_sum_to_one(run_softmax(identity))


@pytest.mark.parametrize("shift", [-100.0, 0.0, 1e4])
def test_softmax_is_shift_invariant(shift):
    x = np.array([[0.1, 0.2, 0.3], [3.0, -1.0, 0.0]])
    assert np.allclose(run_softmax(x + shift), run_softmax(x))


@pytest.mark.parametrize(
    ("shape", "axis"), [pytest.param((2, 3), 0, id="columns"), pytest.param((2, 3, 4), 1, id="middle")]
)
def test_softmax_axis(shape, axis):
    x = np.arange(np.prod(shape), dtype=float).reshape(shape)
    out = run_softmax(x, axis=axis)
    assert out.shape == shape
    assert out.sum(axis=axis) == pytest.approx(1.0)


def test_softmax_of_nothing():
    with pytest.raises(ValueError, match="nothing"):
        run_softmax(np.zeros((0,)))


def test_softmax_of_text():
    with pytest.raises(TypeError):
        run_softmax("abc", axis="last")


def test_softmax_is_fast():
    start = time.perf_counter()
    run_softmax(np.zeros((1000, 100)))
    assert time.perf_counter() - start < 1.0


def test_mask_small():
    assert_array_equal(causal_mask(3), [[True, False, False], [True, True, False], [True, True, True]])


def test_mask_dtype_and_count():
    mask = causal_mask(5)
    assert mask.dtype == bool
    assert mask.sum() == 15


def test_mask_is_lower_triangular():
    for n in range(1, 6):
        assert not np.triu(causal_mask(n), k=1).any(), f"n={n}"


def test_attention_matches_naive(qkv):
    q, k, v = qkv
    np.testing.assert_allclose(attention(q, k, v), naive_attention(q, k, v), rtol=1e-5, atol=1e-8)


def test_attention_is_causal(qkv):
    q, k, v = qkv
    before = attention(q, k, v, np.tril(np.ones((4, 4), dtype=bool)))
    k[-1] += 10
    v[-1] -= 3
    after = attention(q, k, v, np.tril(np.ones((4, 4), dtype=bool)))
    assert_allclose(before[:-1], after[:-1])
    assert not np.allclose(before[-1], after[-1])


def test_attention_batch():
    q, k, v = (np.stack([a, a * 0.5]) for a in random_qkv(3, 4, seed=2))
    out = attention(q, k, v)
    assert out.shape == (2, 3, 4)
    for b in range(2):
        assert_allclose(out[b], attention(q[b], k[b], v[b]))


def test_attention_uses_softmax(monkeypatch, qkv):
    import attention as module

    monkeypatch.setattr(module, "softmax", lambda s: np.zeros_like(s))
    assert not attention(*qkv).any()
