"""decoder_block: its cases and its laws.

A norm divides by the spread of its rows, and so multiplies what was rounded before it; the drawn rows have
some spread, and `ROUNDINGS` leaves room for the rest. Mistakes below it show in the float64 cases.
"""

import numpy as np

from grader import expect
from grader import strategies as st
from grader.kata import Kata

ROUNDINGS = 4
#: num_heads and d_model; three features at least, for two always normalise to plus and minus one.
WIDTHS = [(2, 4), (1, 3), (3, 6), (2, 6), (4, 8)]

KATA = Kata(
    "decoder_block",
    track="modules",
    entry_points=("DecoderBlock",),
    title="One block of a GPT",
    source="Radford et al. 2019, section 2.3; Xiong et al. 2020, section 3",
    library="torch",
    grades_gradients=True,
    roundings=ROUNDINGS,
    bank_size=11,
    axes={"x": "batch tokens d_model", "future": "batch tokens d_model"},
    hints=(
        "The last two lines of forward are the two lines of the statement. What stands to the left of each "
        "plus sign has been through no norm.",
        "Print the names and shapes of named_parameters() and hold them against the statement's list. A "
        "submodule's name is the attribute that it is assigned to; members of a Sequential have numbers.",
        "A module of its own for the attention, with qkv and out (no biases), that raises the ValueError; "
        "two LayerNorms; a Sequential of linear, GELU, linear. forward adds the attention of the first norm "
        "to x, and to that sum the feed-forward network of the second norm of that sum.",
    ),
)


def token_rows(draw, batch, tokens, d_model, dtype):
    """Rows of hundredths that have some spread, in any order of axes in memory."""
    wide = st.normal_arrays((batch, tokens, d_model), dtype, scale=draw(st.sampled_from([0.5, 1.0, 2.0])))
    rows = wide.map(lambda drawn: np.round(drawn, 2) + 0.0)
    return draw(st.tensors(st.permuted(rows.filter(lambda drawn: drawn.std(axis=-1).min() > 0.2))))


def block_weights(seed, d_model, d_ff, dtype):
    """All parameters of a block, in hundredths."""
    import torch

    rng = np.random.default_rng(seed)

    def tensor(*shape, around=0.0, scale=0.4):
        drawn = np.round(around + rng.standard_normal(shape) * scale, 2) + 0.0
        return torch.from_numpy(drawn.astype(dtype))

    return {
        "norm1.weight": tensor(d_model, around=1.0),
        "norm1.bias": tensor(d_model),
        "attention.qkv.weight": tensor(3 * d_model, d_model, scale=0.7),
        "attention.out.weight": tensor(d_model, d_model),
        "norm2.weight": tensor(d_model, around=1.0),
        "norm2.bias": tensor(d_model),
        "ffn.0.weight": tensor(d_ff, d_model),
        "ffn.0.bias": tensor(d_ff),
        "ffn.2.weight": tensor(d_model, d_ff),
        "ffn.2.bias": tensor(d_model),
    }


def block_case(draw, *, shortest=1):
    """A block's numbers and weights, and an input for it."""
    num_heads, d_model = draw(st.sampled_from(WIDTHS))
    d_ff, dtype = draw(st.integers(1, 9)), draw(st.float_dtypes())
    tokens = draw(st.sampled_from([length for length in (3, 2, 4, 5, 1) if length >= shortest]))
    return {
        "d_model": d_model,
        "num_heads": num_heads,
        "d_ff": d_ff,
        "weights": block_weights(draw(st.integers(0, 2**16)), d_model, d_ff, dtype),
        "x": token_rows(draw, draw(st.sampled_from([2, 1, 3])), tokens, d_model, dtype),
    }


def loaded(student, d_model, num_heads, d_ff, weights):
    """A block with these weights, in training mode as it comes: there is no dropout to switch off."""
    return expect.loads(student, student.DecoderBlock(d_model, num_heads, d_ff), weights)


def run(block, x):
    """The block's result, once it is known to be shaped like x."""
    result = block(x)
    expect.true(
        getattr(result, "shape", None) == x.shape,
        f"The result must be a tensor shaped like x, {tuple(x.shape)}.",
    )
    return result


@KATA.cases
def cases(draw):
    """Blocks of which one in six has a feed-forward network that gives zeros."""
    case = block_case(draw)
    return silenced(case) if draw(st.integers(0, 5)) == 5 else case


def silenced(case):
    """The case with a feed-forward network that gives zeros."""
    ends = {name: 0 * case["weights"][name] for name in ("ffn.2.weight", "ffn.2.bias")}
    return {**case, "weights": {**case["weights"], **ends}}


@KATA.example
def worked_example():
    """The example of the statement."""
    import torch

    eye, ones, zeros = (make(2, dtype=torch.float64) for make in (torch.eye, torch.ones, torch.zeros))
    weights = {
        "norm1.weight": ones,
        "norm1.bias": zeros,
        "attention.qkv.weight": torch.cat([eye, eye, eye]),
        "attention.out.weight": eye,
        "norm2.weight": ones,
        "norm2.bias": zeros,
        "ffn.0.weight": eye,
        "ffn.0.bias": zeros,
        "ffn.2.weight": eye,
        "ffn.2.bias": zeros,
    }
    x = torch.tensor([[[3.0, 1.0]]], dtype=torch.float64)
    return {"d_model": 2, "num_heads": 1, "d_ff": 2, "weights": weights, "x": x}


def loud_case(seed, dtype, loudness):
    """Weights of queries and keys so many times as large. With the seeds below, the largest score that a
    query may see lies far above its others, so that no digit of it counts."""
    import torch

    weights = block_weights(seed, 6, 3, dtype)
    weights["attention.qkv.weight"][:12] *= loudness
    x = np.random.default_rng(seed).standard_normal((2, 4, 6)).round(2)
    x = torch.from_numpy(x.astype(dtype))
    return {"d_model": 6, "num_heads": 2, "d_ff": 3, "weights": weights, "x": x}


@KATA.example
def scores_in_the_hundreds():
    return loud_case(4, "float64", 8.0)


@KATA.example
def scores_in_the_thousands():
    """Penalties of ten thousand are too small here."""
    return loud_case(6, "float32", 40.0)


@KATA.corner(points=0.5)
def the_attention_alone(weights):
    """Where the feed-forward network gives zeros, the block adds its attention alone."""
    return not any(bool(weights[name].any()) for name in ("ffn.2.weight", "ffn.2.bias"))


@KATA.corner(points=0.5)
def large_scores(weights):
    """Scores beyond what exp can take give finite results, and hidden keys nothing."""
    return bool(weights["attention.qkv.weight"].abs().max() > 10)


@KATA.observe
def observe(student, d_model, num_heads, d_ff, weights, x):
    return {"result": loaded(student, d_model, num_heads, d_ff, weights)(x)}


def with_another_future(draw):
    case = block_case(draw, shortest=2)
    batch, tokens, d_model = case["x"].shape
    cut = draw(st.integers(1, tokens - 1))
    dtype = str(case["x"].dtype).removeprefix("torch.")
    return {**case, "cut": cut, "future": token_rows(draw, batch, tokens - cut, d_model, dtype)}


@KATA.law(points=0.5, cases=with_another_future)
def test_later_tokens_change_nothing_earlier(student, d_model, num_heads, d_ff, weights, x, cut, future):
    """Changing later tokens changes no earlier token's result."""
    import torch

    block = loaded(student, d_model, num_heads, d_ff, weights)
    before, after = run(block, x), run(block, torch.cat([x[:, :cut], future], dim=1))
    what = f"the result ahead of token {cut}, after the tokens from there on changed,"
    expect.close(after[:, :cut], before[:, :cut], what, terms=3 * d_model, roundings=ROUNDINGS)


def fresh_cases(draw):
    """Cases of a law's own: half a bank, where the whole one would show no more."""
    return block_case(draw)


@KATA.law(points=0.5, cases=fresh_cases)
def test_silent_sublayers_leave_x_as_it_is(student, d_model, num_heads, d_ff, weights, x):
    """Where both sublayers end in zeros, the block returns x."""
    ends = ("attention.out.weight", "ffn.2.weight", "ffn.2.bias")
    silent = {name: 0 * tensor if name in ends else tensor for name, tensor in weights.items()}
    result = run(loaded(student, d_model, num_heads, d_ff, silent), x)
    expect.close(result, x, "x plus two sublayers that give zero")


def with_offsets(draw):
    import torch

    case = block_case(draw)
    drawn = [draw(st.sampled_from([-2, 3, -2048, 2048])) for _ in range(case["x"].shape[1])]
    return {**case, "offset": torch.tensor(drawn, dtype=case["x"].dtype)[:, None]}


@KATA.law(points=0.5, cases=with_offsets)
def test_sublayers_read_normalised_tokens(student, d_model, num_heads, d_ff, weights, x, offset):
    """A constant added to all features of a token comes out again, and changes nothing else."""
    block = loaded(student, d_model, num_heads, d_ff, weights)
    plain, shifted = run(block, x), run(block, x + offset)
    what = "the result, after a constant was added to all features of each token,"
    expect.close(shifted, plain + offset, what, terms=3 * d_model, roundings=ROUNDINGS)


def widths_with_a_remainder(draw):
    num_heads = draw(st.integers(2, 5))
    return {"num_heads": num_heads, "d_model": draw(st.integers(1, 12).filter(lambda n: n % num_heads))}


@KATA.law(points=0.5, cases=widths_with_a_remainder)
def test_refuses_a_remainder(student, d_model, num_heads):
    """A d_model that num_heads does not divide raises a ValueError in the constructor."""
    why = f"d_model={d_model} is not divisible by num_heads={num_heads}"
    expect.refuses(student.DecoderBlock, d_model, num_heads, 4 * d_model, why=why)
