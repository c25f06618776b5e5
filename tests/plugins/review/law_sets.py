"""Sets of laws for five katas: three good ones and three weak ones each."""

SOFTMAX = {
    "good": [
        """
import numpy as np

def test_shares(softmax, x, axis):
    shares = softmax(x, axis)
    assert shares.shape == x.shape and (shares >= 0).all()
    assert np.allclose(shares.sum(axis), 1, atol=1e-3)

def test_ratios(softmax):
    x = np.array([[1.0, 2.5, -3.0], [0.0, 0.5, 7.0]])
    for axis in (0, 1, -1):
        logs = np.log(softmax(x, axis))
        assert np.allclose(np.diff(logs, axis=axis), np.diff(x, axis=axis))

def test_shift(softmax, x, axis):
    if x.dtype.kind == "f" and np.isfinite(x).all():
        assert np.isfinite(softmax(x, axis)).all()

def test_integers(softmax):
    assert np.allclose(softmax(np.array([200, 0], np.uint8)), [1, 0])
    assert softmax(np.array([1, 2])).dtype == np.float64
    assert softmax(np.array([1, 2], np.float32)).dtype == np.float32
""",
        """
import numpy as np

def test_against_one_slice_at_a_time(softmax, x, axis):
    moved, shares = np.moveaxis(x, axis, -1), np.moveaxis(softmax(x, axis), axis, -1)
    for place in list(np.ndindex(moved.shape[:-1]))[:4]:
        row = moved[place].astype(np.float64)
        powers = np.exp(row - row.max())
        assert np.allclose(shares[place], powers / powers.sum(), atol=1e-3)

def test_dtype(softmax, x, axis):
    due = x.dtype if x.dtype.kind == "f" else np.float64
    assert softmax(x, axis).dtype == due
""",
        """
import numpy as np

def test_known(softmax):
    x = np.log(np.array([[1.0, 3.0], [6.0, 2.0]]))
    assert np.allclose(softmax(x), [[0.25, 0.75], [0.75, 0.25]])
    assert np.allclose(softmax(x, 0), [[1 / 7, 0.6], [6 / 7, 0.4]])
    assert np.allclose(softmax(np.array([1000.0, 1000.0])), 0.5)
    assert np.allclose(softmax(np.array([-1000.0, -1000.0])), 0.5)
    assert np.allclose(softmax(np.array([250, 0, 250], np.uint8)), [0.5, 0, 0.5])

def test_dtype(softmax):
    for kind in (np.float32, np.float64):
        assert softmax(np.ones(3, kind)).dtype == kind
    assert softmax(np.ones(3, int)).dtype == np.float64
""",
    ],
    "weak": [
        "def test_shape(softmax, x, axis):\n    assert softmax(x, axis).shape == x.shape\n",
        # `(softmax(x, axis) >= 0).all()` is no weak law: NaN fails it, so it catches what overflows
        "def test_positive(softmax, x, axis):\n    assert not (softmax(x, axis) < 0).any()\n",
        "def test_again(softmax, x, axis):\n    assert (softmax(x, axis) == softmax(x, axis)).all()\n",
    ],
}

CAUSAL_MASK = {
    "good": [
        """
import numpy as np

def test_who_sees_whom(causal_mask, query_len, key_len):
    keys = query_len if key_len is None else key_len
    mask = causal_mask(query_len, key_len)
    assert mask.shape == (query_len, keys) and mask.dtype == bool
    for row in range(query_len):
        for column in range(keys):
            assert mask[row, column] == (column <= row + keys - query_len)

def test_fewer_keys_are_refused(causal_mask):
    try:
        causal_mask(3, 2)
    except ValueError:
        return
    raise AssertionError
""",
        """
import numpy as np

def test_triangle(causal_mask, query_len):
    assert (causal_mask(query_len) == np.tril(np.ones((query_len, query_len), bool))).all()

def test_last_rows(causal_mask, query_len, key_len):
    if key_len is not None and key_len >= query_len:
        mask = causal_mask(query_len, key_len)
        assert mask.dtype == bool
        assert (mask == causal_mask(key_len)[key_len - query_len:]).all()

def test_refuses(causal_mask):
    for shorter in (0, 1):
        try:
            causal_mask(2, shorter)
        except ValueError:
            continue
        raise AssertionError
""",
        """
import numpy as np

def test_rows_grow_by_one(causal_mask, query_len, key_len):
    keys = query_len if key_len is None else key_len
    mask = causal_mask(query_len, key_len)
    assert mask.shape == (query_len, keys)
    assert mask.sum(1).tolist() == [keys - query_len + row + 1 for row in range(query_len)]
    assert (np.sort(mask, axis=1)[:, ::-1] == mask).all()
    assert mask.dtype == bool

def test_refuses(causal_mask):
    try:
        causal_mask(5, 4)
    except ValueError as error:
        assert type(error) is ValueError
    else:
        raise AssertionError
""",
    ],
    "weak": [
        "def test_shape(causal_mask, query_len):\n    assert len(causal_mask(query_len)) == query_len\n",
        "def test_dtype(causal_mask, query_len):\n    assert causal_mask(query_len).dtype == bool\n",
        "def test_one(causal_mask):\n    assert causal_mask(1)[0, 0]\n",
    ],
}

LAYER_NORM = {
    "good": [
        """
import numpy as np

def test_formula(layer_norm, x, gamma, beta, eps):
    wide = x.astype(np.float64)
    centred = wide - wide.mean(-1, keepdims=True)
    due = gamma * centred / np.sqrt((centred**2).mean(-1, keepdims=True) + eps) + beta
    assert np.allclose(layer_norm(x, gamma, beta, eps), due, rtol=1e-2, atol=1e-2)

def test_dtype(layer_norm, x, gamma, beta, eps):
    assert layer_norm(x, gamma, beta, eps).dtype == x.dtype

def test_default(layer_norm):
    x = np.array([[0.001, 0.003]])
    assert np.allclose(layer_norm(x, np.ones(2), np.zeros(2)), [[-0.3015, 0.3015]], atol=1e-3)
""",
        """
import numpy as np

ONE, NONE = np.ones(4), np.zeros(4)

def test_mean_and_size(layer_norm):
    x = np.array([[1.0, 2.0, 3.0, 10.0], [5.0, -5.0, 0.0, 1.0]])
    y = layer_norm(x, ONE, NONE, 1e-12)
    assert np.allclose(y.mean(-1), 0) and np.allclose((y**2).mean(-1), 1)
    assert np.allclose(layer_norm(7 * x + 3, ONE, NONE, 1e-12), y)
    assert np.allclose(np.argsort(y), np.argsort(x))

def test_gamma_and_beta(layer_norm):
    x, gamma, beta = np.array([[1.0, 2.0, 3.0, 10.0]]), np.array([1.0, 2, 3, -4]), np.array([5.0, 0, 1, 2])
    plain = layer_norm(x, ONE, NONE, 0.5)
    assert np.allclose(layer_norm(x, gamma, beta, 0.5), gamma * plain + beta)

def test_eps(layer_norm):
    x = np.array([[0.0, 2.0, 0.0, 2.0]])
    assert np.allclose(layer_norm(x, ONE, NONE, 3.0), [[-0.5, 0.5, -0.5, 0.5]])
    assert np.allclose(layer_norm(x[:, :2] * 0, ONE[:2], NONE[:2]), 0)
    assert np.allclose(layer_norm(1e-3 * x, ONE, NONE)[0, 1], 0.3015, atol=1e-3)
""",
        """
import numpy as np

def test_known(layer_norm):
    x, gamma, beta = np.array([[1.0, 3.0], [0.0, 0.0]]), np.array([2.0, 3.0]), np.array([10.0, 20.0])
    assert np.allclose(layer_norm(x, gamma, beta, 0.0 + 1e-12), [[8, 23], [10, 20]])
    assert np.allclose(layer_norm(x, gamma, beta, 3.0), [[9, 21.5], [10, 20]])

def test_rows_stand_alone(layer_norm, x, gamma, beta, eps):
    flat = x.reshape(-1, x.shape[-1])
    whole = layer_norm(x, gamma, beta, eps).reshape(flat.shape)
    for row in range(min(len(flat), 3)):
        assert np.allclose(layer_norm(flat[row], gamma, beta, eps), whole[row], rtol=1e-3, atol=1e-3)

def test_default_eps(layer_norm):
    x = np.array([0.0, 2e-3])
    assert np.allclose(layer_norm(x, np.ones(2), np.zeros(2)), [-0.3015, 0.3015], atol=1e-3)

def test_float32(layer_norm):
    x = np.ones((1, 2), np.float32)
    assert layer_norm(x, x[0], x[0]).dtype == np.float32
""",
    ],
    "weak": [
        "def test_shape(layer_norm, x, gamma, beta, eps):\n"
        "    assert layer_norm(x, gamma, beta, eps).shape == x.shape\n",
        "def test_dtype(layer_norm, x, gamma, beta, eps):\n"
        "    assert layer_norm(x, gamma, beta, eps).dtype == x.dtype\n",
        "import numpy as np\n\ndef test_zero(layer_norm):\n"
        "    assert layer_norm(np.zeros((1, 2)), np.ones(2), np.zeros(2)).shape == (1, 2)\n",
    ],
}

TOP_P = {
    "good": [
        """
import torch

def test_smallest_set(top_p_filter, logits, p):
    kept = top_p_filter(logits, p)
    shares = logits.double().softmax(-1)
    for row, original, out in zip(shares.reshape(-1, shares.shape[-1]), logits.reshape(-1, logits.shape[-1]),
                                  kept.reshape(-1, kept.shape[-1])):
        inside = torch.isfinite(out)
        assert inside.any() and (out[inside] == original[inside]).all()
        mass = row[inside].sum()
        if p < 1:
            assert mass > p - 1e-3 and mass - row[inside].min() < p + 1e-3
        if inside.any() and (~inside).any():
            assert row[inside].min() >= row[~inside].max() - 1e-9

def test_known(top_p_filter):
    logits = torch.tensor([0.5, 0.3, 0.15, 0.05]).log()
    for p, count in ((0.4, 1), (0.6, 2), (0.9, 3), (0.99, 4), (1.0, 4)):
        assert torch.isfinite(top_p_filter(logits, p)).sum() == count

def test_unsorted(top_p_filter):
    logits = torch.tensor([[0.05, 0.5, 0.15, 0.3], [0.7, 0.1, 0.1, 0.1]]).log()
    kept = torch.isfinite(top_p_filter(logits, 0.6))
    assert kept.tolist() == [[False, True, False, True], [True, False, False, False]]

def test_refuses(top_p_filter):
    for p in (0.0, -0.5):
        try:
            top_p_filter(torch.ones(2), p)
        except ValueError:
            continue
        raise AssertionError
""",
        """
import torch

def test_known(top_p_filter):
    logits = torch.tensor([[0.1, 0.5, 0.15, 0.25], [0.94, 0.03, 0.02, 0.01]]).log()
    for p, kept in ((0.3, [1, 1]), (0.6, [2, 1]), (0.8, [3, 1]), (0.95, [4, 2]), (1.0, [4, 4])):
        out = top_p_filter(logits, p)
        assert torch.isfinite(out).sum(-1).tolist() == kept, p
        assert (out[torch.isfinite(out)] == logits[torch.isfinite(out)]).all()
        assert torch.isneginf(out[~torch.isfinite(out)]).all()

def test_the_most_likely_stays(top_p_filter, logits, p):
    out = top_p_filter(logits, p)
    best = logits.argmax(-1, keepdim=True)
    assert torch.isfinite(out.gather(-1, best)).all()
    assert out.dtype == logits.dtype

def test_refuses(top_p_filter):
    try:
        top_p_filter(torch.ones(2), 0.0)
    except ValueError:
        return
    raise AssertionError
""",
        """
import torch

def test_by_hand(top_p_filter):
    shares = torch.tensor([0.2, 0.4, 0.1, 0.3])
    for p in (0.1, 0.35, 0.5, 0.65, 0.75, 0.85, 0.95):
        keep, mass = [], 0.0
        for index in shares.argsort(descending=True).tolist():
            keep.append(index)
            mass += shares[index].item()
            if mass >= p:
                break
        out = top_p_filter(shares.log(), p)
        assert torch.isfinite(out).nonzero().flatten().tolist() == sorted(keep)
        assert torch.equal(out[keep], shares.log()[keep])

def test_batch(top_p_filter):
    a, b = torch.tensor([3.0, 1.0, 0.0]), torch.tensor([0.0, 0.0, 1.0])
    both = top_p_filter(torch.stack([a, b]), 0.7)
    assert torch.equal(both[0], top_p_filter(a, 0.7)) and torch.equal(both[1], top_p_filter(b, 0.7))

def test_everything(top_p_filter):
    logits = torch.tensor([-500.0, 0.0, 500.0])
    assert torch.equal(top_p_filter(logits, 1.0), logits)

def test_refuses(top_p_filter):
    try:
        top_p_filter(torch.ones(2), -1.0)
    except ValueError:
        return
    raise AssertionError
""",
    ],
    "weak": [
        "def test_shape(top_p_filter, logits, p):\n"
        "    assert top_p_filter(logits, p).shape == logits.shape\n",
        "def test_dtype(top_p_filter, logits, p):\n"
        "    assert top_p_filter(logits, p).dtype == logits.dtype\n",
        "import torch\n\ndef test_one(top_p_filter):\n"
        "    assert torch.isfinite(top_p_filter(torch.zeros(1), 0.5)).all()\n",
    ],
}

KV_CACHE = {
    "good": [
        """
import math
import torch

def due(x, w_qkv, w_out, num_heads):
    B, T, d = x.shape
    q, k, v = (x @ w_qkv).view(B, T, 3, num_heads, d // num_heads).permute(2, 0, 3, 1, 4)
    scores = q @ k.transpose(-1, -2) / math.sqrt(d // num_heads)
    scores = scores.masked_fill(~torch.ones(T, T).tril().bool(), -math.inf)
    return (scores.softmax(-1) @ v).transpose(1, 2).reshape(B, T, d) @ w_out

def test_equals_the_whole(attend, x, w_qkv, w_out, num_heads, pieces):
    out = attend(x, w_qkv, w_out, num_heads, pieces)
    assert torch.allclose(out, due(x, w_qkv, w_out, num_heads), rtol=1e-2, atol=1e-2)
""",
        """
import torch

def test_any_cutting(attend, x, w_qkv, w_out, num_heads, pieces):
    whole = attend(x, w_qkv, w_out, num_heads, [x.shape[1]])
    cut = attend(x, w_qkv, w_out, num_heads, pieces)
    single = attend(x, w_qkv, w_out, num_heads, [1] * x.shape[1])
    assert torch.allclose(whole, cut, rtol=1e-2, atol=1e-2)
    assert torch.allclose(whole, single, rtol=1e-2, atol=1e-2)

def test_known(attend):
    eye = torch.eye(2, dtype=torch.float64)
    w = torch.cat([eye, 2 * eye, 3 * eye], dim=1)
    x = torch.tensor([[[1.0, 0.0], [0.0, 1.0]]], dtype=torch.float64)
    share = torch.tensor([0.0, 2 / 2**0.5], dtype=torch.float64).softmax(-1)
    for pieces in ([2], [1, 1]):
        out = attend(x, w, eye, 1, pieces)
        assert torch.allclose(out[0, 0], torch.tensor([3.0, 0.0], dtype=torch.float64))
        assert torch.allclose(out[0, 1], 3 * share)

def test_the_past_sees_no_future(attend, x, w_qkv, w_out, num_heads):
    T = x.shape[1]
    other = x.clone()
    other[:, -1] += 1
    a, b = (attend(one, w_qkv, w_out, num_heads, [T]) for one in (x, other))
    assert torch.allclose(a[:, :-1], b[:, :-1], rtol=1e-2, atol=1e-2)

def test_two_heads(attend):
    g = torch.Generator().manual_seed(0)
    x, w, o = (torch.randn(s, generator=g, dtype=torch.float64) for s in ((1, 3, 4), (4, 12), (4, 4)))
    both = attend(x, w, torch.eye(4, dtype=torch.float64), 2, [3])
    assert torch.allclose(attend(x, w, o, 2, [1, 2]), both @ o)
""",
        """
import torch

def reference(x, w_qkv, w_out, num_heads):
    B, T, d = x.shape
    q, k, v = (t.reshape(B, T, num_heads, -1).transpose(1, 2) for t in (x @ w_qkv).split(d, dim=-1))
    mixed = torch.nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True)
    return mixed.transpose(1, 2).reshape(B, T, d) @ w_out

def test_token_by_token(attend, x, w_qkv, w_out, num_heads):
    out = attend(x, w_qkv, w_out, num_heads, [1] * x.shape[1])
    assert torch.allclose(out, reference(x, w_qkv, w_out, num_heads), rtol=1e-2, atol=1e-2)

def test_all_at_once(attend, x, w_qkv, w_out, num_heads):
    out = attend(x, w_qkv, w_out, num_heads, [x.shape[1]])
    assert torch.allclose(out, reference(x, w_qkv, w_out, num_heads), rtol=1e-2, atol=1e-2)
    assert out.dtype == x.dtype
""",
    ],
    "weak": [
        "def test_shape(attend, x, w_qkv, w_out, num_heads, pieces):\n"
        "    assert attend(x, w_qkv, w_out, num_heads, pieces).shape == x.shape\n",
        "def test_dtype(attend, x, w_qkv, w_out, num_heads):\n"
        "    assert attend(x, w_qkv, w_out, num_heads, [x.shape[1]]).dtype == x.dtype\n",
        "import torch\n\ndef test_zero(attend):\n    zero = torch.zeros(1, 2, 2)\n"
        "    assert (attend(zero, torch.zeros(2, 6), torch.zeros(2, 2), 1, [1, 1]) == 0).all()\n",
    ],
}

SETS = {
    "softmax": SOFTMAX,
    "causal_mask": CAUSAL_MASK,
    "layer_norm": LAYER_NORM,
    "kv_cache": KV_CACHE,
    "top_p": TOP_P,
}
