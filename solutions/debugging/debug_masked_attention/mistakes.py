"""What is left wrong in debug_masked_attention, or becomes wrong while it is mended: one function a state."""

import numpy as np

from grader.mistakes import crude, subtle

_KEPT = []


def _over_rows(scores):
    powers = np.exp(scores - scores.max(axis=-1, keepdims=True))
    return powers / powers.sum(axis=-1, keepdims=True)


def _over_the_matrix(scores):
    powers = np.exp(scores - scores.max())
    return powers / powers.sum()


def _over_columns(scores):
    powers = np.exp(scores - scores.max())
    return powers / powers.sum(axis=0)


def _without_keepdims(scores):
    powers = np.exp(scores - scores.max(axis=-1, keepdims=True))
    return powers / powers.sum(axis=-1)


def _future(tokens, diagonal=1):
    return np.triu(np.ones((tokens, tokens), dtype=bool), k=diagonal)


def _attend(x, w_q, w_k, w_v, *, width=None, softmax=_over_rows, hidden=None, fill=-np.inf):
    """The right attention, with a place for each fault: the width in the scale, the softmax, the mask."""
    q, k, v = x @ w_q, x @ w_k, x @ w_v
    scores = q @ k.T / (w_k.shape[1] if width is None else width) ** 0.5
    hidden = _future(len(x)) if hidden is None else hidden
    return softmax(np.where(hidden, fill, scores).astype(scores.dtype)) @ v


def _weights(x, w_q, w_k):
    scores = (x @ w_q) @ (x @ w_k).T / w_k.shape[1] ** 0.5
    return _over_rows(np.where(_future(len(x)), -np.inf, scores).astype(x.dtype))


@crude
def has_both_faults_still(x, w_q, w_k, w_v):
    """Nothing is mended yet, and there are two faults. Print weights.sum(axis=-1): is it 1 for every query?
    And give x a feature that is always 0, with any weights: d_model grows, q, k and v do not change; what
    happens to the scores?
    """
    return _attend(x, w_q, w_k, w_v, width=x.shape[1], softmax=_over_the_matrix)


def takes_one_softmax_of_the_whole_matrix(x, w_q, w_k, w_v):
    """The scale is right. The weights of all queries together sum to 1, those of one query to less: the sum
    in the softmax runs over the whole matrix. Even the first token, which sees only itself, does not get
    the weight 1.
    """
    return _attend(x, w_q, w_k, w_v, softmax=_over_the_matrix)


def divides_by_the_root_of_d_model(x, w_q, w_k, w_v):
    """The softmax is right, and the weights are too even or too sharp wherever d_k is not d_model: the scores
    are divided by the root of the wrong width. A score is a sum of how many products? That number belongs
    under the root.
    """
    return _attend(x, w_q, w_k, w_v, width=x.shape[1])


@crude
def normalises_the_columns(x, w_q, w_k, w_v):
    """The scale is right. The weights sum to 1 for each key, not for each query: the sum runs down the
    columns. A row of the scores belongs to one query; which axis runs along it?
    """
    return _attend(x, w_q, w_k, w_v, softmax=_over_columns)


@crude
def normalises_the_columns_at_the_old_scale(x, w_q, w_k, w_v):
    """The sum in the softmax now runs down the columns, so the weights sum to 1 for each key and not for each
    query. And another fault is untouched: what is the width that the scores are divided by the root of?
    """
    return _attend(x, w_q, w_k, w_v, width=x.shape[1], softmax=_over_columns)


def divides_columns_by_the_sums_of_rows(x, w_q, w_k, w_v):
    """The scale is right, and the sums are taken along the rows. But they have lost an axis: T sums against a
    T x T matrix are laid along its columns, without an error, since it is square. Keep the axis.
    """
    return _attend(x, w_q, w_k, w_v, softmax=_without_keepdims)


@crude
def divides_columns_by_the_sums_of_rows_at_the_old_scale(x, w_q, w_k, w_v):
    """The sums are taken along the rows, and laid along the columns, because they have lost an axis; the
    matrix is square, so nothing raises. And another fault is untouched: check the scale with d_k other than
    d_model.
    """
    return _attend(x, w_q, w_k, w_v, width=x.shape[1], softmax=_without_keepdims)


def forgets_to_scale(x, w_q, w_k, w_v):
    """The weights are too sharp wherever d_k is not 1: the wrong scale is gone, and the right one is missing.
    Scores grow with the number of products that are summed, and are divided by its root.
    """
    return _attend(x, w_q, w_k, w_v, width=1)


@crude
def forgets_to_scale_before_the_old_softmax(x, w_q, w_k, w_v):
    """The wrong scale is gone, and the right one is missing. And another fault is untouched: print
    weights.sum(axis=-1).
    """
    return _attend(x, w_q, w_k, w_v, width=1, softmax=_over_the_matrix)


def divides_by_d_k(x, w_q, w_k, w_v):
    """The weights are too even: the scores are divided by d_k itself. Its square root is expected, as the sum
    of d_k independent products of size 1 has that size.
    """
    return _attend(x, w_q, w_k, w_v, width=w_k.shape[1] ** 2)


def divides_by_the_root_of_d_v(x, w_q, w_k, w_v):
    """The weights depend on the width of the values: the scores are divided by the root of d_v. Values have
    no part in the scores; the width of queries and keys counts.
    """
    return _attend(x, w_q, w_k, w_v, width=w_v.shape[1])


def divides_by_the_root_of_the_length(x, w_q, w_k, w_v):
    """The weights depend on how long the sequence is: the scores are divided by the root of T, the number of
    keys or the side of the score matrix. The width of one key counts.
    """
    return _attend(x, w_q, w_k, w_v, width=len(x))


def multiplies_by_the_root_of_d_k(x, w_q, w_k, w_v):
    """The weights are far too sharp: the scores are multiplied by the root of d_k, where they are to be
    divided by it.
    """
    return _attend(x, w_q, w_k, w_v, width=1 / w_k.shape[1])


@crude
def loses_the_mask(x, w_q, w_k, w_v):
    """Earlier rows of the output change with later tokens: the mask is gone, or is made and not used. It was
    right before.
    """
    return _attend(x, w_q, w_k, w_v, hidden=np.zeros((len(x), len(x)), dtype=bool))


def lets_each_token_see_the_next(x, w_q, w_k, w_v):
    """Each token attends to the one after it: the diagonal of the mask was moved by one. It was right before:
    the future begins one place to the right of the token itself.
    """
    return _attend(x, w_q, w_k, w_v, hidden=_future(len(x), 2))


def hides_each_token_from_itself(x, w_q, w_k, w_v):
    """The first row is NaN and the others lack their own token: the mask covers the diagonal too. It was
    right before: the future begins one place to the right of the token itself.
    """
    return _attend(x, w_q, w_k, w_v, hidden=_future(len(x), 0))


def hides_the_past(x, w_q, w_k, w_v):
    """Each token sees itself and the future, not the past: the mask was turned round, or its truth values
    exchanged. True marked what is hidden.
    """
    return _attend(x, w_q, w_k, w_v, hidden=_future(len(x)).T)


def masks_after_the_softmax(x, w_q, w_k, w_v):
    """The weights of a query sum to less than 1, but for the last: each row is divided by a sum that counts
    the future, which is removed afterwards. The mask stood before the softmax, where it belongs.
    """
    softmax = lambda scores: np.where(_future(len(x)), 0, _over_rows(scores)).astype(x.dtype)  # noqa: E731
    return _attend(x, w_q, w_k, w_v, softmax=softmax, hidden=np.zeros((len(x), len(x)), dtype=bool))


def masks_with_zero(x, w_q, w_k, w_v):
    """The future still has weight: its scores are 0, and exp(0) is 1. Which score has the weight 0?"""
    return _attend(x, w_q, w_k, w_v, fill=0)


def returns_the_weights(x, w_q, w_k, w_v):  # noqa: ARG001 - the mistake
    """The result is [T, T], the weights: they still have to mix the values. It is [T, d_v]."""
    return _weights(x, w_q, w_k)


def returns_the_weights_too(x, w_q, w_k, w_v):
    """The result is a pair of output and weights. The output alone is asked for."""
    return _attend(x, w_q, w_k, w_v), _weights(x, w_q, w_k)


def mixes_the_tokens_themselves(x, w_q, w_k, w_v):  # noqa: ARG001 - the mistake
    """The weights are right, and mix x: the result is [T, d_model]. They are to mix v."""
    return _weights(x, w_q, w_k) @ x


@subtle
def squeezes_axes_of_length_one(x, w_q, w_k, w_v):
    """Several tokens with values of width 1 come back as [T]: axes of length 1 are squeezed away. The output
    is [T, d_v], whatever T and d_v are.
    """
    output = _attend(x, w_q, w_k, w_v)
    return output[:, 0] if output.shape[1] == 1 < len(x) else output


@subtle
def overwrites_the_queries_weights(x, w_q, w_k, w_v):
    """The output is right and the caller's w_q is not what it was: it is divided by the root of d_k in place,
    and the next call divides it again. Scale the scores, or a new array.
    """
    w_q /= np.asarray(w_k.shape[1] ** 0.5, dtype=w_q.dtype)
    return _attend(x, w_q, w_k, w_v, width=1)


@subtle
def keeps_the_largest_mask(x, w_q, w_k, w_v):
    """A sequence is right until a longer one has been shown; after that shorter ones are masked with the end
    of the large mask and see their future. Make the mask for the sequence at hand.
    """
    if not _KEPT or len(_KEPT[-1]) < len(x):
        _KEPT.append(_future(len(x)))
    return _attend(x, w_q, w_k, w_v, hidden=_KEPT[-1][-len(x) :, : len(x)])


@subtle
def masks_with_minus_ten_thousand(x, w_q, w_k, w_v):
    """Scores of ordinary size are right; where those of a query lie below -10,000, the future has weight
    again: its scores are set to -10,000, and are the largest. The mask was right before.
    """
    return _attend(x, w_q, w_k, w_v, fill=-10_000)


def _of_powers(powers):
    with np.errstate(all="ignore"):
        return powers / powers.sum(axis=-1, keepdims=True)


@subtle
def subtracts_the_maximum_of_the_whole_matrix(x, w_q, w_k, w_v):
    """The sums are taken along the rows, and the maximum is still that of the whole matrix: where rows lie
    some hundreds apart, each exp of the lower ones is 0, and they are NaN. Which steps of the softmax know
    the axis?
    """
    return _attend(x, w_q, w_k, w_v, softmax=lambda scores: _of_powers(np.exp(scores - scores.max())))


@subtle
def forgets_the_maximum(x, w_q, w_k, w_v):
    """Scores of ordinary size are right; large ones give NaN: exp overflows, or all of its values are 0.
    A maximum was subtracted in the code that was given: keep that, a maximum for each row.
    """
    with np.errstate(all="ignore"):
        return _attend(x, w_q, w_k, w_v, softmax=lambda scores: _of_powers(np.exp(scores)))


@subtle
def clips_the_scores(x, w_q, w_k, w_v):
    """Scores of ordinary size are right; keys whose scores lie far apart get the same weight, since the
    scores are clipped before exp. The row's maximum, subtracted, keeps exp in range and changes no weight.
    """
    return _attend(x, w_q, w_k, w_v, softmax=lambda scores: _of_powers(np.exp(scores.clip(-50, 50))))


@subtle
def adds_minus_ten_thousand(x, w_q, w_k, w_v):
    """Scores of ordinary size are right; where one of the future lies 10,000 above those that may be seen, it
    has weight again: -10,000 is added to it, and it is still the largest. The mask was right before.
    """
    scores = (x @ w_q) @ (x @ w_k).T / w_k.shape[1] ** 0.5
    return _over_rows((scores - 10_000 * _future(len(x))).astype(x.dtype)) @ (x @ w_v)


@subtle
def takes_the_maximum_before_the_mask(x, w_q, w_k, w_v):
    """Rows are NaN where a score of the future lies far above those that may be seen: the maximum, or the
    first of two sums, is taken with the future in it, each visible exp is 0, and 0 is divided by 0. The mask
    came first in the code that was given.
    """
    scores = (x @ w_q) @ (x @ w_k).T / w_k.shape[1] ** 0.5
    return _of_powers(np.exp(scores - scores.max(axis=-1, keepdims=True)) * ~_future(len(x))) @ (x @ w_v)
