"""What people write instead, and what to tell them.

A function replaces `shift_right` (it takes `start_id`) or `next_token_pairs` (it takes `ids` alone).
"""

import numpy as np

from grader.mistakes import crude, subtle


def _shift(ids, start_id):
    return np.concatenate([np.full_like(ids[:, :1], start_id), ids[:, :-1]], axis=1)


def _pairs(ids):
    if ids.shape[1] < 2:
        raise ValueError("two tokens at least")
    return ids[:, :-1], ids[:, 1:]


@crude
def shifts_left(ids, start_id):
    """Every position holds the token after it, the very one that it has to predict: the sequence moved the
    wrong way. The start token comes first, and the last token drops out."""
    return np.concatenate([ids[:, 1:], np.full_like(ids[:, :1], start_id)], axis=1)


def rolls_round(ids, start_id):  # noqa: ARG001 - the mistake
    """Each sequence begins with its own last token: a roll brings round what should drop out, and start_id is
    not used. Check the first column."""
    return np.roll(ids, 1, axis=1)


def shifts_across_sequences(ids, start_id):
    """Right for a batch of one; otherwise a sequence begins with the last token of the one before it. The
    batch was shifted as one long row. Check along which axis the shift goes."""
    return np.roll(_at_the_end(ids, start_id), 1).reshape(ids.shape)


def _at_the_end(ids, start_id):
    changed = ids.copy()
    changed[-1, -1] = start_id
    return changed


@crude
def shifts_the_batch(ids, start_id):
    """The sequences moved and not their tokens: the first one is all start tokens, and the last is lost. The
    shift goes along the tokens, axis 1."""
    return np.concatenate([np.full_like(ids[:1], start_id), ids[:-1]], axis=0)


def keeps_the_last_token(ids, start_id):
    """The result is one longer than ids: the start token was put in front and nothing dropped. Inputs and
    targets must be equally long."""
    return np.concatenate([np.full_like(ids[:, :1], start_id), ids], axis=1)


@crude
def replaces_the_first_token(ids, start_id):
    """Every position but the first holds its own target: the start token was written over the first token,
    and nothing moved. Check the second column."""
    shifted = ids.copy()
    shifted[:, 0] = start_id
    return shifted


def starts_with_zero(ids, start_id):  # noqa: ARG001 - the mistake
    """Right where start_id is 0; otherwise the first column is still 0. An array of zeros was made and its
    first column never written."""
    return _shift(ids, 0)


@subtle
def takes_a_start_of_zero_for_none(ids, start_id):
    """Right but for a start_id of 0, which is taken for "not given": 0 is false in a condition. Every integer
    is a legal id."""
    return _shift(ids, start_id) if start_id else ids.copy()


@subtle
def turns_minus_100_into_zero(ids, start_id):
    """Right for ids from 0 on; a -100 comes back as 0. Some libraries replace ignored targets when they
    make inputs of labels; this kata only shifts. Check what is done with negative numbers."""
    return np.maximum(_shift(ids, start_id), 0)


@subtle
def cuts_off_what_is_padded(ids):
    """Right for ids from 0 on; -100 becomes 0 among the inputs. The two results are slices of the text, and
    nothing in them is replaced."""
    inputs, targets = _pairs(ids)
    return np.where(inputs < 0, 0, inputs).astype(ids.dtype), targets


def fills_the_row_with_the_start(ids, start_id):
    """The whole result is start tokens: each position was written from the one before it, which had just been
    overwritten. Read from ids and write into another array, or go from the end."""
    return np.full_like(ids, start_id)


def starts_only_the_first_sequence(ids, start_id):
    """Right for a batch of one: in the other sequences the first column is 0. Check whether start_id is
    written into one entry or into the whole column."""
    shifted = _shift(ids, 0)
    shifted[0, 0] = start_id
    return shifted


@subtle
def shifts_in_place(ids, start_id):
    """The caller's ids are shifted after the call, and they are still needed as targets: the assignment wrote
    into the argument. Make a new array first."""
    ids[...] = _shift(ids, start_id)
    return ids


@subtle
def shifts_into_int64(ids, start_id):
    """Small integers come back as int64: a start column made without a dtype has NumPy's default one, and
    widens the rest. The dtype of ids is kept."""
    return _shift(ids.astype(np.int64), start_id)


@subtle
def shifts_into_floats(ids, start_id):
    """The ids come back as floats, which cannot index an embedding table: np.zeros and np.ones make floats
    unless told otherwise. The dtype of ids is kept."""
    return _shift(ids.astype(np.float64), start_id)


def swaps_inputs_and_targets(ids):
    """The inputs are one step ahead of the targets, so the model would learn to predict the past. The tuple
    is (inputs, targets), and inputs begin with the first token."""
    inputs, targets = _pairs(ids)
    return targets, inputs


@crude
def predicts_the_input(ids):
    """Inputs and targets are the same tokens, and a model that copies is perfect. The targets begin with the
    second token. Check both slices."""
    inputs, _ = _pairs(ids)
    return inputs, inputs


def keeps_the_full_length(ids):
    """Inputs and targets have T tokens, and the last target is the first token, brought round by a roll. The
    last token has no next one: both are T - 1 long."""
    _pairs(ids)
    return ids, np.roll(ids, -1, axis=1)


def predicts_the_last_token_alone(ids):
    """There is one target a sequence: the last token. Every position of the input is a lesson of its own, so
    the targets are as many as the inputs."""
    _pairs(ids)
    return ids[:, :-1], ids[:, -1:]


def skips_a_token(ids):
    """The targets are two steps ahead of the inputs, and T - 2 long. The next token is one step ahead. Check
    where both slices begin and end."""
    _pairs(ids)
    return ids[:, :-2], ids[:, 2:]


@crude
def cuts_the_batch(ids):
    """Inputs lack the last sequence and targets the first: the slices went along the batch. Tokens are axis
    1."""
    _pairs(ids)
    return ids[:-1], ids[1:]


@subtle
def accepts_a_single_token(ids):
    """A text of one token gives two empty arrays, and the loss over them is NaN, much later. Raise a
    ValueError where the problem is known."""
    return ids[:, :-1], ids[:, 1:]


@subtle
def refuses_two_tokens(ids):
    """A text of two tokens raises an error, although it holds one pair. Check the bound: only T < 2 is
    refused."""
    if ids.shape[1] <= 2:
        raise ValueError("too short")
    return _pairs(ids)


@subtle
def looks_at_the_number_of_sequences(ids):
    """A batch of one raises an error and texts of one token do not: len(ids) is the number of sequences. T is
    the length of axis 1."""
    if len(ids) < 2:
        raise ValueError("too short")
    return ids[:, :-1], ids[:, 1:]


@subtle
def raises_an_index_error(ids):
    """A text of one token does raise an error, but not a ValueError: who calls this code cannot catch what
    the statement promises. Check the class of the exception."""
    if ids.shape[1] < 2:
        raise IndexError("too short")
    return _pairs(ids)


@subtle
def shifts_by_way_of_floats(ids, start_id):
    """Large ids come out changed, in the right dtype: they went through floats, which hold whole numbers up
    to 2**53 alone. Make the column of start ids in the dtype of ids.
    """
    return _shift(ids.astype(np.float64), start_id).astype(ids.dtype)


@subtle
def joins_a_start_of_int64(ids, start_id):
    """Right for most dtypes; large ids of uint64 come out changed, since int64 and uint64 have float64 in
    common. Make the column of start ids in the dtype of ids.
    """
    start = np.full((len(ids), 1), np.uint64(start_id).astype(np.int64))
    return np.concatenate([start, ids[:, :-1]], axis=1).astype(ids.dtype)


@subtle
def cuts_the_start_to_32_bits(ids, start_id):
    """A large start_id comes out as another number: it was cast to int32. It may be any id of the dtype."""
    return _shift(ids, np.array(start_id).astype(np.int32).astype(ids.dtype))


@subtle
def accepts_an_empty_text(ids):
    """A text of one token is refused, and one without any is not: T == 1 is asked for, and not T < 2."""
    if ids.shape[1] == 1:
        raise ValueError("a single token has no next one")
    return ids[:, :-1], ids[:, 1:]
