"""What goes wrong in alibi_bias: one class or function a mistake, its docstring what the student is told.

Some have wrong slopes, and carry them into the bias; the others are about the bias alone.
"""

import numpy as np

from grader.mistakes import crude, subtle


def _formula(num_heads):
    return 2.0 ** (-8 * np.arange(1, num_heads + 1) / num_heads)


def _power(num_heads):
    if num_heads < 1:
        raise ValueError("at least one head")
    return 2 ** (num_heads.bit_length() - 1)


def _joined(num_heads, start=0, step=2):
    """The slopes of P heads, then those of 2P heads from `start` on."""
    power = _power(num_heads)
    return np.append(_formula(power), _formula(2 * power)[start::step])[:num_heads]


def _key_len(query_len, key_len):
    key_len = query_len if key_len is None else key_len
    if key_len < query_len:
        raise ValueError("fewer keys than queries")
    return key_len


def _distance(query_len, key_len):
    return np.arange(key_len - query_len, key_len)[:, None] - np.arange(key_len)


def _bias(slopes, distance):
    return -slopes[:, None, None] * distance


def _right(num_heads, query_len, key_len):
    return _bias(_joined(num_heads), _distance(query_len, _key_len(query_len, key_len)))


def _both(slopes_of):
    """The two entry points, built on one notion of the slopes."""

    def alibi_bias(num_heads, query_len, key_len=None):
        return _bias(slopes_of(num_heads), _distance(query_len, _key_len(query_len, key_len)))

    return slopes_of, alibi_bias


def _checked(slopes_of):
    """The two entry points, with the check of the number of heads in front."""

    def alibi_slopes(num_heads):
        _power(num_heads)
        return slopes_of(num_heads)

    return _both(alibi_slopes)


@subtle
class takes_the_formula_for_every_number:
    """Right for powers of two; for other numbers of heads the slopes are 2^(-8 h / H), as the paper's formula
    reads. The list of the statement begins with the slopes of a power of two.
    """

    alibi_slopes, alibi_bias = _checked(_formula)


@subtle
class sorts_the_slopes:
    """Right for powers of two; for other numbers the right slopes stand in falling order. The slopes of P
    heads come first, and those of 2P heads are appended as they are.
    """

    alibi_slopes, alibi_bias = _both(lambda num_heads: np.sort(_joined(num_heads))[::-1])


@subtle
class takes_the_first_slopes_of_twice_as_many:
    """Right for powers of two; for others, what follows the slopes of P heads are the 1st, 2nd, 3rd … slope
    of 2P heads, and every second of them is there already. Which of them lie between?
    """

    alibi_slopes, alibi_bias = _both(lambda num_heads: _joined(num_heads, step=1))


@subtle
class takes_the_even_slopes_between:
    """Right for powers of two; for others some slopes come twice: after the slopes of P heads their list
    begins again, which the 2nd, 4th … slope of 2P heads are too. The 1st, 3rd, 5th … lie between.
    """

    alibi_slopes, alibi_bias = _both(lambda num_heads: _joined(num_heads, start=1))


class cuts_the_list_of_more_heads:
    """Right for powers of two; for others the list is that of the next larger power, cut to H. It begins with
    the slopes of the largest power of two below H.
    """

    alibi_slopes, alibi_bias = _checked(
        lambda num_heads: _formula(1 << (num_heads - 1).bit_length())[:num_heads]
    )


class begins_with_the_slopes_between:
    """Right for powers of two; for others the slopes of 2P heads stand in front of those of P heads. The list
    begins with the slopes of P heads.
    """

    @staticmethod
    def alibi_slopes(num_heads):
        power = _power(num_heads)
        return np.roll(_joined(num_heads), num_heads - power)

    @staticmethod
    def alibi_bias(num_heads, query_len, key_len=None):
        distance = _distance(query_len, _key_len(query_len, key_len))
        return _bias(begins_with_the_slopes_between.alibi_slopes(num_heads), distance)


class halves_from_head_to_head:
    """Right for 8 heads, the number in the paper's example: each slope is half of the one before it. The
    ratio depends on the number of heads; the last slope is always 1/256.
    """

    alibi_slopes, alibi_bias = _checked(lambda num_heads: 0.5 ** np.arange(1, num_heads + 1))


class spreads_the_slopes_from_a_half:
    """Right for 8 heads: the slopes run from 1/2 to 1/256 for every number of heads. Only the last is fixed;
    for 4 heads the first is 1/4.
    """

    alibi_slopes, alibi_bias = _checked(lambda num_heads: np.geomspace(0.5, 1 / 256, num_heads))


class counts_heads_from_zero:
    """The first slope is 1, and every head has that of the head before it: heads are counted from 0. The
    first is number 1, and the last has the slope 1/256.
    """

    @staticmethod
    def _slopes(num_heads):
        power = _power(num_heads)
        shifted = 2.0 ** (-8 * np.arange(power) / power)
        return np.append(shifted, 2.0 ** (-4 * np.arange(0, 2 * power, 2) / power))[:num_heads]

    alibi_slopes, alibi_bias = _both(_slopes)


class reverses_the_heads:
    """The slopes stand in the opposite order: the first head has the smallest. For a power of two they fall;
    check which end of the list is head 1.
    """

    alibi_slopes, alibi_bias = _both(lambda num_heads: _joined(num_heads)[::-1])


class gives_all_heads_one_slope:
    """Every head has the first slope: the number of the head does not reach the exponent. Each head has a
    slope of its own.
    """

    alibi_slopes, alibi_bias = _both(lambda num_heads: np.repeat(_joined(num_heads)[:1], num_heads))


class forgets_the_eight:
    """The slopes are much too large: the exponent is -h / H. It is -8 h / H, so that the last slope is
    1/256.
    """

    @staticmethod
    def _slopes(num_heads):
        return _joined(num_heads) ** 0.125

    alibi_slopes, alibi_bias = _both(_slopes)


class takes_e_for_two:
    """The slopes are too small: they are powers of e, as np.exp gives them. The base is 2."""

    @staticmethod
    def _slopes(num_heads):
        return np.exp(np.log2(_joined(num_heads)))

    alibi_slopes, alibi_bias = _both(_slopes)


@crude
class rewards_distance_in_both:
    """The slopes are negative, and the bias, minus the slope times the distance, rewards distance. Slopes are
    positive; the minus stands in the bias.
    """

    alibi_slopes, alibi_bias = _both(lambda num_heads: -_joined(num_heads))


@subtle
class computes_slopes_in_float32:
    """Right for few heads; for 16 or 12 the slopes have half of their digits: they were computed in float32.
    Check the dtype of the exponents.
    """

    alibi_slopes, alibi_bias = _both(
        lambda num_heads: _joined(num_heads).astype(np.float32).astype(np.float64)
    )


@subtle
class returns_float32:
    """The slopes and the bias are float32: half of the digits are gone. float64 is asked for."""

    alibi_slopes = staticmethod(lambda num_heads: _joined(num_heads).astype(np.float32))

    @staticmethod
    def alibi_bias(num_heads, query_len, key_len=None):
        return _right(num_heads, query_len, key_len).astype(np.float32)


@subtle
class accepts_no_heads:
    """A number of heads below 1 gives an empty array and no error. Check it in both functions and raise a
    ValueError.
    """

    alibi_slopes, alibi_bias = _both(lambda num_heads: _joined(num_heads) if num_heads > 0 else np.zeros(0))


def rewards_distance(num_heads, query_len, key_len=None):
    """Far keys have a larger bias than near ones: the sign is the wrong one. What is far away loses; the bias
    is 0 at the query's own key and negative before it.
    """
    return -_right(num_heads, query_len, key_len)


def takes_the_position_of_the_key(num_heads, query_len, key_len=None):
    """Each row is off by a constant: the bias is the slope times the key's position, as in BLOOM and MPT. The
    same after a softmax; here the bias is minus the slope times the distance, 0 at the query's own key.
    """
    key_len = _key_len(query_len, key_len)
    return np.repeat(_bias(_joined(num_heads), -np.arange(key_len)[None]), query_len, axis=1)


def counts_queries_from_the_first_key(num_heads, query_len, key_len=None):
    """With a cache the distances are too small: query i is taken to stand at position i. The queries are the
    last positions; how many keys come before the first of them?
    """
    key_len = _key_len(query_len, key_len)
    return _bias(_joined(num_heads), np.arange(query_len)[:, None] - np.arange(key_len))


def makes_a_square_of_all_keys(num_heads, query_len, key_len=None):
    """With a cache the bias has a row for every key. Only the new tokens are queries; which rows of the
    square are theirs?
    """
    key_len = _key_len(query_len, key_len)
    return _bias(_joined(num_heads), _distance(key_len, key_len))


def ignores_the_key_length(num_heads, query_len, key_len=None):
    """The bias is square although there are more keys than queries: `key_len` never reaches the shape. Check
    alibi_bias(6, 1, 4).
    """
    _key_len(query_len, key_len)
    return _right(num_heads, query_len, None)


def counts_the_own_key_as_one(num_heads, query_len, key_len=None):
    """Every entry is too low by one slope: the distance counts the query's own key as 1. It is 0 there, so
    that a token loses nothing on itself.
    """
    return _bias(_joined(num_heads), _distance(query_len, _key_len(query_len, key_len)) + 1)


def divides_by_the_length(num_heads, query_len, key_len=None):
    """The bias of near keys depends on how long the text is: distances are divided by key_len. A step costs
    the slope, however many keys there are.
    """
    key_len = _key_len(query_len, key_len)
    return _right(num_heads, query_len, key_len) / key_len


def squares_the_distance(num_heads, query_len, key_len=None):
    """Far keys lose too much: the distance is squared. The bias is linear; each further step costs one slope
    more.
    """
    return _bias(_joined(num_heads), _distance(query_len, _key_len(query_len, key_len)) ** 2)


@crude
def divides_by_the_slope(num_heads, query_len, key_len=None):
    """Every step costs far too much: the distance is divided by the slope. It is multiplied; the first of
    four heads loses 1/4 a step.
    """
    return _bias(1 / _joined(num_heads), _distance(query_len, _key_len(query_len, key_len)))


@crude
def leaves_the_heads_at_the_end(num_heads, query_len, key_len=None):
    """The heads are the last axis. They are the first, [H, query_len, key_len], as in the scores."""
    return np.moveaxis(_right(num_heads, query_len, key_len), 0, -1)


@crude
def puts_queries_in_columns(num_heads, query_len, key_len=None):
    """Keys run down the rows: each head's bias is transposed. Rows are queries, columns are keys, as in the
    scores q k^T.
    """
    return np.ascontiguousarray(_right(num_heads, query_len, key_len).swapaxes(1, 2))


def adds_an_axis_for_the_batch(num_heads, query_len, key_len=None):
    """The result has four axes: one for the batch was added. The bias has three; broadcasting finds the
    batch.
    """
    return _right(num_heads, query_len, key_len)[None]


@subtle
def drops_the_axis_of_one_query(num_heads, query_len, key_len=None):
    """For one query the bias is [H, key_len]: an axis of length 1 was taken off. The bias always has three
    axes.
    """
    bias = _right(num_heads, query_len, key_len)
    return bias[:, 0] if query_len == 1 else bias


@subtle
def counts_distances_in_bytes(num_heads, query_len, key_len=None):
    """Right for short caches; beyond 127 keys the bias jumps: positions are integers of 8 bits, which wrap
    round. Check the dtype of the positions.
    """
    distance = _distance(query_len, _key_len(query_len, key_len)).astype(np.int8)
    return _bias(_joined(num_heads), distance)


@subtle
def accepts_too_few_keys(num_heads, query_len, key_len=None):
    """Fewer keys than queries give a bias and no error: the first queries would have no position. Check the
    length of the keys and raise a ValueError.
    """
    key_len = query_len if key_len is None else key_len
    return _bias(_joined(num_heads), _distance(query_len, key_len))


@subtle
def refuses_only_zero_keys(num_heads, query_len, key_len=None):
    """One key for two queries gives a bias: every length below that of the queries has to be refused, not 0
    alone.
    """
    if key_len == 0:
        raise ValueError("no keys")
    return accepts_too_few_keys(num_heads, query_len, key_len)


@subtle
def takes_zero_for_none(num_heads, query_len, key_len=None):
    """key_len=0 gives a square bias and no error: 0 is as false as None, and so it counts as not given. Ask
    whether the argument is None.
    """
    return _right(num_heads, query_len, key_len or None)


@subtle
def refuses_an_empty_cache(num_heads, query_len, key_len=None):
    """As many keys as queries raise an error when the length is given: nothing is in the cache yet, and that
    is legal. Check the comparison for equality.
    """
    if key_len is not None and key_len <= query_len:
        raise ValueError("fewer keys than queries")
    return _right(num_heads, query_len, key_len)


@subtle
def raises_another_kind_of_error(num_heads, query_len, key_len=None):
    """Too few keys do raise an error, but not a ValueError: the caller cannot catch what the statement
    promises. Check the class of the exception.
    """
    if key_len is not None and key_len < query_len:
        raise RuntimeError("fewer keys than queries")
    return _right(num_heads, query_len, key_len)


_kept: dict = {}


@subtle
def negates_the_kept_slopes(num_heads, query_len, key_len=None):
    """The first call is right, and the second with as many heads rewards distance: the slopes are kept, and
    their sign is changed in place in every call. Make a new array for the sign.
    """
    slopes = _kept.setdefault(num_heads, _joined(num_heads))
    slopes *= -1
    return slopes[:, None, None] * _distance(query_len, _key_len(query_len, key_len))


@subtle
def remembers_only_the_lengths(num_heads, query_len, key_len=None):
    """A later call gets the slopes of an earlier one: biases are kept under their lengths, although they
    depend on the number of heads as well. Check two calls with the same lengths.
    """
    key_len = _key_len(query_len, key_len)
    kept = _kept.setdefault((query_len, key_len), _right(num_heads, query_len, key_len))
    return kept if len(kept) >= num_heads else _right(num_heads, query_len, key_len)


@subtle
class moves_one_row_along:
    """Each row of the bias is a view of one long row, moved by a position: whoever writes into an entry
    changes its whole diagonal. Copy the view, so that each entry has memory of its own.
    """

    @staticmethod
    def alibi_bias(num_heads, query_len, key_len=None):
        key_len = _key_len(query_len, key_len)
        row = _joined(num_heads)[:, None] * np.arange(1 - key_len, query_len)
        return np.lib.stride_tricks.sliding_window_view(row, key_len, axis=1, writeable=True)[:, ::-1]
