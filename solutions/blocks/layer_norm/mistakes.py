"""What people write instead, and what to tell them."""

import numpy as np

from grader.mistakes import crude, subtle


def _norm(x, gamma, beta, eps=1e-5, *, axis=-1, ddof=0):
    centred = x - x.mean(axis=axis, keepdims=True)
    return gamma * (centred / np.sqrt(x.var(axis=axis, ddof=ddof, keepdims=True) + eps)) + beta


def takes_the_unbiased_variance(x, gamma, beta, eps=1e-5):
    """Every result is a little too small, and the more so the narrower the vectors. The squares were divided
    by d_model - 1; layer norm takes their plain average. Check the divisor, or `ddof`."""
    return _norm(x, gamma, beta, eps, ddof=1)


@subtle
def adds_eps_to_the_standard_deviation(x, gamma, beta, eps=1e-5):
    """Rows with a large spread come out nearly right, rows with a small one do not. The eps was added after
    the root had been taken. It belongs to the variance; check the order of the root and the addition."""
    centred = x - x.mean(axis=-1, keepdims=True)
    return gamma * centred / (x.std(axis=-1, keepdims=True) + eps) + beta


def takes_the_unbiased_deviation_and_adds_eps(x, gamma, beta, eps=1e-5):
    """Every result is a little too small: the squares were divided by d_model - 1, and eps was added after
    the root, as in the Annotated Transformer. The variance is their plain average, and eps belongs to it."""
    centred = x - x.mean(axis=-1, keepdims=True)
    return gamma * centred / (x.std(axis=-1, ddof=1, keepdims=True) + eps) + beta


@subtle
def forgets_eps(x, gamma, beta, eps=1e-5):  # noqa: ARG001 - the mistake
    """Rows with a small spread come out too large, and a row of equal numbers would be 0 / 0. Nothing is
    added to the variance. Check what stands under the root."""
    return _norm(x, gamma, beta, 0.0)


def takes_eps_as_a_lower_bound(x, gamma, beta, eps=1e-5):
    """Rows whose variance is near eps come out too large, by the factor 1.4 at most: eps is used as the
    least variance. It is added to every variance."""
    variance = x.var(axis=-1, keepdims=True)
    return _norm(x, gamma, beta, np.maximum(eps - variance, 0).astype(x.dtype))


@subtle
def ignores_the_eps_given(x, gamma, beta, eps=1e-5):  # noqa: ARG001 - the mistake
    """Right by default; another eps changes nothing. The number 1e-5 is written into the formula. Check that
    the parameter is what is added to the variance."""
    return _norm(x, gamma, beta, 1e-5)


@subtle
def has_another_default(x, gamma, beta, eps=1e-8):
    """Right where eps is given; without it, rows with a small spread come out too large. The default of eps
    is not the 1e-5 of the statement. Check the signature."""
    return _norm(x, gamma, beta, eps)


def divides_by_the_variance(x, gamma, beta, eps=1e-5):
    """Rows with a small spread explode and rows with a large one vanish. The centred numbers were divided by
    the variance; its root is due. Check the variance of a result without gamma and beta: it is near 1."""
    return gamma * (x - x.mean(axis=-1, keepdims=True)) / (x.var(axis=-1, keepdims=True) + eps) + beta


def forgets_to_subtract_the_mean(x, gamma, beta, eps=1e-5):
    """The rows have the right spread and the wrong level: x was divided without being centred. Check the
    mean of a result without gamma and beta: it is 0."""
    return gamma * x / np.sqrt(x.var(axis=-1, keepdims=True) + eps) + beta


def divides_by_the_root_mean_square(x, gamma, beta, eps=1e-5):
    """Adding a number to a whole row changes its result: this is RMSNorm, which measures the size of a
    vector from zero. Layer norm subtracts the mean first and measures from there."""
    return gamma * x / np.sqrt((x * x).mean(axis=-1, keepdims=True) + eps) + beta


def measures_the_spread_from_zero(x, gamma, beta, eps=1e-5):
    """Rows whose mean is far from zero come out too small. The numerator is centred, but the squares under
    the root are those of x itself. Check that the variance is made from the centred numbers."""
    centred = x - x.mean(axis=-1, keepdims=True)
    return gamma * centred / np.sqrt((x * x).mean(axis=-1, keepdims=True) + eps) + beta


def divides_the_mean_alone(x, gamma, beta, eps=1e-5):
    """The mean is divided by the spread and x is not: a division comes before a subtraction. Check the
    brackets around what is divided, x less its mean.
    """
    mean = x.mean(axis=-1, keepdims=True)
    return gamma * x - mean / np.sqrt(x.var(axis=-1, keepdims=True) + eps) + beta


@crude
def normalises_over_the_first_axis(x, gamma, beta, eps=1e-5):
    """A token's result changes with the other rows: mean and variance run over the batch, as in batch norm.
    Right for a single vector only. Check the axis of both averages."""
    return _norm(x, gamma, beta, eps, axis=0)


def normalises_the_second_axis(x, gamma, beta, eps=1e-5):
    """Right for [tokens, d_model] and wrong with a batch in front: axis 1 is then the tokens. Check how the
    last axis is named, however many there are."""
    return _norm(x, gamma, beta, eps, axis=min(1, x.ndim - 1))


@crude
def normalises_over_tokens_too(x, gamma, beta, eps=1e-5):
    """Right for a single token; with more, all tokens of a sequence share one mean and one variance. Check
    over how many axes the averages run: it is the last one alone."""
    return _norm(x, gamma, beta, eps, axis=tuple(range(x.ndim))[-2:])


@crude
def normalises_the_whole_array(x, gamma, beta, eps=1e-5):
    """Right for a single vector; with more, one mean and one variance are shared by the whole batch. An
    average without an axis runs over everything. Check `axis`."""
    return _norm(x, gamma, beta, eps, axis=None)


def loses_the_reduced_axis(x, gamma, beta, eps=1e-5):
    """Right for a single vector; with several rows, the means meet the wrong numbers or do not fit at all.
    An average drops its axis, and broadcasting then lines the means up with the features. Check that the
    axis is kept, with length 1."""
    return gamma * ((x - x.mean(axis=-1)) / np.sqrt(x.var(axis=-1) + eps)) + beta


def forgets_gamma(x, gamma, beta, eps=1e-5):
    """Every feature has the same scale, whatever gamma says. Check that the normalised numbers are
    multiplied by it, feature by feature."""
    return _norm(x, np.ones_like(gamma), beta, eps)


def forgets_beta(x, gamma, beta, eps=1e-5):
    """Every row still has mean 0 where gamma is all ones: beta is not added. It is the last step of the
    formula; check the end of the expression."""
    return _norm(x, gamma, np.zeros_like(beta), eps)


def scales_beta_too(x, gamma, beta, eps=1e-5):
    """Right where gamma is 1 or beta is 0. Beta was added before gamma was multiplied, so it is scaled as
    well. Gamma first, then beta; check the brackets."""
    return gamma * (_norm(x, np.ones_like(gamma), np.zeros_like(beta), eps) + beta)


def swaps_gamma_and_beta(x, gamma, beta, eps=1e-5):
    """Gamma is added and beta multiplies, the other way round. With gamma at 1 and beta at 0, their usual
    start, every result would be 1. Check which of the two is the factor."""
    return _norm(x, beta, gamma, eps)


def scales_before_normalising(x, gamma, beta, eps=1e-5):
    """A gamma that is the same for all features has no effect: x was scaled and shifted first, and the
    normalisation undid it. Gamma and beta act on what has been normalised."""
    scaled = gamma * x + beta
    return _norm(scaled, np.ones_like(gamma), np.zeros_like(beta), eps)


@subtle
def subtracts_the_square_of_the_mean(x, gamma, beta, eps=1e-5):
    """Right near zero; float32 rows around 10000 come out as noise or NaN. "Mean of the squares minus square
    of the mean" takes the difference of two numbers near 1e8, which float32 cannot tell apart. Check that
    the mean is subtracted before anything is squared."""
    mean = x.mean(axis=-1, keepdims=True)
    variance = (x * x).mean(axis=-1, keepdims=True) - mean * mean
    return gamma * ((x - mean) / np.sqrt(variance + eps)) + beta


@subtle
def subtracts_one_number_for_all_rows(x, gamma, beta, eps=1e-5):
    """Right where all rows have one level, even 10000; noise or NaN where one row is around 10000 and the
    next around -10000. The mean of the whole array was subtracted before the squares were taken. Every row
    has a mean of its own; subtract that one."""
    moved = x - x.mean()
    mean = moved.mean(axis=-1, keepdims=True)
    variance = (moved * moved).mean(axis=-1, keepdims=True) - mean * mean
    return gamma * ((moved - mean) / np.sqrt(variance + eps)) + beta


def joins_the_leading_axes(x, gamma, beta, eps=1e-5):
    """The numbers are right, the shape is [rows, d_model]: batch and tokens were joined and never parted
    again. The result has the shape of x; check it with a batch and with a single vector."""
    return _norm(x.reshape(-1, x.shape[-1]), gamma, beta, eps)


@subtle
def keeps_the_statistics_of_an_earlier_call(x, gamma, beta, eps=1e-5):
    """The first call is right; later ones of the same shape are normalised with its mean and variance. Layer
    norm has no running averages. Check what outlives the call."""
    if x.shape not in _STATISTICS:
        _STATISTICS[x.shape] = x.mean(axis=-1, keepdims=True), x.var(axis=-1, keepdims=True)
    mean, variance = _STATISTICS[x.shape]
    return gamma * ((x - mean) / np.sqrt(variance + eps)) + beta


_STATISTICS = {}


@subtle
def overwrites_x(x, gamma, beta, eps=1e-5):
    """The caller's x is centred after the call: `-=` on an argument writes into the caller's memory, and the
    residual connection still needs what was there. Make a new array in the first step."""
    x -= x.mean(axis=-1, keepdims=True)
    return gamma * (x / np.sqrt((x * x).mean(axis=-1, keepdims=True) + eps)) + beta


@subtle
def computes_in_float32(x, gamma, beta, eps=1e-5):
    """float64 input gets results with half of its digits: the work was done in float32. The result has the
    dtype of x, in its digits too; check casts."""
    return _norm(x.astype(np.float32), gamma, beta, np.float32(eps)).astype(x.dtype)


@subtle
def raises_a_tiny_eps(x, gamma, beta, eps=1e-5):
    """An eps below 1e-7 is raised to it, and rows with a tiny spread come out too small. The number given is
    added."""
    return _norm(x, gamma, beta, max(eps, 1.2e-7))


@subtle
def leaves_a_single_feature_as_it_is(x, gamma, beta, eps=1e-5):
    """A vector of one number comes back scaled and shifted. It is its own mean, so beta alone is left."""
    return gamma * x + beta if x.shape[-1] == 1 else _norm(x, gamma, beta, eps)
