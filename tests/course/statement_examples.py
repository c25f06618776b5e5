"""What the statements of the course print, beside what the references give.

Each function runs the examples of one kata and yields pairs: a text as it stands in the statement, and the
values that its numbers show, in their order. Beside `Refused` the text is the promise of a ValueError.
"""

import math
from collections.abc import Callable, Iterator
from types import ModuleType
from typing import Any

import numpy as np
import pytest

from grader.kernels import Device
from grader.ranks import Ranks

try:
    import torch
except ImportError:  # the examples of katas in PyTorch do not run then
    torch = None

Pairs = Iterator[tuple[str, Any]]
EXAMPLES: dict[str, Callable[[ModuleType], Pairs]] = {}
INF = math.inf
T, F = True, False


class Refused:
    """A call that has raised ValueError, as the text beside it says."""


def refused(function, *arguments, **named):
    """Make a call and require that it raises ValueError."""
    with pytest.raises(ValueError):  # noqa: PT011 -- a statement promises no text
        function(*arguments, **named)
    return Refused()


def example(function):
    """Register the examples of the kata of this name."""
    EXAMPLES[function.__name__] = function
    return function


def a(*rows):
    """Return an array of float64."""
    return np.array(rows, dtype=np.float64)


def t(*rows):
    """Return a tensor of float64."""
    return torch.tensor(rows, dtype=torch.float64)


def ids(*rows):
    """Return a tensor of int64."""
    return torch.tensor(rows, dtype=torch.int64)


def softmax_of(scores):
    """Return the softmax along the last axis."""
    powers = np.exp(scores - np.max(scores, axis=-1, keepdims=True))
    return powers / powers.sum(axis=-1, keepdims=True)


def with_identities(module):
    """Set matrices to identities, one below the other, the weights of norms to 1, and other vectors to 0."""
    with torch.no_grad():
        for name, parameter in module.named_parameters():
            if parameter.ndim == 2:
                width = parameter.shape[1]
                parameter.copy_(torch.eye(width).repeat(len(parameter) // width, 1))
            else:
                parameter.fill_(float("norm" in name and name.endswith("weight")))
    return module.double().eval()


def set_to(parameter, *rows):
    """Write values into a parameter."""
    with torch.no_grad():
        parameter.copy_(torch.tensor(rows))


# --- attention ---


@example
def causal_mask(kata) -> Pairs:
    yield (
        "causal_mask(4) = [[True, False, False, False], [True, True, False, False],"
        "[True, True, True, False], [True, True, True, True]]",
        [4, kata.causal_mask(4)],
    )
    yield "[[True, True, True, False], [True, True, True, True]]", kata.causal_mask(2, 4)
    text = "Raises ValueError where key_len is smaller than query_len (0 included)."
    yield text, refused(kata.causal_mask, 3, 2)
    yield text, refused(kata.causal_mask, 3, 0)


@example
def cross_attention(kata) -> Pairs:
    decoder, encoder = a([[1, 0], [0, 1]]), a([[1, 0], [0, 2], [1, 1]])
    w_q, w_k, w_v = a([2, 0], [0, 1]), a([1, 0], [0, 1]), a([3], [1])
    output, weights = kata.cross_attention(decoder, encoder, w_q, w_k, w_v)
    scores = decoder[0] @ w_q @ (encoder[0] @ w_k).T
    yield "[[[2, 0, 2], weights = [[[0.446, 0.108, 0.446], v = [[[3],", [scores[0], weights[0, 0], 3]
    yield "[0, 2, 1]]] [0.14, 0.576, 0.284]]] [2],", [scores[1], weights[0, 1], (encoder @ w_v)[0, 1]]
    yield "output = [[[3.337], [2.708]]] [4]]]", [output, (encoder @ w_v)[0, 2]]


@example
def head_split_merge(kata) -> Pairs:
    x = np.arange(12).reshape(1, 3, 4)
    heads = kata.split_heads(x, 2)
    yield "[[[[0, 1], [4, 5], [ 8, 9]],", heads[0, 0]
    yield "[[2, 3], [6, 7], [10, 11]]]]", heads[0, 1]
    yield "[8, 9, 10, 11]]]", kata.merge_heads(heads)[0, 2]
    yield "Raises ValueError where d_model is not divisible by num_heads.", refused(kata.split_heads, x, 3)


@example
def multi_head_attention(kata) -> Pairs:
    x_q, x_kv, one = a([[2, 0]]), a([[1, 0], [0, 1]]), np.eye(2)
    w_o = a([1, 0], [0, 2])
    yield (
        "result [[[0.881, 1.0]]]",
        kata.multi_head_attention(x_q, x_kv, one, one, one, w_o, 2),
    )
    yield "[[[0.804, 0.391]]]", kata.multi_head_attention(x_q, x_kv, one, one, one, w_o, 1)
    weights = softmax_of(a([2, 0], [0, 0]))
    yield "weights [0.881, 0.119]", weights[0]
    yield "weights [0.5, 0.5]", weights[1]
    by_head = [kata.multi_head_attention(x_q, x_kv, one, one, one, one, heads) for heads in (2, 1)]
    yield "head 0 reads 0.881, head 1 reads 0.5", [0, by_head[0][0, 0, 0], 1, by_head[0][0, 0, 1]]
    yield "the weights [0.804, 0.196]", by_head[1]


@example
def padding_mask(kata) -> Pairs:
    tgt, src = np.array([[5, 7, 0]]), np.array([[3, 0, 8, 9]])
    yield "= [[True, True, False]]", kata.padding_mask(tgt, 0)
    yield "= [[True, False, True, True]]", kata.padding_mask(src, 0)
    yield (
        "[[[[True,  False, False], [True,  True,  False], [False, False, False]]]]",
        kata.decoder_self_mask(tgt, 0),
    )
    yield (
        "[[[[True,  False, True,  True ], [True,  False, True,  True ], [False, False, False, False]]]]",
        kata.cross_mask(tgt, src, 0),
    )


@example
def scaled_dot_product_attention(kata) -> Pairs:
    q, k, v = a([0.2, 1.2]), a([1.0, 0.0], [0.4, 1.0], [0.0, 0.8]), a([1.0, 0.0], [0.3, 1.0], [0.0, 0.6])
    output, weights = kata.scaled_dot_product_attention(q, k, v)
    yield "[[0.2,   1.28,  0.96 ]]", q @ k.T
    yield "[[0.141, 0.905, 0.679]]", q @ k.T / math.sqrt(2)
    yield "weights = [[0.206, 0.442, 0.352]]        output = [[0.338, 0.653]]", [weights, output]
    masked = kata.scaled_dot_product_attention(q, k, v, np.array([[True, True, False]]))
    yield "weights = [[0.318, 0.682, 0.0]]", masked[1]


@example
def sinusoidal_positions(kata) -> Pairs:
    yield (
        "[[0.0, 1.0, 0.0, 1.0], [0.8415, 0.5403, 0.01, 0.99995], [0.9093, -0.4161, 0.02, 0.9998]]",
        kata.sinusoidal_positions(3, 4),
    )


@example
def softmax(kata) -> Pairs:
    x = a(12.4, 9.1, 3.8)
    yield "[12.4, 9.1, 3.8]  softmax: [0.964, 0.036, 0.000]", [x, kata.softmax(x)]
    yield "[1.55, 1.138, 0.475]  softmax: [0.499, 0.330, 0.170]", [x / 8, kata.softmax(x / 8)]
    yield "[0.5, 0.0, 0.5]", kata.softmax(a(0.0, -INF, 0.0))
    yield "`uint8(3) - uint8(5)` is 254", [3, 5, np.array([3], np.uint8) - np.array([5], np.uint8)]
    yield "2.718 times the weight", np.divide(*kata.softmax(a(1, 0)))


@example
def token_embedding(kata) -> Pairs:
    tokens = a([1.0, 0.0, 0.4, 0.0], [0.2, 1.0, 0.5, 0.0], [0.0, 0.3, 0.8, 1.0], [0.1, 0.5, 1.0, 0.9])
    positions = a([0, 0, 0, 0], [0.05, 0, 0, 0.05], [0.1, 0, 0, 0.1])
    yield (
        "[[1.0,  0.0, 0.4, 0.0 ], [0.25, 1.0, 0.5, 0.05], [0.1,  0.3, 0.8, 1.1 ]]",
        kata.embed(np.array([0, 1, 2]), tokens, positions),
    )
    text = "Raises ValueError where an id is negative or at least V, and where T is larger than"
    for wrong in ([-1], [4], [0, 1, 2, 3]):
        yield text, refused(kata.embed, np.array(wrong), tokens, positions)


# --- blocks ---


@example
def cross_entropy(kata) -> Pairs:
    logits, targets = a([[2, 0, 0], [0, 1, 0], [5, 5, 9]]), np.array([[0, 2, -100]])
    rows = softmax_of(logits[0])
    yield "[[0.787, 0.107, 0.107],  [0.212, 0.576, 0.212],", rows[:2]
    alone = [
        kata.cross_entropy(logits[:, :1], targets[:, :1]),
        kata.cross_entropy(logits[:, 1:], targets[:, 1:]),
    ]
    yield "0.787 = 0.240           -log 0.212 = 1.551", [rows[0, 0], alone[0], rows[1, 2], alone[1]]
    yield "2 = 0.895", [2, kata.cross_entropy(logits, targets)]


def plain_layer():
    """The parameters of a decoder layer whose matrices are the identity."""
    attention = {name: np.eye(2) for name in "qkvo"}
    return {
        "self_attention": attention,
        "cross_attention": attention,
        "feed_forward": {"w1": np.eye(2), "w2": np.eye(2)},
    }


@example
def decoder_layer(kata) -> Pairs:
    yield (
        "[3, 1] + [1, 0]   = [4, 1]",
        [3, 1, 1, 0, kata.decoder_layer(a([3, 1]), a([0, 2]), plain_layer(), 1)],
    )


@example
def decoder_stack(kata) -> Pairs:
    states = kata.decoder_stack(a([3, 1]), a([0, 2]), [plain_layer()] * 2, 1)
    yield "= [[3, 1]]", states[0]
    yield "= [[4, 1]]", states[1]
    yield "= [[5, 1]]", states[2]
    yield "An empty list of layers gives [h_0].", []
    [alone] = kata.decoder_stack(a([3, 1]), a([0, 2]), [], 1)
    yield "= [[3, 1]]", alone


@example
def encoder_block(kata) -> Pairs:
    params = {name: np.eye(2) for name in ("w_q", "w_k", "w_v", "w_o", "w1", "w2")}
    params |= {name: np.zeros(2) for name in ("b1", "b2", "norm1_beta")}
    params |= {"norm1_gamma": np.ones(2), "norm2_gamma": np.ones(2), "norm2_beta": a(0, 0.5)}
    x, mask = a([[3, 1], [0, 2]]), np.eye(2, dtype=bool)
    yield "[[1, -0.5], [-1, 1.5]]", kata.encoder_block(x, params, 1, mask)


@example
def feed_forward(kata) -> Pairs:
    x, w1, b1 = a([2, 1], [1, 3]), a([1, 0, -1], [0, 1, 2]), a(0, -2, 0)
    w2, b2 = a([1, 0], [2, 1], [0, 1]), a(0.5, -1)
    before = x @ w1 + b1
    yield "[[2, -1, 0], [1,  1, 5]]", before
    yield "[[2,  0, 0],", np.maximum(before, 0)[0]
    yield "[[2.5, -1], [3.5,  5]]", kata.feed_forward(x, w1, b1, w2, b2)


@example
def layer_norm(kata) -> Pairs:
    x = a([1.0, 2.0, 0.0, 1.0], [0.2, 0.4, 0.8, 0.6])
    result = kata.layer_norm(x, np.ones(4), np.zeros(4))
    yield "mean 1.0, variance 0.50", [x[0].mean(), x[0].var()]
    yield "mean 0.5, variance 0.05", [x[1].mean(), x[1].var()]
    yield "[[ 0.0000,  1.4142, -1.4142, 0.0000], [-1.3415, -0.4472,  1.3415, 0.4472]]", result
    yield "variances 1.0000 and 0.9998", result.var(axis=-1)


@example
def next_token(kata) -> Pairs:
    weight = a(
        [1.0, 0.5, 0.0, 0.0, 0.1, 0.0],
        [0.0, 0.0, 0.0, 0.0, 0.0, 1.0],
        [1.0, 0.0, 0.8, 0.0, 0.1, 0.0],
        [0.0, 0.0, 0.0, 0.5, 0.0, 0.0],
    )
    logits, probabilities, token = kata.next_token(a([0.7, -0.2, 0.5, 0.1]), weight)
    yield "[1.20,  0.35,  0.40,  0.05,  0.12,  -0.20]", logits
    yield "[0.360, 0.154, 0.162, 0.114, 0.122, 0.089]", probabilities
    yield 'token_id = 0, "hub"', token


@example
def parameter_count(kata) -> Pairs:
    tied, untied = (kata.parameter_count(1000, 128, 4, 512, 2, tied=tied) for tied in (True, False))
    yield "token_embedding   128,000 = 1000 * 128", [tied["token_embedding"], 1000, 128]
    yield "layer              264,576", tied["layer"]
    yield "self_attention     66,048", tied["self_attention"]
    yield "stack              529,152", tied["stack"]
    yield "cross_attention    66,048    output_projection        0", [
        tied["cross_attention"], tied["output_projection"]
    ]  # fmt: skip
    yield "feed_forward      131,712    129,000", [tied["feed_forward"], untied["output_projection"]]
    yield "layer_norms           768 = 3 * 256", [tied["layer_norms"], 3, 256]
    yield "total              657,152", tied["total"]
    yield "786,152 if not", untied["total"]


@example
def shift_right(kata) -> Pairs:
    rows = np.array([[7, 8, 9], [4, 5, 6]])
    shifted = kata.shift_right(rows, 1)
    yield "[[1, 7, 8],", shifted[0]
    yield "[1, 4, 5]]", shifted[1]
    inputs, targets = kata.next_token_pairs(rows)
    yield "([[7, 8],  ,  [[8, 9],", [inputs[0], targets[0]]
    yield "[4, 5]]      [5, 6]])", [inputs[1], targets[1]]
    text = "Raises ValueError where T < 2 (0 included)."
    yield text, refused(kata.next_token_pairs, rows[:, :1])
    yield text, refused(kata.next_token_pairs, rows[:, :0])


@example
def translation_loop(kata) -> Pairs:
    rows = {
        (5,): [2.0, -1.0, 0.5, 0.0, -1.0, -9.0],
        (5, 0): [-0.5, 3.0, 0.0, 0.0, 0.5, -9.0],
        (5, 0, 1): [0.0, -2.0, 1.5, 1.0, 0.0, -9.0],
        (5, 0, 1, 2): [-3.0, -3.0, -2.0, -2.5, -0.5, -9.0],
    }
    for tokens, logits in rows.items():
        yield f"{[*tokens]}) {logits}", [*tokens, *logits]

    def next_logits(tokens):
        return a(*rows[tuple(tokens)])

    yield "result  [5, 0, 1, 2, 4]", kata.translate(next_logits, start_id=5, end_id=4)
    two, none = (kata.translate(next_logits, 5, 4, max_steps=steps) for steps in (2, 0))
    yield "With max_steps=2 the result is [5, 0, 1], with max_steps=0 it is [5]", [2, two, 0, none]


# --- debugging ---


@example
def debug_decoder_block(kata) -> Pairs:
    block = with_identities(kata.DecoderBlock(2, 1, 2))
    set_to(block.attention.out.weight, [-2.0, 0.0], [0.0, -2.0])
    yield "[1, 3] + [-0.159, 0.841] = [0.841, 3.841]", [1, 3, -0.159, 0.841, block(t([[3, 1]])).detach()]


@example
def debug_future_leak(kata) -> Pairs:
    scores = a([2.0, 5.0, 4.0], [1.0, 2.0, 6.0], [0.5, 1.0, 2.0])
    plain, weights = softmax_of(scores), kata.causal_attention_weights(scores)
    yield "[0.035, 0.705, 0.259]            [1.000, 0.000, 0.000]", [plain[0], weights[0]]
    yield "[0.007, 0.018, 0.976]            [0.269, 0.731, 0.000]", [plain[1], weights[1]]
    yield "[0.140, 0.231, 0.629]            [0.140, 0.231, 0.629]", [plain[2], weights[2]]
    yield "0.705 + 0.259 + 0.976 = 1.940", [plain[0, 1], plain[0, 2], plain[1, 2], np.triu(plain, 1).sum()]


@example
def debug_masked_attention(kata) -> Pairs:
    result = kata.masked_attention(np.eye(2), a([1], [2]), a([0], [1]), np.eye(2))
    output = result[0] if isinstance(result, tuple) else result
    yield "weights = [[1.000, 0.000], [0.119, 0.881]]", output


# --- generation ---


@example
def beam_search(kata) -> Pairs:
    rows = {(0,): [0.5, 0.4, 0.1], (0, 0): [0.4, 0.3, 0.3], (0, 1): [0.05, 0.05, 0.9]}

    def next_log_probs(batch):
        return t(*[rows.get(tuple(row), [0.5, 0.3, 0.2]) for row in batch.tolist()]).log()

    tokens, total = kata.beam_search(next_log_probs, [0], 2, 3, 2)
    yield "([0, 1, 2], log 0.36 = -1.022)", [*tokens, math.exp(total), total]
    greedy, total = kata.beam_search(next_log_probs, [0], 1, 2, 2)
    yield "Greedy decoding begins with [0, 0]", greedy[:2]
    yield "[0, 0, 0]  0.5 * 0.4 = 0.2", [*greedy, 0.5, 0.4, math.exp(total)]


@example
def greedy_generate(kata) -> Pairs:
    class Model(torch.nn.Module):
        def forward(self, tokens):
            return torch.nn.functional.one_hot((tokens + 1) % 4, 4).double()

    model = Model()
    yield "[[2, 3, 0, 1]]", kata.generate(model, ids([2]), 3, 8)
    two = kata.generate(model, ids([2], [1]), 9, 8, eos_id=0)
    yield "[[2, 3, 0, 0],", two[0]
    yield "[1, 2, 3, 0]]", two[1]
    yield "[[0, 1, 2]]", kata.generate(model, ids([0]), 2, 8, eos_id=0)


@example
def kv_cache(kata) -> Pairs:
    cache, one = kata.KVCache(), torch.eye(2, dtype=torch.float64)
    first, second = (
        kata.cached_attention(t([row]), one.repeat(1, 3), one, 1, cache) for row in ([1, 0], [0, 1])
    )
    yield "output [1.0, 0.0]", first
    yield "output [0.330, 0.670]", second


@example
def temperature_sampling(kata) -> Pairs:
    logits = t([2.0, 1.0, 0.0])
    for temperature, text in (
        (0.5, "[0.867, 0.117, 0.016]"),
        (1, "[0.665, 0.245, 0.090]"),
        (2, "[0.506, 0.307, 0.186]"),
    ):
        yield text, (logits / temperature).softmax(-1)
        drawn = kata.sample(logits.repeat(20_000, 1), temperature, torch.Generator().manual_seed(0))
        shares = torch.bincount(drawn, minlength=3) / 20_000
        assert (shares - (logits[0] / temperature).softmax(-1)).abs().max() < 0.02, temperature
    yield "T = 0      always token 0", [0, kata.sample(logits, 0)]
    assert not kata.sample(logits.repeat(50, 1), 0.001).any()  # as "the probabilities are [1, 0, 0]" says
    yield "ValueError where the temperature is negative.", refused(kata.sample, logits, -1.0)


@example
def top_k(kata) -> Pairs:
    logits = t([1.0, 3.0, 0.0, 2.0])
    for k, text in (
        (1, "[-inf, 3.0, -inf, -inf]  softmax: [0.000, 1.000, 0.000, 0.000]"),
        (2, "[-inf, 3.0, -inf, 2.0]   softmax: [0.000, 0.731, 0.000, 0.269]"),
        (3, "[1.0,  3.0, -inf, 2.0]   softmax: [0.090, 0.665, 0.000, 0.245]"),
    ):
        kept = kata.top_k_filter(logits, k)
        yield text, [kept, kept.softmax(-1)]
    yield "[0.087, 0.644, 0.032, 0.237]", logits.softmax(-1)
    for k in (4, 5):
        yield "k = 4 or more  -> [1.0,  3.0, 0.0,  2.0]", [4, kata.top_k_filter(logits, k)]
    yield "ValueError where k < 1.", refused(kata.top_k_filter, logits, 0)


@example
def top_p(kata) -> Pairs:
    logits = t([1.0, 3.0, 0.0, 2.0])
    ordered = logits.softmax(-1).sort(descending=True).values
    yield "[0.087, 0.644, 0.032, 0.237]", logits.softmax(-1)
    yield "0.644, 0.881, 0.968, 1.000", ordered.cumsum(-1)
    for p, text in (
        (0.5, "[-inf, 3.0, -inf, -inf]"),
        (0.8, "[-inf, 3.0, -inf, 2.0]"),
        (0.9, "[1.0,  3.0, -inf, 2.0]"),
        (1.0, "[1.0,  3.0, 0.0,  2.0]"),
    ):
        yield text, kata.top_p_filter(logits, p)


# --- gradients ---


@example
def attention_backward(kata) -> Pairs:
    q, k, v, dout = t([1]), t([0], [1.0986]), t([2], [6]), t([1])
    scores = q @ k.T
    lse, out = scores.logsumexp(-1), scores.softmax(-1) @ v
    yield "the weights [0.25, 0.75], lse = 1.3863 and out = [[5]]", [scores.softmax(-1), lse, out]
    dq, dk, dv = kata.attention_backward(dout, q, k, v, out, lse, 2)
    yield "dq = [[0.824]]        dk = [[-0.75], [0.75]]        dv = [[0.25], [0.75]]", [dq, dk, dv]


@example
def autograd_scalar(kata) -> Pairs:
    x, y = kata.Value(2.0), kata.Value(3.0)
    u = x * y
    v = u + x
    output = u * v
    yield "u = x * y = 6, v = u + x = 8, output = u * v = 48", [u.item(), v.item(), output.item()]
    yield "= [48, 28]", kata.gradients(output, [x, y])
    yield "= [6, 14]", kata.gradients(output, [v, u])
    yield (
        "by itself is 1, by a Value that it was not\nmade from 0",
        kata.gradients(output, [output, kata.Value(1.0)]),
    )


def through_norm(slope, row):
    """Return the gradient by a row, of which `slope` is the gradient by its norm."""
    deviation = math.sqrt(row.var() + 1e-5)
    normal = (row - row.mean()) / deviation
    return (slope - slope.mean() - normal * (slope * normal).mean()) / deviation


@example
def backprop_through_block(kata) -> Pairs:
    params = {name: np.eye(4) for name in ("w_q", "w_k", "w_v", "w_o", "w1", "w2")}
    params |= {"b1": np.full(4, 0.5), "b2": np.zeros(4)}
    for norm in ("norm1", "norm2"):
        params |= {f"{norm}_gamma": np.ones(4), f"{norm}_beta": np.zeros(4)}
    dx, slopes = kata.block_backward(a([[0, 1, 0, 0]]), a([[1, 2, 0, 1]]), params, 1)
    x = a(1, 2, 0, 1)
    normed, hidden = (x - 1) / math.sqrt(0.5 + 1e-5), x + (x - 1) / math.sqrt(0.5 + 1e-5)
    yield "a = [0, 1.414, -1.414, 0]               h = [1, 3.414, -1.414, 1]", [normed, hidden]
    again = (hidden - 1) / math.sqrt(hidden.var() + 1e-5)
    yield "c = [0, 1.414, -1.414, 0]               hidden = [0.5, 1.914, 0, 0.5]", [
        again, np.maximum(again + 0.5, 0)
    ]  # fmt: skip
    by_h = a(0, 1, 0, 0) + through_norm(a(0, 1, 0, 0), hidden)
    yield "+ [-0.146, 0.146, 0.146, -0.146]", through_norm(a(0, 1, 0, 0), hidden)
    yield "dx              [-0.146, 1.146, 0.146, -0.146]", by_h
    yield "+ [-0.561, 0.561, 0.561, -0.561]", through_norm(by_h, x)
    yield "column 1 is [0.5, 1.914, 0, 0.5]", [1, slopes["w2"][:, 1]]
    yield "= [-0.707, 1.707, 0.707, -0.707]", dx


@example
def layer_norm_backward(kata) -> Pairs:
    x, dy, gamma = a([1, 2, 0, 1], [3, 1, 1, 3]), a([0, 1, 0, 0], [0, 0, 0, 1]), a(1, 1, 1, 2)
    normal = (x - x.mean(-1, keepdims=True)) / np.sqrt(x.var(-1, keepdims=True) + 1e-5)
    dx, dgamma, dbeta = kata.layer_norm_backward(dy, x, gamma)
    yield "[[0, 1.414, -1.414, 0], [1, -1, -1, 1]]", normal
    yield "[[-0.354, 0.354, 0.354, -0.354], [-1, 0, 0, 1]]", dx
    yield "dgamma    = [0, 1.414, 0, 1]", dgamma
    yield "dbeta     = [0, 1, 0, 1]", dbeta


@example
def softmax_cross_entropy_backward(kata) -> Pairs:
    logits, targets = a([[2, 0, 0], [0, 1, 0], [5, 5, 9]]), np.array([[0, 2, -100]])
    yield "[[0.787, 0.107, 0.107],      [0.212, 0.576, 0.212],", softmax_of(logits[0, :2])
    yield (
        "[[-0.107, 0.053, 0.053],     [0.106, 0.288, -0.394], [0, 0, 0]]",
        kata.softmax_cross_entropy_backward(logits, targets),
    )


# --- kernels ---


@example
def flash_attention_kernel(kata) -> Pairs:
    q, k, v = (np.zeros((1, 17, 16), np.float32) for _ in range(3))
    v[..., 0], v[0, 16, 0], q[0, 16, 0], k[0, 16, 0] = 1, 6, 4, math.log(4)
    device = Device()
    out = device.empty(q.shape, "float32", "out")
    arrays = [device.array(one, name) for one, name in zip((q, k, v), "qkv", strict=True)]
    kata.flash_attention(*arrays, out, 8, 16)
    score = q[0, 16] @ k[0, 16] / 4
    change = 1 / 4  # exp(-log(4))
    total, output = 16 * change + 1, 16 * change + 6
    yield "key 16 is log(4) = 1.386", [16, 4, k[0, 16, 0]]
    yield "4 * 1.386 / sqrt(16) = 1.386", [4, k[0, 16, 0], 16, score]
    yield "16       1.386     1/4      16/4 + 1 = 5    16/4 + 6 = 10", [
        16, score, change, 16 * change, 1, total, 16 * change, 6, output
    ]  # fmt: skip
    yield "stored                                      10 / 5 = 2", [output, total, out.numpy()[0, 16, 0]]
    assert (out.numpy()[0, :16, 0] == 1).all()
    arrays = [device.array(np.zeros((1, 128, 16), np.float32), name) for name in "qkv"]
    device.run(kata.flash_attention, *arrays, device.empty((1, 128, 16), "float32", "out"), 16, 16)
    keys = [len(one.entries) // 16 for one in device.launches[0].accesses if one.array == "k"]
    yield "81,920 bytes are loaded and 8,192 stored", [device.bytes_loaded, device.bytes_stored]
    yield "16 + 32 + ... + 128 = 576 keys", [16, 32, 128, sum(keys)]


@example
def fused_layer_norm(kata) -> Pairs:
    def launched(x_dtype):
        device, x = Device(), np.array([[0, 3, 3], [5, 5, 8]], x_dtype)
        out = device.empty((2, 3), "float32", "out")
        gamma, beta = np.float32([1.5, 3, 1.5]), np.float32([0, 0, 1])
        vectors = device.array(gamma, "gamma"), device.array(beta, "beta")
        device.run(kata.fused_layer_norm, device.array(x, "x", strides=(5, 1)), *vectors, out, 0.25)
        return device, out.numpy(), x, gamma, beta

    device, out, x, gamma, beta = launched(np.float32)
    mean = x.mean(axis=1, keepdims=True)
    centred, squares, root = x - mean, (x - mean) ** 2, np.sqrt(x.var(axis=1) + 0.25)
    places = {(one.program, one.array): one.entries for one in device.launches[0].accesses}
    for program, text in enumerate(
        (
            "program 0    0   1   2   -        0   1   2   -                 0   1   2   -",
            "program 1    5   6   7   -        0   1   2   -                 3   4   5   -",
        )
    ):
        assert places[program, "gamma"] == places[program, "beta"]
        yield text, [program, [places[program, name] for name in ("x", "gamma", "out")]]
    yield "gamma = [1.5, 3, 1.5], beta = [0, 0, 1], and eps = 0.25", [gamma, beta, 0.25]
    for row, text in enumerate(
        (
            "row 0    [0, 3, 3, 0]    2      [-2, 1, 1, 0]      (4 + 1 + 1) / 3 = 2   1.5",
            "row 1    [5, 5, 8, 0]    6      [-1, -1, 2, 0]     (1 + 1 + 4) / 3 = 2   1.5",
        )
    ):
        variance = squares[row].sum() / 3
        yield text, [row, x[row], 0, mean[row], centred[row], 0, squares[row], 3, variance, root[row]]
    yield "out = [[-2, 2, 2], [-1, -2, 3]]", out
    masked = mean[1] ** 2
    wrong = (squares[1].sum() + masked) / 3
    yield "row 1 would have (1 + 1 + 4 + 36) / 3 = 14", [1, squares[1], masked, 3, wrong]
    yield "72 loaded and 24 stored in the example", [device.bytes_loaded, device.bytes_stored]
    yield "12 * R * C bytes loaded", device.bytes_loaded / x.size
    yield "10 * R * C where", launched(np.float16)[0].bytes_loaded / x.size
    yield "4 * R * C bytes stored", device.bytes_stored / x.size
    largest = float(np.finfo(np.float16).max)
    assert largest < 70 * 1000
    yield "ends at 65,504", largest


@example
def int4_matmul(kata) -> Pairs:
    device, x = Device(), np.ones((2, 40), np.float16)
    x[1, 1::2] = 0
    row, scales = np.array([163, 136, 240], np.uint8), np.array([[0.5, 1, 1], [1, 1, 0.5]], np.float16)
    arrays = (
        device.array(x, "x"),
        device.array(np.tile(row, (20, 1)), "packed"),
        device.array(scales, "scales"),
    )
    out = device.empty((2, 3), "float32", "out")
    device.run(kata.int4_matmul, *arrays, out, 32, 2, 2, 32)
    loads = {
        name: [sorted(one.entries) for one in device.launches[0].accesses if one.array == name]
        for name in ("x", "packed", "scales")
    }
    columns = sorted({entry % 40 for entries in loads["x"] for entry in entries})
    rows = sorted({entry // 3 for entries in loads["packed"] for entry in entries})
    yield "k of x              0 to 31    32 to 39", [columns[0], columns[31], columns[32], columns[-1]]
    yield "rows of packed      0 to 15    16 to 19", [rows[0], rows[15], rows[16], rows[-1]]
    yield (
        "row of scales       0          1",
        sorted({at // 3 for entries in loads["scales"] for at in entries}),
    )
    codes = np.stack([row & 15, row >> 4], axis=1).astype(int)
    yield "every row of packed is [163, 136, 240]", row
    yield "scales [[0.5, 1, 1],", scales[0]
    yield "[1,   1, 0.5]]", scales[1]
    yield "codes  3 10    8 8     0 15", codes
    yield "q     -5  2    0 0    -8  7", codes - 8
    yield "In uint8, 3 - 8 is 251", [3, 8, np.array([3], np.uint8) - np.array([8], np.uint8)]
    yield "out = [[-36, 0, -18], [-60, 0, -144]]", out.numpy()
    yield "16 * (-5 + 2) * 0.5 + 4 * (-5 + 2) * 1 = -36", [16, -5, 2, 0.5, 4, -5, 2, 1, out.numpy()[0, 0]]
    parts = [2 * 2 * 40, 2 * 40 // 2, 2 * 2 * 2]
    yield "416 bytes are loaded at most, 160 + 40 + 8 a block, and 24", [
        2 * sum(parts), *parts, device.bytes_stored
    ]  # fmt: skip
    yield "160 bytes a block in place of 48", [2 * 2 * 40, sum(parts[1:])]


@example
def online_softmax(kata) -> Pairs:
    row, device = np.array([1, 2, 4, 3, 1]), Device()
    out = device.empty((1, 5), "float32", "out")
    kata.online_softmax(device.array(np.float32(row[None]), "x"), out, 2)
    first = math.exp(-1) + 1
    second = math.exp(-2) * first + 1 + math.exp(-1)
    third = np.exp(row - 4.0).sum()
    yield "the row [1, 2, 4, 3, 1]", row
    yield "[1, 2]    2          0                   e^-1 + 1                        = 1.368", [
        1, 2, 2, 0, -1, 1, first
    ]  # fmt: skip
    yield "[4, 3]    4          e^-2 = 0.1353       0.1353 * 1.368 + 1 + e^-1       = 1.553", [
        4, 3, 4, -2, math.exp(-2), math.exp(-2), first, 1, -1, second
    ]  # fmt: skip
    yield "[1, -]    4          1                   1.553 + e^-3                    = 1.603", [
        1, 4, 1, second, -3, third
    ]  # fmt: skip
    yield "[0.031, 0.084, 0.624, 0.23, 0.031]", out.numpy()
    x, out = np.zeros((4, 1000), np.float32), device.empty((4, 1000), "float32", "out")
    device.run(kata.online_softmax, device.array(x, "x"), out, 256)
    bytes_moved = [device.bytes_loaded, device.bytes_stored]
    yield "For 4 rows of 1,000 columns in float32, at\nmost 32,000 bytes are loaded and 16,000 stored", [
        *x.shape, *bytes_moved
    ]  # fmt: skip


def used(device, what):
    """Return the numbers of programs and of the entries that they load or store, program by program."""
    accesses = sorted((one.program, one.entries) for one in device.launches[0].accesses if one.what == what)
    return [[program, *entries] for program, entries in accesses]


@example
def masked_add(kata) -> Pairs:
    device, x = Device(), np.arange(1, 7, dtype=np.float32)
    y, out = np.repeat(np.float32([10, 20]), 3), device.empty((6,), "float32", "out")
    device.run(kata.masked_add, device.array(x, "x"), device.array(y, "y"), out, 4)
    yield "x = [1, 2, 3, 4, 5, 6],  y = [10, 10, 10, 20, 20, 20]", [x, y]
    yield "out = [11, 12, 13, 24, 25, 26]", out.numpy()


@example
def paged_decode(kata) -> Pairs:
    def launched(q, pool, table, lengths):
        device = Device()
        out = device.empty(q.shape, "float32", "out")
        k, v = (device.array(values, name) for values, name in zip(pool, "kv", strict=True))
        tables = device.array(np.int32(table), "table"), device.array(np.int32(lengths), "lengths")
        device.run(kata.paged_decode, device.array(q, "q"), k, v, *tables, out)
        return device, out.numpy()

    def tokens(device, program, array, d_head):
        every = (one for one in device.launches[0].accesses if one.array == array and one.program == program)
        return [entry // d_head for one in every for entry in one.entries[::d_head]]

    q, (k, v) = np.zeros((2, 1, 4), np.float32), np.zeros((2, 4, 2, 1, 4), np.float32)
    q[..., 0], keys = 2, np.log([1, 2, 4])
    k[3, :, 0, 0], k[1, 0, 0, 0] = keys[:2], keys[2]
    v[3, :, 0, 0], v[1, 0, 0, 0], v[0, :, 0, 0] = [2, 3], 5, [1, 5]
    device, out = launched(q, (k, v), [[3, 1, 99], [0, 99, 99]], [3, 2])
    assert tokens(device, 0, "k", 4) == tokens(device, 0, "v", 4) == [6, 7, 2]
    assert tokens(device, 1, "k", 4) == tokens(device, 1, "v", 4) == [0, 1]
    yield "the keys are [0, 0.693, 1.386], the logarithms of 1, 2 and 4", [keys, 1, 2, 4]
    first, second = 1 / 2 + 1, 1 / 2 * 1.5 + 1
    yield "3      [0, 0.693]      0.693     0        1/2 + 1 = 1.5            1/2 * 2 + 3 = 4", [
        3, keys[:2], keys[1], 0, 0.5, 1, first, 0.5, 2, 3, 0.5 * 2 + 3
    ]  # fmt: skip
    yield "1      [1.386, -inf]   1.386     1/2      1/2 * 1.5 + 1 = 1.75     1/2 * 4 + 5 = 7", [
        1, keys[2], -INF, keys[2], 0.5, 0.5, first, 1, second, 0.5, 4, 5, 0.5 * 4 + 5
    ]  # fmt: skip
    yield "7 / 1.75 = 4", [7, second, out[0, 0, 0]]
    yield "the values [1, 5], so that the result is 3", [v[0, :, 0, 0], out[1, 0, 0]]
    pool = np.zeros((2, 63, 16, 1, 64), np.float32)
    device, _ = launched(np.zeros((1, 1, 64), np.float32), pool, [range(63)], [1000])
    sizes = {"k": 0, "v": 0, "table": 0, "lengths": 0, "q": 0, "out": 0}
    for one in device.launches[0].accesses:
        sizes[one.array] += 4 * len(one.entries)
    yield "at most 512,000 bytes of keys and values, 63 * 4 = 252 of\nthe table", [
        sizes["k"] + sizes["v"], 63, 4, sizes["table"]
    ]  # fmt: skip
    yield (
        "4 of the length and 256 of the query, and stores 256",
        [sizes[name] for name in ("lengths", "q", "out")],
    )


@example
def row_softmax(kata) -> Pairs:
    device, x = Device(), np.log(np.array([[1, 1, 2], [3, 1, 1]], np.float32))
    out = device.empty((2, 3), "float32", "out")
    device.run(kata.row_softmax, device.array(x, "x", strides=(5, 1)), out)
    loads, stores = used(device, "load"), used(device, "store")
    yield "program 0    0   1   2   -        0   1   2   -", [loads[0], stores[0][1:]]
    yield "program 1    5   6   7   -        3   4   5   -", [loads[1], stores[1][1:]]
    yield "scores [0, 0, 0.693, -inf]    powers [0.5, 0.5, 1, 0]", [x[0], -INF, 0.5, 0.5, 1, 0]
    yield "scores [1.099, 0, 0, -inf]    powers [1, 0.333, 0.333, 0]", [x[1], -INF, 1, 1 / 3, 1 / 3, 0]
    yield "sum 1.667", 5 / 3
    yield "out = [[0.25, 0.25, 0.5], [0.6, 0.2, 0.2]]", out.numpy()
    yield "24 and 24\nin the example", [device.bytes_loaded, device.bytes_stored]


@example
def tiled_matmul(kata) -> Pairs:
    def launched(*blocks):
        device, columns = Device(), np.tile(np.arange(1, 6), (20, 1))
        a, b = device.array(np.ones((3, 20), np.float16), "a"), device.array(columns.astype(np.float16), "b")
        out = device.empty((3, 5), "float32", "out")
        device.run(kata.tiled_matmul, a, b, out, *blocks)
        return device, out.numpy()

    device, out = launched(2, 4, 16)
    stores = {program: entries for program, *entries in used(device, "store")}
    for place, text in (
        ((0, 0), "(0, 0)                     rows 0 1, columns 0 1 2 3"),
        ((0, 1), "(0, 1)                     rows 0 1, column  4      "),
        ((1, 0), "(1, 0)                     row  2,   columns 0 1 2 3"),
        ((1, 1), "(1, 1)                     row  2,   column  4      "),
    ):
        entries = stores[place[0] + 2 * place[1]]
        rows, columns = sorted({at // 5 for at in entries}), sorted({at % 5 for at in entries})
        yield text, [*place, *rows, *columns]
    yield "0 ... 15 and 16 ... 19", [0, 15, 16, 19]
    yield "each row of out is [20, 40, 60, 80, 100]", out[0]
    yield (
        "960 bytes are loaded at most, 240 a block, and 60",
        [4 * 240, 2 * (2 + 4) * 20, device.bytes_stored],
    )
    yield "1,200 bytes in all", launched(1, 1, 16)[0].bytes_loaded


# --- modern ---


@example
def alibi_bias(kata) -> Pairs:
    yield "H = 4:  1/4, 1/16, 1/64, 1/256", [4, kata.alibi_slopes(4)]
    yield "[1/4, 1/16, 1/64, 1/256, 1/2, 1/8]", kata.alibi_slopes(6)
    yield "[[-0.75, -0.5, -0.25, 0.0]]", kata.alibi_bias(6, 1, 4)[0]
    yield "Raises ValueError where num_heads is below 1.", refused(kata.alibi_slopes, 0)


@example
def expert_capacity(kata) -> Pairs:
    yield "0.75 * 4 * 2 / 3 = 2", [0.75, 4, 2, 3, kata.expert_capacity(4, 3, 2, 0.75)]
    scores = t([0.75, 0.50, 0.25], [0.50, 0.25, 0.25], [0.75, 0.25, 0.50], [0.25, 0.50, 0.50])
    bias = torch.tensor([0, 0, 0.25], dtype=torch.float64)
    experts, slots, weights = kata.route_tokens(scores, bias, 2, 2)
    for row, text in enumerate(
        (
            "0.75 0.50 0.50      0 1        0  0      0.6   0.4",
            "0.50 0.25 0.50      0 2        1  0      0.667 0.333",
            "0.75 0.25 0.75      0 2       -1  1      0     0.4",
            "0.25 0.50 0.75      2 1       -1  1      0     0.5",
        )
    ):
        yield text, [scores[row] + bias, experts[row], slots[row], weights[row]]
    loads = torch.bincount(experts.flatten(), minlength=3)
    yield "loads 3, 2, 3", loads
    yield "with rate 0.125 the bias is [-0.125, 0.125, 0.125]", [
        0.125, kata.update_bias(bias, experts, 0.125)
    ]  # fmt: skip
    for k in (0, 4):
        yield "Raises ValueError unless 1 <= top_k <= E.", refused(kata.route_tokens, scores, bias, k, 2)


@example
def gated_delta_rule(kata) -> Pairs:
    q, k, v = t([[1, 0], [1, 0]])[None], t([[1, 0], [0.6, 0.8]])[None], t([[10], [20]])[None]
    rate = t([1, 0.5])[None]
    first, state = kata.gated_delta_step(q[:, :, 0], k[:, :, 0], v[:, :, 0], rate[:, :, 0], rate[:, :, 0])
    yield "S = [[10, 0]]        result 10", [state, first]
    second, state = kata.gated_delta_step(
        q[:, :, 1], k[:, :, 1], v[:, :, 1], rate[:, :, 1], rate[:, :, 1], state
    )
    yield "= [[10.1, 6.8]]       result 10.1", [state, second]
    whole, chunked = (
        kata.gated_delta_parallel(q, k, v, rate, rate),
        kata.gated_delta_chunked(q, k, v, rate, rate, 2),
    )
    for results in (whole, chunked[0]):
        yield "= [[10.1, 6.8]]       result 10.1", [chunked[1], results[0, 0, 1]]


@example
def grouped_query_attention(kata) -> Pairs:
    ones, v = np.ones((1, 4, 1, 1)), a([[[1.0]], [[2.0]]])
    yield "[[[1.0]], [[1.0]], [[2.0]], [[2.0]]]", kata.grouped_query_attention(ones, ones[:, :2], v)


class Latents:
    """The cache of a caller: it keeps what it is given."""

    def __init__(self):
        self.held = None

    def __len__(self):
        return 0 if self.held is None else self.held.shape[1]

    def append(self, latents):
        self.held = latents if self.held is None else torch.cat([self.held, latents], 1)
        return self.held


@example
def latent_attention(kata) -> Pairs:
    cache = Latents()
    result = kata.latent_attention(
        t([[1, 0], [0, 1]]), t([1], [1]), t([1], [2]), t([1]), t([10]), t([1, 0]), 1, cache
    )
    yield "1 and 2. The", cache.held
    yield "[10, 0] and [17.31, 0]", result
    yield "the weights [0.269, 0.731]", softmax_of(a(1, 2))


@example
def linear_attention(kata) -> Pairs:
    q, k, v = t([[0, 0], [1, 0]])[None], t([[0, 1], [1, 0]])[None], t([[10], [20]])[None]
    text = "results                10 and (4 * 10 + 5 * 20) / 9 = 15.556"
    for chunk in (1, 2):
        results, state = kata.linear_attention_chunked(q, k, v, chunk)
        yield text, [results[0, 0, 0], 4, 10, 5, 20, 9, results[0, 0, 1]]
        yield "S = [[50], [40]], z = [3, 3]", state
    results = kata.linear_attention_parallel(q, k, v)
    yield text, [results[0, 0, 0], 4, 10, 5, 20, 9, results[0, 0, 1]]
    before = kata.linear_attention_step(q[:, :, 0], k[:, :, 0], v[:, :, 0])[1]
    step, state = kata.linear_attention_step(q[:, :, 1], k[:, :, 1], v[:, :, 1], before)
    yield "140 / 9 = 15.556", [140, 9, step]
    yield "S = [[50], [40]], z = [3, 3]", state


@example
def lora_linear(kata) -> Pairs:
    base = torch.nn.Linear(2, 2, bias=False)
    set_to(base.weight, [1.0, 0.0], [0.0, 1.0])
    layer, x = kata.LoRALinear(base, 1, 2.0), torch.tensor([1.0, 2.0])
    set_to(layer.lora_a, [1.0, 1.0])
    set_to(layer.lora_b, [1.0], [0.0])
    yield "x = [1, 2] gives [1, 2] + 2 * [3, 0] = [7, 2]", [x, x, 2, 3, 0, layer(x).detach()]
    layer.merge()
    yield "base.weight is [[3, 2], [0, 1]]", layer.base.weight.detach()
    yield "= [7, 2]", layer(x).detach()
    yield "Raises ValueError for rank < 1.", refused(kata.LoRALinear, base, 0, 2.0)


@example
def min_p(kata) -> Pairs:
    logits = t([1.0, 3.0, 0.0, 2.0])
    probabilities = logits.softmax(-1)
    yield "[0.087, 0.644, 0.032, 0.237]", probabilities
    yield "[0.135, 1.000, 0.050, 0.368]", probabilities / probabilities.max()
    yield (
        "[1.0,  3.0, -inf, 2.0]      threshold 0.0644",
        [kata.min_p_filter(logits, 0.1), 0.1 * probabilities.max()],
    )
    yield (
        "[-inf, 3.0, -inf, 2.0]      threshold 0.193",
        [kata.min_p_filter(logits, 0.3), 0.3 * probabilities.max()],
    )
    yield "[-inf, 3.0, -inf, -inf]", kata.min_p_filter(logits, 0.5)


@example
def mixture_of_experts(kata) -> Pairs:
    layer = kata.MixtureOfExperts(1, 1, 3, 2).double()
    with torch.no_grad():
        for parameter in layer.parameters():
            parameter.zero_()
        layer.router.weight.copy_(t([2], [1], [0]))
        for number, expert in enumerate(layer.experts, start=1):
            expert[2].bias.fill_(10.0 * number)
    output, loss = layer(t([[1]]))
    shares = softmax_of(a(2, 1, 0))
    yield "softmax([2, 1]) = [0.731, 0.269]", [2, 1, softmax_of(a(2, 1))]
    yield "0.731 * 10 + 0.269 * 20 = 12.689", [0.731, 10, 0.269, 20, output.detach()]
    yield "3 * (0.5 * 0.665 + 0.5 * 0.245 + 0 * 0.090) = 1.365", [
        3, 0.5, shares[0], 0.5, shares[1], 0, shares[2], loss.detach()
    ]  # fmt: skip
    for k in (0, 4):
        yield (
            "Raises ValueError unless 1 <= top_k <= num_experts.",
            refused(kata.MixtureOfExperts, 1, 1, 3, k),
        )


@example
def multi_token_prediction(kata) -> Pairs:
    targets = np.array([[0, 1, 1]])
    rows = kata.multi_token_targets(targets, 2)
    yield "head 0      [0, 1, 1]", [0, rows[0]]
    yield "head 1      [1, 1, -100]", [1, rows[1]]
    logits = a([[[0, 0], [0, 0], [0, 0]]], [[[0, 2], [2, 0], [9, -9]]])
    losses = [kata.multi_token_loss(logits[:1], targets)]
    losses.append(kata.multi_token_loss(logits, targets, weight=1.0) - losses[0])
    both = -np.log(softmax_of(logits[1, 0, :2]))[:, 1]
    yield "0.1269, the second 2.1269", both
    yield "0.6931, loss_1 = (0.1269 + 2.1269) / 2 = 1.1269", [losses[0], both, 2, losses[1]]
    yield (
        "0.6931 + 0.3 * 1.1269 = 1.0312",
        [losses[0], 0.3, losses[1], kata.multi_token_loss(logits, targets)],
    )


@example
def qk_norm_softcap(kata) -> Pairs:
    q, k, v = a([[[3, 3]]]), a([[[0.1, -0.1], [5, 5]]]), a([[[10], [20]]])
    one = np.ones(2)
    capped = math.tanh(math.sqrt(2))
    yield "scores         0, 1.4142            capped      0, tanh(1.4142) = 0.8884", [
        0, math.sqrt(2), 0, math.sqrt(2), capped
    ]  # fmt: skip
    power = math.exp(capped)
    yield "powers         1, 2.4312", [1, power]
    for sink, more, text, result in (
        (0.0, 1, "1 / 4.4312 = 0.2257 and 0.5487, together 0.7743", "result 13.2298"),
        (-INF, 0, "1 / 3.4312 = 0.2914 and 0.7086, together 1", "result 17.0856"),
    ):
        total = 1 + power + more
        yield text, [1, total, 1 / total, power / total, (1 + power) / total]
        yield result, kata.qk_norm_softcap(q, k, v, one, one, 1.0, a(sink))


@example
def rms_norm(kata) -> Pairs:
    x = a([1.0, 2.0, 2.0, 4.0], [0.001, -0.001, -0.001, 0.001])
    result = kata.rms_norm(x, a(1.0, 1.0, 0.5, 2.0))
    yield "mean square 6.25, its root 2.5", [(x[0] ** 2).mean(), math.sqrt((x[0] ** 2).mean())]
    yield "[0.001, -0.001, -0.001, 0.001]]       mean square 1e-6", [x[1], (x[1] ** 2).mean()]
    yield "[[0.4,    0.8,    0.4,   3.2], [0.7071, -0.7071, -0.3536, 1.4142]]", result


@example
def rope_scaling(kata) -> Pairs:
    frequencies = kata.yarn_frequencies(8, 4.0, 4096)
    plain = 10000.0 ** -(np.arange(4) / 4)
    turns = 4096 * plain / (2 * math.pi)
    yield "frequency      1        0.1      0.01        0.001", plain
    yield "turns          651.9    65.19    6.519       0.6519", turns
    yield "kept           1        1        0.1780      0", np.clip((turns - 1) / 31, 0, 1)
    yield "result         1        0.1      0.0038352   0.00025", frequencies
    yield "0.1 * 1.3863 + 1 = 1.13863", [0.1, math.log(4), 1, 0.1 * math.log(4) + 1]
    x = np.zeros((1, 8))
    x[0, 6] = 1
    turned = kata.rope_scaling(x, np.array([100]), 4.0, 4096)
    yield "becomes (1.1383, 0.0285)", turned[0, 6:]
    yield "position 100: the angle is 0.025", [100, 100 * frequencies[3]]


@example
def rotary_embedding(kata) -> Pairs:
    rows = kata.rotary_embedding(np.tile(a(1, 0, 1, 0), (3, 1)), np.arange(3))
    yield "[ 1.0,    0.0,    1.0,    0.0  ]", rows[0]
    yield "[ 0.5403, 0.8415, 1.0,    0.01 ]", rows[1]
    yield "[-0.4161, 0.9093, 0.9998, 0.02 ]", rows[2]


@example
def sliding_window_mask(kata) -> Pairs:
    yield "[[1, 0, 0, 1, 1, 0], [1, 0, 0, 0, 1, 1]]", kata.sliding_window_mask(2, 2, 6, 1)
    text = "With fewer keys than queries the first queries would have no position; that is an error"
    yield text, refused(kata.sliding_window_mask, 3, 2, 2)
    yield "so are a window below 1", refused(kata.sliding_window_mask, 3, 0)
    yield "a negative number of sinks", refused(kata.sliding_window_mask, 3, 2, 3, -1)


@example
def swiglu(kata) -> Pairs:
    layer = kata.SwiGLU(1, 1).double()
    for name, value in (("gate_proj", 2.0), ("up_proj", 3.0), ("down_proj", 1.0)):
        set_to(getattr(layer, name).weight, [value])
    yield "silu( 2) *  3 * 1 = 5.285", [2, 3, 1, layer(t([1])).detach()]
    yield "silu(-2) * -3 * 1 = 0.715", [-2, -3, 1, layer(t([-1])).detach()]


# --- modules ---


@example
def causal_self_attention(kata) -> Pairs:
    layer = with_identities(kata.CausalSelfAttention(2, 2))
    result = layer(t([[1, 0], [0, 1]]))
    output, weights = result if isinstance(result, tuple) else (result, None)
    yield "output [1.0, 0.0]", output[0, 0].detach()
    yield "output [0.5, 0.731]", output[0, 1].detach()
    if weights is not None:
        yield "weights [0.5, 0.5]", weights[0, 0, 1].detach()
        yield "weights [0.269, 0.731]", weights[0, 1, 1].detach()


@example
def decoder_block(kata) -> Pairs:
    block = with_identities(kata.DecoderBlock(2, 1, 2))
    yield "[4, 0] + [0.841, -0.159] = [4.841, -0.159]", [4, 0, 0.841, -0.159, block(t([[3, 1]])).detach()]


@example
def mini_gpt(kata) -> Pairs:
    model = kata.MiniGPT(vocab_size=5, d_model=4, num_heads=2, d_ff=8, num_layers=1, max_len=6)
    has = {name: parameter.numel() for name, parameter in model.named_parameters()}

    def count(*parts):
        return [sum(n for name, n in has.items() if f".{part}." in f".{name}") for part in parts]

    yield (
        "embed 20 + 24, ln1 8, qkv 60, out_proj 20, ln2 8, mlp 40 + 36, ln_f 8, head 25: 249 parameters",
        [
            *count("token_embed", "pos_embed", "ln1", "qkv", "out_proj"),
            *count("ln2", "mlp.0", "mlp.2", "ln_f", "head"),
            sum(has.values()),
        ],
    )
    yield "logits [1, 3, 5]", model(ids([0, 3, 3])).shape


@example
def positional_encoding(kata) -> Pairs:
    table = kata.SinusoidalPositionalEncoding(4).pe
    yield (
        "[[0.0,   1.0,    0.0,  1.0  ], [0.841, 0.540,  0.01, 1.0  ], [0.909, -0.416, 0.02, 1.0  ]]",
        table[0, :3],
    )


@example
def scaled_init(kata) -> Pairs:
    class Part(torch.nn.Module):
        def __init__(self, **parts):
            super().__init__()
            for name, part in parts.items():
                self.add_module(name, part)

    wide, linear = 256, torch.nn.Linear
    attention = Part(qkv=linear(wide, 3 * wide), out=linear(wide, wide))
    mlp = torch.nn.Sequential(linear(wide, wide), torch.nn.ReLU(), linear(wide, wide))
    block = Part(attn=attention, mlp=mlp, ln1=torch.nn.LayerNorm(wide))
    model = Part(
        tok_emb=torch.nn.Embedding(wide, wide), blocks=torch.nn.ModuleList([block]), head=linear(wide, wide)
    )
    torch.manual_seed(0)
    kata.scaled_init_(model, 8)
    has = dict(model.named_parameters())

    def deviation(name):
        return round(float(has[name].detach().std()), 3 if has[name].std() < 0.01 else 2)

    for left, right in (
        ("tok_emb.weight            0.02", "blocks.0.attn.out.weight  0.005"),
        ("blocks.0.attn.qkv.weight  0.02", "blocks.0.mlp.2.weight     0.005"),
        ("blocks.0.mlp.0.weight     0.02", "blocks.0.mlp.0.bias       0"),
        ("blocks.0.ln1.weight       left alone", "head.weight               0.02"),
    ):
        parts = [text.split()[0] for text in (left, right) if "alone" not in text]
        yield f"{left}        {right}", [deviation(name) for name in parts]
    assert (has["blocks.0.ln1.weight"] == 1).all()


@example
def token_position_embedding(kata) -> Pairs:
    layer = kata.TokenPositionEmbedding(2, 2, 3)
    set_to(layer.token_embed.weight, [1.0, 0.0], [0.0, 1.0])
    set_to(layer.pos_embed.weight, [0.0, 0.0], [0.1, 0.2], [0.3, 0.4])
    yield "[[[0.0, 1.0], [0.1, 1.2], [1.3, 0.4]]]", layer(ids([1, 1, 0])).detach()


@example
def train_language_model(kata) -> Pairs:
    class Table(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.table = torch.nn.Parameter(torch.zeros(2, 2, dtype=torch.float64))

        def forward(self, inputs):
            return self.table[inputs]

    model = Table()
    yield "losses of three steps    0.693, 0.598, 0.513", kata.train(model, ids([0]), ids([1]), 3, lr=0.1)
    model = Table()
    kata.train(model, ids([0]), ids([1]), 1, lr=0.1)
    yield "moves both logits by 0.1", model.table[0].detach().abs().mean()
    yield "with V = 65 it should be near 4.17", [65, math.log(65)]


@example
def transformer(kata) -> Pairs:
    torch.manual_seed(0)
    model = kata.Transformer(8, 8, 8, 2, 16, 1).double().eval()
    src, tgt = ids([5, 7, 0]), ids([1, 0, 4])
    with torch.no_grad():
        memory = model.encode(src)
        logits = model.decode(tgt, memory, src)

        def reads(embedding, token, run, before):
            """Whether each position of a result changes with the embedding of a token."""
            kept = embedding.weight[token].clone()
            embedding.weight[token] += torch.arange(8) % 3
            changed = (run() - before).abs().amax(-1)[0] > 1e-9
            embedding.weight[token] = kept
            return changed

        encoder = [reads(model.src_emb, token, lambda: model.encode(src), memory) for token in (5, 7, 0)]
        own = [
            reads(model.tgt_emb, token, lambda: model.decode(tgt, memory, src), logits) for token in (1, 0, 4)
        ]
        cross = []
        for place in range(3):
            other = memory.clone()
            other[0, place] += torch.arange(8) % 3
            cross.append((model.decode(tgt, other, src) - logits).abs().amax(-1)[0] > 1e-9)
    encoder, own, cross = (torch.stack(rows).T for rows in (encoder, own, cross))
    yield (
        "encoder   1 1 0         decoder   1 . .        cross-attention   1 1 0",
        [encoder[0], own[0, 0], cross[0]],
    )
    yield "1 1 0                   . . .                          . . .", encoder[1]
    yield ". . .                   1 0 1                          1 1 0", [own[2], cross[2]]
    assert not own[0, 1:].any()


@example
def transformer_decoder(kata) -> Pairs:
    model = with_identities(kata.TransformerDecoder(1, 4, 1, 4, 4))
    given = []
    with torch.no_grad():
        for name, parameter in model.layers.named_parameters():
            if ".o." in name or ".ffn.2." in name:
                parameter.zero_()
        model.tok_emb.weight[2] = t([1, 0, 0.5, 0])
        model.layers[0].register_forward_pre_hook(lambda _, arguments: given.append(arguments[0]))
        model.out_proj.register_forward_pre_hook(lambda _, arguments: given.append(arguments[0]))
        model(ids([2]), torch.zeros(1, 1, 4, dtype=torch.float64))
    yield "+ [0, 1, 0, 1] = [2, 1, 1, 1]", [0, 1, 0, 1, given[0]]
    yield "[1.732, -0.577, -0.577, -0.577]", given[1]
    yield (
        "Raises ValueError where num_heads does not divide d_model.",
        refused(kata.TransformerDecoder, 1, 4, 3, 4, 5),
    )


@example
def transformer_decoder_layer(kata) -> Pairs:
    layer = with_identities(kata.TransformerDecoderLayer(2, 1, 2))
    yield "[4, 2] + [1, 0]   = [5, 2]", [4, 2, 1, 0, layer(t([[3, 1]]), t([[0, 2]])).detach()]
    yield (
        "Raises ValueError where num_heads does not divide d_model.",
        refused(kata.TransformerDecoderLayer, 2, 3, 2),
    )


# --- parallel ---


@example
def ring_attention(kata) -> Pairs:
    parts = []
    for scores, values in (((1, 2), (10, 20)), ((4,), (30,))):
        weights, powers = softmax_of(a(*scores)), np.exp(a(*scores))
        parts.append((a([weights @ values]), a(math.log(powers.sum()))))
    yield "output 17.311   log_sum 2.313", parts[0]
    yield "output 30       log_sum 4", parts[1]
    yield "output 28.018   log_sum 4.170", kata.merge(*parts)
    for causal, text in ((False, "output        [[17.5]]  [[17.5]]"), (True, "[[10]]    [[17.5]]")):
        arguments = [
            {"q": a([1]), "k": a([k]), "v": a([v]), "rank": rank, "size": 2, "causal": causal}
            for rank, (k, v) in enumerate(((0, 10), (1.0986, 20)))
        ]
        yield text, Ranks(2).run(kata.ring_attention, arguments, "shift")
    yield "weights 1/4 and 3/4", softmax_of(a(0, math.log(3)))
    yield "[[1.0986]]      the logarithm of 3", [math.log(3), 3]


@example
def tensor_parallel(kata) -> Pairs:
    w1, w2 = (a([1], [1]), a([1], [0])), (a([1, 2]), a([4, 1]))
    common = {"x": a([2, 1]), "b1": a(0), "b2": a(0.5, -1), "grad": a([1, 2])}
    arguments = [{**common, "w1": w1[rank], "w2": w2[rank]} for rank in (0, 1)]
    first, second = Ranks(2).run(kata.mlp_rank, arguments, "all_reduce")
    yield "output          [[11.5, 7]]         [[11.5, 7]]", [first[0], second[0]]
    yield "d_x = [[11, 5]]", first[1]
    yield "d_x = [[11, 5]]", second[1]
    yield "[[10], [5]]         [[12], [6]]", [first[2], second[2]]
    yield "[5], [[3, 6]]       [6], [[2, 4]]", [first[3], first[4], second[3], second[4]]
    yield "[1, 2]              [1, 2]", [first[5], second[5]]


@example
def zero_step(kata) -> Pairs:
    common = {"parameter": a(1, 2, -1), "m": np.zeros(2), "v": np.zeros(2), "step": 1, "size": 2, "lr": 0.1}
    common |= {"betas": (0.9, 0.999), "eps": 1e-8, "weight_decay": 0.01}
    gradients = a(1, 0, 2), a(0, 4, -1)
    arguments = [{**common, "gradient": gradient, "rank": rank} for rank, gradient in enumerate(gradients)]
    first, second = Ranks(2).run(kata.zero_step, arguments, "reduce_scatter", "all_gather")
    yield "[0.5, 2]            [0.5, .]", [(gradients[0] + gradients[1])[:2] / 2, 0.5]
    yield "new piece         [0.899, 1.898]      [-1.099, .]", first[0]
    yield "[0.05, 0.2]         [0.05, .]", [first[1], second[1][0]]
    yield "[0.00025, 0.004]    [0.00025, .]", [first[2], second[2][0]]
    yield "[0.899, 1.898, -1.099] on both", first[0]
    yield "[0.899, 1.898, -1.099] on both", second[0]


# --- serving ---


@example
def batched_generate(kata) -> Pairs:
    shown = []

    def model(tokens, mask, positions):
        shown.append((tokens, mask, positions))
        best = [[2, 3], [4, 0]][len(shown) - 1][: len(tokens)]
        return torch.nn.functional.one_hot(ids(best)[0], 9).double()

    result = kata.batched_generate(model, [[5, 6, 7], [8]], 2, 0, eos_id=3)
    yield "[[5, 6, 7, 2, 4], [8, 3]]", result
    first, second = shown
    yield "[[5, 6, 7],         [[5, 6, 7, 2],", [first[0][0], second[0][0]]
    yield "[[1, 1, 1],         [[1, 1, 1, 1],", [first[1][0], second[1][0]]
    yield "[[0, 1, 2],         [[0, 1, 2, 3],", [first[2][0], second[2][0]]
    shown.clear()
    kata.batched_generate(model, [[5, 6, 7], [8]], 2, 0)  # no row ends, so both are shown again
    first, second = shown
    yield "[0, 0, 8]]          [0, 0, 8, 3]]", [first[0][1], second[0][1]]
    yield "[0, 0, 1]]          [0, 0, 1, 1]]", [first[1][1], second[1][1]]
    yield "[., ., 0]]          [., ., 0, 1]]", [first[2][1, 2], second[2][1, 2:]]


@example
def constrained_decoding(kata) -> Pairs:
    automaton = {"start": 0, "accepting": [0], "transitions": {0: {0: 1, 1: 2}, 1: {1: 0, 2: 1}, 2: {}}}
    logits = t([1, 3, 2, 0])[0]
    yield "4 steps left  [1, -inf, -inf, 0]", [4, kata.constrain_logits(logits, automaton, 0, 4, 3)]
    yield "2 steps left  [-inf, 3, -inf, -inf]", [2, kata.constrain_logits(logits, automaton, 1, 2, 3)]
    yield "gives [9, 0, 1, 0, 1, 3]", kata.constrain_generate(lambda _: logits, [9], automaton, 6, 3)
    yield "ValueError where no token is kept.", refused(kata.constrain_logits, logits, automaton, 2, 4, 3)
    yield (
        "ValueError where no text so short is accepted.",
        refused(kata.constrain_generate, lambda _: logits, [9], automaton, 0, 3),
    )


@example
def continuous_batching(kata) -> Pairs:
    answers = iter(([2, 0], [3, 2], [5, 6]))
    shown = []

    def model(entries):
        shown.append([(request, start, [*tokens]) for request, start, tokens in entries])
        return next(answers)

    requests = [(0, [5, 6, 7], 2), (0, [8, 9, 8, 9], 2), (1, [4], 1)]
    result = kata.continuous_batching(model, requests, 4)
    for step, text in enumerate(
        (
            "(0, 0, [5, 6, 7])   (1, 0, [8])",
            "(0, 3, [2])         (1, 1, [9, 8, 9])",
            "(1, 4, [2])         (2, 0, [4])",
        )
    ):
        yield f"step {step}    {text}", [step, shown[step]]
    yield "([[2, 3], [2, 5], [6]], [1, 2, 2])", result
    yield (
        "Raises ValueError where token_budget is below 1.",
        refused(kata.continuous_batching, model, requests, 0),
    )


@example
def flash_attention(kata) -> Pairs:
    q, k, v = t([1]), t([1], [2], [4]), t([10], [20], [30])
    powers = [math.exp(-1), 1.0]
    total, output = sum(powers), 10 * powers[0] + 20
    yield "1 = 1.368, output 23.68", [1, total, output]
    total, output = total * math.exp(-2) + 1, output * math.exp(-2) + 30
    yield "The sum is 1.185, the output 33.20, and the result 33.20 / 1.185 =\n28.02", [
        total, output, output, total, kata.flash_attention(q, k, v, 2)
    ]  # fmt: skip
    yield (
        "ValueError where causal is True and Tk < Tq.",
        refused(kata.flash_attention, q.repeat(4, 1), k, v, 2, causal=True),
    )


@example
def int4_groups(kata) -> Pairs:
    weight = a([-1, 0.25, 1.85, 2, 0.45, 1, 2, 3])
    codes, scale, zero = kata.quantize_groups(weight, 4)
    packed = kata.pack_codes(codes)
    yield "scale 0.2   zero 5   codes  0  6 14 15", [scale[0, 0], zero[0, 0], codes[0, :4]]
    yield "scale 0.2   zero 0   codes  2  5 10 15", [scale[0, 1], zero[0, 1], codes[0, 4:]]
    yield (
        "6 * 16 + 0 = 96, 15 * 16 + 14 = 254, 5 * 16 + 2 = 82, 15 * 16 + 10 = 250",
        [
            [low, 16, high, byte]
            for low, high, byte in zip(codes[0, 1::2], codes[0, ::2], packed[0], strict=True)
        ],
    )
    assert (kata.unpack_codes(packed) == codes).all()
    yield "weight    [-1, 0.2, 1.8, 2, 0.4, 1, 2, 3]", kata.int4_linear(np.eye(8), packed, scale, zero)
    yield "-1 + 0.2 + 6 = 5.2", [-1, 0.2, 6, kata.int4_linear(a(1, 1, 0, 0, 0, 0, 0, 2), packed, scale, zero)]
    yield "ValueError if group_size does not divide d_in.", refused(kata.quantize_groups, weight, 3)
    yield "ValueError if d_in is odd.", refused(kata.pack_codes, codes[:, :7])


@example
def int8_linear(kata) -> Pairs:
    x, weight = a(1.27, -0.5, 0.004), a([2.54, 0, 0], [1, 1, 1])
    q, scale = kata.quantize_rows(x)
    yield "scale 0.01           q [127, -50, 0]", [scale, q]
    w_q, w_scale = kata.quantize_rows(weight)
    yield "scales 0.02, 1/127   q [[127, 0, 0], [127, 127, 127]]", [w_scale, w_q]
    yield "= [3.2258, 0.77]", kata.int8_linear(x, w_q, w_scale)
    yield "[3.2258, 0.774]", weight @ x


@example
def mxfp4_blocks(kata) -> Pairs:
    x = a(0.9, -2.2, 7, 0.3, 0.05, -0.01, 0.02, 0.012)
    codes, scales = kata.quantize_mxfp4(x, 4)
    back = kata.dequantize_mxfp4(codes, scales)
    unit = 2.0 ** (scales.astype(int) - 127).repeat(4)
    yield "byte     127                           120", scales
    yield "in units 0.9  -2.2    7  0.3           6.4     -1.28      2.56     1.536", x / unit
    yield "values     1    -2    6  0.5           6       -1.5       3        1.5", back / unit
    yield "codes      2    12    7    1           7         11       5          3", codes
    yield "back       1    -2    6  0.5           0.046875  -0.01171875  0.0234375  0.01171875", back
    assert (kata.encode_e2m1(x / unit) == codes).all()
    yield "ValueError if block_size does not divide n.", refused(kata.quantize_mxfp4, x, 3)


@example
def paged_kv_cache(kata) -> Pairs:
    cache = kata.PagedKVCache(4, 2)

    def append(sequence, count):
        cache.append(sequence, torch.zeros(1, count, 1), torch.zeros(1, count, 1))

    first, second = cache.allocate(), cache.allocate()
    append(first, 3)
    append(second, 1)
    yield "A gets 3 tokens and owns 2 blocks, B gets 1 and\nowns 1.", [
        3, len(cache.block_table(first)), 1, len(cache.block_table(second))
    ]  # fmt: skip
    before = cache.block_table(first)
    append(first, 2)
    table = cache.block_table(first)
    assert (table[:2], len(table), sorted(table + cache.block_table(second))) == (before, 3, [0, 1, 2, 3])
    append(first, 1)
    append(second, 1)
    yield (
        "a third for B needs a block that is not there, so this append\nraises ValueError",
        refused(append, second, 1),
    )
    assert cache.gather(second)[0].shape[1] == 2  # nothing has changed
    cache.free(second)
    text = "Every method raises ValueError for an id that is not living"
    yield text, refused(append, second, 1)
    for method in (cache.gather, cache.block_table, cache.free):
        yield text, refused(method, second)


@example
def prefix_cache(kata) -> Pairs:
    cache = kata.PrefixCache(6)
    yield "1  insert([1, 2, 3, 4], [10, 11, 12, 13])   (0, [])", [
        1, 1, 2, 3, 4, 10, 11, 12, 13, cache.insert([1, 2, 3, 4], [10, 11, 12, 13])
    ]  # fmt: skip
    yield "[20, 21, 22])          (2, [])", [20, 21, 22, cache.insert([1, 2, 5], [20, 21, 22])]
    yield "match([1, 2, 5, 9])                      [10, 11, 22]", [1, 2, 5, 9, cache.match([1, 2, 5, 9])]
    number = cache.lock([1, 2, 3])
    yield "[30, 31, 32])          (0, [13, 22])", [30, 31, 32, cache.insert([7, 8, 9], [30, 31, 32])]
    yield "insert([6, 6, 6, 6], ...)                ValueError", refused(cache.insert, [6] * 4, [0] * 4)
    cache.unlock(number)
    yield "unlock(0)", 0
    yield "[40, 41, 42, 43])   (0, [12, 10, 11, 30, 31, 32])", [
        40, 41, 42, 43, cache.insert([8] * 4, [40, 41, 42, 43])
    ]  # fmt: skip
    yield "It raises ValueError for a number that is not living", refused(cache.unlock, number)


@example
def repetition_penalty(kata) -> Pairs:
    logits, held = t([2, -1, 0.5]), ids([0, 1, 0])
    for penalty, text in ((2, "[1, -2,   0.5]"), (0.5, "[4, -0.5, 0.5]"), (1, "[2, -1,   0.5]")):
        yield f"penalty = {penalty}      ->  {text}", [
            penalty, kata.repetition_penalty(logits, held, penalty)
        ]  # fmt: skip
    yield "ValueError where penalty <= 0.", refused(kata.repetition_penalty, logits, held, 0.0)


@example
def rolling_kv_cache(kata) -> Pairs:
    cache, other, one = kata.RollingKVCache(2), kata.RollingKVCache(2), torch.zeros(1, 1, 1, 1)
    for _ in range(3):
        positions = cache.append(one, one)[2]
    yield "the\npositions 1 and 2", [at for at in positions.tolist() if at]
    yield "len(cache) is 3", len(cache)
    assert other.append(one.expand(1, 1, 5, 1), one.expand(1, 1, 5, 1))[2].tolist() == [0, 1, 2, 3, 4]
    yield "ValueError for window < 1.", refused(kata.RollingKVCache, 0)


@example
def speculative_sampling(kata) -> Pairs:
    target, draft = t([0.5, 0.5], [0.1, 0.9])[None][0], t([0.8, 0.2])

    def step(*uniforms):
        return kata.speculative_step(target, draft, ids(0), t(*uniforms))

    yield "uniforms [0.5, 0.7]     [0, 1]", [0.5, 0.7, step(0.5, 0.7)]
    yield "uniforms [0.5, 0.05]    [0, 0]", [0.5, 0.05, step(0.5, 0.05)]
    yield "uniforms [0.7, 0.3]     [1]", [0.7, 0.3, step(0.7, 0.3)]
    yield "0.5 / 0.8 = 0.625", [0.5, 0.8, 0.5 / 0.8]


@example
def tree_verification(kata) -> Pairs:
    parents, tokens = np.array([-1, -1, 0, 1, 1]), np.array([3, 1, 2, 2, 0])
    yield "positions  2   2   3   3   3", kata.tree_positions(parents, 2)
    yield "mask of node 3   1 1   0 1 0 1 0", [3, kata.tree_mask(parents, 2)[3]]
    logits = np.eye(4)[[1, 2, 0, 3, 1, 2]]
    yield "path is [1, 4], accepted is [1, 0, 2]", kata.verify_tree(tokens, parents, logits)
    text = "Raises ValueError where a parent is not below its node's own number, or is below -1."
    for wrong in ([0], [-2], [-1, 1]):
        yield text, refused(kata.tree_mask, np.array(wrong), 2)


# --- training ---


@example
def adamw_step(kata) -> Pairs:
    state = a(1), np.zeros(1), np.zeros(1)
    state = kata.adamw_step(state[0], a(0.5), *state[1:], 1, lr=0.1)
    yield "gradient  0.5   parameter 0.899   m 0.05  v 0.00025", [0.5, state]
    state = kata.adamw_step(state[0], a(-0.25), *state[1:], 2, lr=0.1)
    yield "gradient -0.25  parameter 0.8715  m 0.02  v 0.00031225", [-0.25, state]


@example
def bpe_pretokenizer(kata) -> Pairs:
    special, merges = ["<|end|>"], [(97, 98), (256, 32), (32, 256)]
    for text in ("I'll pay 20  now<|end|>", "a_b  <|end|>"):
        pieces = " ".join(f'"{piece}"' for piece in kata.pretokenize(text, special))
        yield f'"{text}"    {pieces}', [20.0] * text.count("20") + [20.0] * pieces.count("20")
    tokens = kata.encode("ab ab<|end|>", merges, special)
    yield '"ab ab<|end|>"    256    258    259', tokens
    assert kata.decode(tokens, merges, special) == "ab ab<|end|>"


@example
def byte_pair_encoding(kata) -> Pairs:
    merges = kata.train_bpe("aaabdaaabac", 3)
    yield "[(97, 97), (256, 97), (257, 98)]", merges
    yield "[258, 100, 258, 97, 99]", kata.encode("aaabdaaabac", merges)
    yield "[256, 98]", kata.encode("aab", merges)
    assert kata.decode([258, 195], merges) == "aaab\ufffd"
    yield 'decode([258, 195], merges)    = "aaab\\ufffd"        195', [258, 195, 195]


@example
def clip_gradients(kata) -> Pairs:
    gradients = [a(3.0), None, a(4.0)]
    for limit, text in (
        (1, "max_norm 1     clipped [[0.6], None, [0.8]]     norm 5.0"),
        (10, "max_norm 10    clipped [[3.0], None, [4.0]]     norm 5.0"),
    ):
        clipped, norm = kata.clip_gradients(gradients, limit)
        assert clipped[1] is None
        yield text, [limit, clipped[0], clipped[2], norm]
    text = "Raises ValueError where the norm is not finite, and where max_norm <= 0."
    yield text, refused(kata.clip_gradients, [a(math.nan)], 1)
    yield text, refused(kata.clip_gradients, [a(INF)], 1)
    yield text, refused(kata.clip_gradients, gradients, 0)


@example
def dpo_loss(kata) -> Pairs:
    tokens, logits = np.array([[2, 0, 1]]), a([[9, 9, 0], [0, 2, 0], [5, 5, 5]])
    alone, two, three = (
        kata.answer_log_probs(logits, tokens, np.array([mask])) for mask in ([F, F, T], [F, T, T], [T, T, T])
    )
    yield "[F, F, T]   -0.240", alone
    yield "-0.693 - 0.240 = -0.933", [two - alone, -alone, two]
    yield "[T, T, T]   -0.933", three
    given = a(-10, -7), a(-12, -4), a(-11, -7), a(-11, -4)
    single = [kata.dpo_loss(*(part[at : at + 1] for part in given), beta=0.5) for at in (0, 1)]
    yield "losses [0.313, 0.693]      dpo_loss 0.503", [single, kata.dpo_loss(*given, beta=0.5)]


@example
def gae(kata) -> Pairs:
    rewards, values, last = a([1, 0, 2]), a([0.5, 1, 1]), a(4)
    for dones, text in (
        ([F, F, F], "[F, F, F]      [1, -0.5, 3]     [1.0625, 0.25, 3]     [1.5625, 1.25, 4]"),
        ([F, F, T], "[F, F, T]      [1, -0.5, 1]     [0.9375, -0.25, 1]    [1.4375, 0.75, 2]"),
        ([F, T, F], "[F, T, F]      [1, -1,   3]     [0.75,   -1,   3]     [1.25,   0,    4]"),
    ):
        flags = np.array([dones])
        deltas = kata.gae(rewards, values, flags, last, gamma=0.5, lam=0.0)[0]
        yield text, [deltas, kata.gae(rewards, values, flags, last, gamma=0.5, lam=0.5)]


@example
def gradient_accumulation(kata) -> Pairs:
    class Table(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.table = torch.nn.Parameter(torch.zeros(2, 2, dtype=torch.float64))

        def forward(self, tokens):
            return self.table[tokens]

    model = Table()
    for row, loss in ((0, 1.0), (1, 3.0)):
        set_to(model.table[row], *[math.log(math.exp(loss) - 1), 0.0])
    parts = [(ids([0, 0, 0]), ids([1, 1, 1])), (ids([1]), ids([1]))]
    loss = kata.accumulate_gradients(model, parts)
    yield "6.0 / 4 = 1.5", [6, 4, float(loss)]
    yield "6.0 / 4 = 1.5       and each of the four has the weight 1/4", [6, 4, float(loss), 0.25]
    share = model.table.grad[1, 0] / torch.softmax(model.table[1].detach(), -1)[0]
    yield "the weight 1/4 in the gradient", share


@example
def grpo_loss(kata) -> Pairs:
    yield "[[1, -1, -1, 1], [0, 0, 0, 0]]", kata.group_advantages(a([1, 0, 0, 1], [2, 2, 2, 2]))
    old = np.zeros((2, 2))
    ratios = a([1.5, 1], [1.5, 1])
    mask = np.array([[T, T], [T, F]])

    def loss(weight):
        return kata.grpo_loss(np.log(ratios), old, old, a(1, -1), mask, clip=0.2, kl_weight=weight)

    yield "kl_weight 0: loss 0.2", [0, loss(0.0)]
    yield "kl_weight 0.1: 0.205", [0.1, loss(0.1)]
    yield "[[0.072, 0], [0.072, -]]", [1 / 1.5 + math.log(1.5) - 1, 0, 1 / 1.5 + math.log(1.5) - 1]


@example
def label_smoothing(kata) -> Pairs:
    logits, targets = a([[2, 0, 0, 0], [5, 5, 5, 5]]), np.array([[0, -100]])
    losses = -np.log(softmax_of(logits[0, 0]))
    yield "0.341 for token 0, 2.341 for", [losses[0], 0, losses[1]]
    plain, smooth = (kata.label_smoothing_loss(logits, targets, smoothing) for smoothing in (0.0, 0.1))
    yield "smoothing 0      0.341", [0, plain]
    yield (
        "0.9 * 0.341 + 0.1 * (0.341 + 3 * 2.341) / 4 = 0.491",
        [0.9, losses[0], 0.1, losses[0], 3, losses[1], 4, smooth],
    )
    for smoothing in (-0.1, 1.1):
        yield (
            "Raises ValueError for a smoothing below 0 or above 1.",
            refused(kata.label_smoothing_loss, logits, targets, smoothing),
        )


@example
def muon_step(kata) -> Pairs:
    matrix = a([3, 0], [0, 4])
    yield "is [[0.723, 0], [0, 1.119]]", kata.orthogonalize(matrix)
    yield "it is [[1.193, 0], [0, 0.976]]", kata.orthogonalize(matrix, 1)
    x = a(0.6, 0.8)
    formula = 3.4445 * x - 4.7750 * x**3 + 2.0315 * x**5
    yield "it is [[1.193, 0], [0, 0.976]]", np.diag(formula)
    yield "(-4.7750 * gram", -4.7750
    weight, momentum = kata.muon_step(np.eye(2), matrix, np.zeros((2, 2)), lr=0.1, beta=0.5)
    yield "weight [[0.928, 0], [0, 0.888]]", weight
    yield "momentum [[3, 0], [0, 4]]", momentum
    weight, momentum = kata.muon_step(weight, a([0, 4], [3, 0]), momentum, lr=0.1, beta=0.5)
    yield "weight [[0.915, -0.101], [-0.075, 0.871]]", weight
    yield "momentum [[1.5, 4], [3, 2]]", momentum


@example
def packed_sequences(kata) -> Pairs:
    documents, tokens = np.array([[7, 7, 7, 2, 2, -1]]), np.array([[11, 12, 13, 21, 22, 0]])
    mask = kata.packed_mask(documents).reshape(6, 6)
    positions, targets = kata.packed_positions(documents), kata.packed_targets(tokens, documents)
    yield "mask's rows    1 0 0 0 0 0", mask[0]
    yield "(1 is True)        1 1 0 0 0 0", [1, 1, mask[1]]
    yield "[[ 0,  1,    2,  0,    1,  any]]                          1 1 1 0 0 0", [positions[0, :5], mask[2]]
    yield "[[12, 13, -100, 22, -100, -100]]                          0 0 0 1 0 0", [targets, mask[3]]
    yield "0 0 0 1 1 0\n 0 0 0 0 0 0", mask[4:]


@example
def warmup_schedule(kata) -> Pairs:
    yield (
        "rate    1.747e-7     3.494e-4     6.988e-4     3.494e-4",
        [kata.noam_lr(step, 512, 4000) for step in (1, 2000, 4000, 16000)],
    )
    yield (
        "rate    0        0.5      1        0.854    0.5      0.146    0        0",
        [kata.warmup_cosine_lr(step, 1.0, 2, 6) for step in range(8)],
    )
