"""What goes wrong in multi-head attention: one function a mistake, its docstring what the student is told.

Most are the right computation with one step exchanged; `_mha` takes the steps.
"""

import math

import numpy as np

from grader.mistakes import crude, subtle


def _split(x, num_heads):
    return x.reshape(len(x), x.shape[1], num_heads, -1).transpose(0, 2, 1, 3)


def _merge(heads):
    return heads.transpose(0, 2, 1, 3).reshape(len(heads), heads.shape[2], -1)


def _hide(scores, mask):
    return scores if mask is None else np.where(mask, scores, -np.inf)


def _softmax(scores):
    largest = scores.max(axis=-1, keepdims=True)
    powers = np.exp(scores - np.where(np.isneginf(largest), 0, largest))
    total = powers.sum(axis=-1, keepdims=True)
    return powers / np.where(total == 0, 1, total)


def _weigh(scores, mask):
    return _softmax(_hide(scores, mask))


def _root_of_d_k(q):
    return math.sqrt(q.shape[-1])


def _mha(x_q, x_kv, matrices, num_heads, mask, root=_root_of_d_k, weigh=_weigh, split=_split, merge=_merge):
    w_q, w_k, w_v, w_o = matrices
    q, k, v = split(x_q @ w_q, num_heads), split(x_kv @ w_k, num_heads), split(x_kv @ w_v, num_heads)
    scores = q @ k.swapaxes(-1, -2) / root(q)
    return merge(weigh(scores, mask) @ v) @ w_o


def forgets_to_scale(x_q, x_kv, w_q, w_k, w_v, w_o, num_heads, mask=None):
    """The weights are too sharp as soon as a head has more than one column: the scores are the bare dot
    products. Check what stands between q kᵀ and the softmax.
    """
    return _mha(x_q, x_kv, (w_q, w_k, w_v, w_o), num_heads, mask, root=lambda q: 1)  # noqa: ARG005 - the mistake


def scales_by_the_root_of_d_model(x_q, x_kv, w_q, w_k, w_v, w_o, num_heads, mask=None):
    """The weights are too even: the scale is the root of d_model, the width of the tokens. A score is a
    sum over the columns of one head; how many are those?
    """
    root = math.sqrt(x_q.shape[-1])
    return _mha(x_q, x_kv, (w_q, w_k, w_v, w_o), num_heads, mask, root=lambda q: root)  # noqa: ARG005 - the mistake


def scales_by_the_width_of_all_heads(x_q, x_kv, w_q, w_k, w_v, w_o, num_heads, mask=None):
    """Right for one head, too even for several: the scale is the root of H * d_k, the columns of all
    heads. A score is a sum over the columns of one.
    """
    root = math.sqrt(w_q.shape[-1])
    return _mha(x_q, x_kv, (w_q, w_k, w_v, w_o), num_heads, mask, root=lambda q: root)  # noqa: ARG005 - the mistake


def scales_by_the_width_of_the_values(x_q, x_kv, w_q, w_k, w_v, w_o, num_heads, mask=None):
    """Right only where d_v equals d_k: the scale is made from the values, which have no part in the
    scores. Check which array's last axis the root is taken of.
    """
    root = math.sqrt(w_v.shape[-1] / num_heads)
    return _mha(x_q, x_kv, (w_q, w_k, w_v, w_o), num_heads, mask, root=lambda q: root)  # noqa: ARG005 - the mistake


def splits_without_a_transpose(x_q, x_kv, w_q, w_k, w_v, w_o, num_heads, mask=None):
    """Shapes are right, numbers are not: reshaped straight to [B, H, T, d], head 0 holds all columns of
    the first tokens rather than the first columns of all. reshape keeps the reading order; what is
    missing?
    """

    def split(x, num_heads):
        return x.reshape(len(x), num_heads, x.shape[1], -1)

    return _mha(x_q, x_kv, (w_q, w_k, w_v, w_o), num_heads, mask, split=split)


def merges_without_a_transpose(x_q, x_kv, w_q, w_k, w_v, w_o, num_heads, mask=None):
    """With several heads, rows of the result hold what other queries have read: the heads are joined
    while their axis still stands before that of the tokens.
    """

    def merge(heads):
        return heads.reshape(len(heads), heads.shape[2], -1)

    return _mha(x_q, x_kv, (w_q, w_k, w_v, w_o), num_heads, mask, merge=merge)


def deals_columns_out_in_turn(x_q, x_kv, w_q, w_k, w_v, w_o, num_heads, mask=None):
    """Each head gets every num_heads-th column instead of a block of neighbours: the columns are cut into
    d groups of H, where H groups of d are due. Weights trained elsewhere would not fit.
    """

    def split(x, num_heads):
        return x.reshape(len(x), x.shape[1], -1, num_heads).transpose(0, 3, 1, 2)

    return _mha(x_q, x_kv, (w_q, w_k, w_v, w_o), num_heads, mask, split=split)


@crude
def attends_with_one_head(x_q, x_kv, w_q, w_k, w_v, w_o, num_heads, mask=None):  # noqa: ARG001 - the mistake
    """num_heads changes nothing: one set of weights serves all columns. Each head has a softmax of its
    own, over scores from its own columns.
    """
    return _mha(
        x_q, x_kv, (w_q, w_k, w_v, w_o), 1, mask if mask is None or mask.ndim < 3 else mask[..., :1, :, :]
    )


@subtle
def expects_values_as_wide_as_keys(x_q, x_kv, w_q, w_k, w_v, w_o, num_heads, mask=None):
    """An error where d_v differs from d_k: the values are cut by the width of the keys. w_v has a width
    of its own.
    """
    d_k = w_q.shape[1] // num_heads

    def split(x, num_heads):
        return x.reshape(len(x), x.shape[1], num_heads, d_k).transpose(0, 2, 1, 3)

    return _mha(x_q, x_kv, (w_q, w_k, w_v, w_o), num_heads, mask, split=split)


@subtle
def expects_d_model_columns(x_q, x_kv, w_q, w_k, w_v, w_o, num_heads, mask=None):
    """An error where the projections are not as wide as the tokens: a head is taken to have d_model / H
    columns. How wide a head is, w_q and w_v say.
    """
    d_head = x_q.shape[-1] // num_heads

    def split(x, num_heads):
        return x.reshape(len(x), x.shape[1], num_heads, d_head).transpose(0, 2, 1, 3)

    return _mha(x_q, x_kv, (w_q, w_k, w_v, w_o), num_heads, mask, split=split)


def attends_to_itself(x_q, x_kv, w_q, w_k, w_v, w_o, num_heads, mask=None):  # noqa: ARG001 - the mistake
    """x_kv has no effect: keys and values are made from x_q, which is right for self-attention alone.
    Check what w_k and w_v are multiplied by.
    """
    return _mha(x_q, x_q, (w_q, w_k, w_v, w_o), num_heads, mask)


def reads_the_first_sequence_only(x_q, x_kv, w_q, w_k, w_v, w_o, num_heads, mask=None):
    """Right for a batch of one; with more, every sequence reads the tokens of the first. Each has keys
    and values of its own.
    """
    return _mha(x_q, np.repeat(x_kv[:1], len(x_kv), axis=0), (w_q, w_k, w_v, w_o), num_heads, mask)


def unfolds_batch_and_heads_in_the_wrong_order(x_q, x_kv, w_q, w_k, w_v, w_o, num_heads, mask=None):
    """Right for one sequence or one head; with more of both, sequences hold each other's heads: batch and
    heads are exchanged on the way back. Unfold in the order in which they were folded.
    """

    def merge(heads):
        batch, _, tokens, d_v = heads.shape
        return _merge(heads.reshape(num_heads, batch, tokens, d_v).swapaxes(0, 1))

    return _mha(x_q, x_kv, (w_q, w_k, w_v, w_o), num_heads, mask, merge=merge)


def forgets_the_output_matrix(x_q, x_kv, w_q, w_k, w_v, w_o, num_heads, mask=None):  # noqa: ARG001 - the mistake
    """The heads come back side by side, [B, Tq, H * d_v]: w_o is not used. It mixes what the heads have
    read, and brings the width back to d_model.
    """
    return _mha(x_q, x_kv, (w_q, w_k, w_v, np.eye(w_v.shape[1], dtype=w_v.dtype)), num_heads, mask)


def reads_true_as_hidden(x_q, x_kv, w_q, w_k, w_v, w_o, num_heads, mask=None):
    """The mask works the wrong way round: what is allowed is hidden and what is hidden is read. True
    means that the query MAY attend to the key.
    """
    return _mha(x_q, x_kv, (w_q, w_k, w_v, w_o), num_heads, None if mask is None else ~mask)


@crude
def ignores_the_mask(x_q, x_kv, w_q, w_k, w_v, w_o, num_heads, mask=None):  # noqa: ARG001 - the mistake
    """Hidden tokens are read: the mask has no effect. Check where it meets the scores."""
    return _mha(x_q, x_kv, (w_q, w_k, w_v, w_o), num_heads, None)


@subtle
def hides_the_same_from_every_head(x_q, x_kv, w_q, w_k, w_v, w_o, num_heads, mask=None):
    """Masks that differ from head to head do not work: that of the first head is used for all. The mask
    broadcasts against [B, H, Tq, Tk] as it comes.
    """
    one = mask if mask is None or mask.ndim < 3 else mask[..., :1, :, :]
    return _mha(x_q, x_kv, (w_q, w_k, w_v, w_o), num_heads, one)


@subtle
@subtle
def gives_all_heads_the_mask_of_the_first(x_q, x_kv, w_q, w_k, w_v, w_o, num_heads, mask=None):
    """Right where the heads share a mask; a mask of four axes with one for each head is cut to that of the
    first. The mask fits the scores as it comes.
    """
    one = mask[:, :1] if mask is not None and mask.ndim == 4 else mask
    return _mha(x_q, x_kv, (w_q, w_k, w_v, w_o), num_heads, one)


def takes_three_axes_for_those_of_the_batch(x_q, x_kv, w_q, w_k, w_v, w_o, num_heads, mask=None):
    """A mask of three axes is read as [B, Tq, Tk]: an axis is put in for the heads. By broadcasting, its
    axes are those of heads, queries and keys.
    """
    moved = mask if mask is None or mask.ndim != 3 else mask[:, None]
    return _mha(x_q, x_kv, (w_q, w_k, w_v, w_o), num_heads, moved)


@subtle
def lets_hidden_tokens_set_the_maximum(x_q, x_kv, w_q, w_k, w_v, w_o, num_heads, mask=None):
    """A hidden token with a large score leaves nothing for the visible ones: it takes part in the
    maximum, and beside that their exponentials are 0. Mask the scores before anything else is computed
    from them.
    """

    def weigh(scores, mask):
        powers = np.exp(_hide(scores - scores.max(axis=-1, keepdims=True), mask))
        total = powers.sum(axis=-1, keepdims=True)
        return powers / np.where(total == 0, 1, total)

    return _mha(x_q, x_kv, (w_q, w_k, w_v, w_o), num_heads, mask, weigh=weigh)


@subtle
def masks_with_minus_ten_thousand(x_q, x_kv, w_q, w_k, w_v, w_o, num_heads, mask=None):
    """A hidden token is read where the visible scores are below -10000: it got the score -1e4, and theirs are
    lower. Which number is below all scores?
    """

    def weigh(scores, mask):
        seen = np.broadcast_to(True if mask is None else mask, scores.shape)
        weights = _softmax(np.where(seen, scores, scores.dtype.type(-1e4)))
        return weights * seen.any(axis=-1, keepdims=True)

    return _mha(x_q, x_kv, (w_q, w_k, w_v, w_o), num_heads, mask, weigh=weigh)


@subtle
def adds_a_penalty_that_is_too_small(x_q, x_kv, w_q, w_k, w_v, w_o, num_heads, mask=None):
    """A hidden token whose score is larger than the others by more than 10000 is read: -1e4 was added to its
    score, and that is not enough. Check a hidden score of 20000.
    """

    def weigh(scores, mask):
        seen = np.broadcast_to(True if mask is None else mask, scores.shape)
        weights = _softmax(scores + np.where(seen, 0, -1e4).astype(scores.dtype))
        return weights * seen.any(axis=-1, keepdims=True)

    return _mha(x_q, x_kv, (w_q, w_k, w_v, w_o), num_heads, mask, weigh=weigh)


@subtle
def clips_large_scores(x_q, x_kv, w_q, w_k, w_v, w_o, num_heads, mask=None):
    """Different large scores get equal weights: the scores are clipped to a range, which removes the
    differences between them. Check two scores beyond the bounds of the clipping.
    """

    def weigh(scores, mask):
        return _weigh(np.clip(scores, -50, 50), mask)

    return _mha(x_q, x_kv, (w_q, w_k, w_v, w_o), num_heads, mask, weigh=weigh)


@subtle
def subtracts_the_max_of_all_heads(x_q, x_kv, w_q, w_k, w_v, w_o, num_heads, mask=None):
    """A query whose scores lie far below those of another head or query reads nothing: the number taken away
    is the largest of all scores. Each query needs its own, in each head.
    """

    def weigh(scores, mask):
        scores = _hide(scores, mask)
        powers = np.exp(scores - max(scores.max(), np.finfo(scores.dtype).min))
        total = powers.sum(axis=-1, keepdims=True)
        return powers / np.where(total == 0, 1, total)

    return _mha(x_q, x_kv, (w_q, w_k, w_v, w_o), num_heads, mask, weigh=weigh)


@subtle
def subtracts_the_mean(x_q, x_kv, w_q, w_k, w_v, w_o, num_heads, mask=None):
    """A score that stands out gives NaN: the mean of the scores is taken away, and the largest is still far
    above 0. Which number leaves nothing above 0?
    """

    def weigh(scores, mask):
        powers = np.exp(_hide(scores - scores.mean(axis=-1, keepdims=True), mask))
        total = powers.sum(axis=-1, keepdims=True)
        return powers / np.where(total == 0, 1, total)

    return _mha(x_q, x_kv, (w_q, w_k, w_v, w_o), num_heads, mask, weigh=weigh)


@subtle
def keeps_an_earlier_mask(x_q, x_kv, w_q, w_k, w_v, w_o, num_heads, mask=None):
    """A call without a mask hides tokens: the mask of an earlier call is still there. Nothing may be left
    over from one call to the next.
    """
    shape = (len(x_q), num_heads, x_q.shape[1], x_kv.shape[1])
    if mask is None:
        mask = _EARLIER.get(shape)
    else:
        _EARLIER[shape] = mask
    return _mha(x_q, x_kv, (w_q, w_k, w_v, w_o), num_heads, mask)


_EARLIER: dict = {}


@subtle
def leaves_blind_queries_nan(x_q, x_kv, w_q, w_k, w_v, w_o, num_heads, mask=None):
    """A query that may attend to nothing in some head comes out as NaN: a row of -inf has no finite
    maximum, and its sum is 0. What it reads in that head must be 0.
    """

    def weigh(scores, mask):
        powers = np.exp(_hide(scores, mask) - _hide(scores, mask).max(axis=-1, keepdims=True))
        return powers / powers.sum(axis=-1, keepdims=True)

    return _mha(x_q, x_kv, (w_q, w_k, w_v, w_o), num_heads, mask, weigh=weigh)


@subtle
def spreads_blind_queries_evenly(x_q, x_kv, w_q, w_k, w_v, w_o, num_heads, mask=None):
    """A query that may attend to nothing in some head reads everything there alike: all its scores are
    the same low number, and softmax sees only differences. It must read 0.
    """

    def weigh(scores, mask):
        return _softmax(scores if mask is None else np.where(mask, scores, scores.dtype.type(-1e9)))

    return _mha(x_q, x_kv, (w_q, w_k, w_v, w_o), num_heads, mask, weigh=weigh)


@subtle
def forgets_to_subtract_the_max(x_q, x_kv, w_q, w_k, w_v, w_o, num_heads, mask=None):
    """Large scores give NaN: exp overflows above 88 in float32 and above 709 in float64. The softmax
    needs the largest score of each query taken away first.
    """

    def weigh(scores, mask):
        powers = np.exp(_hide(scores, mask))
        total = powers.sum(axis=-1, keepdims=True)
        return powers / np.where(total == 0, 1, total)

    return _mha(x_q, x_kv, (w_q, w_k, w_v, w_o), num_heads, mask, weigh=weigh)


@subtle
def scales_w_q_in_place(x_q, x_kv, w_q, w_k, w_v, w_o, num_heads, mask=None):
    """The caller's w_q is smaller after the call, and smaller still after the next: the scale is written
    into the argument by `/=`. Divide into a new array.
    """
    w_q /= math.sqrt(w_q.shape[1] / num_heads)
    return _mha(x_q, x_kv, (w_q, w_k, w_v, w_o), num_heads, mask, root=lambda q: 1)  # noqa: ARG005 - the mistake


@subtle
def lays_one_axis_along_the_queries(x_q, x_kv, w_q, w_k, w_v, w_o, num_heads, mask=None):
    """A mask of one axis hides queries. Broadcasting begins at the last axis, which is that of the keys."""
    if mask is not None and mask.ndim == 1 and len(mask) == x_q.shape[1]:
        mask = mask[:, None]
    return _mha(x_q, x_kv, (w_q, w_k, w_v, w_o), num_heads, mask)


@subtle
def ignores_a_mask_of_one_column(x_q, x_kv, w_q, w_k, w_v, w_o, num_heads, mask=None):
    """A mask whose last axis has length 1 changes nothing. It holds one entry a query, for all keys."""
    mask = mask if mask is None or mask.shape[-1] == x_kv.shape[1] else None
    return _mha(x_q, x_kv, (w_q, w_k, w_v, w_o), num_heads, mask)
