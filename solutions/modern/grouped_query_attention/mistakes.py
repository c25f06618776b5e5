"""What goes wrong in grouped_query_attention: one function a mistake, its docstring what the student is
told."""

import numpy as np

from grader.mistakes import crude, subtle


def _require_groups(q, k):
    if q.shape[1] % k.shape[1]:
        raise ValueError("G must divide H")
    return q.shape[1] // k.shape[1]


def _later(q, k):
    keys = k.shape[2]
    return np.arange(keys) > np.arange(keys - q.shape[2], keys)[:, None]


def _softmax(scores, axis=-1):
    powers = np.exp(scores - scores.max(axis=axis, keepdims=True))
    return powers / powers.sum(axis=axis, keepdims=True)


def _weights(q, k, scale=None, later=None, softmax=_softmax):
    """Weights for as many heads of keys as of queries."""
    scale = q.dtype.type(q.shape[-1]) ** 0.5 if scale is None else q.dtype.type(scale)
    scores = q @ k.swapaxes(-1, -2) / scale
    return softmax(np.where(_later(q, k) if later is None else later, -np.inf, scores))


def _shared(x, members):
    return x.repeat(members, axis=1)


def _right(q, k, v, **changes):
    members = _require_groups(q, k)
    return _weights(q, _shared(k, members), **changes) @ _shared(v, members)


def deals_the_heads_in_turn(q, k, v):
    """Right with one group and with H groups; else the heads read the wrong keys: query head h reads head h %
    G. Neighbours belong together: the first H / G heads read head 0. Check `tile` against `repeat`, or the
    order of the two axes that a reshape makes."""
    members = _require_groups(q, k)
    return _weights(q, np.tile(k, (1, members, 1, 1))) @ np.tile(v, (1, members, 1, 1))


def deals_the_values_in_turn(q, k, v):
    """Weights are right and values come from the wrong heads: keys are repeated head by head, values as a
    whole list. Both are shared by the same groups."""
    members = _require_groups(q, k)
    return _weights(q, _shared(k, members)) @ np.tile(v, (1, members, 1, 1))


def deals_the_keys_in_turn(q, k, v):
    """Values come from the right heads, weights from the wrong ones: values are repeated head by head, keys
    as a whole list. Both are shared by the same groups."""
    members = _require_groups(q, k)
    return _weights(q, np.tile(k, (1, members, 1, 1))) @ _shared(v, members)


def puts_the_heads_back_in_another_order(q, k, v):
    """The right results stand at the wrong heads: groups and members are merged in the opposite order. Head h
    is member h % (H / G) of group h // (H / G); check the axes before the last reshape."""
    members = _require_groups(q, k)
    result = _right(q, k, v)
    by_group = result.reshape(result.shape[0], k.shape[1], members, *result.shape[2:])
    return by_group.swapaxes(1, 2).reshape(result.shape)


@crude
def shares_the_first_head_with_all(q, k, v):
    """Right with one group: all query heads read the first head of keys and values, as in multi-query
    attention. The other heads are there to be read by their groups."""
    _require_groups(q, k)
    return _weights(q, k[:, :1]) @ v[:, :1]


@crude
def averages_the_key_heads(q, k, v):
    """Right with one group: the heads of keys, and those of values, are averaged into one. That is how a
    checkpoint is converted; in the attention each group has a head of its own."""
    _require_groups(q, k)
    return _weights(q, k.mean(axis=1, keepdims=True)) @ v.mean(axis=1, keepdims=True)


def runs_out_of_key_heads(q, k, v):
    """The first G query heads read a head each, and all others read the last: query head h was given head h,
    as far as they go. Each head of keys serves H / G neighbours."""
    _require_groups(q, k)
    chosen = np.minimum(np.arange(q.shape[1]), k.shape[1] - 1)
    return _weights(q, k[:, chosen]) @ v[:, chosen]


def counts_the_groups_from_the_end(q, k, v):
    """The first group reads the last head of keys and the last group the first: the heads are shared in the
    opposite order. Group 0 reads head 0."""
    return _right(q, k[:, ::-1], v[:, ::-1])


def adds_up_the_heads_of_a_group(q, k, v):
    """There are only G heads in the result: the query heads of a group were added up. They share keys and
    values, and each keeps a result of its own."""
    members = _require_groups(q, k)
    result = _right(q, k, v)
    return result.reshape(result.shape[0], k.shape[1], members, *result.shape[2:]).sum(axis=2)


@crude
def expects_as_many_key_heads(q, k, v):
    """Right where G = H; fewer heads of keys raise: they are not shared. Each is to serve a group of query
    heads."""
    if q.shape[1] != k.shape[1]:
        raise ValueError("q and k must have the same number of heads")
    return _right(q, k, v)


@crude
def leaves_the_sharing_to_broadcasting(q, k, v):
    """Right with one group and with H groups; else shapes do not fit, since broadcasting stretches only an
    axis of length 1. Give the groups an axis of their own, or repeat the heads."""
    _require_groups(q, k)
    return _weights(q, k) @ v


@subtle
def accepts_uneven_groups(q, k, v):
    """Three query heads and two of keys are answered: the heads are shared as far as they go. There is no
    even share; a clear ValueError says so."""
    heads, groups = q.shape[1], k.shape[1]
    chosen = np.arange(heads) * groups // heads
    return _weights(q, k[:, chosen]) @ v[:, chosen]


def forgets_to_scale(q, k, v):
    """The weights are too sharp, the more so the wider a head: scores are not divided by the root of d_head.
    Check a d_head of 4: the scores are twice too large."""
    return _right(q, k, v, scale=1)


def scales_by_d_head(q, k, v):
    """The weights are too even: scores are divided by d_head, and not by its root."""
    return _right(q, k, v, scale=q.shape[-1])


def scales_by_the_full_width(q, k, v):
    """With one query head all is right, with more the weights are too even: the scale is the root of H times
    d_head. A score is a sum of d_head products."""
    return _right(q, k, v, scale=(q.shape[1] * q.shape[-1]) ** 0.5)


@subtle
def scales_by_the_width_of_the_values(q, k, v):
    """Right where d_v and d_head are equal: the scale is the root of d_v. A score is a sum of d_head
    products; the values have no part in it."""
    return _right(q, k, v, scale=v.shape[-1] ** 0.5)


@crude
def masks_nothing(q, k, v):
    """Queries read keys that come after them: nothing is hidden. Right for the last query alone. Check which
    keys the first of two queries sees."""
    return _right(q, k, v, later=np.zeros((q.shape[2], k.shape[2]), dtype=bool))


def puts_the_triangle_in_the_wrong_corner(q, k, v):
    """Right without a cache; with one, the new tokens see too few keys: query i is taken to stand at position
    i. The queries are the last positions; how many keys come before the first of them?"""
    return _right(q, k, v, later=np.triu(np.ones((q.shape[2], k.shape[2]), dtype=bool), 1))


def hides_the_token_itself(q, k, v):
    """Each query misses the key at its own position, and a first token is left with none, which gives NaN:
    the triangle includes the diagonal. Its own key belongs to what a query sees."""
    keys = k.shape[2]
    return _right(q, k, v, later=np.arange(keys) >= np.arange(keys - q.shape[2], keys)[:, None])


@crude
def hides_the_earlier_keys(q, k, v):
    """Queries read what comes after them and not what came before: the triangle is turned over. Key j is
    hidden from query i where j is the later position."""
    keys = k.shape[2]
    return _right(q, k, v, later=np.arange(keys) < np.arange(keys - q.shape[2], keys)[:, None])


def hides_after_the_softmax(q, k, v):
    """Results are too small wherever something is hidden: weights were set to 0 after the softmax, and the
    rest no longer sums to one. Hide in the scores."""
    members = _require_groups(q, k)
    seen = ~_later(q, k)
    return (_weights(q, _shared(k, members), later=~np.ones_like(seen)) * seen) @ _shared(v, members)


def hides_with_a_zero(q, k, v):
    """Later keys still get weight: their scores were set to 0, and exp(0) is 1. A hidden score must lie below
    every other."""

    def softmax(scores):
        return _softmax(np.where(np.isneginf(scores), scores.dtype.type(0), scores))

    return _right(q, k, v, softmax=softmax)


@subtle
def overflows_on_large_scores(q, k, v):
    """Large scores give NaN: exp overflows, and inf / inf is NaN. Subtract each row's largest score first."""

    def softmax(scores):
        powers = np.exp(scores)
        return powers / powers.sum(axis=-1, keepdims=True)

    return _right(q, k, v, softmax=softmax)


@subtle
def shifts_all_rows_alike(q, k, v):
    """Right for scores of like size; a row whose scores all lie far below another row's gives NaN: the
    largest score of the whole array was subtracted. Each row has a largest score of its own."""

    def softmax(scores):
        powers = np.exp(scores - scores.max())
        return powers / powers.sum(axis=-1, keepdims=True)

    return _right(q, k, v, softmax=softmax)


@subtle
def renormalises_after_the_softmax(q, k, v):
    """Right for moderate scores; where a later key has a much larger score than all that are seen, the result
    is NaN: the softmax ran over all keys, and what was left was divided by its sum, which is 0. Hide in the
    scores, before the softmax."""
    members = _require_groups(q, k)
    seen = ~_later(q, k)
    weights = _weights(q, _shared(k, members), later=~np.ones_like(seen)) * seen
    return weights / weights.sum(axis=-1, keepdims=True) @ _shared(v, members)


@subtle
def clips_the_scores(q, k, v):
    """Right for moderate scores; large ones are cut at 50, to keep exp from overflowing, and share the weight
    where the largest should have it all. Subtract the row's largest score instead."""

    def softmax(scores):
        return _softmax(np.where(np.isneginf(scores), scores, np.clip(scores, -50, 50)))

    return _right(q, k, v, softmax=softmax)


@subtle
def hides_with_a_small_penalty(q, k, v):
    """Right for moderate scores; a later key gets weight where its score is by far larger than those that are
    seen: hidden scores were lowered by 10,000, which is not enough. Use -inf."""
    members = _require_groups(q, k)
    scores = q @ _shared(k, members).swapaxes(-1, -2) / q.dtype.type(q.shape[-1]) ** 0.5
    return _softmax(scores - 10_000 * _later(q, k).astype(q.dtype)) @ _shared(v, members)


@crude
def takes_the_softmax_over_the_queries(q, k, v):
    """The weights of a query do not sum to one: the softmax runs down the queries. Each query shares its
    attention among the keys, the last axis."""

    def softmax(scores):
        return np.nan_to_num(
            _softmax(np.where(np.isneginf(scores), scores.dtype.type(-1e9), scores), axis=-2)
        )

    return _right(q, k, v, softmax=softmax)


def reads_the_first_sequence_for_all(q, k, v):
    """Right for a batch of one: every sequence reads the keys and values of the first. Each has its own."""
    return _right(q, np.repeat(k[:1], len(k), axis=0), np.repeat(v[:1], len(v), axis=0))


def moves_the_heads_behind_the_tokens(q, k, v):
    """The result is [B, Tq, H, d_v], as it would be before heads are merged. It is to be [B, H, Tq, d_v],
    like the queries."""
    return _right(q, k, v).swapaxes(1, 2)


def merges_the_heads(q, k, v):
    """The result is [B, Tq, H * d_v]: the heads were merged. That belongs to the layer around it; here each
    head keeps its axis."""
    result = _right(q, k, v).swapaxes(1, 2)
    return result.reshape(*result.shape[:2], -1)


@subtle
def trusts_the_memory_layout(q, k, v):
    """Where q is a transposed view the result is wrong, elsewhere right: its numbers are taken in the order
    that they have in memory. Check what becomes of q when its heads are cut into groups."""
    return _right(q.ravel(order="K").reshape(q.shape), k, v)


@subtle
def overwrites_the_queries(q, k, v):
    """The caller's q is scaled after the call: `/=` on an argument writes into the caller's memory. Make a
    new array, or scale the scores."""
    q /= q.dtype.type(q.shape[-1]) ** 0.5
    return _right(q, k, v, scale=1)
