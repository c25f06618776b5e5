"""padding_mask: its cases and its laws."""

import numpy as np

from grader import expect
from grader import strategies as st
from grader.kata import Kata

KATA = Kata(
    "padding_mask",
    track="attention",
    entry_points=("padding_mask", "decoder_self_mask", "cross_mask"),
    title="Padding is not read",
    source="Vaswani et al. 2017, section 3.2.3; Rush 2018, Batches and Masking",
    bank_size=30,
    axes={"ids": "batch tokens", "tgt_ids": "batch targets", "src_ids": "batch sources"},
    hints=(
        "Each position is judged by itself: which single comparison with pad_id tells a real token, whatever "
        "number padding has and wherever it stands?",
        "Make the two sides of a pair meet by broadcasting: the queries' mask as [B, 1, Tq, 1] and the keys' "
        "as [B, 1, 1, Tk]. Both must hold, so how are they joined?",
        "padding_mask is ids different from pad_id. cross_mask joins padding_mask of the target, axes of "
        "length 1 put in second and last, with that of the source, with two of them put in after the batch, "
        "by `and`. decoder_self_mask is cross_mask of the ids with themselves, and a lower triangle.",
    ),
    hint_for={
        "marks_the_padding": 1,
        "takes_zero_for_padding": 1,
        "takes_larger_ids_for_real": 1,
        "stops_at_the_first_padding": 1,
        "asks_for_one_real_end": 2,
        "checks_source_tokens_only": 2,
        "checks_target_tokens_only": 2,
        "puts_the_source_in_rows": 2,
        "leaves_out_the_axis_of_the_heads": 2,
    },
)

SIGNED = ("int64", "int32", "int8")
MAX_ID = 4


def fits(pad_id, dtype):
    """Whether ids of this dtype can be padding at all."""
    return np.iinfo(dtype).min <= pad_id <= np.iinfo(dtype).max


def draw_ids(draw, shape, pad_id, dtype, anywhere):
    """Small ids, and what pad_id would be in a dtype that cannot hold it. Padding fills the end of each
    sequence, or a third of the places `anywhere`."""
    size, padded = int(np.prod(shape)), fits(pad_id, dtype)
    wrapped = int(np.array(pad_id).astype(dtype))
    tokens = [token for token in (*range(MAX_ID + 1), *([] if padded else [wrapped] * 2)) if token != pad_id]
    kinds = [*tokens, *[pad_id] * 3] if anywhere and padded else tokens
    drawn = draw(st.lists(st.sampled_from(kinds), min_size=size, max_size=size))
    ids = np.array(drawn, dtype=dtype).reshape(shape)
    if padded and not anywhere:
        for row in ids:
            row[draw(st.integers(1, len(row))) :] = pad_id
    return draw(st.permuted(st.just(ids)))


@KATA.cases
def cases(draw):
    """Two batches of sequences, of their own lengths."""
    batch, targets, sources = (
        draw(st.sampled_from(lengths)) for lengths in ([2, 1, 3], [3, 2, 4, 1], [2, 3, 1, 5])
    )
    pad_id = draw(st.sampled_from([0, 1, 2, 0, 3, 9, -1, -100, 258]))
    dtype, anywhere = draw(st.sampled_from([*SIGNED, "uint8"])), draw(st.integers(0, 2)) == 2
    return {
        "tgt_ids": draw_ids(draw, (batch, targets), pad_id, dtype, anywhere),
        "src_ids": draw_ids(draw, (batch, sources), pad_id, dtype, anywhere),
        "pad_id": pad_id,
    }


@KATA.corner(points=0.5)
def sequences_of_padding_alone(tgt_ids, src_ids, pad_id):
    """A sequence may be padding alone, and is masked in full."""
    return any(bool((ids == pad_id).all(axis=1).any()) for ids in (tgt_ids, src_ids))


@KATA.corner(points=0.5)
def padding_anywhere(tgt_ids, src_ids, pad_id):
    """Padding may stand before and between real tokens."""
    return any(bool((np.diff((ids != pad_id).astype(int), axis=1) > 0).any()) for ids in (tgt_ids, src_ids))


@KATA.corner(points=0.5)
def negative_padding(tgt_ids, pad_id):
    """pad_id may be negative, and beyond what the dtype of the ids can hold."""
    return pad_id < 0 or not fits(pad_id, tgt_ids.dtype)


@KATA.example
def three_targets_and_four_sources():
    """The example of the statement."""
    return {"tgt_ids": np.array([[5, 7, 0]]), "src_ids": np.array([[3, 0, 8, 9]]), "pad_id": 0}


@KATA.example
def two_sequences_padded_apart():
    tgt_ids = np.array([[2, 0, 1], [1, 3, 0]], dtype=np.uint8)
    return {"tgt_ids": tgt_ids, "src_ids": np.array([[1, 0, 4], [3, 1, 1]], dtype=np.uint8), "pad_id": 1}


@KATA.example
def a_sequence_of_padding_alone():
    return {"tgt_ids": np.array([[3, 3], [1, 3]]), "src_ids": np.array([[4, 1, 3], [3, 3, 3]]), "pad_id": 3}


@KATA.example
def padding_below_zero():
    return {"tgt_ids": np.array([[2, 1, -1]]), "src_ids": np.array([[0, 3, -1, -1]]), "pad_id": -1}


@KATA.example
def padding_that_no_id_can_be():
    """In uint8 -1 would be 255, which is a token here."""
    tgt_ids, src_ids = (np.array(ids, dtype=np.uint8) for ids in ([[2, 255]], [[255, 0, 1]]))
    return {"tgt_ids": tgt_ids, "src_ids": src_ids, "pad_id": -1}


@KATA.example
def ids_that_floats_do_not_tell_apart():
    """In float64 the first and the last are one number; and so in what int64 and uint64 have in common."""
    tgt_ids, src_ids = np.array([[2**53 + 1, 2**32, 2**53]]), np.array([[2**53 + 1, 2**53]], dtype=np.uint64)
    return {"tgt_ids": tgt_ids, "src_ids": src_ids, "pad_id": 2**53}


@KATA.example
def ids_that_are_close_together():
    tgt_ids, src_ids = np.array([[2**24 + 1, 2**24 - 1]]), np.array([[2**24 - 1, 2**24 + 1, 2**24]])
    return {"tgt_ids": tgt_ids, "src_ids": src_ids, "pad_id": 2**24}


@KATA.example
def source_ids_that_the_targets_cannot_hold():
    """Cut down to 8 bits, or to 32, they are padding."""
    tgt_ids, src_ids = np.array([[1, 0]], dtype=np.int8), np.array([[256, 2**32, 0]])
    return {"tgt_ids": tgt_ids, "src_ids": src_ids, "pad_id": 0}


@KATA.example
def unsigned_ids_of_64_bits():
    """Read with a sign, the first is -1."""
    tgt_ids, src_ids = (np.array(ids, dtype=np.uint64) for ids in ([[2**64 - 1, 7]], [[0, 2**64 - 1]]))
    return {"tgt_ids": tgt_ids, "src_ids": src_ids, "pad_id": -1}


@KATA.observe
def observe(student, tgt_ids, src_ids, pad_id):
    return {
        "padding_mask(tgt_ids)": student.padding_mask(tgt_ids, pad_id),
        "decoder_self_mask(tgt_ids)": student.decoder_self_mask(tgt_ids, pad_id),
        "cross_mask": student.cross_mask(tgt_ids, src_ids, pad_id),
    }


def permissions(mask, shape, name):
    """The mask as booleans, once it has its shape; its dtype is judged apart."""
    found = getattr(mask, "shape", None)
    expect.true(found == shape, f"{name} must have the shape {shape}; it has {found or 'none'}.")
    expect.true(np.isin(mask, (0, 1)).all(), f"{name} must hold nothing but True and False.")
    return mask.astype(bool)


def real(student, ids, pad_id):
    return permissions(student.padding_mask(ids, pad_id), ids.shape, "padding_mask")


def within(student, ids, pad_id):
    shape = (len(ids), 1, ids.shape[1], ids.shape[1])
    return permissions(student.decoder_self_mask(ids, pad_id), shape, "decoder_self_mask")


def across(student, tgt_ids, src_ids, pad_id):
    shape = (len(tgt_ids), 1, tgt_ids.shape[1], src_ids.shape[1])
    return permissions(student.cross_mask(tgt_ids, src_ids, pad_id), shape, "cross_mask")


@KATA.law(points=1)
def test_any_id_can_be_padding(student, tgt_ids, pad_id):
    """Writing another number for padding, in the ids and in pad_id, changes no mask."""
    ids = tgt_ids.astype(np.int64)
    expected = real(student, ids, pad_id), within(student, ids, pad_id)
    for other in (-7, 50):
        renamed = np.where(ids == pad_id, other, ids)
        got = real(student, renamed, other), within(student, renamed, other)
        expect.equal(list(got), list(expected), f"the pair of masks, with {other} for {pad_id} as padding,")


@KATA.law(points=0.5)
def test_the_future_is_hidden(student, tgt_ids, pad_id):
    """No target token may attend to a later one, and each real one may attend to itself."""
    mask = within(student, tgt_ids, pad_id)
    future = np.triu(mask, k=1)
    expect.equal(future, np.zeros_like(future), "the part of decoder_self_mask above the diagonal")
    itself = mask[:, 0].diagonal(axis1=1, axis2=2)
    expect.equal(itself, tgt_ids != pad_id, "the diagonal of decoder_self_mask")


@KATA.law(points=0.5)
def test_decoder_mask_is_causal_and_real(student, tgt_ids, pad_id):
    """A target token may attend to an earlier one or itself where both are real, and nowhere else."""
    queries = keys = tgt_ids != pad_id
    expected = np.tril(queries[:, None, :, None] & keys[:, None, None, :])
    expect.equal(within(student, tgt_ids, pad_id), expected, "decoder_self_mask")


@KATA.law(points=0.5)
def test_both_ends_are_real(student, tgt_ids, src_ids, pad_id):
    """A target token may attend to a source token where both are real, and nowhere else."""
    queries, keys = tgt_ids != pad_id, src_ids != pad_id
    expected = queries[:, None, :, None] & keys[:, None, None, :]
    expect.equal(across(student, tgt_ids, src_ids, pad_id), expected, "cross_mask")


@KATA.law(points=0.5)
def test_sequences_stay_apart(student, tgt_ids, src_ids, pad_id):
    """Each sequence of the batch is masked as if it stood alone."""
    together = across(student, tgt_ids, src_ids, pad_id), within(student, tgt_ids, pad_id)
    for row in range(len(tgt_ids)):
        tgt, src = tgt_ids[row : row + 1], src_ids[row : row + 1]
        alone = across(student, tgt, src, pad_id), within(student, tgt, pad_id)
        own = [mask[row : row + 1] for mask in together]
        expect.equal(own, list(alone), f"the pair (cross_mask, decoder_self_mask) of sequence {row}")


@KATA.law(points=0.5)
def test_printed_masks(student):
    """Four real tokens of eight, and four of six, give the printed masks."""
    src_ids, tgt_ids = np.array([[3, 8, 5, 2, 0, 0, 0, 0]]), np.array([[6, 4, 9, 2, 0, 0]])
    four = np.ones((4, 4), dtype=bool)
    source_self, cross, target_self = np.zeros((8, 8), bool), np.zeros((6, 8), bool), np.zeros((6, 6), bool)
    source_self[:4, :4], cross[:4, :4], target_self[:4, :4] = four, four, np.tril(four)
    expect.equal(across(student, src_ids, src_ids, 0)[0, 0], source_self, "the encoder's mask")
    expect.equal(within(student, tgt_ids, 0)[0, 0], target_self, "the decoder's mask")
    expect.equal(across(student, tgt_ids, src_ids, 0)[0, 0], cross, "the cross mask")
