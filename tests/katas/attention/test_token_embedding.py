"""token_embedding: its cases and its laws."""

import numpy as np

from grader import expect
from grader import strategies as st
from grader.kata import Kata

KATA = Kata(
    "token_embedding",
    track="attention",
    entry_points=("embed",),
    title="Ids become vectors",
    source="Vaswani et al. 2017, sections 3.4 and 3.5; Gehring et al. 2017, section 3.1",
    bank_size=40,
    axes={"ids": "batch tokens", "token_table": "V d_model", "position_table": "max_len d_model"},
    hints=(
        "An array of ids can index a table as a whole. Which shape comes out for ids [T], and which for "
        "[B, T]? Which axis of ids counts the positions in both?",
        "NumPy takes -1 for the last row, raises IndexError (no ValueError) beyond the end, and adds a table "
        "of one row to anything. So both limits are to be checked first: the smallest and the largest id "
        "against V, the length of the last axis against max_len.",
        "Raise ValueError if the smallest id is below 0, the largest at least the number of token rows, or "
        "the last axis of ids longer than the position table. Then index the token table with ids, and add "
        "the first T rows of the position table; the axes of the batch broadcast by themselves.",
    ),
    hint_for={
        "counts_positions_down_the_batch": 1,
        "keeps_a_batch_axis": 1,
        "reads_negative_ids_from_the_end": 2,
        "leaves_large_ids_to_indexing": 2,
        "leaves_long_texts_to_broadcasting": 2,
        "measures_the_batch": 2,
        "compares_ids_with_max_len": 2,
    },
)

SIGNED = ("int64", "int32", "int8")


def draw_tables(draw, vocab_size, max_len):
    dtype, d_model = draw(st.float_dtypes()), draw(st.sampled_from([2, 3, 1, 4]))
    return {
        "token_table": draw(st.permuted(st.arrays((vocab_size, d_model), dtype))),
        "position_table": draw(st.permuted(st.arrays((max_len, d_model), dtype))),
    }


def draw_ids(draw, lead, tokens, highest, dtype):
    size = int(np.prod((*lead, tokens)))
    drawn = draw(st.lists(st.integers(0, highest), min_size=size, max_size=size))
    return draw(st.permuted(st.just(np.array(drawn, dtype=dtype).reshape((*lead, tokens)))))


@KATA.cases
def cases(draw):
    """A batch mostly, shorter than the position table mostly, and mostly without the last token; B may
    exceed max_len."""
    vocab_size, tokens = draw(st.integers(2, 5)), draw(st.integers(1, 4))
    lead = draw(st.sampled_from([(2,), (3,), (5,), (2,), (1,), ()]))
    dtype = draw(st.sampled_from([*SIGNED, "uint8", "uint64"]))
    ids = draw_ids(draw, lead, tokens, vocab_size - draw(st.sampled_from([2, 2, 1])), dtype)
    return {"ids": ids, **draw_tables(draw, vocab_size, tokens + draw(st.sampled_from([1, 1, 2, 0])))}


def draw_lead(draw):
    return draw(st.sampled_from([(), (2,), (), (3,), (1,), (5,)]))


@KATA.corner(points=0.5)
def ids_without_a_batch(ids):
    """Ids without a batch have vectors without one."""
    return ids.ndim == 1


@KATA.corner(points=0.5)
def texts_of_full_length(ids, position_table):
    """A text may have as many tokens as there are positions."""
    return ids.shape[-1] == len(position_table)


@KATA.corner(points=0.5)
def the_last_token(ids, token_table):
    """The last token of the vocabulary has a vector too."""
    return int(ids.max()) == len(token_table) - 1


def without_a_row(draw):
    """One id among others for which there is no row."""
    vocab_size, tokens, lead = draw(st.integers(1, 5)), draw(st.integers(1, 4)), draw_lead(draw)
    outside = draw(st.sampled_from([-1, vocab_size, -vocab_size, -vocab_size - 1, 100, 2**32, 2**32]))
    dtypes = SIGNED if outside < 0 else [*SIGNED, "uint8"] if outside < 128 else ["int64", "uint64"]
    dtype = draw(st.sampled_from(dtypes))
    ids = draw_ids(draw, lead, tokens, vocab_size - 1, dtype).copy()
    ids[tuple(draw(st.integers(0, length - 1)) for length in ids.shape)] = outside
    return {"ids": ids, "outside": outside, **draw_tables(draw, vocab_size, tokens + 2)}


def without_a_position(draw):
    """More tokens than positions; one position alone among others."""
    vocab_size, lead, max_len = draw(st.integers(1, 5)), draw_lead(draw), draw(st.sampled_from([1, 2, 1, 3]))
    tokens = max_len + draw(st.integers(1, 2))
    ids = draw_ids(draw, lead, tokens, vocab_size - 1, draw(st.integer_dtypes()))
    return {"ids": ids, **draw_tables(draw, vocab_size, max_len)}


@KATA.example
def three_tokens():
    """The printed tables."""
    token_table = [[1.0, 0.0, 0.4, 0.0], [0.2, 1.0, 0.5, 0.0], [0.0, 0.3, 0.8, 1.0], [0.1, 0.5, 1.0, 0.9]]
    position_table = [[0.0, 0.0, 0.0, 0.0], [0.05, 0.0, 0.0, 0.05], [0.1, 0.0, 0.0, 0.1]]
    return {
        "ids": np.array([0, 1, 2]),
        "token_table": np.array(token_table),
        "position_table": np.array(position_table),
    }


@KATA.example
def as_many_sequences_as_tokens():
    tables = {name: table.astype(np.float32) for name, table in three_tokens().items() if name != "ids"}
    return {"ids": np.array([[3, 3, 0], [1, 3, 2], [0, 0, 3]], dtype=np.int32), **tables}


@KATA.example
def more_sequences_than_positions():
    ids = np.array([[1, 0], [0, 0], [1, 1]], dtype=np.uint8)
    return {"ids": ids, "token_table": np.array([[1.0], [2.0]]), "position_table": np.array([[0.5], [0.25]])}


def vectors(student, ids, token_table, position_table):
    """The result, once it has the axes of ids and d_model."""
    result = student.embed(ids, token_table, position_table)
    shape, found = (*ids.shape, token_table.shape[1]), getattr(result, "shape", None)
    expect.true(
        found == shape,
        f"The result must have the shape {shape}; it has {found or 'none'}.",
    )
    return result


@KATA.example
def more_rows_than_a_small_integer_counts():
    """Ids that fill their dtype: whatever is computed from them must not be computed in it."""
    return {
        "ids": np.array([[0, 255, 128]], dtype=np.uint8),
        "token_table": np.stack([np.arange(256.0), -np.arange(256.0)], axis=1),
        "position_table": np.array([[0.0, 0.25], [0.5, 0.75], [1.0, 1.25]]),
    }


@KATA.example
def two_short_texts():
    return {"ids": np.array([[1, 0], [2, 1]]), **{k: v for k, v in three_tokens().items() if k != "ids"}}


@KATA.example
def the_last_token_in_short_texts():
    return {"ids": np.array([[3, 0], [2, 3]]), **{k: v for k, v in three_tokens().items() if k != "ids"}}


@KATA.law(points=0.5)
def test_tokens_are_rows(student, ids, token_table, position_table):
    """With positions of zeros, every vector is its token's row, to the bit."""
    result = vectors(student, ids, token_table, np.zeros_like(position_table))
    expect.equal(result, token_table[ids.astype(np.int64)], "the array of vectors, with positions of zeros,")


@KATA.law(points=0.5)
def test_positions_are_rows(student, ids, token_table, position_table):
    """With tokens of zeros, the t-th vector of every sequence is row t of the position table."""
    result = vectors(student, ids, np.zeros_like(token_table), position_table)
    expected = np.broadcast_to(position_table[: ids.shape[-1]], result.shape)
    expect.equal(result, expected, "the array of vectors, with tokens of zeros,")


@KATA.law(points=0.5)
def test_batch_changes_nothing(student, ids, token_table, position_table):
    """A sequence has the same vectors in a batch and by itself."""
    together = vectors(student, ids, token_table, position_table).reshape(
        -1, ids.shape[-1], token_table.shape[1]
    )
    for at, row in enumerate(ids.reshape(-1, ids.shape[-1])):
        alone = vectors(student, row, token_table, position_table)
        expect.close(alone, together[at], f"the array of vectors of sequence {at} by itself")


@KATA.law(points=0.5)
def test_one_text_changes_no_table(student, ids, token_table, position_table):
    """Looking up one text without a batch leaves its ids and both tables as they were."""
    row = ids.reshape(-1, ids.shape[-1])[0]
    with student.watching_arguments() as watched:
        student.embed(row, token_table, position_table)
    names = {f"argument {i + 1}": name for i, name in enumerate(("ids", "token_table", "position_table"))}
    changed = ", ".join(names.get(name, name) for name in watched.changed)
    expect.true(not changed, f"The call changes {changed} in place; its caller still needs it.")


@KATA.law(points=0.5, cases=without_a_row)
def test_refuses_unknown_ids(student, ids, outside, token_table, position_table):
    """An id that is negative, or at least V, raises a ValueError."""
    if outside > np.iinfo(np.intp).max:  # NumPy takes the last 32 bits of an index in a browser
        return
    why = f"the id {outside} is not in [0, {len(token_table)})"
    expect.refuses(student.embed, ids, token_table, position_table, why=why)


@KATA.law(points=1, cases=without_a_position)
def test_refuses_long_texts(student, ids, token_table, position_table):
    """A text of more than max_len tokens raises a ValueError."""
    student.embed(
        ids[..., : len(position_table)], token_table, position_table
    )  # refusing everything is not enough
    why = f"there are {ids.shape[-1]} tokens and {len(position_table)} positions"
    expect.refuses(student.embed, ids, token_table, position_table, why=why)


@KATA.law(points=0.5)
def test_printed_vectors(student):
    """The printed tables give the printed vectors."""
    result = vectors(student, **three_tokens())
    printed = [[1.0, 0.0, 0.4, 0.0], [0.25, 1.0, 0.5, 0.05], [0.1, 0.3, 0.8, 1.1]]
    expect.decimals(result, np.array(printed), 3, "the table of vectors")
