"""transformer_decoder: its cases and its laws.

A table of positions in float32 is as good as one in float64, so float64 models are shown one target token:
the row of position 0 is zeros and ones, exact in both.
"""

import numpy as np

from grader import expect
from grader import strategies as st
from grader.kata import Kata

ROUNDINGS = 3
#: A dropout that leaves nothing, and whose complement one can divide by.
NEARLY_ALL = 1 - 1e-9
#: num_heads and d_model; three features at least, for two always normalise to plus and minus one.
WIDTHS = [(2, 4), (2, 6), (3, 6), (1, 4), (4, 8)]
ODD_WIDTHS = [(1, 3), (3, 3), (1, 5)]

KATA = Kata(
    "transformer_decoder",
    track="modules",
    entry_points=("TransformerDecoder",),
    title="The decoder of a translator, from ids to logits",
    source="Vaswani et al. 2017, sections 3.1, 3.4, 3.5 and 5.4; Press and Wolf 2017, section 3",
    library="torch",
    axes={
        "ids": "batch target",
        "memory": "batch source d_model",
        "tgt_mask": "query key",
        "memory_mask": "batch source",
    },
    grades_gradients=True,
    roundings=ROUNDINGS,
    bank_size=16,
    hints=(
        "Around the layers there is little: an embedding with its factor, a table, one dropout, a norm, a"
        " matrix. Write that first, with no layers, and compare it with the statement's example.",
        "Two Parameters with equal numbers are not tied. What does `a.weight = b.weight` do, and what "
        "`a.weight.data.copy_(b.weight)`? For the masks ask which axes the scores have, [B, H, T_tgt, "
        "T_src], and where the mask's own axes belong among them.",
        "Constructor: check the heads; tok_emb, the table as a buffer, layers in a ModuleList, norm, "
        "out_proj without bias; if tied, assign tok_emb's weight to out_proj's. Forward: causal mask if "
        "tgt_mask is None, two axes put into memory_mask behind the batch; embedding times root of "
        "d_model plus the first T rows of the table, dropout; each layer with the same memory and masks; "
        "norm; out_proj.",
    ),
)


#: The same code is told the same every time, though dropout is at random.
SEED = """
import torch

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
        "num_layers": draw(st.integers(1, 2)),
        "d_model": d_model,
        "num_heads": num_heads,
        "d_ff": draw(st.integers(1, 5)),
        "vocab_size": draw(st.integers(2, 5)),
        "max_len": draw(st.integers(5, 9)),
        "dropout": draw(st.sampled_from([0.0, 1.0, 0.0])),
    }
    tied = draw(st.sampled_from([None, True, False]))
    return sizes if tied is None else {**sizes, "tie_weights": tied}


def shapes_of(num_layers, d_model, d_ff, vocab_size, **_):
    """Every parameter's shape by name."""
    square, vector = (d_model, d_model), (d_model,)
    linears = [f"{attention}.{name}" for attention in ("self_attn", "cross_attn") for name in "qkvo"]
    layer = {f"{name}.weight": square for name in linears} | {f"{name}.bias": vector for name in linears}
    layer |= {f"norm{i}.{part}": vector for i in (1, 2, 3) for part in ("weight", "bias")}
    layer |= {"ffn.0.weight": (d_ff, d_model), "ffn.0.bias": (d_ff,)}
    layer |= {"ffn.2.weight": (d_model, d_ff), "ffn.2.bias": vector}
    stack = {f"layers.{i}.{name}": shape for i in range(num_layers) for name, shape in layer.items()}
    ends = {"norm.weight": vector, "norm.bias": vector, "out_proj.weight": (vocab_size, d_model)}
    return {"tok_emb.weight": (vocab_size, d_model), **stack, **ends}


def normal_hundredths(rng, shape, dtype, scale=0.5, centre=0.0):
    """Normal numbers, rounded so that a person can read them."""
    import torch

    return torch.from_numpy((np.round(rng.standard_normal(shape) * scale, 2) + centre).astype(dtype))


def drawn_weights(rng, sizes, dtype):
    """Every parameter, norms around 1; a tied matrix stands under both of its names."""
    weights = {
        name: normal_hundredths(rng, shape, dtype, centre=float(name.endswith("weight") and len(shape) == 1))
        for name, shape in shapes_of(**sizes).items()
    }
    if sizes.get("tie_weights", True):
        weights["out_proj.weight"] = weights["tok_emb.weight"]
    return weights


def drawn_mask(rng, shape):
    """A bool mask, each row of which lets something through."""
    import torch

    mask = rng.random(shape) < 0.5
    mask[np.arange(shape[0]), rng.integers(0, shape[1], shape[0])] = True
    return torch.from_numpy(mask)


@KATA.cases
def cases(draw):
    """A decoder's sizes and weights, target ids, memory, and masks or none."""
    import torch

    sizes, dtype = (
        sizes_of(draw, [*WIDTHS, *ODD_WIDTHS]),
        draw(st.sampled_from(["float32", "float32", "float64"])),
    )
    batch, source = draw(st.integers(1, 3)), draw(st.sampled_from([3, 2, 4, 1]))
    target = draw(st.sampled_from([3, 2, 4])) if dtype == "float32" else 1
    rng = np.random.default_rng(draw(st.integers(0, 2**16)))
    memory = normal_hundredths(rng, (batch, sizes["d_model"], source), dtype, scale=1.0)
    ids = np.asfortranarray(rng.integers(0, sizes["vocab_size"], (batch, target)))
    return {
        "sizes": sizes,
        "weights": drawn_weights(rng, sizes, dtype),
        "ids": torch.from_numpy(ids),
        "memory": memory.transpose(1, 2),
        "tgt_mask": drawn_mask(rng, (target, target)) if rng.random() < 0.7 else None,
        "memory_mask": drawn_mask(rng, (batch, source)) if rng.random() < 0.5 else None,
    }


@KATA.example
def masks_of_all_kinds():
    """Two weight matrices, a tgt_mask that shows some of the future and hides some of the past, padding."""
    import torch

    sizes = {"num_layers": 1, "d_model": 4, "num_heads": 2, "d_ff": 3, "vocab_size": 3, "tie_weights": False}
    sizes["max_len"] = 3
    rng = np.random.default_rng(17)
    return {
        "sizes": sizes,
        "weights": drawn_weights(rng, sizes, "float32"),
        "ids": torch.tensor([[1, 0, 2], [2, 2, 0]]),
        "memory": normal_hundredths(rng, (2, 2, 4), "float32", scale=1.0),
        "tgt_mask": torch.tensor([[True, True, False], [False, True, True], [True, False, True]]),
        "memory_mask": torch.tensor([[True, True], [False, True]]),
    }


def extreme_case(seed, loudness=1.0, offset=0.0):
    """Weights of queries and keys so many times as large, and tokens so far from zero. With the seed
    below, the largest score that a query may see lies far above its others, so that no digit of it counts."""
    import torch

    sizes = {"num_layers": 2, "d_model": 6, "num_heads": 2, "d_ff": 3, "vocab_size": 5, "tie_weights": False}
    rng = np.random.default_rng(seed)
    weights = drawn_weights(rng, sizes, "float32")
    for name, weight in weights.items():
        if ".q." in name or ".k." in name:
            weight *= loudness
    weights["tok_emb.weight"] += offset
    return {
        "sizes": sizes,
        "weights": weights,
        "ids": torch.from_numpy(rng.integers(0, 5, (2, 4))),
        "memory": normal_hundredths(rng, (2, 4, 6), "float32", scale=1.0),
        "tgt_mask": None,
        "memory_mask": torch.tensor([[True, False, True, True], [True, True, True, False]]),
    }


@KATA.example
def scores_in_the_thousands():
    """Penalties of ten thousand are too small here."""
    return extreme_case(87, loudness=60.0)


@KATA.example
def features_around_256():
    """A variance that is a difference of squares loses its digits here."""
    return extreme_case(1, offset=100.0)


@KATA.corner(points=0.5)
def odd_widths(sizes):
    """With an odd d_model the positions end on a sine."""
    return sizes["d_model"] % 2 == 1


@KATA.corner(points=0.5)
def large_numbers(weights):
    """Scores beyond what exp can take, and features far from zero, give the right logits."""
    return max(float(weight.abs().max()) for weight in weights.values()) > 10


def loaded(student, sizes, weights):
    """The student's decoder with these weights, in evaluation mode."""
    model = expect.loads(student, student.TransformerDecoder(**sizes), weights)
    model.eval()
    return model


@KATA.observe
def observe(student, sizes, weights, ids, memory, tgt_mask, memory_mask):
    """The logits with the masks that are given, and without a tgt_mask."""
    model = loaded(student, sizes, weights)
    masks = {"tgt_mask": tgt_mask, "memory_mask": memory_mask}
    given = {name: mask for name, mask in masks.items() if mask is not None}
    seen = {"logits": model(ids, memory, **given)}
    if tgt_mask is not None:
        seen["logits_without_a_tgt_mask"] = model(ids, memory)
    return seen


@KATA.law(points=0.5)
def test_tied_weights_are_one_parameter(student, sizes, weights):
    """Embedding and output share one Parameter if they are tied, and no two names do otherwise."""
    shared = student.anatomy(loaded(student, sizes, weights))["shared"]
    tied = sizes.get("tie_weights", True)
    due = [["out_proj.weight", "tok_emb.weight"]] if tied else []
    found = sorted(sorted(names) for names in shared)
    told = " and ".join(found[0]) + " are one" if found else "all parameters are apart"
    expect.true(found == due, f"With tie_weights={tied} {'these two' if tied else 'no two'} are one; {told}.")


def logits_of(model, ids, memory, sizes):
    """The logits, once they are known to have their three axes."""
    logits = model(ids, memory)
    shape, due = tuple(getattr(logits, "shape", ())), (*ids.shape, sizes["vocab_size"])
    expect.true(shape == due, f"The logits have the shape {due}; it is {shape}.")
    return logits


@KATA.law(points=0.5)
def test_dropout_takes_whole_outputs(student):
    """In training the embedding and each sublayer's output are dropped, one entry in ten by default, and no
    attention weights."""
    require_empty_stream(student)
    logits = rows_of_ones(student, copies=96, dropout=0.5)
    patterns = {tuple(row) for row in np.round(logits.double().numpy(), 2).reshape(-1, 4).tolist()}
    allowed = normed_patterns()
    strange = sorted(patterns - allowed)
    expect.true(
        not strange,
        "The weights of an attention sum to one, so where all values are equal its output is that value, and "
        f"dropout makes 0 or twice of it. Here an output is of other sizes: normed, {(strange or [''])[0]}.",
    )
    # Of four features, each dropped with probability 0.1, neither all nor none are in 34.4 rows of a hundred.
    # Of 2000 rows as few as 25 or as many as 45 in a hundred is less than once in 10^17 (Chernoff).
    uneven = float((rows_of_ones(student, copies=2000).abs() > 0.1).any(-1).double().mean())
    told = "fewer" if uneven < 0.344 else "more"
    expect.true(0.25 < uneven < 0.45, f"By default dropout takes one entry in ten; here it takes {told}.")


def require_empty_stream(student):
    """With nearly all dropped in training the logits are out_proj of the final norm of zeros."""
    import torch

    sizes = {"num_layers": 2, "d_model": 4, "num_heads": 2, "d_ff": 3, "vocab_size": 3, "tie_weights": False}
    rng = np.random.default_rng(3)
    weights, memory = drawn_weights(rng, sizes, "float32"), normal_hundredths(rng, (2, 3, 4), "float32")
    model = loaded(student, {**sizes, "dropout": NEARLY_ALL}, weights)
    model.train()
    logits = logits_of(model, torch.tensor([[1, 0, 2], [2, 2, 0]]), memory, sizes)
    empty = weights["out_proj.weight"] @ weights["norm.bias"]
    what = f"the result in training with dropout={NEARLY_ALL}, out_proj of a norm of zeros,"
    expect.close(logits, empty.expand_as(logits), what, terms=4)


def rows_of_ones(student, copies, **options):
    """Training logits of a decoder in which nothing but a cross-attention adds to an empty stream: 1 in each
    of four features (in two heads), whatever its weights. Final norm and output leave the stream as it is."""
    import torch

    sizes = {"num_layers": 1, "d_model": 4, "num_heads": 2, "d_ff": 1, "vocab_size": 4, "max_len": 2}
    weights = {name: torch.zeros(shape) for name, shape in shapes_of(**sizes).items()}
    weights["tok_emb.weight"][:] = torch.tensor([0.0, -0.5, 0.0, -0.5])  # twice it and position 0 make zero
    weights["layers.0.cross_attn.v.bias"][:] = 1
    weights["layers.0.cross_attn.o.weight"][:] = torch.eye(4)
    weights["norm.weight"][:] = 1
    weights["out_proj.weight"][:] = torch.eye(4)
    model = loaded(student, {**sizes, **options, "tie_weights": False}, weights)
    model.train()
    student.build(SEED, "seed", copies)
    ids, memory = torch.zeros(copies, 1, dtype=torch.int64), torch.zeros(copies, 2, 4)
    first, second = (logits_of(model, ids, memory, sizes) for _ in range(2))
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
    expect.refuses(student.TransformerDecoder, **sizes, why=why)
