"""head_split_merge: its cases and its laws."""

import numpy as np

from grader import expect
from grader import strategies as st
from grader.kata import Kata

KATA = Kata(
    "head_split_merge",
    track="attention",
    entry_points=("split_heads", "merge_heads"),
    title="Many heads from one width",
    source="Vaswani et al. 2017, section 3.2.2",
    hints=(
        "Take one token with four columns and two heads: which columns belong to head 0? Then take two "
        "tokens, and see whether your head 0 holds the same columns of both.",
        "A reshape can cut the last axis into two, or join two neighbouring axes into one, but it never "
        "changes the order of the numbers. Two tokens a and b, two heads of two columns:\n\n"
        "    x    a0 a1 a2 a3         head 0    a0 a1\n"
        "         b0 b1 b2 b3                   b0 b1\n"
        "                             head 1    a2 a3\n"
        "                                       b2 b3\n\n"
        "Read both row by row: a0 a1 a2 a3 … on the left, a0 a1 b0 b1 … on the right. So moving the axis "
        "of the heads past that of the tokens is a step of its own. Which two axes does it exchange, and "
        "in which order come the steps of the merge?",
        "Both ways pass through the same shape in the middle, in which head and column stand beside each "
        "other behind the token:\n\n"
        "    split    [B, T, H * d_head]\n"
        "             reshape                 [B, T, H, d_head]\n"
        "             exchange axes 1 and 2   [B, H, T, d_head]\n"
        "    merge    [B, H, T, d_head]\n"
        "             exchange axes 1 and 2   [B, T, H, d_head]\n"
        "             reshape                 [B, T, H * d_head]\n\n"
        "Refuse a width that the number of heads does not divide before you split, with a ValueError. The "
        "reshape always works on the last axes and the exchange always on axes 1 and 2; a reshape from "
        "[B, T, …] to [B, H, T, d_head] at once gives the right shape and the wrong numbers. merge reads "
        "H and d_head off its argument.",
    ),
    hint_for={
        "deals_columns_out_in_turn": 1,
        "collects_columns_in_turn": 1,
        "splits_without_a_transpose": 2,
        "merges_without_a_transpose": 2,
        "never_transposes": 2,
        "leaves_heads_behind_tokens": 2,
    },
)

LENGTHS = (2, 3, 4, 2, 3, 1)
DTYPES = (*["float32", "float64"] * 6, "int64", "int32", "uint8")


def draw_numbers(draw, shape):
    """Numbers that tell every place from every other, laid out in memory in any order of axes."""
    dtype = draw(st.sampled_from(DTYPES))
    size = int(np.prod(shape))
    counted = np.arange(size).astype(dtype).reshape(shape)
    if not dtype.startswith("float") or draw(st.booleans()):
        return draw(st.permuted(st.just(counted)))
    return draw(st.permuted(st.normal_arrays(shape, dtype)))


def draw_lengths(draw):
    """Four axis lengths, seldom 1."""
    return tuple(draw(st.sampled_from(LENGTHS)) for _ in range(4))


@KATA.cases
def tokens_and_heads(draw):
    """Tokens to be split, and heads of other lengths to be merged."""
    batch, tokens, num_heads, d_head = draw_lengths(draw)
    return {
        "x": draw_numbers(draw, (batch, tokens, num_heads * d_head)),
        "num_heads": num_heads,
        "heads": draw_numbers(draw, draw_lengths(draw)),
    }


@KATA.corner(points=0.5)
def one_column_a_head(x, num_heads, heads):
    """A head may have one column."""
    return x.shape[2] == num_heads or heads.shape[3] == 1


@KATA.corner(points=0.5)
def axes_of_length_one(x, heads):
    """A batch of one keeps its axis, and so does one token."""
    return 1 in (*x.shape[:2], len(heads), heads.shape[2])


@KATA.corner(points=0.5)
def integer_numbers(x, heads):
    """Arrays of integers are split and merged in their own dtype."""
    return x.dtype.kind != "f" or heads.dtype.kind != "f"


def widths_with_a_remainder(draw):
    """A d_model that num_heads does not divide; now and then, a reshape would find room nonetheless."""
    num_heads = draw(st.integers(2, 5))
    d_model = draw(st.integers(1, 9).filter(lambda width: width % num_heads))
    room = num_heads * max(1, d_model // num_heads)
    batch, tokens = draw(st.integers(1, 3)), draw(st.sampled_from([1, 2, 3, num_heads, room]))
    return {"x": draw_numbers(draw, (batch, tokens, d_model)), "num_heads": num_heads}


@KATA.example
def three_tokens_and_two_heads():
    x = np.arange(12).reshape(1, 3, 4)
    return {"x": x, "num_heads": 2, "heads": np.arange(12.0).reshape(1, 2, 3, 2)}


@KATA.example
def three_heads_of_one_column():
    x = np.arange(12, dtype=np.float32).reshape(2, 2, 3)
    return {"x": x, "num_heads": 3, "heads": np.arange(12, dtype=np.float32).reshape(2, 3, 2, 1)}


@KATA.example
def one_head():
    x = np.arange(12.0).reshape(2, 2, 3)
    return {"x": x, "num_heads": 1, "heads": np.arange(12.0).reshape(2, 1, 2, 3)}


@KATA.example
def two_sequences_of_integers():
    return {"x": np.arange(24).reshape(2, 3, 4), "num_heads": 2, "heads": np.arange(24).reshape(2, 2, 3, 2)}


@KATA.example
def integers_that_float64_cannot_hold():
    x = 2**60 + np.arange(12, dtype=np.int64).reshape(1, 3, 4)
    return {"x": x, "num_heads": 2, "heads": x.reshape(1, 2, 3, 2)}


@KATA.example
def truth_values():
    """Booleans are of any dtype too."""
    x = np.array([[[True, False, False, True], [False, True, True, True]]])
    return {"x": x, "num_heads": 2, "heads": x.reshape(1, 2, 2, 2)}


@KATA.observe
def observe(student, x, num_heads, heads):
    return {"split": student.split_heads(x, num_heads), "merged": student.merge_heads(heads)}


def split(student, x, num_heads):
    """What split_heads returns, once it has the axes of heads."""
    result = student.split_heads(x, num_heads)
    shape = (x.shape[0], num_heads, x.shape[1], x.shape[2] // num_heads)
    found = getattr(result, "shape", None)
    expect.true(found == shape, f"split_heads must return [B, H, T, d_head], {shape}; it came with {found}.")
    return result


def merge(student, heads):
    """What merge_heads returns, once it has the axes of tokens."""
    result = student.merge_heads(heads)
    shape = (heads.shape[0], heads.shape[2], heads.shape[1] * heads.shape[3])
    found = getattr(result, "shape", None)
    expect.true(found == shape, f"merge_heads must return [B, T, d_model], {shape}; it came with {found}.")
    return result


def columns_of(head, d_head):
    """The block of neighbouring columns that belongs to a head."""
    return slice(head * d_head, (head + 1) * d_head)


@KATA.law(points=0.5)
def test_each_head_owns_a_block(student, x, num_heads):
    """Head h holds the h-th block of neighbouring columns, for every token."""
    result = split(student, x, num_heads)
    for head in range(num_heads):
        block = x[:, :, columns_of(head, result.shape[3])]
        expect.equal(result[:, head], block, f"head {head} of split_heads(x, {num_heads})")


@KATA.law(points=0.5)
def test_blocks_stand_side_by_side(student, heads):
    """Merged rows hold the block of head 0, then that of head 1, and so on."""
    merged = merge(student, heads)
    for head in range(heads.shape[1]):
        block = merged[:, :, columns_of(head, heads.shape[3])]
        expect.equal(block, heads[:, head], f"the block of head {head} in merge_heads(heads)")


@KATA.law(points=0.5)
def test_merging_undoes_splitting(student, x, num_heads):
    """Merging the heads of x gives x again."""
    heads = x.reshape(*x.shape[:2], num_heads, -1).swapaxes(1, 2)
    expect.equal(merge(student, heads), x, "merge_heads of the heads of x")


@KATA.law(points=0.5)
def test_sequences_stay_apart(student, x, num_heads):
    """A sequence is split in a batch as it is by itself."""
    together = split(student, x, num_heads)
    for index in range(len(x)):
        alone = split(student, x[index : index + 1], num_heads)
        expect.equal(together[index : index + 1], alone, f"sequence {index} of the batch, split")


@KATA.law(points=1, cases=widths_with_a_remainder)
def test_refuses_a_remainder(student, x, num_heads):
    """A d_model that num_heads does not divide raises a ValueError."""
    why = f"d_model={x.shape[2]} is not divisible by num_heads={num_heads}"
    expect.refuses(student.split_heads, x, num_heads, why=why)


@KATA.law(points=0.5)
def test_worked_example(student):
    """The numbers 0 to 11, as three tokens of width 4, are split into two heads and merged again."""
    x = np.arange(12).reshape(1, 3, 4)
    heads = np.array([[[[0, 1], [4, 5], [8, 9]], [[2, 3], [6, 7], [10, 11]]]])
    expect.equal(student.split_heads(x, 2), heads, "split_heads of the example")
    expect.equal(student.merge_heads(heads), x, "merge_heads of the example's heads")
