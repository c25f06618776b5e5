"""What goes wrong in cross-attention: one function a mistake, its docstring what the student is told.

Most are the right computation with one step exchanged; `_cross` takes the steps.
"""

import math

import numpy as np

from grader.mistakes import crude, subtle


def _softmax(scores, axis=-1):
    powers = np.exp(scores - scores.max(axis=axis, keepdims=True))
    return powers / powers.sum(axis=axis, keepdims=True)


def _cross(x_q, x_k, x_v, w_q, w_k, w_v, root=None, weigh=_softmax):
    q, k, v = x_q @ w_q, x_k @ w_k, x_v @ w_v
    weights = weigh(q @ k.swapaxes(1, 2) / (math.sqrt(q.shape[-1]) if root is None else root))
    return weights @ v, weights


@crude
def attends_to_itself(x_dec, x_enc, w_q, w_k, w_v):  # noqa: ARG001 - the mistake
    """x_enc has no effect: keys and values are made from the decoder, which is self-attention. The
    weights must have a column for each source token.
    """
    return _cross(x_dec, x_dec, x_dec, w_q, w_k, w_v)


def lets_the_source_read_the_target(x_dec, x_enc, w_q, w_k, w_v):
    """The weights have a row for each source token: queries come from the encoder, keys and values from
    the decoder. It is the decoder that asks.
    """
    return _cross(x_enc, x_dec, x_dec, w_q, w_k, w_v)


def takes_the_values_from_the_decoder(x_dec, x_enc, w_q, w_k, w_v):
    """The weights fit the source, what they mix does not: the values are made from the decoder's tokens.
    An error where the lengths differ, and a wrong output where they do not. Values go with keys.
    """
    return _cross(x_dec, x_enc, x_dec, w_q, w_k, w_v)


def takes_the_keys_from_the_decoder(x_dec, x_enc, w_q, w_k, w_v):
    """The weights have a column for each target token: the keys are made from the decoder, and only the
    values from the encoder. Keys go with values.
    """
    return _cross(x_dec, x_dec, x_enc, w_q, w_k, w_v)


def mixes_the_keys(x_dec, x_enc, w_q, w_k, w_v):
    """The output has d_k columns: the weights mix the keys. They mix the values, x_enc w_v."""
    weights = _cross(x_dec, x_enc, x_enc, w_q, w_k, w_v)[1]
    return weights @ (x_enc @ w_k), weights


def mixes_the_source_itself(x_dec, x_enc, w_q, w_k, w_v):
    """The output has d_model columns: the weights mix the encoder's tokens, and w_v is not used."""
    weights = _cross(x_dec, x_enc, x_enc, w_q, w_k, w_v)[1]
    return weights @ x_enc, weights


def exchanges_the_matrices_of_q_and_k(x_dec, x_enc, w_q, w_k, w_v):
    """The weights are wrong though every shape is right: w_k projects the decoder and w_q the encoder.
    Each matrix belongs to its side.
    """
    return _cross(x_dec, x_enc, x_enc, w_k, w_q, w_v)


def forgets_to_scale(x_dec, x_enc, w_q, w_k, w_v):
    """The weights are too sharp as soon as d_k is larger than 1: the scores are the bare dot products.
    Check what stands between q kᵀ and the softmax.
    """
    return _cross(x_dec, x_enc, x_enc, w_q, w_k, w_v, root=1)


def divides_by_d_k(x_dec, x_enc, w_q, w_k, w_v):
    """The weights are too even: the scores are divided by d_k itself. The scale is its root."""
    return _cross(x_dec, x_enc, x_enc, w_q, w_k, w_v, root=w_q.shape[1])


def scales_by_the_root_of_d_model(x_dec, x_enc, w_q, w_k, w_v):
    """Right only where d_k equals d_model: the scale is made from the tokens' width. A score is a sum
    over the columns of q and k; how many are those?
    """
    return _cross(x_dec, x_enc, x_enc, w_q, w_k, w_v, root=math.sqrt(x_dec.shape[-1]))


def scales_by_the_width_of_the_values(x_dec, x_enc, w_q, w_k, w_v):
    """Right only where d_v equals d_k: the scale is made from the values, which have no part in the
    scores.
    """
    return _cross(x_dec, x_enc, x_enc, w_q, w_k, w_v, root=math.sqrt(w_v.shape[1]))


def scales_by_the_length_of_the_source(x_dec, x_enc, w_q, w_k, w_v):
    """The weights depend on how long the source is: the root is taken of the number of keys. Check which
    axis of k holds d_k.
    """
    return _cross(x_dec, x_enc, x_enc, w_q, w_k, w_v, root=math.sqrt(x_enc.shape[1]))


def hides_later_source_tokens(x_dec, x_enc, w_q, w_k, w_v):
    """The first target token reads one source token only: a causal mask is at work. It belongs to the
    decoder's self-attention; the source is known in full.
    """

    def weigh(scores):
        return _softmax(np.where(np.tri(*scores.shape[1:], dtype=bool), scores, -np.inf))

    return _cross(x_dec, x_enc, x_enc, w_q, w_k, w_v, weigh=weigh)


@subtle
def hides_source_tokens_of_zeros(x_dec, x_enc, w_q, w_k, w_v):
    """A source token whose features are all 0 gets no weight: it is taken for padding. Nothing is masked
    here, and a score of 0 is a score like any other.
    """
    hidden = (x_enc == 0).all(axis=-1)[:, None] & (x_enc != 0).any()

    def weigh(scores):
        return _softmax(np.where(hidden, scores - scores.dtype.type(1e9), scores))

    return _cross(x_dec, x_enc, x_enc, w_q, w_k, w_v, weigh=weigh)


@crude
def normalises_over_the_target(x_dec, x_enc, w_q, w_k, w_v):
    """The columns of the weights sum to one, their rows do not: the softmax runs along the target tokens.
    It runs along the source, the last axis.
    """

    def weigh(scores):
        return _softmax(scores, axis=1)

    return _cross(x_dec, x_enc, x_enc, w_q, w_k, w_v, weigh=weigh)


@crude
def normalises_over_all_pairs(x_dec, x_enc, w_q, w_k, w_v):
    """All weights of a sequence together sum to one: one softmax is taken of the whole rectangle. Each
    target token has a softmax of its own.
    """

    def weigh(scores):
        return _softmax(scores, axis=(1, 2))

    return _cross(x_dec, x_enc, x_enc, w_q, w_k, w_v, weigh=weigh)


def reads_the_first_source_only(x_dec, x_enc, w_q, w_k, w_v):
    """Right for a batch of one; with more, every sequence reads the first source. Each has its own."""
    first = np.repeat(x_enc[:1], len(x_enc), axis=0)
    return _cross(x_dec, first, first, w_q, w_k, w_v)


def expects_a_batch_of_one(x_dec, x_enc, w_q, w_k, w_v):
    """Only one sequence comes back: the batch axis is taken off by [0] and put on again. Every sequence
    of the batch is attended to.
    """
    return _cross(x_dec[:1], x_enc[:1], x_enc[:1], w_q, w_k, w_v)


def normalises_the_source_first(x_dec, x_enc, w_q, w_k, w_v):
    """Adding a number to all features of a source token changes nothing: x_enc goes through a layer norm
    first. Where a layer has one, it stands outside the attention; x_enc is taken as it is.
    """
    centred = x_enc - x_enc.mean(axis=-1, keepdims=True)
    normed = centred / np.sqrt((centred**2).mean(axis=-1, keepdims=True) + x_enc.dtype.type(1e-5))
    return _cross(x_dec, normed, normed, w_q, w_k, w_v)


def returns_the_weights_first(x_dec, x_enc, w_q, w_k, w_v):
    """The two results stand in the wrong order. The output comes first, then the weights."""
    return _cross(x_dec, x_enc, x_enc, w_q, w_k, w_v)[::-1]


def returns_the_scores_as_weights(x_dec, x_enc, w_q, w_k, w_v):
    """The output is right, but the second result holds scores: negative numbers, and sums other than one.
    Return what the values were multiplied by.
    """
    scores = _cross(x_dec, x_enc, x_enc, w_q, w_k, w_v, weigh=lambda scores: scores)[1]
    return _cross(x_dec, x_enc, x_enc, w_q, w_k, w_v)[0], scores


@subtle
def scales_w_q_in_place(x_dec, x_enc, w_q, w_k, w_v):
    """The caller's w_q is smaller after the call, and smaller still after the next: the scale is written
    into the argument by `/=`. Divide into a new array.
    """
    w_q /= math.sqrt(w_q.shape[1])
    return _cross(x_dec, x_enc, x_enc, w_q, w_k, w_v, root=1)


def _powers_over(statistic):
    """Weights from exponentials of the scores less `statistic` of them."""

    def weigh(scores):
        powers = np.exp(scores - statistic(scores))
        return powers / powers.sum(axis=-1, keepdims=True)

    return weigh


@subtle
def forgets_to_subtract_the_max(x_dec, x_enc, w_q, w_k, w_v):
    """Large scores give NaN: exp overflows above 88 in float32 and above 709 in float64. The softmax needs
    the largest score of each row taken away first.
    """
    return _cross(x_dec, x_enc, x_enc, w_q, w_k, w_v, weigh=_powers_over(np.zeros_like))


@subtle
def subtracts_the_max_of_the_whole_array(x_dec, x_enc, w_q, w_k, w_v):
    """A target token whose scores lie far below those of another gets NaN, 0 / 0: the number taken away is
    the largest of all scores. Each row needs its own.
    """
    return _cross(x_dec, x_enc, x_enc, w_q, w_k, w_v, weigh=_powers_over(np.max))


@subtle
def subtracts_the_mean(x_dec, x_enc, w_q, w_k, w_v):
    """A score that stands out gives NaN: the mean of its row is taken away, and the score is still far above
    0. Which number leaves nothing above 0?
    """

    def mean(scores):
        return scores.mean(axis=-1, keepdims=True)

    return _cross(x_dec, x_enc, x_enc, w_q, w_k, w_v, weigh=_powers_over(mean))


@subtle
def clips_large_scores(x_dec, x_enc, w_q, w_k, w_v):
    """Different large scores get equal weights: the scores are clipped to a range, which removes the
    differences between them. Check two scores beyond the bounds of the clipping.
    """

    def weigh(scores):
        return _softmax(np.clip(scores, -50, 50))

    return _cross(x_dec, x_enc, x_enc, w_q, w_k, w_v, weigh=weigh)


@subtle
def keeps_an_earlier_source(x_dec, x_enc, w_q, w_k, w_v):
    """Another source of the same shape is read as the first one was: keys and values are kept from an earlier
    call. Nothing may be left over from one call to the next.
    """
    x_enc = _EARLIER.setdefault((x_enc.shape, x_enc.dtype), x_enc)
    return _cross(x_dec, x_enc, x_enc, w_q, w_k, w_v)


_EARLIER: dict = {}
