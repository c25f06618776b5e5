"""What goes wrong in token_embedding: one function a mistake, its docstring what the student is told."""

import math

import numpy as np

from grader.mistakes import crude, subtle


def _require_ids(ids, token_table):
    if ids.min() < 0 or ids.max() >= len(token_table):
        raise ValueError("no such token")


def _require_room(ids, position_table):
    if ids.shape[-1] > len(position_table):
        raise ValueError("too many tokens")


def _require(ids, token_table, position_table):
    _require_ids(ids, token_table)
    _require_room(ids, position_table)


def _embed(ids, token_table, position_table):
    _require(ids, token_table, position_table)
    return token_table[ids] + position_table[: ids.shape[-1]]


@crude
def forgets_the_positions(ids, token_table, position_table):
    """A token has the same vector wherever it stands: the position table is not used. Add its rows."""
    _require(ids, token_table, position_table)
    return token_table[ids]


@crude
def joins_token_and_position(ids, token_table, position_table):
    """The vectors are twice as wide as the tables: the row of the position is put beside that of the
    token. It is added to it.
    """
    _require(ids, token_table, position_table)
    positions = np.broadcast_to(position_table[: ids.shape[-1]], (*ids.shape, position_table.shape[1]))
    return np.concatenate([token_table[ids], positions], axis=-1)


@crude
def multiplies_token_and_position(ids, token_table, position_table):
    """Rows whose position is all zeros vanish: token and position are multiplied. They are added."""
    _require(ids, token_table, position_table)
    return token_table[ids] * position_table[: ids.shape[-1]]


def scales_the_tokens(ids, token_table, position_table):
    """The token's share is too large: it is multiplied by the root of d_model. The Transformer of 2017
    does so; here the rows are added as they are.
    """
    _require(ids, token_table, position_table)
    return token_table[ids] * math.sqrt(token_table.shape[1]) + position_table[: ids.shape[-1]]


@crude
def gives_every_token_the_first_position(ids, token_table, position_table):
    """Order makes no difference: every token gets the row of position 0. The row goes by the place in the
    text.
    """
    _require(ids, token_table, position_table)
    return token_table[ids] + position_table[0]


def counts_positions_from_one(ids, token_table, position_table):
    """Every token gets the row of the position after its own, and the last one of a full-length text has
    none: positions are counted from 1. The first stands at 0.
    """
    _require(ids, token_table, position_table)
    return token_table[ids] + position_table[1 : ids.shape[-1] + 1]


def counts_positions_from_the_end(ids, token_table, position_table):
    """Texts shorter than max_len get the last rows of the position table. The first token stands at
    position 0, however long the text is.
    """
    _require(ids, token_table, position_table)
    return token_table[ids] + position_table[len(position_table) - ids.shape[-1] :]


@crude
def looks_positions_up_by_id(ids, token_table, position_table):
    """The position's row follows the token: both tables are indexed with the ids. The position is the
    place in the text, 0, 1, 2 and so on.
    """
    _require(ids, token_table, position_table)
    return token_table[ids] + position_table[ids % len(position_table)]


def counts_positions_down_the_batch(ids, token_table, position_table):
    """Right without a batch; with one, the position follows the sequence and not the token: positions are
    counted along the first axis. The tokens lie along the last axis of ids.
    """
    _require_ids(ids, token_table)
    if len(ids) > len(position_table):
        raise ValueError("too many tokens")
    positions = position_table[: len(ids)]
    return token_table[ids] + (positions if ids.ndim == 1 else positions[:, None])


def measures_the_batch(ids, token_table, position_table):
    """Right without a batch; with one, its size is taken for the length of the text, by `len(ids)`, so
    positions are cut off or do not fit. The tokens lie along the last axis of ids.
    """
    _require_ids(ids, token_table)
    if len(ids) > len(position_table):
        raise ValueError("too many tokens")
    return token_table[ids] + position_table[: len(ids)]


def counts_on_through_the_batch(ids, token_table, position_table):
    """Right for one sequence; in a batch, the second does not begin at position 0: positions are counted
    on from one sequence to the next. Each begins anew.
    """
    _require(ids, token_table, position_table)
    positions = np.arange(ids.size).reshape(ids.shape) % len(position_table)
    return token_table[ids] + position_table[positions]


@subtle
def keeps_a_batch_axis(ids, token_table, position_table):
    """Ids without a batch come back with one, [1, T, d_model]: an axis was added and stays. Every axis of
    ids is one of the result, and no other but d_model.
    """
    return _embed(np.atleast_2d(ids), token_table, position_table)


@subtle
def reads_negative_ids_from_the_end(ids, token_table, position_table):
    """The id -1 is accepted, and gives the last token of the vocabulary: a negative index counts from the
    end in NumPy. Such an id has to be refused with a ValueError.
    """
    if ids.max() >= len(token_table):
        raise ValueError("no such token")
    _require_room(ids, position_table)
    return token_table[ids] + position_table[: ids.shape[-1]]


@subtle
def leaves_large_ids_to_indexing(ids, token_table, position_table):
    """An id of V or more raises an IndexError, which is no ValueError: NumPy's own complaint comes first.
    Check the ids before the lookup, and take care of V itself.
    """
    if ids.min() < 0:
        raise ValueError("no such token")
    _require_room(ids, position_table)
    return token_table[ids] + position_table[: ids.shape[-1]]


@subtle
def clips_the_ids(ids, token_table, position_table):
    """An id outside the vocabulary is accepted, and gives the first or the last token: the ids are
    clipped. Raise a ValueError, so that the fault is found where it was made.
    """
    _require_room(ids, position_table)
    return token_table[np.clip(ids, 0, len(token_table) - 1)] + position_table[: ids.shape[-1]]


@subtle
def refuses_the_last_token(ids, token_table, position_table):
    """The id V - 1 raises an error, although it is the last row of the table: the comparison is off by
    one.
    """
    if ids.min() < 0 or ids.max() >= max(len(token_table) - 1, 1):
        raise ValueError("no such token")
    return _embed(ids, token_table, position_table)


def compares_ids_with_max_len(ids, token_table, position_table):
    """Ids are compared with the length of the position table, and texts with that of the vocabulary: the
    two limits are exchanged. V belongs to ids, max_len to T.
    """
    if ids.min() < 0 or ids.max() >= len(position_table) or ids.shape[-1] > len(token_table):
        raise ValueError("out of range")
    return token_table[ids] + position_table[: ids.shape[-1]]


@subtle
def leaves_long_texts_to_broadcasting(ids, token_table, position_table):
    """Texts that are too long are refused by accident, as the shapes do not fit, but for max_len = 1: a
    table of one row is added to any number of tokens. Compare T with max_len.
    """
    _require_ids(ids, token_table)
    return token_table[ids] + position_table[: ids.shape[-1]]


@subtle
def leaves_long_texts_to_indexing(ids, token_table, position_table):
    """A text that is too long raises an IndexError, which is no ValueError. Compare T with max_len before
    the lookup.
    """
    _require_ids(ids, token_table)
    return token_table[ids] + position_table[np.arange(ids.shape[-1])]


@subtle
def starts_positions_over(ids, token_table, position_table):
    """A text that is too long is accepted: its positions begin again at 0, or stay at the last one. Raise
    a ValueError.
    """
    _require_ids(ids, token_table)
    return token_table[ids] + position_table[np.arange(ids.shape[-1]) % len(position_table)]


@subtle
def refuses_texts_of_full_length(ids, token_table, position_table):
    """A text of exactly max_len tokens raises an error, although there is a row for each: the comparison
    is off by one.
    """
    if ids.shape[-1] >= len(position_table) > 1:
        raise ValueError("too many tokens")
    return _embed(ids, token_table, position_table)


@subtle
def writes_into_the_position_table(ids, token_table, position_table):
    """The position table has other numbers after a call: `+=` writes into a slice of it, and a slice is a
    view. The next call adds to what the first one left. Add into a new array.
    """
    _require(ids, token_table, position_table)
    if ids.ndim > 1:
        return token_table[ids] + position_table[: ids.shape[-1]]
    vectors = position_table[: len(ids)]
    vectors += token_table[ids]
    return vectors


_KEPT: dict = {}


@subtle
def keeps_an_earlier_table(ids, token_table, position_table):
    """Other tables of the same shape give the vectors of the first ones: a table is kept from an earlier
    call. The tables are learnt, and change from step to step; use those of the call.
    """
    _require(ids, token_table, position_table)
    kept = _KEPT.setdefault((position_table.shape, position_table.dtype), position_table)
    return token_table[ids] + kept[: ids.shape[-1]]


_SUMS: dict = {}


@subtle
def adds_into_the_kept_positions(ids, token_table, position_table):
    """The first text without a batch is right; in a second call with the same tables its tokens are still in
    the vectors: they were added into rows that are kept for later calls. Add into a new array.
    """
    _require(ids, token_table, position_table)
    if ids.ndim > 1:
        return token_table[ids] + position_table[: ids.shape[-1]]
    key = position_table.tobytes(), position_table.shape, position_table.dtype
    vectors = _SUMS.setdefault(key, position_table.copy())[: len(ids)]
    vectors += token_table[ids]
    return vectors.copy()


@subtle
def cuts_ids_to_32_bits(ids, token_table, position_table):
    """An id of 2**32 is no error and reads row 0: the ids were cast to int32 before they were checked. Check
    them in the dtype that they came in.
    """
    return _embed(ids.astype(np.int32), token_table, position_table)
