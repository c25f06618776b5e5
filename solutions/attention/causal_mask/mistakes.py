"""What goes wrong in causal_mask: one function a mistake, its docstring what the student is told."""

import numpy as np

from grader.mistakes import crude, subtle


def _key_len(query_len, key_len):
    key_len = query_len if key_len is None else key_len
    if key_len < query_len:
        raise ValueError("fewer keys than queries")
    return key_len


def _mask(query_len, key_len, further=0):
    key_len = _key_len(query_len, key_len)
    return np.tri(query_len, key_len, key_len - query_len + further, dtype=bool)


@crude
def marks_the_future(query_len, key_len=None):
    """The mask is inverted: it is True where the key lies ahead of the query. Here True means that the
    query MAY attend, as in PyTorch's scaled_dot_product_attention; a mask of what to block is its opposite.
    """
    return ~_mask(query_len, key_len)


def sees_one_token_ahead(query_len, key_len=None):
    """Each query may attend to the token after it, the very one it is to predict: the diagonal is off by
    one. Check the first row without a cache: it allows exactly one key.
    """
    return _mask(query_len, key_len, further=1)


def hides_each_query_from_itself(query_len, key_len=None):
    """A query may not attend to its own position, so the first row allows nothing, and its softmax is NaN:
    the diagonal is off by one. Does the comparison include equal positions?
    """
    return _mask(query_len, key_len, further=-1)


def looks_back_only_one_token(query_len, key_len=None):
    """Each query sees itself and the token before it, but nothing earlier: the mask is a band. All of the
    past is allowed, back to position 0.
    """
    return _mask(query_len, key_len) & ~_mask(query_len, key_len, further=-2)


@crude
def sees_only_itself(query_len, key_len=None):
    """Each query may attend to its own position and to nothing else: the mask is a diagonal. The past is
    allowed as well; only the future is hidden.
    """
    return _mask(query_len, key_len) & ~_mask(query_len, key_len, further=-1)


@crude
def looks_forward(query_len, key_len=None):
    """Each query sees itself and what comes after it: the triangle is the upper one. Check the last row: the
    last token has everything in its past, and may attend to all of it.
    """
    return ~_mask(query_len, key_len, further=-1)


def puts_queries_in_columns(query_len, key_len=None):
    """The mask is transposed: keys run down the rows, and with a cache even the shape is turned round. Rows
    are queries, columns are keys, as in the scores q k^T.
    """
    return np.ascontiguousarray(_mask(query_len, key_len).T)


def counts_queries_from_the_first_key(query_len, key_len=None):
    """With a cache the triangle sits in the wrong corner: query i is taken to stand at position i, so it
    cannot see the tokens between. The queries are the last positions; how many keys come before the
    first of them?
    """
    return np.tri(query_len, _key_len(query_len, key_len), dtype=bool)


def turns_the_offset_round(query_len, key_len=None):
    """With a cache whole rows allow nothing: the offset of the queries has the wrong sign. More keys than
    queries means that every query stands further to the right, not to the left.
    """
    key_len = _key_len(query_len, key_len)
    return np.tri(query_len, key_len, query_len - key_len, dtype=bool)


def stands_one_position_early(query_len, key_len=None):
    """With a cache no query sees itself: the first one is taken to stand at the last cached position, one
    too early. After two cached keys, at positions 0 and 1, the first new token stands at 2.
    """
    key_len = _key_len(query_len, key_len)
    return _mask(query_len, key_len, further=-1 if key_len > query_len else 0)


def stands_one_position_late(query_len, key_len=None):
    """With a cache every query sees one token ahead: the first one is taken to stand one position after its
    own. After two cached keys, at positions 0 and 1, the first new token stands at 2.
    """
    key_len = _key_len(query_len, key_len)
    return _mask(query_len, key_len, further=1 if key_len > query_len else 0)


def ignores_the_key_length(query_len, key_len=None):
    """The mask is square although more keys than queries were announced: `key_len` never reaches the shape.
    Check causal_mask(2, 4), which has four columns.
    """
    _key_len(query_len, key_len)
    return _mask(query_len, None)


def makes_a_square_of_all_keys(query_len, key_len=None):
    """The mask has a row for every key: with a cache, there are fewer queries than keys, and only their
    rows are wanted. Which rows of the square are those of the new tokens?
    """
    key_len = _key_len(query_len, key_len)
    return _mask(key_len, None)


def hides_the_cached_keys(query_len, key_len=None):
    """With a cache only the new tokens see each other: the columns of the cached keys are False. Earlier
    tokens are the past of every query, and are allowed.
    """
    key_len = _key_len(query_len, key_len)
    cached = np.zeros((query_len, key_len - query_len), dtype=bool)
    return np.hstack([cached, _mask(query_len, None)])


def appends_the_cached_keys(query_len, key_len=None):
    """With a cache the triangle comes first and the columns of the cached keys after it: but the cache holds
    the earlier keys, and these stand at the left.
    """
    key_len = _key_len(query_len, key_len)
    cached = np.ones((query_len, key_len - query_len), dtype=bool)
    return np.hstack([_mask(query_len, None), cached])


def takes_new_tokens_for_one(query_len, key_len=None):
    """With a cache everything is allowed, which is right for one new token and for no more: among several
    new tokens, an earlier one sees a later one. Check causal_mask(2, 4).
    """
    key_len = _key_len(query_len, key_len)
    return _mask(query_len, None) if key_len == query_len else np.ones((query_len, key_len), dtype=bool)


@crude
def allows_everything(query_len, key_len=None):
    """Every query may attend to every key, the future among them: nothing is masked. Check the first row: the
    first token has no past but itself.
    """
    return np.ones((query_len, _key_len(query_len, key_len)), dtype=bool)


@subtle
def refuses_only_zero_keys(query_len, key_len=None):
    """No keys at all raise an error, but one key for two queries gives a mask with an empty row: every length
    below that of the queries has to be refused, not 0 alone.
    """
    if key_len == 0:
        raise ValueError("no keys")
    return accepts_too_few_keys(query_len, key_len)


@subtle
def accepts_too_few_keys(query_len, key_len=None):
    """Fewer keys than queries give a mask with empty rows instead of an error: the first queries would have
    no position. The length of the keys has to be checked, and a ValueError raised.
    """
    key_len = query_len if key_len is None else key_len
    return np.tri(query_len, key_len, key_len - query_len, dtype=bool)


@subtle
def takes_zero_for_none(query_len, key_len=None):
    """key_len=0 gives a square mask instead of an error: 0 is as false as None, and so it counts as not
    given. Ask whether the argument is None.
    """
    return _mask(query_len, key_len or None)


@subtle
def refuses_an_empty_cache(query_len, key_len=None):
    """As many keys as queries raise an error when the length is given: nothing is in the cache yet, as in
    the first step of every generation, and that is legal. Check the comparison for equality.
    """
    if key_len is not None and key_len <= query_len:
        raise ValueError("fewer keys than queries")
    return _mask(query_len, key_len)


@subtle
def raises_another_kind_of_error(query_len, key_len=None):
    """Too few keys do raise an error, but not a ValueError: who calls this code cannot catch what the
    statement promises. Check the class of the exception.
    """
    if key_len is not None and key_len < query_len:
        raise RuntimeError("fewer keys than queries")
    return _mask(query_len, key_len)


@subtle
def counts_positions_in_bytes(query_len, key_len=None):
    """Right for short caches; beyond 127 keys the mask has holes: positions are integers of 8 bits, which
    wrap round. Check the dtype of the positions.
    """
    key_len = _key_len(query_len, key_len)
    positions = np.arange(key_len).astype(np.int8)
    return positions <= positions[key_len - query_len :, None]


@subtle
def drops_the_axis_of_one_query(query_len, key_len=None):
    """For one query the mask is [key_len]: an axis of length 1 was taken off. The mask always has two
    axes.
    """
    mask = _mask(query_len, key_len)
    return mask[0] if query_len == 1 else mask


@subtle
def sees_only_itself_as_one_query(query_len, key_len=None):
    """One query with a cache sees nothing but itself: the case is treated apart, as if there were no cache.
    Its position is the last one, and it may attend to all keys.
    """
    key_len = _key_len(query_len, key_len)
    return _mask(query_len, key_len) & ((query_len > 1) | (np.arange(key_len) == key_len - 1))


@subtle
def returns_zeros_and_ones(query_len, key_len=None):
    """The mask is made of numbers, 0 and 1: as an index, or under `~`, they mean something else than False
    and True. Check the dtype of the result.
    """
    return _mask(query_len, key_len).astype(np.int64)


@subtle
def leaves_the_triangle_as_floats(query_len, key_len=None):
    """The mask is made of floats, 1.0 and 0.0: np.tri and np.ones give float64 unless told otherwise, and `~`
    refuses floats. Check the dtype of the result.
    """
    return _mask(query_len, key_len).astype(np.float64)


def returns_a_mask_to_be_added(query_len, key_len=None):
    """The mask holds 0 and -inf, to be added to the scores. Here the mask is boolean, and the attention that
    uses it decides what a False does to a score.
    """
    return np.where(_mask(query_len, key_len), 0.0, -np.inf)


def adds_axes_for_batch_and_heads(query_len, key_len=None):
    """The result has four axes: room for batch and heads was added. The mask has two, [query_len, key_len];
    broadcasting finds the rest.
    """
    return _mask(query_len, key_len)[None, None]


_masks = {}


@subtle
def hands_out_the_kept_mask(query_len, key_len=None):
    """A caller that writes into its mask changes the mask of later calls: each pair of lengths has one array,
    which is kept and handed out again. Return a new array, or a copy of the kept one.
    """
    if (query_len, key_len) not in _masks:
        _masks[query_len, key_len] = _mask(query_len, key_len)
    return _masks[query_len, key_len]


@subtle
def remembers_only_the_query_length(query_len, key_len=None):
    """A second call gets the mask of an earlier one: masks are kept under `query_len`, although they depend
    on `key_len` as well. Check two calls with the same number of queries and different caches.
    """
    if query_len not in _masks:
        _masks[query_len] = _mask(query_len, key_len)
    return _masks[query_len]


@subtle
def moves_one_row_along(query_len, key_len=None):
    """Each row is a view of one long row, moved by a position: whoever writes into an entry changes its whole
    diagonal. Copy the view, so that each entry has memory of its own.
    """
    key_len = _key_len(query_len, key_len)
    row = np.arange(query_len + key_len - 1) < key_len
    return np.lib.stride_tricks.sliding_window_view(row, key_len, writeable=True)[::-1]
