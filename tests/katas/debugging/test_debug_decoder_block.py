"""debug_decoder_block: its cases and its laws.

A norm divides by the spread of its rows, and so multiplies what was rounded before it; the drawn rows have
some spread, and `ROUNDINGS` leaves room for the rest. Mistakes below it show in the float64 cases.
"""

import numpy as np

from grader import expect
from grader import strategies as st
from grader.kata import Kata

ROUNDINGS = 4
#: num_heads and d_model; three features at least, for two always normalise to plus and minus one.
WIDTHS = [(2, 4), (3, 6), (1, 3), (2, 6), (1, 5), (4, 8)]

KATA = Kata(
    "debug_decoder_block",
    track="debugging",
    entry_points=("DecoderBlock",),
    title="A stream that runs dry",
    source="Xiong et al. 2020, section 3; He et al. 2016, section 2",
    library="torch",
    ships_wrong_code="86b110801329",
    roundings=ROUNDINGS,
    bank_size=17,
    axes={"x": "batch tokens d_model", "future": "batch tokens d_model"},
    hints=(
        "Draw the stream as a line from the block's input to its output. Which operations stand on the "
        "line itself, in the formulas and in the code? The formulas have two, both are additions.",
        "Do the example by hand and print x after each line of forward. After the first two lines it must be "
        "[4, 0]; what is it, and which of the two summands is wrong?",
        "The norm's result must have a place of its own, so that x is still there to be added to; and the "
        "last line must return a sum, of what the feed-forward network gives and what its norm was given.",
    ),
)


def token_rows(draw, batch, tokens, d_model, dtype):
    """Rows of hundredths that have some spread, in any order of axes in memory."""
    wide = st.normal_arrays((batch, tokens, d_model), dtype, scale=draw(st.sampled_from([0.5, 1.0, 2.0])))
    rows = wide.map(lambda drawn: np.round(drawn, 2) + 0.0)
    return draw(st.tensors(st.permuted(rows.filter(lambda drawn: drawn.std(axis=-1).min() > 0.2))))


def block_weights(draw, d_model, d_ff, dtype, loudness=0.7):
    """All parameters of a block, in hundredths. Loud ones make scores in the hundreds."""
    import torch

    rng = np.random.default_rng(draw(st.integers(0, 2**16)))

    def tensor(*shape, around=0.0, scale=0.4):
        drawn = np.round(around + rng.standard_normal(shape) * scale, 2) + 0.0
        return torch.from_numpy(drawn.astype(dtype))

    return {
        "norm1.weight": tensor(d_model, around=1.0),
        "norm1.bias": tensor(d_model),
        "attention.qkv.weight": tensor(3 * d_model, d_model, scale=loudness),
        "attention.out.weight": tensor(d_model, d_model),
        "norm2.weight": tensor(d_model, around=1.0),
        "norm2.bias": tensor(d_model),
        "ffn.0.weight": tensor(d_ff, d_model),
        "ffn.0.bias": tensor(d_ff),
        "ffn.2.weight": tensor(d_model, d_ff),
        "ffn.2.bias": tensor(d_model),
    }


def block_case(draw, *, loudnesses=(0.7,)):
    """A block's numbers and weights, and an input for it."""
    num_heads, d_model = draw(st.sampled_from(WIDTHS))
    d_ff, dtype = draw(st.integers(1, 9)), draw(st.float_dtypes())
    tokens, loudness = draw(st.sampled_from([3, 2, 4, 5, 1])), draw(st.sampled_from(loudnesses))
    return {
        "d_model": d_model,
        "num_heads": num_heads,
        "d_ff": d_ff,
        "weights": block_weights(draw, d_model, d_ff, dtype, loudness),
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
    return block_case(draw, loudnesses=(0.7, 0.7, 0.7, 15.0))


@KATA.corner(points=0.5)
def scores_in_the_hundreds(weights):
    """Scores beyond what exp can take give finite results, and hidden keys nothing."""
    return bool(weights["attention.qkv.weight"].abs().max() > 8)


@KATA.example
def worked_example():
    """The example of the statement."""
    import torch

    eye, ones, zeros = (make(2, dtype=torch.float64) for make in (torch.eye, torch.ones, torch.zeros))
    weights = {
        "norm1.weight": ones,
        "norm1.bias": zeros,
        "attention.qkv.weight": torch.cat([eye, eye, eye]),
        "attention.out.weight": -2 * eye,
        "norm2.weight": ones,
        "norm2.bias": zeros,
        "ffn.0.weight": eye,
        "ffn.0.bias": zeros,
        "ffn.2.weight": eye,
        "ffn.2.bias": zeros,
    }
    x = torch.tensor([[[3.0, 1.0]]], dtype=torch.float64)
    return {"d_model": 2, "num_heads": 1, "d_ff": 2, "weights": weights, "x": x}


def pinned(seed, loudness=1):
    """A case of three features and four hidden units, whose norms begin as norms do."""
    import torch

    rng = np.random.default_rng(seed)

    def tensor(*shape):
        return torch.from_numpy(np.round(rng.standard_normal(shape), 2).astype(np.float32))

    weights = {
        "norm1.weight": torch.ones(3),
        "norm1.bias": torch.zeros(3),
        "attention.qkv.weight": loudness * tensor(9, 3),
        "attention.out.weight": tensor(3, 3),
        "norm2.weight": torch.ones(3),
        "norm2.bias": torch.zeros(3),
        "ffn.0.weight": tensor(4, 3),
        "ffn.0.bias": tensor(4),
        "ffn.2.weight": tensor(3, 4),
        "ffn.2.bias": tensor(3),
    }
    return {"d_model": 3, "num_heads": 1, "d_ff": 4, "weights": weights, "x": tensor(2, 3, 3)}


@KATA.example
def an_empty_stream():
    """Rows of zeros, to which the attention adds nothing."""
    case = pinned(5)
    return {**case, "x": 0 * case["x"]}


@KATA.example
def loud_queries_and_keys():
    return pinned(6, loudness=20)


@KATA.example
def scores_in_the_thousands():
    """Penalties of ten thousand are too small here."""
    return pinned(0, loudness=100)


@KATA.observe
def observe(student, d_model, num_heads, d_ff, weights, x):
    return {"result": loaded(student, d_model, num_heads, d_ff, weights)(x)}


def fresh_cases(draw):
    """Cases of a law's own: half a bank, where the whole one would show no more."""
    return block_case(draw)


def silenced(weights, *ends):
    """The weights with the last parameters of sublayers set to zero."""
    return {name: 0 * tensor if name in ends else tensor for name, tensor in weights.items()}


@KATA.law(points=1, cases=fresh_cases)
def test_the_stream_passes(student, d_model, num_heads, d_ff, weights, x):
    """Where both sublayers end in zeros, the block returns x."""
    silent = silenced(weights, "attention.out.weight", "ffn.2.weight", "ffn.2.bias")
    result = run(loaded(student, d_model, num_heads, d_ff, silent), x)
    expect.close(result, x, "x plus two sublayers that give zero")


def with_offsets(draw):
    import torch

    case = block_case(draw)
    drawn = [draw(st.sampled_from([-3, -2, -1, 1, 2, 3])) for _ in range(case["x"].shape[1])]
    return {**case, "offset": torch.tensor(drawn, dtype=case["x"].dtype)[:, None]}


@KATA.law(points=1, cases=with_offsets)
def test_only_copies_are_normalised(student, d_model, num_heads, d_ff, weights, x, offset):
    """A constant added to all features of a token comes out again, and changes nothing else."""
    block = loaded(student, d_model, num_heads, d_ff, weights)
    plain, shifted = run(block, x), run(block, x + offset)
    what = "the result, after a constant was added to all features of each token,"
    expect.close(shifted, plain + offset, what, terms=3 * d_model, roundings=ROUNDINGS)


@KATA.law(points=0.5, cases=fresh_cases)
def test_a_silent_network_adds_its_bias(student, d_model, num_heads, d_ff, weights, x):
    """Where the feed-forward network gives the same for every token, just that is added."""
    silent = silenced(weights, "ffn.2.weight", "ffn.2.bias")
    speaking = silenced(weights, "ffn.2.weight")
    without = run(loaded(student, d_model, num_heads, d_ff, silent), x)
    result = run(loaded(student, d_model, num_heads, d_ff, speaking), x)
    expect.true(
        bool((without != 0).any()),
        "Where the feed-forward network gives zero, the block's result is not zero.",
    )
    what = "the result, where the feed-forward network gives `ffn.2.bias` and nothing else,"
    expect.close(result, without + weights["ffn.2.bias"], what, roundings=ROUNDINGS)
