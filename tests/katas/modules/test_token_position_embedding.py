"""token_position_embedding: its cases and its laws."""

import numpy as np

from grader import expect
from grader import strategies as st
from grader.kata import Kata

KATA = Kata(
    "token_position_embedding",
    track="modules",
    entry_points=("TokenPositionEmbedding",),
    title="Which word, and where",
    source="Radford et al. 2018, section 3.1",
    library="torch",
    grades_gradients=True,
    bank_size=16,
    axes={"ids": "batch tokens"},
    hints=(
        "Two look-ups and a sum. The first table is asked for the ids. What is the second asked for, and "
        "what shape has its answer?",
        "Positions 0 to T - 1 are the same for every sequence: rows [T, d_model] added to [B, T, d_model] "
        "broadcast over the batch.",
        "In the constructor two nn.Embedding, called token_embed and pos_embed. In forward compare "
        "ids.shape[1] with max_len and raise a ValueError if it is greater; make a range of that length on "
        "the device of ids; add the two look-ups.",
    ),
    hint_for={
        "looks_ids_up_as_positions": 1,
        "counts_along_the_batch": 2,
        "counts_on_from_sequence_to_sequence": 2,
        "makes_positions_on_the_cpu": 3,
        "lets_the_table_complain": 3,
    },
)


def table(draw, rows, d_model, dtype):
    """Rows of hundredths, some of them longer than 1."""
    import torch

    rng = np.random.default_rng(draw(st.integers(0, 2**16)))
    return torch.from_numpy((np.round(rng.standard_normal((rows, d_model)), 2) + 0.0).astype(dtype))


def ids_below(draw, vocab_size, batch, tokens):
    """Ids [B, T], repeated ones among them, in either order of axes in memory."""
    drawn = draw(st.lists(st.integers(0, vocab_size - 1), min_size=batch * tokens, max_size=batch * tokens))
    return draw(st.tensors(st.permuted(st.just(np.array(drawn, dtype=np.int64).reshape(batch, tokens)))))


def embedding_case(draw, *, left=(2, 3), most=4):
    """A module's numbers and tables, and ids for at most `most` sequences; `left` positions stay free."""
    vocab_size, d_model = draw(st.sampled_from([4, 2, 7, 11])), draw(st.integers(1, 5))
    batches = st.sampled_from([size for size in (2, 1, 3, 4) if size <= most])
    batch, tokens = draw(batches), draw(st.sampled_from([3, 2, 4, 1, 5]))
    max_len, dtype = tokens + draw(st.sampled_from(left)), draw(st.float_dtypes())
    return {
        "vocab_size": vocab_size,
        "d_model": d_model,
        "max_len": max_len,
        "weights": {
            "token_embed.weight": table(draw, vocab_size, d_model, dtype),
            "pos_embed.weight": table(draw, max_len, d_model, dtype),
        },
        "ids": ids_below(draw, vocab_size, batch, tokens),
    }


def loaded(student, vocab_size, d_model, max_len, weights):
    """A module with these tables, in training mode as it comes: there is no dropout to switch off."""
    module = student.TokenPositionEmbedding(vocab_size, d_model, max_len)
    return expect.loads(student, module, weights)


@KATA.cases
def cases(draw):
    """Every fourth sequence fills the positions."""
    return embedding_case(draw, left=(0, 1, 2, 3))


@KATA.corner(points=0.5)
def more_sequences_than_positions(max_len, ids):
    """A batch may hold more sequences than there are positions."""
    return len(ids) > max_len


@KATA.corner(points=0.5)
def texts_of_full_length(max_len, ids):
    """A sequence may fill all positions."""
    return ids.shape[1] == max_len


@KATA.example
def worked_example():
    """The example of the statement."""
    import torch

    weights = {
        "token_embed.weight": torch.eye(2, dtype=torch.float64),
        "pos_embed.weight": torch.tensor([[0.0, 0.0], [0.1, 0.2], [0.3, 0.4]], dtype=torch.float64),
    }
    ids = torch.tensor([[1, 1, 0]])
    return {"vocab_size": 2, "d_model": 2, "max_len": 3, "weights": weights, "ids": ids}


@KATA.example
def three_sequences_and_two_positions():
    import torch

    weights = {
        "token_embed.weight": torch.tensor([[0.5, 1.0, 2.0], [-1.0, 0.0, 0.25]]),
        "pos_embed.weight": torch.tensor([[0.25, 0.5, -0.5], [1.0, 2.0, 1.5]]),
    }
    ids = torch.tensor([[0, 1], [1, 1], [1, 0]])
    return {"vocab_size": 2, "d_model": 3, "max_len": 2, "weights": weights, "ids": ids}


@KATA.observe
def observe(student, vocab_size, d_model, max_len, weights, ids):
    return {"result": loaded(student, vocab_size, d_model, max_len, weights)(ids)}


def fresh_cases(draw):
    """Cases of a law's own: half a bank, where the whole one would show no more."""
    return embedding_case(draw, most=3)


@KATA.law(points=0.5, cases=fresh_cases)
def test_token_rows_stand_unscaled(student, vocab_size, d_model, max_len, weights, ids):
    """Where the position table is zero, the result is the tokens' rows, to the bit."""
    words = weights["token_embed.weight"]
    silent = {**weights, "pos_embed.weight": 0 * weights["pos_embed.weight"]}
    result = loaded(student, vocab_size, d_model, max_len, silent)(ids)
    expect.equal(result, words[ids], "the result, token_embed's rows for ids, with positions of zeros,")


@KATA.law(points=0.5, cases=fresh_cases)
def test_positions_are_the_same_for_every_sequence(student, vocab_size, d_model, max_len, weights, ids):
    """Where the token table is zero, each sequence gets the rows of the first T positions, to the bit."""
    rows = weights["pos_embed.weight"][: ids.shape[1]]
    silent = {**weights, "token_embed.weight": 0 * weights["token_embed.weight"]}
    result = loaded(student, vocab_size, d_model, max_len, silent)(ids)
    what = "the result, pos_embed's first T rows for every sequence, with tokens of zeros,"
    expect.equal(result, rows.expand(len(ids), -1, -1), what)


def sequences_too_long(draw):
    """More tokens than positions, in a batch that is shorter or longer than they."""
    max_len, vocab_size = draw(st.integers(1, 4)), draw(st.integers(2, 5))
    batch, tokens = draw(st.integers(1, max_len + 3)), max_len + draw(st.integers(1, 3))
    d_model = draw(st.integers(1, 4))
    return {
        "vocab_size": vocab_size,
        "d_model": d_model,
        "max_len": max_len,
        "weights": {
            "token_embed.weight": table(draw, vocab_size, d_model, "float32"),
            "pos_embed.weight": table(draw, max_len, d_model, "float32"),
        },
        "ids": ids_below(draw, vocab_size, batch, tokens),
        "training": draw(st.booleans()),
    }


@KATA.law(points=0.5, cases=sequences_too_long)
def test_refuses_too_many_tokens(student, vocab_size, d_model, max_len, weights, ids, training):
    """A sequence of more than max_len tokens raises a ValueError."""
    module = loaded(student, vocab_size, d_model, max_len, weights)
    module.train(training)
    expect.refuses(module, ids, why=f"T={ids.shape[1]} is greater than max_len={max_len}")
