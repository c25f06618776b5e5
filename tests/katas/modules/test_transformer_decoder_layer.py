"""transformer_decoder_layer: its cases and its laws.

A norm divides by the spread of its rows, and so multiplies what was rounded before it; the drawn rows have
some spread, and `ROUNDINGS` leaves room for the rest. Two keys at least may be seen by some query of each
attention: a weight that is always 1 has no gradient but rounding. Drawn dropout is all or nothing, so that
a layer that drops in evaluation mode too answers the same twice.
"""

import numpy as np

from grader import expect
from grader import strategies as st
from grader.kata import Kata

ROUNDINGS = 6
#: num_heads and d_model; three features at least, for two always normalise to plus and minus one.
WIDTHS = [(2, 4), (3, 6), (1, 3), (2, 6), (4, 8)]
#: The last matrix and bias of each sublayer.
ENDS = {"self_attn": "self_attn.o", "cross_attn": "cross_attn.o", "ffn": "ffn.2"}

KATA = Kata(
    "transformer_decoder_layer",
    track="modules",
    entry_points=("TransformerDecoderLayer",),
    title="A decoder layer with masks and dropout",
    source="Vaswani et al. 2017, sections 3.1 to 3.3 and 5.4; Xiong et al. 2020, section 3",
    library="torch",
    grades_gradients=True,
    roundings=ROUNDINGS,
    bank_size=9,
    axes={
        "x": "batch T_tgt d_model",
        "memory": "batch T_src d_model",
        "tgt_mask": "query key",
        "memory_mask": "batch T_src",
        "future": "batch tokens d_model",
        "others": "batch T_src d_model",
    },
    hints=(
        "One attention module serves both times: it takes the rows that ask, the rows that are read, and a "
        "mask that may be None. What are the three in the self-attention, and what in the cross-attention?",
        "Scores are [B, H, Tq, Tk]. A mask [T_tgt, T_tgt] broadcasts against them as it is; a mask "
        "[B, T_src] needs two axes in between, for the heads and the queries. True is what may be seen, so "
        "hide where it is False.",
        "The attention: four linear layers, heads split and brought before the tokens, scores over the root "
        "of d_head, -inf where the mask is False, softmax, times v, heads merged, o. The layer: three lines, "
        "each x plus the dropout of a sublayer of a norm of x; memory passes no norm. If tgt_mask is None, "
        "make a lower triangle of True on x's device. nn.Dropout follows the module's mode by itself.",
    ),
)

#: The bias of the keys adds the same to all scores of a query, so its gradient is rounding and nothing else.
FREEZE = """
def freeze_key_biases(layer):
    for name, parameter in layer.named_parameters():
        if name.endswith(".k.bias"):
            parameter.requires_grad_(False)
"""


def token_rows(draw, batch, tokens, d_model, dtype):
    """Rows of hundredths that have some spread, in any order of axes in memory."""
    wide = st.normal_arrays((batch, tokens, d_model), dtype, scale=draw(st.sampled_from([0.5, 1.0, 2.0])))
    rows = wide.map(lambda drawn: np.round(drawn, 2) + 0.0)
    return draw(st.tensors(st.permuted(rows.filter(lambda drawn: drawn.std(axis=-1).min() > 0.2))))


def layer_weights(seed, d_model, d_ff, dtype):
    """All parameters of a layer, in hundredths."""
    import torch

    rng = np.random.default_rng(seed)

    def tensor(*shape, around=0.0, scale=0.4):
        drawn = np.round(around + rng.standard_normal(shape) * scale, 2) + 0.0
        return torch.from_numpy(drawn.astype(dtype))

    weights = {}
    for attention in ("self_attn", "cross_attn"):
        for name in "qkvo":
            weights[f"{attention}.{name}.weight"] = tensor(d_model, d_model, scale=0.6)
            weights[f"{attention}.{name}.bias"] = tensor(d_model)
    for name, rows, columns in (("ffn.0", d_ff, d_model), ("ffn.2", d_model, d_ff)):
        weights |= {f"{name}.weight": tensor(rows, columns), f"{name}.bias": tensor(rows)}
    for name in ("norm1", "norm2", "norm3"):
        weights |= {f"{name}.weight": tensor(d_model, around=1.0), f"{name}.bias": tensor(d_model)}
    return weights


def mask_rows(draw, rows, columns):
    """A boolean mask with a True in every row, two at least in the first."""
    import torch

    seed = draw(st.integers(0, 2**16))
    mask = np.random.default_rng(seed).random((rows, columns)) < 0.5
    mask[np.arange(rows), (seed + np.arange(rows)) % columns] = True
    mask[0, [seed % columns, (seed + 1) % columns]] = True
    return torch.from_numpy(mask)


def layer_case(draw, *, masks=(True, True, False), memory_masks=(True, True, False)):
    """A layer's numbers and weights, and inputs for it."""
    num_heads, d_model = draw(st.sampled_from(WIDTHS))
    d_ff, dtype = draw(st.integers(1, 9)), draw(st.float_dtypes())
    batch = draw(st.sampled_from([2, 1, 3]))
    t_tgt, t_src = draw(st.sampled_from([3, 2, 4])), draw(st.sampled_from([2, 4, 3, 5]))
    return {
        "d_model": d_model,
        "num_heads": num_heads,
        "d_ff": d_ff,
        "dropout": draw(st.sampled_from([0.0, 1.0])),
        "weights": layer_weights(draw(st.integers(0, 2**16)), d_model, d_ff, dtype),
        "x": token_rows(draw, batch, t_tgt, d_model, dtype),
        "memory": token_rows(draw, batch, t_src, d_model, dtype),
        "tgt_mask": mask_rows(draw, t_tgt, t_tgt) if draw(st.sampled_from(masks)) else None,
        "memory_mask": mask_rows(draw, batch, t_src) if draw(st.sampled_from(memory_masks)) else None,
    }


def loaded(student, d_model, num_heads, d_ff, dropout, weights):
    """A layer with these weights, in evaluation mode."""
    layer = student.TransformerDecoderLayer(d_model, num_heads, d_ff, dropout)
    expect.loads(student, layer, weights).eval()
    return layer


def run(layer, x, memory, **masks):
    """The layer's result, once it is known to be shaped like x; masks that are None are left out."""
    result = layer(x, memory, **{name: mask for name, mask in masks.items() if mask is not None})
    shape = tuple(x.shape)
    expect.true(
        getattr(result, "shape", None) == x.shape, f"The result must be a tensor shaped like x, {shape}."
    )
    return result


@KATA.cases
def cases(draw):
    """Half of them without a mask, so that a slip in a rule of one mask costs its corner."""
    given = draw(st.sampled_from(["none", "tgt_mask", "none", "memory_mask", "both", "none"]))
    masks, memory_masks = ([given in (name, "both")] for name in ("tgt_mask", "memory_mask"))
    return layer_case(draw, masks=masks, memory_masks=memory_masks)


@KATA.example
def worked_example():
    """The example of the statement, with a second memory token that is hidden in the one sequence of two."""
    import torch

    eye, ones, zeros = (make(2, dtype=torch.float64) for make in (torch.eye, torch.ones, torch.zeros))
    matrices = [f"{a}.{name}" for a in ("self_attn", "cross_attn") for name in "qkvo"] + ["ffn.0", "ffn.2"]
    weights = {f"{name}.weight": eye for name in matrices} | {f"{name}.bias": zeros for name in matrices}
    weights |= {f"norm{i}.weight": ones for i in (1, 2, 3)} | {f"norm{i}.bias": zeros for i in (1, 2, 3)}
    return {
        "d_model": 2,
        "num_heads": 1,
        "d_ff": 2,
        "dropout": 0.0,
        "weights": weights,
        "x": torch.tensor([[[3.0, 1.0]], [[1.0, 2.0]]], dtype=torch.float64),
        "memory": torch.tensor([[[0.0, 2.0], [5.0, 5.0]], [[1.0, 0.0], [0.5, 2.0]]], dtype=torch.float64),
        "tgt_mask": None,
        "memory_mask": torch.tensor([[True, False], [True, True]]),
    }


def extreme_case(seed, dtype, loudness=1.0, offset=0.0):
    """Weights of queries and keys so many times as large, and x so far from zero. With the seeds below, the
    largest score that a query may see lies far above its others, so that no digit of it counts."""
    import torch

    weights, rng = layer_weights(seed, 6, 3, dtype), np.random.default_rng(seed)
    for name, weight in weights.items():
        if ".q." in name or ".k." in name:
            weight *= loudness
    x, memory = (torch.from_numpy(rows.astype(dtype)) for rows in rng.standard_normal((2, 2, 4, 6)).round(2))
    return {
        "d_model": 6,
        "num_heads": 2,
        "d_ff": 3,
        "dropout": 0.0,
        "weights": weights,
        "x": x + offset,
        "memory": memory,
        "tgt_mask": None,
        "memory_mask": torch.tensor([[True, False, True, True], [True, True, True, False]]),
    }


@KATA.example
def no_mask_is_given():
    """Numbers of ordinary size, and the causal mask alone."""
    return {**extreme_case(3, "float32"), "memory_mask": None}


@KATA.example
def scores_in_the_hundreds():
    return extreme_case(20, "float64", loudness=8.0)


@KATA.example
def scores_in_the_thousands():
    """Penalties of ten thousand are too small here."""
    return extreme_case(50, "float32", loudness=70.0)


@KATA.example
def features_around_8000():
    """A variance that is a difference of squares loses its digits here."""
    return extreme_case(1, "float32", offset=8192.0)


@KATA.corner(points=0.5)
def masks_and_large_numbers(weights, x, tgt_mask, memory_mask):
    """Masks that are given, scores beyond what exp can take, and features far from zero give the right
    result."""
    largest = max(float(x.abs().max()), float(weights["self_attn.q.weight"].abs().max()))
    return largest > 12 or tgt_mask is not None or memory_mask is not None


@KATA.observe
def observe(student, d_model, num_heads, d_ff, dropout, weights, x, memory, tgt_mask, memory_mask):
    layer = loaded(student, d_model, num_heads, d_ff, dropout, weights)
    student.build(FREEZE, "freeze_key_biases", layer)
    masks = {"tgt_mask": tgt_mask, "memory_mask": memory_mask}
    given = {name: mask for name, mask in masks.items() if mask is not None}
    seen = {"result": layer(x, memory, **given)}
    if tgt_mask is not None:
        seen["without_masks"] = layer(x, memory)
    return seen


def with_another_future(draw):
    case = layer_case(draw, masks=[False])
    batch, tokens, d_model = case["x"].shape
    cut = draw(st.integers(1, tokens - 1))
    dtype = str(case["x"].dtype).removeprefix("torch.")
    return {**case, "cut": cut, "future": token_rows(draw, batch, tokens - cut, d_model, dtype)}


@KATA.law(points=0.5, cases=with_another_future)
def test_without_a_mask_no_token_sees_a_later_one(
    student, d_model, num_heads, d_ff, dropout, weights, x, memory, memory_mask, cut, future
):
    """Where no tgt_mask is given, changing later tokens changes no earlier token's result."""
    import torch

    layer = loaded(student, d_model, num_heads, d_ff, dropout, weights)
    before = run(layer, x, memory, memory_mask=memory_mask)
    after = run(layer, torch.cat([x[:, :cut], future], dim=1), memory, memory_mask=memory_mask)
    what = f"the result ahead of token {cut}, after the tokens from there on changed,"
    expect.close(after[:, :cut], before[:, :cut], what, terms=2 * d_model, roundings=ROUNDINGS)


def with_other_hidden_memory(draw):
    case = layer_case(draw, masks=[False])
    batch, t_src, d_model = case["memory"].shape
    dtype = str(case["x"].dtype).removeprefix("torch.")
    others = token_rows(draw, batch, t_src, d_model, dtype)
    return {**case, "memory_mask": mask_rows(draw, batch, t_src), "others": others}


@KATA.law(points=0.5, cases=with_other_hidden_memory)
def test_hidden_memory_is_not_read(
    student, d_model, num_heads, d_ff, dropout, weights, x, memory, tgt_mask, memory_mask, others
):
    """What memory_mask hides changes nothing, in training mode too and after a call with another mask."""
    layer = loaded(student, d_model, num_heads, d_ff, dropout, weights)
    if not dropout:
        layer.train()
    run(layer, x, memory, memory_mask=memory_mask | True)
    masks = {"tgt_mask": tgt_mask, "memory_mask": memory_mask}
    before = run(layer, x, memory, **masks)
    after = run(layer, x, memory.where(memory_mask[:, :, None], others), **masks)
    what = "the result, after the hidden memory tokens changed,"
    expect.close(after, before, what, terms=2 * d_model, roundings=ROUNDINGS)


@KATA.law(points=0.5)
def test_dropout_takes_single_entries(student):
    """In training mode single entries of each sublayer's output are dropped: by default one in ten."""
    import torch

    generator = torch.Generator().manual_seed(5)
    x, memory = torch.randn(2, 8, 16, 8, generator=generator, dtype=torch.float64)
    weights = layer_weights(7, 8, 12, "float64")
    for sublayer, (rate, arguments) in zip(ENDS, ((0.1, ()), (0.5, (0.5,)), (0.1, ())), strict=True):
        silent = [ENDS[other] for other in ENDS if other != sublayer]
        alone = {n: 0 * w if n.rsplit(".", 1)[0] in silent else w for n, w in weights.items()}
        layer = student.TransformerDecoderLayer(8, 2, 12, *arguments)
        expect.loads(student, layer, alone).eval()
        spoken = run(layer, x, memory) - x
        layer.train()
        heard, again = (run(layer, x, memory) - x for _ in range(2))
        require_dropout(heard, spoken, rate, sublayer)
        expect.true(
            bool((heard != again).any()), f"Two calls must drop other entries of what `{sublayer}` adds."
        )


def require_dropout(heard, spoken, rate, sublayer):
    """`heard` holds entries of `spoken`, over 1 - rate, and zeros in their place, about `rate` of all."""
    whole = spoken / (1 - rate)
    dropped, kept = heard.abs() < 1e-9, (heard - whole).abs() < 1e-6 * whole.abs().max()
    expect.true(
        bool((dropped | kept).all()),
        f"With dropout={rate} each entry that `{sublayer}` adds is 0, or what it is in evaluation mode over "
        f"{1 - rate:g}.",
    )
    for axis in range(dropped.ndim):
        mixed = dropped.any(axis) & (kept & ~dropped).any(axis)
        expect.true(mixed.any(), f"Each entry that `{sublayer}` adds is dropped or kept by itself.")
    share = float((dropped & ~kept).double().mean())
    low, high = (0.02, 0.25) if rate == 0.1 else (0.35, 0.65)
    expect.true(
        low < share < high,
        f"With dropout={rate}, {'the default, ' if rate == 0.1 else ''}about {rate:.0%} of the entries that "
        f"`{sublayer}` adds are dropped; of {spoken.numel()} it were {share:.1%}.",
    )


def widths_with_a_remainder(draw):
    num_heads = draw(st.integers(2, 5))
    return {"num_heads": num_heads, "d_model": draw(st.integers(1, 12).filter(lambda n: n % num_heads))}


@KATA.law(points=0.5, cases=widths_with_a_remainder)
def test_refuses_a_remainder(student, d_model, num_heads):
    """A d_model that num_heads does not divide raises a ValueError in the constructor."""
    why = f"d_model={d_model} is not divisible by num_heads={num_heads}"
    expect.refuses(student.TransformerDecoderLayer, d_model, num_heads, 4 * d_model, why=why)
