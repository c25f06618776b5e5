"""flash_attention_kernel: its cases and its laws.

d_head is 16, the least over which tl.dot adds up. Numbers are multiples of 1/4, so that scores are exact.
"""

import numpy as np

from grader import expect
from grader import strategies as st
from grader.kata import Kata
from grader.kernels import Device, kernel

D_HEAD = 16
ROUNDINGS = 6

KATA = Kata(
    "flash_attention_kernel",
    track="kernels",
    entry_points=("flash_attention",),
    title="Attention as a kernel",
    source="Dao et al. 2022, section 3.1 and algorithm 1; Dao 2023, section 3.1",
    libraries=("numpy",),
    axes={"q": "heads tokens d_head", "k": "heads tokens d_head", "v": "heads tokens d_head"},
    roundings=ROUNDINGS,
    bank_size=20,
    hints=(
        "Take T = 40, block_q = 8 and block_k = 16, and program 2, whose queries are 16 to 23. Which blocks "
        "of keys does it need, and in which of them must some keys be hidden? Which key is the last that any "
        "of its queries sees?",
        "The program has three things that it keeps over the blocks of keys: a maximum and a sum for each of "
        "its queries [block_q], and an output [block_q, d_head]. The loop is `for start in range(0, the last "
        "query + 1, BLOCK_K)`. When the maximum of a row grows from old to new, sum and output of the row "
        "are multiplied by exp(old - new) before the new powers are added. Positions are start + arange for "
        "keys and first + arange for queries, as a row [1, BLOCK_K] beside a column [BLOCK_Q, 1]: comparing "
        "them gives the mask of the scores.",
        "With `first = program_id(0) * BLOCK_Q`:\n\n"
        "    query   = first + arange(0, BLOCK_Q)                          [BLOCK_Q]\n"
        "    q       = load at head + query * stride(1) + column           [BLOCK_Q, D]\n"
        "    for start in range(0, min(tokens, first + BLOCK_Q), BLOCK_K):\n"
        "      key     = start + arange(0, BLOCK_K)                        [BLOCK_K]\n"
        "      k, v    = load, masked where key >= tokens, other 0         [BLOCK_K, D]\n"
        "      scores  = tl.dot(q, tl.trans(k)) * scale      [BLOCK_Q, BLOCK_K]\n"
        "      scores  = where key <= query, else -inf\n"
        "      larger  = the larger of maximum and tl.max(scores, axis=1)  [BLOCK_Q]\n"
        "      powers  = exp(scores - larger[:, None])       [BLOCK_Q, BLOCK_K]\n"
        "      change  = exp(maximum - larger)                             [BLOCK_Q]\n"
        "      total   = change * total, plus the sum of powers over axis 1\n"
        "      output  = change[:, None] * output + tl.dot(powers, v)\n"
        "      maximum = larger\n"
        "    store output / total[:, None], masked where query >= tokens\n\n"
        "The grid is (triton.cdiv(tokens, block_q), heads). Key 0 is seen by every query, so after the first "
        "block no maximum is -inf.",
    ),
    hint_for={
        "loads_blocks_behind_the_diagonal": 1,
        "loads_one_block_too_many": 1,
        "leaves_out_the_block_on_the_diagonal": 1,
        "ends_after_as_many_blocks_of_keys": 1,
        "begins_where_the_queries_begin": 1,
        "drops_the_last_keys": 1,
        "hides_nothing": 1,
        "corrects_the_sum_alone": 2,
        "corrects_the_output_alone": 2,
        "corrects_nothing": 2,
        "corrects_in_the_wrong_direction": 2,
        "subtracts_the_maximum_of_each_block": 2,
        "averages_the_blocks": 2,
        "knows_the_last_block_alone": 2,
        "masks_by_places_in_the_block": 2,
        "forgets_where_the_queries_begin": 2,
        "hides_the_own_key": 2,
        "shows_the_next_key": 2,
        "turns_the_mask_round": 2,
        "normalises_over_the_queries": 2,
        "divides_by_no_sum": 3,
        "divides_at_each_block": 3,
        "hides_with_zero": 3,
        "leaves_masked_values_undefined": 3,
        "multiplies_keys_that_are_not_transposed": 3,
        "launches_too_few_programs": 3,
        "launches_one_head": 3,
        "assumes_heads_one_after_the_other": 3,
        "loads_queries_for_each_block": 3,
        "loads_keys_in_a_pass_of_their_own": 3,
        "takes_a_program_for_each_query": 3,
    },
)


@KATA.cases
def cases(draw):
    """One or two heads of up to 33 tokens; some heads lie side by side, some scores are in the thousands."""
    block_q, block_k = draw(st.sampled_from([(8, 16), (16, 16), (32, 16), (8, 32), (16, 32)]))
    heads = draw(st.sampled_from([1, 2]))
    tokens = draw(st.sampled_from([1, 5, 12, 17, 20, 27, 33]))
    kind = draw(st.sampled_from(["plain", "plain", "plain", "plain", "side", "large"]))
    rng = np.random.default_rng(draw(st.integers(0, 2**16)))
    q, k, v = (rng.integers(-6, 7, (heads, tokens, D_HEAD)).astype(np.float32) / 4 for _ in range(3))
    q = q * np.float32(256) if kind == "large" else q
    side = kind == "side"
    return {"q": q, "k": k, "v": v, "side_by_side": side, "block_q": block_q, "block_k": block_k}


def pinned(heads, tokens, block_q=8, block_k=16, side_by_side=False):
    """A case whose numbers are 0, and its q, k and v."""
    q, k, v = (np.zeros((heads, tokens, D_HEAD), np.float32) for _ in range(3))
    case = {"q": q, "k": k, "v": v, "side_by_side": side_by_side, "block_q": block_q, "block_k": block_k}
    return case, q, k, v


@KATA.example
def printed():
    """The example of the statement."""
    case, q, k, v = pinned(1, 17)
    v[..., 0], v[0, 16, 0] = 1, 6
    q[0, 16, 0], k[0, 16, 0] = 4, np.log(4)
    return case


@KATA.example
def means_of_what_is_seen():
    """All scores are equal: each result is the mean of the values so far."""
    case, _, _, v = pinned(1, 20, block_q=4)
    v[0, :, 0] = np.arange(20)
    v[0, :, 1] = np.arange(20) % 2
    return case


@KATA.example
def scores_that_fall():
    """The first key has the largest score: nothing is to be corrected."""
    case, q, k, v = pinned(1, 18, block_q=16)
    q[..., 0], k[0, :, 0], v[0, :, 0] = 1, -np.arange(18) / 2, np.arange(18)
    return case


@KATA.example
def a_later_key_with_a_far_larger_score():
    """The last key is far above all others, and hidden from all queries but one."""
    case, q, k, v = pinned(1, 34, block_q=16)
    q[..., 2], k[0, 33, 2], v[0, :, 3] = 8, 2000, np.arange(34)
    return case


@KATA.example
def scores_far_below_zero():
    """All scores are below -1000."""
    case, q, k, v = pinned(1, 18)
    q[..., 0], k[0, :, 0], v[0, :, 0] = 64, -100 - np.arange(18) % 5, np.arange(18)
    return case


@KATA.example
def two_heads_side_by_side():
    """The heads of a token are neighbours, as a model has them."""
    case, _, _, v = pinned(2, 6, side_by_side=True)
    v[0, :, 0], v[1, :, 0] = np.arange(6), 10 * np.arange(6)
    return case


@KATA.corner(points=0.5)
def heads_side_by_side(q, side_by_side):
    """Heads that lie side by side are read where they lie, and `out` has its own strides."""
    return side_by_side and len(q) > 1


@KATA.corner(points=0.5)
def scores_in_the_thousands(q, k):
    """Scores in the thousands, above zero and below, are right."""
    return float(np.abs(q).max() * np.abs(k).max()) > 300


def loads(q, block_q, block_k):
    """The bytes of the queries, and of the keys and values of every block that a program needs."""
    tokens = q.shape[1]
    ends = [min(tokens, first + block_q) for first in range(0, tokens, block_q)]
    seen = sum(min(tokens, -(-end // block_k) * block_k) for end in ends)
    return 4 * D_HEAD * len(q) * (tokens + 2 * seen)


@kernel(KATA, loads=loads, stores=lambda q: 4 * q.size)
def launch(device, student, q, k, v, side_by_side, block_q, block_k):
    arrays = []
    for name, values in zip("qkv", (q, k, v), strict=True):
        laid = values.astype(np.float32)  # a kernel in float32 takes no float64
        if side_by_side:
            laid = np.ascontiguousarray(laid.swapaxes(0, 1)).swapaxes(0, 1)
        arrays.append(device.array(laid, name))
    step = D_HEAD * (2 * len(q) - 1 if side_by_side else 1)  # others than those of q
    out = device.empty(q.shape, "float32", "out", (q.shape[1] * step, step, 1))
    device.run(student.flash_attention, *arrays, out, block_q, block_k)
    return {"out": out}


@KATA.law(points=1, purpose=True)
def test_a_program_holds_a_block_at_a_time(student, q, k, v, side_by_side, block_q, block_k):
    """No load and no store takes more than a block of queries or a block of keys."""
    device = Device()
    launch(device, student, q, k, v, side_by_side, block_q, block_k)
    most = {"q": block_q, "out": block_q, "k": block_k, "v": block_k}
    for access in (access for launched in device.launches for access in launched.accesses):
        rows = len({entry // D_HEAD for entry in access.entries})
        expect.true(
            rows <= most[access.array],
            f"With block_q={block_q} and block_k={block_k}, a {access.what} takes {rows} rows of"
            f" {access.array} (line {access.line}).",
        )


def with_other_blocks(draw):
    """A case, and other sizes of blocks."""
    others = draw(st.sampled_from([(4, 32), (4, 16), (16, 32), (8, 64)]))
    return {**cases(draw), "other_sizes": others}


@KATA.law(points=0.5, cases=with_other_blocks)
def test_the_sizes_of_blocks_do_not_matter(student, q, k, v, side_by_side, block_q, block_k, other_sizes):
    """Other sizes of blocks give the same results."""
    one, other = (
        launch(Device(), student, q, k, v, side_by_side, *sizes)["out"].numpy()
        for sizes in ((block_q, block_k), other_sizes)
    )
    what = f"the results for blocks of {other_sizes[0]} queries and {other_sizes[1]} keys"
    expect.close(other, one, what, terms=q.shape[1], roundings=ROUNDINGS)


@KATA.law(points=0.5)
def test_later_keys_do_not_matter(student, q, k, v, side_by_side, block_q, block_k):
    """A result does not depend on later keys and values."""
    seen = q.shape[1] // 2 + 1
    later = np.arange(q.shape[1])[:, None] >= seen
    changed = np.where(later, 3 - k, k), np.where(later, v + 8, v)
    before, after = (
        launch(Device(), student, q, *pair, side_by_side, block_q, block_k)["out"].numpy()
        for pair in ((k, v), changed)
    )
    what = f"the results of the first {seen} queries, after keys and values behind them were changed,"
    expect.close(after[:, :seen], before[:, :seen], what, terms=q.shape[1], roundings=ROUNDINGS)
