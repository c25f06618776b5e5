"""tensor_parallel: its cases and its laws.

Numbers are multiples of 1/4, but b1 of 1/4 plus 1/32, so that no number before the ReLU is 0.
"""

import numpy as np

from grader import expect
from grader import strategies as st
from grader.kata import Kata
from grader.ranks import Ranks

PARTS = ("output", "d_x", "d_w1", "d_b1", "d_w2", "d_b2")

KATA = Kata(
    "tensor_parallel",
    track="parallel",
    grades_device=False,  # the collectives are functions of the caller, whose results lie on the CPU
    entry_points=("mlp_rank",),
    title="One layer on several machines",
    source="Shoeybi et al. 2019, section 3",
    roundings=3,
    bank_size=40,
    hints=(
        "Take the example and two sheets of paper, one for each rank. Which numbers can a sheet compute "
        "without the other, and which are only a part of a sum?",
        "Forward: the columns of w1 make complete hidden numbers, so a rank needs nobody up to the ReLU. The "
        "rows of w2 make one part of every output. That is where the ranks meet, and what belongs to the "
        "output once, such as b2, comes afterwards. Backward: all ranks have the whole of grad. The weights' "
        "gradients need only the rank's own hidden numbers. But x went into the hidden numbers of all ranks, "
        "so its gradient is a sum over them.\n\n"
        "    hidden w2        [T, d_model]   a part: sum over the ranks\n"
        "    d_before w1^T    [T, d_model]   a part: sum over the ranks\n"
        "    all others                      complete on each rank",
        "In this order:\n\n"
        "    1   before and hidden, as if there were one rank     [T, d_ff/N]\n"
        "    2   hidden times w2, through all_reduce; then b2     [T, d_model]\n"
        "    3   grad times w2 transposed, 0 where before is\n"
        "        not positive                                     [T, d_ff/N]\n"
        "    4   that times w1 transposed, through all_reduce     [T, d_model]\n\n"
        "d_w1 is made of x transposed and step 3, d_b1 is its sum over the tokens. d_w2 is made of hidden "
        "transposed and grad, d_b2 is the sum of grad over the tokens. Call all_reduce in every call of the "
        "function, also where the rank has only zeros to give.",
    ),
)


def quarters(rng, *shape):
    """Multiples of 1/4 from -2 to 2."""
    return rng.integers(-8, 9, shape) / 4


def draw_layer(rng, size, d_ff, tokens, d_model, dtype):
    """The whole layer's arguments, for so many ranks."""
    arrays = {
        "x": quarters(rng, tokens, d_model),
        "w1": quarters(rng, d_model, d_ff),
        "b1": quarters(rng, d_ff) + 1 / 32,
        "w2": quarters(rng, d_ff, d_model),
        "b2": quarters(rng, d_model),
        "grad": quarters(rng, tokens, d_model),
    }
    return {"size": size, "layer": {name: array.astype(dtype) for name, array in arrays.items()}}


@KATA.cases
def cases(draw, sizes=(2, 2, 3, 1, 4)):
    """One to four ranks, each with one to three hidden numbers; often a rank has none above 0."""
    rng, size = np.random.default_rng(draw(st.integers(0, 2**16))), draw(st.sampled_from(sizes))
    d_ff, tokens, d_model = size * draw(st.integers(1, 3)), draw(st.integers(1, 4)), draw(st.integers(2, 4))
    case = draw_layer(rng, size, d_ff, tokens, d_model, draw(st.float_dtypes()))
    layer = {name: draw(st.permuted(st.just(array))) for name, array in case["layer"].items()}
    return {"size": size, "layer": layer}


@KATA.example
def printed_ranks():
    """The example of the statement."""
    layer = {
        "x": np.array([[2.0, 1.0]]),
        "w1": np.array([[1.0, 1.0], [1.0, 0.0]]),
        "b1": np.array([0.0, 0.0]),
        "w2": np.array([[1.0, 2.0], [4.0, 1.0]]),
        "b2": np.array([0.5, -1.0]),
        "grad": np.array([[1.0, 2.0]]),
    }
    return {"size": 2, "layer": layer}


@KATA.example
def a_rank_with_nothing_to_give():
    """All hidden numbers of rank 1 are cut off by the ReLU."""
    layer = printed_ranks()["layer"]
    return {"size": 2, "layer": {**layer, "w1": np.array([[1.0, -1.0], [1.0, 0.0]])}}


def shards(ranks, x, w1, b1, w2, b2, grad):
    """The arguments of each rank."""
    own = zip(ranks.scatter(w1, axis=1), ranks.scatter(b1), ranks.scatter(w2), strict=True)
    return [{"x": x, "w1": w1, "b1": b1, "w2": w2, "b2": b2, "grad": grad} for w1, b1, w2 in own]


@KATA.observe
def observe(student, size, layer):
    """The six results of every rank."""
    ranks = Ranks(size)
    seen = {}
    for rank, answer in enumerate(ranks.run(student.mlp_rank, shards(ranks, **layer), "all_reduce")):
        if isinstance(answer, tuple | list) and len(answer) == len(PARTS):
            seen |= {f"{name} of rank {rank}": part for name, part in zip(PARTS, answer, strict=True)}
        else:
            seen[f"result of rank {rank}"] = answer
    return seen


def run(student, ranks, layer):
    """What each rank returns, once each has six arrays."""
    answers = ranks.run(student.mlp_rank, shards(ranks, **layer), "all_reduce")
    for rank, answer in enumerate(answers):
        is_due = isinstance(answer, tuple | list) and len(answer) == len(PARTS)
        expect.true(is_due, f"Rank {rank} returns six arrays: {', '.join(PARTS)}.")
    return answers


def whole(x, w1, b1, w2, b2, grad):
    """The results of a single machine."""
    before = x @ w1 + b1
    d_before = np.where(before > 0, grad @ w2.T, 0)
    hidden = np.where(before > 0, before, 0)
    return {
        "output": hidden @ w2 + b2,
        "d_x": d_before @ w1.T,
        "d_w1": x.T @ d_before,
        "d_b1": d_before.sum(0),
        "d_w2": hidden.T @ grad,
        "d_b2": grad.sum(0),
    }


def layers_for_many(draw):
    """A layer that one, two, three, four and six ranks can share."""
    rng = np.random.default_rng(draw(st.integers(0, 2**16)))
    case = draw_layer(rng, 1, 12, draw(st.integers(2, 3)), draw(st.integers(2, 4)), draw(st.float_dtypes()))
    return {**case, "size": draw(st.sampled_from([2, 6, 4, 3, 1]))}


@KATA.law(points=0.5, cases=layers_for_many)
def test_any_number_of_ranks_gives_one_output(student, size, layer):
    """However many ranks share a layer, each has the output of a single one."""
    for rank, answer in enumerate(run(student, Ranks(size), layer)):
        what = f"the output of rank {rank} of {size}"
        expect.close(answer[0], whole(**layer)["output"], what, terms=12, roundings=4)


@KATA.law(points=0.5, cases=layers_for_many)
def test_any_number_of_ranks_gives_one_gradient(student, size, layer):
    """However many ranks share a layer, each has the gradients by x and b2 of a single one."""
    due = whole(**layer)
    for rank, answer in enumerate(run(student, Ranks(size), layer)):
        got, expected = [answer[1], answer[5]], [due["d_x"], due["d_b2"]]
        what = f"the pair (d_x, d_b2) of rank {rank} of {size}"
        expect.close(got, expected, what, terms=48, roundings=4)


@KATA.law(points=0.5, cases=layers_for_many)
def test_pieces_make_the_gradients_of_the_weights(student, size, layer):
    """The ranks' gradients of w1, b1 and w2, joined, are those of a single one."""
    due, answers = whole(**layer), run(student, Ranks(size), layer)
    for index, axis in ((2, 1), (3, 0), (4, 0)):
        name = PARTS[index]
        pieces = [answer[index] for answer in answers]
        for rank, (piece, part) in enumerate(zip(pieces, np.split(due[name], size, axis), strict=True)):
            expect.close(piece, part, f"{name} of rank {rank} of {size}", terms=12, roundings=4)


@KATA.law(points=0.5)
def test_two_sums(student, size, layer):
    """The ranks meet at most twice, once forward and once backward."""
    ranks = Ranks(size)
    run(student, ranks, layer)
    calls = ranks.calls("all_reduce")
    expect.true(calls <= 2, f"Each rank may call all_reduce twice. It was called {calls} times.")


@KATA.law(points=0.5)
def test_sends_no_more_than_two_activations(student, size, layer):
    """A rank gives at most 2 * T * d_model numbers to all_reduce."""
    ranks = Ranks(size)
    run(student, ranks, layer)
    given, limit = sum(exchange.given[0].size for exchange in ranks.exchanges), 2 * layer["x"].size
    expect.true(
        given <= limit,
        f"With x of shape {list(layer['x'].shape)} a rank may give {limit} numbers to all_reduce. "
        f"It gives {given}.",
    )


@KATA.law(points=0.5, cases=lambda draw: cases(draw, sizes=(2, 3)), purpose=True)
def test_a_rank_sees_its_own_shard_only(student, size, layer):
    """A rank computes from its own arguments and from sums, and keeps nothing of other calls."""
    ranks = Ranks(size)
    answers = run(student, ranks, layer)
    run(student, Ranks(size), {name: array[::-1] - 1 for name, array in layer.items()})
    for rank, arguments in enumerate(shards(ranks, **layer)):
        again = ranks.alone(student.mlp_rank, rank, arguments, "all_reduce")
        what = f"what rank {rank} returns when it runs again, after a layer of other numbers,"
        expect.close(list(again), list(answers[rank]), what, terms=12, roundings=4)
