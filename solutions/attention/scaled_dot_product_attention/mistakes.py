"""What goes wrong in scaled dot-product attention: one function a mistake, its docstring what is told."""

import math

import numpy as np

from grader.mistakes import crude, subtle


def _scores(q, k):
    return q @ k.swapaxes(-1, -2) / math.sqrt(q.shape[-1])


def _softmax(scores, axis=-1):
    largest = scores.max(axis=axis, keepdims=True)
    powers = np.exp(scores - np.where(np.isneginf(largest), 0, largest))
    total = powers.sum(axis=axis, keepdims=True)
    return powers / np.where(total == 0, 1, total)


def _hide(scores, mask):
    return scores if mask is None else np.where(mask, scores, -np.inf)


def _finish(scores, v, mask):
    weights = _softmax(_hide(scores, mask))
    return weights @ v, weights


def _attend(q, k, v, mask):
    return _finish(_scores(q, k), v, mask)


def forgets_to_scale(q, k, v, mask=None):
    """The weights are too sharp, the more so the larger d_k is: the scores are the bare dot products.
    Check what stands between q kᵀ and the softmax.
    """
    return _finish(q @ k.swapaxes(-1, -2), v, mask)


def divides_by_d_k(q, k, v, mask=None):
    """The weights are too even as soon as d_k is larger than 1: the scores are divided by d_k itself. The
    standard deviation of a dot product grows with the root of d_k.
    """
    return _finish(q @ k.swapaxes(-1, -2) / q.shape[-1], v, mask)


def scales_by_the_width_of_the_values(q, k, v, mask=None):
    """The weights are right only where d_v equals d_k: the scale is made from the values. The scores are
    dot products of queries and keys; how many terms has such a sum?
    """
    return _finish(q @ k.swapaxes(-1, -2) / math.sqrt(v.shape[-1]), v, mask)


def scales_by_the_number_of_keys(q, k, v, mask=None):
    """The weights depend on how many keys there are: the root is taken of the length of the keys, an axis
    too far to the left. Check which axis of k holds d_k.
    """
    return _finish(q @ k.swapaxes(-1, -2) / math.sqrt(k.shape[-2]), v, mask)


def reads_true_as_hidden(q, k, v, mask=None):
    """The mask works the wrong way round: what is allowed is hidden and what is hidden is read. True
    means that the query MAY attend to the key.
    """
    return _attend(q, k, v, None if mask is None else ~mask)


@crude
def ignores_the_mask(q, k, v, mask=None):  # noqa: ARG001 - the mistake
    """Hidden keys get weight: the mask has no effect at all. Check where it meets the scores."""
    return _attend(q, k, v, None)


def masks_after_the_softmax(q, k, v, mask=None):
    """With a mask the weights of a query sum to less than one: they are set to 0 after the softmax, so
    what the hidden keys had is lost. Hide the scores, and the softmax shares everything among the others.
    """
    weights = _softmax(_scores(q, k))
    weights = weights if mask is None else np.where(mask, weights, 0).astype(q.dtype)
    return weights @ v, weights


def gives_hidden_keys_a_score_of_zero(q, k, v, mask=None):
    """Hidden keys still get weight: their scores are multiplied by the mask, or set to 0, and exp(0) is
    1. Which score has an exponential of 0?
    """
    weights = _softmax(_scores(q, k) if mask is None else np.where(mask, _scores(q, k), 0).astype(q.dtype))
    return weights @ v, weights


@subtle
def masks_with_a_number_that_is_not_low_enough(q, k, v, mask=None):
    """A hidden key takes over where the visible scores are very negative: it got a low score, but theirs
    are lower still. Scores may reach 1e8 in size; which number is below all of them?
    """
    scores = _scores(q, k)
    seen = np.broadcast_to(True if mask is None else mask, scores.shape)
    weights = _softmax(np.where(seen, scores, q.dtype.type(-1e7)))
    weights = np.where(seen.any(axis=-1, keepdims=True), weights, 0).astype(q.dtype)
    return weights @ v, weights


@subtle
def masks_with_minus_ten_thousand(q, k, v, mask=None):
    """A hidden key takes over where the visible scores are below -10000: it got the score -1e4, and theirs
    are lower. Which number is below all scores?
    """
    scores = _scores(q, k)
    seen = np.broadcast_to(True if mask is None else mask, scores.shape)
    weights = _softmax(np.where(seen, scores, q.dtype.type(-1e4)))
    weights = np.where(seen.any(axis=-1, keepdims=True), weights, 0).astype(q.dtype)
    return weights @ v, weights


@subtle
def adds_a_penalty_that_is_too_small(q, k, v, mask=None):
    """A hidden key whose score is larger than the others by more than 10000 takes over: -1e4 was added to
    its score, and that is not enough. Check a score of 20000 that is hidden.
    """
    scores = _scores(q, k)
    seen = np.broadcast_to(True if mask is None else mask, scores.shape)
    weights = _softmax(scores + np.where(seen, 0, -1e4).astype(q.dtype))
    weights = np.where(seen.any(axis=-1, keepdims=True), weights, 0).astype(q.dtype)
    return weights @ v, weights


@subtle
def lets_hidden_keys_set_the_maximum(q, k, v, mask=None):
    """A hidden key with a large score makes the weights of the visible ones 0 or NaN: it takes part in
    the maximum, or in the whole softmax, and is removed afterwards, when nothing of the others is left.
    Mask the scores before anything else is computed from them.
    """
    scores = _scores(q, k)
    powers = np.exp(scores - scores.max(axis=-1, keepdims=True))
    powers = powers if mask is None else powers * mask
    total = powers.sum(axis=-1, keepdims=True)
    weights = powers / np.where(total == 0, 1, total)
    return weights @ v, weights


@subtle
def leaves_blind_queries_nan(q, k, v, mask=None):
    """A query that may attend to nothing gets NaN: all its scores are -inf, -inf minus -inf is NaN, and
    so is 0 / 0. Such rows need a rule of their own: weights 0 and output 0.
    """
    scores = _hide(_scores(q, k), mask)
    powers = np.exp(scores - scores.max(axis=-1, keepdims=True))
    weights = powers / powers.sum(axis=-1, keepdims=True)
    return weights @ v, weights


@subtle
def spreads_blind_queries_evenly(q, k, v, mask=None):
    """A query that may attend to nothing attends to everything alike: all its scores are the same low
    number, and softmax sees only differences. Its weights must be 0; check rows in which the mask is
    nowhere True.
    """
    scores = _scores(q, k)
    weights = _softmax(scores if mask is None else np.where(mask, scores, q.dtype.type(-1e9)))
    return weights @ v, weights


@subtle
def clears_the_output_of_blind_queries_only(q, k, v, mask=None):
    """A query that may attend to nothing has output 0, but its weights are not 0: only the output was
    repaired. Clear the weights, and the output follows by itself.
    """
    output, weights = spreads_blind_queries_evenly(q, k, v, mask)
    if mask is not None:
        output = np.where(np.any(mask, axis=-1, keepdims=True), output, 0).astype(q.dtype)
    return output, weights


@subtle
def forgets_to_subtract_the_max(q, k, v, mask=None):
    """Large scores give NaN: exp overflows above 88 in float32 and above 709 in float64, and very
    negative scores give 0 / 0. The softmax needs the largest visible score of each query taken away
    first.
    """
    powers = np.exp(_hide(_scores(q, k), mask))
    total = powers.sum(axis=-1, keepdims=True)
    weights = powers / np.where(total == 0, 1, total)
    return weights @ v, weights


@subtle
def clips_large_scores(q, k, v, mask=None):
    """Different large scores get equal weights: the scores are clipped to a range, which removes the
    differences between them. Check two scores beyond the bounds of the clipping.
    """
    return _finish(np.clip(_scores(q, k), -50, 50), v, mask)


@subtle
def subtracts_the_max_of_the_whole_array(q, k, v, mask=None):
    """A query whose scores lie far below those of another gets weights 0 or NaN: the number taken away is
    the largest of all queries. Each query needs its own.
    """
    scores = _hide(_scores(q, k), mask)
    powers = np.exp(scores - max(scores.max(), np.finfo(q.dtype).min))
    total = powers.sum(axis=-1, keepdims=True)
    weights = powers / np.where(total == 0, 1, total)
    return weights @ v, weights


@subtle
def subtracts_the_mean(q, k, v, mask=None):
    """A score that stands out gives NaN: the mean of the scores is taken away, and the largest is still far
    above 0. Which number leaves nothing above 0?
    """
    scores = _scores(q, k)
    scores = scores - scores.mean(axis=-1, keepdims=True)
    powers = np.exp(_hide(scores, mask))
    total = powers.sum(axis=-1, keepdims=True)
    weights = powers / np.where(total == 0, 1, total)
    return weights @ v, weights


@crude
def normalises_over_the_queries(q, k, v, mask=None):
    """The weights of a key sum to one, those of a query do not: the softmax runs along the queries. It
    runs along the keys, the last axis of the scores.
    """
    weights = _softmax(_hide(_scores(q, k), mask), axis=-2)
    return weights @ v, weights


def transposes_every_axis(q, k, v, mask=None):
    """Right without leading axes, an error or nonsense with them: k.T turns the order of all axes round,
    those of batch and heads too. Only the last two change places.
    """
    return _finish(q @ k.T / math.sqrt(q.shape[-1]), v, mask)


def reshapes_the_keys(q, k, v, mask=None):
    """The shapes fit, but the scores are of vectors that nobody wrote: the keys are reshaped to [d_k,
    Tk], which keeps the reading order and cuts it elsewhere. Exchanging two axes is something else.
    """
    return _finish(q @ k.reshape(*k.shape[:-2], k.shape[-1], k.shape[-2]) / math.sqrt(q.shape[-1]), v, mask)


def returns_the_weights_first(q, k, v, mask=None):
    """The two results stand in the wrong order. The output comes first, then the weights."""
    return _attend(q, k, v, mask)[::-1]


def expects_a_mask_of_full_shape(q, k, v, mask=None):
    """A mask with fewer axes than the scores, or with axes of length 1, raises an IndexError: a boolean
    index must have the very shape of the array. np.where broadcasts.
    """
    scores = _scores(q, k)
    if mask is not None:
        scores[~mask] = -np.inf
    return _finish(scores, v, None)


def hides_the_same_keys_from_every_query(q, k, v, mask=None):
    """All queries see what the first one may see: one row of the mask is used for all of them. Check a
    mask whose rows differ.
    """
    return _attend(q, k, v, mask[..., :1, :] if mask is not None and mask.ndim > 1 else mask)


@subtle
def keeps_an_earlier_mask(q, k, v, mask=None):
    """A call without a mask hides keys: the mask of an earlier call is still there. Nothing may be left
    over from one call to the next.
    """
    shape = (*q.shape[:-1], k.shape[-2])
    if mask is None:
        mask = _EARLIER.get(shape)
    else:
        _EARLIER[shape] = mask
    return _attend(q, k, v, mask)


_EARLIER: dict = {}


@subtle
def masks_as_in_the_first_call(q, k, v, mask=None):
    """A second call of the same shape is masked as the first one was: the mask is kept and found again by
    its shape. Nothing may be left over from one call to the next.
    """
    return _attend(q, k, v, None if mask is None else _FIRST.setdefault((q.shape, k.shape, mask.shape), mask))


_FIRST: dict = {}


@subtle
def adds_epsilon_to_the_sum(q, k, v, mask=None):
    """In float64 the weights sum to slightly less than one: a small number in the denominator keeps empty
    rows from dividing by zero, and shortens all others too. Treat those rows apart.
    """
    scores = _hide(_scores(q, k), mask)
    largest = scores.max(axis=-1, keepdims=True)
    powers = np.exp(scores - np.where(np.isneginf(largest), 0, largest))
    weights = powers / (powers.sum(axis=-1, keepdims=True) + 1e-9)
    return weights @ v, weights


@subtle
def scales_the_queries_in_place(q, k, v, mask=None):
    """The caller's queries are smaller after the call: `/=` on the argument writes into the caller's
    memory. Divide into a new array.
    """
    q /= math.sqrt(q.shape[-1])
    return _finish(q @ k.swapaxes(-1, -2), v, mask)


@subtle
def takes_three_axes_for_those_of_the_batch(q, k, v, mask=None):
    """A mask of three axes is laid along the batch, [B, Tq, Tk], where there are heads too. Broadcasting
    begins at the last axis, so its first one is that of the heads.
    """
    if mask is not None and mask.ndim == 3 and q.ndim == 4 and len(mask) == len(q):
        mask = mask[:, None]
    return _attend(q, k, v, mask)


@subtle
def adds_a_penalty_of_the_size_of_scores(q, k, v, mask=None):
    """A hidden key gets weight where its score is far above those of the visible ones: -1e8 was added to it,
    and scores may lie further apart. Only -inf in the place of the score hides a key whatever the scores are.
    """
    scores = _scores(q, k)
    if mask is not None:
        weights = _softmax(scores - np.where(mask, 0, 1e8).astype(scores.dtype))
        weights = np.where(np.broadcast_to(mask, scores.shape).any(axis=-1, keepdims=True), weights, 0)
        return weights @ v, weights
    return _finish(scores, v, mask)


@subtle
def ignores_a_mask_of_one_column(q, k, v, mask=None):
    """A mask whose last axis has length 1 changes nothing. It holds one entry a query, for all keys."""
    return _attend(q, k, v, mask if mask is None or mask.shape[-1] == k.shape[-2] else None)


@subtle
def answers_blind_queries_in_float64(q, k, v, mask=None):
    """float32 comes back as float64 where nothing is visible at all: the zeros are float64 (in NumPy,
    np.zeros makes them so). Give them the dtype of the inputs.
    """
    if mask is None or mask.any():
        return _attend(q, k, v, mask)
    return np.zeros((*q.shape[:-1], v.shape[-1])), np.zeros((*q.shape[:-1], k.shape[-2]))
