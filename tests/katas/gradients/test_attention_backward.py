"""attention_backward: its cases and its laws.

Scores beyond 88 are made by a level that all keys share, so that the weights stay spread out: where one
weight is 1 the gradients are 0 but for rounding.
"""

import numpy as np

from grader import expect
from grader import strategies as st
from grader.kata import Kata

ROUNDINGS = 32
NAMES = "dq", "dk", "dv"

KATA = Kata(
    "attention_backward",
    track="gradients",
    entry_points=("attention_backward",),
    title="Attention backwards, without the matrix",
    source="Dao 2023, algorithm 2; Dao et al. 2022, appendix B",
    library="torch",
    axes={
        "dout": "queries d_v",
        "q": "queries d_k",
        "k": "keys d_k",
        "v": "keys d_v",
        "out": "queries d_v",
        "lse": "queries",
        "dq": "queries d_k",
        "dk": "keys d_k",
        "dv": "keys d_v",
    },
    hints=(
        "First write it for one block that holds everything: five products, and each formula is one line. "
        "Which of the six lines needs a whole row, and which given number spares it?",
        "Two loops, over blocks of queries and over blocks of keys. A block of dq gets a part from every "
        "block of keys; a block of dk and of dv from every block of queries. So all three begin as zeros and "
        "are added to. What of a row can be computed once, before the loops?",
        "First dq, dk, dv as zeros, and D [..., Tq, 1]. For a block of queries and one of keys:\n\n"
        "    scores     block of q times block of k, scaled    [..., Bq, Bk]\n"
        "    hidden     -inf where the key stands after the query\n"
        "    weights    exp of scores minus block of lse       [..., Bq, Bk]\n"
        "    dweights   block of dout times block of v         [..., Bq, Bk]\n"
        "    dscores    weights times (dweights minus D)       [..., Bq, Bk]\n"
        "    to dq      dscores times block of k, scaled\n"
        "    to dk      dscores, turned, times block of q, scaled\n"
        "    to dv      weights, turned, times block of dout\n\n"
        "With causal, query i stands at position Tk - Tq + i: end the inner loop with the last key that the "
        "block's last query sees, and compare positions in the whole sequence, not places in the block.",
    ),
    hint_for={
        "takes_d_of_each_block": 1,
        "forgets_d": 1,
        "overwrites_dk_and_dv": 2,
        "overwrites_dq": 2,
        "counts_queries_from_zero": 3,
        "compares_places_in_the_block": 3,
    },
    roundings=ROUNDINGS,
    bank_size=30,
)


def forward(q, k, v, causal):
    """(out, lse) in float64."""
    scores = q.double() @ k.double().mT / q.shape[-1] ** 0.5
    if causal:
        later = scores.new_ones(scores.shape[-2:]).triu(1 + k.shape[-2] - q.shape[-2]).bool()
        scores = scores.masked_fill(later, float("-inf"))
    lse = scores.logsumexp(-1)
    return (scores - lse[..., None]).exp() @ v.double(), lse


def complete(dout, q, k, v, block_size, causal):
    """A case, with what the forward pass gives."""
    given = {"dout": dout, "q": q, "k": k, "v": v, **results_of_the_forward_pass(q, k, v, causal)}
    return {**given, "block_size": block_size, "causal": causal}


@KATA.derived
def results_of_the_forward_pass(q, k, v, causal):
    out, lse = (result.to(q.dtype) for result in forward(q, k, v, causal))
    return {"out": out, "lse": lse}


def backward_case(draw, causal=None, level=0.0, longest=5, fewest=1):
    """Arguments of one call, with no, one or two leading axes; `level` is added to all scores, about."""
    leading = draw(st.shapes(draw(st.sampled_from([1, 2, 0])), longest=3))
    causal = draw(st.booleans()) if causal is None else causal
    queries, d_k, d_v = draw(st.integers(fewest, longest)), draw(st.integers(2, 4)), draw(st.integers(1, 4))
    keys = queries + draw(st.integers(0, 3)) if causal else draw(st.integers(2, longest + 1))
    dtype = draw(st.float_dtypes())

    def tensor(*shape, shift=0.0):
        arrays = st.normal_arrays((*leading, *shape), dtype)
        shifted = arrays.map(lambda drawn: np.concatenate([drawn[..., :-1], 0 * drawn[..., -1:] + shift], -1))
        return draw(st.tensors(st.permuted(shifted if shift else arrays)))

    shared = abs(level * d_k**0.5) ** 0.5
    return complete(
        tensor(queries, d_v),
        tensor(queries, d_k, shift=shared),
        tensor(keys, d_k, shift=shared if level > 0 else -shared),
        tensor(keys, d_v),
        draw(st.sampled_from([2, 1, 3, 7])),
        causal,
    )


def plain_cases(draw):
    return backward_case(draw)


@KATA.cases
def cases(draw):
    """Plain ones, and ones with large scores."""
    return backward_case(draw, level=draw(st.sampled_from([0.0, 0.0, 0.0, 100.0, -115.0])))


@KATA.corner(points=0.5)
def scores_beyond_88(q, k):
    """Scores of which exp overflows, or is 0, are right."""
    return float((q @ k.mT).abs().max()) > 60 * q.shape[-1] ** 0.5


def pinned(dout, q, k, v, block_size, causal=False, dtype="float64"):
    """A case from nested lists."""
    import torch

    dout, q, k, v = (torch.tensor(rows, dtype=getattr(torch, dtype)) for rows in (dout, q, k, v))
    return complete(dout, q, k, v, block_size, causal)


@KATA.example
def worked_example():
    return pinned([[1.0]], [[1.0]], [[0.0], [1.0986]], [[2.0], [6.0]], 2)


@KATA.example
def a_step_behind_a_cache():
    k, v = [[1.0], [0.0], [1.0], [2.0], [0.5]], [[1.0], [2.0], [4.0], [8.0], [9.0]]
    return pinned([[1.0], [2.0]], [[0.5], [1.0]], k, v, 2, True)


@KATA.example
def more_queries_than_keys():
    """Without causal there may be fewer keys than queries."""
    q, k = [[0.0, 0.5], [1.0, 0.0], [0.0, 1.0]], [[1.0, 0.0], [0.0, 2.0]]
    return pinned([[1.0], [0.0], [3.0]], q, k, [[1.0], [5.0]], 2, dtype="float32")


@KATA.example
def a_hidden_score_far_above_the_seen():
    return pinned([[1.0], [0.5]], [[1.0], [-1.0]], [[1.0], [2.0], [900.0]], [[1.0], [2.0], [4.0]], 3, True)


@KATA.example
def all_scores_far_below_zero():
    k = [[-20000.0], [-20001.0], [-20000.0]]
    return pinned([[1.0], [0.5]], [[1.0], [1.0]], k, [[1.0], [2.0], [4.0]], 3, True)


@KATA.observe
def observe(student, **arguments):
    """The three gradients by name; what is no triple as it came."""
    causal = (True,) if arguments.pop("causal") else ()
    answer = student.attention_backward(*arguments.values(), *causal)
    if isinstance(answer, tuple | list) and len(answer) == 3:
        return dict(zip(NAMES, answer, strict=True))
    return {"result": answer}


def gradients(student, dout, q, k, v, out, lse, block_size, causal):
    """(dq, dk, dv), once they are three tensors of their shapes."""
    answer = student.attention_backward(dout, q, k, v, out, lse, block_size, *([True] if causal else []))
    triple = isinstance(answer, tuple | list) and len(answer) == 3
    expect.true(triple, "The result is the tuple (dq, dk, dv).")
    for name, part, due in zip(NAMES, answer, (q.shape, k.shape, v.shape), strict=True):
        shape = getattr(part, "shape", None)
        told = f"{name} must have the shape {tuple(due)}; it has {shape and tuple(shape)}."
        expect.true(shape == due, told)
    return answer


def due_gradients(dout, q, k, v, causal):
    """The gradients by the formulas of the statement, with all scores at once, in float64."""
    out, lse = forward(q, k, v, causal)
    wide = [tensor.double() for tensor in (dout, q, k, v)]
    dout, q, k, v = wide
    scale = q.shape[-1] ** -0.5
    weights = (q @ k.mT * scale - lse[..., None]).exp()
    if causal:
        weights = weights.tril(k.shape[-2] - q.shape[-2])
    dscores = weights * (dout @ v.mT - (dout * out).sum(-1, keepdim=True)) * scale
    return dscores @ k, dscores.mT @ q, weights.mT @ dout


def with_directions(draw):
    case = backward_case(draw)
    rng = np.random.default_rng(draw(st.integers(0, 2**16)))
    directions = {}
    for name in ("q", "k", "v"):
        drawn = rng.standard_normal(tuple(case[name].shape)).astype(str(case[name].dtype)[6:])
        directions[f"t_{name}"] = draw(st.tensors(st.just(drawn)))
    return {**case, **directions}


@KATA.law(points=1, cases=with_directions)
def test_it_is_the_adjoint(student, dout, q, k, v, out, lse, block_size, causal, t_q, t_k, t_v):
    """Where q, k or v move a little, sum(dout * out) changes as the gradients say (central differences)."""
    import torch

    step, found, due = 1e-4, [], []
    for at, part, t in zip(
        range(3),
        gradients(student, dout, q, k, v, out, lse, block_size, causal),
        (t_q, t_k, t_v),
        strict=True,
    ):
        there, back = ([x.double() for x in (q, k, v)] for _ in range(2))
        there[at] = there[at] + step * t.double()
        back[at] = back[at] - step * t.double()
        change = forward(*there, causal)[0] - forward(*back, causal)[0]
        due.append((dout.double() * change).sum() / (2 * step))
        found.append((part.double() * t.double()).sum())
    what = "the sum of each of dq, dk and dv times a direction, against the change of sum(dout * out),"
    expect.close(torch.stack(found).to(q.dtype), torch.stack(due).to(q.dtype), what, terms=64, roundings=8)


@KATA.law(points=0.5, cases=plain_cases)
def test_rows_of_dscores_sum_to_zero(student, dout, q, k, v, out, lse, block_size, causal):
    """dk sums to 0 over the keys, since each row of dscores sums to 0."""
    import torch

    _, dk, _ = gradients(student, dout, q, k, v, out, lse, block_size, causal)
    total = dk.sum(-2)
    expect.close(total, torch.zeros_like(total), "the sum of dk over the keys", terms=64, roundings=ROUNDINGS)


@KATA.law(points=0.5, cases=plain_cases)
def test_dv_mixes_dout_by_the_weights(student, dout, q, k, v, out, lse, block_size, causal):
    """dv is the transposed weights times dout."""
    _, _, dv = gradients(student, dout, q, k, v, out, lse, block_size, causal)
    _, _, due = due_gradients(dout, q, k, v, causal)
    what = "dv, against the transposed weights times dout,"
    expect.close(dv, due.to(q.dtype), what, terms=8, roundings=ROUNDINGS)


def the_first_query_alone(draw):
    """Causal cases in which the loss depends on the first query's output alone: later keys have no part."""
    case = backward_case(draw, causal=True, fewest=2)
    dout = case["dout"].clone()
    dout[..., 1:, :] = 0
    return {**case, "dout": dout}


@KATA.law(points=0.5, cases=the_first_query_alone)
def test_hidden_keys_get_no_gradient(student, dout, q, k, v, out, lse, block_size, causal):
    """Keys and values that no query with a gradient sees have the gradient 0."""
    import torch

    _, dk, dv = gradients(student, dout, q, k, v, out, lse, block_size, causal)
    first = 1 + k.shape[-2] - q.shape[-2]
    for name, part in (("dk", dk[..., first:, :]), ("dv", dv[..., first:, :])):
        what = f"{name} of the keys {first} and later, where dout is 0 but for query 0 and causal is True,"
        expect.equal(part, torch.zeros_like(part), what)


#: Queries, keys, width, block size and `causal` of measured calls. Each finds another tensor that is too
#: large: all scores, a block of queries with all keys, a block of keys with all queries, a mask of all
#: positions, the products of all numbers of a block.
MEASURED = [(48, 48, 2, 8, False), (8, 48, 2, 8, False), (48, 8, 2, 8, False), (48, 48, 2, 8, True)]
MEASURED += [(48, 48, 8, 16, False)]
MEASURES = "queries", "keys", "width", "block_size", "causal"


def normal_case(queries, keys, width, block_size, causal):
    """Arguments with two heads."""
    import torch

    rng = np.random.default_rng(queries + keys + width)
    shapes = [(1, 2, length, width) for length in (queries, queries, keys, keys)]
    tensors = [torch.from_numpy(rng.standard_normal(shape).astype("float32")) for shape in shapes]
    return complete(*tensors, block_size, causal)


def right_gradients(student, case):
    """Require the gradients of a measured call."""
    found = gradients(student, **case)
    due = due_gradients(*(case[name] for name in ("dout", "q", "k", "v", "causal")))
    for name, got, wanted in zip(NAMES, found, due, strict=True):
        expect.close(got, wanted.to(got.dtype), name, terms=case["k"].shape[-2], roundings=ROUNDINGS)


def measured_calls(draw):
    return dict(zip(MEASURES, draw(st.sampled_from(MEASURED)), strict=True))


@KATA.law(points=1, cases=measured_calls, purpose=True)
def test_no_tensor_is_large(student, queries, keys, width, block_size, causal):
    """The right gradients take no tensor larger than twice the arguments or the scores of one block, and all
    scores are computed in PyTorch."""
    case = normal_case(queries, keys, width, block_size, causal)
    with student.counting_largest_tensor() as made:
        right_gradients(student, case)
    q, k = case["q"], case["k"]
    limit = 2 * max(q.numel(), k.numel(), 2 * block_size**2)
    sizes = (
        f"q and dout {list(q.shape)}, k and v {list(k.shape)}, block_size={block_size} and causal={causal}"
    )
    expect.true(
        made.largest.elements <= limit,
        f"With {sizes}, no tensor may have more than {limit:,} elements. The largest has "
        f"{made.largest.elements:,}: {made.largest}.",
    )
    seen = sum(min(keys, 1 + i + keys - queries) for i in range(queries)) if causal else queries * keys
    expect.true(
        made.written >= 4 * seen,
        f"With {sizes} there are {2 * seen:,} scores and as many dscores, each of them computed in PyTorch. "
        f"All operations together wrote {made.written:,} numbers.",
    )


@KATA.law(points=0.5)
def test_later_blocks_are_not_computed(student):
    """Each product is computed at most twice, and not at all in blocks of keys that `causal` hides."""
    work = {}
    for causal in (False, True):
        case = normal_case(64, 64, 8, 8, causal)
        with student.counting_flops() as counted:
            right_gradients(student, case)
        work[causal] = counted.flops
    once = 5 * 2 * case["q"].numel() * 64
    expect.true(
        work[False] <= 2 * once,
        "For 64 queries and 64 keys in blocks of 8, the five products computed once take "
        f"{once:,} floating-point operations, and at most twice as many are expected. It takes "
        f"{work[False]:,}: blocks are computed again and again.",
    )
    expect.true(
        work[True] <= 0.75 * work[False],
        "For 64 queries and 64 keys in blocks of 8, causal may take at most three quarters of the work: "
        f"{int(0.75 * work[False]):,} floating-point operations. It takes {work[True]:,}, and without causal "
        f"{work[False]:,}.",
    )
