"""What people write instead, and what to tell them.

A class replaces the entry points that it has; a function replaces `packed_targets`.
"""

import numpy as np

from grader.mistakes import crude, subtle


def _mask(document_ids, same=np.equal, real=None):
    queries, keys = document_ids[:, :, None], document_ids[:, None, :]
    real = document_ids >= 0 if real is None else real
    return (same(queries, keys) & real[:, :, None] & real[:, None, :] & _causal(document_ids))[:, None]


def _causal(document_ids, further=0):
    return np.tri(document_ids.shape[1], k=further, dtype=bool)


def _begins(document_ids):
    begins = np.ones(document_ids.shape, dtype=bool)
    begins[:, 1:] = document_ids[:, 1:] != document_ids[:, :-1]
    return begins


def _positions(document_ids):
    places = np.arange(document_ids.shape[1])
    return places - np.maximum.accumulate(_begins(document_ids) * places, axis=1)


def _goes_on(document_ids):
    goes_on = np.zeros(document_ids.shape, dtype=bool)
    goes_on[:, :-1] = (document_ids[:, 1:] == document_ids[:, :-1]) & (document_ids[:, 1:] >= 0)
    return goes_on


def _following(ids):
    return np.roll(ids, -1, axis=1).astype(np.int64)


def _targets(ids, document_ids, ignore_index=-100):
    return np.where(_goes_on(document_ids), _following(ids), ignore_index)


@crude
class leaves_documents_together:
    """The whole row is treated as one text: a causal mask, positions from 0 to T - 1, targets across all
    borders. document_ids has no effect but at padding. Check where each of the three reads it."""

    @staticmethod
    def packed_mask(document_ids):
        return _mask(np.where(document_ids < 0, -1, 0))

    @staticmethod
    def packed_positions(document_ids):
        return np.broadcast_to(np.arange(document_ids.shape[1]), document_ids.shape).copy()

    @staticmethod
    def packed_targets(ids, document_ids, ignore_index=-100):
        return _targets(ids, np.where(document_ids < 0, -1, 0), ignore_index)


@crude
class takes_each_token_for_a_document:
    """Every token reads itself alone, stands at position 0 and has no target, as though documents had one
    token each. Check the comparison of neighbouring names, and which of its two outcomes begins a
    document."""

    @staticmethod
    def packed_mask(document_ids):
        return _mask(np.where(document_ids < 0, -1, np.arange(document_ids.shape[1])))

    @staticmethod
    def packed_positions(document_ids):
        return np.zeros(document_ids.shape, dtype=np.int64)

    @staticmethod
    def packed_targets(ids, document_ids, ignore_index=-100):  # noqa: ARG004 - the mistake
        return np.full(document_ids.shape, ignore_index, dtype=np.int64)


@crude
class looks_at_the_first_row:
    """Right for a batch of one; otherwise every row gets what belongs to the first one, or the batch is 1.
    Each row has documents of its own. Check indices of 0 along the first axis."""

    @staticmethod
    def packed_mask(document_ids):
        return np.repeat(_mask(document_ids[:1]), len(document_ids), axis=0)

    @staticmethod
    def packed_positions(document_ids):
        return np.repeat(_positions(document_ids[:1]), len(document_ids), axis=0)

    @staticmethod
    def packed_targets(ids, document_ids, ignore_index=-100):
        return _targets(ids, np.repeat(document_ids[:1], len(ids), axis=0), ignore_index)


@crude
class swaps_rows_and_columns:
    """Tokens attend to later ones of their document, count down to 0 at its end and have the token before
    them as target: everything runs against the direction of reading. Rows of the mask are queries, and the
    target is the next token."""

    @staticmethod
    def packed_mask(document_ids):
        return _mask(document_ids).swapaxes(2, 3).copy()

    @staticmethod
    def packed_positions(document_ids):
        return _positions(document_ids[:, ::-1])[:, ::-1].copy()

    @staticmethod
    def packed_targets(ids, document_ids, ignore_index=-100):
        return _targets(ids[:, ::-1], document_ids[:, ::-1], ignore_index)[:, ::-1].copy()


class turns_the_mask_over:
    """The mask is turned over: each token attends to the later tokens of its document, and not to the earlier
    ones. Rows are queries, and columns are keys."""

    @staticmethod
    def packed_mask(document_ids):
        return _mask(document_ids).swapaxes(2, 3).copy()


class lets_documents_see_each_other:
    """A token also attends to the documents before its own in the row: the mask is causal and hides padding.
    Query and key must belong to the same document."""

    @staticmethod
    def packed_mask(document_ids):
        return _mask(np.where(document_ids < 0, -1, 0))


class forgets_that_keys_come_first:
    """A token reads the tokens after it, as far as its document goes: the names are compared and the places
    are not. The key must not stand after the query."""

    @staticmethod
    def packed_mask(document_ids):
        real = document_ids >= 0
        same = document_ids[:, :, None] == document_ids[:, None, :]
        return (same & real[:, :, None])[:, None]


class lets_padding_attend_to_padding:
    """Right between real tokens; a padding query attends to padding, because -1 equals -1. Its row is to be
    all False: ask also whether the name is negative."""

    @staticmethod
    def packed_mask(document_ids):
        return _mask(document_ids, real=np.ones(document_ids.shape, dtype=bool))


class lets_padding_attend_to_itself:
    """Right between real tokens; a padding query attends to itself, which some code allows so that no softmax
    has an empty row. Here the row of a padding query is all False."""

    @staticmethod
    def packed_mask(document_ids):
        return _mask(document_ids) | np.eye(document_ids.shape[1], dtype=bool)


class hides_the_query_from_itself:
    """No token attends to itself, and the first of a document attends to nothing: the diagonal is missing.
    The key may stand at the query's own place."""

    @staticmethod
    def packed_mask(document_ids):
        return _mask(document_ids) & _causal(document_ids, further=-1)


class compares_names_by_size:
    """A document sees those before it with smaller names: the names of query and key are compared with <= or
    >=. Names come in any order and say nothing but which tokens belong together."""

    @staticmethod
    def packed_mask(document_ids):
        return _mask(document_ids, same=np.greater_equal)


class takes_zero_for_padding:
    """Right but for the document of the name 0, which is hidden as if it were padding. Only negative names
    are padding; check the comparison with 0."""

    @staticmethod
    def packed_mask(document_ids):
        return _mask(document_ids, real=document_ids > 0)


@subtle
class takes_minus_1_for_the_only_padding:
    """Right where padding is -1; other negative names are taken for documents. Every negative number is
    padding: compare with 0 and not with -1."""

    @staticmethod
    def packed_mask(document_ids):
        return _mask(document_ids, real=document_ids != -1)


class marks_what_is_hidden:
    """The mask is inverted: True stands where the query may not attend. Some libraries want it so; here True
    means that the query may attend to the key."""

    @staticmethod
    def packed_mask(document_ids):
        return ~_mask(document_ids)


class returns_a_mask_to_be_added:
    """The mask holds 0 and -inf, to be added to the scores. Here it is boolean, and the attention that uses
    it decides what a False does to a score."""

    @staticmethod
    def packed_mask(document_ids):
        return np.where(_mask(document_ids), 0.0, -np.inf)


@subtle
class returns_zeros_and_ones:
    """The mask is made of numbers, 0 and 1: as an index, or under `~`, they mean something else than False
    and True. Check the dtype of the result."""

    @staticmethod
    def packed_mask(document_ids):
        return _mask(document_ids).astype(np.int64)


@subtle
class adds_no_axis_for_the_heads:
    """The mask has three axes, [B, T, T]: its batch would meet the heads of the scores. An axis of length 1
    stands after the batch, so that one mask serves all heads."""

    @staticmethod
    def packed_mask(document_ids):
        return _mask(document_ids)[:, 0]


@subtle
class reads_names_as_float32:
    """Right for small names; large ones that lie near each other become one document, because floats of 32
    bits cannot tell them apart. Compare the integers as they come."""

    @staticmethod
    def packed_mask(document_ids):
        return _mask(document_ids.astype(np.float32))


@subtle
class looks_names_up_in_a_table:
    """Right for small names; a large one takes memory without end, or raises an error: a table with an entry
    for each possible name is made. Names are any numbers; compare them with each other."""

    @staticmethod
    def packed_mask(document_ids):
        if document_ids.max() > 2**20:
            raise MemoryError(f"a table of {document_ids.max()} documents")
        return _mask(document_ids)


_MASKS = {}


@subtle
class keeps_the_mask_of_a_shape:
    """The first call is right, and later ones of the same shape get its mask, whatever their documents are:
    the mask is kept under the shape alone. Check what outlives a call."""

    @staticmethod
    def packed_mask(document_ids):
        return _MASKS.setdefault(document_ids.shape, _mask(document_ids))


class counts_through_the_row:
    """Positions run from 0 to T - 1 through all documents: the second one begins far from 0. Each document
    counts from 0. Check that its first token is found."""

    @staticmethod
    def packed_positions(document_ids):
        return np.broadcast_to(np.arange(document_ids.shape[1]), document_ids.shape).copy()


class counts_from_one:
    """Every position is one too large. The first token of a document stands at 0."""

    @staticmethod
    def packed_positions(document_ids):
        return _positions(document_ids) + 1


class resets_one_step_late:
    """Right in the first document of a row; the later ones count from 1: what is subtracted is the count
    before their first token. Write down the numbers for two documents of two tokens."""

    @staticmethod
    def packed_positions(document_ids):
        places = np.arange(document_ids.shape[1])
        begins = np.maximum.accumulate(_begins(document_ids) * places, axis=1)
        return places - np.maximum(begins - 1, 0)


class numbers_the_documents:
    """All tokens of a document have one number, 0 in the first document and 1 in the second: the beginnings
    are summed up, which tells the documents apart and counts no token in them."""

    @staticmethod
    def packed_positions(document_ids):
        return np.cumsum(_begins(document_ids), axis=1) - 1


class counts_on_in_the_next_row:
    """Right but where a row begins with the name that ended the row before: it goes on counting. The batch
    was read as one long row; every row begins anew."""

    @staticmethod
    def packed_positions(document_ids):
        return _positions(document_ids.reshape(1, -1)).reshape(document_ids.shape)


class begins_where_the_name_grows:
    """Right where names grow from left to right; a document with a smaller name than the one before goes on
    counting. Names come in any order: ask whether they differ, not which is larger."""

    @staticmethod
    def packed_positions(document_ids):
        places, begins = np.arange(document_ids.shape[1]), np.zeros(document_ids.shape, dtype=bool)
        begins[:, 1:] = document_ids[:, 1:] > document_ids[:, :-1]
        return places - np.maximum.accumulate(begins * places, axis=1)


@subtle
class counts_in_int32:
    """The positions are right and have the wrong dtype: int64 is expected, whatever the dtype of
    document_ids. Check where the array is made, and casts."""

    @staticmethod
    def packed_positions(document_ids):
        return _positions(document_ids).astype(np.int32)


def predicts_the_next_document(ids, document_ids, ignore_index=-100):
    """The last token of a document has the first one of the next document as target, which nobody could know.
    Right for one document a row. Check the target where the name changes."""
    real = document_ids >= 0
    goes_on = real & np.roll(real, -1, axis=1)
    goes_on[:, -1] = False
    return np.where(goes_on, _following(ids), ignore_index)


def predicts_the_padding(ids, document_ids, ignore_index=-100):
    """Right but at a document's last token before padding, whose target is the id that stands at padding. The
    next token must belong to the same document, and padding belongs to none."""
    padding_follows = np.zeros(ids.shape, dtype=bool)
    padding_follows[:, :-1] = (document_ids[:, :-1] >= 0) & (document_ids[:, 1:] < 0)
    return np.where(_goes_on(document_ids) | padding_follows, _following(ids), ignore_index)


def trains_on_padding(ids, document_ids, ignore_index=-100):
    """Right between real tokens; padding before more padding has a target, because -1 equals -1. Targets at
    padding are ignore_index: ask also whether the name is negative."""
    goes_on = np.zeros(ids.shape, dtype=bool)
    goes_on[:, :-1] = document_ids[:, 1:] == document_ids[:, :-1]
    return np.where(goes_on, _following(ids), ignore_index)


def ignores_the_first_token(ids, document_ids, ignore_index=-100):
    """Every token is its own target, and the first of each document is ignored. That is the convention of
    models that shift their labels themselves; here the target is the next token, and the last one is
    ignored."""
    ignored = _begins(document_ids) | (document_ids < 0)
    return np.where(ignored, ignore_index, ids).astype(np.int64)


def shifts_and_ignores_the_first(ids, document_ids, ignore_index=-100):
    """The first token of each document has no target, and the last one has the beginning of the next
    document: targets were shifted, and the wrong end was ignored. No token of the document follows its last
    one."""
    ignored = _begins(document_ids) | (document_ids < 0)
    ignored[:, -1] = True
    return np.where(ignored, ignore_index, _following(ids))


def brings_round_the_first_token(ids, document_ids, ignore_index=-100):
    """Only the last column is wrong: its target is the first token of the row, as np.roll leaves it there. No
    token follows the last column, so it has no target."""
    targets = _targets(ids, document_ids, ignore_index)
    targets[:, -1] = np.where(document_ids[:, -1] >= 0, ids[:, 0], ignore_index)
    return targets


def reads_on_in_the_next_row(ids, document_ids, ignore_index=-100):
    """Right but in the last column, whose target comes from the next row where its document has the same
    name. The batch was read as one long row. Nothing follows the last column."""
    flat = _targets(ids.reshape(1, -1), document_ids.reshape(1, -1), ignore_index)
    return flat.reshape(ids.shape)


def leaves_out_the_last_column(ids, document_ids, ignore_index=-100):
    """The targets have T - 1 columns: the last one was cut off, as where inputs are cut too. Here the inputs
    keep all T tokens, and the last column's target is ignore_index."""
    return _targets(ids, document_ids, ignore_index)[:, :-1]


@subtle
def fills_in_minus_100(ids, document_ids, ignore_index=-100):  # noqa: ARG001 - the mistake
    """Right by default; another ignore_index is never written: the number -100 is in the code. Check that the
    parameter is used."""
    return _targets(ids, document_ids)


@subtle
def takes_minus_1_for_the_only_padding_of_targets(ids, document_ids, ignore_index=-100):
    """Right where padding is -1; a run of another negative name has targets as if it were a document. Every
    negative number is padding."""
    return _targets(ids, np.where(document_ids < -1, 2 - document_ids, document_ids), ignore_index)


@subtle
def keeps_the_dtype_of_the_ids(ids, document_ids, ignore_index=-100):
    """The targets have the dtype of ids: int32 stays int32, and in uint8 -100 turns into 156. int64 is
    expected, which holds any ignore_index. Check where the array is made."""
    return _targets(ids, document_ids, ignore_index).astype(ids.dtype)


@subtle
def overwrites_the_ids(ids, document_ids, ignore_index=-100):
    """The targets are right, and the caller's ids, which are the inputs, hold something else after the call:
    the shift was made in place. Make a new array first."""
    targets = _targets(ids, document_ids, ignore_index)
    ids[:, :-1] = ids[:, 1:].copy()
    return targets


@subtle
def refuses_a_single_token(ids, document_ids, ignore_index=-100):
    """A row of one token raises an error, although it has an answer: one ignored target. Check what is done
    where nothing is left to compare."""
    if ids.shape[1] < 2:
        raise ValueError("two tokens at least")
    return _targets(ids, document_ids, ignore_index)


@subtle
class reads_names_as_float64:
    """Documents see each other whose names are neighbours beyond 2**53: the names became floats, which do not
    tell them apart. Compare the integers as they are.
    """

    def packed_mask(document_ids):
        return _mask(document_ids.astype(np.float64))


@subtle
def carries_targets_through_floats(ids, document_ids, ignore_index=-100):
    """Large ids come out changed: they went through floats, which hold whole numbers up to 2**53 alone."""
    return _targets(ids.astype(np.float64).astype(np.int64), document_ids, ignore_index)


@subtle
class counts_positions_in_bytes:
    """Positions begin at 0 again after 255, within one document: they were counted in 8 bits."""

    def packed_positions(document_ids):
        return _positions(document_ids).astype(np.uint8).astype(np.int64)


@subtle
class subtracts_names_in_their_own_dtype:
    """A document behind padding does not begin at 0: the difference of the two names is more than their dtype
    holds, and its size came out negative. Ask whether the names are equal.
    """

    def packed_positions(document_ids):
        positions = np.zeros(document_ids.shape, dtype=np.int64)
        for t in range(1, document_ids.shape[1]):
            apart = np.abs(document_ids[:, t] - document_ids[:, t - 1])
            positions[:, t] = np.where(apart <= 0, positions[:, t - 1] + 1, 0)
        return positions
