"""What is left wrong in debug_future_leak, or becomes wrong while it is mended: one function a state."""

import numpy as np

from grader.mistakes import crude, subtle

_KEPT = {}


def _visible(scores, diagonal=0):
    return np.tril(np.ones(scores.shape[-2:], dtype=bool), k=diagonal)


def _softmax(scores, axis=-1):
    powers = np.exp(scores - scores.max(axis=axis, keepdims=True))
    return powers / powers.sum(axis=axis, keepdims=True)


def _before(scores, diagonal=0, fill=-np.inf, axis=-1):
    """The mask, then the softmax."""
    masked = np.where(_visible(scores, diagonal), scores, fill).astype(scores.dtype)
    return _softmax(masked, axis)


def _after(scores, diagonal=0):
    """The softmax, then the mask."""
    return np.where(_visible(scores, diagonal), _softmax(scores), 0)


@crude
def has_both_faults_still(scores):
    """Nothing is mended yet, and there are two faults. Print the first row, which must be [1, 0, 0, ...]: why
    has its second entry any weight, and where is the mass of the entries that were set to 0?
    """
    return _after(scores, diagonal=1)


def masks_after_the_softmax(scores):
    """The diagonal is right. Rows sum to less than 1, but for the last: the softmax has already given a share
    to the future, and it is thrown away afterwards. What must the softmax be shown, so that the future
    gets nothing in the first place?
    """
    return _after(scores)


def lets_each_token_see_the_next(scores):
    """The rows sum to 1, so the mask stands where it belongs. But each token still has one entry to the right
    of the diagonal: it sees the token that it is to predict. By how much is the diagonal of the mask moved?
    """
    return _before(scores, diagonal=1)


def hides_each_token_from_itself(scores):
    """The first row is NaN, as nothing is left in it: the diagonal of the mask was moved too far, and hides
    each token from itself. It may see all tokens up to and including itself.
    """
    return _before(scores, diagonal=-1)


def hides_each_token_from_itself_with_a_finite_mask(scores):
    """The first row has equal weights, future and all, and the others lack their own token: the diagonal of
    the mask was moved too far. Where everything is masked with the same finite number, the softmax cannot
    tell.
    """
    return _before(scores, diagonal=-1, fill=-1e9)


@crude
def hides_each_token_from_itself_after_the_softmax(scores):
    """The first row is all 0 and no row has its own token: the diagonal of the mask was moved too far. And
    the other fault is untouched: rows do not sum to 1.
    """
    return _after(scores, diagonal=-1)


def hides_nan_behind_zero(scores):
    """The first row is all 0, and no row has its own token: the diagonal of the mask was moved too far, and
    the NaN that came of it was replaced. The first token sees itself.
    """
    return np.nan_to_num(_before(scores, diagonal=-1), nan=0.0)


@crude
def loses_the_mask(scores):
    """The whole future is seen: no mask is applied any more, or one that hides nothing."""
    return _softmax(scores)


@crude
def hides_the_past(scores):
    """Each token sees itself and the future, not the past: the mask was turned round, or its truth values
    exchanged.
    """
    masked = np.where(np.triu(np.ones(scores.shape[-2:], dtype=bool)), scores, -np.inf)
    return _softmax(masked.astype(scores.dtype))


def masks_with_zero(scores):
    """The rows sum to 1, and the future has weight: its scores are 0 before the softmax, and exp(0) is 1.
    Which score has the weight 0?
    """
    return _before(scores, fill=0)


@subtle
def masks_with_a_small_number(scores):
    """The future has little weight, not none: its scores are set to a number that is not low enough. The
    weight must be exactly 0, whatever the other scores of the row are.
    """
    return _before(scores, fill=-10)


@subtle
def subtracts_a_small_number(scores):
    """The future has little weight, not none: a number is taken from its scores that is not large enough, and
    what the scores were still counts. The weight must be exactly 0.
    """
    return _softmax(np.where(_visible(scores), scores, scores - 20).astype(scores.dtype))


@crude
def multiplies_zero_with_infinity(scores):
    """Everything is NaN: 0 and 1 are multiplied with -inf and added, and 0 * inf is NaN. Choose between the
    score and -inf, in place of computing with them.
    """
    return _softmax((scores + (~_visible(scores)) * -np.inf).astype(scores.dtype))


@crude
def normalises_the_columns(scores):
    """The columns sum to 1, not the rows: the softmax runs over the queries. A row belongs to one query, and
    the keys lie along the last axis.
    """
    return _before(scores, axis=-2)


@subtle
def normalises_axis_one(scores):
    """One matrix is right, a batch of them is not: the softmax runs along axis 1, which is the last one only
    where there are two. The keys lie along the last axis, whatever comes before.
    """
    return _before(scores, axis=1)


@crude
def takes_one_softmax_of_the_whole_matrix(scores):
    """All rows together sum to 1: the sum in the softmax runs over everything. Each query has its own."""
    masked = np.where(_visible(scores), scores, -np.inf).astype(scores.dtype)
    powers = np.exp(masked - masked.max(axis=-1, keepdims=True))
    return powers / powers.sum()


@subtle
def takes_the_length_from_the_first_axis(scores):
    """One matrix is right, a batch of them raises or is masked by the wrong number of tokens: T was read off
    the first axis. It is the length of the last one.
    """
    tokens = len(scores)
    visible = np.tril(np.ones((tokens, tokens), dtype=bool))
    return _softmax(np.where(visible, scores, -np.inf).astype(scores.dtype))


@subtle
def masks_the_first_matrix_only(scores):
    """One matrix is right; of a batch the first is masked, and the others see the future. The mask applies
    to all leading axes.
    """
    result = _softmax(scores)
    result[(0,) * (scores.ndim - 2)] = _before(scores)[(0,) * (scores.ndim - 2)]
    return result


def gives_the_lost_mass_to_the_token_itself(scores):
    """Rows sum to 1 and the future has nothing, yet the weights are wrong: what the mask takes away is added
    to the token itself. It belongs to all tokens that may be seen, in proportion to their weights, as if
    the future had not been in the softmax at all.
    """
    kept = _after(scores)
    return kept + np.eye(scores.shape[-1], dtype=scores.dtype) * (1 - kept.sum(axis=-1, keepdims=True))


def spreads_the_lost_mass_evenly(scores):
    """Rows sum to 1 and the future has nothing, yet the weights are wrong: what the mask takes away is shared
    out in equal parts. It belongs to the visible tokens in proportion to their weights, as if the future
    had not been in the softmax at all.
    """
    kept, visible = _after(scores), _visible(scores)
    share = (1 - kept.sum(axis=-1, keepdims=True)) / visible.sum(axis=-1, keepdims=True)
    return (kept + visible * share).astype(scores.dtype)


@subtle
def overwrites_the_scores(scores):
    """The weights are right, and the caller's scores hold -inf after the call: they are masked in place. Mask
    a copy.
    """
    scores[..., ~_visible(scores)] = -np.inf
    return _softmax(scores)


@subtle
def squeezes_axes_of_length_one(scores):
    """One token, or a batch of one, comes back with fewer axes: those of length 1 are squeezed away. The
    weights have the shape of the scores.
    """
    return np.squeeze(_before(scores))


@subtle
def keeps_the_weights_of_a_length(scores):
    """The first matrix of a size comes out right, and later ones get its weights again: something that was
    computed in one call is kept for the next. Only a mask can be kept, by its length.
    """
    return _KEPT.setdefault((scores.shape, scores.dtype), _before(scores)).copy()


@subtle
def masks_with_minus_ten_thousand(scores):
    """Scores of ordinary size are right; where those of a row lie below -10,000, the future has weight again:
    its scores are set to -10,000, and are the largest. What lies below every number?
    """
    return _before(scores, fill=-10_000)


def _from(scores, largest):
    """The mask, then a softmax from which this number is subtracted."""
    with np.errstate(all="ignore"):
        masked = np.where(_visible(scores), scores, -np.inf).astype(scores.dtype)
        powers = np.exp(masked - largest)
        return powers / powers.sum(axis=-1, keepdims=True)


@subtle
def takes_the_maximum_of_the_whole_matrix(scores):
    """The weights are right until rows lie some hundreds apart; then the lower ones are NaN. One maximum is
    subtracted from all rows, and each exp of a row far below it is 0. Each row has a maximum of its own.
    """
    masked = np.where(_visible(scores), scores, -np.inf)
    return _from(scores, masked.max(axis=(-2, -1), keepdims=True).astype(scores.dtype))


@subtle
def forgets_the_maximum(scores):
    """Scores of ordinary size are right; large ones give NaN: exp overflows, or all of its values are 0.
    The largest score of a row was subtracted in the code that was given. Keep that.
    """
    return _from(scores, 0)


@subtle
def adds_minus_ten_thousand(scores):
    """Scores of ordinary size are right; where one of the future lies 10,000 above those that may be seen, it
    has weight again: -10,000 is added to it, and it is still the largest. What lies below every number,
    whatever the scores are?
    """
    return _softmax(np.where(_visible(scores), scores, scores - 10_000).astype(scores.dtype))


@subtle
def takes_the_maximum_before_the_mask(scores):
    """Rows are NaN where a score of the future lies far above those that may be seen: the maximum, or the
    first of two sums, is taken with the future in it, each visible exp is 0, and 0 is divided by 0. Does any
    step before the mask look at the future?
    """
    with np.errstate(all="ignore"):
        powers = np.exp(scores - scores.max(axis=-1, keepdims=True)) * _visible(scores)
        return (powers / powers.sum(axis=-1, keepdims=True)).astype(scores.dtype)
