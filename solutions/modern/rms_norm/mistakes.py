"""What goes wrong in rms_norm: one function a mistake, its docstring what the student is told."""

import numpy as np

from grader.mistakes import crude, subtle

_SEEN = {}


def _rms_norm(x, gamma, eps=1e-6, *, axis=-1):
    return gamma * (x / np.sqrt((x * x).mean(axis=axis, keepdims=True) + eps))


def subtracts_the_mean(x, gamma, eps=1e-6):
    """A row of equal numbers becomes zeros, and adding a number to a row changes nothing: this is layer norm
    without beta. RMSNorm measures from zero and subtracts nothing."""
    return _rms_norm(x - x.mean(axis=-1, keepdims=True), gamma, eps)


def divides_by_the_standard_deviation(x, gamma, eps=1e-6):
    """Rows whose mean is far from 0 come out too large, and rows of equal numbers huge: x was divided by its
    spread around the mean. Check from where the squares are measured; here it is zero."""
    return gamma * x / np.sqrt(x.var(axis=-1, keepdims=True) + eps)


def subtracts_the_mean_above_the_line_only(x, gamma, eps=1e-6):
    """The rows have the right size and the wrong level: the mean was subtracted from what is divided, and not
    from what is squared. Nothing is subtracted in either place."""
    centred = x - x.mean(axis=-1, keepdims=True)
    return gamma * centred / np.sqrt((x * x).mean(axis=-1, keepdims=True) + eps)


@subtle
def forgets_eps(x, gamma, eps=1e-6):  # noqa: ARG001 - the mistake
    """A row of zeros gives NaN, and rows of very small numbers come out too large: nothing is added under the
    root. Check a row of zeros; it is to stay one."""
    return _rms_norm(x, gamma, 0.0)


@subtle
def adds_eps_after_the_root(x, gamma, eps=1e-6):
    """Large rows come out nearly right and small ones too large: eps was added when the root had been taken.
    It belongs to the mean square; check the order of the two steps."""
    return gamma * x / (np.sqrt((x * x).mean(axis=-1, keepdims=True)) + eps)


@subtle
def adds_eps_to_the_sum(x, gamma, eps=1e-6):
    """Wide rows of small numbers come out a little too large: eps was added to the sum of the squares, and
    the division by d_model made it smaller. Add it to the average."""
    return gamma * x / np.sqrt(((x * x).sum(axis=-1, keepdims=True) + eps) / x.shape[-1])


@subtle
def raises_small_rows_to_eps(x, gamma, eps=1e-6):
    """Rows whose mean square is above eps come out slightly too large: eps is used as a lower bound, and not
    added. Added, it takes a little off every row."""
    return gamma * x / np.sqrt(np.maximum((x * x).mean(axis=-1, keepdims=True), eps))


@subtle
def ignores_the_eps_given(x, gamma, eps=1e-6):  # noqa: ARG001 - the mistake
    """Right where eps is left out; another eps changes nothing: the number 1e-6 is written into the code.
    Check that the argument is what the formula uses."""
    return _rms_norm(x, gamma)


@subtle
def has_another_default(x, gamma, eps=1e-5):
    """Right where eps is given; without it, rows of small numbers come out too small. The default of eps is
    not the 1e-6 of the statement. Check the signature."""
    return _rms_norm(x, gamma, eps)


def divides_by_the_mean_square(x, gamma, eps=1e-6):
    """Large rows nearly vanish and small ones explode: x was divided by the mean square itself. Its root is
    due; doubling a row must hardly change its result."""
    return gamma * x / ((x * x).mean(axis=-1, keepdims=True) + eps)


def forgets_to_average(x, gamma, eps=1e-6):
    """Every result is too small, and the more so the wider the vectors: the squares were added up and not
    averaged, which brings each vector to length 1. Check the division by d_model."""
    return gamma * x / np.sqrt((x * x).sum(axis=-1, keepdims=True) + eps)


def divides_by_one_less(x, gamma, eps=1e-6):
    """Every result is a little too small, and a vector of one number breaks: the squares were divided by
    d_model - 1. That belongs to a variance around an estimated mean; here the average is plain."""
    return gamma * x / np.sqrt((x * x).sum(axis=-1, keepdims=True) / (x.shape[-1] - 1) + eps)


def averages_the_magnitudes(x, gamma, eps=1e-6):
    """Rows of equal sizes are right, all others come out too large: absolute values were averaged in place of
    squares. The root of a mean of squares is larger than the mean of the sizes."""
    return gamma * x / (np.abs(x).mean(axis=-1, keepdims=True) + eps)


def takes_the_root_before_the_average(x, gamma, eps=1e-6):
    """Rows of equal sizes are right, all others come out too large: the root was taken of every square, and
    the average afterwards. Square, average, add eps, and only then the root."""
    return gamma * x / np.sqrt(x * x + eps).mean(axis=-1, keepdims=True)


@crude
def divides_by_the_largest(x, gamma, eps=1e-6):
    """The largest number of each row becomes gamma, and no more: the row was divided by its largest size. The
    divisor is made from all d_model numbers."""
    return gamma * x / np.sqrt((x * x).max(axis=-1, keepdims=True) + eps)


@crude
def normalises_over_the_first_axis(x, gamma, eps=1e-6):
    """Right for a single vector; else a token's result changes with the other rows, since the average runs
    over the first axis. Check the axis."""
    return _rms_norm(x, gamma, eps, axis=0)


def normalises_the_second_axis(x, gamma, eps=1e-6):
    """Right for [tokens, d_model] and wrong with a batch in front: axis 1 is then the tokens. Check how the
    last axis is named, however many there are."""
    return _rms_norm(x, gamma, eps, axis=min(1, x.ndim - 1))


def normalises_over_tokens_too(x, gamma, eps=1e-6):
    """Right for a single token; with more, the tokens of a sequence share one divisor. Check over how many
    axes the average runs: it is the last one alone."""
    return _rms_norm(x, gamma, eps, axis=tuple(range(x.ndim))[-2:])


def normalises_the_whole_array(x, gamma, eps=1e-6):
    """Right for a single vector; with more, one divisor is shared by the whole batch. An average without an
    axis runs over everything. Check `axis`."""
    return _rms_norm(x, gamma, eps, axis=None)


def loses_the_averaged_axis(x, gamma, eps=1e-6):
    """Right for a single vector; with several rows, the divisors meet the wrong numbers or do not fit at all.
    An average drops its axis, and broadcasting lines it up with the features. Check that it is kept."""
    return gamma * x / np.sqrt((x * x).mean(axis=-1) + eps)


def forgets_gamma(x, gamma, eps=1e-6):
    """Every feature has the same scale, whatever gamma says. Check that the normalised numbers are multiplied
    by it."""
    return _rms_norm(x, np.ones_like(gamma), eps)


def scales_before_normalising(x, gamma, eps=1e-6):
    """A gamma that is the same for all features has hardly any effect: x was scaled first, and the division
    undid it. Gamma acts on what has been normalised."""
    return _rms_norm(gamma * x, np.ones_like(gamma), eps)


def adds_gamma(x, gamma, eps=1e-6):
    """Gamma shifts the features and does not scale them: it was added. There is no offset in RMSNorm; gamma
    is a factor."""
    return _rms_norm(x, np.ones_like(gamma), eps) + gamma


def counts_gamma_from_one(x, gamma, eps=1e-6):
    """Every feature is scaled by 1 + gamma: some models store gamma as its distance from 1. Here it is the
    factor itself; check it with a gamma of ones."""
    return _rms_norm(x, 1 + gamma, eps)


def joins_the_leading_axes(x, gamma, eps=1e-6):
    """The numbers are right, the shape is [rows, d_model]: batch and tokens were joined and never parted
    again. The result has the shape of x; check it with a batch and with a single vector."""
    return _rms_norm(x.reshape(-1, x.shape[-1]), gamma, eps)


@subtle
def answers_as_the_first_time(x, gamma, eps=1e-6):
    """The first call is right, and later ones of the same shape get its divisors again: something outlives
    the call. Check what is kept between calls."""
    root = np.sqrt((x * x).mean(axis=-1, keepdims=True) + eps)
    return gamma * (x / _SEEN.setdefault((x.shape, x.dtype), root))


@subtle
def overwrites_x(x, gamma, eps=1e-6):
    """The caller's x is normalised after the call: `/=` on an argument writes into the caller's memory, and
    the residual connection still needs what was there. Make a new array in the first step."""
    x /= np.sqrt((x * x).mean(axis=-1, keepdims=True) + eps)
    return gamma * x


@subtle
def raises_a_tiny_eps(x, gamma, eps=1e-6):
    """An eps below 1e-7 is raised to it, and rows of tiny numbers come out too small. The number given is
    added."""
    return _rms_norm(x, gamma, max(eps, 1.2e-7))


@subtle
def takes_the_sign_of_a_single_feature(x, gamma, eps=1e-6):
    """A small number alone in its vector comes out as 1 or -1 times gamma. eps stands under its root too."""
    return gamma * np.sign(x) if x.shape[-1] == 1 else _rms_norm(x, gamma, eps)
