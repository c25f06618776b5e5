"""backprop_through_block: its cases and its laws.

No number that the ReLU gets lies near 0, and no row that a norm gets has a small spread, so each gradient is
that of its rounded arguments too. For the same reason, scores in the hundreds are far apart in each row. Rows
have at least four features: with two, a norm passes nothing on.
"""

import numpy as np

from grader import expect
from grader import strategies as st
from grader.kata import Kata

ROUNDINGS = 8
#: num_heads and d_model.
WIDTHS = [(1, 4), (2, 4), (2, 6), (1, 5), (4, 4), (3, 6)]
MATRICES = "w_q", "w_k", "w_v", "w_o", "w1", "w2"
NAMES = (*MATRICES, "b1", "b2", "norm1_gamma", "norm1_beta", "norm2_gamma", "norm2_beta")

KATA = Kata(
    "backprop_through_block",
    track="gradients",
    entry_points=("block_backward",),
    title="A decoder block, backwards",
    source="Rumelhart, Hinton and Williams 1986; Vaswani et al. 2017; Ba, Kiros and Hinton 2016",
    axes={"dout": "batch tokens d_model", "x": "batch tokens d_model", "dx": "batch tokens d_model"},
    hints=(
        "Write the forward pass first, one line for each row of the statement's table, and keep every name. "
        "Then read it from below: which names does each line use, and which of them does another line use "
        "too? Those get a sum.",
        "The names that are used twice, and what they get:\n\n"
        "    out --+-- w2 -- ReLU -- w1 -- norm2 --+-- h     h: the skip, and the norm\n"
        "          +-------------------------------+\n"
        "    a --- q, k, v                                   a: three parts\n"
        "    h --- attention and norm1, x itself             x: the skip, and the norm\n\n"
        "The first half starts from the whole gradient by h, not from dout. To check a weight's gradient, "
        "compare its shape with the weight's: which product of two arrays of tokens gives it?",
        "In this order, each line with the shape of what it makes:\n\n"
        "    db2 [d_model], dw2 [d_ff, d_model]  from dout, with hidden\n"
        "    dhidden [B, T, d_ff]                dout times w2 turned; 0 where cut\n"
        "    db1 [d_ff], dw1 [d_model, d_ff]     from that, with c\n"
        "    dc [B, T, d_model]                  that times w1 turned\n"
        "    norm2's two [d_model], and dh       dout plus what the norm passes on\n"
        "    dw_o, dheads [B, T, d_model]        from dh, with heads\n"
        "    dv, dweights, dscores, dq, dk       heads in front: [B, H, T, ...]\n"
        "    dw_q, dw_k, dw_v                    heads side by side again, with a\n"
        "    da [B, T, d_model]                  three products with turned matrices\n"
        "    norm1's two [d_model], and dx       dh plus what the norm passes on\n\n"
        "A matrix's gradient is a sum over batch and tokens: join both axes, and it is one product. "
        "Later keys have the weight 0: the way back needs no mask.",
    ),
    hint_for={
        "forgets_the_second_residual": 1,
        "forgets_the_first_residual": 1,
        "starts_the_attention_from_dout": 2,
        "goes_back_through_the_values_alone": 2,
        "sums_biases_over_the_batch_alone": 3,
        "forgets_to_turn_the_matrices": 3,
    },
    roundings=ROUNDINGS,
    bank_size=28,
)


def norm_of(x, gamma, beta):
    centred = x - x.mean(axis=-1, keepdims=True)
    return gamma * centred / np.sqrt((centred**2).mean(axis=-1, keepdims=True) + 1e-5) + beta


def attended(a, p, num_heads):
    """Causal attention over normalised rows, one head at a time; and the smallest distance between the two
    largest scores of a row."""
    tokens, width = a.shape[1], a.shape[2] // num_heads
    seen, heads, gap = np.tri(tokens, dtype=bool), [], np.inf
    for at in range(0, a.shape[2], width):
        q, k, v = (a @ p[name][:, at : at + width] for name in ("w_q", "w_k", "w_v"))
        scores = np.where(seen, q @ k.swapaxes(1, 2) / np.sqrt(width), -np.inf)
        powers = np.exp(scores - scores.max(axis=-1, keepdims=True))
        heads.append(powers / powers.sum(axis=-1, keepdims=True) @ v)
        if tokens > 1:
            gap = min(gap, np.diff(np.sort(scores[:, 1:], axis=-1)[..., -2:]).min())
    return np.concatenate(heads, axis=-1), gap


def forward(x, p, num_heads):
    """(h, what the ReLU gets, out, the gap of the scores), in float64."""
    x, p = x.astype(np.float64), {name: array.astype(np.float64) for name, array in p.items()}
    a = norm_of(x, p["norm1_gamma"], p["norm1_beta"])
    heads, gap = attended(a, p, num_heads)
    h = x + heads @ p["w_o"]
    inner = norm_of(h, p["norm2_gamma"], p["norm2_beta"]) @ p["w1"] + p["b1"]
    return h, inner, h + np.maximum(inner, 0) @ p["w2"] + p["b2"], gap


def is_clear(x, params, num_heads, least_gap):
    """Whether no number lies near the ReLU's corner, one gets through, no row has a small spread,
    and no two scores are near each other that may not be."""
    h, inner, _, gap = forward(x, params, num_heads)
    spreads = x.std(axis=-1).min(), h.std(axis=-1).min()
    is_open = np.abs(inner).min() > 0.02 and inner.max() > 0
    return is_open and min(spreads) > 0.4 and gap >= least_gap


def block_params(rng, d_model, d_ff, loud=1.0):
    """Weights in hundredths, 0.5 in size; gammas around one, betas around zero."""

    def hundredths(*shape, size=0.5, around=0.0):
        return np.round(rng.standard_normal(shape) * size + around, 2) + 0.0

    matrices = {name: hundredths(d_model, d_model) for name in MATRICES[:4]}
    return {
        **matrices,
        "w_q": np.round(matrices["w_q"] * loud, 2),
        "w1": hundredths(d_model, d_ff),
        "b1": hundredths(d_ff),
        "w2": hundredths(d_ff, d_model),
        "b2": hundredths(d_model),
        "norm1_gamma": hundredths(d_model, size=0.2, around=1.0),
        "norm1_beta": hundredths(d_model),
        "norm2_gamma": hundredths(d_model, size=0.2, around=1.0),
        "norm2_beta": hundredths(d_model),
    }


def block_case(draw, loud=1.0, shortest=2, most=4):
    """Arguments of one call."""
    num_heads, d_model = draw(st.sampled_from(WIDTHS))
    batch, tokens, d_ff = draw(st.integers(1, 2)), draw(st.integers(shortest, most)), draw(st.integers(2, 5))
    rng, dtype = np.random.default_rng(draw(st.integers(0, 2**16))), draw(st.float_dtypes())
    shape = batch, tokens, d_model
    while True:
        x = np.round(rng.standard_normal(shape) * 1.5, 1) + 0.0
        params = block_params(rng, d_model, d_ff, loud)
        if is_clear(x, params, num_heads, least_gap=30 if loud > 1 else 0):
            break
    dout = np.round(rng.standard_normal(shape), 1) + 0.05
    return {
        "dout": draw(st.permuted(st.just(dout.astype(dtype)))),
        "x": draw(st.permuted(st.just(x.astype(dtype)))),
        "params": {name: array.astype(dtype) for name, array in params.items()},
        "num_heads": num_heads,
    }


def plain_cases(draw):
    return block_case(draw)


@KATA.cases
def cases(draw):
    """One case in five has a single token, another one scores in the hundreds."""
    kind = draw(st.sampled_from(["plain", "plain", "plain", "single", "extreme"]))
    if kind == "single":
        return block_case(draw, shortest=1, most=1)
    return block_case(draw, loud=400.0 if kind == "extreme" else 1.0)


@KATA.corner(points=0.5)
def scores_beyond_88(params):
    """Scores in the hundreds are shared out and go back like small ones."""
    return bool(np.abs(params["w_q"]).max() > 40)


@KATA.corner(points=0.5)
def a_single_token(x):
    """A single token has its gradients too."""
    return x.shape[1] == 1


def identity_block(d_model, b1=0.5):
    matrices = {name: np.eye(d_model) for name in MATRICES}
    one, zero = np.ones(d_model), np.zeros(d_model)
    norms = {"norm1_gamma": one, "norm1_beta": zero, "norm2_gamma": one, "norm2_beta": zero}
    return {**matrices, "b1": zero + b1, "b2": zero, **norms}


@KATA.example
def worked_example():
    dout, x = np.array([[[0.0, 1.0, 0.0, 0.0]]]), np.array([[[1.0, 2.0, 0.0, 1.0]]])
    return {"dout": dout, "x": x, "params": identity_block(4), "num_heads": 1}


@KATA.example
def two_tokens_and_two_heads():
    """The gradient of the second token alone, so the first has what comes back through attention."""
    x = np.array([[[1.0, 2.0, 0.0, 1.0], [3.0, 0.0, 1.0, 1.0]]])
    dout = np.array([[[0.0, 0.0, 0.0, 0.0], [1.0, 0.0, 2.0, 0.0]]])
    return {"dout": dout, "x": x, "params": identity_block(4), "num_heads": 2}


@KATA.example
def scores_far_below_zero():
    """Seen scores of -40,000 and less, so that no finite number hides a later one."""
    case = two_tokens_and_two_heads()
    return {**case, "params": {**case["params"], "w_q": np.diag([-20_000.0] * 4)}, "dout": case["dout"] + 1}


@KATA.example
def a_number_that_is_exactly_zero():
    """The ReLU gets 0, and passes nothing on."""
    params = {**identity_block(4), "b1": np.zeros(4)}
    dout, x = np.array([[[1.0, 2.0, 0.0, 4.0]]]), np.array([[[1.0, 2.0, 0.0, 1.0]]])
    return {"dout": dout, "x": x, "params": params, "num_heads": 1}


@KATA.observe
def observe(student, dout, x, params, num_heads):
    """dx and each gradient by name; what is no such pair as it came."""
    answer = student.block_backward(dout, x, params, num_heads)
    if isinstance(answer, tuple | list) and len(answer) == 2 and isinstance(answer[1], dict):
        return {"dx": answer[0], **{f"d{name}": gradient for name, gradient in answer[1].items()}}
    return {"result": answer}


def gradients(student, dout, x, params, num_heads):
    """(dx, gradients), once they have the names and the shapes that are due."""
    answer = student.block_backward(dout, x, params, num_heads)
    pair = isinstance(answer, tuple | list) and len(answer) == 2 and isinstance(answer[1], dict)
    expect.true(pair, "The result is the pair (dx, gradients), of an array and a dict.")
    dx, found = answer
    expect.equal(sorted(map(str, found)), sorted(NAMES), "the sorted list of names in gradients")
    for name, part, due in [("dx", dx, x.shape), *((f"d{n}", found[n], params[n].shape) for n in NAMES)]:
        shape = getattr(part, "shape", None)
        expect.true(shape == due, f"{name} must have the shape {due}; it came with {shape}.")
    return dx, found


def change(dout, x, params, num_heads, directions, step=1e-5):
    """How much sum(dout * out) changes along directions of x and of weights (central differences)."""
    dout, x = dout.astype(np.float64), x.astype(np.float64)
    params = {name: array.astype(np.float64) for name, array in params.items()}
    there, back = (
        forward(
            x + sign * directions.get("x", 0.0),
            {name: array + sign * directions.get(name, 0.0) for name, array in params.items()},
            num_heads,
        )[2]
        for sign in (step, -step)
    )
    return (dout * (there - back)).sum() / (2 * step)


def with_directions(draw):
    case = block_case(draw)
    rng = np.random.default_rng(draw(st.integers(0, 2**16)))
    return {**case, "t": np.round(rng.standard_normal(case["x"].shape), 1).astype(case["x"].dtype)}


@KATA.law(points=1, cases=with_directions)
def test_dx_is_the_adjoint(student, dout, x, params, num_heads, t):
    """Where x moves a little, sum(dout * out) changes as dx says (central differences)."""
    dx, _ = gradients(student, dout, x, params, num_heads)
    due = change(dout, x, params, num_heads, {"x": t})
    what = "the sum of dx times a direction, against the change of sum(dout * out),"
    expect.close(np.asarray((dx * t).sum()), np.asarray(due, x.dtype), what, terms=64, roundings=ROUNDINGS)


def with_directions_of_weights(draw):
    case = block_case(draw)
    return {**case, "seed": draw(st.integers(0, 2**16))}


@KATA.law(points=1, cases=with_directions_of_weights)
def test_each_weight_has_its_gradient(student, dout, x, params, num_heads, seed):
    """Where a weight moves a little, sum(dout * out) changes as its gradient says (central differences)."""
    _, found = gradients(student, dout, x, params, num_heads)
    rng, got, due = np.random.default_rng(seed), {}, {}
    for name in NAMES:
        t = rng.standard_normal(params[name].shape)
        got[name] = np.asarray((found[name] * t).sum(), x.dtype)
        due[name] = np.asarray(change(dout, x, params, num_heads, {name: t}), x.dtype)
    what = "the sum of each weight's gradient times a direction, against the change of sum(dout * out),"
    expect.close(got, due, what, terms=64, roundings=ROUNDINGS)


def with_silent_halves(draw):
    """What both halves add is 0, or b2."""
    case = block_case(draw)
    return {**case, "params": {**case["params"], **{n: 0 * case["params"][n] for n in ("w_o", "w2")}}}


@KATA.law(points=0.5, cases=with_silent_halves)
def test_the_residual_path_passes_dout_on(student, dout, x, params, num_heads):
    """With w_o and w2 of zeros, dx is dout."""
    dx, _ = gradients(student, dout, x, params, num_heads)
    expect.close(dx, dout, "dx, where w_o and w2 are 0,", terms=1, roundings=ROUNDINGS)


def with_one_token(draw):
    case = block_case(draw)
    at = draw(st.integers(0, case["x"].shape[1] - 2))
    dout = case["dout"].copy()
    dout[:, :at], dout[:, at + 1 :] = 0, 0
    return {**case, "dout": dout, "at": at}


@KATA.law(points=0.5, cases=with_one_token)
def test_no_gradient_reaches_later_tokens(student, dout, x, params, num_heads, at):
    """Where dout is 0 but for one token, dx is 0 at the tokens after it."""
    dx, _ = gradients(student, dout, x, params, num_heads)
    later = dx[:, at + 1 :]
    what = f"dx at the tokens after token {at}, the only one with a dout,"
    expect.close(later, np.zeros_like(later), what)
