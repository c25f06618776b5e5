"""What goes wrong in padding_mask: one class or function a mistake, its docstring what is told.

Some are wrong about what is real, and carry that into all three masks; the others about one mask.
"""

import numpy as np

from grader.mistakes import crude, subtle


def _real(ids, pad_id):
    return ids != pad_id


def _pairs(tgt_real, src_real):
    return (tgt_real[:, :, None] & src_real[:, None, :])[:, None]


def _causal(ids, further=0):
    return np.tri(ids.shape[1], k=further, dtype=bool)


def _cross(tgt_ids, src_ids, pad_id):
    return _pairs(_real(tgt_ids, pad_id), _real(src_ids, pad_id))


def _all_masks(real):
    """The three entry points, built on one notion of what is real."""
    return (
        real,
        lambda ids, pad_id: _pairs(real(ids, pad_id), real(ids, pad_id)) & _causal(ids),
        lambda tgt_ids, src_ids, pad_id: _pairs(real(tgt_ids, pad_id), real(src_ids, pad_id)),
    )


@crude
class marks_the_padding:
    """The masks are inverted at their root: True stands at the padding. Real tokens are to be True, so
    that they may be attended to.
    """

    padding_mask, decoder_self_mask, cross_mask = _all_masks(lambda ids, pad_id: ids == pad_id)


class takes_zero_for_padding:
    """Right where pad_id is 0 and nowhere else: ids are compared with 0, or read as truth values, and
    `pad_id` is ignored. With another pad_id, 0 is a token like any other.
    """

    padding_mask, decoder_self_mask, cross_mask = _all_masks(lambda ids, _: ids != 0)


class takes_larger_ids_for_real:
    """Tokens whose id is smaller than pad_id count as padding: the comparison is `>`. pad_id is a name,
    not a threshold; it may stand anywhere in the vocabulary.
    """

    padding_mask, decoder_self_mask, cross_mask = _all_masks(lambda ids, pad_id: ids > pad_id)


@subtle
class stops_at_the_first_padding:
    """Real tokens after a padded position count as padding: a row is taken to be over at the first one.
    Padding may stand anywhere, at the beginning of a row too.
    """

    padding_mask, decoder_self_mask, cross_mask = _all_masks(
        lambda ids, pad_id: np.logical_and.accumulate(ids != pad_id, axis=1)
    )


@subtle
class counts_real_tokens_from_the_left:
    """The right number of tokens is real, but always the first ones: the mask is made from the length of
    each sequence, as if padding were at the end. It may stand anywhere.
    """

    padding_mask, decoder_self_mask, cross_mask = _all_masks(
        lambda ids, pad_id: np.arange(ids.shape[1]) < (ids != pad_id).sum(axis=1, keepdims=True)
    )


@subtle
class trims_the_ends_only:
    """Padding between real tokens counts as real: only what comes after the last real token is taken off.
    Padding may stand anywhere; look at each position by itself.
    """

    padding_mask, decoder_self_mask, cross_mask = _all_masks(
        lambda ids, pad_id: np.logical_or.accumulate((ids != pad_id)[:, ::-1], axis=1)[:, ::-1]
    )


class pads_every_sequence_like_the_first:
    """Right for a batch of one; with more, every sequence has the padding of the first. Each row has its
    own.
    """

    padding_mask, decoder_self_mask, cross_mask = _all_masks(
        lambda ids, pad_id: np.repeat(ids[:1] != pad_id, len(ids), axis=0)
    )


@subtle
class keeps_the_padding_of_an_earlier_call:
    """A second batch of the same shape is masked like the first: masks are kept and found again by shape.
    They depend on the ids.
    """

    padding_mask, decoder_self_mask, cross_mask = _all_masks(
        lambda ids, pad_id: _EARLIER.setdefault(ids.shape, ids != pad_id)
    )


_EARLIER: dict = {}


@subtle
class finds_a_token_in_every_sequence:
    """A sequence of padding alone has a real token, its first: a length of 0 was raised to 1, so that some
    key is left. Attention gives a query that sees nothing weights of 0, and the mask needs no exception.
    """

    padding_mask, decoder_self_mask, cross_mask = _all_masks(
        lambda ids, pad_id: (
            (ids != pad_id) | ((ids == pad_id).all(axis=1, keepdims=True) & (np.arange(ids.shape[1]) == 0))
        )
    )


@subtle
class takes_a_negative_pad_id_for_none:
    """With a negative pad_id everything counts as real: it is read as "no padding". pad_id may be any int;
    compare the ids with it.
    """

    padding_mask, decoder_self_mask, cross_mask = _all_masks(
        lambda ids, pad_id: (ids != pad_id) | (pad_id < 0)
    )


def _not_negative(ids, pad_id):
    if pad_id < 0:
        raise ValueError("pad_id must not be negative")
    return ids != pad_id


@subtle
class refuses_a_negative_pad_id:
    """A negative pad_id raises an error. Any integer may stand for padding; check what the code refuses."""

    padding_mask, decoder_self_mask, cross_mask = _all_masks(_not_negative)


@subtle
class returns_numbers:
    """The masks hold 0 and 1 instead of False and True: `~mask`, `np.where` and indexing then do
    something else. A mask is boolean here.
    """

    padding_mask, decoder_self_mask, cross_mask = _all_masks(lambda ids, pad_id: (ids != pad_id).astype(int))


@subtle
class writes_the_mask_over_the_ids:
    """The caller's ids are 0 and 1 after the call: the comparison is written into the argument. Make a
    new array.
    """

    @staticmethod
    def padding_mask(ids, pad_id):
        real = ids != pad_id
        ids[...] = real
        return real


class flattens_the_batch:
    """padding_mask returns one long row, or a shape other than [B, T]: the batch axis is lost. One value
    for each id, in its place.
    """

    @staticmethod
    def padding_mask(ids, pad_id):
        return (ids != pad_id).reshape(-1)


class looks_ahead:
    """Target tokens see what comes after them: the decoder's mask knows padding alone. It has to be
    causal as well, or the model reads what it is to predict.
    """

    @staticmethod
    def decoder_self_mask(ids, pad_id):
        return _cross(ids, ids, pad_id)


class forgets_the_padding:
    """Padding in the target is read, and reads: the decoder's mask is the causal one, the same for each
    sequence. Both ends have to be real besides.
    """

    @staticmethod
    def decoder_self_mask(ids, pad_id):  # noqa: ARG004 - the mistake
        return np.repeat(_causal(ids)[None, None], len(ids), axis=0)


class lets_padded_targets_read:
    """In the decoder's mask the rows of padded queries are not empty: only keys are checked. Here both
    ends must be real.
    """

    @staticmethod
    def decoder_self_mask(ids, pad_id):
        return _real(ids, pad_id)[:, None, None, :] & _causal(ids)


@subtle
class lets_padded_targets_be_read:
    """In the decoder's mask the columns of padded keys are not empty: only queries are checked, so real
    tokens read padding. The keys matter most.
    """

    @staticmethod
    def decoder_self_mask(ids, pad_id):
        return _real(ids, pad_id)[:, None, :, None] & _causal(ids)


class hides_each_token_from_itself:
    """In the decoder's mask a token may not attend to its own position, so the first one sees nothing:
    the diagonal is off by one.
    """

    @staticmethod
    def decoder_self_mask(ids, pad_id):
        return _cross(ids, ids, pad_id) & _causal(ids, further=-1)


class sees_one_token_ahead:
    """In the decoder's mask a token may attend to the one after it, which it is to predict: the diagonal
    is off by one.
    """

    @staticmethod
    def decoder_self_mask(ids, pad_id):
        return _cross(ids, ids, pad_id) & _causal(ids, further=1)


class sees_the_future_only:
    """In the decoder's mask tokens see themselves and what comes after: the triangle is the upper one, or
    rows and columns are exchanged. Rows are queries.
    """

    @staticmethod
    def decoder_self_mask(ids, pad_id):
        return _cross(ids, ids, pad_id) & _causal(ids).T


class leaves_out_the_axis_of_the_heads:
    """The masks are [B, T, T] and [B, T_tgt, T_src]: against scores [B, H, Tq, Tk] the batch would meet
    the heads. An axis of length 1 belongs between.
    """

    @staticmethod
    def decoder_self_mask(ids, pad_id):
        return (_cross(ids, ids, pad_id) & _causal(ids))[:, 0]

    @staticmethod
    def cross_mask(tgt_ids, src_ids, pad_id):
        return _cross(tgt_ids, src_ids, pad_id)[:, 0]


class puts_the_axis_of_the_heads_first:
    """The masks are [1, B, T, T] and [1, B, T_tgt, T_src], right for a batch of one: with more, each head
    would get the mask of another sequence. The batch comes first.
    """

    @staticmethod
    def decoder_self_mask(ids, pad_id):
        return (_cross(ids, ids, pad_id) & _causal(ids)).swapaxes(0, 1)

    @staticmethod
    def cross_mask(tgt_ids, src_ids, pad_id):
        return _cross(tgt_ids, src_ids, pad_id).swapaxes(0, 1)


def checks_source_tokens_only(tgt_ids, src_ids, pad_id):
    """In the cross mask the rows of padded queries are not empty: only the source is checked. Here both
    ends must be real.
    """
    return np.repeat(_real(src_ids, pad_id)[:, None, None, :], tgt_ids.shape[1], axis=2)


def checks_target_tokens_only(tgt_ids, src_ids, pad_id):
    """In the cross mask padded source tokens may be read: only the target is checked. The padding of the
    keys is in src_ids.
    """
    return np.repeat(_real(tgt_ids, pad_id)[:, None, :, None], src_ids.shape[1], axis=3)


def asks_for_one_real_end(tgt_ids, src_ids, pad_id):
    """The cross mask is True where one of the two is real: `or` in place of `and`. Both ends must be."""
    return _real(tgt_ids, pad_id)[:, None, :, None] | _real(src_ids, pad_id)[:, None, None, :]


def puts_the_source_in_rows(tgt_ids, src_ids, pad_id):
    """The cross mask is [B, 1, T_src, T_tgt]: rows and columns are exchanged. Queries, the target, are
    rows.
    """
    return _cross(src_ids, tgt_ids, pad_id)


def hides_later_source_tokens(tgt_ids, src_ids, pad_id):
    """The cross mask is causal: a target token sees no further into the source than it stands itself. The
    source is known in full; only the target is written token by token.
    """
    return _cross(tgt_ids, src_ids, pad_id) & np.tri(tgt_ids.shape[1], src_ids.shape[1], dtype=bool)


@subtle
class casts_the_padding_id:
    """Real tokens of a small dtype are hidden where nothing is padding: pad_id was brought to the dtype of
    the ids, and -1 in uint8 is 255, a token like any other. Compare the ids with the number as it is.
    """

    padding_mask, decoder_self_mask, cross_mask = _all_masks(
        lambda ids, pad_id: ids != np.array(pad_id).astype(ids.dtype)
    )


@subtle
class reads_ids_as_floats:
    """Real tokens with large ids are taken for padding: the ids became floats, which do not tell neighbours
    beyond 2**24 (float32) or 2**53 (float64) apart. Compare the integers as they are.
    """

    padding_mask, decoder_self_mask, cross_mask = _all_masks(
        lambda ids, pad_id: ids.astype(np.float32) != np.float32(pad_id)
    )


@subtle
class takes_close_ids_for_padding:
    """Real tokens whose ids are close to pad_id are hidden: the ids were compared with a tolerance, which is
    for floats. Ids are equal or they are not.
    """

    padding_mask, decoder_self_mask, cross_mask = _all_masks(lambda ids, pad_id: ~np.isclose(ids, pad_id))


@subtle
class cuts_ids_to_32_bits:
    """Real tokens are hidden whose ids end in the 32 bits of pad_id: the ids were cast to int32. Compare them
    in the dtype that they came in.
    """

    padding_mask, decoder_self_mask, cross_mask = _all_masks(
        lambda ids, pad_id: ids.astype(np.int32) != pad_id
    )


@subtle
class reads_unsigned_ids_with_a_sign:
    """A negative pad_id hides tokens of uint64, where no id is negative: they were cast to int64, in which
    the largest are below 0. Compare them in the dtype that they came in.
    """

    padding_mask, decoder_self_mask, cross_mask = _all_masks(
        lambda ids, pad_id: ids.astype(np.int64) != pad_id
    )


@subtle
def joins_ids_of_two_dtypes(tgt_ids, src_ids, pad_id):
    """The cross mask is wrong where target and source have different dtypes: the ids were joined in one
    array, and int64 and uint64 have float64 in common. Compare each with pad_id by itself.
    """
    targets = tgt_ids.shape[1]
    real = np.concatenate([tgt_ids, src_ids], axis=1) != pad_id
    return _pairs(real[:, :targets], real[:, targets:])


@subtle
def casts_the_source_to_the_targets(tgt_ids, src_ids, pad_id):
    """Real source tokens are hidden where the target has a smaller dtype: the source's ids were cast to it.
    Compare each with pad_id in its own dtype.
    """
    return _cross(tgt_ids, src_ids.astype(tgt_ids.dtype), pad_id)
