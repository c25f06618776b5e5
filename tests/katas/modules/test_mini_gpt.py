"""mini_gpt: its cases and its laws."""

import numpy as np

from grader import expect
from grader import strategies as st
from grader.kata import Kata

ROUNDINGS = 2
#: num_heads and d_model; three features at least, for two always normalise to plus and minus one.
WIDTHS = [(1, 3), (2, 4), (2, 6), (3, 3), (3, 6), (4, 8)]

KATA = Kata(
    "mini_gpt",
    track="modules",
    entry_points=("MiniGPT",),
    title="A whole decoder-only model",
    source="Radford et al. 2019, section 2.3; Vaswani et al. 2017, sections 3.2 and 3.3",
    library="torch",
    axes={"ids": "batch tokens"},
    grades_gradients=True,
    roundings=ROUNDINGS,
    bank_size=16,
    hints=(
        "Write the forward pass as the four lines of the statement, and make a module for each word in "
        "them: embed, a block, attn inside it, ln_f, head. The names in the contract are the names of "
        "attributes.",
        "The first position is the best test: without a future it depends on one token only. Then compare "
        "the logits of a text with those of its first half. If they differ, look at the mask; if they are "
        "right for one head only, at the order in which qkv's columns are split.",
        "Block: x plus attn of ln1 of x, then x plus mlp of ln2 of that. Attention: cut qkv's result into "
        "three equal parts along the last axis, each into heads, [B, H, T, d_head]; scores over the root of "
        "d_head; -inf above the diagonal; softmax; times v; heads back beside each other; out_proj. After "
        "the last block ln_f, then head. Check heads in the constructor and the length in forward.",
    ),
    hint_for={
        "lets_tokens_see_the_future": 2,
        "lets_tokens_see_the_next_one": 2,
        "groups_qkv_by_heads": 2,
        "interleaves_the_heads": 2,
    },
)


def sizes_of(draw):
    """The constructor's arguments."""
    num_heads, d_model = draw(st.sampled_from(WIDTHS))
    return {
        "vocab_size": draw(st.integers(2, 6)),
        "d_model": d_model,
        "num_heads": num_heads,
        "d_ff": draw(st.integers(1, 6)),
        "num_layers": draw(st.integers(1, 3)),
        "max_len": draw(st.integers(1, 5)),
    }


def shapes_of(vocab_size, d_model, d_ff, num_layers, max_len, **_):
    """Every parameter's shape by name."""
    square, norm = (d_model, d_model), (d_model,)
    block = {
        "ln1.weight": norm,
        "ln1.bias": norm,
        "attn.qkv.weight": (3 * d_model, d_model),
        "attn.qkv.bias": (3 * d_model,),
        "attn.out_proj.weight": square,
        "attn.out_proj.bias": norm,
        "ln2.weight": norm,
        "ln2.bias": norm,
        "mlp.0.weight": (d_ff, d_model),
        "mlp.0.bias": (d_ff,),
        "mlp.2.weight": (d_model, d_ff),
        "mlp.2.bias": norm,
    }
    stack = {f"blocks.{i}.{name}": shape for i in range(num_layers) for name, shape in block.items()}
    embed = {"embed.token_embed.weight": (vocab_size, d_model), "embed.pos_embed.weight": (max_len, d_model)}
    ends = {"ln_f.weight": norm, "ln_f.bias": norm, "head.weight": (vocab_size, d_model)}
    return {**embed, **stack, **ends, "head.bias": (vocab_size,)}


def drawn_weights(draw, shapes):
    """Every parameter, from a seed that is drawn."""
    dtype = draw(st.float_dtypes())
    return weights_of(np.random.default_rng(draw(st.integers(0, 2**16))), dtype, shapes)


def weights_of(rng, dtype, shapes):
    """Hundredths around 0.5 in size; the weights of norms around 1."""
    import torch

    def weight(name, shape):
        centre = 1.0 if len(shape) == 1 and name.endswith("weight") else 0.0
        hundredths = np.round(rng.standard_normal(shape) * 0.5, 2) + centre
        return torch.from_numpy(hundredths.astype(dtype))

    return {name: weight(name, shape) for name, shape in shapes.items()}


def drawn_ids(draw, shape, vocab_size):
    """Ids, their memory in either order of axes."""
    size = shape[0] * shape[1]
    ids = draw(st.lists(st.integers(0, vocab_size - 1), min_size=size, max_size=size))
    return draw(st.tensors(st.permuted(st.just(np.array(ids, dtype=np.int64).reshape(shape)))))


@KATA.cases
def cases(draw):
    """One text in four is as long as the model allows."""
    return text_case(draw, spare=(1, 2, 3, 0))


def text_case(draw, shortest=1, spare=(1, 2)):
    """A model's sizes and weights, and a batch of texts that leave some of its positions unused."""
    sizes, tokens = sizes_of(draw), draw(st.integers(shortest, 5))
    sizes["max_len"] = tokens + draw(st.sampled_from(spare))
    return {
        "sizes": sizes,
        "weights": drawn_weights(draw, shapes_of(**sizes)),
        "ids": drawn_ids(draw, (draw(st.integers(1, 3)), tokens), sizes["vocab_size"]),
    }


def loaded(student, sizes, weights):
    """The student's model with these weights."""
    return expect.loads(student, student.MiniGPT(**sizes), weights)


def extreme_case(seed, dtype, loudness=1.0, offset=0.0):
    """Weights of queries and keys so many times as large, and positions so far from zero. With the seeds
    below, the largest score that a query may see lies far above its others, so that no digit of it counts."""
    import torch

    sizes = {"vocab_size": 5, "d_model": 6, "num_heads": 2, "d_ff": 3, "num_layers": 2, "max_len": 5}
    rng = np.random.default_rng(seed)
    weights = weights_of(rng, dtype, shapes_of(**sizes))
    for name, weight in weights.items():
        if "qkv" in name:
            weight[:12] *= loudness
    weights["embed.pos_embed.weight"] += offset
    return {"sizes": sizes, "weights": weights, "ids": torch.from_numpy(rng.integers(0, 5, (2, 4)))}


@KATA.example
def scores_in_the_hundreds():
    return extreme_case(36, "float64", loudness=8.0)


@KATA.example
def scores_in_the_thousands():
    """Penalties of ten thousand are too small here."""
    return extreme_case(36, "float32", loudness=40.0)


@KATA.example
def features_around_256():
    """A variance that is a difference of squares loses its digits here."""
    return extreme_case(1, "float32", offset=256.0)


@KATA.corner(points=0.5)
def limits(sizes, weights, ids):
    """Scores beyond what exp can take, features far from zero, and texts as long as max_len give the right
    logits."""
    largest = max(float(weight.abs().max()) for weight in weights.values())
    return largest > 10 or ids.shape[1] == sizes["max_len"]


@KATA.observe
def observe(student, sizes, weights, ids):
    """The logits, in evaluation mode."""
    model = loaded(student, sizes, weights)
    model.eval()
    return {"result": model(ids)}


def logits_of(model, ids, vocab_size):
    """The logits, once they are known to have their three axes."""
    logits = model(ids)
    shape, due = tuple(getattr(logits, "shape", ())), (*ids.shape, vocab_size)
    expect.true(shape == due, f"The logits have the shape {due}; it is {shape}.")
    return logits


@KATA.law(points=0.5)
def test_parameters_have_their_names(student, sizes, weights):
    """The parameters have the names and shapes of the statement, and no two of them are one."""
    model = loaded(student, sizes, weights)
    shared = student.anatomy(model)["shared"]
    expect.true(
        not shared, f"Each parameter must be one of its own; {' and '.join((shared or [[]])[0])} are one."
    )


def with_a_future(draw):
    """Texts of two tokens or more, and where the first part ends."""
    case = text_case(draw, shortest=2)
    return {**case, "cut": draw(st.integers(1, case["ids"].shape[1] - 1))}


@KATA.law(points=0.5, cases=with_a_future)
def test_what_follows_changes_nothing(student, sizes, weights, ids, cut):
    """The logits of a text's beginning are the same with and without what follows."""
    model = loaded(student, sizes, weights)
    model.eval()
    whole = logits_of(model, ids, sizes["vocab_size"])
    alone = logits_of(model, ids[:, :cut], sizes["vocab_size"])
    what = f"the tensor of logits of the first {cut} of {ids.shape[1]} tokens, without those that follow,"
    expect.close(alone, whole[:, :cut], what, terms=3 * sizes["d_model"], roundings=ROUNDINGS)


def texts_too_long(draw):
    """Texts of one to three tokens more than the model has positions."""
    case = text_case(draw)
    sizes = case["sizes"]
    tokens = sizes["max_len"] + draw(st.integers(1, 3))
    return {**case, "ids": drawn_ids(draw, (draw(st.integers(1, 2)), tokens), sizes["vocab_size"])}


@KATA.law(points=0.5, cases=texts_too_long)
def test_refuses_long_texts(student, sizes, weights, ids):
    """A text longer than max_len is refused with a ValueError."""
    model = loaded(student, sizes, weights)
    why = f"the text has {ids.shape[1]} tokens, and max_len is {sizes['max_len']}"
    for training in (True, False):
        model.train(training)
        mode = "training" if training else "evaluation"
        expect.refuses(model, ids, why=f"{why} (the model is in {mode} mode)")


def heads_that_do_not_divide(draw):
    """Sizes in which num_heads does not divide d_model."""
    sizes = sizes_of(draw)
    num_heads, d_model = draw(st.sampled_from([(2, 3), (2, 5), (3, 4), (3, 8), (4, 6), (4, 2)]))
    return {"sizes": {**sizes, "num_heads": num_heads, "d_model": d_model}}


@KATA.law(points=0.5, cases=heads_that_do_not_divide)
def test_refuses_heads_that_do_not_divide(student, sizes):
    """A num_heads that does not divide d_model is refused with a ValueError when the model is made."""
    why = f"d_model={sizes['d_model']} cannot be cut into {sizes['num_heads']} heads"
    expect.refuses(student.MiniGPT, **sizes, why=why)
