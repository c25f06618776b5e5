"""What goes wrong in head_split_merge: one function or class a mistake, its docstring what is told.

A function replaces `split_heads` (it takes `num_heads`) or `merge_heads` (it takes `x` alone); a class
replaces both.
"""

import numpy as np

from grader.mistakes import crude, subtle


def _refuse(d_model, num_heads):
    if d_model % num_heads:
        raise ValueError(f"{d_model} columns cannot be dealt to {num_heads} heads")


def _split(x, num_heads):
    _refuse(x.shape[2], num_heads)
    return x.reshape(x.shape[0], x.shape[1], num_heads, -1).transpose(0, 2, 1, 3)


def _merge(x):
    return x.transpose(0, 2, 1, 3).reshape(x.shape[0], x.shape[2], -1)


def splits_without_a_transpose(x, num_heads):
    """The shape is right, the numbers are not: head 0 holds all columns of the first tokens instead of the
    first columns of all tokens. reshape keeps the reading order and cannot bring the heads before the
    tokens; which axis order does it produce, and what is still missing?
    """
    _refuse(x.shape[2], num_heads)
    return x.reshape(x.shape[0], num_heads, x.shape[1], -1)


def merges_without_a_transpose(x):
    """The shape is right, but a token's row holds numbers of other tokens: the heads were still standing
    before the tokens when the last axes were joined. In which order must the axes stand for reshape to
    join heads and columns?
    """
    return x.reshape(x.shape[0], x.shape[2], -1)


class never_transposes:
    """Split and merge undo each other, yet both are wrong: each is a mere reshape, so head 0 holds the first
    tokens and not the first columns. That merge(split(x)) is x proves nothing about the heads; look at
    one head of a small array.
    """

    @staticmethod
    def split_heads(x, num_heads):
        _refuse(x.shape[2], num_heads)
        return x.reshape(x.shape[0], num_heads, x.shape[1], -1)

    @staticmethod
    def merge_heads(x):
        return x.reshape(x.shape[0], x.shape[2], -1)


def deals_columns_out_in_turn(x, num_heads):
    """Head 0 gets every num_heads-th column instead of a block of neighbours: the columns were cut into
    d_head groups of num_heads, where num_heads groups of d_head are asked for. Check the order of the two
    in the reshape.
    """
    _refuse(x.shape[2], num_heads)
    return x.reshape(x.shape[0], x.shape[1], -1, num_heads).transpose(0, 3, 1, 2)


def collects_columns_in_turn(x):
    """The merged row takes one column of each head in turn, instead of the whole block of head 0, then that
    of head 1: heads and columns stand in the wrong order when they are joined.
    """
    return x.transpose(0, 2, 3, 1).reshape(x.shape[0], x.shape[2], -1)


class deals_and_collects_in_turn:
    """Split and merge undo each other, yet the heads hold the wrong columns: every num_heads-th one instead
    of a block of neighbours. Weights trained elsewhere would not fit. Check which of d_head and num_heads
    comes last in the reshape.
    """

    @staticmethod
    def split_heads(x, num_heads):
        return deals_columns_out_in_turn(x, num_heads)

    @staticmethod
    def merge_heads(x):
        return collects_columns_in_turn(x)


def leaves_heads_behind_tokens(x, num_heads):
    """The result is [B, T, H, d_head]: the columns are cut, but the axis of the heads still stands behind
    that of the tokens. Attention works on the last two axes, which must be tokens and columns.
    """
    _refuse(x.shape[2], num_heads)
    return x.reshape(x.shape[0], x.shape[1], num_heads, -1)


def transposes_each_head(x, num_heads):
    """Tokens and columns of each head are exchanged, [B, H, d_head, T]: that is how keys stand in q k^T,
    which is a later step. With as many tokens as columns the shape does not show it.
    """
    return _split(x, num_heads).swapaxes(2, 3)


def puts_the_heads_in_front(x, num_heads):
    """The heads come first, [H, B, T, d_head]: the batch lost its place. With as many heads as sequences the
    shape does not show it. Check the order of the axes after the cut.
    """
    return _split(x, num_heads).swapaxes(0, 1)


def swaps_batch_and_tokens(x, num_heads):
    """Right for a batch of one; with more, the tokens of different sequences are mixed: the reshape takes
    tokens for the first axis and the batch for the second. Check the order of the axes of `x`.
    """
    _refuse(x.shape[2], num_heads)
    return x.reshape(x.shape[1], x.shape[0], num_heads, -1).transpose(1, 2, 0, 3)


def merges_batch_and_tokens_swapped(x):
    """Right for a batch of one; with more, the merged sequences hold each other's tokens: batch and tokens
    change places before the reshape. Only heads and tokens may move.
    """
    return x.transpose(2, 0, 1, 3).reshape(x.shape[0], x.shape[2], -1)


def splits_the_first_sequence_only(x, num_heads):
    """Only the first sequence of the batch comes back: the code was written for a batch of one. Check the
    first axis of the result.
    """
    return _split(x[:1], num_heads)


def copies_the_first_sequence(x):
    """Every sequence of the merged batch is the first one: the batch keeps its length, but not its content.
    Check a batch of two different sequences.
    """
    return np.repeat(_merge(x[:1]), len(x), axis=0)


@subtle
def drops_a_batch_of_one(x):
    """A batch of one loses its axis, [T, d_model]: squeeze removes every axis of length 1, and a single token
    or a single column as well. Name the axes that are to be joined.
    """
    return _merge(x).squeeze()


def merges_the_batch_away(x):
    """The sequences of a batch end up in one long table, [B * T, d_model]: the batch was joined with the
    tokens. The first axis of the result is the batch.
    """
    return _merge(x).reshape(-1, x.shape[1] * x.shape[3])


@crude
def splits_the_tokens(x, num_heads):
    """Each head gets some tokens with all of their columns, where it is due some columns of all tokens: the
    cut runs along the wrong axis. Check which axis is d_model.
    """
    return np.stack(np.split(x, num_heads, axis=1), axis=1)


@crude
def gives_every_head_all_columns(x, num_heads):
    """Each head holds the whole vector of every token: x was repeated, not cut. The heads share the width,
    d_head = d_model / num_heads.
    """
    _refuse(x.shape[2], num_heads)
    return np.repeat(x[:, None], num_heads, axis=1)


def takes_num_heads_for_the_head_width(x, num_heads):
    """There are d_model / num_heads heads of width num_heads, the other way round: the two numbers are
    exchanged, which shows only where they differ. Check four columns for one head.
    """
    _refuse(x.shape[2], num_heads)
    return _split(x, x.shape[2] // num_heads)


def numbers_the_heads_backwards(x, num_heads):
    """Head 0 holds the last columns: the heads stand in reverse order. Block h of the columns belongs to head
    h, so the first head owns the first columns.
    """
    return _split(x, num_heads)[:, ::-1]


@crude
def adds_the_heads_up(x):
    """The merged width is d_head: the heads were added up. They are put side by side, so that the width is
    H * d_head and nothing is lost.
    """
    return x.sum(axis=1, dtype=x.dtype)


@subtle
def splits_in_the_order_of_memory(x, num_heads):
    """Contiguous arrays come out right, transposed views do not: the numbers are read in the order in which
    they lie in memory. Check a view such as `a.swapaxes(0, 1)`, and the `order` of the flattening.
    """
    return _split(x.ravel(order="K").reshape(x.shape), num_heads)


@subtle
def merges_in_the_order_of_memory(x):
    """A transposed view is merged as though nobody had transposed it: the numbers are read in the order in
    which they lie in memory, so the result depends on where the heads came from. Check the `order` of the
    flattening.
    """
    return x.transpose(0, 2, 1, 3).ravel(order="K").reshape(x.shape[0], x.shape[2], -1)


@subtle
def drops_the_columns_left_over(x, num_heads):
    """A width that num_heads does not divide is accepted, and the columns left over vanish: d_head is rounded
    down. Check the remainder first, and raise a ValueError if there is one.
    """
    d_head = x.shape[2] // num_heads
    return _split(x[:, :, : num_heads * d_head], num_heads)


@subtle
def lets_reshape_find_the_tokens(x, num_heads):
    """A width that num_heads does not divide is sometimes accepted: with -1 for the tokens, reshape finds any
    number that fits, and tokens and columns are mixed. Check the remainder first, and raise a ValueError
    if there is one.
    """
    d_head = x.shape[2] // num_heads
    return x.reshape(x.shape[0], -1, num_heads, d_head).transpose(0, 2, 1, 3)


@subtle
def pads_the_columns(x, num_heads):
    """A width that num_heads does not divide is accepted, and filled up with zeros: the heads then hold
    columns that nobody asked for. It is an error here; raise a ValueError.
    """
    missing = -x.shape[2] % num_heads
    return _split(np.pad(x, [(0, 0), (0, 0), (0, missing)]), num_heads)


@subtle
def refuses_one_column_a_head(x, num_heads):
    """As many heads as columns raise an error, although d_head = 1 is a width like any other. Check the
    condition: only a remainder is a reason to refuse.
    """
    if num_heads >= x.shape[2] > 1:
        raise ValueError("too many heads")
    return _split(x, num_heads)


@subtle
def raises_another_kind_of_error(x, num_heads):
    """A width that num_heads does not divide does raise an error, but not a ValueError: who calls this code
    cannot catch what the statement promises. Check the class of the exception.
    """
    if x.shape[2] % num_heads:
        raise TypeError("num_heads does not fit")
    return _split(x, num_heads)


@subtle
def returns_none_for_an_impossible_split(x, num_heads):
    """A width that num_heads does not divide gives None, and the failure shows up later, somewhere else.
    Raise a ValueError where the problem is known.
    """
    return None if x.shape[2] % num_heads else _split(x, num_heads)


@subtle
def splits_into_float64(x, num_heads):
    """Integers and float32 come out as float64: the heads are copied into an array made without a dtype,
    which is float64. Nothing is computed here, so the dtype of `x` is kept.
    """
    return _split(x, num_heads).astype(np.float64)


@subtle
def merges_into_float64(x):
    """Integers and float32 are merged into float64: the array for the result was made without a dtype.
    Nothing is computed here, so the dtype of `x` is kept.
    """
    return _merge(x).astype(np.float64)


@subtle
def splits_into_float32(x, num_heads):
    """float64 loses half of its digits and integers become floats: the heads are cast to float32. The dtype
    of `x` is kept, whatever it is.
    """
    return _split(x, num_heads).astype(np.float32)


@subtle
def overwrites_the_merged_heads(x):
    """The caller's heads hold something else after the call: the merged numbers are written back into the
    argument's own memory. Let reshape make the copy it needs.
    """
    merged = _merge(x).copy()
    x[...] = merged.reshape(x.shape)
    return merged


@subtle
class remembers_the_number_of_heads:
    """merge_heads takes the number of heads from the last call of split_heads, and fails or mixes columns
    where other heads are merged. All that it needs stands in the shape of its argument.
    """

    num_heads_of_last_split = 1

    @staticmethod
    def split_heads(x, num_heads):
        heads = _split(x, num_heads)
        remembers_the_number_of_heads.num_heads_of_last_split = num_heads
        return heads

    @staticmethod
    def merge_heads(x):
        num_heads = remembers_the_number_of_heads.num_heads_of_last_split
        tokens = x.shape[1] * x.shape[2] // num_heads
        return x.transpose(0, 2, 1, 3).reshape(x.shape[0], tokens, num_heads * x.shape[3])


_FIRST: dict = {}


@subtle
class answers_as_the_first_time:
    """Heads are right once, and later arrays of the same shape get the same heads again: something outlives
    the call. Check what is kept between calls.
    """

    @staticmethod
    def split_heads(x, num_heads):
        return _FIRST.setdefault((x.shape, x.dtype, num_heads), _split(x, num_heads))


@subtle
class carries_integers_through_floats:
    """Large integers come out changed: they went through an array of floats, which holds whole numbers up to
    2**53 alone. Nothing is computed here, so make no array of another dtype.
    """

    def split_heads(x, num_heads):
        return _split(x.astype(np.float64), num_heads).astype(x.dtype)

    def merge_heads(x):
        return _merge(x.astype(np.float64)).astype(x.dtype)


@subtle
class adds_to_an_array_of_zeros:
    """Booleans come out as integers: the numbers were added to zeros. Move them, and compute nothing."""

    def split_heads(x, num_heads):
        return 0 + _split(x, num_heads)

    def merge_heads(x):
        return 0 + _merge(x)
