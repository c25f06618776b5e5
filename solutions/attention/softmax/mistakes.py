"""What goes wrong in softmax: one function a mistake, its docstring what the student is told."""

import numpy as np

from grader.mistakes import crude, subtle


def _as_floats(x):
    return x if x.dtype.kind == "f" else x.astype(np.float64)


def _shares(powers, axis):
    return powers / powers.sum(axis=axis, keepdims=True)


def _softmax(x, axis=-1):
    scores = _as_floats(x)
    return _shares(np.exp(scores - scores.max(axis=axis, keepdims=True)), axis)


@subtle
def forgets_to_subtract_the_max(x, axis=-1):
    """Large scores give NaN: exp overflows to inf above 88 in float32 and 709 in float64, and inf / inf is
    NaN; scores that are all very negative give 0 / 0. Which number can be taken from every score of a
    slice, without changing the result, so that no exponent is above 0?
    """
    return _shares(np.exp(x), axis)


@subtle
def forgets_to_subtract_the_max_after_widening(x, axis=-1):
    """Integers are widened, and yet large scores give NaN: exp overflows to inf above 709 in float64, and
    inf / inf is NaN; scores that are all very negative give 0 / 0. Which number can be taken from every
    score of a slice, without changing the result, so that no exponent is above 0?
    """
    return _shares(np.exp(_as_floats(x)), axis)


@subtle
def hides_nan_behind_zero(x, axis=-1):
    """Where exp overflows, the most likely entry gets probability 0, and the slice sums to less than one:
    inf / inf is NaN, and NaN is replaced by 0 afterwards. The overflow has to be prevented, since what it
    has destroyed cannot be repaired.
    """
    return np.nan_to_num(forgets_to_subtract_the_max_after_widening(x, axis), nan=0.0)


@subtle
def clips_large_scores(x, axis=-1):
    """Different large scores get equal probabilities: clipping them to a range prevents the overflow, but
    it also removes the differences between them, and only the differences count. Check two scores beyond
    the bounds of the clipping.
    """
    scores = _as_floats(x)
    bound = 80 if scores.dtype == np.float32 else 700
    return _shares(np.exp(np.clip(scores, -bound, bound)), axis)


@subtle
def subtracts_the_max_of_the_whole_array(x, axis=-1):
    """A slice whose scores lie far below those of another slice becomes NaN, 0 / 0: the number subtracted
    is the largest of the whole array. Each slice along the axis needs its own.
    """
    scores = _as_floats(x)
    return _shares(np.exp(scores - scores.max()), axis)


def divides_by_the_sum_of_the_whole_array(x, axis=-1):
    """The whole array sums to one, its slices do not: the sum runs over all entries. It is right for one
    slice and for no more. Check along which axis the sum runs, and whether that axis is kept for the
    division.
    """
    scores = _as_floats(x)
    powers = np.exp(scores - scores.max(axis=axis, keepdims=True))
    return powers / powers.sum()


@crude
def takes_one_softmax_of_the_whole_array(x, axis=-1):  # noqa: ARG001 - the mistake
    """The whole array is treated as one long slice, in its maximum and in its sum, so that entries of
    other rows compete with each other. Check that both are taken along `axis`.
    """
    scores = _as_floats(x)
    powers = np.exp(scores - scores.max())
    return powers / powers.sum()


@subtle
def reads_a_negative_axis_as_the_last(x, axis=-1):
    """axis=-2 gives the result of axis=-1: every negative axis is taken for the last one. A negative axis
    counts from the end, and NumPy's reductions already read it so.
    """
    return _softmax(x, axis if axis >= 0 else -1)


def normalises_along_the_last_axis_always(x, axis=-1):  # noqa: ARG001 - the mistake
    """`axis` has no effect: the sums are one along the last axis, whichever was asked for. Check that the
    maximum and the sum both receive the argument.
    """
    return _softmax(x, -1)


def sums_along_the_last_axis_always(x, axis=-1):
    """The maximum follows `axis`, the sum does not: slices along another axis than the last do not sum to
    one. Check that both steps receive the argument.
    """
    scores = _as_floats(x)
    return _shares(np.exp(scores - scores.max(axis=axis, keepdims=True)), -1)


def takes_the_first_axis_by_default(x, axis=0):
    """Called without `axis`, the code normalises the columns: its default is the first axis. Compare the
    default in the signature with the one in the statement.
    """
    return _softmax(x, axis)


def leaves_the_axis_moved(x, axis=-1):
    """The result has its axes in another order than `x`, wherever the axis is not the last: the axis was
    moved for the computation and not moved back. A square array hides it in the shape, not in the values.
    """
    return _softmax(np.moveaxis(x, axis, -1), -1)


def cuts_rows_by_reshape(x, axis=-1):
    """For an axis other than the last, the numbers that are normalised together are no slice along it:
    reshape cuts the entries in reading order and does not move axes. Print the slices of a 2 x 3 array
    for axis=0.
    """
    return _softmax(x.reshape(-1, x.shape[axis]), -1).reshape(x.shape)


def loses_the_summed_axis(x, axis=-1):
    """Arrays with several slices raise a broadcasting error, or are divided by the sums of other slices:
    the maximum and the sum have lost the axis they were taken along. It must stay, with length 1, for
    each slice to meet its own sum.
    """
    scores = _as_floats(x)
    powers = np.exp(scores - scores.max(axis=axis))
    return powers / powers.sum(axis=axis)


@subtle
def subtracts_the_mean(x, axis=-1):
    """Widely spread scores give NaN: after the mean is subtracted the largest score is still above 0, and
    its exponential overflows; with -inf in the slice the mean itself is -inf. Which statistic of the slice
    leaves nothing above 0?
    """
    scores = _as_floats(x)
    return _shares(np.exp(scores - scores.mean(axis=axis, keepdims=True)), axis)


@subtle
def subtracts_the_min(x, axis=-1):
    """Widely spread scores give NaN: with the smallest score subtracted, all exponents are above 0 and the
    largest overflows; a -inf in the slice makes every difference NaN or inf. Check the sign of what goes
    into exp.
    """
    scores = _as_floats(x)
    return _shares(np.exp(scores - scores.min(axis=axis, keepdims=True)), axis)


@subtle
def subtracts_the_first_score(x, axis=-1):
    """The result depends on the order of the scores: the first one of each slice is subtracted, which
    helps only where it happens to be large, and is NaN where it is -inf. Check a slice whose largest score
    comes last.
    """
    scores = _as_floats(x)
    return _shares(np.exp(scores - np.take(scores, [0], axis=axis)), axis)


@subtle
def subtracts_the_largest_magnitude(x, axis=-1):
    """Slices of very negative scores give 0 / 0: the number subtracted is the largest absolute value, which
    for them is far above the largest score. Signs count: it is the largest score itself that must end
    at 0.
    """
    scores = _as_floats(x)
    finite = np.where(np.isneginf(scores), 0, scores)
    return _shares(np.exp(scores - np.abs(finite).max(axis=axis, keepdims=True)), axis)


@crude
def divides_scores_by_the_max(x, axis=-1):
    """The probabilities are far too even, and a slice whose largest score is 0 or below breaks: scores are
    divided by their maximum. Division changes the differences between scores; which operation leaves
    them as they are?
    """
    scores = _as_floats(x)
    return _shares(np.exp(scores / scores.max(axis=axis, keepdims=True)), axis)


@subtle
def adds_epsilon_to_the_sum(x, axis=-1):
    """Slices sum to slightly less than one in float64: a small constant stands in the denominator. It
    guards against a division by zero that cannot happen, since the largest entry contributes exp(0) = 1.
    """
    scores = _as_floats(x)
    powers = np.exp(scores - scores.max(axis=axis, keepdims=True))
    return powers / (powers.sum(axis=axis, keepdims=True) + 1e-9)


def uses_powers_of_two(x, axis=-1):
    """The slices sum to one, but the probabilities are too even: a score larger by 1 gets 2 times the
    weight where it is due 2.718 times. Check the base of the power.
    """
    scores = _as_floats(x)
    return _shares(np.exp2(scores - scores.max(axis=axis, keepdims=True)), axis)


def scales_the_scores_as_well(x, axis=-1):
    """The probabilities are too even: the scores are divided by the root of their number on the way in.
    Scaling by sqrt(d_k) belongs to the attention that calls softmax; here the scores are taken as they
    are.
    """
    scores = _as_floats(x)
    return _softmax(scores / scores.dtype.type(scores.shape[axis] ** 0.5), axis)


@crude
def favours_the_smallest_score(x, axis=-1):
    """The smallest score gets the largest probability: the sign inside exp is turned, max - x in place of
    x - max. Check the larger of two scores.
    """
    scores = _as_floats(x)
    return _softmax(-np.where(np.isneginf(scores), np.inf, scores), axis)


@crude
def divides_the_scores_by_their_sum(x, axis=-1):
    """Negative scores give negative weights, and a slice that sums to zero breaks: the scores themselves
    are divided by their sum. Check where the exponential is taken.
    """
    return _shares(_as_floats(x), axis)


@crude
def squashes_each_score_alone(x, axis=-1):  # noqa: ARG001 - the mistake
    """Slices do not sum to one: every score goes through a logistic function by itself, as for independent
    yes-or-no questions. In a softmax the scores of one slice compete for a sum of one.
    """
    scores = _as_floats(x)
    with np.errstate(over="ignore"):
        return 1 / (1 + np.exp(-scores))


def returns_log_probabilities(x, axis=-1):
    """The results are negative: they are logarithms of probabilities. Check the last step; the exponential
    of these numbers is what is asked for.
    """
    return np.log(_softmax(x, axis))


def rounds_the_probabilities(x, axis=-1):
    """Slices sum to one only roughly, and small probabilities are 0: the result is rounded to the three
    decimals in which the example is printed. Return the numbers as they are.
    """
    return np.round(_softmax(x, axis), 3)


@subtle
def replaces_minus_infinity_by_a_fixed_number(x, axis=-1):
    """Masked entries win where the real scores lie below -1e9: -inf is replaced by a number that is low,
    but not lower than every score. Nothing has to be replaced: exp(-inf) is 0, as long as the number
    subtracted is finite.
    """
    scores = _as_floats(x)
    return _softmax(np.where(np.isneginf(scores), -1e9, scores), axis)


@subtle
def replaces_minus_infinity_by_a_small_number(x, axis=-1):
    """Masked entries win where the real scores lie below -10000: -inf is replaced by -1e4, and scores may be
    lower than that. Nothing has to be replaced: exp(-inf) is 0, as long as the number subtracted is finite.
    """
    scores = _as_floats(x)
    return _softmax(np.where(np.isneginf(scores), -1e4, scores).astype(scores.dtype), axis)


def gives_masked_entries_a_score_of_zero(x, axis=-1):
    """Masked entries get weight: -inf is replaced by 0, but a score of 0 is a score like any other, and
    exp(0) = 1. exp(-inf) is already the 0 that is wanted.
    """
    scores = _as_floats(x)
    return _softmax(np.where(np.isneginf(scores), 0, scores), axis)


@subtle
def subtracts_before_leaving_the_integers(x, axis=-1):
    """Integer scores wrap round: in uint8, 3 - 5 is 254, and in int8, -100 - 100 is 56, so the subtraction
    makes small scores huge; exp of int8 is float16 besides. Check in which dtype the subtraction
    happens.
    """
    return _shares(np.exp(x - x.max(axis=axis, keepdims=True)), axis)


@subtle
def writes_probabilities_into_integers(x, axis=-1):
    """Integer scores give only zeros and ones: the result is stored in an array of the dtype of `x`, which
    cuts the fractions off. Probabilities need a float dtype.
    """
    return _softmax(x, axis).astype(x.dtype)


@subtle
def computes_in_float32(x, axis=-1):
    """float64 scores come back as float32, and large integers lose the digits in which they differ: the
    input is cast to float32. Floats keep their dtype, and integers become float64.
    """
    return _softmax(x.astype(np.float32), axis)


@subtle
def overwrites_the_scores(x, axis=-1):
    """The caller's array holds something else after the call: `-=` on the argument writes into the
    caller's memory, and a second call sees shifted scores. Make a new array in the first step.
    """
    if x.dtype.kind != "f":
        return _softmax(x, axis)
    x -= x.max(axis=axis, keepdims=True)
    return _shares(np.exp(x), axis)


@subtle
def answers_as_the_first_time(x, axis=-1):
    """The first call is right, and later ones of the same shape get its answer again: something outlives the
    call. Check what is kept between calls.
    """
    return _SEEN.setdefault((x.shape, x.dtype, axis), _softmax(x, axis))


_SEEN: dict = {}
