"""packed_sequences: its cases and its laws."""

import numpy as np

from grader import expect
from grader import strategies as st
from grader.kata import Kata

ASKED = ("mask", "positions", "targets")
KINDS = (*["plain"] * 6, "padded anywhere", "padded anywhere", "large", "unsigned", "other index", "short")
LARGE = 2**40  # float32 does not tell its neighbours apart, and int32 does not hold it

KATA = Kata(
    "packed_sequences",
    track="training",
    entry_points=("packed_mask", "packed_positions", "packed_targets"),
    title="Many documents in one row",
    source="Krell et al. 2021; Dubey et al. 2024, section 3.2",
    axes={"document_ids": "batch tokens", "ids": "batch tokens"},
    hints=(
        "Write document_ids of six tokens as a row and as a column. Which question about a pair of names "
        "tells whether they belong together, whatever they are, and what does it say of two paddings?",
        "A document begins where the name differs from the one before it. A position is the distance to "
        "the last such place:\n\n"
        "    names       7   7   7   2   2  -1\n"
        "    begins      x           x       x\n"
        "    last place  0   0   0   3   3   5\n"
        "    position    0   1   2   0   1   0\n\n"
        "A target exists where the name after it is the same. For the mask, the names as a column meet "
        "the names as a row. Which two tokens have equal names there, and must not see each other?",
        "Mask: names as [B, T, 1] against names as [B, 1, T]. True where they are equal, where the name "
        "is not negative, and where the key is not later, a lower triangle [T, T]; then an axis for the "
        "heads, [B, 1, T, T]. Positions: write each place 0 ... T - 1 where a document begins, and 0 "
        "elsewhere; the running maximum along the row is the last beginning; subtract it from the place. "
        "Targets:\n\n"
        "    ids        11   12   13   21   22    0\n"
        "    names       7    7    7    2    2   -1\n"
        "    next one   12   13    .   22    .         same name, not negative\n"
        "    targets    12   13 -100   22 -100 -100\n\n"
        "So an int64 array full of ignore_index, and in its columns but the last the next id where the "
        "next name is the same and not negative.",
    ),
    bank_size=54,
)


def draw_rows(draw, kind):
    """The names of documents, in rows. The kind says what is special about them."""
    rng = np.random.default_rng(draw(st.integers(0, 2**16)))
    batch, tokens = draw(st.integers(1, 3)), 1 if kind == "short" else draw(st.integers(2, 7))
    dtype = (
        "uint8"
        if kind == "unsigned"
        else "int64"
        if kind == "large"
        else draw(st.sampled_from(["int64", "int32"]))
    )
    rows = [draw_row(draw, rng, tokens, kind) for _ in range(batch)]
    return np.array(rows, dtype=dtype)


def draw_row(draw, rng, tokens, kind):
    """Runs of tokens with different names, some of the runs negative."""
    cuts = np.flatnonzero(rng.random(tokens - 1) < draw(st.sampled_from([0.25, 0.5, 0.75]))) + 1
    names = rng.permutation(tokens + 3)[: len(cuts) + 1] + (LARGE if kind == "large" else 0)
    if kind == "padded anywhere":
        padded = rng.random(len(names)) < 0.4
        names[padded] = rng.choice([-1, -1, -100, -2], padded.sum())
    elif kind not in ("unsigned", "short") and draw(st.booleans()):
        names[-1] = -1
    return np.repeat(names, np.diff([0, *cuts, tokens]))


def draw_packed(draw, kind):
    """Packed documents, and ids no two of which are alike, 0 at padding."""
    document_ids = draw_rows(draw, kind)
    rng, dtype = (
        np.random.default_rng(draw(st.integers(0, 2**16))),
        "uint8" if kind == "unsigned" else "int64",
    )
    if kind == "plain":
        dtype = draw(st.sampled_from(["int64", "int32"]))
    ids = np.where(
        document_ids < 0, 0, 1 + rng.permutation(99)[: document_ids.size].reshape(document_ids.shape)
    )
    ignore_index = draw(st.sampled_from([-1, 0, 1000])) if kind == "other index" else -100
    return {
        "document_ids": document_ids,
        "ids": ids.astype(dtype),
        "ignore_index": ignore_index,
    }


@KATA.cases
def cases(draw):
    """Packed documents, and which of the functions is called with them."""
    kind, asked = draw(st.sampled_from(KINDS)), draw(st.sampled_from(ASKED))
    case = draw_packed(draw, kind)
    if kind == "plain":
        case = {**case, **{name: draw(st.permuted(st.just(case[name]))) for name in ("document_ids", "ids")}}
    return {**case, "asked": "targets" if kind == "other index" else asked}


@KATA.corner(points=0.5)
def padding_anywhere(document_ids):
    """Padding may stand before and between documents, or fill a row, and is any negative number."""
    padded = document_ids < 0
    returns = (np.diff(padded.astype(int), axis=1) < 0).any()
    return bool(returns or padded.all(axis=1).any() or (document_ids < -1).any())


@KATA.corner(points=0.5)
def large_names(document_ids):
    """The name of a document may be a number beyond 32 bits."""
    return bool((document_ids > 2**32).any())


@KATA.corner(points=0.5)
def unsigned_integers(document_ids):
    """Ids and names may be unsigned integers."""
    return document_ids.dtype.kind == "u"


@KATA.corner(points=0.5)
def another_ignore_index(ignore_index):
    """Any ignore_index is the one written."""
    return ignore_index != -100


@KATA.corner(points=0.5)
def one_token(document_ids):
    """A row may hold one token."""
    return document_ids.shape[1] == 1


def pinned(document_ids, asked, ids=None, ignore_index=-100):
    """A case with these names; the ids are 10, 11, 12 and so on unless they are given."""
    ids = 10 + np.arange(document_ids.size).reshape(document_ids.shape) if ids is None else ids
    return {"document_ids": document_ids, "ids": ids, "ignore_index": ignore_index, "asked": asked}


def printed(asked):
    """The example of the statement."""
    return pinned(np.array([[7, 7, 7, 2, 2, -1]]), asked, ids=np.array([[11, 12, 13, 21, 22, 0]]))


@KATA.example
def printed_mask():
    return printed("mask")


@KATA.example
def printed_positions():
    return printed("positions")


@KATA.example
def printed_targets():
    return printed("targets")


def two_rows(asked):
    """The second row begins with the name that ended the first one."""
    return pinned(np.array([[0, 0, 3, 3, 3], [3, 3, 1, 1, 0]]), asked)


@KATA.example
def mask_of_two_rows():
    return two_rows("mask")


@KATA.example
def positions_of_two_rows():
    return two_rows("positions")


@KATA.example
def targets_of_two_rows():
    return two_rows("targets")


def padded_in_between(asked):
    """Padding of three names before, between and behind documents."""
    return pinned(np.array([[-1, -1, 5, 5, -2, -2, 0], [4, -1, -1, 9, 9, -100, -100]]), asked)


@KATA.example
def mask_padded_in_between():
    return padded_in_between("mask")


@KATA.example
def positions_padded_in_between():
    return padded_in_between("positions")


@KATA.example
def targets_padded_in_between():
    return padded_in_between("targets")


def large(asked):
    """Names that differ by 1 and by 2**32, and are one number in 24 bits or in 32."""
    return pinned(np.array([[LARGE, LARGE, LARGE + 1, LARGE + 1 + 2**32, LARGE + 1 + 2**32]]), asked)


@KATA.example
def mask_of_large_names():
    return large("mask")


@KATA.example
def positions_of_large_names():
    return large("positions")


@KATA.example
def targets_of_large_names():
    return large("targets")


def unsigned(asked):
    """Names in bytes, 255 among them, which is -1 where it is read with a sign."""
    document_ids = np.array([[200, 200, 255, 255, 0, 0, 0]], dtype=np.uint8)
    return pinned(document_ids, asked, ids=np.arange(249, 256, dtype=np.uint8).reshape(1, 7))


@KATA.example
def mask_of_unsigned_names():
    return unsigned("mask")


@KATA.example
def positions_of_unsigned_names():
    return unsigned("positions")


@KATA.example
def targets_of_unsigned_names():
    return unsigned("targets")


@KATA.example
def targets_of_unsigned_names_in_two_rows():
    """-100 stands in both rows, and in the last column."""
    document_ids = np.array([[1, 1, 4], [4, 0, 0]], dtype=np.uint8)
    return pinned(document_ids, "targets", ids=np.array([[7, 8, 9], [3, 2, 1]], dtype=np.uint8))


def names_that_float64_does_not_tell_apart(asked):
    """Two documents of one token, and one of two; ids of which float64 holds none."""
    document_ids = np.array([[2**53, 2**53 + 1, 2**53 + 2, 2**53 + 2]])
    ids = 2**60 + 1 + 2 * np.arange(4, dtype=np.int64).reshape(1, 4)
    return pinned(document_ids, asked, ids=ids)


@KATA.example
def mask_of_names_that_float64_does_not_tell_apart():
    return names_that_float64_does_not_tell_apart("mask")


@KATA.example
def positions_of_names_that_float64_does_not_tell_apart():
    return names_that_float64_does_not_tell_apart("positions")


@KATA.example
def targets_of_names_that_float64_does_not_tell_apart():
    return names_that_float64_does_not_tell_apart("targets")


@KATA.example
def positions_beyond_a_byte():
    """A document of 300 tokens."""
    return pinned(np.zeros((1, 300), dtype=np.int32), "positions")


@KATA.example
def positions_behind_the_lowest_padding():
    """From -128 to 0 there are 128, which 8 bits with a sign cannot hold."""
    return pinned(np.array([[-128, 0, 0, -128, 127]], dtype=np.int8), "positions")


@KATA.example
def mask_of_one_token():
    return pinned(np.array([[0], [-1]]), "mask")


@KATA.example
def positions_of_one_token():
    return pinned(np.array([[0], [8]]), "positions")


@KATA.example
def targets_of_one_token():
    return pinned(np.array([[0], [8]]), "targets")


@KATA.example
def targets_with_another_ignore_index():
    """An ignored target of -1, and padding at the end."""
    return pinned(np.array([[1, 1, 0, 0, -1]]), "targets", ignore_index=-1)


@KATA.observe
def observe(student, document_ids, ids, ignore_index, asked):
    """One of the three; an ignore_index of -100 is left out, so that the default is judged too."""
    if asked == "mask":
        return {"packed_mask": student.packed_mask(document_ids)}
    if asked == "positions":
        return {"packed_positions": without_padding(student.packed_positions(document_ids), document_ids)}
    given = {} if ignore_index == -100 else {"ignore_index": ignore_index}
    return {"packed_targets": student.packed_targets(ids, document_ids, **given)}


@KATA.graded_part("packed_positions")
def without_padding(positions, document_ids):
    """The positions with 0 at padding, where any number will do."""
    if getattr(positions, "shape", None) != document_ids.shape or positions.dtype.kind not in "iuf":
        return positions
    return np.where(document_ids < 0, positions.dtype.type(0), positions)


def permissions(student, document_ids):
    """The mask as booleans [B, T, T], once it has its shape; its dtype is judged apart."""
    mask = student.packed_mask(document_ids)
    batch, tokens = document_ids.shape
    shape, found = (batch, 1, tokens, tokens), getattr(mask, "shape", None)
    expect.true(found == shape, f"packed_mask must return the shape {shape}; it returns {found}.")
    expect.true(np.isin(mask, (0, 1)).all(), "packed_mask must hold nothing but True and False.")
    return mask[:, 0].astype(bool)


def counted(student, document_ids):
    """The positions, once they have their shape."""
    return shaped(student.packed_positions(document_ids), document_ids, "packed_positions")


def targets_of(student, ids, document_ids, ignore_index):
    """The targets, once they have their shape."""
    return shaped(student.packed_targets(ids, document_ids, ignore_index), document_ids, "packed_targets")


def shaped(result, document_ids, name):
    shape, found = document_ids.shape, getattr(result, "shape", None)
    expect.true(found == shape, f"{name} must return the shape {shape}; it returns {found}.")
    return result


def documents(document_ids):
    """For each document the row, and the slice in which it lies."""
    for row, names in enumerate(document_ids):
        for name in np.unique(names[names >= 0]):
            places = np.flatnonzero(names == name)
            yield row, slice(int(places[0]), int(places[-1]) + 1)


def attend(x, mask):
    """Each token's average of x [T, 3] over what its row of the mask allows; zeros where that is nothing."""
    weights = np.exp(x @ x.T) * mask  # [T, T]
    return weights @ x / np.maximum(weights.sum(axis=-1, keepdims=True), 1e-9)


@KATA.law(points=0.5)
def test_each_document_reads_itself_alone(student, document_ids):
    """Attention under the mask gives each document what it gets alone."""
    masks = permissions(student, document_ids)
    x = np.random.default_rng(0).standard_normal((document_ids.shape[1], 3))
    for row, part in documents(document_ids):
        alone = attend(x[part], np.tri(part.stop - part.start))
        what = f"the result of attention for columns {part.start} to {part.stop - 1} of row {row}"
        expect.close(attend(x, masks[row])[part], alone, what, terms=8)


@KATA.law(points=0.5)
def test_names_do_not_matter(student, document_ids, ids):
    """Other names for the documents change nothing."""
    top = document_ids.max() + 1
    renamed = np.where(document_ids < 0, document_ids, top - document_ids)
    before, after = (
        [
            permissions(student, names),
            np.where(names < 0, 0, counted(student, names)),
            targets_of(student, ids, names, -100),
        ]
        for names in (document_ids, renamed)
    )
    expect.equal(after, before, "the list of mask, positions and targets, under other names,")


def single_documents(draw):
    """A document in each row, nothing else, and its ids."""
    batch, tokens, rng = (
        draw(st.integers(1, 3)),
        draw(st.integers(2, 6)),
        np.random.default_rng(draw(st.integers(0, 2**16))),
    )
    document_ids = np.broadcast_to(rng.permutation(9)[:batch, None], (batch, tokens)).copy()
    return {"document_ids": document_ids, "ids": 1 + rng.permutation(batch * tokens).reshape(batch, tokens)}


@KATA.law(points=0.5, cases=single_documents)
def test_one_document_is_a_plain_sequence(student, document_ids, ids):
    """A row of one document has the causal mask, the positions 0 to T - 1 and the next ids as targets."""
    batch, tokens = ids.shape
    mask = np.broadcast_to(np.tri(tokens, dtype=bool), (batch, tokens, tokens))
    expect.equal(permissions(student, document_ids), mask, "the mask of rows of one document")
    positions = np.broadcast_to(np.arange(tokens), ids.shape)
    expect.equal(counted(student, document_ids), positions, "the positions in rows of one document")
    following = targets_of(student, ids, document_ids, -100)
    expect.equal(
        following[:, :-1], ids[:, 1:], "the targets of a row of one document, without the last column,"
    )


@KATA.law(points=0.5)
def test_a_document_has_a_target_less_than_tokens(student, document_ids, ids):
    """A document of n tokens has n - 1 targets, and padding has none."""
    targets = targets_of(student, ids, document_ids, -100)
    for row, part in documents(document_ids):
        due, found = part.stop - part.start - 1, int((targets[row, part] != -100).sum())
        what = (
            f"the number of targets of the document in columns {part.start} to {part.stop - 1} of row {row}"
        )
        expect.equal(found, due, what)
    padded = targets[document_ids < 0]
    expect.equal(padded, np.full_like(padded, -100), "the targets at padding")


@KATA.law(points=0.5)
def test_positions_count_from_zero(student, document_ids):
    """The positions of a document of n tokens are 0 to n - 1."""
    positions = counted(student, document_ids)
    for row, part in documents(document_ids):
        what = f"the positions of the document in columns {part.start} to {part.stop - 1} of row {row}"
        expect.equal(positions[row, part], np.arange(part.stop - part.start), what)
