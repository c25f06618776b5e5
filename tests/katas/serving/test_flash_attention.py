"""flash_attention: its cases and its laws."""

import numpy as np

from grader import expect
from grader import strategies as st
from grader.kata import Kata, Rule

ROUNDINGS = 8

KATA = Kata(
    "flash_attention",
    track="serving",
    entry_points=("flash_attention",),
    title="Attention without the matrix",
    source="Dao et al. 2022, section 3.1; Milakov and Gimelshein 2018",
    library="torch",
    needs=("scaled_dot_product_attention",),
    rules=(
        Rule(
            ("torch.nn.functional.scaled_dot_product_attention", "torch.nn.MultiheadAttention"),
            "Build the attention from products of blocks.",
        ),
    ),
    axes={"q": "queries d_k", "k": "keys d_k", "v": "keys d_v"},
    hints=(
        "Compute the softmax of [1, 2, 4] when you may look at [1, 2] first and at [4] afterwards. Which two "
        "numbers have to be kept from the first look, and what happens to them when 4 is larger?",
        "Two loops: over blocks of queries, and inside over blocks of keys. For each row of queries keep "
        "the largest score so far, the sum of the powers exp(score - largest), and the sum of the values "
        "with these powers. The scores 1 and 2, then 4:\n\n"
        "    1 and 2   largest 2    sum exp(-1) + exp(0)                  = 1.368\n"
        "    4         largest 4    sum 1.368 * exp(2 - 4) + exp(0)       = 1.185\n\n"
        "The second is what all three give relative to 4. The sum of the values is multiplied by the same "
        "factor, exp(old - new). Divide once, at the end. What must the largest be before the first "
        "block?",
        "For one block of queries, already divided by the root of d_k:\n\n"
        "    before    largest -inf, sum 0 [..., Bq, 1]; mixed 0 [..., Bq, d_v]\n"
        "    each block of keys and values:\n"
        "      scores    queries times keys, transposed       [..., Bq, Bk]\n"
        "      hidden    -inf where the key stands after the query\n"
        "      new       the larger of largest and the row's maximum\n"
        "      factor    exp(largest - new)                   [..., Bq, 1]\n"
        "      powers    exp(scores - new)                    [..., Bq, Bk]\n"
        "      sum       factor times sum, plus the sum of the row's powers\n"
        "      mixed     factor times mixed, plus powers times values\n"
        "      largest   new\n"
        "    after     mixed over sum\n\n"
        "With causal, query i stands at position Tk - Tq + i: refuse Tk < Tq, and stop the inner loop at "
        "the last key that the block's last row sees. Key 0 is visible to every row, so after the first "
        "block no largest is -inf.",
    ),
    roundings=ROUNDINGS,
    bank_size=30,
)


def attention_case(draw, causal=None, scale=1.0, longest=4):
    """Queries, keys and values with no, one or two leading axes."""
    leading = draw(st.shapes(draw(st.sampled_from([1, 2, 0])), longest=3))
    causal = draw(st.booleans()) if causal is None else causal
    queries, d_k, d_v = (draw(st.integers(1, n)) for n in (longest, 4, 4))
    keys = queries + draw(st.integers(0, 3)) if causal else draw(st.integers(1, longest + 1))
    dtype = draw(st.float_dtypes())

    def tensor(*shape, scale=1.0):
        return draw(st.tensors(st.permuted(st.normal_arrays((*leading, *shape), dtype, scale))))

    return {
        "q": tensor(queries, d_k, scale=scale),
        "k": tensor(keys, d_k, scale=scale),
        "v": tensor(keys, d_v),
        "block_size": draw(st.sampled_from([2, 1, 3, 6])),
        "causal": causal,
    }


@KATA.cases
def cases(draw):
    """Plain ones, and ones with large scores."""
    return attention_case(draw, scale=draw(st.sampled_from([1.0, 1.0, 1.0, 150.0])))


@KATA.corner(points=0.5)
def scores_in_the_tens_of_thousands(q, k):
    """Scores in the tens of thousands, above zero and below, are right."""
    return float(q.abs().max() * k.abs().max()) * q.shape[-1] > 400


def pinned(q, k, v, block_size, causal=False, dtype="float64"):
    """A case from nested lists."""
    import torch

    q, k, v = (torch.tensor(rows, dtype=getattr(torch, dtype)) for rows in (q, k, v))
    return {"q": q, "k": k, "v": v, "block_size": block_size, "causal": causal}


@KATA.example
def two_blocks():
    """The example of the statement."""
    return pinned([[1.0]], [[1.0], [2.0], [4.0]], [[10.0], [20.0], [30.0]], 2)


@KATA.example
def a_step_behind_a_cache():
    """Equal scores, so that the result is the mean of the values that a query sees."""
    return pinned([[0.0], [0.0]], [[1.0]] * 5, [[1.0], [2.0], [4.0], [8.0], [16.0]], 2, causal=True)


@KATA.example
def more_queries_than_keys():
    """Without causal there may be fewer keys than queries."""
    return pinned([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0]], [[1.0, 0.0], [0.0, 2.0]], [[1.0], [5.0]], 2)


@KATA.example
def all_scores_far_below_zero():
    return pinned(
        [[-200.0], [-150.0]], [[100.0], [200.0], [150.0]], [[1.0], [2.0], [4.0]], 2, dtype="float32"
    )


@KATA.example
def scores_that_rise_and_fall():
    return pinned([[100.0], [-100.0]], [[100.0], [-200.0], [300.0], [200.0]], [[1.0], [2.0], [4.0], [8.0]], 1)


@KATA.example
def a_hidden_score_far_above_the_seen():
    return pinned([[100.0], [100.0]], [[-300.0], [-200.0], [300.0]], [[1.0], [2.0], [4.0]], 2, causal=True)


def attended(student, q, k, v, block_size, causal):
    """The result, once it is a tensor of the due shape."""
    result = student.flash_attention(q, k, v, block_size, *([True] if causal else []))
    due, shape = (*q.shape[:-1], v.shape[-1]), getattr(result, "shape", None)
    told = f"The result must have the shape [..., Tq, d_v] = {due}; it has {shape and tuple(shape)}."
    expect.true(shape == due, told)
    return result


def with_another_block_size(draw):
    case = attention_case(draw)
    sizes = st.integers(1, 8).filter(lambda size: size != case["block_size"])
    return {**case, "other_size": draw(sizes)}


@KATA.law(points=0.5, cases=with_another_block_size)
def test_the_block_size_does_not_matter(student, q, k, v, block_size, causal, other_size):
    """Another block size gives the same result."""
    one, other = (attended(student, q, k, v, size, causal) for size in (block_size, other_size))
    what = f"the result for block_size={block_size}, against that for block_size={other_size},"
    expect.close(one, other, what, terms=8, roundings=ROUNDINGS)


@KATA.law(points=0.5)
def test_it_is_the_attention_with_all_scores(student, q, k, v, block_size, causal):
    """The result is that of attention that computes all scores at once."""
    right_result(student, q, k, v, block_size, causal)


def right_result(student, q, k, v, block_size, causal):
    """Require the result of attention that computes all scores at once."""
    scores = q.double() @ k.double().mT / q.shape[-1] ** 0.5
    if causal:
        later = scores.new_ones(scores.shape[-2:]).triu(1 + k.shape[-2] - q.shape[-2]).bool()
        scores = scores.masked_fill(later, float("-inf"))
    powers = (scores - scores.amax(-1, keepdim=True)).exp()
    expected = (powers / powers.sum(-1, keepdim=True) @ v.double()).to(q.dtype)
    result = attended(student, q, k, v, block_size, causal)
    expect.close(result, expected, "the result", terms=k.shape[-2], roundings=ROUNDINGS)


def keys_in_another_order(draw):
    case = attention_case(draw, causal=False)
    keys = case["k"].shape[-2]
    return {**case, "order": draw(st.permutations([*range(keys)] * draw(st.integers(1, 2))))}


@KATA.law(points=0.5, cases=keys_in_another_order)
def test_the_order_of_keys_does_not_matter(student, q, k, v, block_size, order):
    """Keys and values in another order, or each twice, give the same result."""
    before = attended(student, q, k, v, block_size, False)
    after = attended(student, q, k[..., order, :], v[..., order, :], block_size, False)
    expect.close(after, before, f"the result for the keys {order}", terms=8, roundings=ROUNDINGS)


@KATA.law(points=0.5)
def test_equal_values_come_back(student, q, k, v, block_size, causal):
    """Where all values are alike, each result is that value."""
    import torch

    row = torch.arange(1.0, 1 + v.shape[-1], dtype=v.dtype)
    result = attended(student, q, k, row.expand_as(v).clone(), block_size, causal)
    what = f"the result where every value is {row.tolist()}"
    expect.close(result, row.expand_as(result).clone(), what, terms=8, roundings=ROUNDINGS)


#: Queries, keys, width, block size and `causal` of measured calls. Each finds another tensor that is too
#: large: all scores, a block of queries with all keys, a block of keys with all queries, a mask of all
#: positions, the products of all numbers of a block.
MEASURED = [(48, 48, 2, 8, False), (8, 48, 2, 8, False), (48, 8, 2, 8, False), (48, 48, 2, 8, True)]
MEASURED += [(48, 48, 8, 16, False)]
MEASURES = "queries", "keys", "width", "block_size", "causal"


def normal(queries, keys, width):
    """Queries, keys and values of two heads."""
    import torch

    rng = np.random.default_rng(queries + keys + width)
    shapes = [(1, 2, length, width) for length in (queries, keys, keys)]
    return [torch.from_numpy(rng.standard_normal(shape).astype("float32")) for shape in shapes]


def measured_calls(draw):
    return dict(zip(MEASURES, draw(st.sampled_from(MEASURED)), strict=True))


@KATA.law(points=1, cases=measured_calls, purpose=True)
def test_no_tensor_is_large(student, queries, keys, width, block_size, causal):
    """The right result takes no tensor larger than twice the arguments or the scores of one block, and every
    score is computed in PyTorch."""
    q, k, v = normal(queries, keys, width)
    with student.counting_largest_tensor() as made:
        right_result(student, q, k, v, block_size, causal)
    limit = 2 * max(q.numel(), k.numel(), 2 * block_size**2)
    sizes = f"q {list(q.shape)}, k and v {list(k.shape)}, block_size={block_size} and causal={causal}"
    expect.true(
        made.largest.elements <= limit,
        f"With {sizes}, no tensor may have more than {limit:,} elements. The largest has "
        f"{made.largest.elements:,}: {made.largest}.",
    )
    seen = sum(min(keys, 1 + i + keys - queries) for i in range(queries)) if causal else queries * keys
    expect.true(
        made.written >= 2 * seen,
        f"With {sizes} there are {2 * seen:,} scores, each of them computed in PyTorch. All operations "
        f"together wrote {made.written:,} numbers.",
    )


@KATA.law(points=0.5)
def test_later_blocks_are_not_computed(student):
    """Scores are computed at most three times, and not at all in blocks of keys that `causal` hides."""
    q, k, v = normal(64, 64, 8)
    work = {}
    for causal in (False, True):
        with student.counting_flops() as counted:
            right_result(student, q, k, v, 8, causal)
        work[causal] = counted.flops
    once = 4 * q.numel() * k.shape[-2]
    expect.true(
        work[False] <= 3 * once,
        "For 64 queries and 64 keys in blocks of 8, scores and output computed once take "
        f"{once:,} floating-point operations, and at most three times as many are expected. It takes "
        f"{work[False]:,}: blocks are computed again and again.",
    )
    expect.true(
        work[True] <= 0.75 * work[False],
        "For 64 queries and 64 keys in blocks of 8, causal may take at most three quarters of the work: "
        f"{int(0.75 * work[False]):,} floating-point operations. It takes {work[True]:,}, and without causal "
        f"{work[False]:,}.",
    )


def too_few_keys(draw):
    case = attention_case(draw, causal=False)
    queries = case["k"].shape[-2] + draw(st.integers(1, 2))
    return {**case, "q": case["q"][..., :1, :].expand(*case["q"].shape[:-2], queries, -1).clone()}


@KATA.law(points=0.5, cases=too_few_keys)
def test_refuses_too_few_keys(student, q, k, v, block_size):
    """With causal, fewer keys than queries raise a ValueError."""
    why = f"causal with Tq={q.shape[-2]} and Tk={k.shape[-2]}"
    expect.refuses(student.flash_attention, q, k, v, block_size, True, why=why)
