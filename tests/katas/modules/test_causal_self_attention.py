"""causal_self_attention: its cases and its laws."""

import numpy as np

from grader import expect
from grader import strategies as st
from grader.kata import Kata

ROUNDINGS = 4
#: num_heads and d_model
WIDTHS = [(2, 4), (3, 6), (2, 6), (1, 3), (2, 2), (4, 8)]

KATA = Kata(
    "causal_self_attention",
    track="modules",
    entry_points=("CausalSelfAttention",),
    title="Attention that never looks ahead",
    source="Vaswani et al. 2017, sections 3.2.1 to 3.2.3",
    library="torch",
    grades_gradients=True,
    roundings=ROUNDINGS,
    bank_size=16,
    axes={"x": "batch tokens d_model", "future": "batch tokens d_model"},
    hints=(
        "Write down the shape after every line, for a batch of 2, 5 tokens, 3 heads and d_head 4: all the "
        "numbers differ, so no axis can be taken for another. Which two axes must change places before q "
        "meets k?",
        "The mask belongs between the scores and the softmax: a hidden score of -inf becomes a weight of "
        "exactly 0, and the others still sum to 1. Query i may see keys 0 to i, itself included.",
        "One projection for all three, then heads. For 2 texts of 5 tokens, 3 heads and d_head 4:\n\n"
        "    qkv       x projected once                    [2, 5, 36]\n"
        "    view      [B, T, 3, H, d_head]                [2, 5, 3, 3, 4]\n"
        "    q, k, v   the first 3 in front, H before T    [2, 3, 5, 4] each\n"
        "    scores    q times k, its last two axes exchanged, over the root of\n"
        "              d_head                              [2, 3, 5, 5]\n"
        "    hidden    -inf above the diagonal, by a mask made on x's device\n"
        "    weights   softmax over the last axis          [2, 3, 5, 5]\n"
        "    mixed     weights times v                     [2, 3, 5, 4]\n"
        "    joined    T before H again, then one axis     [2, 5, 12]\n\n"
        "Apply `out` to that, and return it with the weights. The weights go into the product as they are "
        "returned, after the softmax.",
    ),
    hint_for={
        "splits_heads_without_moving_axes": 1,
        "merges_heads_without_moving_axes": 1,
        "masks_nothing": 2,
        "masks_after_the_softmax": 2,
        "masks_with_minus_ten_thousand": 2,
        "hides_the_token_itself": 2,
        "leaks_one_token_ahead": 2,
        "makes_the_mask_on_the_cpu": 3,
    },
)


def token_rows(draw, batch, tokens, d_model, dtype):
    """Small readable numbers or normal ones, in any order of axes in memory."""
    return draw(st.tensors(st.permuted(st.arrays((batch, tokens, d_model), dtype))))


def attention_weights(draw, d_model, dtype, loudness):
    """Both layers' weights, in hundredths. Loud ones make scores in the hundreds."""
    import torch

    rng = np.random.default_rng(draw(st.integers(0, 2**16)))

    def matrix(rows, scale):
        drawn = np.round(rng.standard_normal((rows, d_model)) * scale, 2) + 0.0
        return torch.from_numpy(drawn.astype(dtype))

    return {"qkv.weight": matrix(3 * d_model, loudness), "out.weight": matrix(d_model, 0.5)}


def attention_case(draw, *, shortest=1, widths=WIDTHS, loudnesses=(0.5, 0.7, 0.7)):
    """A module's numbers and weights, and an input for it."""
    num_heads, d_model = draw(st.sampled_from(widths))
    dtype = draw(st.float_dtypes())
    tokens = st.sampled_from([length for length in (3, 2, 4, 5, 1) if length >= shortest])
    loudness = draw(st.sampled_from(loudnesses))
    return {
        "d_model": d_model,
        "num_heads": num_heads,
        "weights": attention_weights(draw, d_model, dtype, loudness),
        "x": token_rows(draw, draw(st.sampled_from([2, 1, 3])), draw(tokens), d_model, dtype),
    }


def loaded(student, d_model, num_heads, weights):
    """A module with these weights, in training mode as it comes: there is no dropout to switch off."""
    return expect.loads(student, student.CausalSelfAttention(d_model, num_heads), weights)


def attend(module, x):
    """The output and the weights, once they are known to be two."""
    results = module(x)
    is_pair = isinstance(results, tuple | list) and len(results) == 2
    expect.true(is_pair, "forward must return two tensors, the output and the attention weights.")
    return results


@KATA.cases
def cases(draw):
    return attention_case(draw, loudnesses=(0.5, 0.7, 0.7, 40.0))


@KATA.example
def two_tokens_and_two_heads():
    """The example of the statement."""
    import torch

    eye = torch.eye(2, dtype=torch.float64)
    weights = {"qkv.weight": torch.cat([eye, eye, eye]), "out.weight": eye}
    return {"d_model": 2, "num_heads": 2, "weights": weights, "x": eye[None].clone()}


@KATA.example
def scores_far_below_zero():
    """Integers whose scores lie around -1e5, where a hidden score must lie lower still."""
    import torch

    eye = torch.eye(2, dtype=torch.float32)
    weights = {"qkv.weight": torch.cat([300 * eye, -300 * eye, eye]), "out.weight": eye}
    x = torch.tensor([[[1.0, 0.0], [0.0, 1.0], [1.0, 2.0]]])
    return {"d_model": 2, "num_heads": 1, "weights": weights, "x": x}


@KATA.corner(points=0.5)
def scores_in_the_hundreds(d_model, num_heads, weights, x):
    """Scores beyond what exp can take give finite results, and hidden keys nothing."""
    q, k, _ = (x.double() @ weights["qkv.weight"].double().T).unflatten(-1, (3, num_heads, -1)).unbind(2)
    return bool((q.norm(dim=-1).max() * k.norm(dim=-1).max() * (num_heads / d_model) ** 0.5) > 60)


@KATA.observe
def observe(student, d_model, num_heads, weights, x):
    output, attention = attend(loaded(student, d_model, num_heads, weights), x)
    return {"output": output, "weights": attention}


def with_another_future(draw):
    case = attention_case(draw, shortest=2)
    batch, tokens, d_model = case["x"].shape
    cut = draw(st.integers(1, tokens - 1))
    dtype = str(case["x"].dtype).removeprefix("torch.")
    return {**case, "cut": cut, "future": token_rows(draw, batch, tokens - cut, d_model, dtype)}


@KATA.law(points=0.5, cases=with_another_future)
def test_later_tokens_change_nothing_earlier(student, d_model, num_heads, weights, x, cut, future):
    """Changing later tokens changes no earlier token's output."""
    import torch

    module = loaded(student, d_model, num_heads, weights)
    before, _ = attend(module, x)
    after, _ = attend(module, torch.cat([x[:, :cut], future], dim=1))
    for output in (before, after):
        expect.true(output.shape == x.shape, f"The output must be shaped like x, {tuple(x.shape)}.")
    what = f"the output ahead of token {cut}, after the tokens from there on changed,"
    expect.close(after[:, :cut], before[:, :cut], what, terms=3 * d_model, roundings=ROUNDINGS)


def fresh_cases(draw):
    """Cases of a law's own: half a bank, where the whole one would show no more."""
    return attention_case(draw)


@KATA.law(points=0.5, cases=fresh_cases)
def test_weights_share_out_the_past(student, d_model, num_heads, weights, x):
    """Every row of the weights sums to one, and is exactly zero on later keys."""
    import torch

    _, attention = attend(loaded(student, d_model, num_heads, weights), x)
    tokens = x.shape[1]
    due = (len(x), num_heads, tokens, tokens)
    expect.true(attention.shape == due, f"The weights must be [B, H, T, T], {due}.")
    expect.equal(attention.triu(1), torch.zeros_like(attention), "the weight of keys that come later")
    sums = torch.ones(due[:3], dtype=x.dtype)
    expect.close(attention.sum(-1), sums, "the sum of each row of the weights", terms=tokens)


def with_several_heads(draw):
    return attention_case(draw, widths=[width for width in WIDTHS if width[0] > 1])


@KATA.law(points=0.5, cases=with_several_heads)
def test_heads_own_their_blocks(student, d_model, num_heads, weights, x):
    """Renumbering the heads in `qkv` and `out` renumbers their weights and keeps the output."""
    import torch

    order = torch.arange(d_model).roll(d_model // num_heads)
    rows = torch.cat([order, order + d_model, order + 2 * d_model])
    renumbered = {"qkv.weight": weights["qkv.weight"][rows], "out.weight": weights["out.weight"][:, order]}
    plain = attend(loaded(student, d_model, num_heads, weights), x)
    moved = attend(loaded(student, d_model, num_heads, renumbered), x)
    expect.true(plain[1].ndim == 4, "The weights must have four axes, [B, H, T, T].")
    expected = [plain[0], plain[1].roll(1, dims=1)]
    what = "the pair of output and weights, after the last head became the first in `qkv` and `out`,"
    expect.close(list(moved), expected, what, terms=3 * d_model, roundings=ROUNDINGS)


def widths_with_a_remainder(draw):
    num_heads = draw(st.integers(2, 5))
    return {"num_heads": num_heads, "d_model": draw(st.integers(1, 12).filter(lambda n: n % num_heads))}


@KATA.law(points=0.5, cases=widths_with_a_remainder)
def test_refuses_a_remainder(student, d_model, num_heads):
    """A d_model that num_heads does not divide raises a ValueError in the constructor."""
    why = f"d_model={d_model} is not divisible by num_heads={num_heads}"
    expect.refuses(student.CausalSelfAttention, d_model, num_heads, why=why)
