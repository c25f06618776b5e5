"""What goes wrong in sliding_window_mask: one function a mistake, its docstring what the student is told."""

import numpy as np

from grader.mistakes import crude, subtle


def _require(query_len, window, key_len, num_sinks):
    key_len = query_len if key_len is None else key_len
    if window < 1 or num_sinks < 0 or key_len < query_len:
        raise ValueError("no such mask")
    return key_len


def _distance(query_len, key_len):
    """How far each key lies before its query."""
    return np.arange(key_len - query_len, key_len)[:, None] - np.arange(key_len)


def _mask(distance, window, num_sinks):
    sink = np.arange(distance.shape[1]) < num_sinks
    return (distance >= 0) & ((distance < window) | sink)


def _right(query_len, window, key_len, num_sinks):
    key_len = _require(query_len, window, key_len, num_sinks)
    return _mask(_distance(query_len, key_len), window, num_sinks)


def reaches_one_key_further(query_len, window, key_len=None, num_sinks=0):
    """Each query sees one key too many: the window is counted without the query's own key, as in Mistral's
    first code. A window of 1 shows the own key alone; check the border of the comparison.
    """
    _require(query_len, window, key_len, num_sinks)
    return _right(query_len, window + 1, key_len, num_sinks)


def reaches_one_key_less(query_len, window, key_len=None, num_sinks=0):
    """Each query sees one key too few, and with a window of 1 none at all: the comparison leaves the last key
    of the window out. A window of 1 shows the query's own key.
    """
    key_len = _require(query_len, window, key_len, num_sinks)
    return _mask(_distance(query_len, key_len), window - 1, num_sinks)


def looks_to_both_sides(query_len, window, key_len=None, num_sinks=0):
    """Queries see later keys: the window lies on both sides of the query, as in Longformer. A decoder reads
    the past alone.
    """
    key_len = _require(query_len, window, key_len, num_sinks)
    distance = _distance(query_len, key_len)
    return (np.abs(distance) < window) | ((np.arange(key_len) < num_sinks) & (distance >= 0))


def halves_the_window(query_len, window, key_len=None, num_sinks=0):
    """The window is half as wide as it should be: it is divided by two, as where it lies on both sides. Here
    it lies before the query, and all of it counts.
    """
    _require(query_len, window, key_len, num_sinks)
    return _right(query_len, window // 2 + 1, key_len, num_sinks)


@crude
def shows_the_window_ahead(query_len, window, key_len=None, num_sinks=0):
    """Each query sees the keys after it and none before: the difference of the positions has the wrong sign.
    The window ends at the query's own key.
    """
    key_len = _require(query_len, window, key_len, num_sinks)
    return _mask(-_distance(query_len, key_len), window, num_sinks)


def hides_the_own_key(query_len, window, key_len=None, num_sinks=0):
    """No query sees itself: the window ends one key too early. Its own key is the last of the window."""
    key_len = _require(query_len, window, key_len, num_sinks)
    return _mask(_distance(query_len, key_len) - 1, window, num_sinks)


def cuts_the_text_into_blocks(query_len, window, key_len=None, num_sinks=0):
    """Each query sees its own block of `window` tokens up to itself, and the first of a block nothing before
    it. The window moves with the query; it always holds the last `window` keys.
    """
    key_len = _require(query_len, window, key_len, num_sinks)
    key, query = np.arange(key_len), np.arange(key_len - query_len, key_len)[:, None]
    return (key <= query) & ((key // window == query // window) | (key < num_sinks))


def shows_the_first_keys_as_window(query_len, window, key_len=None, num_sinks=0):
    """Every query sees the first `window` keys of the sequence and no more: the window does not move. It ends
    at the query's own key.
    """
    key_len = _require(query_len, window, key_len, num_sinks)
    return _mask(_distance(query_len, key_len), 0, max(window, num_sinks))


def forgets_the_window(query_len, window, key_len=None, num_sinks=0):
    """Every query sees its whole past: this is the causal mask, and the window never reaches it. What is
    `window` or more before the query is hidden.
    """
    key_len = _require(query_len, window, key_len, num_sinks)
    return _distance(query_len, key_len) >= 0


def forgets_the_future(query_len, window, key_len=None, num_sinks=0):
    """Queries see all later keys: only what is too far back is hidden. Each key must also not be later than
    the query.
    """
    key_len = _require(query_len, window, key_len, num_sinks)
    return (_distance(query_len, key_len) < window) | (np.arange(key_len) < num_sinks)


def forgets_the_sinks(query_len, window, key_len=None, num_sinks=0):
    """Right without sinks; with them the first keys are hidden all the same: num_sinks never reaches the
    mask.
    """
    _require(query_len, window, key_len, num_sinks)
    return _right(query_len, window, key_len, 0)


def takes_the_sinks_from_the_window(query_len, window, key_len=None, num_sinks=0):
    """With sinks the window is too narrow, or gone: their number was subtracted from it. The sinks come on
    top of the window.
    """
    key_len = _require(query_len, window, key_len, num_sinks)
    return _mask(_distance(query_len, key_len), window - num_sinks, num_sinks)


def adds_the_sinks_to_the_window(query_len, window, key_len=None, num_sinks=0):
    """With sinks the window is wider, and the first keys are hidden: num_sinks was added to the window. Sinks
    are the first keys of the sequence.
    """
    _require(query_len, window, key_len, num_sinks)
    return _right(query_len, window + num_sinks, key_len, 0)


def counts_one_sink_too_many(query_len, window, key_len=None, num_sinks=0):
    """One of the first keys too many is visible, the very first even without sinks: the key at position
    num_sinks counts as a sink. Positions begin at 0; check the comparison for equality.
    """
    _require(query_len, window, key_len, num_sinks)
    return _right(query_len, window, key_len, num_sinks + 1)


def shows_one_sink_for_any(query_len, window, key_len=None, num_sinks=0):
    """Right for one sink; of more, the first alone is visible: num_sinks is read as true or false, or as the
    position of the sink. It is how many there are.
    """
    _require(query_len, window, key_len, num_sinks)
    return _right(query_len, window, key_len, min(num_sinks, 1))


def requires_both_window_and_sink(query_len, window, key_len=None, num_sinks=0):
    """With sinks only keys that are sinks and in the window are visible: the two conditions are joined by
    `and`. Either is enough.
    """
    key_len = _require(query_len, window, key_len, num_sinks)
    distance = _distance(query_len, key_len)
    sink = (np.arange(key_len) < num_sinks) | (num_sinks == 0)
    return (distance >= 0) & (distance < window) & sink


def shows_sinks_to_the_first_queries(query_len, window, key_len=None, num_sinks=0):
    """The first rows are all True where the first columns should be: sinks are keys, so it is columns that
    they open.
    """
    key_len = _require(query_len, window, key_len, num_sinks)
    distance = _distance(query_len, key_len)
    opened = np.arange(query_len)[:, None] < num_sinks
    return (distance >= 0) & ((distance < window) | opened)


@subtle
def shows_later_sinks(query_len, window, key_len=None, num_sinks=0):
    """Where there are several sinks and no cache, the first queries see the sinks after them. A sink that is
    later than its query is the future, and hidden.
    """
    key_len = _require(query_len, window, key_len, num_sinks)
    return _right(query_len, window, key_len, 0) | (np.arange(key_len) < num_sinks)


@subtle
def hides_sinks_of_short_sequences(query_len, window, key_len=None, num_sinks=0):
    """Where num_sinks exceeds the number of keys before the queries, no sink is visible: it is taken for an
    error and dropped. Each query sees the sinks up to its own position.
    """
    key_len = _require(query_len, window, key_len, num_sinks)
    return _right(query_len, window, key_len, num_sinks if num_sinks <= key_len - query_len + 1 else 0)


def counts_queries_from_the_first_key(query_len, window, key_len=None, num_sinks=0):
    """With a cache the window lies too far to the left: query i is taken to stand at position i. The queries
    are the last positions; how many keys come before the first of them?
    """
    key_len = _require(query_len, window, key_len, num_sinks)
    return _mask(_distance(key_len, key_len)[:query_len], window, num_sinks)


def counts_sinks_from_the_first_query(query_len, window, key_len=None, num_sinks=0):
    """With a cache the sinks are the first of the new tokens: they are counted from the first query. They are
    the first keys of the sequence, which a cache holds.
    """
    key_len = _require(query_len, window, key_len, num_sinks)
    distance, key = _distance(query_len, key_len), np.arange(key_len) - (key_len - query_len)
    return (distance >= 0) & ((distance < window) | ((key >= 0) & (key < num_sinks)))


@crude
def ignores_the_key_length(query_len, window, key_len=None, num_sinks=0):
    """The mask is square although there are more keys than queries: `key_len` never reaches the shape. Check
    the example with a cache.
    """
    _require(query_len, window, key_len, num_sinks)
    return _right(query_len, window, None, num_sinks)


def makes_a_square_of_all_keys(query_len, window, key_len=None, num_sinks=0):
    """The mask has a row for every key. With a cache only the new tokens are queries; which rows of the
    square are theirs?
    """
    key_len = _require(query_len, window, key_len, num_sinks)
    return _right(key_len, window, None, num_sinks)


def swaps_window_and_key_length(query_len, window, key_len=None, num_sinks=0):
    """The window is read as the number of keys and the number of keys as the window: the arguments are
    query_len, window, key_len, num_sinks, in this order.
    """
    key_len = _require(query_len, window, key_len, num_sinks)
    return _mask(_distance(query_len, max(window, query_len)), key_len, num_sinks)


@crude
def marks_what_is_hidden(query_len, window, key_len=None, num_sinks=0):
    """The mask is inverted: it is True where the query may not attend. Here True means that it MAY, as in
    PyTorch's scaled_dot_product_attention.
    """
    return ~_right(query_len, window, key_len, num_sinks)


@crude
def puts_queries_in_columns(query_len, window, key_len=None, num_sinks=0):
    """The mask is transposed: keys run down the rows. Rows are queries, columns are keys, as in the scores q
    k^T.
    """
    return np.ascontiguousarray(_right(query_len, window, key_len, num_sinks).T)


@crude
def returns_a_mask_to_be_added(query_len, window, key_len=None, num_sinks=0):
    """The mask holds 0 and -inf, to be added to the scores. Here it is boolean, and the attention that uses
    it decides what a False does to a score.
    """
    return np.where(_right(query_len, window, key_len, num_sinks), 0.0, -np.inf)


@subtle
def leaves_the_mask_as_integers(query_len, window, key_len=None, num_sinks=0):
    """The mask is made of numbers, 0 and 1: as an index, or under `~`, they mean something else than False
    and True. Check the dtype of the result.
    """
    return _right(query_len, window, key_len, num_sinks).astype(np.int64)


@subtle
def drops_the_axis_of_one_query(query_len, window, key_len=None, num_sinks=0):
    """For one query the mask is [key_len]: an axis of length 1 was taken off. A mask has two axes."""
    mask = _right(query_len, window, key_len, num_sinks)
    return mask[0] if query_len == 1 else mask


@subtle
def counts_positions_in_bytes(query_len, window, key_len=None, num_sinks=0):
    """Right for short caches; beyond 127 keys the mask has holes: positions are integers of 8 bits, which
    wrap round. Check the dtype of the positions.
    """
    key_len = _require(query_len, window, key_len, num_sinks)
    return _mask(_distance(query_len, key_len).astype(np.int8), window, num_sinks)


@subtle
def limits_the_window_to_a_hundred(query_len, window, key_len=None, num_sinks=0):
    """Right for narrow windows; a window of more than 100 keys is cut to 100: the mask is built from a fixed
    number of diagonals. The window has no upper bound.
    """
    _require(query_len, window, key_len, num_sinks)
    return _right(query_len, min(window, 100), key_len, num_sinks)


@subtle
def accepts_too_few_keys(query_len, window, key_len=None, num_sinks=0):
    """Fewer keys than queries give a mask and no error: the first queries would have no position. Check the
    length of the keys and raise a ValueError.
    """
    _require(query_len, window, None, num_sinks)
    return _mask(_distance(query_len, query_len if key_len is None else key_len), window, num_sinks)


@subtle
def accepts_an_empty_window(query_len, window, key_len=None, num_sinks=0):
    """A window below 1 gives a mask whose rows may be empty, and no error: softmax would make NaN of them.
    Check the window and raise a ValueError.
    """
    key_len = _require(query_len, 1, key_len, num_sinks)
    return _mask(_distance(query_len, key_len), window, num_sinks)


@subtle
def accepts_negative_sinks(query_len, window, key_len=None, num_sinks=0):
    """A negative num_sinks gives a mask and no error. Check num_sinks and raise a ValueError."""
    return _right(query_len, window, key_len, max(num_sinks, 0))


@subtle
def refuses_an_empty_cache(query_len, window, key_len=None, num_sinks=0):
    """As many keys as queries raise an error when the length is given: nothing is in the cache yet, and that
    is legal. Check the comparison for equality.
    """
    if key_len is not None and key_len <= query_len:
        raise ValueError("fewer keys than queries")
    return _right(query_len, window, key_len, num_sinks)


@subtle
def refuses_a_window_beyond_the_keys(query_len, window, key_len=None, num_sinks=0):
    """A window wider than the number of keys raises an error. It is legal, as at the beginning of every text:
    the mask is the causal one.
    """
    if window > _require(query_len, window, key_len, num_sinks):
        raise ValueError("window exceeds the keys")
    return _right(query_len, window, key_len, num_sinks)


@subtle
def takes_zero_for_none(query_len, window, key_len=None, num_sinks=0):
    """key_len=0 gives a square mask and no error: 0 is as false as None, and so it counts as not given. Ask
    whether the argument is None.
    """
    return _right(query_len, window, key_len or None, num_sinks)


@subtle
def raises_another_kind_of_error(query_len, window, key_len=None, num_sinks=0):
    """Wrong arguments do raise an error, but not a ValueError: the caller cannot catch what the statement
    promises. Check the class of the exception.
    """
    try:
        return _right(query_len, window, key_len, num_sinks)
    except ValueError:
        raise RuntimeError("wrong arguments") from None


_masks: dict = {}


@subtle
def remembers_only_the_lengths(query_len, window, key_len=None, num_sinks=0):
    """A later call gets the mask of an earlier one: masks are kept under their lengths, although they depend
    on the window and the sinks as well. Check two calls with other windows.
    """
    mask = _right(query_len, window, key_len, num_sinks)
    return _masks.setdefault((query_len, key_len), mask)


@subtle
def moves_one_row_along(query_len, window, key_len=None, num_sinks=0):
    """Without sinks each row is a view of one long row, moved by a position: whoever writes into an entry
    changes its whole diagonal. Copy the view, so that each entry has memory of its own.
    """
    mask = _right(query_len, window, key_len, num_sinks)
    if num_sinks:
        return mask
    row = np.zeros(mask.shape[0] + mask.shape[1] - 1, dtype=bool)
    row[: mask.shape[1]] = mask[-1]
    return np.lib.stride_tricks.sliding_window_view(row, mask.shape[1], writeable=True)[::-1]
