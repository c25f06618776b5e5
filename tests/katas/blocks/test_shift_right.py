"""shift_right: its cases and its laws."""

import numpy as np

from grader import expect
from grader import strategies as st
from grader.kata import Kata

ASKED = ("both", "shift_right", "next_token_pairs")
DTYPES = ("int64", "int32", "uint8", "int16")

KATA = Kata(
    "shift_right",
    track="blocks",
    entry_points=("shift_right", "next_token_pairs"),
    title="What the decoder reads, and what it has to say",
    source="Vaswani et al. 2017, section 3.1; Williams and Zipser 1989",
    axes={"ids": "batch tokens", "text": "batch tokens"},
    hints=(
        "Write a sequence of three ids and, under each, the id that the decoder may have read by then. Which "
        "id is never read, and what stands under the first?",
        "Work along axis 1, so that no sequence hands anything to its neighbour, and give the column of "
        "start ids the dtype of ids.",
        "shift_right: a column full of start_id, joined with all columns of ids but the last. Pairs: all "
        "columns but the last, and all columns but the first; refuse fewer than two columns beforehand.",
    ),
    hint_for={
        "shifts_left": 1,
        "rolls_round": 1,
        "shifts_across_sequences": 2,
        "shifts_the_batch": 2,
        "shifts_into_int64": 2,
        "shifts_into_floats": 2,
        "accepts_a_single_token": 3,
    },
    bank_size=48,
)


def draw_ids(draw, shortest=1):
    """Ids of any integer dtype, few of them alike, in any memory layout."""
    shape = draw(st.integers(1, 4)), draw(st.integers(shortest, 5))
    rng, dtype = np.random.default_rng(draw(st.integers(0, 2**16))), draw(st.sampled_from(DTYPES))
    ids = rng.permutation(100)[: shape[0] * shape[1]].reshape(shape).astype(dtype)
    if shape[1] > 2 and dtype != "uint8" and draw(st.sampled_from([False, False, True])):
        ids[:, -2:] = -100  # as where a batch was padded with what the loss ignores
    return draw(st.permuted(st.just(ids)))


@KATA.cases
def ids_and_text(draw):
    """Ids to be shifted, and a text to be cut into pairs."""
    start_id = draw(st.sampled_from([0, 1, 2, 101]))
    ids, text = draw_ids(draw), draw_ids(draw, shortest=2)
    start_id = 1 if negative_ids(ids, text) else start_id
    return {"ids": ids, "start_id": start_id, "text": text, "asked": draw(st.sampled_from(ASKED))}


@KATA.corner(points=0.5)
def negative_ids(ids, text):
    """A target of -100 is shifted like any other number."""
    return bool((ids < 0).any() or (text < 0).any())


@KATA.corner(points=0.5)
def smallest_arguments(start_id, text):
    """The smallest arguments are right as well: a start_id of 0, a text of two tokens."""
    return start_id == 0 or text.shape[1] == 2


@KATA.example
def worked_example():
    ids = np.array([[7, 8, 9], [4, 5, 6]])
    return {"ids": ids, "start_id": 1, "text": ids.copy(), "asked": "both"}


@KATA.example
def one_id_and_one_pair():
    return {
        "ids": np.array([[5], [6]]),
        "start_id": 0,
        "text": np.array([[3, 4]], dtype=np.uint8),
        "asked": "both",
    }


@KATA.example
def padded_with_minus_100():
    ids = np.array([[7, 8, -100, -100], [4, 5, 6, -100]])
    return {"ids": ids, "start_id": 1, "text": ids[:, ::-1].copy(), "asked": "both"}


@KATA.example
def ids_that_float64_cannot_hold():
    ids = 2**60 + np.arange(6, dtype=np.int64).reshape(2, 3)
    return {"ids": ids, "start_id": 2**40 + 1, "text": ids + 7, "asked": "both"}


@KATA.example
def ids_of_64_bits_without_a_sign():
    ids = np.array([[2**64 - 1, 2**63 + 1, 5]], dtype=np.uint64)
    return {"ids": ids, "start_id": 2**63 + 3, "text": ids, "asked": "both"}


@KATA.observe
def observe(student, ids, start_id, text, asked):
    """One function or both: a mistake in one leaves the cases of the other right."""
    seen = {}
    if asked != "next_token_pairs":
        seen["shifted"] = student.shift_right(ids, start_id)
    if asked != "shift_right":
        seen["pairs"] = student.next_token_pairs(text)
    return seen


def pairs(student, text):
    """What next_token_pairs returns, once it is two arrays."""
    result = student.next_token_pairs(text)
    two = isinstance(result, tuple | list) and len(result) == 2
    expect.true(two, "next_token_pairs must return the tuple (inputs, targets).")
    return result


def shifted(student, ids, start_id):
    """What shift_right returns, once it has the shape of ids."""
    result = student.shift_right(ids, start_id)
    shape = getattr(result, "shape", None)
    expect.true(shape == ids.shape, f"shift_right must return the shape of ids, {ids.shape}, not {shape}.")
    return result


@KATA.law(points=1)
def test_every_sequence_begins_with_the_start(student, ids, start_id):
    """Every shifted sequence begins with start_id."""
    first = shifted(student, ids, start_id)[:, 0]
    expect.equal(first, np.full(len(ids), start_id), f"the first column of shift_right(ids, {start_id})")


@KATA.law(points=0.5)
def test_position_holds_the_id_before(student, ids, start_id):
    """Every later position holds the id that stood one place before it."""
    later = shifted(student, ids, start_id)[:, 1:]
    expect.equal(later, ids[:, :-1], f"shift_right(ids, {start_id}) without its first column")


@KATA.law(points=1)
def test_targets_follow_their_inputs(student, text):
    """Each target is the token that follows its input in the text."""
    inputs, targets = pairs(student, text)
    expect.equal([inputs, targets], [text[:, :-1], text[:, 1:]], "the pair (inputs, targets)")


def texts_without_a_pair(draw):
    return {"text": draw_ids(draw, shortest=2)[:, : draw(st.sampled_from([1, 1, 0]))]}


@KATA.law(points=0.5, cases=texts_without_a_pair)
def test_refuses_a_single_token(student, text):
    """next_token_pairs raises a ValueError for a text of one token, or of none."""
    expect.refuses(student.next_token_pairs, text, why=f"T is {text.shape[1]}, and a pair takes two tokens")
