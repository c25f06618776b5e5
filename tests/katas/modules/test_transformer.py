"""transformer: its cases and its laws.

A table of positions in float32 is as good as one in float64, so float64 models are shown one token on either
side: the row of position 0 is zeros and ones, exact in both. What a model says at padded positions is set to
zero before it is looked at, in values and gradients alike.
"""

import numpy as np

from grader import expect
from grader import strategies as st
from grader.kata import Kata

ROUNDINGS = 6
#: A dropout that leaves nothing, and whose complement one can divide by.
NEARLY_ALL = 1 - 1e-9
#: num_heads and d_model; three features at least, for two always normalise to plus and minus one.
WIDTHS = [(2, 4), (2, 6), (3, 6), (1, 4), (4, 8)]
ODD_WIDTHS = [(1, 3), (3, 3), (1, 5)]

KATA = Kata(
    "transformer",
    track="modules",
    entry_points=("Transformer",),
    title="The Transformer of 2017, whole",
    source="Vaswani et al. 2017, sections 3.1 to 3.5, figure 1, and 5.4",
    library="torch",
    axes={"src": "batch source", "tgt": "batch target", "memory": "batch source d_model"},
    grades_gradients=True,
    roundings=ROUNDINGS,
    bank_size=14,
    hints=(
        "Write one attention module first: x_q, x_kv and a mask that broadcasts to [B, H, Tq, Tk]. All "
        "three attentions of the model are this module; they differ in what they are given.",
        "Three masks are needed, and each hides keys: real source tokens for the encoder and for the "
        "cross-attention, [B, 1, 1, T_src]; real target tokens and no later ones for the decoder. Which "
        "row of the last one may be left with nothing, and what does softmax make of it?",
        "Attention, once for all three: linear layers q, k, v, o; heads [B, H, T, d_head]; scores over "
        "the root of d_head; -inf where the mask is False; softmax; times the values; heads beside each "
        "other. A sublayer is norm of x plus dropout of its output. The embedding: vectors times the root "
        "of d_model, plus the first T rows of the table, then dropout.\n\n"
        "    real(ids)   where ids differ from pad_id          [B, 1, 1, T]\n"
        "    encode      each layer with real(src)\n"
        "    decode      each layer with memory, and with two masks:\n"
        "                own     real(tgt) and a lower triangle,\n"
        "                        or the diagonal               [B, 1, T_tgt, T_tgt]\n"
        "                other   real(src)\n"
        "                then out_proj\n"
        "    forward     decode of tgt, with encode of src\n\n"
        "The diagonal is for a target that begins with padding: a row without any key is NaN after the "
        "softmax.",
    ),
)

#: The model, with zeros in the place of what it says at padded positions.
REAL_POSITIONS = """
import torch

def shown(result, ids, pad_id):
    if isinstance(result, torch.Tensor) and result.ndim == 3 and result.shape[:2] == ids.shape:
        return result.masked_fill((ids == pad_id)[:, :, None], 0.0)
    return result

class RealPositions(torch.nn.Module):
    def __init__(self, model, pad_id):
        super().__init__()
        self.model, self.pad_id = model, pad_id

    def forward(self, src, tgt):
        return shown(self.model(src, tgt), tgt, self.pad_id)

    def encode(self, src):
        return shown(self.model.encode(src), src, self.pad_id)

    def decode(self, tgt, memory, src):
        return shown(self.model.decode(tgt, memory, src), tgt, self.pad_id)

def seed(number):
    # torch.manual_seed keeps a stack of calls each time, in case a GPU is used later
    torch.default_generator.manual_seed(number)
    if str(device) != "cpu":
        torch.cuda.manual_seed(number)
"""


def sizes_of(draw, widths=WIDTHS):
    """The constructor's arguments; those with a default are left out now and then."""
    num_heads, d_model = draw(st.sampled_from(widths))
    sizes = {
        "src_vocab": draw(st.integers(2, 5)),
        "tgt_vocab": draw(st.integers(2, 5)),
        "d_model": d_model,
        "num_heads": num_heads,
        "d_ff": draw(st.integers(1, 5)),
        "num_layers": draw(st.integers(1, 2)),
        "max_len": draw(st.integers(6, 9)),
        "dropout": draw(st.sampled_from([0.0, 1.0, 0.0])),
    }
    pad_id = draw(st.sampled_from([None, 0, 1]))
    return sizes if pad_id is None else {**sizes, "pad_id": pad_id}


def shapes_of(src_vocab, tgt_vocab, d_model, d_ff, num_layers, **_):
    """Every parameter's shape by name."""
    shapes = {"src_emb.weight": (src_vocab, d_model), "tgt_emb.weight": (tgt_vocab, d_model)}
    sides = {"encoder": (("self_attn",), 2), "decoder": (("self_attn", "cross_attn"), 3)}
    for side, (attentions, norms) in sides.items():
        linears = {f"{attention}.{name}": (d_model, d_model) for attention in attentions for name in "qkvo"}
        linears |= {"ffn.0": (d_ff, d_model), "ffn.2": (d_model, d_ff)}
        layer = {f"{name}.weight": shape for name, shape in linears.items()}
        layer |= {f"{name}.bias": shape[:1] for name, shape in linears.items()}
        layer |= {f"norm{i + 1}.{part}": (d_model,) for i in range(norms) for part in ("weight", "bias")}
        shapes |= {f"{side}.{i}.{name}": shape for i in range(num_layers) for name, shape in layer.items()}
    return {**shapes, "out_proj.weight": (tgt_vocab, d_model), "out_proj.bias": (tgt_vocab,)}


def normal_hundredths(rng, shape, dtype, scale=0.5, centre=0.0):
    """Normal numbers, rounded so that a person can read them."""
    import torch

    return torch.from_numpy((np.round(rng.standard_normal(shape) * scale, 2) + centre).astype(dtype))


def drawn_weights(rng, sizes, dtype):
    """Every parameter, norms around 1."""
    return {
        name: normal_hundredths(rng, shape, dtype, centre=float(name.endswith("weight") and len(shape) == 1))
        for name, shape in shapes_of(**sizes).items()
    }


def drawn_ids(rng, batch, tokens, vocab, pad_id):
    """Rows with padding anywhere or none, at least one real token in each; in memory by columns."""
    import torch

    ids = (rng.integers(1, vocab, (batch, tokens)) + pad_id) % vocab
    padded = rng.random((batch, tokens)) < rng.choice([0.0, 0.4])
    padded[np.arange(batch), rng.integers(0, tokens, batch)] = False
    return torch.from_numpy(np.asfortranarray(np.where(padded, pad_id, ids)))


@KATA.cases
def cases(draw, widths=(*WIDTHS, *ODD_WIDTHS)):
    """A model's sizes and weights, source and target, and a memory for decode."""
    sizes, dtype = sizes_of(draw, widths), draw(st.sampled_from(["float32", "float32", "float64"]))
    batch, lengths = draw(st.integers(1, 3)), [3, 2, 4, 1] if dtype == "float32" else [1]
    source, target = draw(st.sampled_from(lengths)), draw(st.sampled_from(lengths))
    pad_id, rng = sizes.get("pad_id", 0), np.random.default_rng(draw(st.integers(0, 2**16)))
    return {
        "sizes": sizes,
        "weights": drawn_weights(rng, sizes, dtype),
        "src": drawn_ids(rng, batch, source, sizes["src_vocab"], pad_id),
        "tgt": drawn_ids(rng, batch, target, sizes["tgt_vocab"], pad_id),
        "memory": normal_hundredths(rng, (batch, source, sizes["d_model"]), dtype, scale=1.0),
    }


@KATA.example
def padding_in_front():
    """Source and target that begin with padding, whose id is 2, beside rows without; max_len tokens.

    It is the first example, so that a table of positions that is kept from it is too short for the others."""
    import torch

    sizes = {"src_vocab": 4, "tgt_vocab": 4, "d_model": 4, "num_heads": 2, "d_ff": 3, "num_layers": 1}
    sizes, rng = {**sizes, "pad_id": 2, "num_layers": 2, "max_len": 3}, np.random.default_rng(18)
    return {
        "sizes": sizes,
        "weights": drawn_weights(rng, sizes, "float32"),
        "src": torch.tensor([[2, 3, 1], [0, 1, 3]]),
        "tgt": torch.tensor([[2, 0, 3], [1, 0, 0]]),
        "memory": normal_hundredths(rng, (2, 3, 4), "float32", scale=1.0),
    }


@KATA.example
def padding_behind_and_in_the_middle():
    """The ids of the statement, for a small model with default arguments."""
    import torch

    sizes = {"src_vocab": 8, "tgt_vocab": 5, "d_model": 4, "num_heads": 2, "d_ff": 3, "num_layers": 1}
    rng = np.random.default_rng(17)
    return {
        "sizes": sizes,
        "weights": drawn_weights(rng, sizes, "float32"),
        "src": torch.tensor([[5, 7, 0]]),
        "tgt": torch.tensor([[1, 0, 4]]),
        "memory": normal_hundredths(rng, (1, 3, 4), "float32", scale=1.0),
    }


def extreme_case(seed, loudness=1.0, offset=0.0):
    """Weights of queries and keys so many times as large, and biases in front of the norms so far from zero.
    With the seed below, the largest score that a query may see lies far above its others, so that no digit of
    it counts."""
    import torch

    sizes = {"src_vocab": 5, "tgt_vocab": 5, "d_model": 6, "num_heads": 2, "d_ff": 3, "num_layers": 1}
    rng = np.random.default_rng(seed)
    weights = drawn_weights(rng, sizes, "float32")
    for name, weight in weights.items():
        if ".q." in name or ".k." in name:
            weight *= loudness
        if name.endswith(("attn.o.bias", "ffn.2.bias")):
            weight += offset
    return {
        "sizes": sizes,
        "weights": weights,
        "src": torch.tensor([[3, 0, 1, 4], [2, 4, 3, 0]]),
        "tgt": torch.tensor([[1, 2, 3, 4], [4, 0, 2, 1]]),
        "memory": normal_hundredths(rng, (2, 4, 6), "float32", scale=1.0),
    }


@KATA.example
def scores_in_the_thousands():
    """Penalties of ten thousand are too small here."""
    return extreme_case(10, loudness=120.0)


@KATA.example
def features_around_256():
    """A variance that is a difference of squares loses its digits here."""
    return extreme_case(1, offset=256.0)


@KATA.corner(points=0.5)
def odd_widths(sizes):
    """With an odd d_model the positions end on a sine."""
    return sizes["d_model"] % 2 == 1


@KATA.corner(points=0.5)
def large_numbers(weights):
    """Scores beyond what exp can take, and features far from zero, give the right logits."""
    return max(float(weight.abs().max()) for weight in weights.values()) > 10


def loaded(student, sizes, weights, training=False):
    """The student's model with these weights, its padded positions set to zero."""
    model = expect.loads(student, student.Transformer(**sizes), weights)
    model.train(training)
    return student.build(REAL_POSITIONS, "RealPositions", model, sizes.get("pad_id", 0))


@KATA.observe
def observe(student, sizes, weights, src, tgt, memory):
    """The logits; the encoder's memory alone; what the decoder makes of a memory that is given."""
    model = loaded(student, sizes, weights)
    return {
        "logits": model(src, tgt),
        "encoded": model.encode(src),
        "decoded": model.decode(tgt, memory, src),
    }


def logits_of(model, src, tgt, sizes):
    """The logits, once they are known to have their three axes."""
    logits = model(src, tgt)
    shape, due = tuple(getattr(logits, "shape", ())), (*tgt.shape, sizes["tgt_vocab"])
    expect.true(shape == due, f"The logits have the shape {due}; it is {shape}.")
    return logits


def with_what_follows(draw):
    """Cases, a token to follow the target, and how much padding is put behind both."""
    case = cases(draw, WIDTHS)
    token = draw(st.integers(0, case["sizes"]["tgt_vocab"] - 1))
    return {**case, "token": token, "more": draw(st.integers(1, 2))}


@KATA.law(points=0.5, cases=with_what_follows)
def test_what_follows_changes_nothing(student, sizes, weights, src, tgt, token, more):
    """Neither a later target token nor more padding changes the logits of real tokens before it."""
    model = loaded(student, sizes, weights)
    before, pad_id, tokens = logits_of(model, src, tgt, sizes), sizes.get("pad_id", 0), tgt.shape[1]
    later = logits_of(model, src, padded(tgt, 1, token), sizes)[:, :tokens]
    longer = logits_of(model, padded(src, more, pad_id), padded(tgt, more, pad_id), sizes)[:, :tokens]
    whats = f"when token {token} follows,", f"with {more} more padded tokens behind source and target,"
    for after, what in zip((later, longer), whats, strict=True):
        what = f"the tensor of logits of {tokens} target tokens, {what}"
        expect.close(after, before, what, terms=sizes["d_model"], roundings=2 * ROUNDINGS)


@KATA.law(points=0.5)
def test_decode_needs_no_call_of_encode(student, sizes, weights, src, tgt, memory):
    """A new model decodes a memory that comes from elsewhere."""
    decoded = loaded(student, sizes, weights).decode(tgt, memory, src)
    used = loaded(student, sizes, weights)
    used.encode(src)
    what = "the tensor of logits that a new model decodes, against one that has encoded src,"
    expected = used.decode(tgt, memory, src)
    expect.close(decoded, expected, what, terms=sizes["d_model"], roundings=2 * ROUNDINGS)


def padded(ids, more, pad_id):
    """The ids with so much padding behind them."""
    import torch

    return torch.cat([ids, torch.full((len(ids), more), pad_id)], dim=1)


@KATA.law(points=0.5)
def test_dropout_takes_whole_outputs(student):
    """In training embeddings and each sublayer's output are dropped, one entry in ten by default, and no
    attention weights."""
    require_empty_streams(student)
    memory = memory_of_ones(student, copies=96, dropout=0.5)
    # Four equal features have no spread: their norm is zero, but for rounding that two norms have blown up.
    normed = np.where(memory.abs().numpy() < 0.1, 0.0, np.round(memory.double().numpy(), 2))
    patterns = {tuple(row) for row in normed.reshape(-1, 4).tolist()}
    strange = sorted(patterns - normed_patterns())
    expect.true(
        not strange,
        "The weights of an attention sum to one, so where all values are equal its output is that value, and "
        f"dropout makes 0 or twice of it. Here an output is of other sizes: normed, {(strange or [''])[0]}.",
    )
    # Of four features, each dropped with probability 0.1, neither all nor none are in 34.4 rows of a hundred.
    # Of 2000 rows as few as 25 or as many as 45 in a hundred is less than once in 10^17 (Chernoff).
    uneven = float((memory_of_ones(student, copies=1000).abs() > 0.1).any(-1).double().mean())
    told = "fewer" if uneven < 0.344 else "more"
    expect.true(0.25 < uneven < 0.45, f"By default dropout takes one entry in ten; here it takes {told}.")


def require_empty_streams(student):
    """With nearly all dropped in training, memory and logits are what is made of the norms' own biases."""
    import torch

    sizes = {"src_vocab": 4, "tgt_vocab": 4, "d_model": 4, "num_heads": 2, "d_ff": 3, "num_layers": 2}
    weights = drawn_weights(np.random.default_rng(3), sizes, "float32")
    src, tgt = torch.tensor([[1, 2, 0], [3, 1, 2]]), torch.tensor([[1, 3], [2, 1]])
    model = loaded(student, {**sizes, "dropout": NEARLY_ALL}, weights, training=True)
    left = {side: norms_of_nothing(weights, side, sizes["num_layers"]) for side in ("encoder", "decoder")}
    logits = weights["out_proj.weight"] @ left["decoder"] + weights["out_proj.bias"]
    results = (
        ("the memory", src, model.encode(src), left["encoder"]),
        ("the tensor of logits, out_proj", tgt, model(src, tgt), logits),
    )
    for what, ids, got, row in results:
        expected = row.expand(*ids.shape, -1) * (ids != 0)[:, :, None]
        what = f"{what} of the norms of zeros, in training with dropout={NEARLY_ALL},"
        expect.close(got, expected, what, terms=sizes["d_model"], roundings=ROUNDINGS)


def norms_of_nothing(weights, side, num_layers):
    """What the norms of a stack make of zeros, one after the other."""
    import torch

    x = torch.zeros_like(weights["out_proj.weight"][0])
    for name in (f"{side}.{layer}.norm{i}" for layer in range(num_layers) for i in (1, 2, 3)):
        if f"{name}.weight" in weights:
            x = torch.nn.functional.layer_norm(x, x.shape, weights[f"{name}.weight"], weights[f"{name}.bias"])
    return x


def memory_of_ones(student, copies, **options):
    """Training memory of an encoder whose embeddings cancel the positions, and whose attention gives 1 in
    each of four features (in two heads), whatever its weights; the feed-forward network gives nothing."""
    import torch

    sizes = {"src_vocab": 3, "tgt_vocab": 2, "d_model": 4, "num_heads": 2, "d_ff": 1, "num_layers": 1}
    weights = {name: torch.zeros(shape) for name, shape in shapes_of(**sizes).items()}
    angles = torch.tensor([[0.0, 0.0], [1.0, 0.01]], dtype=torch.float64)
    positions = torch.stack([angles.sin(), angles.cos()], dim=-1).flatten(1).float()
    weights["src_emb.weight"][1:] = -positions / 2
    weights["encoder.0.self_attn.v.bias"][:] = 1
    weights["encoder.0.self_attn.o.weight"][:] = torch.eye(4)
    weights["encoder.0.norm1.weight"][:] = 1
    weights["encoder.0.norm2.weight"][:] = 1
    model = loaded(student, {**sizes, **options}, weights, training=True)
    student.build(REAL_POSITIONS, "seed", copies)  # the same code is told the same every time
    ids = torch.tensor([[1, 2]]).expand(copies, 2).contiguous()
    first, second = model.encode(ids), model.encode(ids)
    shape = tuple(getattr(second, "shape", ()))
    expect.true(shape == (copies, 2, 4), f"The memory has the shape {(copies, 2, 4)}; it is {shape}.")
    expect.true(bool((first != second).any()), "Two calls in training must drop other entries.")
    return second


def normed_patterns():
    """Every norm of four features that are 0 or 2, to two decimals."""
    import torch

    kept = torch.cartesian_prod(*[torch.tensor([0.0, 2.0], dtype=torch.float64)] * 4)
    normed = np.round(torch.nn.functional.layer_norm(kept, (4,)).numpy(), 2)
    return {tuple(row) for row in normed.tolist()}


def heads_that_do_not_divide(draw):
    """Sizes in which num_heads does not divide d_model."""
    num_heads, d_model = draw(st.sampled_from([(2, 3), (2, 5), (3, 4), (3, 8), (4, 6), (4, 2)]))
    return {"sizes": {**sizes_of(draw), "num_heads": num_heads, "d_model": d_model}}


@KATA.law(points=0.5, cases=heads_that_do_not_divide)
def test_refuses_heads_that_do_not_divide(student, sizes):
    """A num_heads that does not divide d_model is refused with a ValueError when the model is made."""
    why = f"d_model={sizes['d_model']} cannot be cut into {sizes['num_heads']} heads"
    expect.refuses(student.Transformer, **sizes, why=why)
