"""lora_linear: its cases and its laws."""

import numpy as np

from grader import expect
from grader import strategies as st
from grader.kata import Kata

ROUNDINGS = 4

KATA = Kata(
    "lora_linear",
    track="modern",
    entry_points=("LoRALinear",),
    title="A frozen layer learns by two thin matrices",
    source="Hu et al. 2021, section 4.1",
    library="torch",
    grades_gradients=True,
    grades_device=False,  # all tensors are parameters, which move with the layer
    axes={"x": "d_in"},
    hints=(
        "How many multiplications does x lora_a^T lora_b^T take from the left to the right, and how many if "
        "lora_b lora_a is made first? Where does the layer have to remember whether it is merged?",
        "Freeze the base with requires_grad_(False); it reaches weight and bias. Make the factors from "
        "base.weight, so that dtype and device come with it: lora_b of zeros, lora_a of random numbers. "
        "Then look at the widths, for a rank of 2 and a layer of 1,000 by 1,000:\n\n"
        "    x lora_a^T            [..., 1000] to [..., 2]         2,000 products\n"
        "    that times lora_b^T   [..., 2] to [..., 1000]         2,000 products\n"
        "    lora_b lora_a first   2,000,000 products, and then x's 1,000,000\n\n"
        "What has the layer to remember, so that a second merge adds nothing?",
        "Constructor: refuse a rank below 1; freeze base; lora_a [rank, d_in] and lora_b [d_out, rank] as "
        'Parameters; alpha / rank as the scale; a flag that says "not merged".\n\n'
        "    forward    base(x), and if not merged, plus the scale times\n"
        "               (x lora_a^T) lora_b^T\n"
        "    merge      only if not merged: add the scale times lora_b lora_a to\n"
        "               base.weight, and set the flag\n"
        "    unmerge    only if merged: subtract the same, and clear the flag\n\n"
        "merge and unmerge write into base.weight in place (+= or add_), under torch.no_grad(): a new "
        "Parameter would be unknown to whoever holds the base. They read lora_a and lora_b when they are "
        "called, not in the constructor, since training comes in between.",
    ),
    roundings=ROUNDINGS,
    bank_size=30,
)

#: What runs beside the submission: the base layer, and questions about its Parameters.
BESIDE = """
import torch
from torch import nn

def linear(weight, bias, trainable):
    base = nn.Linear(*weight.shape[::-1], bias=bias is not None).to(weight)
    base.load_state_dict({"weight": weight} if bias is None else {"weight": weight, "bias": bias})
    return base.requires_grad_(trainable)

def half_linear(d_in, d_out):
    return nn.Linear(d_in, d_out, device=device, dtype=torch.float16)

weights = {}

def remember_weight(base):
    weights[id(base)] = base.weight

def has_that_weight(base):
    return base.weight is weights.pop(id(base))

def trainable_names(layer):
    return [name for name, parameter in layer.named_parameters() if parameter.requires_grad]
"""


def layer_case(draw, biases=(True, True, False)):
    """A base, an update and an input; every width differs mostly."""
    d_in, d_out, rank = (
        draw(st.integers(1, 5)),
        draw(st.integers(1, 5)),
        draw(st.sampled_from([2, 1, 3, 4, 7])),
    )
    dtype, leading = draw(st.float_dtypes()), draw(st.shapes(draw(st.sampled_from([1, 2, 0])), longest=3))
    rng = np.random.default_rng(draw(st.integers(0, 2**16)))

    def tensor(*shape):
        import torch

        return torch.from_numpy((np.round(rng.standard_normal(shape), 2) + 0.0).astype(dtype))

    return {
        "weight": tensor(d_out, d_in),
        "bias": tensor(d_out) if draw(st.sampled_from(biases)) else None,
        "lora_a": tensor(rank, d_in),
        "lora_b": tensor(d_out, rank),
        "alpha": draw(st.sampled_from([1.0, 8.0, 3.0, 0.5])),
        "trainable": draw(st.booleans()),
        "x": draw(st.tensors(st.permuted(st.just(tensor(*leading, d_in).numpy())))),
    }


@KATA.cases
def cases(draw):
    return layer_case(draw)


@KATA.example
def worked_example():
    import torch

    return {
        "weight": torch.eye(2),
        "bias": None,
        "lora_a": torch.tensor([[1.0, 1.0]]),
        "lora_b": torch.tensor([[1.0], [0.0]]),
        "alpha": 2.0,
        "trainable": True,
        "x": torch.tensor([1.0, 2.0]),
    }


def made(student, weight, bias, rank, alpha, trainable=True):
    """A base and the layer around it."""
    base = student.build(BESIDE, "linear", weight, bias, trainable)
    return base, student.LoRALinear(base, rank, alpha)


def loaded(student, weight, bias, lora_a, lora_b, alpha, trainable=True):
    """A base and the layer around it, with these factors."""
    base, layer = made(student, weight, bias, len(lora_a), alpha, trainable)
    weights = {"base.weight": weight, "lora_a": lora_a, "lora_b": lora_b}
    weights |= {} if bias is None else {"base.bias": bias}
    return base, expect.loads(student, layer, weights)


def weight_of(student, layer):
    return student.anatomy(layer)["parameters"]["base.weight"].clone()


@KATA.observe
def observe(student, weight, bias, lora_a, lora_b, alpha, trainable, x):
    return {"result": loaded(student, weight, bias, lora_a, lora_b, alpha, trainable)[1](x)}


def close(got, expected, what, width):
    expect.close(got, expected, what, terms=width, roundings=ROUNDINGS)


@KATA.law(points=0.5)
def test_it_begins_as_its_base(student, weight, bias, lora_a, alpha, trainable, x):
    """A new layer gives what its base gives, and its factors begin as the statement says."""
    rank = len(lora_a)
    base, layer = made(student, weight, bias, rank, alpha, trainable)
    require_parameters(student.anatomy(layer)["parameters"], weight, rank)
    names = student.build(BESIDE, "trainable_names", layer)
    expect.equal(sorted(names), ["lora_a", "lora_b"], "the list of trainable parameters")
    base.load_state_dict({"weight": weight + 1}, strict=False)
    close(layer(x), base(x), "the result of a new layer, after its base got other weights,", x.shape[-1])
    half = student.anatomy(student.LoRALinear(student.build(BESIDE, "half_linear", 3, 2), 2, 1.0))
    for name in ("lora_a", "lora_b"):
        has = str(half["parameters"][name].dtype)
        expect.true(has == "torch.float16", f"With a base in float16, `{name}` must be float16. It is {has}.")


def require_parameters(parameters, weight, rank):
    """Require that the factors have the due shape and first numbers."""
    for name, shape in (("lora_a", (rank, weight.shape[1])), ("lora_b", (len(weight), rank))):
        has = f"it has {', '.join(parameters)}"
        expect.true(name in parameters, f"The layer must have a parameter `{name}`; {has}.")
        found = tuple(parameters[name].shape)
        expect.true(found == shape, f"`{name}` has the shape {shape}; it has {found}.")
    expect.true(not parameters["lora_b"].any(), "`lora_b` must begin as zeros.")
    expect.true(parameters["lora_a"].any(-1).all(), "No row of `lora_a` may begin as zeros.")


def with_other_factors(draw):
    case = layer_case(draw)
    return {**case, "other_a": case["lora_a"].flip(-1) + 1, "other_b": case["lora_b"].flip(0) - 2}


@KATA.law(points=0.5, cases=with_other_factors)
def test_merging_changes_no_result(student, weight, bias, lora_a, lora_b, alpha, x, other_a, other_b):
    """After merge, and after another merge, a call gives the same."""
    base, layer = loaded(student, weight, bias, lora_a, lora_b, alpha)
    before, width = layer(x).clone(), x.shape[-1] + len(lora_a)
    with student.holding_results() as held:
        layer(x), layer(x + 1)
    expect.true(not held.overwritten, "A call must leave the result of an earlier one as it was.")
    layer.merge()
    close(layer(x), before, "the result after merge", width)
    close(base(x), before, "the result of the base after merge", width)
    layer.merge()
    close(layer(x), before, "the result after merge and merge", width)
    _, layer = loaded(student, weight, bias, lora_a, lora_b, alpha)
    layer.merge(), layer.unmerge()
    layer.load_state_dict({"lora_a": other_a, "lora_b": other_b}, strict=False)
    before = layer(x)
    layer.merge()
    what = "the result after merge, unmerge, other factors and merge,"
    close(layer(x), before, what, 8 * width)


@KATA.law(points=0.5)
def test_unmerging_restores_the_layer(student, weight, bias, lora_a, lora_b, alpha, x):
    """After unmerge the weight and the results are what they were, and the base is frozen."""
    _, layer = loaded(student, weight, bias, lora_a, lora_b, alpha)
    before, width = layer(x), 4 * (x.shape[-1] + len(lora_a))
    layer.unmerge()
    close(weight_of(student, layer), weight, "base.weight after an unmerge without a merge", width)
    layer.merge()
    layer.unmerge()
    close(layer(x), before, "the result after merge and unmerge", width)
    close(weight_of(student, layer), weight, "base.weight after merge and unmerge", width)
    layer.unmerge()
    close(weight_of(student, layer), weight, "base.weight after merge, unmerge and unmerge,", width)
    names = student.build(BESIDE, "trainable_names", layer)
    what = "the list of trainable parameters after merge and unmerge"
    expect.equal(sorted(names), ["lora_a", "lora_b"], what)


@KATA.law(points=0.5)
def test_the_update_is_proportional_to_alpha(student, weight, bias, lora_a, lora_b, alpha, x):
    """What the layer adds to its base's result is proportional to alpha."""
    base, once = loaded(student, weight, bias, lora_a, lora_b, alpha)
    _, thrice = loaded(student, weight, bias, lora_a, lora_b, 3 * alpha)
    plain, width = base(x), 4 * (x.shape[-1] + len(lora_a))
    what = f"the result for alpha={3 * alpha:g}, from that for alpha={alpha:g},"
    close(thrice(x), plain + 3 * (once(x) - plain), what, width)


@KATA.law(points=0.5)
def test_merge_adds_the_product(student, weight, bias, lora_a, lora_b, alpha):
    """merge adds alpha / rank times lora_b lora_a to base.weight, which stays the same Parameter."""
    base, layer = loaded(student, weight, bias, lora_a, lora_b, alpha)
    student.build(BESIDE, "remember_weight", base)
    layer.merge()
    due = weight + alpha / len(lora_a) * (lora_b @ lora_a)
    close(weight_of(student, layer), due, "base.weight after merge", len(lora_a))
    same = student.build(BESIDE, "has_that_weight", base)
    expect.true(same is True, "After merge, base.weight must be the Parameter that it was before.")


@KATA.law(points=0.5, purpose=True)
def test_the_update_is_cheap(student):
    """A call costs the two thin products beyond its base, and nothing beyond it when merged."""
    import torch

    rng = np.random.default_rng(32)
    weight, x, lora_a, lora_b = (
        torch.from_numpy(rng.standard_normal(shape).astype("float32"))
        for shape in ((32, 32), (1, 32), (2, 32), (32, 2))
    )
    base, layer = loaded(student, weight, None, lora_a, lora_b, 4.0)
    result = x @ (weight + 2 * lora_b @ lora_a).T
    alone = work_of(student, base, x, x @ weight.T)
    beyond = work_of(student, layer, x, result) - alone
    thin = 2 * (32 * 2 + 2 * 32)
    sizes = "For one row of 32 numbers, a base of 32 x 32 and rank 2"
    expect.true(
        beyond <= 2 * thin,
        f"{sizes}, the two thin products take {thin} floating-point operations. A call may take {2 * thin} "
        f"more than its base. It takes {beyond:,} more.",
    )
    layer.merge()
    beyond = work_of(student, layer, x, result) - alone
    told = (
        f"{sizes}, a call of the merged layer takes as many floating-point operations as its base, {alone:,}."
    )
    expect.true(beyond <= 0, f"{told} It takes {beyond:,} more.")


def work_of(student, layer, x, expected):
    """The operations of a call, once its result is right."""
    with student.counting_flops() as work:
        result = layer(x)
    expect.close(result, expected, "the result", terms=256, roundings=ROUNDINGS)
    return work.flops


@KATA.law(points=0.5)
def test_refuses_a_rank_below_one(student):
    """A rank below 1 raises a ValueError; one above both widths is taken."""
    import torch

    base = student.build(BESIDE, "linear", torch.ones(2, 3), None, True)
    student.LoRALinear(base, 5, 1.0)
    for rank in (0, -1):
        expect.refuses(student.LoRALinear, base, rank, 1.0, why=f"rank={rank} is less than 1")
